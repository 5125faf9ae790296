"""Following one branch of assembly: loops can often be closed in several ways, and a motion stays on one.

A step goes along the tangent and is then corrected; one whose correction is large against itself is halved.
"""

import numpy as np

from steelyard.dynamics.closed_loop.choice import Choice
from steelyard.dynamics.closed_loop.closure import CLOSED, close, moved
from steelyard.dynamics.closed_loop.constraint import constants
from steelyard.dynamics.closed_loop.velocity import transmission
from steelyard.model import Robot

STEPS = 400
FIRST, LARGEST, SMALLEST = 0.1, 0.3, 1e-5  # radians, or lengths of the robot, in one step
CORRECTION = 0.3  # of a step's length: larger corrections may have left the branch


def follow(robot: Robot, choice: Choice, start, target, *, clearance: float):
    """Carry closed configurations along straight lines of the independent coordinates.

    start: (n, nq) closed. target: (n, nq), whose independent entries count. clearance: of `Transmission.clearance`, at
    which to stop. Returns q and the share (n,) of the way that was reached: 1 arrived.
    """
    q = np.array(start, dtype=float)
    q[:, choice.jumping] = target[:, choice.jumping]  # orientations and planes are not travelled
    way = target[:, choice.straight] - q[:, choice.straight]
    sizes = constants(robot).sizes
    length = np.linalg.norm(way / sizes[choice.straight_coordinates], axis=1)
    share, step = np.where(length > 0, 0.0, 1.0), np.full(len(q), FIRST)
    for _ in range(STEPS):
        live = np.flatnonzero((share < 1) & (step >= SMALLEST))
        if not live.size:
            break
        taken = np.minimum(step[live] / length[live], 1 - share[live])
        along = np.zeros((len(live), robot.nv))
        along[:, choice.straight_coordinates] = way[live] * taken[:, None]
        held = transmission(robot, choice, q[live])
        along = (held.gamma @ along[:, choice.independent, None])[..., 0]
        guess = moved(robot, q[live], along)
        trial, size = close(robot, guess, choice.dependent)
        correction = np.linalg.norm(trial - guess, axis=1) / np.linalg.norm(along / sizes, axis=1)
        good = (size < CLOSED) & (correction < CORRECTION) & (held.clearance > clearance)
        q[live[good]] = trial[good]
        share[live[good]] += taken[good]
        share[share > 1 - 1e-12] = 1.0
        step[live] = np.where(good, np.minimum(2 * step[live], LARGEST), step[live] / 2)
    arrived = share == 1
    q[np.ix_(arrived, choice.straight)] = target[np.ix_(arrived, choice.straight)]
    return q, share
