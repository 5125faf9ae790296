"""Stages on the equations: regressor against Pinocchio or MuJoCo, structural count against a numeric rank."""

from pathlib import Path

import numpy as np

import pinocchio_adapter as adapter
import steelyard as sy
from evidence.stages.outcome import GIVEN, Outcome, judged
from mujoco_models import inverse_forces, point_mass_columns, rigid_body_model
from pinocchio_trees import scaled_rank
from robots import random_state
from steelyard.dynamics.armature import armature_torque
from steelyard.identifiable import identifiability
from steelyard.model import force_from_mujoco, to_mujoco
from steelyard.model.mjcf import body_name

URDF_BOUND, MJCF_BOUND = 1e-10, 1e-9  # relative, of Pinocchio and of MuJoCo


def regressor(path: Path) -> Outcome:
    """`regressor` at random states, relative to its largest number, against Pinocchio's (URDF) or MuJoCo's forces."""
    robot = sy.load(path)
    state = random_state(robot, np.random.default_rng(0), (4,))
    Y = sy.regressor(robot, *state)
    if path.suffix == ".urdf":
        try:
            engine, bound, ours, theirs = "Pinocchio", URDF_BOUND, Y, _pinocchio(path, robot, state)
        except ValueError as error:
            return Outcome(GIVEN, reason=f"Pinocchio refuses the file as it is ({type(error).__name__})")
    else:
        engine, bound = "MuJoCo", MJCF_BOUND
        ours = Y @ robot.inertias.ravel() + armature_torque(robot, state[1].T, state[2].T).T
        m = rigid_body_model(path)
        moved = to_mujoco(m, robot, *state)
        theirs = force_from_mujoco(m, robot, moved[0], inverse_forces(m, *moved))
    difference = float(np.abs(ours - theirs).max() / max(np.abs(theirs).max(), 1e-300))
    size = f"{robot.nb} / {robot.nv}"
    reason = f"differs from {engine} by {difference:.2g}, more than {bound:g}"
    return judged(difference <= bound, reason, **{"bodies / freedoms": size, "regressor": f"{difference:.0e}"})


def structure(path: Path) -> Outcome:
    """The count of `identifiability`, to the letter of the file, against the rank of the other engine's regression."""
    robot = sy.load(path)
    count = identifiability(robot, tolerance=0.0).count
    state = random_state(robot, np.random.default_rng(1), (16 * robot.nb // robot.nv + 20,))
    if path.suffix == ".urdf":
        Y = _pinocchio(path, robot, state).reshape(-1, 10 * robot.nb)
    else:
        m = rigid_body_model(path)
        simple = np.flatnonzero(m.body_simple * m.body_dofnum)
        bodies = [robot.body_names.index(body_name(m, int(body))) for body in simple]
        ours = sy.regressor(robot, *state).reshape(-1, robot.nb, 10)[:, bodies]  # compared in the other stage
        ours = ours @ np.random.default_rng(3).normal(size=(10, 10))  # columns of one size, like the others
        theirs = point_mass_columns(m, *to_mujoco(m, robot, *state), np.random.default_rng(2))
        Y = np.hstack([theirs, ours.reshape(len(theirs), -1)])
    rank, _ = scaled_rank(Y)
    reason = f"{count} combinations, numeric rank {rank}"
    return judged(count == rank, reason, count=str(count), rank=str(rank))


def _pinocchio(path: Path, robot, state) -> np.ndarray:
    """Pinocchio's regressors (n, nv, 10 nb) at states, in our order."""
    model = adapter.load(path, False)
    data = model.createData()
    return np.stack([adapter.regressor(model, data, robot, *each) for each in zip(*state, strict=True)])
