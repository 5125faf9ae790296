"""The ten inertial parameters of a rigid body and their other spellings.

`theta = [m, hx, hy, hz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz]` in kg, kg m, kg m^2: first moment `h = m c`, inertia about the
**origin** of the body frame, in body axes (paper A). Functions take leading batch axes and any array-API namespace.
"""

from steelyard.errors import InertiaError
from steelyard.inertia import batches, pseudo
from steelyard.namespaces import array_namespace
from steelyard.spatial import skew

NAMES = ("m", "hx", "hy", "hz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
UNITS = ("kg", "kg m", "kg m", "kg m", *("kg m^2",) * 6)
TENSOR = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))  # entries of a tensor in the order of these
DIAGONAL_FIRST = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # as files and tables list them
WATER = 1000.0  # kg/m^3


def rotational_inertia(theta):
    """Inertia matrix about the origin of the body frame.

    Args:
        theta: (..., 10) inertial parameters.

    Returns:
        (..., 3, 3) in kg m^2.
    """
    return symmetric(*(theta[..., i] for i in range(4, 10)))


def symmetric(xx, xy, yy, xz, yz, zz):
    """(..., 3, 3) of its entries (...)."""
    xp = array_namespace(xx)
    return xp.stack([xp.stack(row, axis=-1) for row in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))], axis=-2)


def from_origin_inertia(mass, first_moment, inertia_origin):
    """Inertial parameters from mass, first moment and inertia about the origin.

    Args:
        mass: (...) in kg.
        first_moment: (..., 3) `h = m c` in kg m.
        inertia_origin: (..., 3, 3) in kg m^2.

    Returns:
        (..., 10).
    """
    xp = array_namespace(first_moment, inertia_origin)
    I = inertia_origin
    columns = (mass, *(first_moment[..., i] for i in range(3)), *(I[..., i, j] for i, j in TENSOR))
    return xp.stack(xp.broadcast_arrays(*(xp.asarray(c) for c in columns)), axis=-1)


def from_com_inertia(mass, com, inertia_com):
    """Inertial parameters of a body given about its centre of mass.

    Args:
        mass: (...) kg.
        com: (..., 3) centre of mass in the body frame, m.
        inertia_com: (..., 3, 3) inertia about the centre of mass, body axes, kg m^2.

    Returns:
        (..., 10) `[m, hx, hy, hz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz]`, inertia about the body-frame origin (paper A).

    Example:
        >>> import numpy as np
        >>> import steelyard as sy
        >>> sy.inertia.from_com_inertia(2.0, np.array([0.1, 0.0, 0.0]), 0.01 * np.eye(3))
        array([2.  , 0.2 , 0.  , 0.  , 0.01, 0.  , 0.03, 0.  , 0.  , 0.03])
    """
    xp = array_namespace(com, inertia_com)
    mass = xp.asarray(mass)
    Sc = skew(com)
    inertia_origin = inertia_com + mass[..., None, None] * (xp.matrix_transpose(Sc) @ Sc)
    return from_origin_inertia(mass, mass[..., None] * com, inertia_origin)


def to_origin_inertia(theta):
    """Mass, first moment and inertia about the origin.

    Args:
        theta: (..., 10) inertial parameters.

    Returns:
        Mass (...) in kg, first moment h (..., 3) in kg m, inertia (..., 3, 3) in kg m^2.
    """
    return theta[..., 0], theta[..., 1:4], rotational_inertia(theta)


def to_com_inertia(theta):
    """Mass, centre of mass and inertia about it.

    A body of zero mass and zero first moment (a bare frame) has its centre put at the origin.

    Args:
        theta: (..., 10) inertial parameters.

    Returns:
        Mass (...) in kg, centre (..., 3) in m, inertia (..., 3, 3) in kg m^2.

    Raises:
        InertiaError: a body with a first moment but no mass, so no centre.
    """
    xp = array_namespace(theta)
    mass, h, inertia_origin = to_origin_inertia(theta)
    massless = mass == 0
    index = batches.first_false(~massless | xp.all(h == 0, axis=-1))
    if index is not None:
        raise InertiaError(
            f"{batches.place(index, massless.shape)} has zero mass but first moment {h[index].tolist()} kg m; "
            "its centre of mass is undefined. Give it a mass, or set its first moment to zero"
        )
    com = h / xp.where(massless, 1.0, mass)[..., None]
    Sc = skew(com)
    return mass, com, inertia_origin - mass[..., None, None] * (xp.matrix_transpose(Sc) @ Sc)


