"""Our default: a random density inside the shape, conditioned on the data.

Two kinds of random densities, both of which make the prior on theta Gaussian with moments that know the shape:

- fields: the shape is cut into small cells of density `rho (1 + delta)`, with `delta` a Gaussian field of deviation
  `sigma` and correlation length `ell` (in radii of gyration of the shape), as in things made of a few materials;
- lumps: masses at random places inside the shape (a Dirichlet process of few effective masses), which admits any
  density: mass in a core, on the surface, in one corner.

The mass level itself is left to the data: it may be off by as much as what forces alone say. The data weighs all of
them by evidence (marginal likelihood), so an object whose centre of mass lies off its centroid shows by itself that it
is not homogeneous. Evidence cannot speak of what the data does not show, though: a core and a shell have the centre of
mass of a homogeneous body. Intervals are therefore those of the widest prior, any density inside the shape, and hold
the estimate's distance from it. A result that no density inside the shape has is moved to the nearest that one does, in
the metric of its own covariance.

Where the shape is uncertain (`Solid.uncertain`), all of these priors are wider by what its errors do, to first order
at the likely shape, and the density may be inside that one. All errors are affine maps about the centre of the
homogeneous shape, independent and Gaussian: three shifts and three turns (`Solid.pose_std`), one scale (`scale_std`),
and the place of each of the two sides along three axes (`side_std`). A map `x -> T x` makes `T J T^T` of a
pseudo-inertia J, so that errors of a homogeneous body are exact to first order, whatever its form (paper A; of the pose
paper D, 30-34).

All of it happens in coordinates in which the homogeneous kilogram is the unit matrix, `J = L W L^T`, so that thin
shapes are as well conditioned as compact ones.
"""

from dataclasses import dataclass

import numpy as np

from steelyard.errors import FitError
from steelyard.inertia import cones, pseudo
from steelyard.numbers import ROUNDING
from steelyard.payload.entropic import unit_basis
from steelyard.payload.solid_shape import Solid, unit_masses
from steelyard.spatial import rotation_from_vector, skew

CELLS = 96
SIGMAS = (0.1, 0.2, 0.4, 0.8, 1.6)
LENGTHS = (0.25, 0.5, 1.0)
GRAIN = 0.02  # of a cell's mass, independent from cell to cell
LUMPS = (16.0, 4.0, 1.0)  # effective number of masses
ANY = 1.3  # deviations of one lump: then all mass in the core, or on the surface, of a ball, a box or a rod is within
# two (their moments lie up to 2.3 deviations of one lump from the homogeneous)
ATOMS = 400  # points inside the shape that stand for all of it
SOLID = 1e-4  # share of the homogeneous body in every result: no body is flat
SHAPE_STEPS, SHAPE_FOUND = 5, 0.05  # towards the likely shape, and the change in deviations that ends them
ERRORS = 13  # three shifts, three turns, a scale, and three sides either way
UNIT = cones.triangle(np.eye(4))
NOWHERE = np.zeros(ERRORS)


@dataclass(frozen=True, eq=False)
class DensityFit:
    """theta (10,) of the conditioned density and its covariance (10, 10), of any density inside the shape."""

    theta: np.ndarray
    covariance: np.ndarray


def density_fit(A, b, solid: Solid, mass: float) -> DensityFit:
    """Condition the random density on `A theta ~ b` (k, 10), in units of the noise. Raises FitError: no positive
    mass."""
    if not (np.isfinite(mass) and mass > 0):
        raise FitError(
            f"the forces give a mass of {mass:.4g} kg, so there is nothing to spread over the shape. Nothing is held, "
            "or the sign of wrench or gravity is wrong: sy.payload.diagnose(log) says which"
        )
    fit, offset = _fit_at(A, b, solid, mass, NOWHERE)
    for _ in range(SHAPE_STEPS if solid.uncertain else 0):  # a thin body is far from linear in its pose
        start = offset
        fit, offset = _fit_at(A, b, moved(solid, start), mass, start)
        if np.abs(offset - start).max() < SHAPE_FOUND:
            break
    return fit


