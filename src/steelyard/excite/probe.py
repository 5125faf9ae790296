"""States that the limits allow, and whether the robot can be held and started there."""

import numpy as np

from steelyard.errors import OptionError
from steelyard.excite.limits import Bounds
from steelyard.excite.scene import Scene
from steelyard.model import Robot

PROBES = 300  # random states that give typical torques and pairs that always touch


def probe_states(robot: Robot, bounds: Bounds) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Random allowed states q (nq, n), v, a (nv, n) and their torques (nv, n)."""
    from steelyard.dynamics import friction_torque, inverse_dynamics

    rng = np.random.default_rng(0)
    x = rng.uniform(bounds.lower, bounds.upper, size=(PROBES, robot.nv))
    x[:, bounds.locked] = bounds.rest[bounds.locked]
    q = bounds.positions(x.T).T
    moves = ~bounds.locked
    v = rng.uniform(-1, 1, size=x.shape) * bounds.velocity * moves
    a = rng.uniform(-1, 1, size=x.shape) * np.where(np.isfinite(bounds.acceleration), bounds.acceleration, 10.0) * moves
    tau = inverse_dynamics(robot, q, v, a) + friction_torque(robot, v)
    return q.T, v.T, a.T, tau.T


def require_held(robot: Robot, bounds: Bounds, q):
    """Raise OptionError where the motors cannot hold the robot in any of the poses q (nq, n)."""
    from steelyard.dynamics import inverse_dynamics

    still = np.zeros((q.shape[1], robot.nv))
    held = np.abs(inverse_dynamics(robot, q.T, still, still)) / bounds.effort
    pose = int(np.argmin(held[:, bounds.moving].max(axis=1)))
    worst = bounds.moving[np.argmax(held[pose, bounds.moving])]
    if held[pose, worst] > 1:
        needed = held[pose, worst] * bounds.effort[worst]
        raise OptionError(
            f"The effort limit of joint '{robot.dof_names[worst]}', {bounds.effort[worst]:g} with the margin taken "
            f"off, does not hold the robot in any of {len(held)} poses: at best {needed:.3g} is needed. Correct "
            "masses, gravity or effort limits."
        )


def checked_start(robot: Robot, bounds: Bounds, scene: Scene | None, start) -> np.ndarray:
    """(nv,) pose to start from. Raises OptionError for one outside of the bounds or in collision."""
    start = np.asarray(start, dtype=float)
    if start.shape != (robot.nv,) or not np.isfinite(start).all():
        raise OptionError(f"start is a pose of {robot.nv} finite positions, {robot.dof_names}; got {start}.")
    for i in bounds.moving:
        if not bounds.lower[i] <= start[i] <= bounds.upper[i]:
            raise OptionError(
                f"The start pose puts joint '{robot.dof_names[i]}' at {start[i]:g}; limits and margin allow "
                f"[{bounds.lower[i]:g}, {bounds.upper[i]:g}]. Move it inside, or take a smaller margin."
            )
    found = None if scene is None else scene.contacts(bounds.positions(start[:, None]).T)
    if found is not None and len(found.sample):
        k = int(np.argmin(found.room))
        raise OptionError(
            f"In the start pose {scene.name(found.first[k])} and {scene.name(found.second[k])} "  # type: ignore[union-attr]
            f"miss {-found.room[k] * 1000:.0f} mm of the room that they need. Start elsewhere, leave start out, or "
            "lower clearance or floor in Limits."
        )
    return start
