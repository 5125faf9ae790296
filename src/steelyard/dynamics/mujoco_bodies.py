"""Inertial parameters and regressors of a MuJoCo model as it stands, in its own order and axes, whatever its joints."""

import numpy as np

from steelyard.dynamics.newton_euler import body_regressor
from steelyard.errors import OptionError
from steelyard.inertia import conventions


def mujoco_inertias(m) -> np.ndarray:
    """Inertial parameters of all bodies of a MuJoCo model.

    Args:
        m: the MjModel.

    Returns:
        (m.nbody, 10), each in its body's frame; the world's, first, are zero.

    Source: paper A, vector of inertial parameters.

    Example:
        >>> import mujoco, steelyard as sy
        >>> m = mujoco.MjModel.from_xml_string(sy.model.mjcf_text(sy.library.scara()))
        >>> sy.dynamics.mujoco_inertias(m).shape == (m.nbody, 10)
        True
    """
    return conventions.from_mujoco_diagonal(m.body_mass, m.body_ipos, m.body_iquat, m.body_inertia)


def set_mujoco_inertias(m, theta) -> None:
    """Put inertial parameters into a MuJoCo model, with all that follows from them (`mj_setConst`).

    Args:
        m: the MjModel, which is changed.
        theta: (m.nbody, 10), as of `mujoco_inertias`; the world's are left aside.

    Raises:
        OptionError: another shape, or numbers that are not finite.
        InertiaError: a first moment without mass.

    Source: paper A, vector of inertial parameters.
    """
    import mujoco

    theta = np.array(theta, dtype=float)
    if theta.shape != (m.nbody, 10) or not np.isfinite(theta).all():
        raise OptionError(f"theta is ({m.nbody}, 10) of finite numbers, the world first; found {theta.shape}.")
    found = conventions.to_mujoco_diagonal(theta[1:])
    m.body_mass[1:], m.body_ipos[1:], m.body_iquat[1:], m.body_inertia[1:] = found
    mujoco.mj_setConst(m, mujoco.MjData(m))


def mujoco_regressor(m, d) -> np.ndarray:
    """Joint regressor of a MuJoCo model at its data's state: `qfrc = Y @ mujoco_inertias(m).ravel()` are the forces
    that bodies take of the joints, without armature, passive and constraint forces.

    Args:
        m: the MjModel.
        d: an MjData with qpos, qvel and qacc; its kinematics and accelerations are computed anew.

    Returns:
        (m.nv, 10 m.nbody), in N m or N per unit of each parameter.

    Source: paper A, joint regressor.
    """
    import mujoco

    mujoco.mj_fwdPosition(m, d)
    mujoco.mj_fwdVelocity(m, d)
    mujoco.mj_rnePostConstraint(m, d)
    Y, jacobian, twist, acceleration = np.zeros((m.nv, m.nbody, 10)), np.zeros((2, 3, m.nv)), np.zeros(6), np.zeros(6)
    for body in range(1, m.nbody):
        mujoco.mj_objectVelocity(m, d, mujoco.mjtObj.mjOBJ_XBODY, body, twist, 1)
        mujoco.mj_objectAcceleration(m, d, mujoco.mjtObj.mjOBJ_XBODY, body, acceleration, 1)
        mujoco.mj_jacBody(m, d, jacobian[0], jacobian[1], body)
        V = np.roll(twist, 3)  # MuJoCo's begins with the rotation
        a = np.roll(acceleration, 3)
        a[:3] -= np.cross(V[3:], V[:3])  # from the acceleration of the point to the spatial one
        local = d.xmat[body].reshape(3, 3).T @ jacobian
        Y[:, body] = local.reshape(6, m.nv).T @ body_regressor(V, a)
    return Y.reshape(m.nv, -1)
