"""The ten inertial parameters as other tools write them. Convert at the border only; inside there is one order.

Orders of a ten-vector (first moment and inertia about the body-frame origin) are in `ORDERS`. URDF and MuJoCo describe
a body by mass, centre of mass and inertia about it. All functions take leading batch axes and any array-API namespace.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from steelyard.errors import InertiaError, OptionError, choices
from steelyard.inertia import batches, parameters
from steelyard.inertia.principal import principal_axes
from steelyard.inertia.realizability import is_consistent
from steelyard.namespaces import array_namespace
from steelyard.spatial import quaternion_of, rotation_from_quaternion, rotation_from_rpy

ORDERS = {
    # pinocchio.Inertia.toDynamicParameters: ours
    "pinocchio": parameters.NAMES,
    # Wensing's spatial_v2_extended (Matlab)
    "spatial_v2": ("m", "hx", "hy", "hz", "Ixx", "Iyy", "Izz", "Iyz", "Ixz", "Ixy"),
    # Lee's Geometric-Robot-DynID (Matlab)
    "geometric_robot_dynid": ("m", "hx", "hy", "hz", "Ixx", "Iyy", "Izz", "Ixy", "Iyz", "Ixz"),
    # the papers B, C and E
    "row_major": ("m", "hx", "hy", "hz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz"),
    # SymPyBotics' default
    "khalil": ("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz", "hx", "hy", "hz", "m"),
}


def from_order(vector, order):
    """theta: (..., 10) of a ten-vector (..., 10) in one of `ORDERS`, by name. Raises OptionError for other names."""
    names = _names(order)
    return _take(batches.as_vector(vector, "vector"), [names.index(name) for name in parameters.NAMES])


def to_order(theta, order):
    """Ten-vector (..., 10) in one of `ORDERS`, by name, of theta (..., 10). Raises OptionError for other names."""
    names = _names(order)
    return _take(batches.as_vector(theta, "theta"), [parameters.NAMES.index(name) for name in names])


class UrdfInertial(NamedTuple):
    """`<inertial>` of a URDF link: `<origin xyz rpy/>`, `<mass/>`, `<inertia ixx ixy ixz iyy iyz izz/>`."""

    mass: Any  # (...) kg
    xyz: Any  # (..., 3) m, centre of mass in the link frame
    rpy: Any  # (..., 3) rad, axes of the inertial frame in the link frame: `Rz(yaw) Ry(pitch) Rx(roll)`
    inertia: Any
    """(..., 6) kg m^2 `[ixx, ixy, ixz, iyy, iyz, izz]` about the centre of mass, in the axes of the inertial frame"""


def from_urdf(mass, xyz, rpy, inertia):
    """theta: (..., 10) in the link frame, of the fields of `UrdfInertial`."""
    xyz, rpy = batches.as_vector(xyz, "xyz", size=3), batches.as_vector(rpy, "rpy", size=3)
    xx, xy, xz, yy, yz, zz = _entries(inertia, "inertia", 6)
    R = rotation_from_rpy(rpy)
    return parameters.from_com_inertia(mass, xyz, _rotated(R, parameters.symmetric(xx, xy, yy, xz, yz, zz)))


def to_urdf(theta, *, rpy=(0.0, 0.0, 0.0)):
    """`UrdfInertial` of theta (..., 10), axes the link's, or at `rpy` (..., 3). Raises InertiaError: first moment, no
    mass."""
    theta = batches.as_vector(theta, "theta")
    xp = array_namespace(theta)
    mass, com, central = parameters.to_com_inertia(theta)
    rpy = xp.broadcast_to(xp.asarray(rpy, dtype=theta.dtype), com.shape)
    I = _rotated(xp.matrix_transpose(rotation_from_rpy(rpy)), central)
    upper = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    return UrdfInertial(mass, com, rpy, xp.stack([I[..., i, j] for i, j in upper], axis=-1))


class MujocoFull(NamedTuple):
    """`<inertial mass pos fullinertia/>` of an MJCF body."""

    mass: Any  # (...) kg
    pos: Any  # (..., 3) m, centre of mass in the body frame
    fullinertia: Any  # (..., 6) kg m^2 `[xx, yy, zz, xy, xz, yz]` about the centre of mass, in body axes


def from_mujoco_full(mass, pos, fullinertia):
    """theta: (..., 10) in the body frame, of the fields of `MujocoFull`."""
    xx, yy, zz, xy, xz, yz = _entries(fullinertia, "fullinertia", 6)
    return parameters.from_com_inertia(
        mass, batches.as_vector(pos, "pos", size=3), parameters.symmetric(xx, xy, yy, xz, yz, zz)
    )


def to_mujoco_full(theta):
    """`MujocoFull` of theta (..., 10). Raises InertiaError if a body has a first moment but no mass."""
    theta = batches.as_vector(theta, "theta")
    mass, com, I = parameters.to_com_inertia(theta)
    entries = [I[..., i, j] for i, j in parameters.DIAGONAL_FIRST]
    return MujocoFull(mass, com, array_namespace(theta).stack(entries, axis=-1))


class MujocoDiagonal(NamedTuple):
    """`<inertial mass pos quat diaginertia/>` of an MJCF body; `body_mass`, `ipos`, `iquat`, `inertia` of `MjModel`."""

    mass: Any  # (...) kg
    pos: Any  # (..., 3) m, centre of mass in the body frame
    quat: Any  # (..., 4) `[w, x, y, z]`, principal axes in the body frame
    diaginertia: Any  # (..., 3) kg m^2, principal moments


def from_mujoco_diagonal(mass, pos, quat, diaginertia):
    """theta (..., 10) in the body frame of the fields of `MujocoDiagonal`. Raises InertiaError: a quaternion without
    direction."""
    quat = batches.as_vector(quat, "quat", size=4)
    moments = batches.as_vector(diaginertia, "diaginertia", size=3)
    xp = array_namespace(quat)
    length = xp.linalg.vector_norm(quat, axis=-1, keepdims=True)
    index = batches.first_false(((length > 0) & (length < math.inf))[..., 0])
    if index is not None:
        where = batches.place(index, quat.shape[:-1])
        raise InertiaError(f"quat of {where} is {quat[index].tolist()}; expected [w, x, y, z] of nonzero finite length")
    w, x, y, z = (quat[..., i] / length[..., 0] for i in range(4))
    R = rotation_from_quaternion(xp.stack([x, y, z, w], axis=-1))
    return parameters.from_com_inertia(
        mass, batches.as_vector(pos, "pos", size=3), (R * moments[..., None, :]) @ xp.matrix_transpose(R)
    )


def to_mujoco_diagonal(theta):
    """`MujocoDiagonal` of theta (..., 10), principal axes nearest the body's. Raises InertiaError: first moment, no
    mass."""
    theta = batches.as_vector(theta, "theta")
    xp = array_namespace(theta)
    mass, com, central = parameters.to_com_inertia(theta)
    R, moments = principal_axes(central)
    quat = quaternion_of(R)
    return MujocoDiagonal(mass, com, xp.concat([quat[..., 3:], quat[..., :3]], axis=-1), moments)


def _names(order):
    if order not in ORDERS:
        raise OptionError(f"order is {order!r}; expected one of {choices(ORDERS)}")
    return ORDERS[order]


def _take(vector, indices):
    xp = array_namespace(vector)
    return xp.take(vector, xp.asarray(np.array(indices)), axis=-1)


def _entries(values, name, size):
    values = batches.as_vector(values, name, size=size)
    return (values[..., i] for i in range(size))


def _rotated(R, matrix):
    return R @ matrix @ array_namespace(R).matrix_transpose(R)


def urdf_inertial(theta) -> str:
    """URDF `<inertial>` element, inertia about the centre of mass in link axes. theta: (10,), consistent (else
    InertiaError)."""
    mass, xyz, _, inertia = to_urdf(_one_body(theta))
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    moments = " ".join(f'{name}="{_number(value)}"' for name, value in zip(names, inertia, strict=True))
    origin, weight = f'<origin xyz="{_numbers(xyz)}" rpy="0 0 0"/>', f'<mass value="{_number(mass)}"/>'
    return f"<inertial>\n  {origin}\n  {weight}\n  <inertia {moments}/>\n</inertial>"


def mjcf_inertial(theta) -> str:
    """MJCF `<inertial>` element with `fullinertia`. theta: (10,), consistent (else InertiaError)."""
    mass, pos, fullinertia = to_mujoco_full(_one_body(theta))
    return f'<inertial pos="{_numbers(pos)}" mass="{_number(mass)}" fullinertia="{_numbers(fullinertia)}"/>'


def _one_body(theta):
    theta = np.asarray(batches.as_vector(theta, "theta"), dtype=float)
    if theta.shape != (10,):
        raise InertiaError(f"theta has shape {theta.shape}; a file element describes one body, expected (10,)")
    if not is_consistent(theta):
        raise InertiaError(
            f"theta {theta.tolist()} is not physically consistent, and simulators refuse such a body; project it "
            "onto Consistent() first"
        )
    return theta


def _number(value):
    return repr(float(value))


def _numbers(values):
    return " ".join(_number(value) for value in values)
