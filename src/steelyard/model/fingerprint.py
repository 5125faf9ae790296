"""Fingerprint of what a regression depends on: kinematics and gravity, not masses or friction."""

import hashlib

import numpy as np

from steelyard.model.robot import Robot

DIGITS = 12  # kept of each number, so that two readers of one file agree


def fingerprint(robot: Robot, *, rotors: bool = False) -> str:
    """Hexadecimal SHA-256 of joints, parents, bodies and gravity of a robot, and of where its rotors sit."""
    digest = hashlib.sha256()
    for joint in robot.joints:
        digest.update(repr((joint.name, joint.kind, joint.mimics)).encode())
        for numbers in (joint.subspace, joint.rotation, joint.position, joint.ratio, joint.offset):
            digest.update((np.round(np.asarray(numbers, dtype=float), DIGITS) + 0.0).tobytes())
    digest.update(repr((robot.parents.tolist(), robot.body_names, robot.body_joints.tolist())).encode())
    for loop in robot.loops:
        digest.update(repr((loop.kind, loop.bodies)).encode())
        for numbers in (loop.rotations, loop.positions):
            digest.update((np.round(numbers, DIGITS) + 0.0).tobytes())
    if robot.loops:
        digest.update(repr(robot.actuated).encode())
    digest.update((np.round(robot.gravity.astype(float), DIGITS) + 0.0).tobytes())
    for rotor in robot.rotors if rotors else ():
        digest.update(repr((rotor.joint, rotor.carrier, rotor.symmetric)).encode())
        for numbers in (rotor.gear_ratio, rotor.axis, rotor.rotation, rotor.position):
            digest.update((np.round(np.asarray(numbers, dtype=float), DIGITS) + 0.0).tobytes())
    return digest.hexdigest()
