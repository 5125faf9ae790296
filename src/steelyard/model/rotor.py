"""Motor rotors: spinning bodies that a joint drives through a gear (paper C, Appendix I)."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Rotor:
    """A rotor driven by a joint.

    joint: name of the joint whose speed, times `gear_ratio`, is the rotor's speed about `axis`. carrier: name of the
    body the motor housing is fixed to, None when it stands on the ground. axis (3,): unit vector; rotation (3, 3),
    position (3,): rotor frame, all in the carrier's frame (the world's for None) at rest. theta: (10,) inertial
    parameters in the rotor frame, zeros when unknown. symmetric: whether its inertia does not change as it spins
    (only m, the first moment along the axis and two moments of inertia are then free).
    """

    joint: str
    gear_ratio: float
    carrier: str | None
    axis: np.ndarray
    rotation: np.ndarray
    position: np.ndarray
    theta: np.ndarray
    symmetric: bool = True
