"""A design in words."""

from typing import TYPE_CHECKING

import numpy as np

from steelyard.excite.curves import Fourier
from steelyard.excite.finish import AT_LIMIT

if TYPE_CHECKING:
    from steelyard.excite.experiment import Design

SHOWN = 6


def explain(design: "Design") -> str:
    """See `Design.explain`."""
    return "\n".join([_motion(design), _promise(design), *_limits(design), *_unknowns(design), *design.notes])


def _motion(design: "Design") -> str:
    curve = design.curve
    if isinstance(curve, Fourier):
        kind = (
            f"{curve.periods} period(s) of {curve.period:.3g} s with {curve.harmonics} harmonics (up to "
            f"{curve.harmonics / curve.period:.2g} Hz), {curve.ramp:g} s ramps"
        )
    else:
        kind = f"quintic spline with {curve.points} free points"
    return f"Motion: {design.duration:g} s, {kind}."


def _promise(design: "Design") -> str:
    return (
        f"Condition number of the regressor with unit columns: {design.condition_before:.3g} for the random motion it "
        f"started from, {design.condition:.3g} designed; {design.goal.rank} combinations can be shown."
    )


def _limits(design: "Design"):
    held = [m for m in design.margins if m.used > AT_LIMIT]
    yield f"Held back by {len(held)} of {len(design.margins)} limits (margins already taken off):"
    for m in design.margins[: max(SHOWN, min(len(held), 2 * SHOWN))]:
        if m.limit_name == "clearance":
            yield f"  {m.where}: {1000 * m.value:.0f} mm of room to spare at {m.time:.2f} s"
        else:
            yield f"  {m.limit_name} of {m.where}: {m.value:.3g} of {m.limit:.3g} {m.unit} at {m.time:.2f} s"


def _unknowns(design: "Design"):
    names, left = _shares_left(design)
    order = np.argsort(left)
    best = ", ".join(f"{names[i]} ({left[i]:.1e})" for i in order[:SHOWN])
    worst = ", ".join(f"{names[i]} ({left[i]:.2g})" for i in order[::-1][:SHOWN])
    yield f"Deviation left, as a share of what was open before. Least: {best}."
    yield f"Most: {worst}."
    level = design.excitation.level
    shown = [i for i in np.argsort(level) if level[i] > 0][:SHOWN]
    yield "Base parameters least distinct from the others: " + ", ".join(
        f"{design.excitation.names[i]} ({level[i]:.2g})" for i in shown
    )


def _shares_left(design: "Design") -> tuple[list[str], np.ndarray]:
    """What is wanted, base parameters where that is everything, and its deviation after over before the motion."""
    goal = design.goal
    if len(goal.wanted) < goal.layout.size:
        return [goal.layout.names[i] for i in goal.wanted], goal.left(design.gram)
    before, after = (np.diag(goal.covariance(gram)) for gram in (np.zeros_like(design.gram), design.gram))
    return [goal.layout.names[c] for c in goal.basis.columns], np.sqrt(after / before)
