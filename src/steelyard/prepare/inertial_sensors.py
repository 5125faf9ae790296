"""Motion of a free base from an inertial sensor on it, instead of derivatives of an estimated velocity.

At a point r of the base, with angular velocity w and the base's spatial acceleration a (theory.md, 1), a sensor feels

    p = a_linear + w x v - R^T g + dw/dt x r + w x (w x r)

in the base's axes. Its noise is that of an accelerometer; the derivative of an estimated velocity has tens of times as
much, which attenuates masses (errors in variables). Constant biases are told from the estimate, whose derivative has
none over a whole log.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import choices
from steelyard.log import Finding, Log
from steelyard.log.findings import fatal, warning
from steelyard.model import Robot
from steelyard.model.robot import Frame
from steelyard.spatial import rotation_from_quaternion

AWAY = 0.5  # of the base's motion, from which on sensor and estimate tell different ones
LEANS = np.radians(15)  # between the accelerations that sensor and estimate feel on average, on other axes
BIASED = 0.5, 0.05  # m/s^2, rad/s: biases that no calibrated sensor has


def on_base(robot: Robot, log: Log) -> str | None:
    """Frame of the first inertial sensor on a free base; None for a log or robot without."""
    if not robot.floating:
        return None
    return next((name for name in log.imu if robot.frame(name).body == 0), None)


def with_angular_velocity(robot: Robot, log: Log) -> Log:
    """The log, recorded, with the angular velocity of its base as a sensor measured it, less a constant bias."""
    name = on_base(robot, log)
    if name is None or log.v is None:
        return log
    turned = log.imu[name][:, :3] @ robot.frame(name).rotation.T
    v = log.v.copy()
    v[:, 3:6] = turned - _bias(turned, log.v[:, 3:6])
    return log.replace(v=v).noted(f"base: angular velocity, and acceleration, from the inertial sensor {name}")


def with_acceleration(robot: Robot, log: Log) -> Log:
    """The log, filtered, with the acceleration of its base as a sensor on it measured it, less a constant bias."""
    name = on_base(robot, log)
    if name is None:
        return log
    felt, expected = _felt(robot, robot.frame(name), log)
    a = log.require("a")[0].copy()
    a[:, :3] += felt - _bias(felt, expected) - expected
    return log.replace(a=a)


def sensor_faults(robot: Robot, recorded: Log, log: Log) -> Iterator[Finding]:
    """What contradicts the inertial sensor on a base, as read, by the same log filtered, its base's motion from the
    estimate."""
    others = [name for name in recorded.imu if robot.floating and robot.frame(name).body != 0]
    if others:
        yield warning("imu_unused", f"Inertial sensors of {choices(others)} are not on the base and were not used.")
    name = on_base(robot, recorded)
    if name is None:
        if recorded.contacts:
            yield warning(
                "imu_missing",
                "Accelerations of the base are derivatives of its estimated velocity, whose noise makes masses a few "
                "percent too small where feet carry them. Record an inertial sensor (columns imu_FRAME_wx ... _az), or "
                "weigh the robot and give --mass all=KG.",
            )
        return
    frame = robot.frame(name)
    felt, expected = _felt(robot, frame, log)
    (v,) = log.require("v")
    turned = log.imu[name][:, :3] @ frame.rotation.T
    size, gravity = np.linalg.norm(felt.mean(axis=0)), np.linalg.norm(robot.gravity)
    remedy = f"Correct the columns imu_{name}_wx ... _az, or leave them out: channels={{'imu': None}}."
    if not 0.7 < size / max(gravity, 1e-9) < 1.4:
        what = "in units of g" if 0.7 < size < 1.4 else "without gravity" if size < 0.3 * gravity else "in other units"
        yield fatal(
            "imu_gravity",
            f"The inertial sensor {name} feels {size:.3g} m/s^2 on average, where {gravity:.3g} holds the base up: its "
            f"accelerations are {what}. {remedy}",
        )
        return
    lean = np.arccos(
        np.clip(felt.mean(axis=0) @ expected.mean(axis=0) / size / np.linalg.norm(expected.mean(axis=0)), -1, 1)
    )
    swing = v[:, 3:6] - v[:, 3:6].mean(axis=0)
    apart = turned - turned.mean(axis=0) - swing
    if lean > LEANS or np.sum(apart**2) > AWAY * np.sum(swing**2):
        yield fatal(
            "imu_axes",
            f"The inertial sensor {name} and the base's pose tell different motions: on average {np.degrees(lean):.0f} "
            f"degrees apart, and {np.sqrt(np.sum(apart**2) / np.sum(swing**2)):.0%} of the turning. Are its axes those "
            f"of {name}, and its rates in rad/s? {remedy}",
        )
        return
    biases = _bias(felt, expected), _bias(turned, v[:, 3:6])
    told = [
        f"{np.round(bias, 3).tolist()} {unit}"
        for bias, most, unit in zip(biases, BIASED, ("m/s^2", "rad/s"), strict=True)
        if np.linalg.norm(bias) > most
    ]
    if told:
        yield warning(
            "imu_bias",
            f"The inertial sensor {name} is off the motion of the base by {choices(told)} on average, which is taken "
            "out of it. Is it where the model says?",
        )


def _felt(robot: Robot, frame: Frame, log: Log) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(n, 3) what the sensor says that the base's origin feels, and what the base's motion says, in the base's axes."""
    q, v, a = log.require("q", "v", "a")
    w, dw, r = v[:, 3:6], a[:, 3:6], frame.position
    at_sensor = log.imu[frame.name][:, 3:] @ frame.rotation.T
    felt = at_sensor - np.cross(dw, r) - np.cross(w, np.cross(w, r))
    weight = np.einsum("nji,j->ni", rotation_from_quaternion(q[:, 3:7]), robot.gravity)
    return felt, a[:, :3] + np.cross(w, v[:, :3]) - weight


def _bias(measured: NDArray, expected: NDArray) -> NDArray:
    """(3,) by which a sensor is off on average."""
    return np.mean(measured - expected, axis=0)
