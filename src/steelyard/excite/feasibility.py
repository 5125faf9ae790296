"""What a motion uses of every limit at 1 kHz, and the way from the optimiser's motions to one that keeps them all."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.errors import OptionError
from steelyard.excite.adjoint import body_twists
from steelyard.excite.collisions import NearPairs
from steelyard.excite.measured_rows import MeasuredRows
from steelyard.excite.motion_curves import Spline
from steelyard.excite.motion_problem import JOINT_LIMITS, MotionProblem, corner_speeds
from steelyard.excite.optimise import PENALTY, Descent, Progress, aimed_shares, rounds
from steelyard.excite.thresholds import THRESHOLDS
from steelyard.native import CHUNK
from steelyard.simulate.trajectories import STEP

STRIDE = 10  # instants from one look at distances to the next
UNITS = {"position": "", "velocity": "/s", "acceleration": "/s^2", "jerk": "/s^3"}
RESTORATIONS = 4  # times that the limits are drawn in where the dense look finds more than the grid
SMALL_EXCESS = 1.03  # use of a joint limit that a smaller excursion mends
SHRINKING = 0.9  # factor of the excursion where limits are still exceeded after that
SMALLEST = 0.05  # of the designed excursion: below, nothing worth recording is left
SHAPE_SHARE = 0.7  # share of the time that is left for the shape, before limits are settled


@dataclass(frozen=True)
class Margin:
    """Use of one limit of one joint, body or pair of bodies."""

    limit_name: str  # and `where`: what is limited, and of which joint, body or pair
    where: str
    used: float  # share of what the margins leave, 1 is all
    value: float  # and `limit`: in `unit`; for clearances value is the distance beyond what the pair needs, and limit 0
    limit: float
    unit: str
    time: float  # s at which the value is reached

    @property
    def satisfied(self) -> bool:
        return self.used <= 1 + 1e-9


def margins(problem: MotionProblem, coefficients, *, rate: float = 1 / STEP) -> tuple[Margin, ...]:
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


def _distances(problem: MotionProblem, coefficients, t, speeds) -> list[Margin]:
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
    near = _nearest(problem, coefficients, t[coarse], max(THRESHOLDS.nearby, reach), pairs)
    slack = near.room - (fastest[near.first, near.sample] + fastest[near.second, near.sample]) * step
    found = np.full((len(fastest), len(fastest)), np.inf)  # nearest so far, of which another dip may come nearer still
    for (a, b), (room, _) in pairs.items():
        found[a, b] = found[b, a] = room
    around = coarse[np.unique(near.sample[slack < np.maximum(found[near.first, near.second], 0.0)])]
    fine = (around[:, None] + np.arange(-STRIDE // 2, STRIDE // 2 + 1)).clip(0, len(t) - 1)
    _nearest(problem, coefficients, t[np.setdiff1d(fine, coarse)], THRESHOLDS.nearby, pairs)
    return [
        Margin(
            "clearance", f"{scene.name(a)} and {scene.name(b)}", 1.0 - room / THRESHOLDS.nearby, room, 0.0, "m", when
        )
        for (a, b), (room, when) in pairs.items()
        if room < THRESHOLDS.nearby
    ]


def _nearest(problem: MotionProblem, coefficients, t, look: float, pairs) -> NearPairs:
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


def _peaks(problem: MotionProblem, states, rows: MeasuredRows):
    """Values (rows, n) of each kind of limit over a chunk of states (4, nv, n)."""
    for order, name in enumerate(JOINT_LIMITS):
        yield name, states[order] - (problem.bounds.middle[:, None] if order == 0 else 0.0)
    if np.isfinite(problem.bounds.effort).any():
        yield "effort", rows.forces[: problem.robot.nv]
    if problem.support is not None:
        yield "balance", np.maximum(problem.support.reach(rows.forces[problem.base_rows]), 0.0)
    if problem.cartesian_speed is not None:
        yield "cartesian speed", corner_speeds(problem.robot, problem.scene, body_twists(rows.bodies))[0]


def _margin(problem: MotionProblem, name: str, i: int, value: float, when: float) -> Margin:
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


@dataclass(frozen=True, eq=False)
class Feasible:
    """A motion that keeps every limit. cost: of the goal, after reductions; margins: use of the limits."""

    run: Descent
    coefficients: np.ndarray
    margins: tuple[Margin, ...]
    notes: tuple[str, ...]
    cost: float


def best_feasible(
    runs: Sequence[Descent], *, workers: int = 1, progress: Progress | None = None, seconds=np.inf
) -> Feasible:
    """The best of several runs, each optimised to the end. Raises OptionError where none keeps the limits."""
    if workers > 1 and len(runs) > 1:
        ends = _at_once(runs, min(workers, len(runs)), seconds)
    else:
        share = seconds / len(runs)
        ends = [_optimised(run, share, _part(progress, k, len(runs))) for k, run in enumerate(runs)]
    feasible = [end for end in ends if isinstance(end, Feasible)]
    if not feasible:
        raise next(end for end in ends if isinstance(end, OptionError))
    return min(feasible, key=lambda end: end.cost)


def pursue_target(best: Feasible, target: float | None, *, seconds: float = np.inf) -> tuple[Feasible, tuple[str, ...]]:
    """A motion that misses a target of the condition number, designed on for that alone; and notes."""
    problem = best.run.problem
    reached = problem.goal.condition(problem.gram(best.coefficients))
    if target is None or reached <= target:
        return best, ()
    if problem.goal.criterion != "condition" and seconds > 0:
        z = problem.variables(best.coefficients)
        problem = replace(problem, goal=replace(problem.goal, criterion="condition"))
        on = _optimised(Descent(problem, z, best.run.first, {}, PENALTY, aimed_shares(), best.run.history), seconds)
        now = problem.goal.condition(problem.gram(on.coefficients)) if isinstance(on, Feasible) else np.inf
        if isinstance(on, Feasible) and now < reached:
            note = f"Designed on for the condition number alone, from {reached:.3g} to {now:.3g}."
            best, reached = on, now
            if reached <= target:
                return best, (note,)
    active = ", ".join(f"{m.limit_name} of {m.where}" for m in best.margins if m.used > THRESHOLDS.active)
    return best, (
        f"The condition number {reached:.3g} misses the target {target:g}. At their bounds: "
        f"{active or 'none of the limits alone'}. Allow more there, a longer duration or more harmonics, or estimate "
        "fewer terms.",
    )


def _part(progress: Progress | None, k: int, count: int) -> Progress | None:
    return None if progress is None else lambda stage, share: progress(stage, (k + share) / count)


def _optimised(run: Descent, seconds: float, progress: Progress | None = None) -> "Feasible | OptionError":
    """seconds: rather than a deadline, as clocks of other processes may differ."""
    now = time.monotonic()
    run = rounds(run, progress=progress, deadline=now + SHAPE_SHARE * seconds)
    try:
        end = _at(run, *_restored(run, now + seconds))
    except OptionError as error:
        return error
    if seconds < np.inf:  # an interrupted run may have left a first motion that was good
        first = run.problem.coefficients(run.first)
        used = margins(run.problem, first)
        end = min(end, _at(run, first, used, ()), key=lambda x: x.cost) if all(m.satisfied for m in used) else end
    return end


def _at(run: Descent, coefficients, used, notes) -> Feasible:
    cost = run.problem.goal.cost(run.problem.gram(coefficients))[0]
    return Feasible(run, coefficients, used, notes, cost)


def _at_once(runs: Sequence[Descent], workers: int, seconds: float) -> list:
    """The same in processes of their own: threads gain nothing, as arrays of this size leave the lock no time."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return list(pool.map(_optimised, runs, [seconds * workers / len(runs)] * len(runs)))


