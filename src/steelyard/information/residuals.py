"""Residuals of a log, sample by sample: the one thing that an Information cannot give back."""

import numpy as np

from steelyard.errors import FitError
from steelyard.information.engines import CHUNK
from steelyard.information.raw import raw_columns
from steelyard.information.rows import channels_of, chunk_rows, direction_of, require_tree, rows_of
from steelyard.information.sums import Information
from steelyard.log import Log


def residuals(info: Information, log: Log, base) -> np.ndarray:
    """Measured torque of a log less what base parameters explain, (n, nv) in N m or N.

    info: names the robot, its columns and their options; only those are used, not its sums. base: (r,) values of
    `info.basis.columns`, such as `estimate.base`. Raises LogError for missing or non-finite channels.
    """
    robot, layout = info.robot, info.layout
    require_tree(robot, "Residuals of a log")
    if robot is None or info.group_names != robot.dof_names:
        raise FitError("This Information does not hold joint torques of a robot, so a log has no residuals of it.")
    raw = raw_columns(robot, layout, info.basis.columns)
    rows, values = rows_of(raw.robot, raw.layout, raw.columns), raw.values(base)
    q, v, a, tau = channels_of(robot, log, ("q", "v", "a", "tau"))
    channels = (q, v, a, tau, direction_of(log, info.coulomb_width, layout))
    result = np.empty((len(log), robot.nv))
    for start in range(0, len(log), CHUNK):
        chunk = tuple(np.ascontiguousarray(x[start : start + CHUNK].T) for x in channels)
        for dof, (y, left) in enumerate(chunk_rows(raw.robot, raw.layout, info.coulomb_width, rows, chunk)):
            result[start : start + CHUNK, dof] = left - values[rows[dof].places] @ y
    return result
