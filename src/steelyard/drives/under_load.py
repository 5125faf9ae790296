"""Friction that grows with load, in MuJoCo, whose friction loss is a number a joint: that number follows the motion.

Gears rub in proportion to the torques that they carry (load-dependent friction; Rhoban's BAM, 2024): to that of the
motor, and to that of gravity and speeds. Before each step, or each few milliseconds, friction loss is that of the
present state; MuJoCo's constraint solver decides, as ever, whether a joint sticks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from steelyard.drives.arrays import DriveArrays
from steelyard.dynamics import inverse_dynamics
from steelyard.model import Robot

UPDATE = 5e-3  # s, after which friction follows the state
_CHANGED = "dof_damping dof_frictionloss dof_armature body_mass body_ipos body_inertia body_iquat"
_FOLLOWING = "actuator_acc0 dof_invweight0 dof_M0 body_subtreemass body_invweight0"
COPIED = ("actuator_gainprm", "actuator_biasprm", "actuator_forcerange", *_CHANGED.split(), *_FOLLOWING.split())


@dataclass(frozen=True, eq=False)
class Driven:
    """A robot with drives in MuJoCo."""

    model: Any  # the MjModel
    drives: DriveArrays  # of its joints
    robot: Robot  # with the bodies of these
    on: np.ndarray  # (nv,) joints whose drive is on


class Stepped:
    """Runs of models whose friction follows the state; it keeps a MjModel for each run, as each has a friction of its
    own."""

    def __init__(self, simulation):
        self.simulation, self.models = simulation, []

    def states(self, driven: Sequence[Driven], start, controls) -> np.ndarray:
        """MuJoCo's states (k, s, ...) after each step. start: (k, ...); controls: (k, s, nv) of the joints."""
        own, told = self.simulation, self.simulation.ordered(controls)
        models, every = self._models(driven), max(1, round(UPDATE / own.step))
        losses, values = [model.dof_frictionloss for model in models], np.zeros((len(models), own.model.nv))
        friction = friction_of(driven)
        found = []
        for first in range(0, controls.shape[1], every):
            q, v = own.positions(start)
            values[:, own.dofs] = friction(q, v, controls[:, first])[:, own.driven_dofs]
            for loss, value in zip(losses, values, strict=True):
                loss[:] = value
            states = own.rolled(models, start, told[:, first : first + every])
            found.append(states)
            start = states[:, -1]
        return np.concatenate(found, axis=1)

    def _models(self, driven: Sequence[Driven]) -> list:
        import copy

        while len(self.models) < len(driven):
            self.models.append(copy.copy(self.simulation.model))
        models = self.models[: len(driven)]
        kept = {each: [(name, getattr(each.model, name)) for name in COPIED] for each in dict.fromkeys(driven)}
        for model, each in zip(models, driven, strict=True):
            for name, values in kept[each]:
                getattr(model, name)[:] = values
        return models


def friction_of(driven: Sequence[Driven]) -> Callable:
    """Friction loss (k, nv) of k robots, one state each: of positions, speeds and commands (k, nv)."""
    first = driven[0].drives
    names = [each.name for each in fields(first) if np.shape(getattr(first, each.name)) == first.gain.shape]
    drives = first.changed(**{name: np.stack([getattr(each.drives, name) for each in driven]) for name in names})
    on, bodies = np.stack([each.on for each in driven]), {}
    for row, each in enumerate(driven):
        bodies.setdefault(each.robot.inertias.tobytes(), []).append(row)

    def friction(q, v, command) -> np.ndarray:
        external, still = np.empty_like(v), np.zeros_like(v)
        for rows in bodies.values():
            external[rows] = inverse_dynamics(driven[rows[0]].robot, q[rows], v[rows], still[rows])
        motor = on * drives.pushed(command, q, v)
        grown = drives.load_friction_motor * np.abs(motor) + drives.load_friction_external * np.abs(external)
        return drives.frictionloss + grown

    return friction
