"""What is assumed of a body of which nothing but mass and centre is known, and how much of a result is not assumed."""

import numpy as np

from steelyard.inertia import parameters
from steelyard.payload.estimate import Status

DENSITY = 1000.0  # kg/m^3, water
FARTHEST = 10.0  # radii of gyration from the sensor to a centre of mass that is believed
DETERMINED = 0.5  # share of a broad prior's variance that must be gone for an inertia to count as measured
DETERMINED_CENTRE = 0.1  # the same for the centre of mass, which is asked for more


def compact_body(mass, com) -> np.ndarray:
    """(10,) of a body with radius of gyration `(m / 1000 kg/m^3)^(1/3)`: elongated, and about as dense as water.

    mass: kg, positive; com: (3,) in m, pulled in where it is farther than such a body can be held.
    """
    radius = (mass / DENSITY) ** (1 / 3)
    com = np.asarray(com, dtype=float)
    com = com * min(1.0, FARTHEST * radius / max(float(np.linalg.norm(com)), 1e-12))
    return parameters.from_com_inertia(mass, com, mass * radius**2 * 2 / 3 * np.eye(3))


def share_left(A, theta, size: float | None = None) -> np.ndarray:
    """(10,) share of a broad prior's variance that the data `||A theta - b||` leaves, for mass, centre and inertia.

    theta: (10,), the result; size: half the extent of the body in m, by default that of twice water's thinness.
    """
    mass = theta[0]
    size = (2 * mass / DENSITY) ** (1 / 3) if size is None else size
    from_center = parameters.transform_matrix(np.eye(3), theta[1:4] / mass)
    scale = mass * np.array([1.0] + [size] * 3 + [size**2 / 3] * 6)
    B = A @ from_center * scale
    return np.diag(np.linalg.inv(np.eye(10) + B.T @ B))


def status_of(left, *, moving: bool) -> Status:
    """What was measured, from `share_left`."""
    if left[1:4].max() > DETERMINED_CENTRE:
        return Status.AXIS
    if not moving:
        return Status.STATIC
    return Status.WEAK if left[4:].mean() > DETERMINED else Status.OK
