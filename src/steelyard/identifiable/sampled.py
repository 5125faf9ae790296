"""The regression of random states of a Mechanism: the numeric analysis for what the recursion does not cover.

Its dynamics are those of `dynamics.body`, body by body in body axes; nothing here knows of spans or transfers, so it is
also a check of the recursion.
"""

import numpy as np

from steelyard.dynamics import body_regressor
from steelyard.errors import OptionError
from steelyard.identifiable.mechanism import GROUND, NO_COLUMN, Mechanism
from steelyard.identifiable.poses import exponential
from steelyard.spatial import adjoint, crm
from steelyard.terms import TERMS

SEED = 20260103
EXTRA = 40  # states beyond the number that unknowns ask for
# Of the largest singular value of unit columns. Dependence shows at 1e-14; bent axes of model files that write pi as
# 3.1416 show at 1e-10, which no experiment could tell from dependence.
RANK_TOLERANCE = 1e-8
LARGEST = 2500  # columns; above, a dense decomposition takes minutes and gigabytes


def regression(
    mechanism: Mechanism, *, dynamic: bool, rows: tuple[int, ...], wrenches: tuple[int, ...] = (), states=None
):
    """Stacked regression (n, p) of random states, in the mechanism's units. Every rotor must be a node.

    rows: coordinates whose torque is measured; wrenches: nodes in front of whose joint a six-axis sensor sits, GROUND
    for one under the robot. states: how many, enough for the rank by default.
    """
    if mechanism.size > LARGEST:
        raise OptionError(
            f"This analysis needs a dense matrix of {mechanism.size} columns (at most {LARGEST}). Measure all joints "
            "or a wrench, which the recursion covers, or analyse a part of the robot."
        )
    count = states or 3 * mechanism.size // max(len(rows) + 6 * len(wrenches), 1) + EXTRA
    q, v, a = _states(mechanism, count, dynamic)
    return np.concatenate(
        [_of_states(mechanism, q[..., s], v[:, s], a[:, s], rows, wrenches) for s in _chunks(count)]
    ).reshape(-1, mechanism.size)


def null_space(stacked):
    """Null space (p, d) of a stacked regression, columns scaled to one; and the singular values around the rank."""
    size = np.linalg.norm(stacked, axis=0)
    size[size <= 1e-10 * size.max(initial=0.0)] = 1.0
    triangle = np.linalg.qr(stacked / size, mode="r")
    _, singular, Vt = np.linalg.svd(triangle)
    relative = np.zeros(stacked.shape[1])
    relative[: len(singular)] = singular / max(singular.max(initial=0.0), np.finfo(float).tiny)
    rank = int(np.count_nonzero(relative > RANK_TOLERANCE))
    return Vt[rank:].T / size[:, None], relative


def _chunks(count: int):
    return [slice(start, start + 64) for start in range(0, count, 64)]


def _states(mechanism: Mechanism, count: int, dynamic: bool):
    rng = np.random.default_rng(SEED)
    size = (len(mechanism.coordinate_names), count)
    q = rng.uniform(-np.pi, np.pi, size=(2, *size))
    v, a = rng.normal(size=size), rng.normal(size=size)
    return q, v * dynamic, a * dynamic


def _of_states(mechanism: Mechanism, q, v, a, rows, wrenches):
    """(s, rows + 6 wrenches, p). q: (2, nc, s): every joint moves along its twists twice, so it gets everywhere."""
    samples = v.shape[1]
    out = np.zeros((samples, len(rows) + 6 * len(wrenches), mechanism.size))
    place = {k: i for i, k in enumerate(rows)}
    frames = _motion(mechanism, q, v, a)
    for j, node in enumerate(mechanism.nodes):
        if not len(node.columns):
            continue
        _, twist, acceleration = frames[j]
        wrench = body_regressor(twist, acceleration) @ node.content
        at = j
        while at != GROUND:
            here = mechanism.nodes[at]
            for phi, k in zip(here.subspace.T, here.coordinates, strict=True):
                if int(k) in place:
                    out[:, place[int(k)], node.columns] += phi @ wrench
            if at in wrenches:
                _put(out, len(rows), wrenches.index(at), node.columns, wrench)
            wrench = np.swapaxes(frames[at][0], 1, 2) @ wrench
            at = here.parent
        if GROUND in wrenches:
            _put(out, len(rows), wrenches.index(GROUND), node.columns, wrench)
    for name, columns in mechanism.term_columns.items():
        effect = TERMS[name].column(v, a, np.tanh(3 * v))
        for k in rows:
            if columns[k] != NO_COLUMN:
                out[:, place[k], columns[k]] += effect[k]
    return out


def _put(out, start, which, columns, wrench):
    out[:, start + 6 * which : start + 6 * which + 6, columns] += wrench


def _motion(mechanism: Mechanism, q, v, a):
    """Per node: X (s, 6, 6) node from parent, twist (s, 6) and proper acceleration (s, 6) in node axes."""
    samples = v.shape[1]
    rest = (np.zeros((samples, 6)), np.broadcast_to(-mechanism.gravity, (samples, 6)))
    frames = []
    for node in mechanism.nodes:
        k = node.coordinates
        twice = np.concatenate([q[0, k], q[1, k]]) if len(k) > 1 else q[0, k]
        R, p = exponential(np.tile(node.subspace, 2) if len(k) > 1 else node.subspace, twice)
        R, p = node.rotation @ R, p @ node.rotation.T + node.position
        Rt = np.swapaxes(R, 1, 2)
        X = adjoint(Rt, -(Rt @ p[..., None])[..., 0])
        above = rest if node.parent == GROUND else frames[node.parent][1:]
        twist, acceleration = ((X @ x[..., None])[..., 0] for x in above)
        moved = v[k].T @ node.subspace.T
        twist = twist + moved
        acceleration = acceleration + a[k].T @ node.subspace.T + (crm(twist) @ moved[..., None])[..., 0]
        frames.append((X, twist, acceleration))
    return frames
