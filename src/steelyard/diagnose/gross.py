"""Mistakes that no physical robot can explain: wrong gravity, flipped signs, degrees.

Least squares swallows most of them with negative masses, so hypotheses are compared by the physically consistent fit.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from steelyard.diagnose.case import Case, gain
from steelyard.diagnose.finding import Fault, fault
from steelyard.diagnose.hypothesis import Hypothesis

MOST_JOINTS = 8  # the worst ones, whose signs are tried
LEAST = 0.3  # nats a sample; less is no gross mistake
TURNS = 2 * np.pi  # rad, which angles of a joint in degrees go beyond


def hypotheses(case: Case) -> Iterator[Hypothesis]:
    """Everything worth trying on a case whose physical fit is poor."""
    yield from _degrees(case)
    yield from _gravity(case)
    yield from _torque_signs(case)
    yield from _position_signs(case)


def _tried(case: Case, changed: Case, found: str, remedy: str, joint: str | None = None) -> Iterator[Hypothesis]:
    """The hypothesis, unless even a fit free of physics, which costs next to nothing, would win too little with it."""
    if gain(case.physical_energy, changed.free_energy) < LEAST:
        return
    evidence = {"relative_error": case.relative_error, "relative_error_undone": changed.relative_error}
    told: Fault = fault(
        changed.repairs[-1],
        f"{found}: the physically consistent fit then leaves {changed.relative_error:.1%} of the torque unexplained "
        f"instead of {case.relative_error:.1%}.",
        remedy,
        joint=joint,
        **evidence,
    )
    yield Hypothesis(told, changed, gain(case.physical_energy, changed.physical_energy))


def _gravity(case: Case) -> Iterator[Hypothesis]:
    size = np.linalg.norm(case.robot.gravity)
    if size == 0:
        return
    given = case.robot.gravity
    for axis in (*np.eye(3), *-np.eye(3)):
        vector = size * axis
        if given @ vector > 0.9 * size**2:
            continue
        changed = case.undone("gravity", robot=replace(case.robot, gravity=vector))
        text = " ".join(f"{x:.4g}" for x in vector + 0.0)
        opposite = given @ vector < -0.9 * size**2
        what = "has the wrong sign" if opposite else "points along another axis than the robot is mounted"
        yield from _tried(
            case,
            changed,
            f"Gravity {what}: the torques fit gravity ({text.replace(' ', ', ')}) m/s^2 and not "
            f"({', '.join(f'{x:.4g}' for x in given + 0.0)})",
            f"Give --gravity {text}, or correct the pose of the robot's base.",
        )


def _torque_signs(case: Case) -> Iterator[Hypothesis]:
    yield from _tried(
        case,
        case.undone("torque_sign_all", factor=-case.factor),
        "Every torque has the opposite sign of the model's convention (as a load that the joint feels, perhaps)",
        "Negate tau in the log.",
    )
    for dof in _worst(case):
        name = case.robot.dof_names[dof]
        changed = case.undone("torque_sign", factor=_negated(case.factor, dof))
        yield from _tried(
            case, changed, f"The torque of {name} has the wrong sign", f"Negate tau of {name} in the log.", name
        )


def _position_signs(case: Case) -> Iterator[Hypothesis]:
    places, regression = case.robot.scalar_positions, case.regression
    for dof in _worst(case):
        if dof not in places:
            continue
        name = case.robot.dof_names[dof]
        motion = {"direction": regression.direction[:, : case.robot.nv].copy()}
        for key, column in (("q", places[dof]), ("v", dof), ("a", dof), ("direction", dof)):
            motion.setdefault(key, getattr(regression, key).copy())
            motion[key][:, column] *= -1
        turned = case.undone("position_sign", **motion)
        yield from _tried(
            case,
            turned,
            f"The position of {name} has the wrong sign",
            f"Negate q (and v, a) of {name} in the log, or turn the joint's axis around in the model.",
            name,
        )
        yield from _tried(
            case,
            replace(turned, factor=_negated(case.factor, dof), repairs=(*case.repairs, "joint_direction")),
            f"{name} turns the other way in the log than in the model: position and torque both have the wrong sign",
            f"Negate q (and v, a) and tau of {name} in the log, or turn the joint's axis around in the model.",
            name,
        )


def _degrees(case: Case) -> Iterator[Hypothesis]:
    turning = {joint.name for joint in case.robot.free_joints if joint.kind in ("revolute", "continuous")}
    places = {dof: at for dof, at in case.robot.scalar_positions.items() if case.robot.dof_names[dof] in turning}
    if not places or np.abs(case.regression.q[:, list(places.values())]).max() < TURNS:
        return
    columns = {"q": list(places.values()), "v": list(places), "a": list(places)}
    motion = {key: getattr(case.regression, key).copy() for key in columns}
    for key, where in columns.items():
        motion[key][:, where] = np.radians(motion[key][:, where])
    motion["direction"] = np.tanh(motion["v"] / case.regression.coulomb_width)
    yield from _tried(
        case,
        case.undone("degrees", **motion),
        "Joint angles are in degrees",
        'Convert q (and v) to radians, or read the log with units={"q": "deg"}.',
    )


def _worst(case: Case) -> list[int]:
    """Driven degrees with the largest share of unexplained torque."""
    dofs = np.array(case.dofs, dtype=int)
    return dofs[np.argsort(-case.relative[dofs])][:MOST_JOINTS].tolist()


def _negated(factor, dof: int) -> np.ndarray:
    return np.where(np.arange(len(factor)) == dof, -factor, factor)
