"""A robot's tree as the flat arrays that Numba kernels read. Does not import Numba."""

from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np

from steelyard.dynamics.kinematics import tree
from steelyard.model import WORLD, Robot, multi_dof_pose

Plan = TypeVar("Plan", bound=tuple)


class TreePlan(NamedTuple):
    """Joints: above (nj,) the parent, or nj for the world; scalar and other (nj,) places among one-degree joints and
    the rest, or -1; of the former scalar_q (ns,) place in q, angle `ratio * q + offset`, pose coefficients scalar_R
    (ns, 3, 9) of 1, sine and cosine, scalar_p (ns, 4, 3) of 1, angle, sine and cosine. Degrees: subspace (nt, 6),
    coordinate, ratio (nt,), those of a joint from degree_start, those
    behind it too until subtree_end (nj,). Bodies: body_joint (nb,).
    """

    above: np.ndarray
    scalar: np.ndarray
    other: np.ndarray
    scalar_q: np.ndarray
    scalar_ratio: np.ndarray
    scalar_offset: np.ndarray
    scalar_R: np.ndarray
    scalar_p: np.ndarray
    degree_start: np.ndarray
    subtree_end: np.ndarray
    subspace: np.ndarray
    coordinate: np.ndarray
    ratio: np.ndarray
    gravity: np.ndarray
    body_joint: np.ndarray


@lru_cache(maxsize=64)
def tree_plan(robot: Robot) -> TreePlan:
    """Plan of a robot's tree, without inertias."""
    constants = tree(robot)
    other = [j for j, joint in enumerate(robot.joints) if joint.nq > 1]
    degree_start = np.searchsorted(constants.degree_joint, np.arange(robot.nj + 1)).astype(np.int64)
    moved = constants.ancestors[:, degree_start[:-1]]  # (nj, nj) 1 where the column's joint moves the row's
    last = np.array([np.flatnonzero(column)[-1] for column in moved.T])
    plan = TreePlan(
        above=np.where(robot.parents == WORLD, robot.nj, robot.parents).astype(np.int64),
        scalar=_places(robot.nj, constants.scalar),
        other=_places(robot.nj, other),
        scalar_q=constants.scalar_q.astype(np.int64),
        scalar_ratio=constants.scalar_ratio.astype(float),
        scalar_offset=constants.scalar_offset.astype(float),
        scalar_R=np.moveaxis(constants.scalar_R[[0, 2, 3]], 0, 1).reshape(-1, 3, 9),
        scalar_p=np.moveaxis(constants.scalar_p, 0, 1),
        degree_start=degree_start,
        subtree_end=degree_start[last + 1],
        subspace=constants.subspace.astype(float),
        coordinate=constants.coordinates.astype(np.int64),
        ratio=constants.ratios.astype(float),
        gravity=robot.gravity.astype(float),
        body_joint=robot.body_joints.astype(np.int64),
    )
    return as_compiled(plan)


def as_compiled(plan: Plan) -> Plan:
    """The plan with arrays of its own, contiguous and writable: any other kind would be compiled once more."""
    return type(plan)(*(np.array(x, order="C") if isinstance(x, np.ndarray) else x for x in plan))


def fixed_poses(robot: Robot, q) -> np.ndarray:
    """Poses (nm, 12, n) of the joints of several degrees in their parents. q: (n, nq)."""
    poses = []
    for joint, where in zip(robot.joints, robot.q_slices, strict=True):
        if joint.nq > 1:
            R, p = multi_dof_pose(joint, q[:, where])
            poses.append(np.concatenate([R.reshape(-1, 9), p], axis=1).T)
    return np.ascontiguousarray(poses) if poses else np.zeros((0, 12, len(q)))


def _places(count: int, listed) -> np.ndarray:
    places = np.full(count, -1, dtype=np.int64)
    places[list(listed)] = np.arange(len(listed))
    return places
