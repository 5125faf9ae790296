"""A robot as the flat arrays that the kernel of the derivatives reads. Does not import Numba."""

from collections import namedtuple
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from steelyard.dynamics.kinematics import tree
from steelyard.dynamics.tree_plan import TreePlan, as_compiled, tree_plan
from steelyard.inertia import pseudo
from steelyard.model import Robot


class LinkPlan(NamedTuple):
    """Joints: mount_R (nj, 3, 3), mount_p (nj, 3): place in the parent; behind_mass (nj,) of all bodies behind. Bodies:
    mass (nb,), first (nb, 3), second (nb, 3, 3) moments in body axes.
    """

    mount_R: np.ndarray
    mount_p: np.ndarray
    behind_mass: np.ndarray
    mass: np.ndarray
    first: np.ndarray
    second: np.ndarray


# one flat tuple: a tuple in a tuple, or two of them, cost the kernel a seventh of its time
DerivativePlan = namedtuple("DerivativePlan", [*TreePlan._fields, *LinkPlan._fields])


@lru_cache(maxsize=64)
def derivative_plan(robot: Robot) -> DerivativePlan:
    """Plan of a robot, its inertias included."""
    J = pseudo.to_matrix(robot.inertias)
    links = LinkPlan(
        mount_R=np.stack([joint.rotation for joint in robot.joints]),
        mount_p=np.stack([joint.position for joint in robot.joints]),
        behind_mass=np.array([robot.inertias[bodies, 0].sum() for bodies in tree(robot).subtree_bodies]),
        mass=J[:, 3, 3],
        first=J[:, :3, 3],
        second=J[:, :3, :3],
    )
    return as_compiled(DerivativePlan(*tree_plan(robot), *links))
