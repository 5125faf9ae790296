"""Identifiability by the rank of a regression at random states, for what the recursion does not cover.

Certain up to the tolerance of a rank, which `RankDecisions` state. Of a Mechanism: sensors on some joints only. Its
dynamics are those of `dynamics.newton_euler`, body by body in body axes; nothing here knows of spans or transfers, so
it also checks the recursion. Of a Robot with closed loops: torques of independent joints. And of extra columns
(couplings, springs, columns of the user) beside base columns that are known: what they have in common with those is
read off the regression of random states, and expressed by them.
"""

import numpy as np

from steelyard.dynamics import body_regressor
from steelyard.dynamics.closed_loop.assembly import Choice, choose_independent
from steelyard.dynamics.closed_loop.projection import columns, layout_rows
from steelyard.dynamics.closed_loop.states import random_closed_states
from steelyard.errors import OptionError, choices
from steelyard.identifiable.basis import Basis, RankDecisions, from_dependence, from_null_space, rescaled
from steelyard.identifiable.mechanism import ALL_JOINTS, NO_COLUMN, Mechanism
from steelyard.identifiable.thresholds import THRESHOLDS
from steelyard.model import Robot
from steelyard.model.robot import WORLD
from steelyard.numbers import SEED
from steelyard.spatial import adjoint, crm, product_of_exponentials
from steelyard.terms import TERMS, ParameterLayout

EXTRA_STATES = 40  # states beyond the number that unknowns ask for
LOOPS_METHOD = "numeric, closed loops"


def random_regression(
    mechanism: Mechanism, *, dynamic: bool, rows: tuple[int, ...], wrenches: tuple[int, ...] = (), states=None
):
    """Stacked regression (n, p) of random states, enough for the rank, in the mechanism's units; every rotor must be a
    node. rows: whose torque is measured; wrenches: nodes behind a six-axis sensor, WORLD for one under the robot."""
    if mechanism.size > THRESHOLDS.most_dense_columns:
        raise OptionError(
            f"This analysis needs a dense matrix of {mechanism.size} columns (at most "
            f"{THRESHOLDS.most_dense_columns}). Measure all joints or a wrench, which the recursion covers, or "
            "analyse a part of the robot."
        )
    count = states or 3 * mechanism.size // max(len(rows) + 6 * len(wrenches), 1) + EXTRA_STATES
    rng, size = np.random.default_rng(SEED), (len(mechanism.coordinate_names), count)
    q = rng.uniform(-np.pi, np.pi, size=(2, *size))
    v, a = rng.normal(size=size) * dynamic, rng.normal(size=size) * dynamic
    chunks = [slice(start, start + 64) for start in range(0, count, 64)]
    found = [_of_states(mechanism, q[..., s], v[:, s], a[:, s], rows, wrenches) for s in chunks]
    return np.concatenate(found).reshape(-1, mechanism.size)


def numeric_null_space(stacked):
    """Null space (p, d) of a stacked regression, columns scaled to one; and the singular values around the rank."""
    size = np.linalg.norm(stacked, axis=0)
    size[size <= 1e-10 * size.max(initial=0.0)] = 1.0
    triangle = np.linalg.qr(stacked / size, mode="r")
    _, singular, Vt = np.linalg.svd(triangle)
    relative = np.zeros(stacked.shape[1])
    relative[: len(singular)] = singular / max(singular.max(initial=0.0), np.finfo(float).tiny)
    rank = int(np.count_nonzero(relative > THRESHOLDS.numeric_rank))
    return Vt[rank:].T / size[:, None], relative


def numeric_basis(stacked, scale, order) -> tuple[Basis, RankDecisions]:
    """Basis of a stacked regression (n, p), columns in units of `scale` (p,), preferred in an order (p,)."""
    null, relative = numeric_null_space(stacked)
    basis = rescaled(from_null_space(null, order=order), scale)
    smallest = float(relative[basis.count - 1]) if basis.count else np.inf
    return basis, RankDecisions(smallest, float(relative[basis.count :].max(initial=0.0)))


def _of_states(mechanism: Mechanism, q, v, a, rows, wrenches):
    """(s, rows + 6 wrenches, p). q: (2, nc, s): every joint moves along its twists twice, so it gets everywhere."""
    samples = v.shape[1]
    out = np.zeros((samples, len(rows) + 6 * len(wrenches), mechanism.size))
    place = {k: i for i, k in enumerate(rows)}
    frames = _frames(mechanism, q, v, a)
    for j, node in enumerate(mechanism.nodes):
        if not len(node.columns):
            continue
        _, twist, acceleration = frames[j]
        wrench = body_regressor(twist, acceleration) @ node.content
        at = j
        while at != WORLD:
            here = mechanism.nodes[at]
            for phi, k in zip(here.subspace.T, here.coordinates, strict=True):
                if int(k) in place:
                    out[:, place[int(k)], node.columns] += phi @ wrench
            if at in wrenches:
                _put(out, len(rows), wrenches.index(at), node.columns, wrench)
            wrench = np.swapaxes(frames[at][0], 1, 2) @ wrench
            at = here.parent
        if WORLD in wrenches:
            _put(out, len(rows), wrenches.index(WORLD), node.columns, wrench)
    for name, own in mechanism.term_columns.items():
        effect = TERMS[name].column(v, a, np.tanh(3 * v))
        for k in rows:
            if own[k] != NO_COLUMN:
                out[:, place[k], own[k]] += effect[k]
    return out


def _put(out, start, which, columns, wrench):
    out[:, start + 6 * which : start + 6 * which + 6, columns] += wrench


