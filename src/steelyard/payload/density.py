"""Our default: a random density inside the shape, conditioned on the data.

Two kinds of random densities, both of which make the prior on theta Gaussian with moments that know the shape:

- fields: the shape is cut into small cells of density `rho (1 + delta)`, with `delta` a Gaussian field of deviation
  `sigma` and correlation length `ell` (in radii of gyration of the shape), as in things made of a few materials;
- lumps: masses at random places inside the shape (a Dirichlet process of few effective masses), which admits any
  density: mass in a core, on the surface, in one corner.

The mass level itself is left to the data. The data weighs all of them by evidence (marginal likelihood), so an object
whose centre of mass lies off its centroid shows by itself that it is not homogeneous. Evidence cannot speak of what the
data does not show, though: a core and a shell have the centre of mass of a homogeneous body. Intervals are therefore
those of the widest prior, any density inside the shape, and hold the estimate's distance from it. A result that no
density inside the shape has is moved to the nearest that one does, in the metric of its own covariance.

Where the shape's pose is uncertain (`Solid.pose_std`), all of these priors are wider by what a motion of the shape
does, to first order at its likely place, and the density may be inside the shape that is moved there. Its errors are
three turns about the centre of the homogeneous shape and three shifts, independent and Gaussian; to first order they
change the parameters of the homogeneous body along six directions (paper D, 30-34).

All of it happens in coordinates in which the homogeneous kilogram is the unit matrix, `J = L W L^T`, so that thin
shapes are as well conditioned as compact ones.
"""

from dataclasses import dataclass, replace

import numpy as np

from steelyard.errors import FitError
from steelyard.inertia import cones, parameters
from steelyard.inertia.rotation import from_vector
from steelyard.payload.entropic import unit_basis
from steelyard.payload.solid_shape import Solid, unit_masses
from steelyard.spatial import skew

CELLS = 96
SIGMAS = (0.1, 0.2, 0.4, 0.8, 1.6)
LENGTHS = (0.25, 0.5, 1.0)
GRAIN = 0.02  # of a cell's mass, independent from cell to cell
LUMPS = (16.0, 4.0, 1.0)  # effective number of masses
ANY = 1.3  # deviations of one lump: then all mass in the core, or on the surface, of a ball, a box or a rod is within
# two (their moments lie up to 2.3 deviations of one lump from the homogeneous)
LEVEL = 1.0  # of the mass: how far the overall level may be from what forces alone say
WORTH = 0.02  # evidence share below which a prior is left out
ATOMS = 400  # points inside the shape that stand for all of it
SOLID = 1e-4  # share of the homogeneous body in every result: no body is flat
POSE_STEPS, POSE_FOUND = 5, 0.05  # of the pose, and its change in deviations that ends them
FLOOR = 1e-12  # of a variance: thin shapes leave hardly any across
UNIT = cones.triangle(np.eye(4))
SIX, NOWHERE = np.eye(6), np.zeros(6)


@dataclass(frozen=True, eq=False)
class DensityFit:
    """theta (10,) of the conditioned density and its covariance (10, 10), of any density inside the shape."""

    theta: np.ndarray
    covariance: np.ndarray


def density_fit(A, b, solid: Solid, mass: float) -> DensityFit:
    """Condition the random density on `A theta ~ b` (k, 10), in units of the noise. mass: kg, from forces.

    Raises FitError for a mass that is not positive.
    """
    if not (np.isfinite(mass) and mass > 0):
        raise FitError(
            f"the forces give a mass of {mass:.4g} kg, so there is nothing to spread over the shape. Nothing is held, "
            "or the sign of wrench or gravity is wrong: sy.payload.diagnose(log) says which"
        )
    fit, offset = _fit_at(A, b, solid, mass, np.zeros(6))
    for _ in range(POSE_STEPS if any(solid.pose_std) else 0):  # a thin body is far from linear in its pose
        start = offset
        fit, offset = _fit_at(A, b, moved(solid, start), mass, start)
        if np.abs(offset - start).max() < POSE_FOUND:
            break
    return fit


