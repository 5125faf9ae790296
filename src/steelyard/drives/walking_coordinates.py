"""What a refinement of a walking robot may change: numbers of motors alike, the trunk, and limbs alike.

Feet on the ground couple all joints, so that each number is simulated on its own: those of equal motors are one, and
bodies that are equal, or mirror images of each other, change together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from steelyard.drives.arrays import DriveArrays
from steelyard.drives.coordinates import SPREADS, Unknowns, finite
from steelyard.inertia import pseudo
from steelyard.inertia.parameters import TENSOR
from steelyard.model import Robot

TRUNK_SPREADS = np.repeat([1.0, 0.1, 1.0], [1, 3, 6])  # as `SPREADS`: loads of the trunk are what models lack most
LIMB_SPREADS = SPREADS / 5  # a looser limb takes up mass of the trunk: 0.6 of 3 kg, measured
FELT = 0.3  # times what the prior says of a coordinate, that windows have to say of it for its derivatives to be taken
EQUAL = 0.01  # of the size of a body's moments, by which those of its twin may differ


def walking_unknowns(
    robot: Robot,
    drives: DriveArrays,
    free: Sequence[str],
    known: dict[str, np.ndarray],
    *,
    weighed: np.ndarray | None = None,
    groups: Sequence[np.ndarray] = (),
    soonest: float = 0.0,
    weights: tuple[np.ndarray, ...] = (),
) -> Unknowns:
    """What the log of a walking robot may show; options as of `unknowns`."""
    driven = list(robot.driven_dofs)
    free = tuple(name for name in free if not np.all(np.broadcast_to(known.get(name, False), robot.nv)[driven]))
    drives, known = finite(drives, free, dict(known), driven)
    shared, alone = np.full(robot.nv, -1), [dof for dof in driven if not any(dof in group for group in groups)]
    for place, own in enumerate([*groups, *([dof] for dof in alone)]):
        shared[own] = place
    plain = Unknowns(drives, free, np.zeros((0, robot.nb, 10)), shared, known, soonest, weights, ground=True)
    bodies = []
    for twins in _body_twins(robot, groups):
        for k, spread in enumerate(TRUNK_SPREADS if twins[0][0] == 0 else LIMB_SPREADS):
            own = np.zeros((robot.nb, 10))
            for body, signs in twins:
                if k or weighed is None or not weighed[body]:
                    own[body, k] = spread * signs[k]
            if own.any():
                bodies.append(own)
    return replace(plain, bodies=np.array(bodies))


def single(free: Unknowns, x, groups: Sequence[np.ndarray], felt: np.ndarray) -> tuple[Unknowns, np.ndarray]:
    """Coordinates with a number of its own for each joint, drawn towards those of its group, without derivatives of
    what windows hardly say (`felt`, times what the prior says)."""
    driven = np.flatnonzero(free.places >= 0)
    alone = np.full(len(free.places), -1)
    alone[driven] = np.arange(len(driven))
    own = [x[free.of(name)[driven]] for name in free.free]
    rest, told = x[free.of_bodies.start :].copy(), felt[free.of_bodies.start :] > FELT
    told[len(free.bodies) :] = True
    rest[~told] = 0.0
    active = np.concatenate([np.ones(len(own) * len(driven), dtype=bool), told])
    found = replace(free, places=alone, groups=tuple(groups), active=active)
    return found, np.concatenate([*own, rest])


def _body_twins(robot: Robot, groups: Sequence[np.ndarray]) -> Iterator[list[tuple[int, np.ndarray]]]:
    """Bodies alike, each with the signs (10,) of what mirrors mass, centre and stretch of the first."""
    moved_by = {robot.dof_names[dof]: number for number, group in enumerate(groups) for dof in group}
    left: dict[object, list[int]] = {}
    for body in range(robot.nb):
        name = robot.joints[int(robot.body_joints[body])].name
        left.setdefault(moved_by.get(name, name), []).append(body)
    places = _places(robot)
    for bodies in left.values():
        while bodies:
            first, found, rest = bodies[0], [(bodies[0], np.ones(10))], []
            for body in bodies[1:]:
                mirror = _mirror(robot.inertias[first], robot.inertias[body], places[first], places[body])
                if mirror is None:
                    rest.append(body)
                else:
                    found.append((body, np.array([1.0, *mirror, *(mirror[i] * mirror[j] for i, j in TENSOR)])))
            yield found
            bodies = rest


def _mirror(one, other, here, there) -> np.ndarray | None:
    """(3,) signs of the axes that make a body's parameters (10,) those of another; the one of those that do which fits
    best how the frames lie, left and right of the middle. None: none does."""
    usual = np.array([1.0, -1.0 if here[1][1] * there[1][1] < 0 else 1.0, 1.0])
    wanted = np.diag(there[0].T @ (usual[:, None] * here[0]))
    mine, theirs = pseudo.to_matrix(one), pseudo.to_matrix(other)
    size = np.sqrt(np.outer(np.diag(theirs), np.diag(theirs)))
    found = []
    for signs in product((1.0, -1.0), repeat=3):
        full = np.diag([*signs, 1.0])
        if np.all(np.abs(full @ mine @ full - theirs) < EQUAL * size):
            found.append(np.array(signs))
    return max(found, key=lambda signs: float(signs @ wanted), default=None)


def _places(robot: Robot) -> list[tuple[np.ndarray, np.ndarray]]:
    frames: list[tuple[np.ndarray, np.ndarray]] = []
    for joint, parent in zip(robot.joints, robot.parents.tolist(), strict=True):
        if parent < 0:
            frames.append((np.eye(3), np.zeros(3)))
            continue
        R, p = frames[parent]
        frames.append((R @ joint.rotation, p + R @ joint.position))
    return [frames[int(joint)] for joint in robot.body_joints]
