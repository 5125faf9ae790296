"""Balance of a robot that stands on links that do not move: where the ground must push, and the room around it.

The wrench of the ground holds all bodies; where it has no moment along the ground is the zero-moment point
(Vukobratovic 1972), which must stay inside the convex hull of what touches the ground. The base does not move
meanwhile: legs that stand are locked; arms, head, trunk and legs in the air may move.
"""

from dataclasses import dataclass

import numpy as np

from steelyard.dynamics.kinematics import motion, tree
from steelyard.errors import OptionError, choices
from steelyard.excite.hulls import solids_of
from steelyard.excite.limits import MotionBounds
from steelyard.excite.thresholds import THRESHOLDS
from steelyard.model import Robot
from steelyard.model.robot import WORLD


@dataclass(frozen=True, eq=False)
class Support:
    """Polygon on the ground at height z = `height`."""

    centre: np.ndarray  # (2,) of it
    normals: np.ndarray  # (k, 2) outward
    room: np.ndarray  # (k,) m from the centre to each edge, the margin taken off
    height: float
    held: np.ndarray  # (6,) wrench that holds what rides on the base itself
    weight: float  # N

    def points(self, wrench) -> tuple[np.ndarray, np.ndarray]:
        """Zero-moment points (2, n) and vertical forces (n,). wrench: (6, n) on the moving bodies, at the origin."""
        f, m = (wrench + self.held[:, None])[:3], (wrench + self.held[:, None])[3:]
        down = np.maximum(f[2], THRESHOLDS.least_load * self.weight)
        return np.stack([self.height * f[0] - m[1], self.height * f[1] + m[0]]) / down, down

    def reach(self, wrench) -> np.ndarray:
        """(k, n) m from the centre towards each edge; the robot tips where one exceeds `room`."""
        return self.normals @ (self.points(wrench)[0] - self.centre[:, None])

    def reach_gradient(self, wrench, force) -> np.ndarray:
        """(6, n): gradient by the wrench of a number whose derivative by `reach` is force (k, n)."""
        points, down = self.points(wrench)
        x, y = self.normals.T @ force / down
        loaded = down > THRESHOLDS.least_load * self.weight
        still = np.zeros_like(x)
        return np.stack([self.height * x, self.height * y, -(points[0] * x + points[1] * y) * loaded, y, -x, still])


def support_of(robot: Robot, bounds: MotionBounds, feet, *, margin: float) -> Support:
    """Support of a robot on some links in the pose of its locked joints, a margin in m inside their polygon. Raises
    OptionError for links that move or have no geometry, gravity not along z, and a polygon that leaves no room."""
    from scipy.spatial import ConvexHull, QhullError

    if np.linalg.norm(robot.gravity[:2]) > 1e-9 or not robot.gravity[2] < 0:
        raise OptionError(f"feet: the ground is level, so gravity is along -z; this robot's is {robot.gravity}.")
    touching = _soles(robot, bounds, (feet,) if isinstance(feet, str) else tuple(feet))
    height = float(touching[:, 2].min())
    points = touching[touching[:, 2] < height + THRESHOLDS.sole, :2]
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError) as error:
        raise OptionError(f"feet: {len(points)} points touch the ground, along a line at most. Name more.") from error
    centre = points[hull.vertices].mean(axis=0)
    equations = np.unique(np.round(hull.equations, 9), axis=0)
    room = -(equations[:, :2] @ centre + equations[:, 2]) - margin
    if not (room > 0).all():
        raise OptionError(
            f"feet: the edge of the support is {1000 * (room.min() + margin):.0f} mm from its centre, and a margin of "
            f"{1000 * margin:.0f} mm to each side leaves nothing. Take a smaller balance margin, or more feet."
        )
    masses = [
        (link.theta[0], link.rotation @ link.theta[1:4] + link.theta[0] * link.position)
        for link in robot.links
        if link.body == WORLD
    ]
    lift = -robot.gravity
    held = sum((np.concatenate([m * lift, np.cross(h, lift)]) for m, h in masses), np.zeros(6))
    weight = float((robot.inertias[:, 0].sum() + sum(m for m, _ in masses)) * lift[2])
    return Support(centre, equations[:, :2], room, height, held, weight)


def _soles(robot: Robot, bounds: MotionBounds, feet: tuple[str, ...]) -> np.ndarray:
    """Corners (k, 3) of the hulls of the feet's bodies in the world."""
    constants = tree(robot)
    rest = np.where(bounds.locked, bounds.rest, bounds.middle)[:, None]
    still = np.zeros_like(rest)
    state = motion(robot, bounds.positions(rest), still, still)
    carried = {link.name: link.body for link in robot.links} | {name: i for i, name in enumerate(robot.body_names)}
    solids, _ = solids_of(robot)
    found = []
    for name in feet:
        if name not in carried:
            raise OptionError(f"feet: robot '{robot.name}' has no link '{name}'; it has {choices(carried)}.")
        body = carried[name]
        above = [] if body == WORLD else np.flatnonzero(constants.ancestors[robot.body_joints[body]])
        moving = [int(constants.coordinates[t]) for t in above if not bounds.locked[constants.coordinates[t]]]
        if moving:
            raise OptionError(
                f"feet: link '{name}' moves with joint '{robot.dof_names[moving[0]]}'; a robot stands on what stays. "
                "Lock the joints of its leg (locked, `--lock`)."
            )
        own = [solid.vertices for solid in solids if solid.body == body]
        if not own:
            raise OptionError(f"feet: link '{name}' has no geometry that could be read, so it cannot be stood on.")
        R, p = (
            (np.eye(3), np.zeros(3)) if body == WORLD else (state.rotation[body, :, :, 0], state.position[body, :, 0])
        )
        found += [vertices @ R.T + p for vertices in own]
    return np.concatenate(found)
