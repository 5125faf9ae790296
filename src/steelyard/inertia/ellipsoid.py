"""Solid ellipsoids: bounding volumes of a link, and the picture of its second moments (paper B, section V and Figure
2)."""

from dataclasses import dataclass

import numpy as np

from steelyard.errors import InertiaError
from steelyard.inertia import parameters
from steelyard.numbers import NEGLIGIBLE, ROUNDING


def box_corners(lower, upper):
    """Corners (3,) of an axis-aligned box as arrays; InertiaError where they are none."""
    lower, upper = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    if lower.shape != (3,) or upper.shape != (3,) or not (lower < upper).all():
        found = f"{lower.tolist()} and {upper.tolist()}"
        raise InertiaError(f"box corners are {found}, expected lower < upper in each of three coordinates")
    return lower, upper


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """All `x` with `(x - center)^T Q^{-1} (x - center) <= 1` (B, 21).

    Args:
        center: (3,) m.
        Q: (3, 3) symmetric positive definite, m^2; its eigenvalues are the squared semi-axes.

    Raises:
        InertiaError: other shapes, numbers that are not finite, a Q that is not symmetric or not positive definite.

    Example:
        >>> import steelyard as sy
        >>> ellipsoid = sy.inertia.Ellipsoid.from_semi_axes([0.3, 0.2, 0.1], center=[0.0, 0.0, 0.5])
        >>> ellipsoid.contains([[0.29, 0.0, 0.5], [0.0, 0.0, 0.61]])
        array([ True, False])
    """

    center: np.ndarray
    Q: np.ndarray

    def __post_init__(self):
        center, Q = np.array(self.center, dtype=float), np.array(self.Q, dtype=float)
        if center.shape != (3,) or Q.shape != (3, 3):
            raise InertiaError(f"ellipsoid center has shape {center.shape} and Q {Q.shape}, expected (3,) and (3, 3)")
        if not (np.isfinite(center).all() and np.isfinite(Q).all()):
            raise InertiaError(f"ellipsoid holds numbers that are not finite: center {center.tolist()}, Q {Q.tolist()}")
        if np.abs(Q - Q.T).max() > NEGLIGIBLE * np.abs(Q).max():
            raise InertiaError(
                f"ellipsoid Q is not symmetric: {Q.tolist()}. Expected squared semi-axes in a rotated frame, R "
                "diag(a^2) R^T"
            )
        Q = 0.5 * (Q + Q.T)
        squares = np.linalg.eigvalsh(Q)
        if squares[0] <= ROUNDING * squares[-1]:
            raise InertiaError(
                f"ellipsoid Q has eigenvalues {squares.tolist()} m^2, expected three positive squared semi-axes; "
                "give a flat or degenerate shape a thickness"
            )
        for name, array in (("center", center), ("Q", Q)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def from_semi_axes(cls, semi_axes, *, center=(0.0, 0.0, 0.0), rotation=None):
        """From positive semi-axis lengths (3,) in m along the columns of `rotation` (3, 3), by default x, y, z."""
        lengths = np.asarray(semi_axes, dtype=float)
        R = np.eye(3) if rotation is None else np.asarray(rotation, dtype=float)
        if lengths.shape != (3,) or not (lengths > 0).all():
            raise InertiaError(f"ellipsoid semi-axes are {lengths.tolist()}, expected three positive lengths in m")
        if R.shape != (3, 3) or np.abs(R @ R.T - np.eye(3)).max() > NEGLIGIBLE:
            raise InertiaError(
                f"ellipsoid rotation is {R.tolist()}, expected a (3, 3) orthogonal matrix with the axes in its columns"
            )
        return cls(center, (R * lengths**2) @ R.T)

    @classmethod
    def from_box(cls, lower, upper):
        """The smallest ellipsoid around an axis-aligned box; it holds 2.7 times the volume. lower, upper: (3,) corners
        in m."""
        lower, upper = box_corners(lower, upper)
        return cls.from_semi_axes(np.sqrt(3) * 0.5 * (upper - lower), center=0.5 * (lower + upper))

    @property
    def semi_axes(self):
        """Lengths (3,) in m, ascending, and unit directions in the columns of (3, 3)."""
        squares, directions = np.linalg.eigh(self.Q)
        return np.sqrt(squares), directions

    @property
    def volume(self):
        """Volume in m^3."""
        return 4 / 3 * np.pi * float(np.sqrt(np.linalg.det(self.Q)))

    @property
    def quadric(self):
        """`Q` of B, Theorem 4, (4, 4): `[x; 1]^T quadric [x; 1] = 1 - (x - center)^T Q^{-1} (x - center)`, not negative
        inside."""
        P, x = np.linalg.inv(self.Q), self.center
        return np.block([[-P, (P @ x)[:, None]], [(P @ x)[None, :], np.full((1, 1), 1 - x @ P @ x)]])

    @property
    def to_ball(self):
        """Affine map `[x; 1] -> [y; 1]`, (4, 4), that makes the ellipsoid the unit ball: `Q = L L^T`, `y = L^{-1} (x -
        center)`."""
        T = np.eye(4)
        T[:3, :3] = np.linalg.inv(np.linalg.cholesky(self.Q))
        T[:3, 3] = -T[:3, :3] @ self.center
        return T

    def level(self, points):
        """`(x - center)^T Q^{-1} (x - center)`: 0 at the centre, 1 on the surface. points: (..., 3) in m. Returns
        (...)."""
        T = self.to_ball
        y = np.asarray(points, dtype=float) @ T[:3, :3].T + T[:3, 3]
        return (y * y).sum(axis=-1)

    def contains(self, points, *, tolerance=1e-12):
        """Whether points (..., 3) lie inside; the surface counts as inside, within `tolerance` of the level. Returns
        bool (...)."""
        return self.level(points) <= 1 + tolerance


def covariance_axes(theta):
    """Centre of mass (3,) of one body theta (10,), m; root-mean-square distances (3,) of its mass along its principal
    axes, m, ascending, whatever the mass: one of a plate is 0, two of a rod, three of a point mass; and these axes,
    unit directions in the columns of (3, 3). Raises InertiaError where no body has these parameters. Source: paper B,
    Figure 2."""
    theta = np.asarray(theta, dtype=float)
    if theta.shape != (10,) or not theta[0] > 0:
        raise InertiaError(
            f"covariance ellipsoid of theta with shape {theta.shape} and mass {theta.flat[0]:.6g}: expected (10,), "
            "positive mass"
        )
    mass, com, I = parameters.to_com_inertia(theta)
    covariance = (0.5 * np.trace(I) * np.eye(3) - I) / mass
    # a smaller share of the second moments about the origin is none
    rounding = 1e-14 * (abs(np.trace(covariance)) + com @ com)  # of what is left when the centre is taken out
    if not np.isfinite(covariance).all() or np.linalg.eigvalsh(covariance)[0] < -rounding:
        raise InertiaError(
            "theta is not physically consistent: its covariance is not positive definite; project it onto "
            "Consistent() first"
        )
    squares, directions = np.linalg.eigh(covariance)
    return com, np.sqrt(np.where(squares < rounding, 0.0, squares)), directions


def covariance_ellipsoid(theta, *, thinnest: float = 0.0):
    """Ellipsoid of the second moments of one body: centre of mass, and `Q = Sigma_C / m`.

    Args:
        theta: (10,), physically consistent, or at the border of that with `thinnest`.
        thinnest: semi-axis in m that shorter ones get, so that plates, rods and point masses have an ellipsoid, too.

    Returns:
        The Ellipsoid, with the axes of `covariance_axes`.

    Raises:
        InertiaError: no body has these parameters, or a flat one without `thinnest`.

    Source: paper B, Figure 2.
    """
    com, lengths, directions = covariance_axes(theta)
    lengths = np.maximum(lengths, thinnest)
    if not lengths[0] > 0:
        raise InertiaError(
            f"the body is flat: its covariance ellipsoid has semi-axes {lengths.tolist()} m. Plates, rods and point "
            "masses have one with thinnest=, in m; covariance_axes has their lengths"
        )
    return Ellipsoid(com, directions * lengths**2 @ directions.T)
