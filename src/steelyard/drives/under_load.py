"""Friction that grows with load, in MuJoCo, whose friction loss is a number a joint: that number follows the motion.

Gears rub in proportion to the torques that they carry (load-dependent friction; Rhoban's BAM, 2024): to that of the
motor, and to that of gravity and speeds. Before each step, or each few milliseconds, friction loss is that of the
present state; MuJoCo's constraint solver decides, as ever, whether a joint sticks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
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
    """A robot with drives in MuJoCo.

    model: the MjModel. drives: of its joints. robot: with the bodies of these. on: (nv,) joints whose drive is on.
    """

    model: Any
    drives: DriveArrays
    robot: Robot
    on: np.ndarray

    def friction(self, q, v, command) -> np.ndarray:
        """Friction loss (k, nv) in states: positions, speeds and commands (k, nv)."""
        own = self.drives
        motor = np.abs(own.pushed(command, q, v)) * self.on
        external = np.abs(inverse_dynamics(self.robot, q, v, np.zeros_like(v)))
        return own.frictionloss + own.load_friction_motor * motor + own.load_friction_external * external


class Stepped:
    """Runs of models whose friction follows the state; it keeps a MjModel for each run, as each has a friction of its
    own."""

    def __init__(self, simulation):
        self.simulation, self.models = simulation, []

    def states(self, driven: Sequence[Driven], start, controls) -> np.ndarray:
        """MuJoCo's states (k, s, ...) after each step. start: (k, ...); controls: (k, s, nv) of the joints."""
        own, told = self.simulation, self.simulation.ordered(controls)
        models, every = self._models(driven), max(1, round(UPDATE / own.step))
        groups = _runs(driven)
        found = []
        for first in range(0, controls.shape[1], every):
            q, v = own.positions(start)
            for each, rows in groups:
                friction = each.friction(q[rows], v[rows], controls[rows, first])
                for place, values in zip(range(rows.start, rows.stop), friction, strict=True):
                    models[place].dof_frictionloss[own.dofs] = values[own.driven_dofs]
            states = own.rolled(models, start, told[:, first : first + every])
            found.append(states)
            start = states[:, -1]
        return np.concatenate(found, axis=1)

    def _models(self, driven: Sequence[Driven]) -> list:
        import copy

        while len(self.models) < len(driven):
            self.models.append(copy.copy(self.simulation.model))
        models = self.models[: len(driven)]
        for each, rows in _runs(driven):
            fields = [(name, getattr(each.model, name)) for name in COPIED]
            for model in models[rows]:
                for name, values in fields:
                    getattr(model, name)[:] = values
        return models


def _runs(driven: Sequence[Driven]) -> list[tuple[Driven, slice]]:
    """Each of them once, and the rows that have it, one after the other."""
    edges = [0, *(k for k in range(1, len(driven)) if driven[k] is not driven[k - 1]), len(driven)]
    return [(driven[a], slice(a, b)) for a, b in pairwise(edges)]
