"""A robot's tree as the flat arrays that Numba kernels read. Does not import Numba."""

from collections import namedtuple
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np

from steelyard.dynamics.kinematics import tree
from steelyard.inertia import pseudo
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
    """Poses of the joints of several degrees in their parents, for the kernels.

    Args:
        robot: the robot.
        q: (n, nq).

    Returns:
        (nm, 12, n).
    """
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


class Entries(NamedTuple):
    """Products of a degree's axis and a body's wrench, those of one row of v from start (nv + 1,) on: degree of the
    tree, body, parameter of the body, place in the row; again where an earlier entry has filled that place; ratio of
    the degree. (ne,) each.
    """

    start: np.ndarray
    degree: np.ndarray
    body: np.ndarray
    parameter: np.ndarray
    place: np.ndarray
    again: np.ndarray
    ratio: np.ndarray


class FusedPlan(NamedTuple):
    """needed (nb, 10): parameters of bodies that are columns. A row of v is its entries up to bodies_end (nv,), the
    effects (rows of a table, from effect_start) and the torque, padded (nv,) to a multiple of four; its Gram matrix is
    a square from gram_start on.
    """

    tree: TreePlan
    entries: Entries
    needed: np.ndarray
    bodies_end: np.ndarray
    effect_start: np.ndarray
    effect: np.ndarray
    padded: np.ndarray
    gram_start: np.ndarray


def fused_plan(robot: Robot, columns, effects) -> tuple[FusedPlan, tuple[np.ndarray, ...]]:
    """Plan of the fused kernel.

    Args:
        robot: the robot.
        columns: kept columns of bodies.
        effects: for each degree, the effect rows that act on it.

    Returns:
        The plan, and for each degree the body columns of its row that are not zero by construction.
    """
    needed = np.zeros(10 * robot.nb, dtype=bool)
    needed[columns] = True
    rows = [_row_entries(robot, dof, needed) for dof in range(robot.nv)]
    own = tuple(places for _, places in rows)
    bodies_end = np.array([len(places) for places in own])
    padded = -(-(bodies_end + [len(each) for each in effects] + 1) // 4) * 4
    plan = FusedPlan(
        tree=tree_plan(robot),
        entries=_entries([found for found, _ in rows]),
        needed=needed.reshape(robot.nb, 10),
        bodies_end=bodies_end,
        effect_start=np.cumsum([0, *(len(each) for each in effects)]),
        effect=np.array([row for each in effects for row in each], dtype=np.int64),
        padded=padded,
        gram_start=np.cumsum([0, *(padded**2)]),
    )
    return as_compiled(plan), own


def _row_entries(robot: Robot, dof: int, needed) -> tuple[list[tuple], np.ndarray]:
    """Entries `(degree, body, parameter, place, again, ratio)` of one row, and its columns in order."""
    constants, found, place = tree(robot), [], {}
    for degree in np.flatnonzero(constants.coordinates == dof):
        turns = np.any(constants.subspace[degree, 3:])
        bodies = constants.subtree_bodies[constants.degree_joint[degree]]
        for body in range(bodies.start, bodies.stop):
            for c in range(10 if turns else 4):  # moments of inertia do not resist a translation
                column = 10 * body + c
                if needed[column]:
                    again = column in place
                    at = place.setdefault(column, len(place))
                    found.append((degree, body, c, at, again, constants.ratios[degree]))
    return found, np.array(list(place), dtype=int)


def _entries(rows: list[list[tuple]]) -> Entries:
    table = np.array([entry for found in rows for entry in found], dtype=float).reshape(-1, 6).T
    degree, body, parameter, place = table[:4].astype(np.int64)
    start = np.cumsum([0, *(len(found) for found in rows)])
    return as_compiled(Entries(start, degree, body, parameter, place, table[4] == 1, table[5]))


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
