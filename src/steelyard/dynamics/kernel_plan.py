"""A robot and its kept columns as the flat arrays that the fused kernel reads. Does not import Numba."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from steelyard.dynamics.kinematics import tree
from steelyard.inertia import pseudo
from steelyard.model.joint import multi_dof_pose
from steelyard.model.robot import WORLD, Robot


class FusedPlan(NamedTuple):
    """Joints: parents (nj,), scalar and other (nj,) places among one-degree joints and the rest, or -1; of the former
    scalar_q (ns,) place in q, angle `ratio * q + offset`, pose coefficients scalar_R (ns, 3, 9), scalar_p (ns, 4, 3).
    Degrees: subspace (nt, 6), coordinate, ratio (nt,), those of a joint from degree_start. Bodies: body_joint (nb,),
    needed (nb, 10) parameters. Entries of a row of v, from entry_start: degree, body, column and place each, first
    where a place is written to first. effect: rows of the effects, from effect_start. padded (nv,): columns and torque,
    a multiple of four; gram_start: of flat squares.
    """

    parents: np.ndarray
    scalar: np.ndarray
    other: np.ndarray
    scalar_q: np.ndarray
    scalar_ratio: np.ndarray
    scalar_offset: np.ndarray
    scalar_R: np.ndarray
    scalar_p: np.ndarray
    degree_start: np.ndarray
    subspace: np.ndarray
    coordinate: np.ndarray
    ratio: np.ndarray
    gravity: np.ndarray
    body_joint: np.ndarray
    needed: np.ndarray
    entry_start: np.ndarray
    entry_degree: np.ndarray
    entry_body: np.ndarray
    entry_column: np.ndarray
    entry_place: np.ndarray
    entry_first: np.ndarray
    entry_ratio: np.ndarray
    bodies_end: np.ndarray
    effect_start: np.ndarray
    effect: np.ndarray
    padded: np.ndarray
    gram_start: np.ndarray


def fused_plan(robot: Robot, columns, effects) -> tuple[FusedPlan, tuple[np.ndarray, ...]]:
    """Plan, and for each degree the body columns of its row that are not zero by construction.

    columns: kept columns of bodies. effects: for each degree, the effect rows that act on it.
    """
    constants = tree(robot)
    kept = np.zeros(10 * robot.nb, dtype=bool)
    kept[columns] = True
    entries, own, starts = [], [], [0]
    for dof in range(robot.nv):
        found, places = _row_entries(robot, constants, dof, kept)
        entries += found
        own.append(places)
        starts.append(len(entries))
    ends = np.array([len(places) for places in own])
    sizes = ends + np.array([len(each) for each in effects]) + 1
    padded = -(-sizes // 4) * 4
    other = [j for j, joint in enumerate(robot.joints) if joint.nq > 1]
    table = np.array(entries, dtype=float).reshape(-1, 6)
    whole = table[:, :5].astype(np.int64)
    plan = FusedPlan(
        parents=robot.parents.astype(np.int64),
        scalar=_places(robot.nj, constants.scalar),
        other=_places(robot.nj, other),
        scalar_q=constants.scalar_q.astype(np.int64),
        scalar_ratio=constants.scalar_ratio.astype(float),
        scalar_offset=constants.scalar_offset.astype(float),
        scalar_R=np.ascontiguousarray(np.moveaxis(constants.scalar_R[[0, 2, 3]], 0, 1).reshape(-1, 3, 9)),
        scalar_p=np.ascontiguousarray(np.moveaxis(constants.scalar_p, 0, 1)),
        degree_start=np.searchsorted(constants.degree_joint, np.arange(robot.nj + 1)).astype(np.int64),
        subspace=np.ascontiguousarray(constants.subspace, dtype=float),
        coordinate=constants.coordinates.astype(np.int64),
        ratio=constants.ratios.astype(float),
        gravity=robot.gravity.astype(float),
        body_joint=robot.body_joints.astype(np.int64),
        needed=kept.reshape(robot.nb, 10),
        entry_start=np.array(starts),
        entry_degree=whole[:, 0].copy(),
        entry_body=whole[:, 1].copy(),
        entry_column=whole[:, 2].copy(),
        entry_place=whole[:, 3].copy(),
        entry_first=whole[:, 4] == 1,
        entry_ratio=table[:, 5].copy(),
        bodies_end=ends,
        effect_start=np.cumsum([0, *(len(each) for each in effects)]),
        effect=np.array([row for each in effects for row in each], dtype=np.int64),
        padded=padded,
        gram_start=np.cumsum([0, *(padded**2)]),
    )
    frozen = [np.require(x, requirements=["C", "W"]) if x.flags.writeable else x.copy() for x in plan]
    return FusedPlan(*frozen), tuple(own)


def _row_entries(robot: Robot, constants, dof: int, kept):
    """Entries `(degree, body, column, place, first, ratio)` of one row, and its columns in order."""
    found, place = [], {}
    for degree in np.flatnonzero(constants.coordinates == dof):
        turns = np.any(constants.subspace[degree, 3:])
        bodies = constants.subtree_bodies[constants.degree_joint[degree]]
        for body in range(bodies.start, bodies.stop):
            for c in range(10 if turns else 4):  # moments of inertia do not resist a translation
                if kept[10 * body + c]:
                    first = 10 * body + c not in place
                    at = place.setdefault(10 * body + c, len(place))
                    found.append((degree, body, c, at, first, constants.ratios[degree]))
    return found, np.array(list(place), dtype=int)


def _places(count: int, listed) -> np.ndarray:
    places = np.full(count, -1, dtype=np.int64)
    places[list(listed)] = np.arange(len(listed))
    return places


def fixed_poses(robot: Robot, q) -> np.ndarray:
    """Poses (nm, 12, n) of the joints of several degrees in their parents. q: (n, nq)."""
    poses = []
    for joint, where in zip(robot.joints, robot.q_slices, strict=True):
        if joint.nq > 1:
            R, p = multi_dof_pose(joint, q[:, where])
            poses.append(np.concatenate([R.reshape(-1, 9), p], axis=1).T)
    return np.ascontiguousarray(poses) if poses else np.zeros((0, 12, len(q)))  # one memory layout, as it is compiled


class DerivativePlan(NamedTuple):
    """What the kernel of the derivatives reads. Joints: above (nj,) the parent, or nj for the world; scalar..., other,
    degree_start and degrees as in `FusedPlan`; subtree_end (nj,) first degree behind the subtree;
    mount_R (nj, 3, 3), mount_p (nj, 3): place in the parent; behind_mass (nj,). Bodies: body_joint, mass (nb,), first
    (nb, 3), second (nb, 3, 3) moments in body axes.
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
    subspace: np.ndarray
    coordinate: np.ndarray
    ratio: np.ndarray
    gravity: np.ndarray
    subtree_end: np.ndarray
    mount_R: np.ndarray
    mount_p: np.ndarray
    behind_mass: np.ndarray
    body_joint: np.ndarray
    mass: np.ndarray
    first: np.ndarray
    second: np.ndarray


@lru_cache(maxsize=64)
def derivative_plan(robot: Robot) -> DerivativePlan:
    """Plan of a robot, its inertias included."""
    tree_part = fused_plan(robot, [], [()] * robot.nv)[0]
    constants = tree(robot)
    first_degree = tree_part.degree_start[:-1]
    above = constants.ancestors[:, first_degree]  # (nj, nj) 1 where the column's joint moves the row's
    last = np.array([np.flatnonzero(column)[-1] for column in above.T])
    J = pseudo.to_matrix(robot.inertias)
    plan = DerivativePlan(
        above=np.where(robot.parents == WORLD, robot.nj, robot.parents).astype(np.int64),
        subtree_end=tree_part.degree_start[last + 1],
        mount_R=np.stack([joint.rotation for joint in robot.joints]),
        mount_p=np.stack([joint.position for joint in robot.joints]),
        behind_mass=above[robot.body_joints].T @ robot.inertias[:, 0],
        mass=J[:, 3, 3],
        first=J[:, :3, 3],
        second=J[:, :3, :3],
        **{name: getattr(tree_part, name) for name in DerivativePlan._fields if hasattr(tree_part, name)},
    )
    return DerivativePlan(*(np.array(x, order="C") for x in plan))
