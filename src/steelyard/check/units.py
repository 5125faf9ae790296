"""Wrong units and placeholders: what several rules and the repair need to tell."""

import numpy as np

from steelyard.check.weigh import Weighed
from steelyard.model import Inertial

DENSE, LIGHT = 23000.0, 1.0  # kg/m^3: osmium; expanded foam has ten, a hull is often mostly air
FAR = 10.0  # m: radius of gyration or centre of mass of a part, beyond which it must be in millimetres
MILLION, THOUSAND = (3e5, 3e6), (4e2, 2.5e3)  # ranges in which a factor is taken for 1e6 or 1e3
SOLID = 5e-3  # m: geometry thinner than this has no volume to speak of


def _within(value: float, limits: tuple[float, float]) -> bool:
    return limits[0] < value < limits[1]


def tensor_in_millimetres(inertial: Inertial, w: Weighed | None) -> bool:
    """Whether the tensor is in kg mm^2."""
    if is_placeholder(inertial):
        return False
    if w is not None and np.isfinite(w.gyration):
        return _within(w.gyration, MILLION)
    return bool(np.trace(inertial.tensor) / 2 / inertial.mass > FAR**2)


def com_in_millimetres(inertial: Inertial, w: Weighed | None) -> bool:
    """Whether the centre of mass is in mm."""
    if w is not None:
        return w.outside > FAR * w.bulk.diagonal and w.bulk.outside(inertial.com / 1000) < 0.1 * w.bulk.diagonal
    return bool(np.linalg.norm(inertial.com) > FAR)


def in_grams(w: Weighed) -> bool:
    """Whether the mass is in grams."""
    return w.density > 5 * DENSE and w.bulk.thickness > SOLID and LIGHT < w.density / 1000 < DENSE


def tensor_in_grams(w: Weighed) -> bool:
    """Whether the tensor is in g m^2 while the mass is in kg."""
    return _within(w.gyration, THOUSAND) and not is_placeholder(w.inertial)


def is_placeholder(inertial: Inertial) -> bool:
    """Whether the tensor is a power of ten times the identity."""
    I = inertial.tensor
    if not inertial.mass > 0 or not np.isfinite(I).all() or not I[0, 0] > 0 or (I[0, 0] * np.eye(3) != I).any():
        return False
    power = np.log10(I[0, 0])
    return bool(abs(power - round(power)) < 1e-9)


def unit_error(w: Weighed) -> bool:
    """Whether wrong units explain mass or tensor."""
    return tensor_in_millimetres(w.inertial, w) or in_grams(w) or tensor_in_grams(w)
