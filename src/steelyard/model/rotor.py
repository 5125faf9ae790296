"""Motor rotors: spinning bodies that a joint drives through a gear (paper C, Appendix I)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.cards import Card
from steelyard.inertia import from_origin_inertia, rotational_inertia


@dataclass(frozen=True, eq=False, repr=False)
class Rotor(Card):
    """A rotor driven by a joint, or by several.

    rotation (3, 3), position (3,): rotor frame, all in the carrier's frame (the world's for None) at rest. symmetric:
    whether its inertia does not change as it spins (only m, the first moment along the axis and two moments of inertia
    are then free).
    """

    joint: str  # name of the joint whose speed, times `gear_ratio`, is the rotor's speed about `axis`
    gear_ratio: float
    carrier: str | None  # name of the body the motor housing is fixed to, None when it stands on the ground
    axis: np.ndarray  # (3,) unit vector
    rotation: np.ndarray
    position: np.ndarray
    theta: np.ndarray  # (10,) inertial parameters in the rotor frame, zeros when unknown
    symmetric: bool = True
    also: tuple[tuple[str, float], ...] = ()  # further joints and their ratios, whose speeds add to it (a differential)
    number: int = 1  # of the rotors of the same joints

    @property
    def gears(self) -> tuple[tuple[str, float], ...]:
        """All joints that turn it, each with its ratio."""
        return ((self.joint, self.gear_ratio), *self.also)

    @property
    def name(self) -> str:
        joints = "+".join(joint for joint, _ in self.gears)
        return f"rotor({joints})" if self.number == 1 else f"rotor({joints}:{self.number})"

    @property
    def own_axis(self) -> np.ndarray:
        """(3,) the axis it spins about, in the rotor frame."""
        return self.rotation.T @ self.axis

    @cached_property
    def content(self) -> np.ndarray:
        """(10, c) inertial parameters of each number the rotor is free in: 4 when symmetric, else 10."""
        return symmetric_content(self.own_axis) if self.symmetric else np.eye(10)

    @cached_property
    def reading(self) -> np.ndarray:
        """(c, 10) these numbers of any inertial parameters, averaged over a turn about the axis when symmetric."""
        return _symmetric_reading(self.own_axis) if self.symmetric else np.eye(10)


def symmetric_content(axis) -> np.ndarray:
    """(10, 4) parameters of a body symmetric about an axis (3,) through its origin: m, h along it, It, Im."""
    along = np.outer(axis, axis)
    zero, none = np.zeros(3), np.zeros((3, 3))
    parts = ((1.0, zero, none), (0.0, axis, none), (0.0, zero, np.eye(3) - along), (0.0, zero, along))
    return np.stack([from_origin_inertia(np.asarray(m), h, I) for m, h, I in parts], axis=1)


def _symmetric_reading(axis) -> np.ndarray:
    """(4, 10) left inverse of `symmetric_content`: the body averaged over all turns about the axis."""
    tensors = rotational_inertia(np.eye(10))
    axial = axis @ tensors @ axis
    rows = np.zeros((4, 10))
    rows[0, 0] = 1.0
    rows[1, 1:4] = axis
    rows[2] = (np.trace(tensors, axis1=1, axis2=2) - axial) / 2
    rows[3] = axial
    return rows
