"""The robot: a tree of joints and the bodies they carry, frozen; parents first, so that a subtree is a slice."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from steelyard.cards import Card
from steelyard.errors import ModelError, choices
from steelyard.model.drive import Drive
from steelyard.model.joint import Joint
from steelyard.model.loops import Loop
from steelyard.model.rotor import Rotor
from steelyard.spatial import adjoint, left_jacobian, rotation_from_vector

WORLD = -1


@dataclass(frozen=True)
class ModelSource:
    """The file a robot was read from; `save` edits a copy of it.

    format: name of its `Format`. folders: in which files that it names may lie, its own and those that the user named.
    locked: joints of the file that the robot does not have, because they stand still, and where, rad or m. arguments:
    of the file, by name. held: whether the file has a free base that the robot does not have.
    """

    path: Path
    format: str
    folders: tuple[Path, ...] = ()
    locked: Mapping[str, np.ndarray] = field(default_factory=dict)
    arguments: Mapping[str, str] = field(default_factory=dict)
    held: bool = False


@dataclass(frozen=True)
class ContactParameters:
    """Parameters of a contact, as MJCF spells them. friction: of sliding, torsion, rolling. solref: time constant, s,
    and damping ratio, or both negative, stiffness and damping. solimp: of its impedance. condim: its dimensions."""

    friction: tuple[float, ...]
    solref: tuple[float, ...]
    solimp: tuple[float, ...]
    condim: int

    @property
    def time_constant(self) -> float:
        """s, however `solref` spells it."""
        constant, damping = self.solref
        return constant if constant > 0 else -2 / damping

    def changed(self, friction: float, time_constant: float) -> "ContactParameters":
        """With another coefficient of sliding and time constant, s, damped by the same ratio."""
        constant, ratio = self.solref
        times = time_constant / self.time_constant
        solref = (time_constant, ratio) if constant > 0 else (constant / times**2, ratio / times)
        return replace(self, friction=(friction, *self.friction[1:]), solref=solref)


@dataclass(frozen=True, eq=False, repr=False)
class Frame(Card):
    """A place that the model file names, riding on a body (or on the world)."""

    name: str
    body: int  # index of its body, WORLD when it cannot move
    rotation: np.ndarray  # and `position`: its pose in the body frame
    position: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Link(Frame):
    """A rigid part as the model file names it."""

    theta: np.ndarray  # (10,) its inertial parameters in its own frame, as read
    has_inertial: bool  # whether the file states them


@dataclass(frozen=True, eq=False)
class Robot:
    """Kinematics, inertial parameters and joint properties of a robot; `with_...` methods return a changed copy.

    joints: parents before children, depth first. parents: (nj,) joint index or WORLD. body_joints: (nb,) the joint
    whose child frame is the body frame; joints without a body are the inner joints of a compound one. inertias:
    (nb, 10) in body frames, fixed attachments lumped in. gravity: (3,) in the world, m/s^2. links: every part of
    the file with the body it rides on. sites: further places that the file names, such as MJCF's sites. loops:
    closures of kinematic loops, which are not part of the tree; functions of `dynamics` are those of the open tree,
    `closed_loop` obeys the loops. actuated: joints that have a motor, for robots with loops; empty when unknown.
    drives: what is known of motors, by degree of freedom: actuators of MJCF, over them the side file. floor: what every
    contact with it has, where an MJCF file says so; None where contacts depend on what touches it, too.
    """

    name: str
    joints: tuple[Joint, ...]
    parents: np.ndarray
    body_names: tuple[str, ...]
    body_joints: np.ndarray
    inertias: np.ndarray
    gravity: np.ndarray
    armature: np.ndarray
    damping: np.ndarray
    frictionloss: np.ndarray
    links: tuple[Link, ...] = ()
    sites: tuple[Frame, ...] = ()
    rotors: tuple[Rotor, ...] = ()
    loops: tuple[Loop, ...] = ()
    actuated: tuple[str, ...] = ()
    drives: Mapping[str, Drive] = field(default_factory=dict)
    floor: ContactParameters | None = None
    source: ModelSource | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self):
        for name in ("parents", "body_joints", "inertias", "gravity", "armature", "damping", "frictionloss"):
            array = np.array(getattr(self, name))
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        self._require_depth_first()

    def _require_depth_first(self):
        """Sums over subtrees go along slices of joints."""
        branch: list[int] = []
        for index, parent in enumerate(self.parents.tolist()):
            while branch and branch[-1] != parent:
                branch.pop()
            if parent != WORLD and not branch:
                raise ModelError(
                    f"Robot '{self.name}': joint '{self.joints[index].name}' comes after joints of another branch than "
                    f"its parent's. Order joints depth first, so that all that a joint carries follows it at once."
                )
            branch.append(index)

    @property
    def nb(self) -> int:
        return len(self.body_names)

    @property
    def nj(self) -> int:
        """Number of joints of the tree, mimic joints and inner joints of compound ones included."""
        return len(self.joints)

    @cached_property
    def free_joints(self) -> tuple[Joint, ...]:
        """Joints with coordinates of their own, in the order of q and v (mimic joints left out)."""
        return tuple(j for j in self.joints if j.mimics is None)

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        return sum(j.nq for j in self.free_joints), sum(j.nv for j in self.free_joints)

    @property
    def nq(self) -> int:
        return self._sizes[0]

    @property
    def nv(self) -> int:
        return self._sizes[1]

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Moving joints in the order of v, mimic joints left out."""
        return tuple(j.name for j in self.free_joints)

    @cached_property
    def mimic_names(self) -> tuple[str, ...]:
        return tuple(j.name for j in self.joints if j.mimics is not None)

    @cached_property
    def dof_names(self) -> tuple[str, ...]:
        """(nv,) one name a velocity coordinate: the joint's, with `[i]` behind it where the joint has several."""
        return tuple(j.name if j.nv == 1 else f"{j.name}[{i}]" for j in self.free_joints for i in range(j.nv))

    @cached_property
    def q_slices(self) -> tuple[slice, ...]:
        """(nj,) where each joint of the tree reads q; a mimic joint has its master's."""
        return self._slices("nq")

    @cached_property
    def v_slices(self) -> tuple[slice, ...]:
        """(nj,) where each joint of the tree reads v; a mimic joint has its master's."""
        return self._slices("nv")

    def _slices(self, size: str) -> tuple[slice, ...]:
        own, start = {}, 0
        for joint in self.free_joints:
            own[joint.name] = slice(start, start + getattr(joint, size))
            start += getattr(joint, size)
        return tuple(own[j.mimics or j.name] for j in self.joints)

    @cached_property
    def quaternions(self) -> tuple[slice, ...]:
        """Where q holds quaternions x y z w."""
        ends = [q.stop for j, q in zip(self.joints, self.q_slices, strict=True) if j.features.quaternion]
        return tuple(slice(end - 4, end) for end in ends)

    @cached_property
    def scalar_positions(self) -> dict[int, int]:
        """Column of q of each coordinate of v that has one of its own: joints of one degree."""
        places, at_q, at_v = {}, 0, 0
        for joint in self.free_joints:
            if joint.nq == joint.nv == 1:
                places[at_v] = at_q
            at_q, at_v = at_q + joint.nq, at_v + joint.nv
        return places

    @cached_property
    def lower(self) -> np.ndarray:
        """(nq,) lower position limits, -inf where there is none."""
        return self._limits("lower")

    @cached_property
    def upper(self) -> np.ndarray:
        """(nq,) upper position limits, inf where there is none."""
        return self._limits("upper")

    @cached_property
    def velocity_limits(self) -> np.ndarray:
        return self._limits("velocity_limit")

    @cached_property
    def effort_limits(self) -> np.ndarray:
        return self._limits("effort_limit")

    def _limits(self, name: str) -> np.ndarray:
        return np.concatenate([np.zeros(0), *(getattr(joint, name) for joint in self.free_joints)])

    @cached_property
    def driven_dofs(self) -> tuple[int, ...]:
        """Degrees of freedom that can have a motor: all but a free base's; with closed loops those of `actuated`."""
        named = self.actuated if self.loops else ()
        start, found = 0, []
        for joint in self.free_joints:
            if joint.kind != "free" and (not named or joint.name in named):
                found += range(start, start + joint.nv)
            start += joint.nv
        return tuple(found)

    @property
    def loop_names(self) -> tuple[str, ...]:
        return tuple(loop.name for loop in self.loops)

    @property
    def floating(self) -> bool:
        """Whether the robot's root is a free joint."""
        return bool(self.joints) and self.joints[0].kind == "free"

    @cached_property
    def missing_inertials(self) -> tuple[str, ...]:
        """Bodies none of whose parts states an inertial in the file."""
        stated = {link.body for link in self.links if link.has_inertial}
        return tuple(name for i, name in enumerate(self.body_names) if i not in stated) if self.links else ()

    @cached_property
    def frames(self) -> dict[str, Frame]:
        """Every place with a name: links, fixed ones too, bodies, and sites; a link comes before a site of its name."""
        bodies = (Frame(name, i, np.eye(3), np.zeros(3)) for i, name in enumerate(self.body_names))
        return {each.name: each for each in (*self.sites, *bodies, *self.links)}

    @property
    def neutral(self) -> np.ndarray:
        """(nq,) zero angles and travels, identity orientations."""
        q = np.zeros(self.nq)
        for where in self.quaternions:
            q[where.stop - 1] = 1.0
        return q

    def with_inertias(self, theta) -> "Robot":
        """Copy with other inertial parameters. theta: (nb, 10) or (10 nb,)."""
        theta = np.asarray(theta, dtype=float)
        if theta.size != 10 * self.nb:
            raise ModelError(
                f"Robot '{self.name}' has {self.nb} bodies, so inertias have shape ({self.nb}, 10); got {theta.shape}."
            )
        return replace(self, inertias=theta.reshape(self.nb, 10))

    def with_rotor_inertias(self, theta) -> "Robot":
        """Copy whose rotors have other inertial parameters (nr, 10), averaged over a turn where they are symmetric."""
        theta = np.asarray(theta, dtype=float)
        if theta.size != 10 * len(self.rotors):
            raise ModelError(f"Robot '{self.name}' has {len(self.rotors)} rotors of ten parameters; got {theta.shape}.")
        return replace(
            self,
            rotors=tuple(
                replace(rotor, theta=rotor.content @ rotor.reading @ each)
                for rotor, each in zip(self.rotors, theta.reshape(-1, 10), strict=True)
            ),
        )

    def with_joint_properties(self, *, armature=None, damping=None, frictionloss=None) -> "Robot":
        """Copy with other armature [kg m^2], damping [N m s/rad] or frictionloss [N m], each (nv,)."""
        given = {"armature": armature, "damping": damping, "frictionloss": frictionloss}
        changed = {name: np.asarray(value, dtype=float) for name, value in given.items() if value is not None}
        for name, value in changed.items():
            if value.shape != (self.nv,):
                raise ModelError(
                    f"{name} of robot '{self.name}' has shape ({self.nv},), one value a degree; got {value.shape}."
                )
        return replace(self, **changed)

    def with_actuated(self, names) -> "Robot":
        """Copy whose motors are in the named joints. Raises ModelError that lists the joints for an unknown name."""
        names = (names,) if isinstance(names, str) else tuple(names)
        unknown = [name for name in names if name not in self.joint_names]
        if unknown:
            raise ModelError(
                f"Robot '{self.name}' has no joint '{unknown[0]}' to drive. Its joints: {choices(self.joint_names)}."
            )
        return replace(self, actuated=tuple(dict.fromkeys(names)))

    def body_index(self, name: str) -> int:
        """Index of a body by name. Raises ModelError that lists the valid names."""
        if name not in self.body_names:
            raise ModelError(f"Robot '{self.name}' has no body '{name}'. Its bodies: {choices(self.body_names)}.")
        return self.body_names.index(name)

    def carrier(self, joint: int) -> int:
        """The body that a joint hangs on, or WORLD: inner joints of a compound one carry none."""
        joint = int(self.parents[joint])
        while joint != WORLD and joint not in self.body_joints:
            joint = int(self.parents[joint])
        return WORLD if joint == WORLD else int(np.flatnonzero(self.body_joints == joint)[0])

    def frame(self, name: str) -> Frame:
        """A link or another named place. Raises ModelError that lists the valid names."""
        if name not in self.frames:
            raise ModelError(
                f"Robot '{self.name}' has no link or frame '{name}'. It has {choices(sorted(self.frames))}."
            )
        return self.frames[name]

    def __repr__(self) -> str:
        base = "floating" if self.floating else "fixed"
        return f"Robot('{self.name}', {self.nb} bodies, {self.nv} degrees of freedom, {base} base)"


