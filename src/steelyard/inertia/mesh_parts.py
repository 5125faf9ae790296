"""Bodies made of several solid meshes, each with its own density and place; how their parameters change with all of
these.

Everything is a chain of exact linear maps: `theta = sum_parts B(R, p) density theta_1(vertices)`, with `theta_1` the
parameters at unit density.
"""

from dataclasses import dataclass, field

import numpy as np

from steelyard.errors import InertiaError
from steelyard.inertia import mesh
from steelyard.inertia.parameters import transform, transform_derivative, transform_matrix


@dataclass(frozen=True, eq=False)
class Part:
    """A solid mesh of uniform density, placed in a body.

    vertices: (n, 3) in m, faces: (f, 3), density: kg/m^3; rotation: (3, 3), origin: (3,) in m, the mesh frame in the
    body frame.
    """

    vertices: np.ndarray
    faces: np.ndarray
    density: float
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    origin: np.ndarray = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self):
        R, p = np.asarray(self.rotation, dtype=float), np.asarray(self.origin, dtype=float)
        if (
            R.shape != (3, 3)
            or p.shape != (3,)
            or not np.abs(R @ R.T - np.eye(3)).max() < 1e-9
            or not np.isfinite(p).all()
        ):
            raise InertiaError(
                f"pose of a mesh part is R {R.tolist()}, p {p.tolist()}: expected an orthogonal (3, 3) and a "
                "finite (3,)"
            )
        object.__setattr__(self, "rotation", R)
        object.__setattr__(self, "origin", p)


@dataclass(frozen=True, eq=False)
class PartDerivatives:
    """Derivatives of a part's parameters, (10,) in the body frame; or of a scalar, without the axis of ten."""

    density: np.ndarray  # (10,) per kg/m^3
    pose: np.ndarray
    """(10, 6) with respect to `eta = [dv; dw]` of the body frame, the part's pose becoming `exp(eta) T`"""
    vertices: np.ndarray  # (10, n, 3) with respect to the vertices, in the mesh frame


def parameters(part: Part):
    """Inertial parameters (10,) of one part in the body frame. Errors and warnings as for `mesh.parameters`."""
    theta = mesh.parameters(part.vertices, part.faces, density=part.density)
    return transform(theta, part.rotation, part.origin)


def derivatives(part: Part) -> PartDerivatives:
    """How the parameters of one part change with its density, its pose and its vertices (paper D, 16-34)."""
    theta = parameters(part)
    by_vertex = mesh.vertex_derivatives(part.vertices, part.faces, density=part.density, check=False)
    B = transform_matrix(part.rotation, part.origin)
    return PartDerivatives(theta / part.density, transform_derivative(theta), np.tensordot(B, by_vertex, axes=1))


def pull_back(part: Part, gradient) -> PartDerivatives:
    """Derivatives of a scalar, from those (10,) by the parameters of the part's body."""
    by = derivatives(part)
    return PartDerivatives(gradient @ by.density, gradient @ by.pose, np.tensordot(gradient, by.vertices, axes=1))


def combine(parts):
    """(10,) of a body made of `Part`s that do not overlap. Raises InertiaError without parts."""
    parts = tuple(parts)
    if not parts:
        raise InertiaError("a body was to be combined of no parts; give at least one")
    return np.sum([parameters(part) for part in parts], axis=0)
