"""States and generalised forces between Steelyard's coordinates and a MuJoCo model with the same joint names.

They differ in order, in the free joint (MuJoCo: quaternion w first, linear velocity of the origin in world axes,
angular in body axes) and in mimic joints, which MuJoCo moves on their own.
"""

import numpy as np

from steelyard.model.robot import Robot
from steelyard.spatial import cross, rotate, rotation_from_quaternion


def to_mujoco(m, robot: Robot, q, v, a):
    """MuJoCo's qpos (..., m.nq), qvel and qacc (..., m.nv) of a robot's q (..., nq), v and a (..., nv). m: the MjModel
    of the same robot."""
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], a.shape[:-1])
    qpos = np.broadcast_to(m.qpos0, (*batch, m.nq)).copy()
    qvel, qacc = np.zeros((*batch, m.nv)), np.zeros((*batch, m.nv))
    for joint, position, velocity in zip(robot.joints, robot.q_slices, robot.v_slices, strict=True):
        at_q, at_v = _places(m, joint)
        qj, vj, aj = q[..., position], v[..., velocity], a[..., velocity]
        if joint.kind == "free":
            R = rotation_from_quaternion(qj[..., 3:])
            linear = rotate(R, aj[..., :3] + cross(vj[..., 3:], vj[..., :3]))
            vj = np.concatenate([rotate(R, vj[..., :3]), vj[..., 3:]], axis=-1)
            aj = np.concatenate([linear, aj[..., 3:]], axis=-1)
            qj = np.concatenate([qj[..., :3], np.roll(qj[..., 3:], 1, axis=-1)], axis=-1)
        elif joint.features.quaternion:
            qj = np.roll(qj, 1, axis=-1)
        elif joint.mimics is not None:
            qj, vj, aj = joint.ratio * qj + joint.offset + m.qpos0[at_q], joint.ratio * vj, joint.ratio * aj
        qpos[..., at_q], qvel[..., at_v], qacc[..., at_v] = qj, vj, aj
    return qpos, qvel, qacc


def from_mujoco(m, robot: Robot, qpos, qvel, qacc):
    """State of a robot from a MuJoCo state: the inverse of `to_mujoco`.

    Args:
        m: the MjModel.
        robot: the same model as a Robot.
        qpos: (..., m.nq).
        qvel: (..., m.nv).
        qacc: (..., m.nv).

    Returns:
        q (..., nq), v and a (..., nv).
    """
    batch = qpos.shape[:-1]
    q, v, a = np.zeros((*batch, robot.nq)), np.zeros((*batch, robot.nv)), np.zeros((*batch, robot.nv))
    for joint, position, velocity in zip(robot.joints, robot.q_slices, robot.v_slices, strict=True):
        if joint.mimics is not None:
            continue
        at_q, at_v = _places(m, joint)
        qj, vj, aj = qpos[..., at_q], qvel[..., at_v], qacc[..., at_v]
        if joint.kind == "free":
            qj = np.concatenate([qj[..., :3], np.roll(qj[..., 3:], -1, axis=-1)], axis=-1)
            back = np.swapaxes(rotation_from_quaternion(qj[..., 3:]), -1, -2)
            vj = np.concatenate([rotate(back, vj[..., :3]), vj[..., 3:]], axis=-1)
            linear = rotate(back, aj[..., :3]) - cross(vj[..., 3:], vj[..., :3])
            aj = np.concatenate([linear, aj[..., 3:]], axis=-1)
        elif joint.features.quaternion:
            qj = np.roll(qj, -1, axis=-1)
        q[..., position], v[..., velocity], a[..., velocity] = qj, vj, aj
    return q, v, a


def _places(m, joint):
    where = m.joint(joint.name)
    return tuple(slice(start[0], start[0] + n) for start, n in ((where.qposadr, joint.nq), (where.dofadr, joint.nv)))


def force_from_mujoco(m, robot: Robot, qpos, force):
    """Generalised forces (..., nv), N m or N, of MuJoCo's (..., m.nv) at its positions qpos (..., m.nq)."""
    tau = np.zeros((*force.shape[:-1], robot.nv))
    for joint, velocity in zip(robot.joints, robot.v_slices, strict=True):
        at_q, at_v = _places(m, joint)
        value = force[..., at_v]
        if joint.kind == "free":
            R = rotation_from_quaternion(np.roll(qpos[..., at_q][..., 3:], -1, axis=-1))
            value = np.concatenate([rotate(np.swapaxes(R, -1, -2), value[..., :3]), value[..., 3:]], axis=-1)
        tau[..., velocity] += joint.ratio * value
    return tau
