"""`BaseStates`: where the base of a walking robot was and how it moved, with standard deviations, over a log."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from steelyard.cards import Card
from steelyard.log.findings import Finding


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class BaseStates(Card):
    """Smoothed states of a robot on a free base, in the convention of a Log, and how sure they are.

    Where no pose was recorded, position in the plane and heading count from the first sample, and their deviation
    grows: only changes over short times are known. Height, tilt and twist are known throughout.
    """

    t: NDArray[np.float64]  # (n,) stamps of the log, s
    q: NDArray[np.float64]  # (n, nq) position of the base in the world, m, quaternion x y z w, joints, rad or m
    v: NDArray[np.float64]
    """(n, nv) twist `[v; w]` of the base in its own axes, m/s and rad/s, then joint velocities, rad/s or m/s."""
    covariance: NDArray[np.float64]
    """(n, 12, 12) of the errors of the base: position, m, rotation vector, rad, both in the base's axes; then twist."""
    ground: NDArray[np.float64]
    """(n,) height in the world of the ground below the base, m: of the plane through where feet stood."""
    slope: NDArray[np.float64]  # (2,) rise of that plane per metre along x and y of the world
    contacts: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """(n,) by frame of a foot: probability that it stands."""
    slips: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    """(n,) by frame of a foot: it touches and slides; the state does not rely on it there."""
    imu_bias: NDArray[np.float64] | None = None
    """(6,) mean bias `[w; a]` of the inertial sensor in its own axes, rad/s and m/s^2; None without a sensor."""
    delays: Mapping[str, float] = field(default_factory=dict)
    """s by which a source (`imu`, `pose`) came late against the encoders, and that was undone."""
    findings: tuple[Finding, ...] = ()  # faults that were found on the way
    notes: tuple[str, ...] = ()  # what the states were made of, and what was assumed or left out

    def _title(self) -> str:
        return f"BaseStates({len(self.t)} samples)"

    def __len__(self) -> int:
        return len(self.t)

    @property
    def spread(self) -> NDArray[np.float64]:
        """(n, 12) standard deviations: the roots of the covariance's diagonals."""
        return np.sqrt(np.einsum("nii->ni", self.covariance))
