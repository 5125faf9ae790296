"""Whether two robots are the same, and if not, in words, where they first differ."""

import hashlib

import numpy as np

from steelyard.model.loops import Loop
from steelyard.model.robot import Robot
from steelyard.model.rotor import Rotor
from steelyard.numbers import NEGLIGIBLE

PROPERTIES = ("damping", "frictionloss", "armature")


def relative_difference(theta, other) -> float:
    """Largest difference of two inertial parameter vectors (10,), each block measured by the size of the body.

    Masses are compared with the mass, first moments with `sqrt(m tr(Sigma))`, moments of inertia with `tr(Sigma)`, so a
    product of inertia that is zero but for rounding does not count as a difference.
    """
    both = np.abs(np.stack([theta, other]))
    blocks = (both[:, :1].max(), both[:, 1:4].max(), both[:, 4:].max())
    mass, second = blocks[0], 0.5 * both[:, [4, 6, 9]].sum(axis=1).max()
    scale = np.repeat([mass, max(blocks[1], np.sqrt(mass * second)), max(blocks[2], second)], (1, 3, 6))
    difference = np.abs(np.asarray(theta) - other)
    return float(np.max(difference / np.where(scale > 0, scale, 1.0)))


def structure_difference(robot: Robot, other: Robot, tolerance: float = NEGLIGIBLE) -> str | None:
    """First difference of joints, bodies and kinematics in words; None when there is none. tolerance: relative, and m
    and rad."""
    for what, found, expected in (
        ("joints", [j.name for j in other.joints], [j.name for j in robot.joints]),
        ("bodies", list(other.body_names), list(robot.body_names)),
        ("parents of the joints", other.parents.tolist(), robot.parents.tolist()),
        ("joints of the bodies", other.body_joints.tolist(), robot.body_joints.tolist()),
    ):
        if found != expected:
            at = next((i for i, (a, b) in enumerate(zip(found, expected, strict=False)) if a != b), None)
            detail = (
                f"{len(found)} against {len(expected)}" if at is None else f"{found[at]!r} against {expected[at]!r}"
            )
            return f"the {what} differ: {detail}"
    for joint, expected in zip(other.joints, robot.joints, strict=True):
        if (joint.kind, joint.mimics) != (expected.kind, expected.mimics):
            return (
                f"joint '{joint.name}' is {joint.kind} (mimics {joint.mimics}), not {expected.kind} ({expected.mimics})"
            )
        for field in ("subspace", "rotation", "position", "ratio", "offset"):
            if not np.allclose(getattr(joint, field), getattr(expected, field), rtol=tolerance, atol=tolerance):
                return f"the {field} of joint '{joint.name}' differs"
    return None


def value_difference(robot: Robot, other: Robot, tolerance: float = NEGLIGIBLE) -> str | None:
    """First difference of inertias, of the links' own inertials (where both have links), of joint properties, of drives
    and of contacts with the floor; tolerance: relative."""
    for name, expected, theta in zip(robot.body_names, robot.inertias, other.inertias, strict=True):
        if (error := relative_difference(theta, expected)) > tolerance:
            return f"the inertia of body '{name}' differs by {error:.3g} relative ({_masses(theta, expected)})"
    for expected, link in zip(robot.links, other.links, strict=False):
        if (error := relative_difference(link.theta, expected.theta)) > tolerance:
            masses = _masses(link.theta, expected.theta)
            return f"the inertial of link '{link.name}' differs by {error:.3g} relative ({masses})"
    for field in PROPERTIES:
        found, expected = getattr(other, field), getattr(robot, field)
        if not np.allclose(found, expected, rtol=tolerance, atol=0.0):
            at = int(np.argmax(np.abs(found - expected)))
            return f"the {field} of '{robot.dof_names[at]}' is {found[at]:.6g}, not {expected[at]:.6g}"
    for name in dict.fromkeys([*robot.drives, *other.drives]):
        found, expected = other.drives.get(name), robot.drives.get(name)
        if found is None or expected is None:
            return f"joint '{name}' has {'no' if found is None else 'a'} drive"
        for key in found.differing(expected, tolerance):
            return f"{key} of the drive of '{name}' is {getattr(found, key)}, not {getattr(expected, key)}"
    if robot.floor is not None and robot.floor != other.floor:
        return f"contacts with the floor have {other.floor}, not {robot.floor}"
    return None


