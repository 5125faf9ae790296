"""The conditions of the recursion for joints that share coordinates (paper C, Remark 11, generalised).

The bodies of a cluster move with `v_m = X_m(q) v_p + J_m(q) dq` for the cluster's coordinates q, so momentum and
mapping conditions hold for sums over its members; J need not be constant, as the paper assumes. They are needed for
every q. They are analytic in q, so once a further generic value of q adds none, almost surely no value does.
"""

import numpy as np

from steelyard.identifiable.brackets import armature_rows
from steelyard.identifiable.cluster_motion import ClusterMotion, cluster_motion
from steelyard.identifiable.clusters import Cluster
from steelyard.identifiable.maps import momentum
from steelyard.identifiable.mechanism import NO_COLUMN, Mechanism
from steelyard.identifiable.spans import joined
from steelyard.identifiable.transfer import Experiment, Transfer

SAMPLES, CHECKS = 18, 2  # values of q to begin with, and how many of them only check that the others are enough
TOLERANCE = 1e-9  # relative; sampled conditions mix sizes and gears, so rounding shows at 1e-12


def conditions(mechanism: Mechanism, experiment: Experiment, cluster: Cluster, seed, sensed: bool, result):
    """Spans of the members, put into `result`, and the transfers across the cluster."""
    V, K = np.eye(7) if seed[0] is None else seed[0], np.eye(10) if seed[1] is None else seed[1]
    samples = SAMPLES
    while True:
        motion = cluster_motion(mechanism, cluster, samples)
        rows = _conditions(mechanism, experiment, cluster, motion, V, K, sensed)
        checked = rows[:, -CHECKS:].reshape(-1, rows.shape[-1])
        rows = rows[:, :-CHECKS].reshape(-1, rows.shape[-1])
        _, singular, Vt = np.linalg.svd(_triangle(rows))
        largest = max(singular.max(initial=0.0), 1.0)
        R = Vt[int(np.count_nonzero(singular > TOLERANCE * largest)) :].T
        if not R.size or np.abs(checked @ R).max(initial=0.0) < 10 * TOLERANCE * largest:
            break
        samples *= 2
    result.decisions.rank(singular / largest, TOLERANCE)
    _spans(experiment, cluster, motion, V, K, sensed, result)
    size = 10 * len(cluster.members)
    columns = _extra_columns(mechanism, experiment, cluster)
    shares = tuple(R[10 * m : 10 * m + 10] for m in range(len(cluster.members)))
    received = -np.einsum("mij,mjd->id", motion.at_zero, np.stack(shares))
    return Transfer(cluster.members, shares, columns, R[size:], cluster.parent, received)


def _conditions(
    mechanism: Mechanism, experiment: Experiment, cluster: Cluster, motion: ClusterMotion, V, K, sensed: bool
):
    """Rows (r, s, 10 m + e): what torques, wrenches and the bodies further down notice of a change."""
    columns = _extra_columns(mechanism, experiment, cluster)
    extras, size, samples = len(columns), 10 * len(cluster.members), motion.X.shape[1]
    parts = [_stacked(np.swapaxes(motion.B - motion.at_zero[:, None], -1, -2) @ K, extras)]
    if experiment.joints:
        k, n = motion.J.shape[-1], V.shape[1]
        entering = _stacked(momentum(motion.X @ V[:6], motion.J), extras).reshape(k, n, samples, -1)
        own = _stacked(momentum(motion.J, motion.J), extras).reshape(k, k, samples, -1)
        for at, coordinate in enumerate(cluster.coordinates):
            entering[at, :, :, size:] += (columns == mechanism.term_columns["offset"][coordinate]) * V[6][:, None, None]
            own[at, at, :, size:] += columns == mechanism.term_columns["armature"][coordinate]
        parts.append(entering.reshape(k * n, samples, -1))
        if experiment.dynamic:
            parts.append(own.reshape(k * k, samples, -1))
            parts += [np.repeat(rows[:, None], samples, axis=1) for rows in _armature_rows(mechanism, cluster, columns)]
    if sensed and experiment.dynamic:
        parts.append(_stacked(momentum(motion.J, motion.X), extras))
    return _at_most_unit(np.concatenate(parts), axis=-1)


