"""Log-Cholesky chart of the consistent inertias (Rucker and Wensing 2022; paper A, section "Log-Cholesky").

`J = U U^T`, `U = e^alpha [[e^d1, s12, s13, t1], [0, e^d2, s23, t2], [0, 0, e^d3, t3], [0, 0, 0, 1]]`. Smooth, global
and one-to-one: every `phi` in R^10 is one consistent body, and there is no singular locus, since
`det(d theta / d phi) = 32 exp(20 alpha + 2 d1 + 3 d2 + 4 d3)`. `t` is the centre of mass, `e^(2 alpha)` the mass.
"""

from steelyard.inertia import batches, pseudo
from steelyard.inertia.batches import in_blocks
from steelyard.namespaces import array_namespace

NAMES = ("alpha", "d1", "d2", "d3", "s12", "s23", "s13", "t1", "t2", "t3")


def to_parameters(phi):
    """Inertial parameters of a chart point.

    phi: (..., 10) `[alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3]`; s and t in m, `e^d` in m, `e^(2 alpha)` in kg.
    Returns theta: (..., 10), always consistent.
    """
    return _to_parameters(batches.as_vector(phi, "phi"))


def from_parameters(theta):
    """Chart point of a consistent body. theta: (..., 10). Returns phi: (..., 10). Raises InertiaError for any other."""
    U = factor(theta)
    xp = array_namespace(U)
    mass_root = U[..., 3, 3]
    alpha = xp.log(mass_root)
    d = (xp.log(U[..., i, i]) - alpha for i in range(3))
    off_diagonal = (U[..., i, j] / mass_root for i, j in ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3)))
    return xp.stack([alpha, *d, *off_diagonal], axis=-1)


def factor(theta, *, name="theta"):
    """Upper triangular U (..., 4, 4), positive diagonal, `J = U U^T`, in closed form, last row first; its squared
    pivots decide whether J is positive definite. Raises InertiaError, with `name` for theta."""
    theta = batches.as_vector(theta, name)
    xp = array_namespace(theta)
    clean, ok = batches.finite_bodies(theta)
    J = pseudo.to_matrix(clean)
    u44, ok = _root(J[..., 3, 3], ok)
    u14, u24, u34 = (J[..., i, 3] / u44 for i in range(3))
    u33, ok = _root(J[..., 2, 2] - u34 * u34, ok)
    u13, u23 = ((J[..., i, 2] - u * u34) / u33 for i, u in ((0, u14), (1, u24)))
    u22, ok = _root(J[..., 1, 1] - u24 * u24 - u23 * u23, ok)
    u12 = (J[..., 0, 1] - u14 * u24 - u13 * u23) / u22
    u11, ok = _root(J[..., 0, 0] - u14 * u14 - u13 * u13 - u12 * u12, ok)
    batches.require_consistent(theta, ok, name)
    o = xp.zeros_like(u11)
    rows = ((u11, u12, u13, u14), (o, u22, u23, u24), (o, o, u33, u34), (o, o, o, u44))
    U = xp.stack([xp.stack(row, axis=-1) for row in rows], axis=-2)
    return xp.where(ok[..., None, None], U, xp.nan)


def jacobian(phi):
    """Analytic derivative `d theta / d phi`. phi: (..., 10). Returns (..., 10, 10), rows theta, columns phi."""
    return _jacobian(batches.as_vector(phi, "phi"))


def _root(pivot, ok):
    """Square root of a positive pivot and whether all pivots so far are; 1 where it is not, so that nothing warns."""
    xp = array_namespace(pivot)
    ok = ok & (pivot > 0)
    return xp.sqrt(xp.where(ok, pivot, 1.0)), ok


def _moments(e1, e2, e3, s12, s23, s13, t1, t2, t3):
    """Second moments over mass `xx, yy, zz, xy, xz, yz`: the upper left block of `U U^T e^(-2 alpha)`."""
    xx = e1 * e1 + s12 * s12 + s13 * s13 + t1 * t1
    yy = e2 * e2 + s23 * s23 + t2 * t2
    zz = e3 * e3 + t3 * t3
    return xx, yy, zz, s12 * e2 + s13 * s23 + t1 * t2, s13 * e3 + t1 * t3, s23 * e3 + t2 * t3


@in_blocks
def _to_parameters(phi):
    xp = array_namespace(phi)
    alpha, d1, d2, d3, *rest = (phi[..., i] for i in range(10))
    m = xp.exp(2 * alpha)
    xx, yy, zz, xy, xz, yz = _moments(xp.exp(d1), xp.exp(d2), xp.exp(d3), *rest)
    h = (m * t for t in rest[-3:])
    return xp.stack([m, *h, m * (yy + zz), -m * xy, m * (xx + zz), -m * xz, -m * yz, m * (xx + yy)], axis=-1)


@in_blocks
def _jacobian(phi):
    xp = array_namespace(phi)
    alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = (phi[..., i] for i in range(10))
    m, e1, e2, e3 = xp.exp(2 * alpha), xp.exp(d1), xp.exp(d2), xp.exp(d3)
    xx, yy, zz, xy, xz, yz = _moments(e1, e2, e3, s12, s23, s13, t1, t2, t3)
    k, n, o = 2 * m, -m, xp.zeros_like(m)
    c1, c2, c3 = k * e1 * e1, k * e2 * e2, k * e3 * e3
    a12, a23, a13 = k * s12, k * s23, k * s13
    b1, b2, b3 = k * t1, k * t2, k * t3
    rows = (  # columns alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3
        (k, o, o, o, o, o, o, o, o, o),
        (b1, o, o, o, o, o, o, m, o, o),
        (b2, o, o, o, o, o, o, o, m, o),
        (b3, o, o, o, o, o, o, o, o, m),
        (k * (yy + zz), o, c2, c3, o, a23, o, o, b2, b3),
        (-k * xy, o, n * s12 * e2, o, n * e2, n * s13, n * s23, n * t2, n * t1, o),
        (k * (xx + zz), c1, o, c3, a12, o, a13, b1, o, b3),
        (-k * xz, o, o, n * s13 * e3, o, o, n * e3, n * t3, o, n * t1),
        (-k * yz, o, o, n * s23 * e3, o, n * e3, o, o, n * t3, n * t2),
        (k * (xx + yy), c1, c2, o, a12, a23, a13, b1, b2, o),
    )
    return xp.stack([xp.stack(row, axis=-1) for row in rows], axis=-2)
