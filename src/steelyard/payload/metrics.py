"""How wrong a payload is, in per cent that do not depend on its mass or size (paper E, (10)-(12)).

Lengths are the sides of the object's bounding box along the axes of the frame that theta is given in; inertia is about
the centre of mass.
"""

from dataclasses import dataclass

import numpy as np

from steelyard.errors import InertiaError, OptionError
from steelyard.inertia import is_consistent, parameters, riemannian


@dataclass(frozen=True)
class Errors:
    """Errors of one estimate in per cent, and its geodesic distance from the truth (unitless; inf if inconsistent)."""

    mass: float
    com: float
    inertia: float
    geodesic: float

    @property
    def percent(self) -> np.ndarray:
        """(3,) mass, centre of mass, inertia."""
        return np.array([self.mass, self.com, self.inertia])


def errors(theta, truth, sides) -> Errors:
    """Errors of theta (10,) against truth (10,). sides: (3,) of the bounding box, m (E, 10-12).

    The centre-of-mass error is the mean of three, the inertia error of the six on and above the diagonal. Raises
    OptionError for sides that are not positive, InertiaError for a truth without mass.
    """
    theta, truth, a = (np.asarray(x, dtype=float) for x in (theta, truth, sides))
    if a.shape != (3,) or not (a > 0).all():
        raise OptionError(f"sides are the three positive lengths of the bounding box in m; got {sides!r}")
    mass, com, inertia = parameters.to_com_inertia(truth)
    if not mass > 0:
        raise InertiaError(f"the true mass is {mass}, expected a positive number: errors are relative to it")
    if theta[0] == 0:
        return Errors(100.0, np.inf, np.inf, np.inf)
    found_mass, found_com, found_inertia = parameters.to_com_inertia(theta)
    scale = mass / 12 * (np.eye(3) * (a @ a) - np.outer(a, a))
    relative = np.abs((found_inertia - inertia) / scale)
    return Errors(
        mass=float(100 * abs(found_mass - mass) / mass),
        com=float(100 * np.mean(np.abs(found_com - com) / a)),
        inertia=float(100 * np.mean(relative[np.triu_indices(3)])),
        geodesic=float(riemannian(theta, truth)) if is_consistent(theta) and is_consistent(truth) else np.inf,
    )