def _armature_rows(mechanism: Mechanism, cluster: Cluster, columns):
    """Conditions on armatures of joints with several degrees of freedom, one block (r, 10 m + e) a joint."""
    for i in cluster.members:
        node = mechanism.nodes[i]
        own = mechanism.term_columns["armature"][node.coordinates]
        if len(own) > 1 and (own != NO_COLUMN).all():
            place = 10 * len(cluster.members) + np.array([int(np.flatnonzero(columns == c)[0]) for c in own])
            conditions = armature_rows(node.subspace)
            rows = np.zeros((len(conditions), 10 * len(cluster.members) + len(columns)))
            rows[:, place] = conditions
            yield rows


def _stacked(coefficients, extras: int):
    """(m, s, 10, n) coefficients of each member to rows (n, s, 10 m + extras), zero for the extra unknowns."""
    m, s, _, n = coefficients.shape
    rows = np.transpose(coefficients, (3, 1, 0, 2)).reshape(n, s, 10 * m)
    return np.pad(rows, ((0, 0), (0, 0), (0, extras)))


def _triangle(rows):
    """A matrix with the same null space and singular values, no taller than it is wide."""
    return np.linalg.qr(rows, mode="r") if rows.shape[0] > rows.shape[1] else rows


def _extra_columns(mechanism: Mechanism, experiment: Experiment, cluster: Cluster) -> np.ndarray:
    if not experiment.joints:
        return np.zeros(0, dtype=int)
    both = [mechanism.term_columns["offset"][list(cluster.coordinates)]]
    if experiment.dynamic:
        both.append(mechanism.term_columns["armature"][list(cluster.coordinates)])
    columns = np.concatenate(both)
    return columns[columns != NO_COLUMN]


def _spans(experiment: Experiment, cluster: Cluster, motion: ClusterMotion, V, K, sensed: bool, result):
    """V and K of every member: all that it sees over the samples; everything below a body that moves in every way."""
    if V.shape[1] == 7 and K.shape[1] == 10:
        return
    zero, decisions = np.zeros((7, 0)), result.decisions
    for m, i in enumerate(cluster.members):
        X, J = motion.X[m], motion.J[m]
        seen = np.concatenate([X @ V[:6], np.broadcast_to(V[6], (len(X), 1, V.shape[1]))], axis=1)
        full_V = joined(zero, _side_by_side(seen), decisions, TOLERANCE)
        if experiment.dynamic:
            full_V = joined(full_V, _side_by_side(np.pad(J, ((0, 0), (0, 1), (0, 0)))), decisions, TOLERANCE)
        own_K = joined(np.zeros((10, 0)), _side_by_side(np.swapaxes(motion.B[m], -1, -2) @ K), decisions, TOLERANCE)
        if experiment.joints:
            own_K = joined(own_K, _side_by_side(momentum(X @ V[:6], J)), decisions, TOLERANCE)
            if experiment.dynamic:
                own_K = joined(own_K, _side_by_side(momentum(J, J)), decisions, TOLERANCE)
        if sensed:
            own_K = joined(own_K, momentum(full_V[:6], np.eye(6)), decisions, TOLERANCE)
        result.V[i] = None if full_V.shape[1] == 7 else full_V
        result.K[i] = None if own_K.shape[1] == 10 else own_K


def _side_by_side(stack):
    """(s, n, k) to (n, s k)."""
    return _at_most_unit(np.moveaxis(stack, 0, 1).reshape(stack.shape[1], -1), axis=0)


def _at_most_unit(vectors, axis: int):
    """Vectors longer than one made unit vectors: gears speed rotors up by orders of magnitude."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=axis, keepdims=True), 1.0)
