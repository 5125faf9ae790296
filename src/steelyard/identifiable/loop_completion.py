"""Logs of robots with closed loops, completed: passive joints follow from the independent ones."""

import numpy as np

from steelyard.dynamics.closed_loop.assembly import Choice, choose_independent
from steelyard.dynamics.closed_loop.states import accelerations, closed_configurations, require_regular, transmission
from steelyard.errors import LogError, LoopError, choices
from steelyard.log import Log
from steelyard.log.channels import DRIVE
from steelyard.log.checks import require_finite
from steelyard.model import Robot

BLOCK = 512  # samples that start from the one before them, together


def on_tree(robot: Robot, log: Log) -> Log:
    """The log with columns for all joints of the open tree of a robot with closed loops; torques of passive joints are
    zero. Motions without passive joints start near the robot's assembled pose and stay on its branch. log: q of all
    joints or of the independent ones only, and v, a, tau alike; what it has of passive joints is used for q alone, as a
    guess. Raises LogError for other columns, LoopError where the loops cannot follow."""
    choice = choose_independent(robot)
    wide, columns = _columns(robot, choice, log)
    q, v = log.require("q", "v")
    v = v[:, columns]
    for name, values in (("q", q), ("v", v)):
        require_finite(log, name, values)
    given = q if wide or log.nq != log.nv else q[:, columns]
    found = np.empty((len(log), robot.nq))
    full = {"v": np.empty((len(log), robot.nv))}
    if log.a is not None:
        full["a"] = np.empty((len(log), robot.nv))
    last = None
    for start in range(0, len(log), BLOCK):
        s = slice(start, start + BLOCK)
        try:
            here = closed_configurations(robot, choice, given[s], last)
            held = transmission(robot, choice, here)
            require_regular(robot, choice, held)
        except LoopError as error:
            stop = float(log.t[min(start + BLOCK, len(log)) - 1])
            raise type(error)(f"Log '{log.name}', {log.t[start]:.6g} to {stop:.6g} s: {error}") from error
        found[s], last = here, here[-1]
        full["v"][s] = (held.gamma @ v[s, :, None])[..., 0]
        if log.a is not None:
            full["a"][s] = accelerations(robot, choice, held, full["v"][s], log.a[s][:, columns])
    if log.tau is not None:
        full["tau"] = np.zeros((len(log), robot.nv))
        full["tau"][:, choice.independent] = log.tau[:, columns]
    for key in DRIVE:
        told = getattr(log, key)
        if told is not None and told.shape[1] == log.nv:
            full[key] = np.zeros((len(log), robot.nv))
            full[key][:, choice.independent] = told[:, columns]
    if log.direction is not None:
        full["direction"] = np.tanh(full["v"] / log.direction_width)
        full["direction"][:, choice.independent] = log.direction[:, columns]
    if log.weights is not None:
        full["weights"] = np.ones((len(log), robot.nv))
        full["weights"][:, choice.independent] = log.weights[:, columns]
    passive = [robot.dof_names[i] for i in choice.dependent]
    note = f"joints {choices(passive)} follow from the others through closed loops"
    notes = log.notes if note in log.notes else (*log.notes, note)
    return log.replace(q=found, **full, joint_names=robot.dof_names, notes=notes)


def _columns(robot: Robot, choice: Choice, log: Log):
    """Whether q has all joints, and the columns (ni,) of v, a and tau that belong to the independent coordinates."""
    names = log.joint_names or (robot.dof_names if log.nv == robot.nv else choice.names)
    missing = [name for name in choice.names if name not in names]
    if missing or len(names) != log.nv or log.nq not in (robot.nq, len(choice.positions)):
        raise LogError(
            f"Log '{log.name}' has {log.nq} positions and {log.nv} velocities of {choices(log.labels)}; robot "
            f"'{robot.name}' needs those of its independent joints, {choices(choice.names)}, or of all its joints, "
            f"{choices(robot.joint_names)}."
        )
    wide = log.nq == robot.nq and (log.nv != robot.nv or tuple(names) == robot.dof_names)
    return wide, [names.index(name) for name in choice.names]
