"""Mistakes that may have been made, one a file: each undoes its mistake in a `Case`, and a fit judges the outcome.

A new one is a file here, and an entry in `GROSS` (its `trials` are compared by the physically consistent fit) or in
`TESTS` (its hypotheses by least squares).
"""

from steelyard.diagnose.hypotheses import (
    coupled_joints,
    delay,
    gravity_compensated,
    gravity_tilt,
    joint_order,
    joint_spring,
    position_offset,
    signs,
    torque_scale,
)

GROSS = (
    signs.degrees,
    signs.gravity,
    signs.torque_signs,
    signs.position_signs,
    gravity_compensated.trials,
    joint_order.trials,
    joint_spring.trials,
)
"""Trials of gross mistakes, simple ones first: called with a case and its worst degrees of freedom."""

TESTS = (delay.TEST, coupled_joints.TEST, torque_scale.TEST, joint_spring.TEST, gravity_tilt.TEST)

__all__ = ["GROSS", "TESTS", "joint_spring", "position_offset"]
