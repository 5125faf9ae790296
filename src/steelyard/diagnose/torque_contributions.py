"""What each effect adds to the torque of each joint (paper B, Figure 5)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.cards import Card
from steelyard.dynamics import inverse_dynamics, regressor
from steelyard.dynamics.closed_loop.projection import on_independent_joints, with_motors
from steelyard.dynamics.closed_loop.states import State, tree_state_of
from steelyard.dynamics.effects import effect_column, extra_torque, unstated_torque
from steelyard.fit import Estimate
from steelyard.identifiable.loop_completion import on_tree
from steelyard.information.regression_rows import direction_of
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.terms import COULOMB_WIDTH, TERMS, ParameterLayout, stated_values

CHUNK = 2048
_INERTIA_FIRST = sorted(TERMS.values(), key=lambda term: not term.inertial)
EFFECTS = ("gravity", "motion", "rotors", *(term.name for term in _INERTIA_FIRST), "extras")


@dataclass(frozen=True, eq=False, repr=False)
class Contributions(Card):
    """Parts of predicted torques, N m or N; they add up to the prediction.

    links: (n, nv, nb) of each body, gravity and motion together; gravity: (n, nv) of all bodies at rest in each pose.
    effects: rotors, each of `TERMS`, extras (couplings, springs, columns of the user), each (n, nv).
    """

    t: np.ndarray
    joint_names: tuple[str, ...]
    body_names: tuple[str, ...]
    links: np.ndarray
    gravity: np.ndarray
    effects: dict[str, np.ndarray]

    @property
    def total(self) -> np.ndarray:
        """(n, nv) predicted torque."""
        return self.links.sum(axis=2) + sum(self.effects.values())

    @cached_property
    def rms(self) -> dict[str, np.ndarray]:
        """RMS (nv,) of every effect, in the order of `EFFECTS`; motion: what the bodies need beyond gravity."""
        parts = {"gravity": self.gravity, "motion": self.links.sum(axis=2) - self.gravity, **self.effects}
        return {name: np.sqrt(np.mean(parts[name] ** 2, axis=0)) for name in EFFECTS}

    @property
    def shares(self) -> dict[str, np.ndarray]:
        """RMS of every effect over the sum of all effects' RMS, (nv,); zero where a joint has no torque."""
        whole = sum(self.rms.values())
        return {name: np.divide(rms, whole, out=np.zeros_like(rms), where=whole > 0) for name, rms in self.rms.items()}


def contributions(model: Estimate | Robot, log: Log, *, rotors: bool = False) -> Contributions:
    """Split the torques that a model predicts for the motion of a log (with v and a).

    The parts sum to `validate(model, log, rotors=rotors).predicted`. Raises LogError when the log lacks v or a.
    """
    robot = model.require_robot() if isinstance(model, Estimate) else model
    log.require("q", "v", "a")
    if robot.loops:
        robot = with_motors(robot)
        log = on_tree(robot, log)
    q, v, a = log.require("q", "v", "a")
    width = model.coulomb_width if isinstance(model, Estimate) else COULOMB_WIDTH
    layout = model.layout if isinstance(model, Estimate) else ParameterLayout(())
    rotors = bool(layout.rotor_names) if isinstance(model, Estimate) else rotors
    direction = direction_of(log, width, layout)
    own = direction[:, : robot.nv]
    effects = {name: np.zeros_like(v) for name in (*TERMS, "extras")}
    for term, value in stated_values(robot).items():
        effects[term] = value * effect_column(term, v, a, direction=own)
    if isinstance(model, Estimate):
        effects |= unstated_torque(layout, model.friction, v, a, direction=own, coulomb_width=width)
        if layout.extras:
            options = {"direction": direction, "coulomb_width": width}
            effects["extras"] = extra_torque(robot, layout, model.extras, q, v, a, **options)
    chunks = [slice(start, start + CHUNK) for start in range(0, len(log), CHUNK)]
    effects["rotors"] = np.concatenate([_rotors(robot, q[s], v[s], a[s]) for s in chunks]) if rotors else 0 * v
    rest = robot.with_joint_properties(armature=np.zeros(robot.nv))
    found = Contributions(
        t=log.t,
        joint_names=robot.dof_names,
        body_names=robot.body_names,
        links=np.concatenate([_by_link(robot, q[s], v[s], a[s]) for s in chunks]),
        gravity=np.concatenate([inverse_dynamics(rest, q[s], 0 * v[s], 0 * a[s]) for s in chunks]),
        effects=effects,
    )
    return found if not robot.loops else _felt(found, tree_state_of(robot, q, v, a))


def _felt(found: Contributions, at: State) -> Contributions:
    """What all joints of a robot with closed loops need, as its independent joints feel it."""
    return Contributions(
        t=found.t,
        joint_names=at.choice.names,
        body_names=found.body_names,
        links=on_independent_joints(at, found.links),
        gravity=on_independent_joints(at, found.gravity[..., None])[..., 0],
        effects={name: on_independent_joints(at, each[..., None])[..., 0] for name, each in found.effects.items()},
    )


def _rotors(robot: Robot, q, v, a) -> np.ndarray:
    return inverse_dynamics(robot, q, v, a, rotors=True) - inverse_dynamics(robot, q, v, a)


def _by_link(robot: Robot, q, v, a) -> np.ndarray:
    Y = regressor(robot, q, v, a)
    return np.einsum("njbk,bk->njb", Y.reshape(*Y.shape[:2], robot.nb, 10), robot.inertias)
