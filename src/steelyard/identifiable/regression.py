"""Base parameters of a regression: those that its sums keep."""

from functools import lru_cache, partial

import numpy as np

from steelyard.identifiable.basis import Basis
from steelyard.identifiable.from_robot import mechanism_of
from steelyard.identifiable.mechanism import Experiment
from steelyard.identifiable.motor_rotors import with_rotor_columns
from steelyard.identifiable.null_space import basis_of_blocks, find_null_space, preference
from steelyard.identifiable.numeric_rank import closed_basis, with_extras
from steelyard.identifiable.thresholds import THRESHOLDS
from steelyard.model import Robot
from steelyard.terms import ParameterLayout, friction_terms


@lru_cache(maxsize=32)
def regression_basis(robot: Robot, layout: ParameterLayout, sensors: tuple[str, ...] = ("joints",)) -> Basis:
    """Base parameters of a robot's regression, in the columns of a layout made by `layout_of`.

    sensors: as of `identifiability`; balances of momentum and energy reveal what torques of all joints do.
    """
    if robot.loops:
        mechanism = mechanism_of(robot, motors=bool(layout.rotor_names), reduce=False, terms=layout.terms)
        before, effects = mechanism.layout.size, len(layout.extras)  # extras lie between terms and rotors
        scale = np.insert(mechanism.scale, [before] * effects, 1.0)
        order = np.insert(preference(mechanism), [before] * effects, mechanism.size + np.arange(effects))
        found = closed_basis(robot, layout, scale, order)[0]
        return with_rotor_columns(robot, layout, found) if layout.rotor_names else found
    if sensors != ("joints",):
        from steelyard.identifiable.structural import identifiability  # with tables and sentences that sums do without

        friction = tuple(term for term in layout.terms if term in friction_terms())
        return identifiability(robot, sensors=sensors, friction=friction, armature="armature" in layout.terms).basis
    if layout.extras:
        return with_extras(robot, layout, regression_basis(robot, layout.without_extras))
    made = partial(_made, robot, layout)
    solution = find_null_space(made, Experiment(), THRESHOLDS.axis_rounding)
    assert solution is not None, "only a wrench sensor can keep the recursion from an answer"
    found = basis_of_blocks(solution.mechanism, solution.blocks)
    return with_rotor_columns(robot, layout, found) if layout.rotor_names else found


def _made(robot: Robot, layout: ParameterLayout, tolerance: float):
    return mechanism_of(robot, motors=bool(layout.rotor_names), terms=layout.terms, tolerance=tolerance)
