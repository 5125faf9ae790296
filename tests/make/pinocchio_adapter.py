"""The same robot in Pinocchio: coordinate maps by joint name, spelled out."""

import numpy as np
import pinocchio as pin


def load(path, floating: bool):
    arguments = (str(path), pin.JointModelFreeFlyer()) if floating else (str(path),)
    return pin.buildModelFromUrdf(*arguments)


def _pin_name(name: str) -> str:
    return "root_joint" if name == "floating_base" else name


def configuration(model, robot, q):
    """Pinocchio's q: continuous joints as (cos, sin), planar angle alike, mimic joints on their own."""
    out = np.zeros(model.nq)
    for joint, where in zip(robot.joints, robot.q_slices, strict=True):
        index = model.getJointId(_pin_name(joint.name))
        target = model.joints[index]
        value = q[where] * joint.ratio + joint.offset if joint.nq == 1 else q[where]
        if target.nq == 2 and joint.nq == 1:
            value = np.array([np.cos(value[0]), np.sin(value[0])])
        elif joint.kind == "planar":
            value = np.array([value[0], value[1], np.cos(value[2]), np.sin(value[2])])
        out[target.idx_q : target.idx_q + target.nq] = value
    return out


def velocity_map(model, robot):
    """(model.nv, robot.nv): Pinocchio's velocity from ours; its transpose maps torques back."""
    E = np.zeros((model.nv, robot.nv))
    for joint, where in zip(robot.joints, robot.v_slices, strict=True):
        start = model.joints[model.getJointId(_pin_name(joint.name))].idx_v
        E[start : start + joint.nv, where] = joint.ratio * np.eye(joint.nv)
    return E


def regressor(model, data, robot, q, v, a):
    """Pinocchio's regressor in our row and column order. Returns (nv, 10 nb)."""
    E = velocity_map(model, robot)
    full = pin.computeJointTorqueRegressor(model, data, configuration(model, robot, q), E @ v, E @ a)
    order = [model.getJointId(_pin_name(robot.joints[j].name)) - 1 for j in robot.body_joints]
    blocks = full.reshape(model.nv, -1, 10)[:, order]
    return E.T @ blocks.reshape(model.nv, -1)


def inverse_dynamics(model, data, robot, q, v, a):
    E = velocity_map(model, robot)
    return E.T @ pin.rnea(model, data, configuration(model, robot, q), E @ v, E @ a)
