"""Rows beside joint torques, chunk by chunk: wrenches and power at each sample, momentum and energy over windows.

Each function yields `(group, places, y (k, n), target (n,))`: columns among the kept ones, and what they explain.
"""

from collections.abc import Iterator

import numpy as np

from steelyard.dynamics import (
    base_wrench_rows,
    columns,
    energy_rows,
    link_wrench_rows,
    momentum_blocks,
    motion,
    of_tree,
    on_independent_joints,
    sensor_frame,
)
from steelyard.information.kinds import BASE, link_of
from steelyard.information.rows import chunk_rows, effect_values, known_torque
from steelyard.information.windows import parts
from steelyard.terms import TERMS

Pieces = Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]


def joint_rows(job, chunk) -> Pieces:
    """Torque of every degree. chunk: q, v, a, tau, direction, samples last."""
    pairs = chunk_rows(job.raw.robot, job.raw.layout, job.coulomb_width, job.rows, chunk)
    for dof, (y, tau) in enumerate(pairs):
        yield dof, job.rows[dof].places, y, tau


def independent_rows(job, chunk) -> Pieces:
    """Torque of every independent joint of a robot with closed loops; forces of passive joints are felt there."""
    q, v, a, tau, direction = chunk
    at = of_tree(job.robot, q.T, v.T, a.T)
    left = tau - known_torque(job.robot, job.layout, v, a, direction)
    target = on_independent_joints(at, left.T[..., None])[..., 0]
    rows = columns(job.robot, job.layout, at, direction=direction.T, coulomb_width=job.coulomb_width)
    for k in range(rows.shape[1]):
        yield k, np.arange(len(job.kept)), rows[:, k, job.kept].T, target[:, k]


def power_rows(job, chunk) -> Pieces:
    """Power `v^T tau` that all joints feed the robot."""
    v = chunk[1]
    y, power = np.zeros((len(job.raw.columns), v.shape[1])), np.zeros(v.shape[1])
    for dof, places, row, tau in joint_rows(job, chunk):
        y[places] += v[dof] * row
        power += v[dof] * tau
    yield 0, np.arange(len(y)), y, power


def wrench_rows(job, kind: str, chunk, wrench) -> Pieces:
    """Wrench (6, n) under the robot or in front of a link."""
    q, v, a = chunk[:3]
    state = motion(job.raw.robot, q, v, a)
    if kind == BASE:
        first, rows = 0, base_wrench_rows(np, state, slice(0, job.raw.robot.nb))
    else:
        frame = sensor_frame(job.raw.robot, link_of(kind))
        first, rows = 10 * frame.bodies.start, link_wrench_rows(np, state, frame)
    inside = (job.raw.columns >= first) & (job.raw.columns < first + rows.shape[1])
    places, columns = np.flatnonzero(inside), job.raw.columns[inside] - first
    for axis in range(6):
        yield axis, places, rows[axis, columns], wrench[axis]


def weak_rows(job, kind: str, t, channels, chunk_size: int) -> Pieces:
    """Balances of momentum or energy over the windows of a whole log. channels: as `job.part` takes them."""
    balance = momentum_balance if kind == "momentum" else energy_balance
    open_windows: dict[int, np.ndarray] = {}
    for part in parts(t, job.cutoff, chunk_size):
        chunk = job.chunk(channels, part.samples.start, part.samples.stop)
        for group, places, static, rate in balance(job, chunk):
            sums = static @ part.mean + rate @ part.rate
            before = open_windows.get(group)
            if before is not None:
                sums[:, : before.shape[1]] += before
            open_windows[group] = sums[:, part.done :]
            yield group, places, sums[:-1, : part.done], sums[-1, : part.done]


def momentum_balance(job, chunk):
    """Rows `[columns; torque]` (k + 1, n) of every degree: what counts as it is, and what counts by its derivative."""
    tau = chunk[3]
    static_known, rate_known = _known(job, chunk)
    momentum, drift = momentum_blocks(job.raw.robot, *chunk[:2])
    effects = _effects(job, chunk)
    for dof, row in enumerate(job.rows):
        static, rate = effects[dof]
        left = tau[dof] - static_known[dof]
        yield (
            dof,
            row.places,
            np.concatenate([-drift[dof][row.in_block], *static, left[None]]),
            np.concatenate([momentum[dof][row.in_block], *rate, -rate_known[None, dof]]),
        )


def energy_balance(job, chunk):
    """The same of the one row of energy: its derivative is the power of the joints less what friction takes."""
    q, v, _, tau, _ = chunk
    static_known, rate_known = _known(job, chunk)
    size, n = len(job.raw.columns), v.shape[1]
    static, rate = np.zeros((size + 1, n)), np.zeros((size + 1, n))
    bodies = job.raw.columns[job.raw.columns < job.raw.layout.inertial.stop]
    rate[: len(bodies)] = energy_rows(job.raw.robot, q, v, "total")[bodies]
    for dof, (row, (still, changing)) in enumerate(zip(job.rows, _effects(job, chunk), strict=True)):
        for place, value, momentum in zip(row.places[len(row.in_block) :], still, changing, strict=True):
            static[place] += v[dof] * value[0]
            rate[place] += v[dof] * momentum[0] / 2
    static[-1] = np.sum(v * (tau - static_known), axis=0)
    rate[-1] = -np.sum(v * rate_known, axis=0) / 2
    yield 0, np.arange(size), static, rate


def _known(job, chunk):
    """Torque (nv, n) of effects that are no columns, and momentum (nv, n) of known armature."""
    _, v, _, _, direction = chunk
    still = np.zeros_like(v)
    return (
        known_torque(job.raw.robot, job.raw.layout, v, still, direction),
        known_torque(job.raw.robot, job.raw.layout, still, v, still),
    )


def _effects(job, chunk):
    """Of each degree, in the order of its row's places: torques and momenta, (1, n), per unit; one is zero."""
    q, v, a, _, direction = chunk
    own = (job.raw.robot, job.raw.layout, job.coulomb_width, job.rows, q, v)
    as_momentum = effect_values(*own, v, direction)  # armature acts on the rate of v as on acceleration
    as_torque = as_momentum if a is None else effect_values(*own, a, direction)
    zero, pairs = np.zeros((1, v.shape[1])), []
    for row, torques, momenta in zip(job.rows, as_torque, as_momentum, strict=True):
        kinds = [*row.terms, *(job.raw.layout.extras[i].kind for i, _ in row.extras)]
        inertial = [kind in TERMS and TERMS[kind].inertial for kind in kinds]
        static = [zero if moves else x[None] for moves, x in zip(inertial, torques, strict=True)]
        rate = [x[None] if moves else zero for moves, x in zip(inertial, momenta, strict=True)]
        pairs.append((static, rate))
    return pairs
