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
    passing_force,
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

BY_GIVEN_LINKS = (
    signs.degrees,
    signs.gravity,
    signs.torque_signs,
    signs.position_signs,
    torque_scale.by_given_links,
    gravity_compensated.trials,
    joint_order.trials,
    joint_order.of_limbs,
    position_offset.by_given_links,
)
"""The same for the links of the given model, which cost less to try and know more."""

TESTS = (delay.TEST, coupled_joints.TEST, torque_scale.TEST, joint_spring.TEST, gravity_tilt.TEST)

__all__ = ["BY_GIVEN_LINKS", "GROSS", "TESTS", "joint_spring", "passing_force", "position_offset"]
