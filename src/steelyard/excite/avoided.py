"""What a motion keeps clear of, and what is to be said of it."""

from steelyard.excite.limits import Bounds, Limits
from steelyard.excite.scene import Scene, scene_of
from steelyard.model import Robot


def avoided(robot: Robot, bounds: Bounds, limits: Limits, poses) -> Scene | None:
    """Scene of what limits of collisions, floor or Cartesian speed look at, None where there are none or no geometry.

    poses: (n, nq) random ones, see `scene_of`.
    """
    if not limits.collisions and limits.floor is None and limits.cartesian_speed is None:
        return None
    return scene_of(robot, poses, clearance=limits.clearance, floor=limits.floor, moving=~bounds.locked)


def scene_notes(robot: Robot, scene: Scene | None, limits: Limits) -> tuple[str, ...]:
    """What is to be said of mimic joints and of geometry."""
    followers = [f"{joint.name} follows {joint.mimics}" for joint in robot.joints if joint.mimics is not None]
    said = (f"Mimic joints move along: {', '.join(followers)}.",) if followers else ()
    return (*said, *_geometry_notes(robot, scene, limits))


def _geometry_notes(robot: Robot, scene: Scene | None, limits: Limits) -> tuple[str, ...]:
    if not limits.collisions:
        return ()
    if scene is None:
        return (f"Robot '{robot.name}' has no geometry that could be read; collisions were not looked at.",)
    return scene.notes