def whole_difference(robot: Robot, other: Robot, tolerance: float = NEGLIGIBLE) -> str | None:
    """First difference of two robots of the same structure beyond it and `value_difference`: gravity, places, loops,
    rotors and limits, relative, m and rad. The other may have more links and sites, which are of one kind here."""
    if not _near(robot.gravity, other.gravity, tolerance):
        return f"gravity is {other.gravity.tolist()}, not {robot.gravity.tolist()}"
    for name, frame in robot.frames.items():
        found = other.frames.get(name)
        if found is None:
            return f"'{name}' is missing"
        same = all(_near(getattr(found, key), getattr(frame, key), tolerance) for key in ("rotation", "position"))
        if found.body != frame.body or not same:
            return f"the place of '{name}' differs"
    loops = {loop.name: loop for loop in other.loops}
    for loop in robot.loops:
        if loop.name not in loops or loop_difference(loop, loops[loop.name], tolerance):
            return f"loop '{loop.name}' is missing or another"
    if len(loops) != len(robot.loops):
        return f"it has {len(loops)} loops, not {len(robot.loops)}"
    if len(robot.rotors) != len(other.rotors) or not all(map(_alike, robot.rotors, other.rotors)):
        return "its rotors differ"
    for joint, found in zip(robot.joints, other.joints, strict=True):
        for key in ("lower", "upper", "velocity_limit", "effort_limit"):
            if not _near(getattr(found, key), getattr(joint, key), tolerance):
                return f"{key} of joint '{joint.name}' is {getattr(found, key)}, not {getattr(joint, key)}"
    return None


def loop_difference(loop: Loop, other: Loop, tolerance: float = NEGLIGIBLE) -> bool:
    """Whether two loops are others: of connections the points count alone, of welds one orientation in the other."""
    if (loop.kind, loop.bodies) != (other.kind, other.bodies) or not _near(loop.positions, other.positions, tolerance):
        return True
    if loop.kind == "weld":
        return not _near(loop.rotations[0] @ loop.rotations[1].T, other.rotations[0] @ other.rotations[1].T, tolerance)
    return loop.kind != "connect" and not _near(loop.rotations, other.rotations, tolerance)


def _alike(rotor: Rotor, other: Rotor) -> bool:
    numbers = ("axis", "rotation", "position", "theta")
    return (rotor.gears, rotor.carrier, rotor.symmetric) == (other.gears, other.carrier, other.symmetric) and all(
        _near(getattr(rotor, key), getattr(other, key)) for key in numbers
    )


def _near(values, others, tolerance: float = NEGLIGIBLE) -> bool:
    return np.allclose(values, others, rtol=tolerance, atol=tolerance)


def _masses(theta, expected) -> str:
    return f"mass {theta[0]:.6g} kg against {expected[0]:.6g} kg"


def fingerprint(robot: Robot, *, rotors: bool = False) -> str:
    """Hexadecimal SHA-256 of joints, parents, bodies and gravity of a robot, of place and gear of its rotors on demand;
    masses do not count."""
    digest = hashlib.sha256()
    for joint in robot.joints:
        digest.update(repr((joint.name, joint.kind, joint.mimics)).encode())
        digest.update(_kept(joint.subspace, joint.rotation, joint.position, joint.ratio, joint.offset))
    digest.update(repr((robot.parents.tolist(), robot.body_names, robot.body_joints.tolist())).encode())
    for loop in robot.loops:
        digest.update(repr((loop.kind, loop.bodies)).encode())
        digest.update(_kept(loop.rotations, loop.positions))
    if robot.loops:
        digest.update(repr(robot.actuated).encode())
    digest.update(_kept(robot.gravity))
    for rotor in robot.rotors if rotors else ():
        joints, ratios = zip(*rotor.gears, strict=True)
        digest.update(repr((joints, rotor.carrier, rotor.symmetric)).encode())
        digest.update(_kept(ratios, rotor.axis, rotor.rotation, rotor.position))
    return digest.hexdigest()


def _kept(*numbers) -> bytes:
    """Twelve digits behind the point of each number, so that two readers of one file agree."""
    return b"".join((np.round(np.asarray(each, dtype=float), 12) + 0.0).tobytes() for each in numbers)