def with_moved_axes(robot: Robot, eta) -> Robot:
    """The robot with every joint's twist moved by `eta = [dv; dw]` in its child's frame.

    Args:
        robot: the robot.
        eta: (nj, 6), m and rad, one row a joint of `robot.joints`; zero for joints with several degrees. With rows for
            `robot.loops` behind them, (nj + L, 6), joints that were cut move, too: both frames of each closure.

    Returns:
        A robot without source file: `save` writes a new one.

    Raises:
        ModelError: another shape, and a joint that has no twist.
    """
    eta = np.asarray(eta, dtype=float)
    if eta.shape not in ((robot.nj, 6), (robot.nj + len(robot.loops), 6)) or not np.isfinite(eta).all():
        raise ModelError(
            f"eta of robot '{robot.name}' has shape ({robot.nj}, 6), a finite twist a joint; got {eta.shape}."
        )
    if not eta.any():
        return robot
    joints = tuple(
        _with_moved_axis(joint, twist) if twist.any() else joint
        for joint, twist in zip(robot.joints, eta[: robot.nj], strict=True)
    )
    loops = robot.loops
    if len(eta) > robot.nj:
        loops = tuple(_with_moved_frames(loop, twist) for loop, twist in zip(loops, eta[robot.nj :], strict=True))
    return replace(robot, joints=joints, loops=loops, source=None)


def _with_moved_frames(loop: Loop, eta) -> Loop:
    if not eta.any():
        return loop
    R, p = rotation_from_vector(eta[3:]), left_jacobian(eta[3:]) @ eta[:3]
    return replace(loop, rotations=loop.rotations @ R, positions=loop.positions + loop.rotations @ p)


def _with_moved_axis(joint: Joint, eta) -> Joint:
    if joint.nv != 1:
        raise ModelError(f"Joint '{joint.name}' is {joint.kind}; only joints of one degree have a twist to turn.")
    R, p = rotation_from_vector(eta[3:]), left_jacobian(eta[3:]) @ eta[:3]
    return replace(joint, subspace=adjoint(R, p) @ joint.subspace)
