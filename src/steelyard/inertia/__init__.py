"""One rigid body, without a robot: its ten inertial parameters, their charts and distances, other tools' spellings.

`theta = [m, hx, hy, hz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz]`, first moment `h = m c` and inertia about the **origin** of
the body frame.
"""

from steelyard.inertia import (
    cones,
    conventions,
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
    sets,
    solids,
)
from steelyard.inertia.body_set import MOMENTS, BodySet
from steelyard.inertia.cones import COARSE, ConeRows, minimise
from steelyard.inertia.divergence import riemannian
from steelyard.inertia.ellipsoid import Ellipsoid, covariance_axes, covariance_ellipsoid
from steelyard.inertia.hull import Hull, convex_surface, corners, cover, hull_of, minimum_volume_ellipsoid
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
from steelyard.inertia.realizability import four_point_masses, is_consistent, is_realizable
from steelyard.inertia.rotation import from_vector, left_jacobian, to_quaternion, to_vector
from steelyard.inertia.sets import (
    Bounds,
    Box,
    ComInEllipsoid,
    Consistent,
    EllipsoidRealizable,
    HullNecessary,
    HullRealizable,
    Intersection,
    PointMasses,
    SemiConsistent,
    TetrahedraRealizable,
    UnionRealizable,
)

__all__ = [  # noqa: RUF022  order of use
    # the ten numbers and other tools' spellings
    "NAMES",
    "UNITS",
    "from_com_inertia",
    "to_com_inertia",
    "from_origin_inertia",
    "to_origin_inertia",
    "from_spatial_inertia",
    "to_spatial_inertia",
    "rotational_inertia",
    "transform",
    "transform_matrix",
    "transform_derivative",
    "from_vector",
    "left_jacobian",
    "to_quaternion",
    "to_vector",
    "parameters",
    "pseudo",
    "conventions",
    # charts and distances
    "log_cholesky",
    "exponential",
    "principal",
    "divergence",
    "riemannian",
    # sets of bodies
    "is_consistent",
    "is_realizable",
    "four_point_masses",
    "realizability",
    "sets",
    "BodySet",
    "SemiConsistent",
    "Consistent",
    "ComInEllipsoid",
    "EllipsoidRealizable",
    "UnionRealizable",
    "Box",
    "HullRealizable",
    "HullNecessary",
    "TetrahedraRealizable",
    "PointMasses",
    "Bounds",
    "Intersection",
    "MOMENTS",
    "ConeRows",
    "cones",
    "minimise",
    "COARSE",
    # shapes
    "Ellipsoid",
    "covariance_axes",
    "covariance_ellipsoid",
    "minimum_volume_ellipsoid",
    "cover",
    "corners",
    "Hull",
    "convex_surface",
    "hull_of",
    "solids",
    "mesh",
    "mesh_checks",
    "mesh_files",
    "mesh_parts",
    "Part",
    "PartGradient",
    "combine",
    "pull_back",
    "drawing",
]
