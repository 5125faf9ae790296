"""A robot and its kept columns as the flat arrays that the fused kernel reads. Does not import Numba."""

from typing import NamedTuple

import numpy as np

from steelyard.dynamics.kinematics import tree
from steelyard.dynamics.tree_plan import TreePlan, as_compiled, tree_plan
from steelyard.model import Robot


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
    """Plan, and for each degree the body columns of its row that are not zero by construction.

    columns: kept columns of bodies. effects: for each degree, the effect rows that act on it.
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
