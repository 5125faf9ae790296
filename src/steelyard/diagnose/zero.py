"""Zero of a joint's encoder elsewhere than in the model: an offset of its position.

What an offset of the last joint does, a turned last link does as well, and an offset about a vertical first axis does
nothing at all: those are not seen, and harm no torque that the identified model predicts for positions read alike.
"""

from collections.abc import Iterator

import numpy as np

from steelyard.diagnose.case import Case, gain
from steelyard.diagnose.finding import Fault, fault
from steelyard.diagnose.hypothesis import Hypothesis, free_hypothesis, scatter, surprise
from steelyard.diagnose.zeros import settled, zeros

SMALLEST = 0.01  # rad or m; less is within what calibration leaves
USUAL = 0.1  # rad or m by which zeros are off that were set by eye or at a mark
CERTAIN = 4.25  # standard deviations: 9 nats, as of all other mistakes
NOISE = 1.5  # times as long as noise that a residual may stay alike, for an offset to be believed that wins little
LEAST = 0.15  # nats a sample that an offset must win else: friction that no column describes looks like offsets


def hypotheses(case: Case) -> Iterator[Hypothesis]:
    """The offsets of all joints that are certain, undone together."""
    found = zeros(case)
    chosen = found.certain(CERTAIN)
    if not chosen:
        return
    offset, added, changed = settled(case, chosen)
    deviation = added.deviations * scatter(changed, added)
    won = gain(case.free_energy, changed.free_energy)
    kept = np.abs(offset) >= SMALLEST
    if not kept.any() or (won < LEAST and found.lasting > NOISE):
        return
    order = np.argsort(-np.abs(offset / deviation))
    named = [_named(case, chosen[k], float(offset[k]), float(deviation[k]), won) for k in order if kept[k]]
    yield free_hypothesis(case, changed, named[0], more=tuple(named[1:]), surprise=surprise(offset, USUAL))


def _named(case: Case, dof: int, offset: float, deviation: float, won: float) -> Fault:
    name = case.robot.dof_names[dof]
    return fault(
        "position_offset",
        f"The position of {name} is {offset:+.4f} ± {deviation:.2g} rad (or m) short of what its torques say: added to "
        f"q, the residuals fall by {1 - np.exp(-won / len(case.dofs)):.0%}.",
        "Check the encoder's zero, or add it to q.",
        joint=name,
        options=["--offset", f"{name}={offset:.5f}"],
        offset=offset,
        deviation=deviation,
    )
