"""What a finished motion uses of every limit, looked at densely."""

from dataclasses import dataclass

import numpy as np

from steelyard.dynamics.kinematics import motion
from steelyard.excite.adjoint import body_twists
from steelyard.excite.problem import JOINT_LIMITS, Problem, corner_speeds
from steelyard.excite.rows import all_rows

RATE = 1000.0  # Hz
CHUNK = 1024
LOOK = 0.1  # m beyond the clearance within which the nearest approach is told
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
    """Every finite limit of every joint that moves, at `rate` Hz, the tightest first."""
    t = np.arange(int(np.ceil(problem.curve.duration * rate)) + 1) / rate
    t = np.minimum(t, problem.curve.duration)
    found: dict[tuple[str, int], tuple[float, float]] = {}
    pairs: dict[tuple[int, int], tuple[float, float]] = {}
    for start in range(0, len(t), CHUNK):
        at = t[start : start + CHUNK]
        states = problem.states(coefficients, problem.curve.values(at))
        for name, values in _peaks(problem, states):
            for i, row in enumerate(values):
                k = int(np.argmax(np.abs(row)))
                if abs(row[k]) >= abs(found.get((name, i), (0.0, 0.0))[0]):
                    found[name, i] = float(row[k]), float(at[k])
        _nearest(problem, states[0], at, pairs)
    listed = [_margin(problem, name, i, *peak) for (name, i), peak in found.items()]
    for (one, other), (room, when) in pairs.items():
        scene = problem.scene
        assert scene is not None
        used = 1.0 - room / LOOK
        listed.append(Margin("clearance", f"{scene.name(one)} and {scene.name(other)}", used, room, 0.0, "m", when))
    return tuple(sorted((m for m in listed if np.isfinite(m.limit)), key=lambda m: -m.used))


def _peaks(problem: Problem, states):
    """Values (rows, n) of each kind of limit over a chunk of states (4, nv, n)."""
    for order, name in enumerate(JOINT_LIMITS):
        yield name, states[order] - (problem.bounds.middle[:, None] if order == 0 else 0.0)
    q, v, a, _ = states
    state = motion(problem.robot, q, v, a)
    if np.isfinite(problem.bounds.effort).any():
        rows = all_rows(problem.robot, problem.goal.layout, v, a, state, problem.goal.coulomb_width)
        yield "effort", problem.torque(rows, v, a)
    if problem.cartesian_speed is not None:
        yield "cartesian speed", corner_speeds(problem.robot, problem.scene, body_twists(state))[0]


def _nearest(problem: Problem, q, at, pairs):
    if problem.scene is None or not problem.colliding:
        return
    near = problem.scene.contacts(q.T, LOOK)
    first, second = np.minimum(near.first, near.second), np.maximum(near.first, near.second)
    for k in np.argsort(near.room):
        pair = int(first[k]), int(second[k])
        if near.room[k] < pairs.get(pair, (np.inf, 0.0))[0]:
            pairs[pair] = float(near.room[k]), float(at[near.sample[k]])


def _margin(problem: Problem, name: str, i: int, value: float, when: float) -> Margin:
    robot, bounds = problem.robot, problem.bounds
    if name == "cartesian speed":
        limit, where, unit = float(problem.cartesian_speed or np.inf), robot.body_names[i], "m/s"
        return Margin(name, where, value / limit, value, limit, unit, when)
    turning = robot.free_joints[i].kind == "revolute"
    limit = np.inf if bounds.locked[i] else (bounds.half if name == "position" else getattr(bounds, name))[i]
    unit = ("N m" if turning else "N") if name == "effort" else ("rad" if turning else "m") + UNITS[name]
    used = abs(value) / limit
    if name == "position":
        value += bounds.middle[i]
        limit = bounds.upper[i] if value > bounds.middle[i] else bounds.lower[i]
    return Margin(name, robot.joint_names[i], float(used), float(value), float(limit), unit, when)
