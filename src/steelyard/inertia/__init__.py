"""One rigid body, without a robot: its ten inertial parameters, their charts and distances, other tools' spellings.

`theta = [m, hx, hy, hz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz]`, first moment `h = m c` and inertia about the **origin** of
the body frame.
"""

from steelyard.inertia import (
    cones,
    conventions,
    cover,
    divergence,
    drawing,
    exponential,
    log_cholesky,
    mesh,
    mesh_checks,
    mesh_files,
    mesh_parts,
    parameters,
    principal,
    pseudo,
    realizability,
    snippet,
    solids,
)
from steelyard.inertia.body_set import MOMENTS, BodySet
from steelyard.inertia.certificate import four_point_masses
from steelyard.inertia.cones import ConeRows
from steelyard.inertia.divergence import riemannian
from steelyard.inertia.ellipsoid import Ellipsoid, covariance_ellipsoid
from steelyard.inertia.enclose import corners, minimum_volume_ellipsoid
from steelyard.inertia.hull import HullRealizable
from steelyard.inertia.mesh_parts import Part, PartGradient, combine, pull_back
from steelyard.inertia.parameters import (
    NAMES,
    UNITS,
    from_com_inertia,
    from_origin_inertia,
    from_spatial_inertia,
    rotational_inertia,
    to_com_inertia,
    to_origin_inertia,
    to_spatial_inertia,
    transform,
    transform_derivative,
    transform_matrix,
)
from steelyard.inertia.realizability import is_consistent, is_realizable
from steelyard.inertia.rotation import from_vector, left_jacobian, to_quaternion
from steelyard.inertia.sets import Bounds, Consistent, EllipsoidRealizable, Intersection, UnionRealizable
from steelyard.inertia.solver import COARSE, minimise

__all__ = [  # noqa: RUF022  order of use: the ten numbers, other tools, charts, distances
    "parameters",
    "pseudo",
    "from_origin_inertia",
    "to_origin_inertia",
    "from_com_inertia",
    "to_com_inertia",
    "from_spatial_inertia",
    "to_spatial_inertia",
    "rotational_inertia",
    "transform",
    "transform_matrix",
    "transform_derivative",
    "conventions",
    "log_cholesky",
    "exponential",
    "principal",
    "divergence",
    "BodySet",
    "Bounds",
    "COARSE",
    "ConeRows",
    "Consistent",
    "Ellipsoid",
    "EllipsoidRealizable",
    "HullRealizable",
    "Intersection",
    "MOMENTS",
    "NAMES",
    "Part",
    "PartGradient",
    "UNITS",
    "UnionRealizable",
    "combine",
    "cones",
    "corners",
    "covariance_ellipsoid",
    "drawing",
    "from_vector",
    "is_consistent",
    "is_realizable",
    "left_jacobian",
    "mesh",
    "mesh_checks",
    "mesh_files",
    "minimise",
    "minimum_volume_ellipsoid",
    "pull_back",
    "riemannian",
    "snippet",
    "solids",
    "to_quaternion",
    "cover",
    "mesh_parts",
    "realizability",
    "four_point_masses",
]
