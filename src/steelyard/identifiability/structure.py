"""Base parameters of a robot's whole regression (bodies, friction, armature), from its kinematics alone."""

from functools import lru_cache

from steelyard.identifiability import assembly, build, recursion, regroup
from steelyard.identifiability.basis import Basis
from steelyard.identifiability.transfer import Experiment
from steelyard.model.robot import Robot
from steelyard.parameters import ParameterLayout


@lru_cache(maxsize=32)
def regression_basis(robot: Robot, layout: ParameterLayout) -> Basis:
    """Base parameters of a robot's regression, in the columns of a layout made by `layout_of`."""
    mechanism = build.build(robot, terms=layout.terms)
    experiment = Experiment()
    found = recursion.run(mechanism, experiment)
    assert found is not None, "only a wrench sensor can keep the recursion from an answer"
    return regroup.basis(mechanism, assembly.blocks(mechanism, experiment, found, regroup.preference(mechanism)))
