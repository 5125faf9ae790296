"""What is assumed of a body of which nothing but mass and centre is known, and how much of a result is not assumed."""

import numpy as np

from steelyard.inertia import parameters
from steelyard.payload.estimate import Payload, Status

DENSITY = 1000.0  # kg/m^3, water
FARTHEST = 10.0  # radii of gyration from the sensor to a centre of mass that is believed
DETERMINED = 0.1  # relative deviation up to which a quantity counts as measured: within a fifth, with 95 %


def compact_body(mass, com) -> np.ndarray:
    """(10,) of a body with radius of gyration `(m / 1000 kg/m^3)^(1/3)`: elongated, and about as dense as water.

    mass: kg, positive; com: (3,) in m, pulled in where it is farther than such a body can be held.
    """
    radius = (mass / DENSITY) ** (1 / 3)
    com = np.asarray(com, dtype=float)
    com = com * min(1.0, FARTHEST * radius / max(float(np.linalg.norm(com)), 1e-12))
    return parameters.from_com_inertia(mass, com, mass * radius**2 * 2 / 3 * np.eye(3))


def relative_deviation(payload: Payload, size: float | None = None) -> tuple[float, float, float]:
    """Standard deviations of mass, centre and inertia as parts of the mass, of the body's size and of its largest
    moment. size: half the extent of the body in m, by default that of twice water's thinness."""
    mass = max(abs(payload.mass), 1e-12)
    extent = float((2 * mass / DENSITY) ** (1 / 3)) if size is None else size
    largest = max(float(np.linalg.eigvalsh(payload.inertia)[-1]), 1e-300)
    return (
        payload.mass_deviation / mass,
        float(payload.com_deviation.max()) / extent,
        float(payload.inertia_deviation.max()) / largest,
    )


def status_of(payload: Payload, *, moving: bool, size: float | None = None) -> Status:
    """What was measured of a payload, from its deviations. moving: whether motion could show its inertia."""
    mass, centre, inertia = relative_deviation(payload, size)
    if not payload.mass > 0 or mass > DETERMINED:
        return Status.FAINT
    if centre > DETERMINED:
        return Status.AXIS
    if not moving:
        return Status.STATIC
    return Status.WEAK if inertia > DETERMINED else Status.OK
