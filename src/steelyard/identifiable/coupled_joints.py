"""Conditions of a joint in parameter space: momentum, transfer rate, armature (paper C, eqs. 36, 39, 40 and 52); and of
joints that share coordinates: mimic joints, and rotors that are no `Spin` (Remark 11, generalised).

Everything derives from one constant, `inertia_map()[a, b, k]`: the derivative of the spatial inertia entry `M[a, b]`
with respect to parameter k, so `M(theta) = inertia_map() @ theta`. Leading batch axes throughout.

All nodes between the joints of a coordinate and the last body they have in common form a cluster. Its bodies move with
`v_m = X_m(q) v_p + J_m(q) dq` for the cluster's coordinates q, so momentum and mapping conditions hold for sums over
its members; J need not be constant, as the paper assumes. They are needed for every q. They are analytic in q, so once
a further generic value of q adds none, almost surely no value does.
"""

from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from steelyard.identifiable.basis import span_union
from steelyard.identifiable.mechanism import NO_COLUMN, Experiment, Mechanism
from steelyard.identifiable.thresholds import THRESHOLDS
from steelyard.inertia import from_spatial_inertia, to_spatial_inertia, transform_matrix
from steelyard.model.robot import WORLD
from steelyard.numbers import SEED
from steelyard.spatial import adjoint, crm, product_of_exponentials


@cache
def inertia_map() -> np.ndarray:
    """(6, 6, 10) derivative of the spatial inertia with respect to each parameter."""
    return np.moveaxis(to_spatial_inertia(np.eye(10)), 0, -1).copy()


@cache
def _rates() -> np.ndarray:
    """(6, 10, 10): A(phi) for each unit twist."""
    products = np.moveaxis(inertia_map(), -1, 0) @ crm(np.eye(6))[:, None]
    return np.stack([from_spatial_inertia(M + np.swapaxes(M, -1, -2)) for M in products]).swapaxes(1, 2)


def momentum(V, U):
    """Coefficients (..., 10, n k) of `u^T M(theta) v` for all pairs of columns (paper C, `Mom`, eq. 52)."""
    pairs = U[..., :, None, :, None] * V[..., None, :, None, :]
    return inertia_map().reshape(36, 10).T @ pairs.reshape(*pairs.shape[:-4], 36, -1)


def transfer_rate(phi):
    """A(phi), (..., 10, 10): how parameters seen from the parent change as the joint moves along a twist (paper C, eq.
    40)."""
    return np.tensordot(phi, _rates(), axes=1)


def armature_rows(subspace):
    """Conditions (r, k) on changes of the k armatures of a joint with subspace (6, k)."""
    k = subspace.shape[1]
    if k < 2:
        return np.zeros((0, k))
    brackets = np.einsum("aij,jb->aib", crm(subspace.T), subspace)
    c = np.einsum("ki,aib->kab", np.linalg.pinv(subspace), brackets)  # twist a, then b, gives c[:, a, b]
    rows = np.einsum("kab,kl->kabl", c, np.eye(k)) + np.einsum("akb,al->kabl", c, np.eye(k))
    rows = rows.reshape(-1, k)
    return rows[np.abs(rows).max(axis=1) > 1e-12]


@dataclass(frozen=True, eq=False)
class Transfer:
    """Changes of parameters that go unnoticed as transfers across one joint (or cluster of joints).

    members, shares: nodes and the (10, d) changes of each. columns (e,), extras (e, d): changes of other parameters.
    """

    members: tuple[int, ...]
    shares: tuple[np.ndarray, ...]
    columns: np.ndarray
    extras: np.ndarray
    parent: int  # the node that (10, d) `received` is added to
    received: np.ndarray

    @property
    def count(self) -> int:
        return self.received.shape[1]


SAMPLES, CHECKS = 18, 2  # values of q to begin with, and how many of them only check that the others are enough


@dataclass(frozen=True)
class Cluster:
    """members: nodes, ascending. coordinates: theirs, ascending. parent: the node they all hang on."""

    members: tuple[int, ...]
    coordinates: tuple[int, ...]
    parent: int


def clusters(mechanism: Mechanism) -> tuple[Cluster, ...]:
    """Smallest sets of nodes that share no coordinate with others; nodes with their own are left out."""
    sets = [_hull(mechanism, set(nodes)) for nodes in mechanism.riders if len(nodes) > 1]
    done: list[set[int]] = []
    while sets:
        current = sets.pop()
        touching = [other for other in done if _touch(mechanism, current, other)]
        if touching:
            done = [other for other in done if other not in touching]
            sets.append(_hull(mechanism, current.union(*touching)))
        else:
            done.append(current)
    return tuple(_cluster(mechanism, members) for members in done)


def _touch(mechanism: Mechanism, one: set[int], other: set[int]) -> bool:
    coordinates = {k for i in one for k in mechanism.nodes[i].coordinates}
    return bool(one & other) or any(k in coordinates for i in other for k in mechanism.nodes[i].coordinates)


def _hull(mechanism: Mechanism, nodes: set[int]) -> set[int]:
    """Nodes and all those between them and their last common ancestor."""
    paths = [[*mechanism.path(mechanism.nodes[i].parent), WORLD] for i in nodes]
    common = set(paths[0]).intersection(*map(set, paths[1:]))
    between = {step for path in paths for step in path} - common
    return nodes | between


