"""One rigid body, without a robot: its ten inertial parameters, their charts and distances, other tools' spellings.

`theta = [m, hx, hy, hz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz]`, first moment `h = m c` and inertia about the **origin** of
the body frame.
"""

from steelyard.inertia import conventions, divergence, exponential, log_cholesky, parameters, principal, pseudo
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
]
