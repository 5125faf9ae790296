"""Zero of a joint's encoder elsewhere than in the model: an offset of its position.

To first order it adds the torque's rate of change with that position. What an offset of the last joint does, a turned
last link does as well, and an offset about a vertical first axis does nothing at all: those are not seen, and harm no
torque that the identified model predicts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from steelyard.diagnose.case import Case, gain
from steelyard.diagnose.finding import fault
from steelyard.diagnose.hypothesis import Hypothesis, promises

STEP = 1e-3  # rad or m, of the difference quotient
ROUNDS = 8  # of Gauss-Newton
LONGEST = 0.4  # rad or m a round
SETTLED = 1e-4
SEEN = np.pi  # rad or m: a first step beyond it says that the motion does not show the offset
SMALLEST = 0.01  # rad or m; less is within what calibration leaves
LEAST = 0.02  # nats a sample to first order, below which an offset is not pursued
MOST = 2  # joints pursued, those that promise most


def hypotheses(case: Case) -> Iterator[Hypothesis]:
    """The best offset of each joint alone."""
    places = case.robot.scalar_positions
    dofs = [dof for dof in case.dofs if dof in places]
    if not dofs:
        return
    steps, promised = _steps(case, dofs)
    promised = np.where(np.abs(steps) < SEEN, promised, 0.0)
    for place in np.argsort(-promised, kind="stable")[:MOST]:
        dof, step = dofs[place], steps[place]
        if promised[place] < LEAST:
            break
        offset, changed = 0.0, case
        for _ in range(ROUNDS):
            offset += float(np.clip(step, -LONGEST, LONGEST))
            changed = case.undone("position_offset", q=_moved(case, dof, offset))
            step = _steps(changed, [dof])[0][0]
            if abs(step) < SETTLED:
                break
        if abs(offset) < SMALLEST:
            continue
        name = case.robot.dof_names[dof]
        won = gain(case.free_energy, changed.free_energy)
        yield Hypothesis(
            fault(
                "position_offset",
                f"The position of {name} is {offset:+.4f} rad (or m) short of what its torques say: added to q, the "
                f"residuals fall by {1 - np.exp(-won / len(case.dofs)):.0%}.",
                "Check the encoder's zero, or add it to q.",
                joint=name,
                options=["--offset", f"{name}={offset:.5f}"],
                offset=offset,
            ),
            changed,
            won,
        )


def _moved(case: Case, dof: int, offset: float) -> np.ndarray:
    q = case.regression.q.copy()
    q[:, case.robot.scalar_positions[dof]] += offset
    return q


def _steps(case: Case, dofs: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Offset of each degree alone that least squares wants beside a change of all parameters, and what it promises."""
    base, here = case.free[0], case.regression.of_position(case.free[0])
    there = (replace(case.regression, q=_moved(case, dof, STEP)).of_position(base) for dof in dofs)
    return promises(case, np.stack([(each - here) / STEP for each in there], axis=-1))
