"""Base parameters of a robot's whole regression (bodies, rotors, friction, armature), from its kinematics alone."""

from functools import lru_cache, partial

import numpy as np

from steelyard.identifiable.analyze import identifiability
from steelyard.identifiable.basis import Basis
from steelyard.identifiable.build import build
from steelyard.identifiable.closed import closed_basis
from steelyard.identifiable.extras import with_extras
from steelyard.identifiable.regroup import basis, preference
from steelyard.identifiable.rotor_columns import widened
from steelyard.identifiable.snapping import TOLERANCE
from steelyard.identifiable.solve import solve
from steelyard.identifiable.transfer import Experiment
from steelyard.model import Robot
from steelyard.terms import ParameterLayout, friction_terms


@lru_cache(maxsize=32)
def regression_basis(robot: Robot, layout: ParameterLayout, sensors: tuple[str, ...] = ("joints",)) -> Basis:
    """Base parameters of a robot's regression, in the columns of a layout made by `layout_of`.

    sensors: as of `identifiability`; balances of momentum and energy reveal what torques of all joints do.
    """
    if robot.loops:
        mechanism = build(robot, terms=layout.terms)
        effects = len(layout.extras)
        scale = np.concatenate([mechanism.scale, np.ones(effects)])
        order = np.concatenate([preference(mechanism), mechanism.size + np.arange(effects)])
        return closed_basis(robot, layout, scale, order)[0]
    if sensors != ("joints",):
        friction = tuple(term for term in layout.terms if term in friction_terms())
        return identifiability(robot, sensors=sensors, friction=friction, armature="armature" in layout.terms).basis
    if layout.extras:
        return with_extras(robot, layout, regression_basis(robot, layout.without_extras))
    made = partial(_made, robot, layout)
    solution = solve(made, Experiment(), TOLERANCE)
    assert solution is not None, "only a wrench sensor can keep the recursion from an answer"
    found = basis(solution.mechanism, solution.blocks)
    return widened(robot, layout, found) if layout.rotor_names else found


def _made(robot: Robot, layout: ParameterLayout, tolerance: float):
    return build(robot, motors=bool(layout.rotor_names), terms=layout.terms, tolerance=tolerance)
