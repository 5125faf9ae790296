"""A robot as the flat arrays that the compiled core reads."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from steelyard.dynamics.kinematics import tree
from steelyard.inertia import pseudo
from steelyard.model import Robot
from steelyard.model.joint import joint_pose
from steelyard.model.robot import WORLD
from steelyard.native import core


@lru_cache(maxsize=64)
def native_tree(robot: Robot) -> Any:
    """A robot's tree, without inertias, for the core, which must be there."""
    return _made("Tree", **tree_arrays(robot))


def tree_arrays(robot: Robot) -> dict[str, Any]:
    """A robot's tree.

    Joints: above (nj,) the parent, or nj for the world; scalar and other (nj,) places among one-degree joints and the
    rest, or -1; of the former scalar_q (ns,) place in q, angle `ratio * q + offset`, pose coefficients scalar_R
    (ns, 3, 9) of 1, sine and cosine, scalar_p (ns, 4, 3) of 1, angle, sine and cosine. Degrees: subspace (nt, 6),
    coordinate, ratio (nt,), those of a joint from degree_start (nj + 1,), those behind it too until subtree_end (nj,).
    Bodies: body_joint (nb,).
    """
    constants = tree(robot)
    other = [j for j, joint in enumerate(robot.joints) if joint.nq > 1]
    degree_start = np.searchsorted(constants.degree_joint, np.arange(robot.nj + 1))
    moved = constants.ancestors[:, degree_start[:-1]]  # (nj, nj) 1 where the column's joint moves the row's
    last = np.array([np.flatnonzero(column)[-1] for column in moved.T])
    return {
        "above": np.where(robot.parents == WORLD, robot.nj, robot.parents),
        "scalar": _places(robot.nj, constants.scalar),
        "other": _places(robot.nj, other),
        "scalar_q": constants.scalar_q.astype(np.int64),
        "scalar_ratio": constants.scalar_ratio,
        "scalar_offset": constants.scalar_offset,
        "scalar_R": np.moveaxis(constants.scalar_R[[0, 2, 3]], 0, 1).reshape(-1, 3, 9),
        "scalar_p": np.moveaxis(constants.scalar_p, 0, 1),
        "degree_start": degree_start,
        "subtree_end": degree_start[last + 1],
        "subspace": constants.subspace,
        "coordinate": constants.coordinates.astype(np.int64),
        "ratio": constants.ratios,
        "gravity": robot.gravity,
        "body_joint": robot.body_joints.astype(np.int64),
        "nq": robot.nq,
        "nv": robot.nv,
    }


def _made(kind: str, *own, **arrays):
    """An object of the core with contiguous arrays of its own: those of a robot are locked."""
    own_arrays = {name: np.array(x, order="C") if isinstance(x, np.ndarray) else x for name, x in arrays.items()}
    return getattr(core(), kind)(*own, **own_arrays)


@lru_cache(maxsize=64)
def native_links(robot: Robot) -> Any:
    """A robot's inertias and where its joints stand, for the core.

    Joints: mount_R (nj, 3, 3), mount_p (nj, 3): place in the parent; behind_mass (nj,) of all bodies behind. Bodies:
    mass (nb,), first (nb, 3), second (nb, 3, 3) moments in body axes.
    """
    J = pseudo.to_matrix(robot.inertias)
    return _made(
        "Links",
        native_tree(robot),
        mount_R=np.stack([joint.rotation for joint in robot.joints]),
        mount_p=np.stack([joint.position for joint in robot.joints]),
        behind_mass=np.array([robot.inertias[bodies, 0].sum() for bodies in tree(robot).subtree_bodies]),
        mass=J[:, 3, 3],
        first=J[:, :3, 3],
        second=J[:, :3, :3],
    )


def fixed_poses(robot: Robot, q) -> np.ndarray:
    """(nm, 12, n) poses of the joints of several degrees in their parents, for the core. q: (n, nq)."""
    poses = []
    for joint, where in zip(robot.joints, robot.q_slices, strict=True):
        if joint.nq > 1:
            R, p = joint_pose(joint, q[:, where])
            poses.append(np.concatenate([R.reshape(-1, 9), p], axis=1).T)
    return np.ascontiguousarray(poses) if poses else np.zeros((0, 12, len(q)))


def _places(count: int, listed) -> np.ndarray:
    places = np.full(count, -1, dtype=np.int64)
    places[list(listed)] = np.arange(len(listed))
    return places


@dataclass(frozen=True, eq=False)
class SumPlan:
    """What the core sums for each degree: a Gram matrix of its row's body columns, effects and torque."""

    tree: Any  # and `rows`: of the core
    rows: Any
    own: tuple[np.ndarray, ...]  # for each degree, the body columns of its row that are not zero by construction
    padded: np.ndarray  # (nv,) widths of rows, a multiple of four; the square of each begins at gram_start (nv + 1,)
    gram_start: np.ndarray
    parameters: np.ndarray  # (ne,) of the products of a degree's axis and a body's wrench


def sum_plan(robot: Robot, columns, effects) -> SumPlan:
    """Plan of the sums of joint torques. columns: kept ones of bodies; effects: for each degree, the rows that act on
    it."""
    needed = np.zeros(10 * robot.nb, dtype=bool)
    needed[columns] = True
    found = [_row_entries(robot, dof, needed) for dof in range(robot.nv)]
    own = tuple(places for _, places in found)
    table = np.array([entry for entries, _ in found for entry in entries], dtype=float).reshape(-1, 6).T
    degree, body, parameter, place, again = table[:5].astype(np.int64)
    bodies_end = np.array([len(places) for places in own], dtype=np.int64)
    padded = -(-(bodies_end + [len(each) for each in effects] + 1) // 4) * 4
    gram_start = np.cumsum([0, *(padded**2)])
    native = native_tree(robot)
    rows = _made(
        "Rows",
        native,
        start=np.cumsum([0, *(len(entries) for entries, _ in found)]),
        degree=degree,
        body=body,
        parameter=parameter,
        place=place,
        again=again,
        ratio=table[5],
        needed=needed.reshape(robot.nb, 10),
        bodies_end=bodies_end,
        effect_start=np.cumsum([0, *(len(each) for each in effects)]),
        effect=np.array([row for each in effects for row in each], dtype=np.int64),
        padded=padded,
        gram_start=gram_start,
    )
    return SumPlan(native, rows, own, padded, gram_start, parameter)


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
