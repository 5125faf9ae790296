"""Joints: kind -> motion subspace Phi and pose X(q). All joint knowledge is in this file.

The child frame of a joint is the frame of the body it carries. `Phi` (6, nv), `[v; w]` in child axes at the child
origin, is constant for every kind, so one-degree joints are the exponential of a twist. What else is particular to a
kind is its `JointKind`; a new kind is one more record in `KINDS`: dynamics, the code generator and the page of `viewer`
take its pose from there.

kind        q                        v (child axes)
revolute    angle [rad]              rate [rad/s]; also helical joints (a twist with pitch)
prismatic   travel [m]               rate [m/s]
planar      x, y [m], angle [rad]    twist in the plane [m/s, m/s, rad/s]
spherical   quaternion x y z w       angular velocity [rad/s]
free        x y z, quaternion xyzw   twist [v; w]
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from steelyard.cards import Card
from steelyard.errors import ModelError, choices
from steelyard.namespaces import array_namespace
from steelyard.spatial import cross, exponential, rotate, rotation_from_quaternion, skew

# rad or m, their rates, N m or N: limits from these on say "none". They are beyond any joint (150 turns; 1 km;
# 9,500 rpm; the slewing rings of large excavators), and files have 1e4, 1e10 or 1e308 where nobody knew one.
ENDLESS, ENDLESS_EFFORT = 1e3, 1e6


@dataclass(frozen=True, eq=False, repr=False)
class Joint(Card):
    """One joint between a parent frame and a child frame.

    subspace: Phi (6, nv) in child axes. rotation, position: pose of the child in the parent at zero. Its coordinate
    is `ratio * q + offset`: a mimic joint shares the q and v of its master through its ratio. lower, upper: (nq,) in
    units of q; velocity_limit, effort_limit: (nv,). Unlimited is infinite, as without a limit and beyond any joint
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
        sizes = {"lower": self.nq, "upper": self.nq, "velocity_limit": self.nv, "effort_limit": self.nv}
        for name, size in sizes.items():
            most = ENDLESS_EFFORT if name == "effort_limit" else ENDLESS
            object.__setattr__(self, name, np.full(size, endless(getattr(self, name), most)))

    @property
    def features(self) -> "JointKind":
        return KINDS[self.kind]

    @property
    def nq(self) -> int:
        return self.features.nq

    @property
    def nv(self) -> int:
        return len(self.features.turning)

    @property
    def turns(self) -> bool:
        """Whether it turns, so that a position of a one-degree joint is an angle."""
        return any(self.features.turning)


def endless(limit, most: float = ENDLESS) -> np.ndarray:
    """Limits with infinity in the place of those that no joint comes to, of `most` on."""
    limit = np.asarray(limit, dtype=float)
    return np.where(np.abs(limit) >= most, np.copysign(np.inf, limit), limit)


def bounds_of(stated: dict[str, float], *, ranged: bool = True) -> dict[str, float]:
    """Limits of a one-degree `Joint` stated as "lower", "upper", "effort" and "velocity". Ranges without width and
    speeds or efforts of nothing are what exporters write for "unknown", and MuJoCo ignores, too. ranged: whether it has
    a range at all."""
    lower, upper = stated.get("lower", -np.inf), stated.get("upper", np.inf)
    bounds = {"lower": lower, "upper": upper} if ranged and lower < upper else {}
    return bounds | {f"{key}_limit": stated[key] for key in ("effort", "velocity") if stated.get(key, 0.0) > 0}


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
    """Phi (6, 3) of motion in a plane: two translations and the rotation about its unit normal (3,).

    For the normal z the translations are along x and y; other normals take the smallest rotation that carries z there.
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
    """Constants R (4, 3, 3), p (4, 3) of the pose of a one-degree joint, linear in `[1, q, sin q, cos q]`.

    `R(q) = R0 + Rs sin q + Rc cos q`, and p alike with a term in q. For a translation the angular part of the twist is
    zero and the same formula leaves `p0 + q v`.
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


def joint_pose(joint: Joint, q):
    """Pose R (..., 3, 3), p (..., 3) of the child in the parent: slides, then turns, then the rotation of a quaternion
    about its anchor. q: (..., nq) of the joint, of a mimic its own."""
    xp, kind = array_namespace(q), joint.features
    Phi, R, p = (xp.asarray(x, dtype=q.dtype) for x in (joint.subspace, joint.rotation, joint.position))
    p = p + rotate(R, q[..., : kind.slides] @ Phi[:3, : kind.slides].T)
    for k in range(kind.slides, kind.slides + kind.angles):
        turned, moved = exponential(Phi[:, k], q[..., k])
        R, p = R @ turned, p + rotate(R, moved)
    if kind.quaternion:
        x, anchor = q[..., -4:], ball_anchor(joint.subspace[:, -3:])
        turned = rotation_from_quaternion(x / xp.sqrt(xp.sum(x * x, axis=-1, keepdims=True)))
        if anchor.any():  # stays where it is while the child turns about it
            anchor = xp.asarray(anchor, dtype=q.dtype)
            p = p + rotate(R, anchor - rotate(turned, anchor))
        R = R @ turned
    return R, p


