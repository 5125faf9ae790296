"""Stamps in another unit than seconds: told by recorded velocities, or else by motion that would be far too slow."""

from collections.abc import Iterator

import numpy as np

from steelyard.log.finding import Finding, fatal, warning
from steelyard.log.log import Log
from steelyard.log.motion import velocity_over_slope
from steelyard.log.stamps import unpredicted

UNITS = {"ms": 1e-3, "us": 1e-6, "ns": 1e-9}
SLOW_STEP = 0.05  # s between samples, above which stamps may be in another unit: logs of 20 kHz in ms have such steps
LONG_STEP = 0.5  # s between samples of smooth motion, above which they are suspect without velocities
FASTEST = 5e-5  # s between samples of the quickest logs of robots
LONGEST = {"ms": 100.0, "us": 1e5, "ns": np.inf}  # steps in each unit of a log of 10 Hz, the slowest that is likely
CRAWLING = 0.02  # rad/s or m/s: the quickest motion of a robot at 20 rad/s, were its milliseconds seconds
SMOOTH = 0.2  # error of a cubic through neighbours over the change from sample to sample; poses one by one exceed 1
FEWEST = 50  # samples, which smoothness takes


def time_unit(log: Log) -> Iterator[Finding]:
    """Stamps are in seconds."""
    step = float(np.median(np.diff(log.t)))
    if step < SLOW_STEP or (known := _by_velocity(log, step)) == "s":
        return
    if known is not None:
        yield fatal(
            "time_unit",
            f"Stamps are in {known}: v is dq/dt then, and {1 / UNITS[known]:g} times that if they are seconds, of "
            f'which the median step would be {step:.6g}. Give --unit t={known}, in Python units={{"t": "{known}"}}.',
            options=("--unit", f"t={known}"),
        )
        return
    unit = next(unit for unit, most in LONGEST.items() if step <= most)
    remedy = f'say --unit t={unit}, in Python units={{"t": "{unit}"}}'
    if step >= LONG_STEP and _crawls(log):
        yield fatal(
            "time_unit",
            f"The median time step is {step:.6g} s and no joint exceeds {_speed(log):.2g} rad/s (or m/s), though "
            f"samples follow each other smoothly: stamps look like {unit} (or numbers of samples). If so, {remedy}.",
            options=("--unit", f"t={unit}"),
        )
    elif step >= 1:
        yield warning(
            "time_unit",
            f"The median time step is {step:.6g} s; if stamps are not in seconds, {remedy}.",
            options=("--unit", f"t={unit}"),
        )


def _by_velocity(log: Log, step: float) -> str | None:
    """The unit of the stamps in which most joints' velocities are the rate of their positions, if there is one."""
    if log.v is None or log.nq != log.nv:
        return None
    for unit, factor in ({"s": 1.0} | UNITS).items():
        if factor * step < FASTEST:
            break
        ratio, correlation = velocity_over_slope(log.replace(t=factor * log.t))
        active = np.isfinite(ratio)
        right = (ratio[active] > 0.8) & (ratio[active] < 1.25) & (correlation[active] > 0.9)
        if active.any() and 2 * right.sum() > active.sum():
            return unit
    return None


def _crawls(log: Log) -> bool:
    """Whether joints move smoothly, and at no speed that anybody would record."""
    return len(log) >= FEWEST and _speed(log) < CRAWLING and any(_smooth(log, k) for k in (1, 5, 25))


def _speed(log: Log) -> float:
    """The speed that the quickest joint exceeds in one sample of twenty, rad/s or m/s."""
    rates = np.abs(np.diff(log.q, axis=0)) / np.diff(log.t)[:, None]
    return float(np.quantile(rates, 0.95, axis=0).max())


def _smooth(log: Log, every: int) -> bool:
    """Whether every `every`-th sample lies on a cubic through its neighbours, in a joint that moves."""
    t, q = log.t[::every], log.q[::every]
    if len(t) < FEWEST:
        return False
    moved = np.median(np.abs(np.diff(q, axis=0)), axis=0)
    moves = moved > 0
    return bool(moves.any() and np.min(unpredicted(t, q[:, moves]) / moved[moves]) < SMOOTH)
