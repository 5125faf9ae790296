"""Logs of `sy.simulate.walk` with faults in them, and what its truth is made of."""

from functools import lru_cache

import numpy as np

import steelyard as sy
from steelyard.simulate import FEET
from steelyard.simulate.motion import COULOMB, VISCOUS, WalkNoise, felt

__all__ = [
    "ARMATURE",
    "COULOMB",
    "FEET",
    "VISCOUS",
    "WalkNoise",
    "felt",
    "walk",
    "with_flag",
    "with_late_base",
    "with_late_flags",
    "with_late_imu",
    "without_base",
]

ARMATURE = 0.01  # kg m^2, of `library.quadruped()`
walk = lru_cache(sy.simulate.walk)  # the tests of a process share their walks


def with_late_flags(log: sy.Log, samples: int) -> sy.Log:
    """The log with flags that come some samples late."""
    late = {
        foot: flag[np.clip(np.arange(len(flag)) - samples, 0, len(flag) - 1)] for foot, flag in log.contacts.items()
    }
    return log.replace(contacts=late)


def with_flag(log: sy.Log, foot: str, flag) -> sy.Log:
    """The log with another flag of a foot: an array, or None for none."""
    rest = {name: each for name, each in log.contacts.items() if name != foot}
    return log.replace(contacts=rest if flag is None else rest | {foot: flag})


def without_base(log: sy.Log) -> sy.Log:
    """The log without the pose of the base: columns of joints alone."""
    names = tuple(name for name in log.joint_names if not name.startswith("floating_base"))
    kept = {key: value[:, 6:] for key in ("v", "tau", "command") if (value := getattr(log, key)) is not None}
    return sy.Log(t=log.t, q=log.q[:, 7:], **kept, joint_names=names, contacts=log.contacts, imu=log.imu, name=log.name)


def with_late_imu(log: sy.Log, late: float) -> sy.Log:
    """The log with inertial sensors that come late, s."""
    then = np.clip(log.t - late, log.t[0], None)
    imu = {
        name: np.stack([np.interp(then, log.t, column) for column in rows.T], axis=1) for name, rows in log.imu.items()
    }
    return log.replace(imu=imu)


def with_late_base(log: sy.Log, late: float) -> sy.Log:
    """The log with a pose of the base that comes late, s."""
    samples = round(late / float(np.median(np.diff(log.t))))
    before = np.clip(np.arange(len(log)) - samples, 0, None)
    return log.replace(q=np.concatenate([log.q[before, :7], log.q[:, 7:]], axis=1))
