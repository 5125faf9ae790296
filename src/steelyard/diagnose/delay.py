"""Torque that comes later than the motion that needs it, or earlier.

A delay adds `-delay * d tau / dt`. Friction that lags behind a reversal looks the same, so the rate of the Coulomb
column is a free companion: only gravity and inertia tell the delay.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from steelyard.diagnose.case import Case, gain
from steelyard.diagnose.finding import fault
from steelyard.diagnose.hypothesis import Added, Hypothesis, add_columns, promise, scatter, widened

ROUNDS = 4  # of Gauss-Newton
LONGEST = 0.2  # s
PROMISING = 0.3  # share of the shortest delay that the first step must find
LEAST = 0.02  # nats a sample to first order, below which a delay is not pursued
SHORTEST = 9.5e-4  # s; torque of friction that comes half a step of a simulation late looks like up to 0.92 ms
CERTAIN = 4.0  # standard deviations that a delay must have to be undone
UNSURE = 5e-3  # s: standard deviation of a delay that is no more than a guess
NOTICEABLE = 5e-4  # s, below which undoing a delay changes nothing
MOST = 3  # patterns pursued, those that promise most


def hypotheses(case: Case) -> Iterator[Hypothesis]:
    """One common delay, and one of each joint alone."""
    space = widened(case, _reversals(case)) if "coulomb" in case.layout.terms else case.space
    together = np.zeros(case.robot.nv)
    together[list(case.dofs)] = 1.0
    patterns = (together, *np.eye(case.robot.nv)[list(case.dofs)])
    promised = [_promised(case, pattern, space) for pattern in patterns]
    for place in sorted(range(len(patterns)), key=lambda place: -promised[place])[:MOST]:
        pattern = patterns[place]
        if promised[place] < LEAST:
            break
        delay = _delay(case, pattern, space)
        if abs(delay) < SHORTEST:
            continue
        changed = case.undone("delay", delay=case.delay + delay * pattern)
        alone = int(np.argmax(pattern)) if pattern.sum() == 1 else None
        name = None if alone is None else case.robot.dof_names[alone]
        who = "Torques come" if name is None else f"The torque of {name} comes"
        text = f"{1000 * abs(delay):.1f} ms {'later' if delay > 0 else 'earlier'} than the motion"
        won = gain(case.free_energy, changed.free_energy)
        ratio = np.exp(-won / pattern.sum())
        yield Hypothesis(
            fault(
                "delay",
                f"{who} {text}: shifting {'them' if name is None else 'it'} back takes {1 - ratio:.0%} "
                "off the residual.",
                f"Shift tau{'' if name is None else f' of {name}'} by {-1000 * delay:.1f} ms against q before "
                "identification, or record both with one clock.",
                joint=name,
                options=["--delay", f"{name or 'all'}={delay:.5f}"],
                delay_ms=1000 * delay,
                residual_ratio=ratio,
            ),
            changed,
            won,
        )


@dataclass(frozen=True, eq=False)
class Delays:
    """By which torques come late, s, and standard deviations: (nv,) each, NaN for degrees without a motor."""

    delay: np.ndarray
    deviation: np.ndarray

    @property
    def known(self) -> np.ndarray:
        """(nv,) the delays that motion and friction tell to a few milliseconds, NaN for the others."""
        return np.where(self.deviation < UNSURE, self.delay, np.nan)

    @property
    def certain(self) -> np.ndarray:
        """(nv,) the delays that are worth undoing, 0 for the others."""
        kept = (np.abs(self.delay) > CERTAIN * self.deviation) & (np.abs(self.delay) > NOTICEABLE)
        return np.where(kept, self.delay, 0.0)


def delays(case: Case) -> Delays:
    """Delays of all joints, estimated together."""
    space = widened(case, _reversals(case)) if "coulomb" in case.layout.terms else case.space
    dofs, nv = list(case.dofs), case.robot.nv
    found, deviation = np.zeros(nv), np.full(nv, np.nan)
    added = _late(case, found, space)
    for _ in range(ROUNDS):
        found[dofs] = np.clip(found[dofs] + added.coefficients, -LONGEST, LONGEST)
        if np.abs(added.coefficients).max(initial=0.0) < 1e-5:
            break
        added = _late(case, found, space)
    deviation[dofs] = added.deviations * scatter(case, added)
    return Delays(np.where(np.isfinite(deviation), found, np.nan), deviation)


def _late(case: Case, delay: np.ndarray, space) -> Added:
    """First-order change of the delays (nv,) of all driven degrees."""
    shifted = case.undone("delay", delay=case.delay + delay)
    dofs = list(case.dofs)
    columns = np.zeros((case.robot.nv, len(case), len(dofs)))
    columns[dofs, :, range(len(dofs))] = -shifted.tau_rate.T[dofs]
    return add_columns(case, columns, space=space, target=shifted.target)


def _promised(case: Case, pattern, space) -> float:
    """Gain that the first step promises, zero if it is too short."""
    dofs = np.flatnonzero(pattern)
    step, won = promise(case, dofs, -case.tau_rate.T[dofs, :, None], space=space)
    return won if abs(step[0]) > PROMISING * SHORTEST else 0.0


def _delay(case: Case, pattern, space) -> float:
    """Delay in s of the degrees in pattern (nv,)."""
    delay = 0.0
    for _ in range(ROUNDS):
        shifted = case.undone("delay", delay=case.delay + delay * pattern)
        step = _step(case, shifted, pattern, space)
        delay = float(np.clip(delay + step, -LONGEST, LONGEST))
        if abs(step) < 1e-5:
            break
    return delay


def _step(case: Case, shifted: Case, pattern, space) -> float:
    columns = -(pattern[:, None] * shifted.tau_rate.T)[:, :, None]
    return float(add_columns(case, columns, space=space, target=shifted.target).coefficients[0])


def _reversals(case: Case) -> np.ndarray:
    """(nv, n, k) rate of the smoothed direction of motion, one column a driven degree."""
    regression, columns = case.regression, np.zeros((case.robot.nv, len(case), len(case.dofs)))
    # d tanh(v / width) / dt, up to the filter that shaped both alike
    rate = (1 - regression.direction[:, : case.robot.nv] ** 2) * regression.a / regression.coulomb_width
    for place, dof in enumerate(case.dofs):
        columns[dof, :, place] = rate[:, dof]
    return columns
