"""From where the optimiser stands to a motion that keeps every limit at 1 kHz, for one run or several at once."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.errors import OptionError
from steelyard.excite.curves import Spline
from steelyard.excite.margins import Margin, margins
from steelyard.excite.optimise import PENALTY, Progress, Run, inside, rounds
from steelyard.excite.problem import SPARE, Problem

REPAIRS = 4  # times that the limits are drawn in where the dense look finds more than the grid
LITTLE = 1.03  # use of a joint limit that a smaller excursion mends
SMALLER = 0.9  # factor of the excursion where limits are still exceeded after that
SPARSELY = 100.0  # Hz of a first look at smaller motions
SLOWEST = 0.05  # of the designed excursion: below, nothing worth recording is left
AT_LIMIT = 0.97  # share from which a limit counts as holding the motion back
SHAPING = 0.7  # share of the time that is left for the shape, before limits are settled


@dataclass(frozen=True, eq=False)
class Finished:
    """A motion that keeps every limit. cost: of the goal, after reductions; margins: use of the limits."""

    run: Run
    coefficients: np.ndarray
    margins: tuple[Margin, ...]
    notes: tuple[str, ...]
    cost: float


def finished(runs: Sequence[Run], *, workers: int = 1, progress: Progress | None = None, seconds=np.inf) -> Finished:
    """The best of several runs, each optimised to the end; the first wins a draw.

    workers: processes. seconds: left for it. Raises OptionError where none keeps the limits.
    """
    if workers > 1 and len(runs) > 1:
        ends = _at_once(runs, min(workers, len(runs)), seconds)
    else:
        share = seconds / len(runs)
        ends = [_finished(run, share, _part(progress, k, len(runs))) for k, run in enumerate(runs)]
    kept = [end for end in ends if isinstance(end, Finished)]
    if not kept:
        raise next(end for end in ends if isinstance(end, OptionError))
    return min(kept, key=lambda end: end.cost)


def aimed(best: Finished, target: float | None, *, seconds: float = np.inf) -> tuple[Finished, tuple[str, ...]]:
    """A motion that misses a target of the condition number, designed on for that alone; and what is to be said."""
    problem = best.run.problem
    reached = problem.goal.condition(problem.gram(best.coefficients))
    if target is None or reached <= target:
        return best, ()
    if problem.goal.criterion != "condition" and seconds > 0:
        z = problem.variables(best.coefficients)
        problem = replace(problem, goal=problem.goal.judged_by("condition"))
        on = _finished(Run(problem, z, best.run.first, {}, PENALTY, inside(), best.run.history), seconds)
        now = problem.goal.condition(problem.gram(on.coefficients)) if isinstance(on, Finished) else np.inf
        if isinstance(on, Finished) and now < reached:
            said = f"Designed on for the condition number alone, from {reached:.3g} to {now:.3g}."
            best, reached = on, now
            if reached <= target:
                return best, (said,)
    held = ", ".join(f"{m.limit_name} of {m.where}" for m in best.margins if m.used > AT_LIMIT)
    return best, (
        f"The condition number {reached:.3g} misses the target {target:g}. At their bounds: "
        f"{held or 'none of the limits alone'}. Allow more there, a longer duration or more harmonics, or estimate "
        "fewer terms.",
    )


def _part(progress: Progress | None, k: int, count: int) -> Progress | None:
    return None if progress is None else lambda stage, share: progress(stage, (k + share) / count)


def _finished(run: Run, seconds: float, progress: Progress | None = None) -> "Finished | OptionError":
    """seconds: rather than a deadline, as clocks of other processes may differ."""
    now = time.monotonic()
    run = rounds(run, progress=progress, deadline=now + SHAPING * seconds)
    try:
        end = _at(run, *_settled(run, now + seconds))
    except OptionError as error:
        return error
    if seconds < np.inf:  # an interrupted run may have left a first motion that was good
        first = run.problem.coefficients(run.first)
        used = margins(run.problem, first)
        end = min(end, _at(run, first, used, ()), key=lambda x: x.cost) if all(m.kept for m in used) else end
    return end


def _at(run: Run, coefficients, used, notes) -> Finished:
    cost = run.problem.goal.cost(run.problem.gram(coefficients))[0]
    return Finished(run, coefficients, used, notes, cost)


def _at_once(runs: Sequence[Run], workers: int, seconds: float) -> list:
    """The same in processes of their own: threads gain nothing, as arrays of this size leave the lock no time."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return list(pool.map(_finished, runs, [seconds * workers / len(runs)] * len(runs)))


def _settled(run: Run, deadline: float) -> tuple[np.ndarray, tuple[Margin, ...], tuple[str, ...]]:
    """Coefficients that keep every limit at 1 kHz. Raises OptionError where even a small motion does not."""
    coefficients, used = _fitted(run.problem, run.problem.coefficients(run.z))
    for _ in range(REPAIRS):
        if all(m.kept for m in used):
            return coefficients, used, ()
        if time.monotonic() > deadline:
            break
        run = rounds(_drawn_in(run, used), count=1, deadline=deadline)
        coefficients, used = _fitted(run.problem, run.problem.coefficients(run.z))
    middle = _mean(run.problem, coefficients)
    share = 1.0
    while share > SLOWEST:
        if all(m.kept for m in used):
            said = f"The motion was reduced to {share:.0%} of its excursion to keep every limit."
            return middle + share * (coefficients - middle), used, (said,) if share < 1 else ()
        share *= SMALLER
        smaller = middle + share * (coefficients - middle)
        used = margins(run.problem, smaller, rate=SPARSELY)
        if all(m.kept for m in used):
            used = margins(run.problem, smaller)
    worst = used[0]
    raise OptionError(
        f"No motion was found within the limits: {worst.limit_name} of {worst.where} is exceeded "
        f"({worst.value:.3g} {worst.unit} against {worst.limit:.3g} at t = {worst.time:.2f} s) even for a small one. "
        "Widen that limit, lower clearance, or give a start pose in free space."
    )


def _fitted(problem: Problem, coefficients) -> tuple[np.ndarray, tuple[Margin, ...]]:
    """A motion whose joints exceed limits by little, smaller by as much; and what it uses."""
    used = margins(problem, coefficients)
    excess = max((m.used for m in used if m.limit_name != "clearance"), default=1.0)
    if 1 < excess < LITTLE:
        middle = _mean(problem, coefficients)
        coefficients = middle + (coefficients - middle) / (excess * (1 + 1e-4))
        used = margins(problem, coefficients)
    return coefficients, used


def _drawn_in(run: Run, used) -> Run:
    tight = dict(run.tight)
    for name in {m.limit_name for m in used if not m.kept}:
        worst = max((m for m in used if m.limit_name == name), key=lambda m: m.used)
        if name == "clearance":
            tight[name] = tight.get(name, SPARE) - worst.value + 0.002
        else:
            tight[name] = tight[name] / worst.used * 0.997
    return replace(run, tight=tight)


def _mean(problem: Problem, coefficients) -> np.ndarray:
    """Coefficients of standing at the start pose, or of the middle of the motion where that is free."""
    if isinstance(problem.curve, Spline) or problem.start is not None:
        pose = problem.states(coefficients, problem.curve.values(np.zeros(1)))[0, :, 0]
    else:
        pose = problem.states(coefficients)[0].mean(axis=1)
    constant = np.linalg.lstsq(problem.values[0], np.ones(len(problem.grid)), rcond=None)[0]
    return np.outer(constant, pose)
