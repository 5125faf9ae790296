"""Logs of `sy.simulate.walk` with faults in them, and what its truth is made of."""

from functools import lru_cache

import numpy as np

import steelyard as sy
from steelyard.simulate import FEET, WalkNoise
from steelyard.simulate.walking import COULOMB, VISCOUS, felt

__all__ = [
    "ARMATURE",
    "COULOMB",
    "FEET",
    "VISCOUS",
    "WalkNoise",
    "felt",
    "walk",
    "with_flag",
    "with_late_flags",
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