def to_spatial_inertia(theta):
    """Spatial inertia `[[m 1, -S(h)], [S(h), I]]` for `[v; w]` vectors.

    Args:
        theta: (..., 10) inertial parameters.

    Returns:
        (..., 6, 6).
    """
    xp = array_namespace(theta)
    Sh = skew(theta[..., 1:4])
    m1 = theta[..., 0][..., None, None] * xp.eye(3, dtype=theta.dtype)
    top = xp.concat([m1, -Sh], axis=-1)
    bottom = xp.concat([Sh, rotational_inertia(theta)], axis=-1)
    return xp.concat([top, bottom], axis=-2)


def from_spatial_inertia(M):
    """Inverse of `to_spatial_inertia`.

    Args:
        M: (..., 6, 6), symmetric.

    Returns:
        (..., 10) inertial parameters.
    """
    xp = array_namespace(M)
    first_moment = xp.stack([M[..., 5, 1], M[..., 3, 2], M[..., 4, 0]], axis=-1)
    return from_origin_inertia(M[..., 0, 0], first_moment, M[..., 3:, 3:])


def transform(theta, R, p):
    """Inertial parameters of the same body in another frame: `J' = T J T^T`, `T = [[R, p], [0, 1]]`, linear in theta.

    Args:
        theta: (..., 10) in the child frame.
        R: (..., 3, 3) parent_from_child rotation.
        p: (..., 3) origin of the child in the parent, m.

    Returns:
        (..., 10) in the parent frame.

    Source: paper C, `B(X)`.
    """
    xp = array_namespace(theta, R, p)
    J = pseudo.to_matrix(theta)
    h, m = J[..., :3, 3], J[..., 3, 3]
    Rh = (R @ h[..., None])[..., 0]
    moved_h = Rh + m[..., None] * p
    outer = Rh[..., :, None] * p[..., None, :]
    second = (
        R @ J[..., :3, :3] @ xp.matrix_transpose(R)
        + outer
        + xp.matrix_transpose(outer)
        + m[..., None, None] * (p[..., :, None] * p[..., None, :])
    )
    m = xp.broadcast_to(m, moved_h.shape[:-1])
    return pseudo.to_parameters(pseudo.bordered(second, moved_h, m))


def transform_matrix(R, p):
    """Matrix of `transform`: `transform(theta, R, p) = B theta`.

    Args:
        R: (..., 3, 3) parent_from_child rotation.
        p: (..., 3) origin of the child in the parent, m.

    Returns:
        B (..., 10, 10).

    Source: paper C, eq. 39, in our orders.
    """
    xp = array_namespace(R, p)
    units = xp.eye(10, dtype=R.dtype)
    return xp.matrix_transpose(transform(units, R[..., None, :, :], p[..., None, :]))


def transform_derivative(theta):
    """Derivative of the parameters as the body moves in the frame they are written in.

    The body moves by the twist `eta = [dv; dw]` of that frame: its pose becomes `exp(eta) T`. Then `dm = 0`, `dh = m dv
    - S(h) dw`, `dI = S(dw) I - I S(dw) - S(dv) S(h) - S(h) S(dv)`.

    Args:
        theta: (..., 10) in a fixed frame.

    Returns:
        d theta / d eta (..., 10, 6).

    Source: paper D, 30-34, in our orders.
    """
    xp = array_namespace(theta)
    J = pseudo.to_matrix(theta)
    eta = xp.eye(6, dtype=J.dtype)
    top = xp.concat([skew(eta[:, 3:]), eta[:, :3, None]], axis=-1)
    generators = xp.concat([top, xp.zeros_like(top[:, :1, :])], axis=-2)
    moved = generators @ J[..., None, :, :]
    return xp.matrix_transpose(pseudo.to_parameters(moved + xp.matrix_transpose(moved)))