def _restored(run: Descent, deadline: float) -> tuple[np.ndarray, tuple[Margin, ...], tuple[str, ...]]:
    """Coefficients that keep every limit at 1 kHz. Raises OptionError where even a small motion does not."""
    coefficients, used = _shrunk(run.problem, run.problem.coefficients(run.z))
    for _ in range(RESTORATIONS):
        if all(m.satisfied for m in used):
            return coefficients, used, ()
        if time.monotonic() > deadline:
            break
        run = rounds(_tightened(run, used), count=1, deadline=deadline)
        coefficients, used = _shrunk(run.problem, run.problem.coefficients(run.z))
    middle = _mean(run.problem, coefficients)
    share = 1.0
    while share > SMALLEST:
        if all(m.satisfied for m in used):
            note = f"The motion was reduced to {share:.0%} of its excursion to keep every limit."
            return middle + share * (coefficients - middle), used, (note,) if share < 1 else ()
        share *= SHRINKING
        smaller = middle + share * (coefficients - middle)
        used = margins(run.problem, smaller, rate=1 / STEP / STRIDE)
        if all(m.satisfied for m in used):
            used = margins(run.problem, smaller)
    worst = used[0]
    raise OptionError(
        f"No motion was found within the limits: {worst.limit_name} of {worst.where} is exceeded "
        f"({worst.value:.3g} {worst.unit} against {worst.limit:.3g} at t = {worst.time:.2f} s) even for a small one. "
        "Widen that limit, lower clearance, or give a start pose in free space."
    )


def _shrunk(problem: MotionProblem, coefficients) -> tuple[np.ndarray, tuple[Margin, ...]]:
    """A motion whose joints exceed limits by little, smaller by as much; and what it uses."""
    used = margins(problem, coefficients)
    excess = max((m.used for m in used if m.limit_name != "clearance"), default=1.0)
    if 1 < excess < SMALL_EXCESS:
        middle = _mean(problem, coefficients)
        coefficients = middle + (coefficients - middle) / (excess * (1 + 1e-4))
        used = margins(problem, coefficients)
    return coefficients, used


def _tightened(run: Descent, used) -> Descent:
    tight = dict(run.tight)
    for name in {m.limit_name for m in used if not m.satisfied}:
        worst = max((m for m in used if m.limit_name == name), key=lambda m: m.used)
        if name == "clearance":
            tight[name] = tight.get(name, THRESHOLDS.spare) - worst.value + 0.002
        else:
            tight[name] = tight[name] / worst.used * 0.997
    return replace(run, tight=tight)


def _mean(problem: MotionProblem, coefficients) -> np.ndarray:
    """Coefficients of standing at the start pose, or of the middle of the motion where that is free."""
    if isinstance(problem.curve, Spline) or problem.start is not None:
        pose = problem.states(coefficients, problem.curve.values(np.zeros(1)))[0, :, 0]
    else:
        pose = problem.states(coefficients)[0].mean(axis=1)
    constant = np.linalg.lstsq(problem.values[0], np.ones(len(problem.grid)), rcond=None)[0]
    return np.outer(constant, pose)
