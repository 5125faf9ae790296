"""Mistakes that a user makes with a wrench log, each turning a right log into a wrong one."""

import numpy as np
from scipy.spatial.transform import Rotation

from evidence.draws.payload_jobs import felt


def _gravity(degrees):
    def wrong(log, rng, theta):
        axis = np.array([np.cos(a := rng.uniform(0, 2 * np.pi)), np.sin(a), 0.0])
        return log.replace(gravity=Rotation.from_rotvec(np.radians(degrees) * axis).as_matrix() @ log.gravity)

    return wrong


def _sensor(degrees):
    def wrong(log, rng, theta):
        R = Rotation.from_rotvec(np.radians(degrees) * np.eye(3)[rng.integers(3)]).as_matrix()
        return log.replace(wrench=np.concatenate([log.wrench[:, :3] @ R, log.wrench[:, 3:] @ R], axis=1))

    return wrong


def _moon(log, rng, theta):
    return log.replace(gravity=np.array([0, 0, -1.62]))


def _on_the_moon(log, rng, theta):
    moon = log.replace(gravity=np.array([0, 0, -1.62]))
    return log.replace(wrench=log.wrench - felt(log, theta) + felt(moon, theta))


def _contact(share):
    def wrong(log, rng, theta):
        count = max(3, round(share * len(log)))
        first = int(rng.integers(0, len(log) - count))
        push = rng.normal(size=3)
        push *= 0.5 * np.linalg.norm(log.wrench[:, :3], axis=1).mean() / np.linalg.norm(push)
        wrench = log.wrench.copy()
        wrench[first : first + count] += np.concatenate([push, np.cross(rng.uniform(-0.1, 0.1, 3), push)])
        return log.replace(wrench=wrench)

    return wrong


def _dropped(log, rng, theta):
    at = int(rng.uniform(0.65, 0.9) * len(log))
    wrench = log.wrench.copy()
    wrench[at:] -= felt(log, theta)[at:]
    return log.replace(wrench=wrench)


def _imu(log, rng, theta):
    if not log.moving:
        return None
    proper = log.origin_acceleration - log.gravity_in_sensor
    return log.replace(acceleration=np.concatenate([proper, log.acceleration[:, 3:]], axis=1))


def _no_twist(log, rng, theta):
    return log.replace(twist=None, acceleration=None, position=None) if log.moving else None


def _still(log, rng, theta):
    return log.replace(twist=0 * log.twist, acceleration=0 * log.acceleration) if log.moving else None


def _untared(log, rng, theta):
    force = 0.5 * np.linalg.norm(log.wrench[:, :3], axis=1).mean() * rng.normal(size=3)
    return log.replace(wrench=log.wrench + np.concatenate([force, 0.05 * rng.normal(size=3)]))


def _late(log, rng, theta):
    if not log.moving or len(log) < 120:
        return None
    return log[:-30].replace(wrench=log.wrench[30:])


def _mirrored(log, rng, theta):
    return log.replace(wrench=log.wrench * np.where(np.arange(6) == rng.integers(3), -1.0, 1.0))


def _cable(log, rng, theta):
    """A hose that pulls in the world like a spring, as strongly as the payload weighs."""
    if log.position is None:
        return None
    pull = (
        9.81
        * theta[0]
        * np.array([1.0, 0, 0])
        * (1 + 5 * (log.position - log.position.mean(axis=0)).sum(axis=1))[:, None]
    )
    in_sensor = np.einsum("nji,nj->ni", log.rotation, pull)
    return log.replace(wrench=log.wrench + np.concatenate([in_sensor, 0 * in_sensor], axis=1))


FAULTS = {
    "gravity leans by 20 degrees": _gravity(20),
    "gravity leans by 45 degrees": _gravity(45),
    "gravity leans by 90 degrees": _gravity(90),
    "sensor turned by 30 degrees": _sensor(30),
    "sensor turned by 90 degrees": _sensor(90),
    "gravity given as the Moon's": _moon,
    "recorded under the Moon's gravity": _on_the_moon,
    "contact in 5 % of the samples": _contact(0.05),
    "contact in 20 % of the samples": _contact(0.2),
    "dropped before the end": _dropped,
    "acceleration of an IMU": _imu,
    "rotating, no twist": _no_twist,
    "rotating, twist of zeros": _still,
    "sensor not tared": _untared,
    "wrench 0.3 s early": _late,
    "one force axis mirrored": _mirrored,
    "hose pulls at it": _cable,
}