def _cluster(mechanism: Mechanism, members: set[int]) -> Cluster:
    ordered = tuple(sorted(members))
    coordinates = sorted({int(k) for i in ordered for k in mechanism.nodes[i].coordinates})
    return Cluster(ordered, tuple(coordinates), mechanism.nodes[ordered[0]].parent)


@dataclass(frozen=True, eq=False)
class ClusterMotion:
    """Sampled motion: X (m, s, 6, 6) member from parent, B (m, s, 10, 10) parent from member, J (m, s, 6, k)."""

    X: np.ndarray
    B: np.ndarray
    J: np.ndarray
    at_zero: np.ndarray  # (m, 10, 10) B at zero coordinates


def cluster_motion(mechanism: Mechanism, cluster: Cluster, samples: int) -> ClusterMotion:
    q = np.random.default_rng(SEED - 1).uniform(-np.pi, np.pi, size=(len(cluster.coordinates), samples))
    q *= _turns(mechanism, cluster)[:, None]
    q[:, 0] = 0.0
    place = {k: at for at, k in enumerate(cluster.coordinates)}
    poses, jacobians = {}, {}
    for i in cluster.members:
        node = mechanism.nodes[i]
        acting = [place[k] for k in node.coordinates]
        R, p = product_of_exponentials(node.subspace, q[acting])
        R, p = node.rotation @ R, p @ node.rotation.T + node.position
        to_child = adjoint(np.swapaxes(R, 1, 2), -(np.swapaxes(R, 1, 2) @ p[..., None])[..., 0])
        J = np.zeros((samples, 6, len(cluster.coordinates)))
        if node.parent in poses:
            above_R, above_p = poses[node.parent]
            J += to_child @ jacobians[node.parent]
            R, p = above_R @ R, above_p + (above_R @ p[..., None])[..., 0]
        J[:, :, acting] += node.subspace
        poses[i], jacobians[i] = (R, p), J
    R, p = (np.stack([poses[i][k] for i in cluster.members]) for k in (0, 1))
    Rt = np.swapaxes(R, -1, -2)
    B = transform_matrix(R, p)
    return ClusterMotion(
        adjoint(Rt, -(Rt @ p[..., None])[..., 0]), B, np.stack([jacobians[i] for i in cluster.members]), B[:, 0]
    )


def _turns(mechanism: Mechanism, cluster: Cluster) -> np.ndarray:
    """(k,) how far each coordinate goes so that the slowest of its joints turns once about."""
    turns = np.ones(len(cluster.coordinates))
    for i in cluster.members:
        node = mechanism.nodes[i]
        speed = np.linalg.norm(node.subspace[3:], axis=0)
        places = np.searchsorted(cluster.coordinates, node.coordinates)
        np.maximum.at(turns, places[speed > 0], 1 / speed[speed > 0])
    return np.minimum(turns, 20.0)


def conditions(mechanism: Mechanism, experiment: Experiment, cluster: Cluster, seed, sensed: bool, result):
    """Spans of the members, put into `result`, and the transfers across the cluster."""
    V, K = np.eye(7) if seed[0] is None else seed[0], np.eye(10) if seed[1] is None else seed[1]
    samples = SAMPLES
    while True:
        motion = cluster_motion(mechanism, cluster, samples)
        rows = _conditions(mechanism, experiment, cluster, motion, V, K, sensed)
        checked = rows[:, -CHECKS:].reshape(-1, rows.shape[-1])
        rows = rows[:, :-CHECKS].reshape(-1, rows.shape[-1])
        _, singular, Vt = np.linalg.svd(np.linalg.qr(rows, mode="r") if len(rows) > rows.shape[1] else rows)
        largest = max(singular.max(initial=0.0), 1.0)
        R = Vt[int(np.count_nonzero(singular > THRESHOLDS.sampled_rank * largest)) :].T
        if not R.size or np.abs(checked @ R).max(initial=0.0) < 10 * THRESHOLDS.sampled_rank * largest:
            break
        samples *= 2
    result.decisions.rank(singular / largest, THRESHOLDS.sampled_rank)
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
    union = partial(span_union, decisions=result.decisions, tolerance=THRESHOLDS.sampled_rank)
    for m, i in enumerate(cluster.members):
        X, J = motion.X[m], motion.J[m]
        seen = np.concatenate([X @ V[:6], np.broadcast_to(V[6], (len(X), 1, V.shape[1]))], axis=1)
        full_V = union(np.zeros((7, 0)), _side_by_side(seen))
        if experiment.dynamic:
            full_V = union(full_V, _side_by_side(np.pad(J, ((0, 0), (0, 1), (0, 0)))))
        own_K = union(np.zeros((10, 0)), _side_by_side(np.swapaxes(motion.B[m], -1, -2) @ K))
        if experiment.joints:
            own_K = union(own_K, _side_by_side(momentum(X @ V[:6], J)))
            if experiment.dynamic:
                own_K = union(own_K, _side_by_side(momentum(J, J)))
        if sensed:
            own_K = union(own_K, momentum(full_V[:6], np.eye(6)))
        result.V[i] = None if full_V.shape[1] == 7 else full_V
        result.K[i] = None if own_K.shape[1] == 10 else own_K


def _side_by_side(stack):
    """(s, n, k) to (n, s k)."""
    return _at_most_unit(np.moveaxis(stack, 0, 1).reshape(stack.shape[1], -1), axis=0)


def _at_most_unit(vectors, axis: int):
    """Vectors longer than one made unit vectors: gears speed rotors up by orders of magnitude."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=axis, keepdims=True), 1.0)
