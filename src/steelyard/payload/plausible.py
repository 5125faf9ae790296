"""Numbers that no robot holds: they come from another unit."""

import numpy as np

HEAVIEST = 1000.0  # kg: heavier than what all but a handful of industrial robots lift, none with a wrist sensor
FARTHEST = 2.0  # m from the sensor or flange to a centre of mass


def implausible(theta) -> str | None:
    """What is not believed of parameters (10,), in words; None where a robot can hold them."""
    theta = np.asarray(theta, dtype=float)
    mass = float(theta[0])
    if not mass > 0:
        return f"a negative mass of {mass:.4g} kg"
    if mass > HEAVIEST:
        return f"{mass:.4g} kg, which no wrist holds"
    distance = float(np.linalg.norm(theta[1:4])) / mass
    if distance > FARTHEST:
        return f"a centre of mass {distance:.3g} m away"
    return None
