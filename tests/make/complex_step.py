"""Derivatives of a tree's dynamics by complex step: equations (1)-(6) of paper D as printed, link by link in body axes.

Nothing of the library's dynamics is used. A step of 1e-30 makes the imaginary part exact to rounding, and first-order
exponentials of the step exact too.
"""

import numpy as np
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from steelyard.inertia import to_spatial_inertia
from steelyard.spatial import adjoint, crm, skew

STEP = 1e-30


def hat(twist):
    """(..., 4, 4) of `[v; w]`."""
    out = np.zeros((*twist.shape[:-1], 4, 4), dtype=complex)
    out[..., :3, :3], out[..., :3, 3] = skew(twist[..., 3:]), twist[..., :3]
    return out


def motion_of(joint, q):
    """(4, 4) pose of the child in the joint's frame at zero."""
    if joint.nq == 1:
        return expm(np.real(hat(joint.subspace[:, 0])) * (joint.ratio * q[0] + joint.offset))
    T = np.eye(4)
    if joint.kind == "planar":
        T = expm(np.real(hat(joint.subspace[:, 2])) * q[2])
        T[:3, 3] = joint.subspace[:3, :2] @ q[:2]
        return T
    T[:3, :3] = Rotation.from_quat(q[-4:]).as_matrix()
    if joint.kind == "free":
        T[:3, 3] = q[:3]
    else:
        lever = joint.subspace[:3]
        anchor = np.array([lever[2, 1], lever[0, 2], lever[1, 0]])
        T[:3, 3] = anchor - T[:3, :3] @ anchor
    return T


def inverse(T):
    out = np.zeros_like(T)
    R = np.swapaxes(T[..., :3, :3], -1, -2)
    out[..., :3, :3], out[..., :3, 3:], out[..., 3, 3] = R, -R @ T[..., :3, 3:], 1
    return out


def links(robot, q, v, a, *, eta, dq, gravity, before=None, behind=None, pushed=None):
    """tau (k, nv), and V, A, F (k, nj, 6) of every joint's child in its own axes, for k variants at once.

    eta: (k, nj, 6); dq (k, nv): tangent steps; v, a (k, nv); gravity (k, 3); before, behind (k, nj, 6): steps of the
    frames the joints are mounted on, and of what hangs on them. pushed: wrenches (6,) on children of joints, in
    their axes.
    """
    k, eye = len(eta), np.eye(4)
    zero = np.zeros((k, robot.nj, 6))
    before, behind = zero if before is None else before, zero if behind is None else behind
    G = np.zeros((robot.nj, 6, 6))
    G[robot.body_joints] = to_spatial_inertia(robot.inertias)
    V, A, X, Phi = [], [], [], []
    for j, joint in enumerate(robot.joints):
        rates, parent = robot.v_slices[j], robot.parents[j]
        T0 = np.eye(4)
        T0[:3, :3], T0[:3, 3] = joint.rotation, joint.position
        step = np.einsum("id,kd->ki", joint.subspace, dq[:, rates]) * joint.ratio
        T = T0 @ (eye + hat(before[:, j])) @ (eye + hat(eta[:, j])) @ motion_of(joint, q[robot.q_slices[j]])
        T = T @ (eye + hat(step)) @ (eye - hat(eta[:, j])) @ (eye + hat(behind[:, j]))
        Phi.append(joint.ratio * (np.eye(6) + crm(eta[:, j]) - crm(behind[:, j])) @ joint.subspace)
        back = inverse(T)
        X.append(adjoint(back[:, :3, :3], back[:, :3, 3]))
        above = zero[:, 0] if parent < 0 else V[parent]
        falling = -np.concatenate([gravity, np.zeros((k, 3))], axis=1)
        moved = (Phi[j] @ v[:, rates, None])[..., 0]
        V.append((X[j] @ above[..., None])[..., 0] + moved)
        change = (X[j] @ (falling if parent < 0 else A[parent])[..., None])[..., 0]
        A.append(change + (Phi[j] @ a[:, rates, None])[..., 0] + (crm(V[j]) @ moved[..., None])[..., 0])
    F, tau = [None] * robot.nj, a * robot.armature
    for j in reversed(range(robot.nj)):
        own = G[j] @ A[j][..., None] - np.swapaxes(crm(V[j]), -1, -2) @ (G[j] @ V[j][..., None])
        F[j] = own[..., 0] - (pushed or {}).get(j, 0) + (0 if F[j] is None else F[j])
        tau[:, robot.v_slices[j]] += (np.swapaxes(Phi[j], -1, -2) @ F[j][..., None])[..., 0]
        parent = robot.parents[j]
        if parent >= 0:
            carried = (np.swapaxes(X[j], -1, -2) @ F[j][..., None])[..., 0]
            F[parent] = carried + (0 if F[parent] is None else F[parent])
    return tau, *(np.stack(each, axis=1) for each in (V, A, F))


WIDTHS = {"eta": lambda r: (r.nj, 6), "dq": lambda r: (r.nv,), "v": lambda r: (r.nv,), "a": lambda r: (r.nv,)}
WIDTHS |= {"gravity": lambda r: (3,), "before": lambda r: (r.nj, 6), "behind": lambda r: (r.nj, 6)}


def derivatives(robot, q, v, a, pushed=None):
    """`{variable: (dtau, dV, dA, dF)}` at one state; the variable's axes are first."""
    shapes = {name: shape(robot) for name, shape in WIDTHS.items()}
    sizes = {name: int(np.prod(shape)) for name, shape in shapes.items()}
    steps, start = np.eye(sum(sizes.values())) * 1j * STEP, 0
    values = {"v": v, "a": a, "gravity": robot.gravity}
    inputs, rows = {}, {}
    for name, shape in shapes.items():
        rows[name] = slice(start, start + sizes[name])
        inputs[name] = values.get(name, 0) + steps[:, rows[name]].reshape(-1, *shape)
        start += sizes[name]
    out = links(robot, q, **inputs, pushed=pushed)
    return {
        name: tuple(x[rows[name]].imag.reshape(*shape, *x.shape[1:]) / STEP for x in out)
        for name, shape in shapes.items()
    }
