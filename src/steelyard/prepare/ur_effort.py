"""What `effort` of a Universal Robots arm is, which its drivers changed twice: by its share of gravity.

Motor currents, A, in drivers up to PolyScope 5.22 and 10.10; from then on `actual_current_as_torque`, without gravity
in some versions (github.com/UniversalRobots/Universal_Robots_ROS2_Driver, #1551).
"""

import numpy as np

from steelyard.dynamics import inverse_dynamics
from steelyard.log import Log
from steelyard.model import Robot

JOINTS = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
LIFTING = ("shoulder_lift", "elbow")  # that carry weight in all mountings on a floor
PUBLISHED = "tau: read from"  # how readers start the note on torques whose name is not ours
SEEN = 0.2  # N m of change of gravity, from which on it shows
CORRELATED = 0.5  # with gravity, beside friction, from which on a torque has it
TORQUE = 0.5, 2.0  # times the gravity torque of the nominal model


def effort_note(robot: Robot, log: Log) -> tuple[str, ...]:
    """The note on what `effort` means in a log of an UR arm; none for other robots, and where it cannot be told."""
    ends = [next((joint for joint in JOINTS if joint in name), "") for name in robot.dof_names]
    published = any(note.startswith(PUBLISHED) for note in log.notes)
    if tuple(ends) != JOINTS or log.tau is None or not published or log.nq != robot.nq or not np.any(robot.gravity):
        return ()
    rest = np.zeros((len(log), robot.nv))
    gravity, v = inverse_dynamics(robot, log.q, rest, rest), np.gradient(log.q, log.t, axis=0)
    found = [_share(log.tau[:, j], gravity[:, j], v[:, j]) for j in map(JOINTS.index, LIFTING)]
    found = [each for each in found if each is not None]
    if not found:
        return ()
    correlation, size = np.median(found, axis=0)
    if correlation < CORRELATED:
        meaning = "torques without gravity, as drivers from PolyScope 5.23 or 10.11 on may publish it"
    elif TORQUE[0] < size < TORQUE[1]:
        meaning = "joint torques, with gravity"
    else:
        meaning = "no torques in N m, but rather motor currents, as drivers before PolyScope 5.23 or 10.11 publish them"
    return (f"effort of a UR arm: {meaning}; gravity is in it {size:.2g} times, with correlation {correlation:.2g}",)


def _share(tau, gravity, v) -> tuple[float, float] | None:
    """Correlation of a torque (n,) with gravity beside friction, and gravity's factor in it."""
    friction = np.stack([np.ones_like(v), v, np.tanh(v / 0.05)], axis=1)
    own, weight = (x - friction @ np.linalg.lstsq(friction, x, rcond=None)[0] for x in (tau, gravity))
    if np.std(weight) < SEEN or not np.any(own):
        return None
    return float(own @ weight / np.sqrt((own @ own) * (weight @ weight))), float(own @ weight / (weight @ weight))
