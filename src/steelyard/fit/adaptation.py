"""Adaptation of inertial parameters that stay those of bodies: natural adaptation (Lee, Kwon and Park 2018).

The gradient step is taken in the affine-invariant metric of pseudo-inertias J, along its geodesic,

    J <- J^1/2 exp(-gain J^1/2 G J^1/2) J^1/2

with G the gradient of `direction . theta` with respect to J. It is positive definite for every gain; small gains give
`dJ = -gain J G J`, the law whose Lyapunov function is the Bregman divergence of `-log det J`.
"""

import numpy as np
from numpy.typing import ArrayLike

from steelyard.errors import OptionError
from steelyard.inertia import pseudo

LARGEST = 3.0  # of an exponent: a step changes a body by a factor of twenty at most
THINNEST = 1e-10  # of the trace of J, below which its eigenvalues do not fall: rounding would leave no body


def natural_step(theta: ArrayLike, direction: ArrayLike, *, gain: float) -> np.ndarray:
    """Parameters of bodies after a step against a direction; bodies remain bodies, whatever its size.

    With `direction = Y(q, v, vr, ar)^T (v - vr)` and `gain = rate * period`, torques `Y theta - Kd (v - vr)` track
    (Slotine and Li 1987); `slotine_li_regressor` gives Y.

    Args:
        theta: (..., 10) of physically consistent bodies.
        direction: (..., 10) gradient with respect to theta; for several bodies (..., 10 nb) may be flat.
        gain: 1 / (unit of direction . theta); the step is relative to the size of each body.

    Returns:
        theta (..., 10).

    Raises:
        OptionError: parameters of no body, a shape that does not fit, or numbers that are not finite.
    """
    theta = np.asarray(theta, dtype=float)
    direction = np.asarray(direction, dtype=float)
    if theta.shape[-1:] != (10,) or direction.size != theta.size:
        raise OptionError(f"theta is (..., 10) and direction alike; found {theta.shape} and {direction.shape}.")
    if not (np.isfinite(direction).all() and np.isfinite(gain)):
        raise OptionError("direction and gain are finite numbers; leave samples without a measurement out.")
    values, axes = np.linalg.eigh(pseudo.to_matrix(theta))
    if not (values > 0).all():
        raise OptionError("theta has bodies that cannot exist: start from sy.inertia.Consistent().project(theta).")
    half = axes * np.sqrt(values)[..., None, :]  # J = half half^T
    speed, turned = np.linalg.eigh(-gain * half.mT @ _with_respect_to_matrix(direction.reshape(theta.shape)) @ half)
    moved = half @ turned
    values, axes = np.linalg.eigh(moved * np.exp(np.clip(speed, -LARGEST, LARGEST))[..., None, :] @ moved.mT)
    values = np.maximum(values, THINNEST * values.sum(axis=-1, keepdims=True))
    return pseudo.to_parameters(axes * values[..., None, :] @ axes.mT)


def _with_respect_to_matrix(g: np.ndarray) -> np.ndarray:
    """G (..., 4, 4) with `tr(G dJ) = g . dtheta`: inverse of `pseudo.gradient_to_parameters`."""
    m, x, y, z, xx, xy, yy, xz, yz, zz = np.moveaxis(g, -1, 0)
    rows = [[yy + zz, -xy / 2, -xz / 2, x / 2], [-xy / 2, xx + zz, -yz / 2, y / 2]]
    rows += [[-xz / 2, -yz / 2, xx + yy, z / 2], [x / 2, y / 2, z / 2, m]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
