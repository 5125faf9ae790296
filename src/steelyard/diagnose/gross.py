"""Mistakes that no physical robot can explain: wrong gravity, flipped signs, degrees, joints in another order.

Least squares swallows most of them with negative masses, so hypotheses are compared by the physically consistent fit.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from steelyard.diagnose import compensated, order, spring
from steelyard.diagnose.case import Case
from steelyard.diagnose.hypothesis import Hypothesis
from steelyard.diagnose.trial import Trial, fitted, trial

MOST_JOINTS = 8  # the worst ones, whose signs are tried
LEAST = 0.3  # nats a sample; less is no gross mistake
TIE = 0.1  # share of the best gain within which two hypotheses explain the data equally well
TURNS = 2 * np.pi  # rad, which angles of a joint in degrees go beyond


def hypotheses(case: Case) -> list[Hypothesis]:
    """Hypotheses that win most, simple ones first, for a case whose physical fit is poor.

    Physical fits are made in the order of what each can win, until none that is left could come near the best.
    """
    trials = list(_trials(case))
    best, tried = LEAST, {}
    for place in sorted(range(len(trials)), key=lambda place: -trials[place].most):
        if trials[place].most < (1 - TIE) * best:
            break
        tried[place] = fitted(case, trials[place])
        best = max(best, tried[place].gain)
    return [tried[place] for place in sorted(tried) if tried[place].gain > (1 - TIE) * best]


def _trials(case: Case) -> Iterator[Trial]:
    yield from _degrees(case)
    yield from _gravity(case)
    yield from _torque_signs(case)
    yield from _position_signs(case)
    yield from compensated.trials(case)
    yield from order.trials(case, _worst(case))
    yield from spring.trials(case, _worst(case))


def _gravity(case: Case) -> Iterator[Trial]:
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
        yield trial(
            case,
            changed,
            f"Gravity {what}: the torques fit gravity ({text.replace(' ', ', ')}) m/s^2 and not "
            f"({', '.join(f'{x:.4g}' for x in given + 0.0)})",
            "Correct the pose of the robot's base, or gravity.",
            ("--gravity", *text.split()),
        )


def _torque_signs(case: Case) -> Iterator[Trial]:
    yield trial(
        case,
        case.undone("torque_sign_all", factor=-case.factor),
        "Every torque has the opposite sign of the model's convention (as a load that the joint feels, perhaps)",
        "Negate tau in the log.",
        ("--scale", "tau:all=-1"),
    )
    for dof in _worst(case):
        name = case.robot.dof_names[dof]
        changed = case.undone("torque_sign", factor=_negated(case.factor, dof))
        yield trial(
            case,
            changed,
            f"The torque of {name} has the wrong sign",
            f"Negate tau of {name} in the log.",
            ("--scale", f"tau:{name}=-1"),
            name,
        )


def _position_signs(case: Case) -> Iterator[Trial]:
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
        yield trial(
            case,
            turned,
            f"The position of {name} has the wrong sign",
            f"Negate q (and v, a) of {name} in the log, or turn the joint's axis around in the model.",
            ("--scale", f"q:{name}=-1"),
            name,
        )
        yield trial(
            case,
            replace(turned, factor=_negated(case.factor, dof), repairs=(*case.repairs, "joint_direction")),
            f"{name} turns the other way in the log than in the model: position and torque both have the wrong sign",
            f"Negate q (and v, a) and tau of {name} in the log, or turn the joint's axis around in the model.",
            ("--scale", f"{name}=-1"),
            name,
        )


def _degrees(case: Case) -> Iterator[Trial]:
    turning = {joint.name for joint in case.robot.free_joints if joint.kind in ("revolute", "continuous")}
    places = {dof: at for dof, at in case.robot.scalar_positions.items() if case.robot.dof_names[dof] in turning}
    if not places or np.abs(case.regression.q[:, list(places.values())]).max() < TURNS:
        return
    columns = {"q": list(places.values()), "v": list(places), "a": list(places)}
    motion = {key: getattr(case.regression, key).copy() for key in columns}
    for key, where in columns.items():
        motion[key][:, where] = np.radians(motion[key][:, where])
    motion["direction"] = np.tanh(motion["v"] / case.regression.coulomb_width)
    yield trial(
        case,
        case.undone("degrees", **motion),
        "Joint angles are in degrees",
        'Convert q (and v) to radians, or read the log with units={"q": "deg"}.',
        ("--unit", "q=deg"),
    )


def _worst(case: Case) -> list[int]:
    """Driven degrees with the largest share of unexplained torque."""
    dofs = np.array(case.dofs, dtype=int)
    return dofs[np.argsort(-case.relative[dofs])][:MOST_JOINTS].tolist()


def _negated(factor, dof: int) -> np.ndarray:
    return np.where(np.arange(len(factor)) == dof, -factor, factor)
