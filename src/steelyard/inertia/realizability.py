"""Which ten numbers can belong to a body, and to a body of known shape (paper B): the sets, and two questions asked
most often.
"""

from steelyard.inertia.body_set import BodySet
from steelyard.inertia.cones import ConeRows
from steelyard.inertia.ellipsoid import Ellipsoid
from steelyard.inertia.hull import Box, HullNecessary, HullRealizable, PointMasses, TetrahedraRealizable
from steelyard.inertia.sets import (
    Bounds,
    ComInEllipsoid,
    Consistent,
    EllipsoidRealizable,
    Intersection,
    SemiConsistent,
    UnionRealizable,
)

__all__ = [
    "BodySet",
    "Bounds",
    "Box",
    "ComInEllipsoid",
    "ConeRows",
    "Consistent",
    "EllipsoidRealizable",
    "HullNecessary",
    "HullRealizable",
    "Intersection",
    "PointMasses",
    "SemiConsistent",
    "TetrahedraRealizable",
    "UnionRealizable",
    "is_consistent",
    "is_realizable",
]


def is_consistent(theta):
    """Whether some positive mass distribution with volume has these parameters: `J > 0` (B, Theorem 3). theta: (...,
    10). Returns bool (...).
    """
    return Consistent().contains(theta)


def is_realizable(theta, ellipsoid):
    """Whether a mass distribution inside the ellipsoid has these parameters (B, Theorem 4).

    theta: (..., 10); ellipsoid: one, or a sequence whose union is meant (B, Corollary 2). Returns bool (...).
    """
    if isinstance(ellipsoid, Ellipsoid):
        return EllipsoidRealizable(ellipsoid).contains(theta)
    return UnionRealizable(tuple(ellipsoid)).contains(theta)
