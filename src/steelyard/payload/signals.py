"""Measured signals of a payload log beside what the payload explains of them, for figures and errors."""

from dataclasses import dataclass

import numpy as np

from steelyard.dynamics import friction_torque, inverse_dynamics, regressor
from steelyard.inertia import parameters
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.payload.carried import frame_of
from steelyard.payload.estimate import Payload
from steelyard.payload.information import wrench_regressor
from steelyard.payload.wrench_log import WrenchLog

CHANNELS = ("fx", "fy", "fz", "nx", "ny", "nz")
UNITS = ("N", "N", "N", "N m", "N m", "N m")
CHUNK = 4096


@dataclass(frozen=True, eq=False)
class Signals:
    """t: (n,) s. measured, explained: (n, k) of the channels, what is not the payload's taken off."""

    t: np.ndarray
    names: tuple[str, ...]
    units: tuple[str, ...]
    measured: np.ndarray
    explained: np.ndarray

    @property
    def error(self) -> np.ndarray:
        """(n, k) measured less explained."""
        return self.measured - self.explained


def wrench_signals(log: WrenchLog, payload: Payload) -> Signals:
    """Forces and torques of a wrist sensor. log: as it was fitted, the tool taken off."""
    bias = np.zeros(6) if payload.bias is None else payload.bias
    chunks = (log[start : start + CHUNK] for start in range(0, len(log), CHUNK))
    explained = np.concatenate([wrench_regressor(part) @ payload.theta + bias for part in chunks])
    return Signals(log.t, CHANNELS, UNITS, np.asarray(log.wrench), explained)


def torque_signals(arm: Robot, log: Log, payload: Payload, *, frame: str | None = None) -> Signals:
    """Joint torques beyond the arm's own. log: with q, v, a and tau, as it was fitted; frame: of the payload."""
    q, v, a, tau = log.require("q", "v", "a", "tau")
    body, R, p = frame_of(arm, frame)
    columns = slice(10 * body, 10 * body + 10)
    theta = parameters.transform(payload.theta, R, p)
    direction = log.direction if log.direction is None else log.direction[:, : arm.nv]
    measured = tau - inverse_dynamics(arm, q, v, a) - friction_torque(arm, v, direction=direction)
    chunks = (slice(start, start + CHUNK) for start in range(0, len(log), CHUNK))
    explained = np.concatenate([regressor(arm, q[s], v[s], a[s])[..., columns] @ theta for s in chunks])
    units = tuple("N m" if np.any(c[3:]) else "N" for joint in arm.free_joints for c in joint.subspace.T)
    return Signals(log.t, arm.dof_names, units, measured, explained)