def _fit_at(A, b, solid: Solid, mass: float, offset) -> tuple[DensityFit, np.ndarray]:
    """The fit with the effect of the pose to first order at a shape that was moved by `offset` (6,), in deviations of
    the pose; and where the shape is likely to be."""
    basis = unit_basis(solid.homogeneous)
    pose = np.linalg.solve(basis, pose_columns(solid))
    mean, level = UNIT - pose @ offset, LEVEL**2 * np.outer(UNIT, UNIT) + pose @ pose.T
    spreads = np.array([*field_spreads(solid, basis), *(lump_spread(solid, basis) / count for count in LUMPS)]) + level
    B = mass * A @ basis
    means, covariances, evidence = zip(*(condition(B, b, spread, mean) for spread in spreads), strict=True)
    weight = np.exp(np.array(evidence) - max(evidence))
    weight = np.where(weight >= WORTH, weight, 0.0) / weight[weight >= WORTH].sum()
    w = np.tensordot(weight, means, axes=1)
    own = np.tensordot(weight, [C + np.outer(m - w, m - w) for m, C in zip(means, covariances, strict=True)], axes=1)
    likely = sum(p * _pose_of(m - mean, spread, pose) for p, m, spread in zip(weight, means, spreads, strict=True) if p)
    w = nearest_inside(w, own, solid, basis, offset)
    wide, spread, _ = condition(B, b, any_spread(solid, basis), mean)
    theta, covariance = mass * basis @ w, mass**2 * basis @ (spread + np.outer(wide - w, wide - w)) @ basis.T
    return DensityFit(theta, covariance), np.asarray(likely)


def _pose_of(change, spread, pose) -> np.ndarray:
    """(6,) deviations of the pose that are expected where w is off its mean by `change`."""
    return pose.T @ np.linalg.solve(spread + FLOOR * np.trace(spread) * np.eye(10), change)


def field_spreads(solid: Solid, basis) -> list[np.ndarray]:
    """(10, 10) covariances of w of random fields of 1 kg, of all deviations and correlation lengths."""
    P, share, _ = solid.cells(CELLS)
    separation, columns = _separation(P[1:4].T, solid), np.linalg.solve(basis, P) * share
    alike = [np.exp(-0.5 * separation / length**2) for length in LENGTHS]
    grain = GRAIN**2 * np.eye(len(share))
    return [columns @ (sigma**2 * field + grain) @ columns.T for field in alike for sigma in SIGMAS]


def lump_spread(solid: Solid, basis) -> np.ndarray:
    """(10, 10) covariance of w of 1 kg at one random place inside the shape."""
    return np.cov(np.linalg.solve(basis, unit_masses(solid.points)), bias=True)


def precisions(solid: Solid, basis) -> tuple[np.ndarray, np.ndarray]:
    """(10, 10) precisions of w of 1 kg: in four lumps, and of any density inside the shape."""
    usual = lump_spread(solid, basis) / 4 + LEVEL**2 * np.outer(UNIT, UNIT) + pose_spread(solid, basis)
    narrow, wide = (np.linalg.inv(spread + FLOOR * np.eye(10)) for spread in (usual, any_spread(solid, basis)))
    return narrow, wide


def any_spread(solid: Solid, basis) -> np.ndarray:
    """(10, 10) covariance of w of the widest prior: any density inside the shape, and a mass that is hardly known."""
    return ANY**2 * lump_spread(solid, basis) + LEVEL**2 * np.outer(UNIT, UNIT) + pose_spread(solid, basis)


def pose_spread(solid: Solid, basis) -> np.ndarray:
    """(10, 10) covariance of w of 1 kg from the pose of the shape."""
    columns = np.linalg.solve(basis, pose_columns(solid))
    return columns @ columns.T


