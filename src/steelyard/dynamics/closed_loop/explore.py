"""Random states of closed loops, on the branch of assembly of the model and clear of singular configurations."""

import numpy as np

from steelyard.dynamics.closed_loop.branch import follow
from steelyard.dynamics.closed_loop.choice import Choice
from steelyard.dynamics.closed_loop.constraint import constants
from steelyard.dynamics.closed_loop.state import State
from steelyard.dynamics.closed_loop.velocity import accelerations, transmission
from steelyard.model import Robot

REACH = 1.2  # radians, or lengths of the robot: how far an unlimited joint goes from the assembled pose
CLEAR = 0.05  # of the assembled pose's clearance: closer to a singular configuration nothing goes


def explore(robot: Robot, choice: Choice, count: int, *, seed: int, dynamic: bool = True) -> State:
    """States whose independent joints are anywhere within their limits, as far as the loops let them; at rest unless
    dynamic."""
    rng = np.random.default_rng(seed)
    start = np.repeat(choice.start[None], count, axis=0)
    target = start.copy()
    target[:, choice.jumping] = rng.normal(size=(count, len(choice.jumping)))
    reach = REACH * constants(robot).sizes[choice.straight_coordinates]
    middle = choice.start[choice.straight]
    lower = np.maximum(np.where(np.isfinite(robot.lower), robot.lower, -np.inf)[choice.straight], middle - reach)
    upper = np.minimum(np.where(np.isfinite(robot.upper), robot.upper, np.inf)[choice.straight], middle + reach)
    target[:, choice.straight] = rng.uniform(np.minimum(lower, upper), upper, size=(count, len(choice.straight)))
    q, _ = follow(robot, choice, start, target, clearance=CLEAR * choice.clearance)
    held = transmission(robot, choice, q)
    v, a = (rng.normal(size=(count, len(choice.independent))) * dynamic for _ in range(2))
    v = (held.gamma @ v[..., None])[..., 0]
    return State((count,), choice, q, v, accelerations(robot, choice, held, v, a), held)
