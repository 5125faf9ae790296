"""One rigid body, without a robot: its ten inertial parameters, their charts and distances, other tools' spellings.

`theta = [m, hx, hy, hz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz]`, first moment `h = m c` and inertia about the **origin** of
the body frame.
"""

from importlib import import_module

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

# Loaded on first use: they bring SciPy, which a plain `import steelyard` does not need.
_LATER = {
    "Ellipsoid": "ellipsoid",
    "covariance_ellipsoid": "ellipsoid",
    "minimum_volume_ellipsoid": "enclose",
    "is_consistent": "realizability",
    "is_realizable": "realizability",
    "four_point_masses": "certificate",
}
_LATER_MODULES = ("realizability", "cover", "mesh", "mesh_parts", "mesh_files", "snippet", "drawing")


def __getattr__(name: str):
    if name in _LATER:
        return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    if name in _LATER_MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_LATER, *_LATER_MODULES})


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
