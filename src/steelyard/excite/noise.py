"""How precisely an experiment will be measured: deviations of its rows, given, usual or seen in earlier logs."""

import numpy as np

from steelyard.errors import FitError, OptionError, choices
from steelyard.excite.measured import JOINTS
from steelyard.fit import weigh_by_noise
from steelyard.information import Information, groups_of
from steelyard.model import Robot
from steelyard.terms import ParameterLayout


def default_noise(robot: Robot, typical) -> np.ndarray:
    """(nv,) one percent of what each motor can, or of the joint's typical torque where the model does not say."""
    limited = np.isfinite(robot.effort_limits) & (robot.effort_limits > 0)
    return 0.01 * np.where(limited, np.where(limited, robot.effort_limits, 1.0), typical)


def usual_wrench(wrenches) -> np.ndarray:
    """(6 a sensor,) RMS of the largest component of force and of moment. wrenches: (6 a sensor, n)."""
    return np.repeat(np.sqrt(np.mean(wrenches**2, axis=1).reshape(-1, 3).max(axis=1)), 3)


def measured_rows(robot: Robot, kinds: tuple[str, ...]) -> slice:
    """Rows that are measured, of those of joints and sensors."""
    return slice(0 if JOINTS in kinds else robot.nv, None)


def noise_of(robot: Robot, kinds: tuple[str, ...], usual, noise) -> np.ndarray:
    """(rows,) deviation of each row: as given, one or one a measured row, or one percent of what is usual there."""
    found = np.concatenate([default_noise(robot, usual[: robot.nv]), 0.01 * usual[robot.nv :]])
    measured = found[measured_rows(robot, kinds)]
    if noise is not None:
        if np.shape(noise) not in ((), measured.shape):
            raise OptionError(
                f"noise is one number or one a measured row ({len(measured)},); got shape {np.shape(noise)}."
            )
        measured[:] = noise
    if not (np.isfinite(found).all() and (found > 0).all()):
        raise OptionError(f"noise is a positive standard deviation in N m, one or ({len(measured)},); got {noise}.")
    return found


def weighed_logs(robot: Robot, layout: ParameterLayout, kinds: tuple[str, ...], after: Information, noise):
    """Earlier logs weighed by their residuals (or by a noise that is given), and that noise, one a measured row."""
    if after.layout != layout or after.base.basis.count != len(after.base.columns):
        raise FitError(
            "The earlier Information has other columns than this design; accumulate it and design with the same "
            "friction and armature options."
        )
    names = tuple(name for kind in kinds for name in groups_of(robot, kind))
    if tuple(after.group_names) != names:
        raise FitError(
            f"The earlier Information holds other rows than this design, in their order: {choices(names)}. Accumulate "
            f"it with rows={kinds}."
        )
    if noise is None:
        return weigh_by_noise(after)
    noise = np.broadcast_to(noise, (len(names),)).astype(float)
    return after.weighted(after.independence / noise**2), noise
