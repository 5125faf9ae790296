"""Multi-start augmented Lagrangian: L-BFGS between updates of the multipliers. Deterministic under a seed, but for
deadlines: times of `time.monotonic` after which the best so far is returned.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from steelyard.excite.motion_curves import Curve
from steelyard.excite.motion_problem import JOINT_LIMITS, MotionProblem
from steelyard.excite.thresholds import THRESHOLDS
from steelyard.motion_options import Search

Progress = Callable[[str, float], None]
DRAWS = 6  # random motions a choice of periods
KEPT = 4  # of the best draws, optimised for a while
FIRST, LATER = 12, 25  # iterations before the choice, and of each round after
ROUNDS = 3
PENALTY, STEEPER, STEEPEST = 30.0, 3.0, 1000.0
SEARCHES = 2  # evaluations an iteration on average: where hulls touch with edges, line searches find little


@dataclass(frozen=True, eq=False)
class Descent:
    """Where the optimiser stands. first: variables it started from; history: cost after each round."""

    problem: MotionProblem
    z: np.ndarray
    first: np.ndarray
    multipliers: dict
    penalty: float
    tight: dict
    history: tuple[float, ...] = ()


def aimed_shares() -> dict[str, float]:
    """Shares of the limits to aim at, by name."""
    names = (*JOINT_LIMITS, "effort", "balance", "cartesian speed")
    return dict.fromkeys(names, THRESHOLDS.aim)


def first_runs(
    problem: MotionProblem, curves: list[Curve], search: Search, *, warm=None, deadline: float = np.inf
) -> list[Descent]:
    """Short runs from the best of several random motions, the best first, as many as there are starts or more. warm:
    coefficients of `problem.curve` to start from instead."""
    if warm is not None:
        z = problem.variables(warm)
        return [improved(Descent(problem, z, z, {}, PENALTY, aimed_shares()), FIRST, deadline)]
    draws = []
    for k in range(DRAWS):
        for i, curve in enumerate(curves):
            one = replace(problem, curve=curve)
            z = random_variables(one, np.random.default_rng([search.seed, i, k]))
            draws.append((one.cost(z, {}, PENALTY, aimed_shares())[0], i, k, one, z))
        if time.monotonic() > deadline:
            break
    draws.sort(key=lambda draw: draw[:3])
    runs = []
    for *_, one, z in draws[: max(search.starts, KEPT)]:
        runs.append(improved(Descent(one, z, z, {}, PENALTY, aimed_shares()), FIRST, deadline))
        if time.monotonic() > deadline:
            break
    return sorted(runs, key=lambda run: run.history[-1])


def random_variables(problem: MotionProblem, rng) -> np.ndarray:
    """Variables of a random motion that keeps the joint limits."""
    moving = problem.bounds.moving
    start = problem.curve.start(rng, problem.bounds.half)[:, moving]
    peaks = np.abs(np.einsum("onk,ki->oni", problem.values, start)).max(axis=1)
    bounds = problem.bounds
    limits = [bounds.half, bounds.velocity, bounds.acceleration, bounds.jerk]
    share = np.max([peak / limit[moving] for limit, peak in zip(limits, peaks, strict=True)], axis=0)
    return (0.8 * start / share / problem.scales).ravel()


def rounds(run: Descent, *, progress: Progress | None = None, count: int = ROUNDS, deadline: float = np.inf) -> Descent:
    """Further rounds of multiplier updates, penalties growing."""
    for k in range(count):
        if time.monotonic() > deadline:
            break
        beyond = run.problem.cost(run.z, {}, run.penalty, run.tight)[2]
        updated = {
            name: np.maximum(0.0, run.multipliers.get(name, 0.0) + run.penalty * each) for name, each in beyond.items()
        }
        run = improved(replace(run, multipliers=updated, penalty=min(run.penalty * STEEPER, STEEPEST)), LATER, deadline)
        if progress is not None:
            progress(f"condition number {condition_of(run):.3g}", (k + 1) / (count + 1))
        worst = max((each.max(initial=-1.0) for each in beyond.values()), default=-1.0)
        if worst < THRESHOLDS.satisfied and abs(run.history[-1] - run.history[-2]) < THRESHOLDS.settled:
            break
    return run


def condition_of(run: Descent) -> float:
    """Condition number of the regressor with unit columns where a run stands."""
    return run.problem.goal.condition(run.problem.gram(run.problem.coefficients(run.z)))


def improved(run: Descent, iterations: int, deadline: float = np.inf) -> Descent:
    """The same after so many iterations of L-BFGS."""
    from scipy.optimize import minimize

    def in_time(_):
        if time.monotonic() > deadline:
            raise StopIteration

    found = minimize(
        lambda z: run.problem.cost(z, run.multipliers, run.penalty, run.tight)[:2],
        run.z,
        jac=True,
        method="L-BFGS-B",
        callback=in_time,
        options={"maxiter": iterations, "maxfun": SEARCHES * iterations, "maxcor": 20},
    )
    return replace(run, z=found.x, history=(*run.history, float(found.fun)))
