"""Principal chart: mass, first moment, principal axes and second moments (paper A, "Eigen Decomposition").

`psi = [m, h, beta, L]`: `R = exp(S(beta))` are the principal axes and `L` the second moments **about the centre of
mass** along them, `I = R diag(Ly+Lz, Lx+Lz, Lx+Ly) R^T + m S(c)^T S(c)`, `c = h / m`. Paper A writes the first term
alone; about the origin, `L > 0` would not make the body consistent. Readable, but never the default:

- the domain is `m > 0`, `L > 0`, not all of R^10;
- `|det(d theta / d psi)| = 4 (1 - cos|beta|) / |beta|^2 |(Lx-Ly)(Ly-Lz)(Lz-Lx)|`: the Jacobian is singular wherever
  two second moments are equal (any body of revolution, cube or ball) and at full turns `|beta| = 2 pi k`;
- it is not one-to-one: 24 relabelings of the axes, and full turns of each, give the same body. `from_parameters`
  returns the one with the smallest rotation (at most 62.8 degrees), which jumps where two relabelings tie.
"""

import itertools

import numpy as np

from steelyard.inertia import batches, parameters, pseudo
from steelyard.inertia.batches import in_blocks
from steelyard.namespaces import array_namespace
from steelyard.spatial import left_jacobian, rotation_from_vector, rotation_vector, skew

NAMES = ("m", "hx", "hy", "hz", "beta_x", "beta_y", "beta_z", "Lx", "Ly", "Lz")


def to_parameters(psi):
    """Inertial parameters of a chart point.

    psi: (..., 10) `[m, h, beta, L]` in kg, kg m, rad, kg m^2. Returns theta: (..., 10).
    Raises InertiaError unless m and L are positive.
    """
    psi = _positive(batches.as_vector(psi, "psi"))
    xp = array_namespace(psi)
    m, h, R, L = psi[..., 0], psi[..., 1:4], rotation_from_vector(psi[..., 4:7]), psi[..., 7:]
    central = (R * L[..., None, :]) @ xp.matrix_transpose(R)
    second = central + h[..., :, None] * h[..., None, :] / m[..., None, None]
    return pseudo.to_parameters(pseudo.bordered(second, h, m))


def from_parameters(theta):
    """A chart point of a consistent body: the one with the smallest rotation. theta: (..., 10). Returns psi: (..., 10).

    Raises InertiaError if any pseudo-inertia is not positive definite.
    """
    theta = batches.as_vector(theta, "theta")
    xp = array_namespace(theta)
    clean, ok = batches.finite_bodies(theta)
    ok = ok & (clean[..., 0] > 0)
    batches.require_consistent(theta, ok)
    mass, _, central_inertia = parameters.to_com_inertia(clean)
    R, moments = principal_axes(central_inertia)
    L = xp.sum(moments, axis=-1, keepdims=True) / 2 - moments
    ok = ok & xp.all(L > 0, axis=-1)
    batches.require_consistent(theta, ok)
    psi = xp.concat([mass[..., None], theta[..., 1:4], rotation_vector(R), L], axis=-1)
    return xp.where(ok[..., None], psi, xp.nan)


def jacobian(psi):
    """Analytic derivative `d theta / d psi`. psi: (..., 10). Returns (..., 10, 10); singular on the loci above."""
    return _jacobian(_positive(batches.as_vector(psi, "psi")))


def principal_axes(matrix):
    """Proper rotation R nearest the identity and values of symmetric `matrix = R diag(values) R^T` (..., 3, 3)."""
    xp = array_namespace(matrix)
    values, V = xp.linalg.eigh(matrix)
    V = V * xp.where(xp.linalg.det(V) < 0, -1.0, 1.0)[..., None, None]
    turns = xp.asarray(_axis_relabelings(), dtype=values.dtype)
    traces = xp.sum(V[..., None, :, :] * xp.matrix_transpose(turns), axis=(-2, -1))
    pick = xp.astype(xp.arange(24) == xp.argmax(traces, axis=-1)[..., None], values.dtype)
    turn = xp.sum(pick[..., None, None] * turns, axis=-3)
    return V @ turn, xp.sum(values[..., :, None] * turn**2, axis=-2)


@in_blocks
def _jacobian(psi):
    xp = array_namespace(psi)
    m, h, beta, L = psi[..., 0][..., None, None], psi[..., 1:4], psi[..., 4:7], psi[..., 7:]
    R = rotation_from_vector(beta)
    units = xp.broadcast_to(xp.eye(3, dtype=psi.dtype), (*psi.shape[:-1], 3, 3))
    zero3, zero1 = xp.zeros_like(units), xp.zeros_like(m[..., 0])

    by_mass = -h[..., :, None] * h[..., None, :] / m**2
    lever = units[..., :, :, None] * h[..., None, None, :] / m[..., None]
    by_h = lever + xp.matrix_transpose(lever)
    spin = skew(xp.matrix_transpose(left_jacobian(beta)))  # turning rate of R by each entry of beta
    turning = spin @ ((R * L[..., None, :]) @ xp.matrix_transpose(R))[..., None, :, :]
    by_beta = turning + xp.matrix_transpose(turning)
    axes = xp.matrix_transpose(R)
    by_L = axes[..., :, :, None] * axes[..., :, None, :]

    second = xp.concat([by_mass[..., None, :, :], by_h, by_beta, by_L], axis=-3)
    dh = xp.concat([xp.zeros_like(units[..., :1, :]), units, zero3, zero3], axis=-2)
    dm = xp.concat([xp.ones_like(zero1), *[zero1] * 9], axis=-1)
    return xp.matrix_transpose(pseudo.to_parameters(pseudo.bordered(second, dh, dm)))


def _positive(psi):
    batches.require_positive(psi[..., :1], "mass m of psi", "kg", psi.shape[:-1])
    batches.require_positive(psi[..., 7:], "principal second moments L of psi", "kg m^2", psi.shape[:-1])
    return psi


def _axis_relabelings():
    """The 24 rotations that map the coordinate axes onto themselves: (24, 3, 3)."""
    signed = (
        np.diag(signs)[list(order)]
        for order in itertools.permutations(range(3))
        for signs in itertools.product((1, -1), repeat=3)
    )
    return np.stack([turn for turn in signed if np.linalg.det(turn) > 0]).astype(float)