def _fit_at(A, b, solid: Solid, mass: float, offset) -> tuple[DensityFit, np.ndarray]:
    """The fit with the effect of the shape's errors to first order at a shape that was changed by `offset` (13,), in
    their deviations; and which ones are likely."""
    basis = unit_basis(solid.homogeneous)
    errors = np.linalg.solve(basis, error_columns(solid))
    mean, level = UNIT - errors @ offset, np.outer(UNIT, UNIT) + errors @ errors.T
    spreads = np.array([*field_spreads(solid, basis), *(lump_spread(solid, basis) / count for count in LUMPS)]) + level
    B = mass * A @ basis
    means, covariances, evidence = zip(*(condition(B, b, spread, mean) for spread in spreads), strict=True)
    weight = np.exp(np.array(evidence) - max(evidence))
    weight = weight / weight.sum()
    w = np.tensordot(weight, means, axes=1)
    own = np.tensordot(weight, [C + np.outer(m - w, m - w) for m, C in zip(means, covariances, strict=True)], axes=1)
    likely = sum(p * _errors_of(m - mean, spread, errors) for p, m, spread in zip(weight, means, spreads, strict=True))
    w = nearest_inside(w, own, solid, basis, offset)
    wide, spread, _ = condition(B, b, any_spread(solid, basis), mean)
    theta, covariance = mass * basis @ w, mass**2 * basis @ (spread + np.outer(wide - w, wide - w)) @ basis.T
    return DensityFit(theta, covariance), np.asarray(likely)


def _errors_of(change, spread, errors) -> np.ndarray:
    """(13,) errors of the shape that are expected where w is off its mean by `change`."""
    return errors.T @ np.linalg.solve(spread + ROUNDING * np.trace(spread) * np.eye(10), change)


def field_spreads(solid: Solid, basis) -> list[np.ndarray]:
    """(10, 10) covariances of w of random fields of 1 kg, of all deviations and correlation lengths."""
    P, share, _ = solid.cells(CELLS)
    centers, columns = P[1:4].T, np.linalg.solve(basis, P) * share
    radius = np.trace(np.atleast_2d(np.cov(solid.points.T)))  # of gyration, squared
    separation = np.sum((centers[:, None] - centers) ** 2, axis=-1) / radius
    alike = [np.exp(-0.5 * separation / length**2) for length in LENGTHS]
    grain = GRAIN**2 * np.eye(len(share))
    return [columns @ (sigma**2 * field + grain) @ columns.T for field in alike for sigma in SIGMAS]


def lump_spread(solid: Solid, basis) -> np.ndarray:
    """(10, 10) covariance of w of 1 kg at one random place inside the shape."""
    return np.cov(np.linalg.solve(basis, unit_masses(solid.points)), bias=True)


def precisions(solid: Solid, basis) -> tuple[np.ndarray, np.ndarray]:
    """(10, 10) precisions of w of 1 kg: in four lumps, and of any density inside the shape."""
    usual = lump_spread(solid, basis) / 4 + np.outer(UNIT, UNIT) + shape_spread(solid, basis)
    narrow, wide = (np.linalg.inv(spread + ROUNDING * np.eye(10)) for spread in (usual, any_spread(solid, basis)))
    return narrow, wide


def any_spread(solid: Solid, basis) -> np.ndarray:
    """(10, 10) covariance of w of the widest prior: any density inside the shape, and a mass that is hardly known."""
    return ANY**2 * lump_spread(solid, basis) + np.outer(UNIT, UNIT) + shape_spread(solid, basis)


def shape_spread(solid: Solid, basis) -> np.ndarray:
    """(10, 10) covariance of w of 1 kg from the errors of the shape."""
    columns = np.linalg.solve(basis, error_columns(solid))
    return columns @ columns.T


def condition(B, b, spread, mean=UNIT):
    """Gaussian w (10,) of this mean and covariance `spread`, given `B w ~ b`: mean, covariance, log evidence."""
    values, axes = np.linalg.eigh(spread)
    root = axes * np.sqrt(np.maximum(values, ROUNDING))
    F, r = B @ root, b - B @ mean
    H = np.eye(10) + F.T @ F
    z = np.linalg.solve(H, F.T @ r)
    evidence = -0.5 * (r @ r - (F.T @ r) @ z) - 0.5 * np.linalg.slogdet(H)[1]
    return mean + root @ z, root @ np.linalg.solve(H, root.T), float(evidence)


