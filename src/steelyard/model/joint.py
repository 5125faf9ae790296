"""Joints: kind -> motion subspace Phi and pose X(q). All joint knowledge is in this file.

The child frame of a joint is the frame of the body it carries. `Phi` (6, nv), `[v; w]` in child axes at the child
origin, is constant for every kind, so one-degree joints are the exponential of a twist and the rest are listed in
`KINDS`.

kind        q                        v (child axes)
revolute    angle [rad]              rate [rad/s]; also helical joints (a twist with pitch)
prismatic   travel [m]               rate [m/s]
planar      x, y [m], angle [rad]    twist in the plane [m/s, m/s, rad/s]
spherical   quaternion x y z w       angular velocity [rad/s]
free        x y z, quaternion xyzw   twist [v; w]
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from steelyard.errors import ModelError, choices
from steelyard.spatial import rotate, rotation_from_quaternion, skew

# rad or m, their rates, N m or N: limits from these on say "none". They are beyond any joint (150 turns; 1 km;
# 9,500 rpm; the slewing rings of large excavators), and files have 1e4, 1e10 or 1e308 where nobody knew one.
ENDLESS, ENDLESS_EFFORT = 1e3, 1e6
KINDS = {"revolute": (1, 1), "prismatic": (1, 1), "planar": (3, 3), "spherical": (4, 3), "free": (7, 6)}


@dataclass(frozen=True, eq=False)
class Joint:
    """One joint between a parent frame and a child frame.

    subspace: Phi (6, nv) in child axes. rotation, position: pose of the child in the parent at zero. Its coordinate
    is `ratio * q + offset`: a mimic joint shares the q and v of its master through its ratio. lower, upper: (nq,) in
    units of q; velocity_limit, effort_limit: (nv,). Unlimited is infinite, and so is a limit beyond any joint
    (`ENDLESS`).
    """

    name: str
    kind: str
    subspace: np.ndarray
    rotation: np.ndarray
    position: np.ndarray
    ratio: float = 1.0
    offset: float = 0.0
    mimics: str | None = None
    lower: np.ndarray = field(default_factory=lambda: np.array([-np.inf]))
    upper: np.ndarray = field(default_factory=lambda: np.array([np.inf]))
    velocity_limit: np.ndarray = field(default_factory=lambda: np.array([np.inf]))
    effort_limit: np.ndarray = field(default_factory=lambda: np.array([np.inf]))
    armature: float = 0.0
    damping: float = 0.0
    frictionloss: float = 0.0

    def __post_init__(self):
        if self.kind not in KINDS:
            raise ModelError(f"Joint '{self.name}' has unknown kind '{self.kind}'. Known kinds: {choices(KINDS)}.")
        for name in ("lower", "upper", "velocity_limit"):
            object.__setattr__(self, name, endless(getattr(self, name)))
        object.__setattr__(self, "effort_limit", endless(self.effort_limit, ENDLESS_EFFORT))

    @property
    def nq(self) -> int:
        return KINDS[self.kind][0]

    @property
    def nv(self) -> int:
        return KINDS[self.kind][1]


def endless(limit, most: float = ENDLESS) -> np.ndarray:
    """Limits with infinity in the place of those that no joint comes to.

    Args:
        limit: array of limits.
        most: magnitude from which on a limit is none.

    Returns:
        The array, with infinities of the same sign.
    """
    limit = np.asarray(limit, dtype=float)
    return np.where(np.abs(limit) >= most, np.copysign(np.inf, limit), limit)


def unlimited(nq: int, nv: int) -> dict[str, Any]:
    """Limit fields of a joint without limits."""
    q, v = np.full(nq, np.inf), np.full(nv, np.inf)
    return {"lower": -q, "upper": q, "velocity_limit": v, "effort_limit": v}


def unit_axis(axis, *, joint: str):
    """Unit vector of a joint axis. Raises ModelError for a zero or non-finite axis."""
    axis = np.asarray(axis, dtype=float)
    length = np.linalg.norm(axis)
    if not np.isfinite(length) or length < 1e-9:
        raise ModelError(
            f"Joint '{joint}' has axis {axis.tolist()}; an axis needs a direction. Give it a nonzero vector."
        )
    return axis / length


def revolute_subspace(axis, *, anchor=(0.0, 0.0, 0.0), pitch=0.0):
    """Phi of a rotation about an axis, in the child frame.

    Args:
        axis: (3,) unit vector.
        anchor: (3,) point on the axis, m.
        pitch: [m/rad] of a helical joint.

    Returns:
        (6, 1).
    """
    axis = np.asarray(axis, dtype=float)
    return np.concatenate([np.cross(anchor, axis) + pitch * axis, axis])[:, None]


def prismatic_subspace(axis):
    """Phi of a translation along a unit axis of the child frame."""
    return np.concatenate([np.asarray(axis, dtype=float), np.zeros(3)])[:, None]


def spherical_subspace(anchor=(0.0, 0.0, 0.0)):
    """Phi of free rotation about `anchor`, in the child frame."""
    return np.concatenate([skew(np.asarray(anchor, dtype=float)), np.eye(3)])


def planar_subspace(normal):
    """Phi of motion in a plane: two translations and the rotation about its normal.

    For the normal z the translations are along x and y; other normals take the smallest rotation that carries z there.

    Args:
        normal: (3,) unit vector.

    Returns:
        (6, 3).
    """
    normal = np.asarray(normal, dtype=float)
    z = np.array([0.0, 0.0, 1.0])
    if normal[2] < -1 + 1e-12:
        R = np.diag([1.0, -1.0, -1.0])
    else:
        W = skew(np.cross(z, normal))
        R = np.eye(3) + W + W @ W / (1 + normal[2])
    Phi = np.zeros((6, 3))
    Phi[:3, 0], Phi[:3, 1], Phi[3:, 2] = R[:, 0], R[:, 1], R[:, 2]
    return Phi


def twist_pose_coefficients(joint: Joint):
    """Constants of the pose of a one-degree joint, linear in `[1, q, sin q, cos q]`.

    Args:
        joint: revolute or prismatic.

    Returns:
        R (4, 3, 3), p (4, 3): `R(q) = R0 + Rs sin q + Rc cos q`, and p alike with a term in q. For a translation the
        angular part of the twist is zero and the same formula leaves `p0 + q v`.
    """
    v, w = joint.subspace[:3, 0], joint.subspace[3:, 0]
    W = skew(w)
    W2 = W @ W
    zero = np.zeros((3, 3))
    rotations = np.stack([np.eye(3) + W2, zero, W, -W2])
    positions = np.stack([W @ v, (np.eye(3) + W2) @ v, -W2 @ v, -W @ v])
    R, p = joint.rotation @ rotations, positions @ joint.rotation.T
    p[0] += joint.position
    return R, p


def multi_dof_pose(joint: Joint, q):
    """Pose of the child in the parent for planar, spherical and free joints.

    Args:
        joint: the Joint.
        q: (..., nq) of the joint.

    Returns:
        R (..., 3, 3), p (..., 3).
    """
    xp = array_namespace(q)
    Phi, R0, p0 = (xp.asarray(x, dtype=q.dtype) for x in (joint.subspace, joint.rotation, joint.position))
    if joint.kind == "planar":
        c, s = xp.cos(q[..., 2]), xp.sin(q[..., 2])
        W = skew(Phi[3:, 2])
        R = xp.eye(3, dtype=q.dtype) + s[..., None, None] * W + (1 - c)[..., None, None] * (W @ W)
        p = q[..., 0, None] * Phi[:3, 0] + q[..., 1, None] * Phi[:3, 1]
    else:
        quaternion = q[..., -4:]
        quaternion = quaternion / xp.sqrt(xp.sum(quaternion * quaternion, axis=-1, keepdims=True))
        R = rotation_from_quaternion(quaternion)
        if joint.kind == "free":
            p = q[..., :3]
        else:
            # the anchor, skew in the linear rows of Phi, stays where it is while the child turns about it
            anchor = xp.stack([Phi[2, 1], Phi[0, 2], Phi[1, 0]])
            p = anchor - rotate(R, anchor)
    return R0 @ R, rotate(R0, p) + p0


def screw(joint: Joint):
    """Axis, anchor and pitch of a joint of one degree, in child axes.

    Args:
        joint: revolute or prismatic.

    Returns:
        Unit axis (3,), the point of it nearest to the child origin (3,) [m] and pitch [m/rad]. A prismatic joint has
        its direction as axis, no anchor and no pitch.
    """
    v, w = joint.subspace[:3, 0], joint.subspace[3:, 0]
    if not w.any():
        return v, np.zeros(3), 0.0
    anchor = np.cross(w, v)
    return w, np.where(np.abs(anchor) > 1e-15, anchor, 0.0), float(w @ v)
