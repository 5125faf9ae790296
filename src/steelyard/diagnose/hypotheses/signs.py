"""Gravity, signs and units that no physical robot can explain: wrong gravity, flipped signs, degrees.

Least squares swallows most of them with negative masses, so they are compared by the physically consistent fit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from steelyard.diagnose.case import Case
from steelyard.diagnose.hypothesis import Mistake, Trial

TURNS = 2 * np.pi  # rad, which angles of a joint in degrees go beyond


def gravity(case: Case, _: Sequence[int]) -> Iterator[Trial]:
    """Gravity along other axes."""
    size = np.linalg.norm(case.robot.gravity)
    if size == 0:
        return
    nominal = case.robot.gravity
    for axis in (*np.eye(3), *-np.eye(3)):
        vector = size * axis
        if nominal @ vector > 0.9 * size**2:
            continue
        changed = case.undone("gravity", robot=replace(case.robot, gravity=vector))
        text = " ".join(f"{x:.4g}" for x in vector + 0.0)
        opposite = nominal @ vector < -0.9 * size**2
        what = "has the wrong sign" if opposite else "points along another axis than the robot is mounted"
        yield Trial(
            changed,
            f"Gravity {what}: the torques fit gravity ({text.replace(' ', ', ')}) m/s^2 and not "
            f"({', '.join(f'{x:.4g}' for x in nominal + 0.0)})",
            options=("--gravity", *text.split()),
        )


def torque_signs(case: Case, dofs: Sequence[int]) -> Iterator[Trial]:
    """Torques of all joints, or of one of some degrees, negated."""
    yield Trial(
        case.undone("torque_sign_all", factor=-case.factor),
        "Every torque has the opposite sign of the model's convention (as a load that the joint feels, perhaps)",
        options=("--scale", "tau:all=-1"),
    )
    for dof in dofs:
        name = case.robot.dof_names[dof]
        changed = case.undone("torque_sign", factor=_negated(case.factor, dof))
        yield Trial(
            changed,
            f"The torque of {name} has the wrong sign",
            options=("--scale", f"tau:{name}=-1"),
            joint=name,
        )


def position_signs(case: Case, dofs: Sequence[int]) -> Iterator[Trial]:
    """Positions of one of some degrees negated, without or with its torques."""
    places, regression = case.robot.scalar_positions, case.regression
    for dof in dofs:
        if dof not in places:
            continue
        name = case.robot.dof_names[dof]
        motion = {"direction": regression.direction[:, : case.robot.nv].copy()}
        for key, column in (("q", places[dof]), ("v", dof), ("a", dof), ("direction", dof)):
            motion.setdefault(key, getattr(regression, key).copy())
            motion[key][:, column] *= -1
        mirrored = case.undone("position_sign", **motion)
        yield Trial(
            mirrored,
            f"The position of {name} has the wrong sign",
            options=("--scale", f"q:{name}=-1"),
            joint=name,
        )
        yield Trial(
            replace(mirrored, factor=_negated(case.factor, dof), repairs=(*case.repairs, "joint_direction")),
            f"{name} turns the other way in the log than in the model: position and torque both have the wrong sign",
            options=("--scale", f"{name}=-1"),
            joint=name,
        )


def degrees(case: Case, _: Sequence[int]) -> Iterator[Trial]:
    """Angles in degrees."""
    turning = {joint.name for joint in case.robot.free_joints if joint.turns}
    places = {dof: at for dof, at in case.robot.scalar_positions.items() if case.robot.dof_names[dof] in turning}
    if not places or np.abs(case.regression.q[:, list(places.values())]).max() < TURNS:
        return
    columns = {"q": list(places.values()), "v": list(places), "a": list(places)}
    motion = {key: getattr(case.regression, key).copy() for key in columns}
    for key, where in columns.items():
        motion[key][:, where] = np.radians(motion[key][:, where])
    motion["direction"] = np.tanh(motion["v"] / case.regression.coulomb_width)
    yield Trial(
        case.undone("degrees", **motion),
        "Joint angles are in degrees",
        options=("--unit", "q=deg"),
    )


def _negated(factor, dof: int) -> np.ndarray:
    return np.where(np.arange(len(factor)) == dof, -factor, factor)


_GROSS = (degrees, gravity, torque_signs, position_signs)
MISTAKE = Mistake(trials=_GROSS, by_given_links=_GROSS)
