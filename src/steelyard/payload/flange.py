"""The flange of an arm, in whose axes controllers want a load."""

from dataclasses import replace

import numpy as np

from steelyard.errors import OptionError
from steelyard.inertia import parameters
from steelyard.model import Robot
from steelyard.payload.arm_sensor import frame_of
from steelyard.payload.payload_estimate import Payload

FLANGES = ("tool0", "panda_link8", "fr3_link8", "link8", "tool_flange", "flange", "lbr_link_ee", "link_eef", "ee_link")
"""Links at the flange as vendors' models name them. Where a model has both, `tool0` has the controller's axes, and
`flange` those of ROS (REP 199)."""


def flange_of(robot: Robot, frame: str) -> str:
    """The link of the flange that carries a frame; the frame itself where the model names none.

    Args:
        robot: the arm.
        frame: a link or body.

    Returns:
        The name of a link.
    """
    body = frame_of(robot, frame)[0]
    carried = {link.name for link in robot.links if link.body == body}
    return next(
        (name for each in FLANGES for name in sorted(carried) if name == each or name.endswith("_" + each)), frame
    )


def in_axes_of(found: Payload, robot: Robot, frame: str, flange: str) -> Payload:
    """A payload of one link's axes in those of another link that moves with it.

    Args:
        found: theta in the axes of `frame` at its origin.
        robot: the arm.
        frame: a link or body.
        flange: the other one.

    Returns:
        The same payload, its covariance transformed as well.

    Raises:
        OptionError: links of two bodies.
    """
    body, R, p = frame_of(robot, frame)
    other, R_flange, p_flange = frame_of(robot, flange)
    if body != other:
        raise OptionError(f"--flange {flange} does not move with {frame}: name the link that the payload hangs on")
    M = parameters.transform_matrix(R_flange.T @ R, R_flange.T @ (p - p_flange))
    still = np.allclose(M, np.eye(10))
    moved = found if still else replace(found, theta=M @ found.theta, covariance=M @ found.covariance @ M.T)
    return replace(moved, frame=flange)
