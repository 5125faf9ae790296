"""Where a motion starts, at rest, and comes back to: a given pose, or the first of the usual ones that is free."""

from collections.abc import Iterator

import numpy as np

from steelyard.errors import OptionError
from steelyard.excite.collisions import CollisionScene
from steelyard.excite.limits import MotionBounds
from steelyard.excite.profiles import Profile
from steelyard.model import Robot
from steelyard.model.formats import document_of

HOME = "home"  # start of a design: the first of `home_poses` that is free


def home_poses(robot: Robot, bounds: MotionBounds, profile: Profile | None = None) -> Iterator[tuple[str, np.ndarray]]:
    """Poses (nv,) to start from, the most usual first, each with where it comes from; locked joints at their rest."""
    file = document_of(robot)
    named = file.keyframes(robot) if file and file.exists else {}
    for name in sorted(named, key=lambda name: HOME not in name.lower()):
        yield f"keyframe '{name}'", _scalars(bounds, named[name])
    if profile is not None:
        yield f"home of the {profile.title}", profile.pose(robot, bounds.rest)
    yield "the middle of the joint ranges", bounds.middle
    yield "the zero pose", _scalars(bounds, robot.neutral)


def start_pose(
    robot: Robot, bounds: MotionBounds, scene: CollisionScene | None, start, profile: Profile | None = None
) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """Pose (nv,) to start from, None for any, and what to say of it. start: as of `design`.

    Raises OptionError for a pose that is given and lies outside of the bounds or in collision.
    """
    if start is None:
        return None, ()
    usual = isinstance(start, str) and start == HOME
    given = np.full(robot.nv, np.nan) if usual else _pose(robot, start)
    if not np.isnan(given).any():
        if reason := _blocked(robot, bounds, scene, given):
            raise OptionError(reason)
        return given, ()
    passed: list[str] = []
    for name, pose in home_poses(robot, bounds, profile):
        pose = np.where(np.isnan(given), pose, given)
        reason = _blocked(robot, bounds, scene, pose)
        if reason is None:
            stated = ", ".join(f"{robot.dof_names[i]}={pose[i]:.4g}" for i in bounds.moving)
            return pose, (*passed, f"Starts at rest in {name}, and comes back to it: {stated} (rad, m).")
        passed.append(f"Not started in {name}: {reason}")
    if not usual:
        raise OptionError(" ".join(passed))
    return None, (*passed, "No home pose is free: the motion starts, and ends, where it says itself.")


def _scalars(bounds: MotionBounds, q) -> np.ndarray:
    """(nv,) degrees of positions (nq,), locked ones at their rest."""
    return np.where(bounds.locked, bounds.rest, np.asarray(q)[np.maximum(bounds.scalar, 0)])


def _blocked(robot: Robot, bounds: MotionBounds, scene: CollisionScene | None, start: np.ndarray) -> str | None:
    """Why a motion cannot start in a pose (nv,), None where it can."""
    for i in bounds.moving:
        if not bounds.lower[i] <= start[i] <= bounds.upper[i]:
            return (
                f"The start pose puts joint '{robot.dof_names[i]}' at {start[i]:g}; limits and margin allow "
                f"[{bounds.lower[i]:g}, {bounds.upper[i]:g}]. Move it inside, or take a smaller margin."
            )
    if scene is None:
        return None
    found = scene.contacts(bounds.positions(start[:, None]).T)
    if not len(found.sample):
        return None
    k = int(np.argmin(found.room))
    return (
        f"In the start pose {scene.name(found.first[k])} and {scene.name(found.second[k])} "
        f"miss {-found.room[k] * 1000:.0f} mm of the room that they need. Start elsewhere, leave start out, or "
        "lower clearance or floor in Limits."
    )


def _pose(robot: Robot, start) -> np.ndarray:
    """(nv,) of a pose that is given. Raises OptionError for what is none."""
    pose = np.asarray(start, dtype=float)
    if pose.shape != (robot.nv,) or np.isinf(pose).any():
        raise OptionError(f"start is a pose of {robot.nv} finite positions, {robot.dof_names}; got {start}.")
    return pose