def _frames(mechanism: Mechanism, q, v, a):
    """Per node: X (s, 6, 6) node from parent, twist (s, 6) and proper acceleration (s, 6) in node axes."""
    samples = v.shape[1]
    rest = (np.zeros((samples, 6)), np.broadcast_to(-mechanism.gravity, (samples, 6)))
    frames = []
    for node in mechanism.nodes:
        k = node.coordinates
        several = np.linalg.matrix_rank(node.subspace) > 1  # a rotor that several joints turn has one axis
        twice = np.concatenate([q[0, k], q[1, k]]) if several else q[0, k]
        R, p = product_of_exponentials(np.tile(node.subspace, 2) if several else node.subspace, twice)
        R, p = node.rotation @ R, p @ node.rotation.T + node.position
        Rt = np.swapaxes(R, 1, 2)
        X = adjoint(Rt, -(Rt @ p[..., None])[..., 0])
        above = rest if node.parent == WORLD else frames[node.parent][1:]
        twist, acceleration = ((X @ x[..., None])[..., 0] for x in above)
        moved = v[k].T @ node.subspace.T
        twist = twist + moved
        acceleration = acceleration + a[k].T @ node.subspace.T + (crm(twist) @ moved[..., None])[..., 0]
        frames.append((X, twist, acceleration))
    return frames


def closed_basis(
    robot: Robot, layout: ParameterLayout, scale, order, *, dynamic: bool = True, sensors: tuple[str, ...] = ("joints",)
) -> tuple[Basis, RankDecisions]:
    """Basis for torques measured at independent joints, by the rank of random states. Its columns are those of a layout
    without its rotors, then the numbers of each rotor.

    scale (p,): unit of each column; order (p,): place in the order of preference.
    """
    choice = choose_independent(robot)
    rows = sensor_rows(robot, choice, sensors)
    at = random_closed_states(robot, choice, 3 * layout.size // len(rows) + EXTRA_STATES, seed=SEED, dynamic=dynamic)
    whole = columns(robot, layout, at)[:, rows]
    parts = [np.delete(whole, layout.rotors, axis=-1)]
    for body, rotor in enumerate(robot.rotors if layout.rotor_names else (), start=len(layout.body_names)):
        parts.append(whole[..., layout.body(body)] @ rotor.content)
    stacked = np.concatenate(parts, axis=-1)
    return numeric_basis(stacked.reshape(-1, stacked.shape[-1]) * scale, scale, order)


def sensor_rows(robot: Robot, choice: Choice, sensors: tuple[str, ...]) -> list[int]:
    """Which independent coordinates are measured. Raises OptionError for other sensors."""
    unknown = [name for name in sensors if name != ALL_JOINTS and name not in choice.names]
    if unknown or not sensors:
        raise OptionError(
            f"sensors: robot '{robot.name}' has closed loops, so torques are those of its independent joints: 'joints' "
            f"for all, or some of {choices(choice.names)}; got {choices(unknown) or 'none'}."
        )
    if ALL_JOINTS in sensors:
        return list(range(len(choice.names)))
    return [choice.names.index(name) for name in dict.fromkeys(sensors)]


def with_extras(robot: Robot, layout: ParameterLayout, base: Basis) -> Basis:
    """Basis of a layout with extras from the one without. Columns whose size evidence tells are kept as they are: which
    of them others express would change with the links, and priors tell them apart."""
    whole, kept, layout = layout, [not extra.weighed for extra in layout.extras], layout.plain
    base = _among_extras(robot, layout, base) if layout.extras else base
    place = np.concatenate([np.arange(layout.extra.start), layout.extra.start + np.flatnonzero(kept)])
    dependent = np.setdiff1d(np.arange(layout.size), base.columns)
    more = whole.size - layout.size
    expressed = np.concatenate([base.regrouping[:, dependent], np.zeros((more, len(dependent)))])
    own = whole.extra.start + np.flatnonzero(~np.array(kept, dtype=bool))
    order = np.argsort(np.concatenate([place[base.columns], own]))
    return from_dependence(place[dependent], expressed[order])


def _among_extras(robot: Robot, layout: ParameterLayout, base: Basis) -> Basis:
    states = robot_states(robot, (base.count + len(layout.extras)) // robot.nv + 20, SEED)
    kept = np.concatenate([base.columns, np.arange(layout.size)[layout.extra]])
    Y = layout_rows(robot, layout, *states)[..., kept].reshape(-1, len(kept))
    scale = np.linalg.norm(Y, axis=0)
    scale[scale == 0] = 1.0
    triangle = np.asarray(np.linalg.qr(Y / scale, mode="r"))
    r = base.count
    shared, own = triangle[:r, r:], triangle[r:, r:]
    _, singular, Vt = np.linalg.svd(own)
    extras = from_null_space(Vt[int(np.count_nonzero(singular > THRESHOLDS.independent_extra)) :].T)
    dependent = np.setdiff1d(np.arange(len(layout.extras)), extras.columns)
    among = extras.regrouping[:, dependent]
    bodies = np.linalg.solve(triangle[:r, :r], shared[:, dependent] - shared[:, extras.columns] @ among)
    expressed = np.concatenate([bodies, among]) * scale[r + dependent]
    expressed /= scale[np.concatenate([np.arange(r), r + extras.columns]), None]

    start = layout.extra.start
    before = np.setdiff1d(np.arange(start), base.columns)
    everything = np.zeros((r + extras.count, len(before) + len(dependent)))
    everything[:r, : len(before)] = base.regrouping[:, before]
    everything[:, len(before) :] = expressed
    return from_dependence(np.concatenate([before, start + dependent]), everything)


def robot_states(robot: Robot, count: int, seed: int):
    """Random q (nq, n), v, a (nv, n)."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(robot.nq, count))
    for where in robot.quaternions:
        q[where] /= np.linalg.norm(q[where], axis=0)
    return q, rng.normal(size=(robot.nv, count)), rng.normal(size=(robot.nv, count))
