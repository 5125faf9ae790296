"""Pseudo-inertia `J = [[Sigma, h], [h^T, m]]`, `Sigma = 1/2 tr(I) 1 - I` (paper A, "Pseudo Inertia"; Wensing 2017).

`J` holds the density-weighted moments of `[x; 1]`: linear and invertible in theta, and positive definite exactly for
bodies that can exist. Index order of the 4x4 matrix is `[x, y, z, 1]`.
"""

from steelyard.namespaces import array_namespace


def to_matrix(theta):
    """Pseudo-inertia of inertial parameters. theta: (..., 10). Returns J: (..., 4, 4) in kg m^2, kg m, kg."""
    xp = array_namespace(theta)
    m, hx, hy, hz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz = (theta[..., i] for i in range(10))
    half_trace = 0.5 * (Ixx + Iyy + Izz)
    entries = (
        *(half_trace - Ixx, -Ixy, -Ixz, hx),
        *(-Ixy, half_trace - Iyy, -Iyz, hy),
        *(-Ixz, -Iyz, half_trace - Izz, hz),
        *(hx, hy, hz, m),
    )
    return xp.stack(entries, axis=-1).reshape(*theta.shape[:-1], 4, 4)


def to_parameters(J):
    """Inertial parameters of a pseudo-inertia. J: (..., 4, 4), symmetric. Returns theta: (..., 10)."""
    xp = array_namespace(J)
    xx, yy, zz = J[..., 0, 0], J[..., 1, 1], J[..., 2, 2]
    moments = (yy + zz, -J[..., 0, 1], xx + zz, -J[..., 0, 2], -J[..., 1, 2], xx + yy)
    return xp.stack((J[..., 3, 3], J[..., 0, 3], J[..., 1, 3], J[..., 2, 3], *moments), axis=-1)


def bordered(second, h, m):
    """`[[second, h], [h^T, m]]` (..., 4, 4) of (..., 3, 3), (..., 3) and (...)."""
    xp = array_namespace(second)
    top = xp.concat([second, h[..., :, None]], axis=-1)
    bottom = xp.concat([h, m[..., None]], axis=-1)
    return xp.concat([top, bottom[..., None, :]], axis=-2)


def gradient_to_parameters(G):
    """Gradient (..., 10) with respect to theta of `df = tr(G dJ)`, G (..., 4, 4) symmetric (adjoint of `to_matrix`)."""
    xp = array_namespace(G)
    xx, yy, zz = G[..., 0, 0], G[..., 1, 1], G[..., 2, 2]
    half_trace = 0.5 * (xx + yy + zz)
    xy, xz, yz, *h = (2 * G[..., i, j] for i, j in ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)))
    moments = (half_trace - xx, -xy, half_trace - yy, -xz, -yz, half_trace - zz)
    return xp.stack((G[..., 3, 3], *h, *moments), axis=-1)


def smallest_eigenvalue(theta):
    """Smallest eigenvalue of the pseudo-inertia; positive for consistent bodies. theta: (..., 10). Returns (...)."""
    xp = array_namespace(theta)
    return xp.linalg.eigvalsh(to_matrix(theta))[..., 0]
