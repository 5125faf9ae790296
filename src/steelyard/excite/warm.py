"""Where a design starts from an earlier motion: another design, or a log of any motion of the robot."""

from typing import TYPE_CHECKING

import numpy as np

from steelyard.errors import OptionError
from steelyard.excite.curves import Curve
from steelyard.excite.limits import Bounds
from steelyard.log import Log
from steelyard.model import Robot

if TYPE_CHECKING:
    from steelyard.excite.experiment import Design


def start_from(
    warm: "Design | Log | None", robot: Robot, bounds: Bounds, curves: list[Curve]
) -> tuple[list[Curve], np.ndarray | None]:
    """Curves to try, and coefficients (size, nv) to start from: those of a design, or of the curve nearest to a log.

    Raises OptionError for motions of other joints.
    """
    if warm is None:
        return curves, None
    moved = warm.q.shape[1] if isinstance(warm, Log) else warm.coefficients.shape[1]
    own = robot.nq if isinstance(warm, Log) else robot.nv
    if moved != own:
        raise OptionError(f"warm: that motion moves {moved} joints, this robot has {own}.")
    if not isinstance(warm, Log):
        return [warm.curve], warm.coefficients
    t, q = warm.t - warm.t[0], warm.q[:, bounds.scalar]  # anything for joints of several degrees, which are locked
    fits = []
    for curve in curves:
        inside = t <= curve.duration
        values = curve.values(t[inside])[0]
        if len(values) < curve.size:
            raise OptionError(f"warm: that log has {len(values)} samples, fewer than a motion's {curve.size} numbers.")
        found = np.linalg.lstsq(values, q[inside], rcond=None)[0]
        fits.append((float(np.mean((values @ found - q[inside]) ** 2)), found))
    nearest = min(range(len(curves)), key=lambda k: fits[k][0])
    return [curves[nearest]], fits[nearest][1]