def displaced(joint: Joint, q, step):
    """Positions (..., nq) after a small motion, exact to first order. step: (..., nv), real or complex."""
    moved = q + joint.features.rate(q, step)
    if joint.features.quaternion:
        turned = moved[..., -4:]
        moved[..., -4:] = turned / np.sqrt(np.sum(turned**2, axis=-1, keepdims=True))
    return moved


def screw(joint: Joint):
    """Unit axis (3,), the point of it nearest to the child origin (3,) [m] and pitch [m/rad] of a joint that has an
    axis, in child axes; of one of several degrees the last is meant. A slide has its direction as axis, no anchor and
    no pitch."""
    v, w = joint.subspace[:3, -1], joint.subspace[3:, -1]
    if not w.any():
        return v, np.zeros(3), 0.0
    anchor = np.cross(w, v)
    return w, np.where(np.abs(anchor) > 1e-15, anchor, 0.0), float(w @ v)


def is_helical(joint: Joint) -> bool:
    """Whether a joint of one degree turns and advances at once."""
    return joint.nv == 1 and abs(screw(joint)[2]) > 1e-12


def ball_anchor(Phi):
    """Point (3,) in child axes that a spherical joint turns about, skew in the linear rows of its Phi (6, 3), m."""
    return array_namespace(Phi).stack([Phi[2, 1], Phi[0, 2], Phi[1, 0]])


def _planar_rate(q, v):
    c, s = np.cos(q[..., 2]), np.sin(q[..., 2])
    return np.stack([c * v[..., 0] - s * v[..., 1], s * v[..., 0] + c * v[..., 1], v[..., 2]], axis=-1)


def _spherical_rate(q, v):
    w, x = v / 2, q[..., :3]
    return np.concatenate([q[..., 3:] * w + cross(x, w), -np.sum(x * w, axis=-1, keepdims=True)], axis=-1)


def _free_rate(q, v):
    R = rotation_from_quaternion(q[..., 3:])
    return np.concatenate([rotate(R, v[..., :3]), _spherical_rate(q[..., 3:], v[..., 3:])], axis=-1)


@dataclass(frozen=True, eq=False)
class JointKind:
    """What is particular to one kind of joint.

    Its pose follows: the product of the exponentials of the columns of Phi, each times its coordinate, and the rotation
    of a quaternion about the anchor of the last three columns.

    pieces: name and kind of one-degree joints that stand for it in MuJoCo, each a column of Phi, outermost first.
    """

    title: str  # it in messages
    turning: tuple[bool, ...]  # (nv,) whether each velocity is an angle's, not a length's; lengths come first
    subspace: Callable  # Phi (6, nv) of a unit axis and an anchor, both (3,) in child axes
    rate: Callable = lambda q, v: v  # of q at q and v
    has_axis: bool = True  # whether an axis says how it moves
    quaternion: bool = False  # whether q ends with one, in the place of the last three
    urdf: str | None = None  # and `mujoco`: its type in the formats, None where they have none
    mujoco: str | None = None
    pieces: tuple[tuple[str, str], ...] = ()
    told: str = ""  # what they are in words

    @property
    def nq(self) -> int:
        """Number of positions."""
        return len(self.turning) + self.quaternion

    @property
    def slides(self) -> int:
        return self.turning.count(False)

    @property
    def angles(self) -> int:
        return self.turning.count(True) - 3 * self.quaternion


KINDS = {
    "revolute": JointKind(
        title="a hinge",
        turning=(True,),
        subspace=lambda axis, anchor: revolute_subspace(axis, anchor=anchor),
        urdf="revolute",
        mujoco="hinge",
    ),
    "prismatic": JointKind(
        title="a slide",
        turning=(False,),
        subspace=lambda axis, anchor: prismatic_subspace(axis),
        urdf="prismatic",
        mujoco="slide",
    ),
    "free": JointKind(
        title="a free joint",
        turning=(False,) * 3 + (True,) * 3,
        subspace=lambda axis, anchor: np.eye(6),
        rate=_free_rate,
        has_axis=False,
        quaternion=True,
        urdf="floating",
        mujoco="free",
    ),
    "planar": JointKind(
        title="a planar joint",
        turning=(False, False, True),
        subspace=lambda axis, anchor: planar_subspace(axis),
        rate=_planar_rate,
        urdf="planar",
        pieces=(("x", "prismatic"), ("y", "prismatic"), ("turn", "revolute")),
        told="two slides, with velocities in parent axes, and a hinge",
    ),
    "spherical": JointKind(
        title="a ball joint",
        turning=(True,) * 3,
        subspace=lambda axis, anchor: spherical_subspace(anchor),
        rate=_spherical_rate,
        has_axis=False,
        quaternion=True,
        mujoco="ball",
    ),
}


def pieces_of(joint: Joint) -> list[Joint]:
    """Joints of one degree that stand for one of several, outermost first; itself where its kind has none."""
    if not joint.features.pieces:
        return [joint]
    limits = ("lower", "upper", "velocity_limit", "effort_limit")
    pieces = [
        Joint(
            f"{joint.name}_{what}",
            kind,
            joint.subspace[:, i : i + 1],
            np.eye(3),
            np.zeros(3),
            **{name: getattr(joint, name)[i : i + 1] for name in limits},
        )
        for i, (what, kind) in enumerate(joint.features.pieces)
    ]
    pieces[0] = replace(pieces[0], rotation=joint.rotation, position=joint.position)
    return pieces
