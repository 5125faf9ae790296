"""Distances between bodies through their pseudo-inertias, with gradients (Lee, Wensing and Park 2020).

All are affine invariant (the same in any units and any frame): they depend only on the eigenvalues of `J0^{-1} J`. For
a fit, `entropic` is convex in theta and a barrier for consistency, `pullback` is its quadratic model at
theta0, `riemannian` is the geodesic length between two bodies (symmetric, but not convex in theta).
"""

from steelyard.inertia import batches, log_cholesky, pseudo
from steelyard.namespaces import array_namespace


def entropic(theta, theta0):
    """Entropic (Bregman) divergence `tr(J0^{-1} J) - log det(J0^{-1} J) - 4` of theta from the reference theta0.

    theta, theta0: (..., 10), broadcast. Returns (...), unitless, zero only at theta0, `+inf` where theta is not
    consistent (it is a barrier). Raises InertiaError if theta0 is not consistent.
    """
    x, _ = _relative_spectrum(theta, theta0)
    xp = array_namespace(x)
    outside = x[..., 0] <= -1
    value = xp.sum(x - xp.log1p(xp.where(outside[..., None], 0.0, x)), axis=-1)
    return xp.where(outside, xp.inf, value)


def entropic_gradient(theta, theta0):
    """Gradient of `entropic` with respect to theta. Returns (..., 10). The Hessian is `pullback_metric(theta)`.

    Raises InertiaError if either body is not consistent.
    """
    x, basis = _consistent_spectrum(theta, theta0)
    xp = array_namespace(basis)
    weights = x / (1 + x)  # df = sum weights_i (B^T dJ B)_ii
    return pseudo.gradient_to_parameters((basis * weights[..., None, :]) @ xp.matrix_transpose(basis))


def pullback(theta, theta0):
    """Constant pullback metric at theta0: `1/2 ||J0^{-1/2} (J - J0) J0^{-1/2}||_F^2`, quadratic in theta.

    theta: (..., 10), any; theta0: (..., 10), consistent (else InertiaError). Returns (...), unitless.
    """
    x, _ = _relative_spectrum(theta, theta0)
    return array_namespace(x).sum(x * x, axis=-1) / 2


def pullback_metric(theta0):
    """Matrix G of the pullback metric: `pullback(theta, theta0) = 1/2 d^T G d`, `d = theta - theta0`.

    theta0: (..., 10), consistent (else InertiaError). Returns (..., 10, 10), symmetric positive definite; also the
    Hessian of `entropic` at theta0, `G_ij = tr(J0^{-1} J(e_i) J0^{-1} J(e_j))`.
    """
    factor = log_cholesky.factor(theta0, name="theta0")[..., None, :, :]
    xp = array_namespace(factor)
    units = _congruence(factor, pseudo.to_matrix(xp.eye(10, dtype=factor.dtype)))
    flat = xp.reshape(units, (*units.shape[:-2], 16))
    return flat @ xp.matrix_transpose(flat)


def riemannian(theta, theta0):
    """Affine-invariant distance `||log(J0^{-1/2} J J0^{-1/2})||_F`; symmetric, satisfies the triangle inequality.

    Args:
        theta: (..., 10) inertial parameters.
        theta0: (..., 10) of the other body.

    Returns:
        (...), unitless.

    Raises:
        InertiaError: either body is not physically consistent.
    """
    x, _ = _consistent_spectrum(theta, theta0)
    xp = array_namespace(x)
    return xp.linalg.vector_norm(xp.log1p(x), axis=-1)


def geodesic(theta0, theta1, s):
    """Point at fraction s of the shortest path from theta0 to theta1, `J0^{1/2} (J0^{-1/2} J1 J0^{-1/2})^s J0^{1/2}`.

    theta0, theta1: (..., 10), consistent (else InertiaError); s: (...) any real numbers, outside [0, 1] extrapolates.
    Returns (..., 10), consistent; its distance from theta0 is `|s| riemannian(theta1, theta0)`.
    """
    x, basis = _consistent_spectrum(theta1, theta0)
    xp = array_namespace(x)
    s = xp.asarray(s, dtype=x.dtype)[..., None]
    frame = xp.matrix_transpose(xp.linalg.inv(basis))
    powers = xp.exp(s * xp.log1p(x))
    return pseudo.to_parameters((frame * powers[..., None, :]) @ xp.matrix_transpose(frame))


def _relative_spectrum(theta, theta0):
    """x: (..., 4), ascending, and B: (..., 4, 4) with `B^T J0 B = 1`, `B^T J B = diag(1 + x)`.

    Taken from `J - J0`, so bodies that are nearly equal keep their relative accuracy.
    """
    theta, theta0 = batches.as_vector(theta, "theta"), batches.as_vector(theta0, "theta0")
    xp = array_namespace(theta, theta0)
    clean, finite = batches.finite_bodies(theta)
    batches.require_consistent(theta, finite)
    factor = log_cholesky.factor(theta0, name="theta0")
    x, Q = xp.linalg.eigh(_congruence(factor, pseudo.to_matrix(clean - theta0)))
    return x, xp.linalg.solve(xp.matrix_transpose(factor), Q)


def _consistent_spectrum(theta, theta0):
    """`_relative_spectrum` of a body that must be consistent."""
    x, basis = _relative_spectrum(theta, theta0)
    xp = array_namespace(x)
    ok = x[..., 0] > -1
    batches.require_consistent(xp.broadcast_to(batches.as_vector(theta, "theta"), (*ok.shape, 10)), ok)
    return xp.where(ok[..., None], x, xp.nan), basis


def _congruence(factor, D):
    """`F^{-1} D F^{-T}` of a symmetric D, over batch axes."""
    xp = array_namespace(factor, D)
    half = xp.linalg.solve(factor, xp.broadcast_to(D, (*xp.broadcast_shapes(factor.shape[:-2], D.shape[:-2]), 4, 4)))
    whole = xp.linalg.solve(factor, xp.matrix_transpose(half))
    return (whole + xp.matrix_transpose(whole)) / 2