def nearest_inside(w, covariance, solid: Solid, basis, offset=NOWHERE) -> np.ndarray:
    """The w (10,) of a positive density inside the shape that is nearest, in units of the covariance; w itself where it
    is one. An uncertain shape, which has been changed by `offset` (13,) deviations, is changed on as costs least."""
    from scipy.optimize import nnls

    points = np.concatenate([solid.sample(ATOMS), solid.corners])
    values, axes = np.linalg.eigh(covariance)
    whiten = axes.T / np.sqrt(np.maximum(values, ROUNDING * values[-1]))[:, None]
    atoms = np.linalg.solve(basis, unit_masses(points))
    if solid.uncertain:
        errors, each = whiten @ np.linalg.solve(basis, error_columns(solid)), np.eye(ERRORS)
        rows = np.block([[whiten @ atoms, errors, -errors], [np.zeros((ERRORS, len(points))), each, -each]])
        found = nnls(rows, np.concatenate([whiten @ w, -offset]))[0]
        points = moved_points(points, solid, found[-2 * ERRORS : -ERRORS] - found[-ERRORS:])
        atoms = np.linalg.solve(basis, unit_masses(points))
    masses, _ = nnls(whiten @ atoms, whiten @ w)
    return (1 - SOLID) * atoms @ masses + SOLID * masses.sum() * UNIT


def error_columns(solid: Solid) -> np.ndarray:
    """(10, 13) change of the homogeneous kilogram with one deviation of each error."""
    J, center = pseudo.to_matrix(solid.homogeneous), solid.homogeneous[1:4]
    columns = []
    for linear, shift in zip(*_generators(solid), strict=True):
        G = np.zeros((4, 4))
        G[:3, :3], G[:3, 3] = linear, shift - linear @ center
        columns.append(pseudo.to_parameters(G @ J + J @ G.T))
    return np.array(columns).T


def _generators(solid: Solid) -> tuple[np.ndarray, np.ndarray]:
    """Linear parts (13, 3, 3) about the centre, and shifts (13, 3), of one deviation of each error."""
    turn, place = solid.pose_std
    linear, shift = np.zeros((ERRORS, 3, 3)), np.zeros((ERRORS, 3))
    shift[:3] = place * np.eye(3)
    linear[3:6] = turn * skew(np.eye(3))
    linear[6] = solid.scale_std * np.eye(3)
    for k, (axis, side, length) in enumerate(zip(solid.axes.T, solid.side_std, solid.extents, strict=True)):
        linear[[7 + k, 10 + k]] = side / length * np.outer(axis, axis)
        shift[7 + k], shift[10 + k] = side / 2 * axis, -side / 2 * axis
    return linear, shift


def place_deviation(solid: Solid) -> float:
    """Standard deviation of the place of a point at the shape's end, m."""
    turn, shift = solid.pose_std
    reach = np.linalg.norm(solid.sides) / 2
    return float(np.hypot(np.hypot(shift, turn * reach), np.hypot(solid.scale_std * reach, solid.side_std.max())))


def moved(solid: Solid, deviations) -> Solid:
    """The shape after errors (13,), in deviations."""
    return solid.mapped(*_map(solid, deviations))


def moved_points(points, solid: Solid, deviations) -> np.ndarray:
    """Points (n, 3) of the shape after errors (13,), in deviations."""
    linear, shift = _map(solid, deviations)
    center = solid.homogeneous[1:4]
    return (points - center) @ linear.T + center + shift


def _map(solid: Solid, deviations) -> tuple[np.ndarray, np.ndarray]:
    """Linear part (3, 3) about the centre of the homogeneous shape, and shift (3,) in m."""
    z = np.asarray(deviations, dtype=float)
    turn, place = solid.pose_std
    outward, inward = solid.side_std * z[7:10], solid.side_std * z[10:]
    factors = np.exp(solid.scale_std * z[6] + (outward + inward) / solid.extents)
    linear = rotation_from_vector(turn * z[3:6]) @ (solid.axes * factors) @ solid.axes.T
    return linear, place * z[:3] + solid.axes @ (outward - inward) / 2
