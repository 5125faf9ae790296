"""Mistakes that may have been made, one a file: each undoes its mistake in a `Case`, and a fit judges the outcome.

A new one is a file here with its `Mistake`, and its place in `MISTAKES`.
"""

from steelyard.diagnose.hypotheses import (
    coupled_joints,
    delay,
    gravity_compensated,
    joint_order,
    passing_force,
    position_offset,
    signs,
    torque_scale,
)

MISTAKES = (
    signs.MISTAKE,
    delay.MISTAKE,
    coupled_joints.MISTAKE,
    torque_scale.MISTAKE,
    gravity_compensated.MISTAKE,
    joint_order.MISTAKE,
    position_offset.MISTAKE,
)
"""Simple ones first: of two that explain the data alike, the first is named."""

__all__ = ["MISTAKES", "passing_force"]
