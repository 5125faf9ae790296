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
from steelyard.inertia import transform
from steelyard.model.joint import Joint, joint_pose
from steelyard.model.loops import Loop
from steelyard.model.robot import WORLD, Frame, Robot
from steelyard.model.rotor import Rotor

ROUNDING = 1e-6  # rad or m that a stated position may lie beyond a limit
Placed = TypeVar("Placed", bound=Frame)
Carrier = tuple[int, np.ndarray, np.ndarray]
"""Index of a joint or body that is left, or WORLD, and the pose in it of one that was taken away."""


def locked(robot: Robot, positions: Mapping[str, ArrayLike]) -> Robot:
    """The robot with joints that cannot move.

    Args:
        robot: as read.
        positions: joint -> where it stands, (nq,) numbers of its part of q or the one alone, rad or m; joints that
            mimic it stand where it takes them.

    Returns:
        A robot without these joints, whose bodies have the parts beyond them lumped in. `save` knows its file.

    Raises:
        ModelError: for a joint that the robot does not have, a position beyond its limits or of another length, and
            where no joint is left.
    """
    if not positions:
        return robot
    positions = {name: np.atleast_1d(np.asarray(position, dtype=float)) for name, position in positions.items()}
    for name, position in positions.items():
        _require_lockable(robot, name, position)
    frames, kept = _left(robot, positions)
    joints = tuple(_placed(robot, index, frames) for index in kept)
    bodies = _bodies(robot, frames)
    carriers = sorted({carrier for carrier, _, _ in bodies} - {WORLD})
    first = {carrier: next(b for b, found in enumerate(bodies) if found[0] == carrier) for carrier in carriers}
    riding = {carrier: index for index, carrier in enumerate(carriers)} | {WORLD: WORLD}
    on: list[Carrier] = [(riding[carrier], R, p) for carrier, R, p in bodies]
    inertias = np.zeros((len(carriers), 10))
    for theta, (body, R, p) in zip(robot.inertias, on, strict=True):
        if body != WORLD:
            inertias[body] += transform(theta, R, p)
    names = tuple(robot.body_names[first[carrier]] for carrier in carriers)
    free = np.repeat([j.name not in positions for j in robot.free_joints], [j.nv for j in robot.free_joints])
    gone = {robot.joints[i].name for i in range(robot.nj)} - {joint.name for joint in joints}
    moved = {
        old: (names[body] if body != WORLD else None, R, p)
        for old, (body, R, p) in zip(robot.body_names, on, strict=True)
    }
    source = robot.source and replace(robot.source, locked={**robot.source.locked, **positions})
    return replace(
        robot,
        joints=joints,
        parents=np.array([frames[robot.parents[i]][0] if robot.parents[i] != WORLD else WORLD for i in kept]),
        body_names=names,
        body_joints=np.array(carriers),
        inertias=inertias,
        armature=robot.armature[free],
        damping=robot.damping[free],
        frictionloss=robot.frictionloss[free],
        links=tuple(_riding(link, on) for link in robot.links),
        sites=tuple(_riding(site, on) for site in robot.sites),
        rotors=tuple(_rotor(rotor, moved) for each in robot.rotors if (rotor := _still_turned(each, gone))),
        loops=tuple(_loop(loop, moved) for loop in robot.loops),
        actuated=tuple(name for name in robot.actuated if name not in gone),
        drives={name: drive for name, drive in robot.drives.items() if name not in gone},
        source=source,
        notes=(*robot.notes, _note(robot, positions)),
    )


def resting_position(joint: Joint) -> float:
    """Where a joint of one degree is taken to stand when nobody says.

    Args:
        joint: of one degree of freedom.

    Returns:
        Zero, or the limit nearest to it, rad or m.
    """
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
    inside = (position >= joint.lower - ROUNDING) & (position <= joint.upper + ROUNDING)
    if not inside.all():
        stands, low, high = (", ".join(f"{x:g}" for x in values) for values in (position, joint.lower, joint.upper))
        raise ModelError(f"Joint '{name}' is to be locked at {stands}, outside its range {low} .. {high}.")


def _left(robot: Robot, positions: Mapping[str, np.ndarray]) -> tuple[dict[int, Carrier], list[int]]:
    """Where the child frame of each joint now is, by old index, and the old indices of the joints that are left."""
    frames: dict[int, Carrier] = {}
    kept: list[int] = []
    for index, joint in enumerate(robot.joints):
        stands = positions.get(joint.mimics or joint.name)
        if stands is None:
            frames[index] = (len(kept), np.eye(3), np.zeros(3))
            kept.append(index)
            continue
        R, p = joint_pose(joint, joint.ratio * stands + joint.offset)
        frames[index] = _within(frames, int(robot.parents[index]), R, p)
    if not kept:
        raise ModelError(f"Robot '{robot.name}' would have no joint left; leave one unlocked.")
    return frames, kept


def _within(frames: dict[int, Carrier], parent: int, R, p) -> Carrier:
    """A frame in the child frame of a joint, in what is left."""
    if parent == WORLD:
        return WORLD, R, p
    carrier, above, origin = frames[parent]
    return carrier, above @ R, origin + above @ p


def _placed(robot: Robot, index: int, frames: dict[int, Carrier]) -> Joint:
    """A joint that is left, placed in the child frame of one that is."""
    joint = robot.joints[index]
    _, R, p = _within(frames, int(robot.parents[index]), joint.rotation, joint.position)
    return replace(joint, rotation=R, position=p)


def _bodies(robot: Robot, frames: dict[int, Carrier]) -> list[Carrier]:
    """Joint that each body now hangs on, and its pose there."""
    return [frames[int(joint)] for joint in robot.body_joints]


def _riding(each: Placed, on: list[Carrier]) -> Placed:
    """A link or a frame on the body that is left."""
    if each.body == WORLD:
        return each
    body, R, p = on[each.body]
    return replace(each, body=body, rotation=R @ each.rotation, position=p + R @ each.position)


def _still_turned(rotor: Rotor, gone: set[str]) -> Rotor | None:
    """The rotor as the joints that are left turn it."""
    gears = tuple(each for each in rotor.gears if each[0] not in gone)
    return replace(rotor, joint=gears[0][0], gear_ratio=gears[0][1], also=gears[1:]) if gears else None


def _rotor(rotor: Rotor, moved) -> Rotor:
    if rotor.carrier is None:
        return rotor
    carrier, R, p = moved[rotor.carrier]
    return replace(
        rotor, carrier=carrier, axis=R @ rotor.axis, rotation=R @ rotor.rotation, position=p + R @ rotor.position
    )


def _loop(loop: Loop, moved) -> Loop:
    ends = [(None, np.eye(3), np.zeros(3)) if body is None else moved[body] for body in loop.bodies]
    return replace(
        loop,
        bodies=(ends[0][0], ends[1][0]),
        rotations=np.stack([R @ own for (_, R, _), own in zip(ends, loop.rotations, strict=True)]),
        positions=np.stack([p + R @ own for (_, R, p), own in zip(ends, loop.positions, strict=True)]),
    )


def _note(robot: Robot, positions: Mapping[str, np.ndarray]) -> str:
    units = {joint.name: "" if joint.nq > 1 else " rad" if joint.turns else " m" for joint in robot.joints}
    stands = choices(f"{name} at {', '.join(f'{x:.4g}' for x in at)}{units[name]}" for name, at in positions.items())
    return f"Locked: {stands}; what they carry is fixed to what carries them."
