"""Locked joints: joints that stand still at a stated position, so that what they carry is fixed to what carries them.

A gripper that nobody recorded is the usual case. The file keeps its joints: `save` writes back to links as before, and
the links beyond a locked joint keep the inertials that they have.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from steelyard.errors import ModelError, choices
from steelyard.model.assemble import Segment, lumped
from steelyard.model.joint import Joint, joint_pose
from steelyard.model.robot import WORLD, Frame, Robot
from steelyard.model.rotor import Rotor
from steelyard.numbers import SAME
from steelyard.spatial import Pose, identity, then

Placed = TypeVar("Placed", bound=Frame)
Carrier = tuple[int, np.ndarray, np.ndarray]
"""Index of a body that is left, or WORLD, and the pose in it of one that was taken away."""


def locked(robot: Robot, positions: Mapping[str, ArrayLike]) -> Robot:
    """The robot without joints that cannot move; bodies have the parts beyond them lumped in. `save` knows its file.

    positions: joint -> where it stands, (nq,) numbers of its part of q or the one alone, rad or m; joints that mimic it
    stand where it takes them. Raises ModelError for a joint that the robot does not have, a position beyond its limits
    or of another length, and where no joint is left.
    """
    if not positions:
        return robot
    positions = {name: np.atleast_1d(np.asarray(position, dtype=float)) for name, position in positions.items()}
    for name, position in positions.items():
        _require_lockable(robot, name, position)
    left = lumped(_segments(robot, positions))
    if not left.joints:
        raise ModelError(f"Robot '{robot.name}' would have no joint left; leave one unlocked.")
    places = {int(link.name): (link.body, link.rotation, link.position) for link in left.links}
    bodies = [places[int(joint)] for joint in robot.body_joints]
    carriers = sorted({carrier for carrier, _, _ in bodies} - {WORLD})
    riding = {carrier: index for index, carrier in enumerate(carriers)} | {WORLD: WORLD}
    on: list[Carrier] = [(riding[carrier], R, p) for carrier, R, p in bodies]
    firsts = [
        next(name for name, each in zip(robot.body_names, on, strict=True) if each[0] == body)
        for body in range(len(carriers))
    ]
    free = np.repeat([j.name not in positions for j in robot.free_joints], [j.nv for j in robot.free_joints])
    gone = {joint.name for joint in robot.joints} - {joint.name for joint in left.joints}
    moved: dict[str | None, tuple[str | None, Pose]] = {None: (None, identity())} | {
        old: (firsts[body] if body != WORLD else None, (R, p))
        for old, (body, R, p) in zip(robot.body_names, on, strict=True)
    }
    source = robot.source and replace(robot.source, locked={**robot.source.locked, **positions})
    return replace(
        robot,
        joints=tuple(left.joints),
        parents=np.array(left.parents),
        body_names=tuple(firsts),
        body_joints=np.array(left.body_joints)[carriers],
        inertias=np.array(left.inertias)[carriers],
        armature=robot.armature[free],
        damping=robot.damping[free],
        frictionloss=robot.frictionloss[free],
        links=tuple(_riding(link, on) for link in robot.links),
        sites=tuple(_riding(site, on) for site in robot.sites),
        rotors=tuple(_rotor(rotor, moved) for each in robot.rotors if (rotor := _still_turned(each, gone))),
        loops=tuple(loop.moved(lambda body, pose: _on(moved[body], pose)) for loop in robot.loops),
        actuated=tuple(name for name in robot.actuated if name not in gone),
        drives={name: drive for name, drive in robot.drives.items() if name not in gone},
        source=source,
        notes=(*robot.notes, _note(robot, positions)),
    )


def resting_position(joint: Joint) -> float:
    """Where a joint of one degree is taken to stand when nobody says: zero, or the limit nearest to it, rad or m."""
    return float(np.clip(0.0, joint.lower[0], joint.upper[0]))


def _require_lockable(robot: Robot, name: str, position: np.ndarray) -> None:
    joint = next((each for each in robot.joints if each.name == name), None)
    if joint is None:
        known = choices(robot.joint_names)
        raise ModelError(f"Robot '{robot.name}' has no joint '{name}' to lock. Its joints: {known}.")
    if joint.mimics is not None:
        raise ModelError(f"Joint '{name}' follows '{joint.mimics}'; lock that one, and '{name}' stands with it.")
    if position.shape != (joint.nq,):
        raise ModelError(
            f"Joint '{name}' is {joint.kind}: {joint.nq} numbers say where it stands, not {position.size}."
        )
    inside = (position >= joint.lower - SAME) & (position <= joint.upper + SAME)
    if not inside.all():
        stands, low, high = (", ".join(f"{x:g}" for x in values) for values in (position, joint.lower, joint.upper))
        raise ModelError(f"Joint '{name}' is to be locked at {stands}, outside its range {low} .. {high}.")


def _segments(robot: Robot, positions: Mapping[str, np.ndarray]) -> list[Segment]:
    """A part a joint, by its number, with the body that it carries; of a locked joint one that is fixed."""
    bodies = dict(zip(map(int, robot.body_joints), robot.inertias, strict=True))
    found = []
    for index, (joint, parent) in enumerate(zip(robot.joints, robot.parents, strict=True)):
        stands, theta = positions.get(joint.mimics or joint.name), bodies.get(index, np.zeros(10))
        pose = identity() if stands is None else joint_pose(joint, joint.ratio * stands + joint.offset)
        found.append(Segment(str(index), int(parent), *pose, (joint,) if stands is None else (), theta, True))
    return found


def _riding(each: Placed, on: list[Carrier]) -> Placed:
    if each.body == WORLD:
        return each
    body, *pose = on[each.body]
    R, p = then((pose[0], pose[1]), (each.rotation, each.position))
    return replace(each, body=body, rotation=R, position=p)


def _still_turned(rotor: Rotor, gone: set[str]) -> Rotor | None:
    gears = tuple(each for each in rotor.gears if each[0] not in gone)
    return replace(rotor, joint=gears[0][0], gear_ratio=gears[0][1], also=gears[1:]) if gears else None


def _rotor(rotor: Rotor, moved) -> Rotor:
    carrier, R, p = _on(moved[rotor.carrier], (rotor.rotation, rotor.position))
    return replace(rotor, carrier=carrier, axis=moved[rotor.carrier][1][0] @ rotor.axis, rotation=R, position=p)


def _on(place: tuple[str | None, Pose], pose: Pose) -> tuple[str | None, np.ndarray, np.ndarray]:
    return place[0], *then(place[1], pose)


def _note(robot: Robot, positions: Mapping[str, np.ndarray]) -> str:
    units = {joint.name: "" if joint.nq > 1 else " rad" if joint.turns else " m" for joint in robot.joints}
    stands = choices(f"{name} at {', '.join(f'{x:.4g}' for x in at)}{units[name]}" for name, at in positions.items())
    return f"Locked: {stands}; what they carry is fixed to what carries them."
