"""What logs lack, which no option gives back, and what recording again would bring."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnose import Fault
from steelyard.diagnose.added_columns import lasting
from steelyard.diagnose.case import Case, case_of, thinned, thinning
from steelyard.diagnose.faults import fault
from steelyard.diagnose.fisher_information import expected_error, information_loss
from steelyard.diagnose.regression import Regression
from steelyard.errors import OptionError
from steelyard.fit import Estimate, Uncertainty
from steelyard.information import accumulate
from steelyard.log import Log
from steelyard.log.checks import USUAL
from steelyard.log.masks import clipped_sides, masked, saturated
from steelyard.model import Robot
from steelyard.numbers import SAME
from steelyard.prepare import Prepared
from steelyard.simulate import rich_motion

CODE = "record_longer"
LITTLE = 1.05  # ratio of errors below which nothing is said
SPEEDS = np.arange(0.95, 0.09, -0.05)  # tried, over that of the log, the slowest last
OVER = 1e-3  # share of a joint's torques beyond its limit that counts as none
NEXT_DURATION, NEXT_RATE = 10.0, 100.0  # s, Hz of the motion that stands for all that could be recorded next
NEXT_SEED = 1


def costs(estimate: Estimate, found: Prepared) -> Iterator[Fault]:
    """How much longer to record, where findings of a log say that it was logged slowly or clipped; nothing of closed
    loops."""
    codes, robot = {finding.code for finding in found.findings}, estimate.require_robot()
    if robot.loops or not codes & {"slow_logging", "saturation"}:
        return
    raw, filtered, clear = found.raw, found.filtered, found.clear  # noise is told away from clipped torques
    if clear.weights is not None and not clear.weights.any():
        return
    case = case_of(estimate, [clear])
    assert filtered is not None
    if "slow_logging" in codes:
        yield from _slow(case, raw, filtered.effective_samples)
    if "saturation" in codes:
        step = thinning(estimate, [clear])
        kept = np.asarray(thinned([masked(filtered, raw, saturated(raw), 0.0)], step).weights).T > 0
        yield from _clipped(case, raw, kept)


def _slow(case: Case, raw: Log, count: float) -> Iterator[Fault]:
    """Noise of single samples averages with their number; what lasts longer than a sample does not. count: of
    independent samples."""
    base, noise = case.free
    duration, rate = USUAL
    left = (case.target - case.regression.predicted(base)) / noise[:, None]
    times = duration * rate / len(raw) / lasting(case, left)
    if np.sqrt(times) < LITTLE:
        return
    error = expected_error(case.regression.rows, noise, share=count / len(case))
    error = error / np.sqrt(case.information.energy.sum())
    yield fault(
        CODE,
        f"By the noise that a fit leaves, {raw.duration:.3g} s at {raw.rate:.3g} Hz tell torques of an identified "
        f"model to {error:.2%} at best; {duration:g} s at {rate:g} Hz would tell them to {error / np.sqrt(times):.2%}.",
        f"Record at that rate, or {times:.3g} times as long at this one ({times * raw.duration:.3g} s).",
        expected_error=error,
        expected_error_ratio=np.sqrt(times),
        times_as_long=times,
    )


def _clipped(case: Case, raw: Log, kept: NDArray[np.bool_]) -> Iterator[Fault]:
    """kept: (nv, n) torques that are not clipped."""
    noise, motion = case.free[1], replace(case.regression, believed=np.ones((1, 1)))
    rows = motion.rows
    found = information_loss(rows * kept[:, :, None], rows, noise)
    if found.ratio < LITTLE and not found.lost:
        return
    evidence = {
        "share_clipped": 1 - kept.mean(),
        "combinations_lost": found.lost,
        "expected_error_ratio": found.ratio,
        "times_as_long": found.times_as_long,
    }
    told = f"Of all torques, {evidence['share_clipped']:.0%} are clipped and tell nothing"
    told += (
        f": {found.lost} of {found.combinations} combinations show nowhere else, and" if found.lost else "; at best,"
    )
    told += f" torques of an identified model are {found.ratio:.2g} times as far off as if all had been recorded."
    remedy = f"Give --saturation, and record {found.times_as_long:.2g} times as long"
    remedy += f" ({found.times_as_long * raw.duration:.3g} s)."
    slower, words = _slower(case, motion, raw)
    if slower is not None:
        again = information_loss(_at(motion, slower).rows, rows, noise)
        evidence |= {"speed": slower, "times_as_long_slower": again.times_as_long}
        better = again.times_as_long < found.times_as_long
        words = "Better, drive" if better else "Driving"
        words += f" at {slower:.2g} times the speed, which reaches no limit"
        shows = f"{again.times_as_long:.2g} times as long"
        words += f": it takes {shows}." if better else f", shows less: it takes {shows}."
    yield fault(CODE, told, f"{remedy} {words}".strip(), **evidence)


def _slower(case: Case, motion: Regression, raw: Log) -> tuple[float | None, str]:
    """The largest share of its speed at which the motion needs no torque beyond a limit, and if there is none, why."""
    limits = _limits(raw)
    if case.physical is None or limits is None:
        return None, ""
    most = np.zeros(0)
    for speed in SPEEDS:
        slow = _at(motion, speed)
        torque = slow.predicted(case.physical_base) + slow.known.T
        over = np.mean((torque < limits[0][:, None]) | (torque > limits[1][:, None]), axis=1)
        if (over < OVER).all():
            return float(speed), ""
        most = over
    names = ", ".join(name for name, share in zip(case.robot.dof_names, most, strict=True) if share >= OVER)
    return None, f"Driving slower does not spare {names}, whose poses alone need more: choose others."


def _at(motion: Regression, speed: float) -> Regression:
    """The same path at a share of its speed."""
    return replace(motion, v=speed * motion.v, a=speed**2 * motion.a)


def _limits(raw: Log) -> tuple[NDArray, NDArray] | None:
    """(nv,) smallest and largest torques, infinite where none was clipped; None where clipped torques differ."""
    (tau,) = raw.require("tau")
    sides, limits = clipped_sides(raw), []
    for side in (-1, 1):
        limits.append(np.full(raw.nv, side * np.inf))
        for j in np.flatnonzero((sides == side).any(axis=0)):
            clipped = tau[sides[:, j] == side, j]
            if np.ptp(clipped) > SAME * np.abs(clipped).max():
                return None
            limits[-1][j] = clipped[0]
    return limits[0], limits[1]


def narrowing(robot: Robot, found: Uncertainty, samples: float, columns) -> np.ndarray | None:
    """(r,) standard deviations of base parameters after a random motion of so many independent samples that uses all
    limits, as noisy as the logs, over those now; None for robots whose joints cannot all be moved so: free bases,
    balls, loops."""
    if robot.loops:
        return None
    try:
        motion = rich_motion(robot, duration=NEXT_DURATION, seed=NEXT_SEED)
    except OptionError:
        return None
    t = np.arange(round(NEXT_DURATION * NEXT_RATE)) / NEXT_RATE
    q, v, a = motion.evaluate(t)
    still = np.zeros((len(t), robot.nv))
    info = accumulate(robot, Log(t=t, q=q, v=v, a=a, tau=still, joint_names=robot.dof_names), **columns).base
    if len(info.counts) != len(found.noise) or info.n == 0:
        return None
    gained = info.weighted(1 / np.maximum(found.noise * found.inflation, 1e-300) ** 2).G * samples / info.n
    after = np.linalg.solve(np.eye(len(gained)) + found.covariance @ gained, found.covariance)
    now = found.base.deviation
    return np.sqrt(np.maximum(np.diag(after), 0.0)) / np.where(now > 0, now, np.inf)
