"""What a finished motion uses of every limit, looked at densely."""

from dataclasses import dataclass

import numpy as np

from steelyard.excite.adjoint import body_twists
from steelyard.excite.problem import JOINT_LIMITS, Problem, corner_speeds
from steelyard.excite.rows import Rows
from steelyard.excite.scene import Contacts

RATE = 1000.0  # Hz
CHUNK = 1024
STRIDE = 10  # instants from one look at distances to the next
LOOK = 0.05  # m beyond the clearance within which the nearest approach is told
UNITS = {"position": "", "velocity": "/s", "acceleration": "/s^2", "jerk": "/s^3"}


@dataclass(frozen=True)
class Margin:
    """Of one limit of one joint or pair. used: share of what the margins leave, 1 is all. value, limit: in `unit`.

    time: s at which the value is reached. For clearances value is the distance beyond what the pair needs, limit 0.
    """

    limit_name: str
    where: str
    used: float
    value: float
    limit: float
    unit: str
    time: float

    @property
    def kept(self) -> bool:
        return self.used <= 1 + 1e-9


def margins(problem: Problem, coefficients, *, rate: float = RATE) -> tuple[Margin, ...]:
    """Every finite limit of every joint that moves, at `rate` Hz, the tightest first.

    Distances are taken at every tenth instant, and at all of them around those from which bodies, at the speeds they
    have, could come to miss room in between.
    """
    t = np.arange(int(np.ceil(problem.curve.duration * rate)) + 1) / rate
    t = np.minimum(t, problem.curve.duration)
    found: dict[tuple[str, int], tuple[float, float]] = {}
    speeds = []
    for start in range(0, len(t), CHUNK):
        at = t[start : start + CHUNK]
        states = problem.states(coefficients, problem.curve.values(at))
        rows = problem.rows(states)
        for name, values in _peaks(problem, states, rows):
            for i, row in enumerate(values):
                k = int(np.argmax(np.abs(row)))
                if abs(row[k]) >= abs(found.get((name, i), (0.0, 0.0))[0]):
                    found[name, i] = float(row[k]), float(at[k])
        if problem.scene is not None and problem.colliding:
            speeds.append(corner_speeds(problem.robot, problem.scene, body_twists(rows.bodies))[0])
    listed = [_margin(problem, name, i, *peak) for (name, i), peak in found.items()]
    if speeds:
        listed += _distances(problem, coefficients, t, np.concatenate(speeds, axis=1))
    return tuple(sorted((m for m in listed if np.isfinite(m.limit)), key=lambda m: -m.used))


def _distances(problem: Problem, coefficients, t, speeds) -> list[Margin]:
    """Nearest approach of each pair within reach. speeds: (nb, n) of the fastest point of each body at the times t."""
    scene = problem.scene
    assert scene is not None
    still = np.zeros((len(scene.fixed), speeds.shape[1]))
    fastest = np.concatenate([speeds, still])  # negative numbers are the last rows
    coarse = np.unique(np.minimum(np.arange(0, len(t) + STRIDE, STRIDE), len(t) - 1))
    fastest = np.maximum.reduceat(fastest, coarse, axis=1)
    fastest = np.maximum(fastest, np.roll(fastest, 1, axis=1))  # before and after the instant
    step = (t[1] - t[0]) * STRIDE / 2
    reach = 2 * fastest.max() * step
    pairs: dict[tuple[int, int], tuple[float, float]] = {}
    near = _nearest(problem, coefficients, t[coarse], max(LOOK, reach), pairs)
    slack = near.room - (fastest[near.first, near.sample] + fastest[near.second, near.sample]) * step
    lowest = np.flatnonzero(np.isin(t[coarse], [when for _, when in pairs.values()]))
    around = coarse[np.union1d(near.sample[slack < 0], lowest)]
    fine = (around[:, None] + np.arange(-STRIDE // 2, STRIDE // 2 + 1)).clip(0, len(t) - 1)
    _nearest(problem, coefficients, t[np.setdiff1d(fine, coarse)], LOOK, pairs)
    return [
        Margin("clearance", f"{scene.name(a)} and {scene.name(b)}", 1.0 - room / LOOK, room, 0.0, "m", when)
        for (a, b), (room, when) in pairs.items()
        if room < LOOK
    ]


def _nearest(problem: Problem, coefficients, t, look: float, pairs) -> Contacts:
    """Contacts at times t; `pairs` is brought up to date with the nearest of each."""
    x = problem.states(coefficients, problem.curve.values(t))[0]
    assert problem.scene is not None
    near = problem.scene.contacts(problem.bounds.positions(x).T, look)
    first, second = np.minimum(near.first, near.second), np.maximum(near.first, near.second)
    order = np.lexsort((near.room, second, first))
    changed = np.diff(first[order], prepend=-9) | np.diff(second[order], prepend=-9)
    for k in order[changed != 0]:  # the nearest of each pair
        pair = int(first[k]), int(second[k])
        if near.room[k] < pairs.get(pair, (np.inf, 0.0))[0]:
            pairs[pair] = float(near.room[k]), float(t[near.sample[k]])
    return near


def _peaks(problem: Problem, states, rows: Rows):
    """Values (rows, n) of each kind of limit over a chunk of states (4, nv, n)."""
    for order, name in enumerate(JOINT_LIMITS):
        yield name, states[order] - (problem.bounds.middle[:, None] if order == 0 else 0.0)
    if np.isfinite(problem.bounds.effort).any():
        yield "effort", rows.forces[: problem.robot.nv]
    if problem.support is not None:
        yield "balance", np.maximum(problem.support.reach(rows.forces[problem.base_rows]), 0.0)
    if problem.cartesian_speed is not None:
        yield "cartesian speed", corner_speeds(problem.robot, problem.scene, body_twists(rows.bodies))[0]


def _margin(problem: Problem, name: str, i: int, value: float, when: float) -> Margin:
    robot, bounds = problem.robot, problem.bounds
    if name == "cartesian speed":
        limit, where, unit = float(problem.cartesian_speed or np.inf), robot.body_names[i], "m/s"
        return Margin(name, where, value / limit, value, limit, unit, when)
    if name == "balance" and problem.support is not None:
        normal, limit = problem.support.normals[i], float(problem.support.room[i])
        where = f"the feet towards x {normal[0]:+.2f}, y {normal[1]:+.2f}"
        return Margin(name, where, value / limit, value, limit, "m", when)
    turning = bounds.turning[i]
    limit = np.inf if bounds.locked[i] else (bounds.half if name == "position" else getattr(bounds, name))[i]
    unit = ("N m" if turning else "N") if name == "effort" else ("rad" if turning else "m") + UNITS[name]
    used = abs(value) / limit
    if name == "position":
        value += bounds.middle[i]
        limit = bounds.upper[i] if value > bounds.middle[i] else bounds.lower[i]
    return Margin(name, robot.dof_names[i], float(used), float(value), float(limit), unit, when)
