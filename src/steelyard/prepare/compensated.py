"""Torques that lack gravity, as controllers report them that take their own gravity model off: it is added again."""

import numpy as np
from numpy.typing import NDArray

from steelyard.dynamics import inverse_dynamics
from steelyard.errors import OptionError, choices
from steelyard.log import Log, clipped_sides
from steelyard.model import Robot, load


def with_gravity(robot: Robot, log: Log) -> Log:
    """The log with the gravity torque of the given model added, which its controller had taken off. It remembers which
    torques were clipped before. Raises OptionError for a robot without gravity."""
    return _added(log, _gravity(robot, log.q, "the given model"), "the given model")


def with_gravity_of(path: str, robot: Robot | None, log: Log) -> Log:
    """The same of the model file that the controller uses, in the gravity of the given robot, or the file's own.

    Joints are matched by name; the file may name others in the same folders as the robot. Raises ModelError for a file
    that cannot be read, OptionError for a model with other joints, or whose positions are not one number a joint.
    """
    known = {} if robot is None else {"gravity": robot.gravity, "folders": robot.source.folders if robot.source else ()}
    used = load(path, **known)
    names = log.labels if robot is None else robot.dof_names
    if used.loops or used.nq != used.nv or log.nq != log.nv:
        raise OptionError(
            f"--gravity-model {path}: the gravity of robots with closed loops, ball joints or a free base cannot be "
            "added. Record torques before the controller takes it off."
        )
    missing, unknown = (sorted(set(a) - set(b)) for a, b in ((names, used.dof_names), (used.dof_names, names)))
    if missing or unknown:
        wrong = [f"lacks {choices(missing)}"] * bool(missing) + [f"has {choices(unknown)} besides"] * bool(unknown)
        raise OptionError(
            f"--gravity-model {path} {' and '.join(wrong)}: its joints must be those of the log, {choices(names)}. In "
            "a copy of the file, give them these names, and fix joints that the log does not have."
        )
    there = [used.dof_names.index(name) for name in names]
    gravity = _gravity(used, log.q[:, np.argsort(there)], path)
    return _added(log, gravity[:, there], path)


def _gravity(robot: Robot, q, whose: str) -> NDArray[np.float64]:
    """(n, nv) torque that holds a robot at rest in q (n, nq)."""
    if not np.any(robot.gravity):
        raise OptionError(
            f"The gravity torque of {whose} is to be added, but gravity is zero: leave out one of the two."
        )
    rest = np.zeros((len(q), robot.nv))
    return inverse_dynamics(robot, q, rest, rest)


def _added(log: Log, gravity, whose: str) -> Log:
    (tau,) = log.require("tau")
    clipped = clipped_sides(log)
    return log.replace(tau=tau + gravity, clipped=clipped).noted(f"tau: gravity torque of {whose} added")
