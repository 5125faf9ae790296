"""Closed loops in MuJoCo: its bodies, mass matrix, bias forces and constraint Jacobian, multipliers eliminated by hand.

MuJoCo's own constraint forces are soft and play no part. A hinge closure is two points on its axis.
"""

import mujoco
import numpy as np

from steelyard.inertia import to_com_inertia

STEP = 1e-5  # s, of the one numerical derivative


def model_with_loops(robot):
    """MuJoCo's reading of the URDF of a bundled robot, its hinge closures added as pairs of points."""
    spec = mujoco.MjSpec.from_file(str(robot.source.path))
    for loop in robot.loops:
        assert loop.kind == "hinge"
        for i, along in enumerate((0.0, 0.1)):
            point = loop.positions[0] + along * loop.rotations[0][:, 2]
            equality = spec.add_equality(name=f"{loop.name}{i}", type=mujoco.mjtEq.mjEQ_CONNECT)
            equality.objtype = mujoco.mjtObj.mjOBJ_BODY
            equality.name1, equality.name2 = loop.bodies
            equality.data[:3] = point
    for joint in robot.actuated:
        actuator = spec.add_actuator(name=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        actuator.target = joint
    return spec


def hold_still(m):
    """Make nothing but bodies and loops act."""
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS
    m.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    return m


def constraint(m, d, q):
    """Jacobian (rows, nv) of the equality constraints, and their gaps."""
    d.qpos[:] = q
    mujoco.mj_fwdPosition(m, d)
    assert (d.efc_type[: d.nefc] == mujoco.mjtConstraint.mjCNSTR_EQUALITY).all()
    # a point that cannot move gives no rows, though room is kept for them
    return d.efc_J.ravel()[: d.nefc * m.nv].reshape(d.nefc, m.nv).copy(), d.efc_pos[: d.nefc].copy()


def motion_and_torque(m, q, v_independent, a_independent, independent):
    """v, a of all joints, and torques of the independent ones, at one closed configuration."""
    d = mujoco.MjData(m)
    dependent = np.setdiff1d(np.arange(m.nv), independent)
    J, gap = constraint(m, d, q)
    assert np.abs(gap).max() < 1e-8, "the configuration keeps MuJoCo's loops closed"
    inverse = np.linalg.pinv(J[:, dependent])
    G = np.zeros((m.nv, len(independent)))
    G[independent, np.arange(len(independent))] = 1.0
    G[dependent] = -inverse @ J[:, independent]
    v = G @ v_independent
    ahead, behind = (constraint(m, d, q + s * STEP * v)[0] @ v for s in (1, -1))
    a = G @ a_independent
    a[dependent] -= inverse @ (ahead - behind) / (2 * STEP)
    d.qpos[:], d.qvel[:] = q, v
    mujoco.mj_forward(m, d)
    pull = np.empty(m.nv)
    mujoco.mj_mulM(m, d, pull, a)
    return v, a, G.T @ (pull + d.qfrc_bias)


def set_inertias(m, robot, theta):
    """Give the model other inertial parameters (nb, 10)."""
    for name, each in zip(robot.body_names, theta, strict=True):
        body = m.body(name).id
        mass, com, inertia = to_com_inertia(each)
        values, axes = np.linalg.eigh(inertia)
        axes[:, 2] *= np.sign(np.linalg.det(axes))
        m.body_mass[body], m.body_ipos[body], m.body_inertia[body] = mass, com, values
        mujoco.mju_mat2Quat(m.body_iquat[body], axes.ravel())
    mujoco.mj_setConst(m, mujoco.MjData(m))
