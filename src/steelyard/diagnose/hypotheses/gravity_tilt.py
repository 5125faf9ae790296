"""A base that is not mounted the way the model says: gravity tilted by a small angle."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from steelyard.diagnose.added_columns import Added, add_columns
from steelyard.diagnose.case import Case, gain
from steelyard.diagnose.faults import fault
from steelyard.diagnose.hypothesis import Hypothesis, Mistake, physical_hypothesis, surprise
from steelyard.diagnose.thresholds import MOST

SMALLEST = 0.5  # degrees; less is within what mounting leaves, and moves 1 % of gravity
USUAL = 5.0  # degrees by which bases lean that are meant to stand level
WINS = 0.15  # nats a sample that it must win; measured logs without a tilt win nothing
HOPE = 0.5  # share of that which the first step must promise, else links are not fitted anew
ROUNDS = 3  # the torque is linear in gravity, links are fitted anew


def hypotheses(case: Case) -> Iterator[Hypothesis]:
    """The tilt that fits best, if it is large enough."""
    gravity = case.robot.gravity
    size = float(np.linalg.norm(gravity))
    if size == 0 or case.robot.floating or case.physical is None:
        return
    changed = case
    for _ in range(ROUNDS):
        added, across = _added(changed)
        step = added.coefficients @ across
        small = np.degrees(np.linalg.norm(step) / size) < SMALLEST / 2
        if changed is case and (small or _promised(case, added) < HOPE * WINS):
            return
        vector = changed.robot.gravity + step
        changed = case.undone("gravity_tilt", robot=replace(case.robot, gravity=size * vector / np.linalg.norm(vector)))
        if changed.physical is None:
            return
    found = changed.robot.gravity
    angle = float(np.degrees(np.arccos(np.clip(found @ gravity / size**2, -1, 1))))
    if angle < SMALLEST:
        return
    text = " ".join(f"{x:.3f}" for x in found + 0.0)
    yield physical_hypothesis(
        case,
        changed,
        fault(
            "gravity_tilt",
            f"Gravity is tilted by {angle:.1f} degrees against the model's: the torques fit "
            f"({text.replace(' ', ', ')}) m/s^2.",
            options=["--gravity", *text.split()],
            tilt_degrees=angle,
            relative_error=case.relative_error,
            relative_error_undone=changed.relative_error,
        ),
        surprise=surprise([angle], USUAL),
    )


def _added(case: Case) -> tuple[Added, np.ndarray]:
    """What least squares finds of gravity across its direction, beside a change of all links; and across (2, 3)."""
    assert case.physical is not None
    model = case.robot.with_inertias(case.physical[case.layout.links].reshape(-1, 10))
    across = np.linalg.svd(model.gravity[None])[2][1:]
    before = case.regression.torque(model)
    columns = [case.regression.torque(replace(model, gravity=model.gravity + e)) - before for e in across]
    return add_columns(case, np.stack(columns, axis=-1).swapaxes(0, 1)), across


def _promised(case: Case, added: Added) -> float:
    """Most that physical links can win with these columns, to first order: all that a fit free of physics does."""
    share = np.divide(added.after, added.before, out=np.ones_like(added.after), where=added.before > 0)
    return gain(case.physical_energy, case.free_energy * share)


def _accepts(case: Case, each: Hypothesis) -> bool:
    return each.wins(WINS) and each.remaining_share(case) < MOST


MISTAKE = Mistake(hypotheses=hypotheses, accepts=_accepts)