def condition(B, b, spread, mean=UNIT):
    """Gaussian w (10,) of this mean and covariance `spread`, given `B w ~ b`: mean, covariance, log evidence."""
    values, axes = np.linalg.eigh(spread)
    root = axes * np.sqrt(np.maximum(values, FLOOR))
    F, r = B @ root, b - B @ mean
    H = np.eye(10) + F.T @ F
    z = np.linalg.solve(H, F.T @ r)
    evidence = -0.5 * (r @ r - (F.T @ r) @ z) - 0.5 * np.linalg.slogdet(H)[1]
    return mean + root @ z, root @ np.linalg.solve(H, root.T), float(evidence)


def nearest_inside(w, covariance, solid: Solid, basis, offset=NOWHERE) -> np.ndarray:
    """The w (10,) of a positive density inside the shape that is nearest, in units of the covariance; w itself where it
    is one. A shape of uncertain pose, which has been moved by `offset` (6,) deviations, is moved on as costs least."""
    from scipy.optimize import nnls

    points = np.concatenate([solid.sample(ATOMS), solid.corners])
    values, axes = np.linalg.eigh(covariance)
    whiten = axes.T / np.sqrt(np.maximum(values, FLOOR * values[-1]))[:, None]
    atoms = np.linalg.solve(basis, unit_masses(points))
    if any(solid.pose_std):
        poses = np.linalg.solve(basis, pose_columns(solid))
        rows = np.block([[whiten @ atoms, whiten @ poses, -whiten @ poses], [np.zeros((6, len(points))), SIX, -SIX]])
        found = nnls(rows, np.concatenate([whiten @ w, -offset]))[0]
        points = moved_points(points, solid, found[-12:-6] - found[-6:])
        atoms = np.linalg.solve(basis, unit_masses(points))
    masses, _ = nnls(whiten @ atoms, whiten @ w)
    return (1 - SOLID) * atoms @ masses + SOLID * masses.sum() * UNIT


def _separation(centers, solid):
    """(k, k) squared distances of cells, in radii of gyration of the shape."""
    radius = np.trace(np.atleast_2d(np.cov(solid.points.T)))
    return np.sum((centers[:, None] - centers) ** 2, axis=-1) / radius


def pose_columns(solid: Solid) -> np.ndarray:
    """(10, 6) change of the homogeneous kilogram with one deviation of each shift and turn."""
    D, center = parameters.transform_derivative(solid.homogeneous), solid.homogeneous[1:4]
    turn, shift = solid.pose_std
    return np.concatenate([shift * D[:, :3], turn * (D[:, 3:] + D[:, :3] @ skew(center))], axis=1)


def place_deviation(solid: Solid) -> float:
    """Standard deviation of the place of a point at the shape's end, m."""
    turn, shift = solid.pose_std
    return float(np.hypot(shift, turn * np.linalg.norm(solid.sides) / 2))


def moved(solid: Solid, deviations) -> Solid:
    """The shape after shifts and turns (6,), in deviations."""
    points = moved_points(solid.points, solid, deviations)
    half = solid.spacing / 2
    R, shift = _motion(solid, deviations)
    center = solid.homogeneous[1:4]
    homogeneous = parameters.transform(solid.homogeneous, R, center + shift - R @ center)
    return replace(
        solid,
        points=points,
        lower=points.min(axis=0) - half,
        upper=points.max(axis=0) + half,
        homogeneous=homogeneous,
    )


def moved_points(points, solid: Solid, deviations) -> np.ndarray:
    """Points (n, 3) of the shape after shifts and turns (6,), in deviations."""
    R, shift = _motion(solid, deviations)
    center = solid.homogeneous[1:4]
    return (points - center) @ R.T + center + shift


def _motion(solid, deviations):
    """Rotation (3, 3) about the centre of the homogeneous shape, and shift (3,) in m."""
    turn, shift = solid.pose_std
    return from_vector(turn * np.asarray(deviations[3:])), shift * np.asarray(deviations[:3])
