"""One rigid body, without a robot: its ten inertial parameters, their charts and distances, other tools' spellings.

`theta = [m, hx, hy, hz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz]`, first moment `h = m c` and inertia about the **origin** of
the body frame."""

from steelyard.inertia import (
    conventions,
    divergence,
    exponential,
    log_cholesky,
    mesh,
    mesh_files,
    mesh_parts,
    parameters,
    principal,
    pseudo,
    realizability,
    sets,
)
from steelyard.inertia.ellipsoid import Ellipsoid, covariance_ellipsoid
from steelyard.inertia.hull import cover, minimum_volume_ellipsoid
from steelyard.inertia.mesh_parts import Part
from steelyard.inertia.parameters import (
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
from steelyard.inertia.sets import (
    Bounds,
    Box,
    ComInEllipsoid,
    Consistent,
    EllipsoidRealizable,
    HullRealizable,
    Intersection,
    PointMasses,
    SemiConsistent,
    TetrahedraRealizable,
    UnionRealizable,
)

__all__ = [
    "Bounds",
    "Box",
    "ComInEllipsoid",
    "Consistent",
    "Ellipsoid",
    "EllipsoidRealizable",
    "HullRealizable",
    "Intersection",
    "Part",
    "PointMasses",
    "SemiConsistent",
    "TetrahedraRealizable",
    "UnionRealizable",
    "conventions",
    "covariance_ellipsoid",
    "cover",
    "divergence",
    "exponential",
    "four_point_masses",
    "from_com_inertia",
    "from_origin_inertia",
    "from_spatial_inertia",
    "is_consistent",
    "is_realizable",
    "log_cholesky",
    "mesh",
    "mesh_files",
    "mesh_parts",
    "minimum_volume_ellipsoid",
    "parameters",
    "principal",
    "pseudo",
    "realizability",
    "rotational_inertia",
    "sets",
    "to_com_inertia",
    "to_origin_inertia",
    "to_spatial_inertia",
    "transform",
    "transform_derivative",
    "transform_matrix",
]
