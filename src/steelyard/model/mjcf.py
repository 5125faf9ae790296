"""MJCF reading through MuJoCo's own compiler, so that every default means what MuJoCo means."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import ModelError
from steelyard.inertia import from_com_inertia
from steelyard.lazy import later
from steelyard.model.assemble import Segment, assemble, ground, unmodelled
from steelyard.model.document import ModelDocument
from steelyard.model.joint import KINDS, Joint
from steelyard.model.loops import Loop
from steelyard.model.mjcf_compile import (
    body_name,
    compile_files,
    compile_spec,
    compiled_rotation,
    joint_name,
    joint_type,
)
from steelyard.model.mjcf_drives import direct_drives, joint_drives
from steelyard.model.mjcf_files import GENERATORS, WRAPPERS, MjcfFiles, Node, bodies, read_files
from steelyard.model.robot import ContactParameters, ModelSource, Robot
from steelyard.model.xml import Document, rooted
from steelyard.spatial import Pose, identity


def closures(m) -> list[int]:
    """Indices of the active equality constraints that close a kinematic loop: connect and weld."""
    import mujoco

    closing = (int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD))
    return [k for k in range(m.neq) if m.eq_active0[k] and int(m.eq_type[k]) in closing]


def _closure(m, k: int) -> Loop:
    import mujoco

    weld = int(m.eq_type[k]) == int(mujoco.mjtEq.mjEQ_WELD)
    data, ends = m.eq_data[k], (int(m.eq_obj1id[k]), int(m.eq_obj2id[k]))
    if int(m.eq_objtype[k]) == int(mujoco.mjtObj.mjOBJ_SITE):
        frames = [(compiled_rotation(m.site_quat[s]), m.site_pos[s]) for s in ends]
        ends = (int(m.site_bodyid[s]) for s in ends)
    elif weld:  # the anchor is given in the second body, the pose of the second in the first
        frames = [(compiled_rotation(data[6:10]), data[3:6]), (np.eye(3), data[0:3])]
    else:
        frames = [(np.eye(3), data[0:3]), (np.eye(3), data[3:6])]
    one, other = (body_name(m, body) for body in ends)
    placed = map(np.stack, zip(*frames, strict=True))
    return Loop(m.eq(k).name or f"equality {k}", "weld" if weld else "connect", (one, other), *placed)


@dataclass(frozen=True, eq=False)
class MjcfDocument(ModelDocument):
    """An MJCF file, with what it includes."""

    @cached_property
    def xml(self) -> Document:
        """What is in it. Raises ModelError for what is no MJCF."""
        return rooted(self.path, "an MJCF", "mujoco", "mujocoinclude")

    @cached_property
    def files(self) -> MjcfFiles:
        """It and the XML files that it names. Raises ModelError as `read_files`."""
        return read_files(self.xml.path, self.folders)

    @cached_property
    def compiled(self) -> tuple[Any, list[str]]:
        """MuJoCo's model of it, and MuJoCo's warnings. Raises ModelError as `compile_files`."""
        return compile_files(self.files)

    @property
    def whole(self) -> bool:
        return self.xml.root.tag == "mujoco" and self.xml.root.find("worldbody") is not None

    @property
    def holds_floor(self) -> bool:
        return bool(floor_nodes(self.files, self.compiled[0]))

    def referenced(self) -> Iterator[Path]:
        return self.files.named()

    def robot(self, *, floating, gravity) -> Robot:
        m, warned = self.compiled
        source = ModelSource(self.path.absolute(), "mjcf", self.folders)
        notes = [*self.xml.notes, *(f"{self.path.name}: {text}" for text in warned)]
        return _robot(m, self.path, floating=floating, gravity=gravity, source=source, notes=notes)

    sketch = later("steelyard.model", "sketch_mjcf.sketch")
    pieces = later("steelyard.model", "sketch_mjcf.pieces")
    left_out = later("steelyard.model", "sketch_mjcf.left_out")
    surroundings = later("steelyard.model", "sketch_mjcf.surroundings")
    keyframes = later("steelyard.model", "sketch_mjcf.keyframes")
    edited = later("steelyard.model", "mjcf_write.edited")
    with_inertials = later("steelyard.model", "mjcf_write.with_inertials")


def robot_of_object(given, *, floating: bool | None, gravity) -> Robot:
    """The robot of an MjModel or MjSpec, as of its file but without one, so that `save` writes a new one. Raises
    ModelError."""
    kind = type(given).__name__
    if kind == "MjSpec":
        m, warned = compile_spec(given, "the MjSpec")
    elif kind == "MjModel":
        m, warned = given, []
    else:
        raise ModelError(f"A robot is read from an MjModel or MjSpec; found an {kind}. Give its model.")
    name = _name(m) or kind
    notes = [f"{name}: {text}" for text in warned]
    return _robot(m, Path(name), floating=floating, gravity=gravity, source=None, notes=notes)


def _name(m) -> str:
    return m.names[: m.names.index(b"\0")].decode()


def _robot(m, path: Path, *, floating: bool | None, gravity, source: ModelSource | None, notes: list[str]) -> Robot:
    """The robot of a compiled model. path: of its file, to name it in messages."""
    import mujoco

    _require_finite(m, path)
    if gravity is None:
        gravity = np.zeros(3) if m.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY else m.opt.gravity
    robot = assemble(
        _name(m) or path.stem,
        _segments(m),
        floating=floating,
        gravity=gravity,
        source=source,
        notes=[*notes, *_unmodelled(m, path)],
        closures=(_closure(m, k) for k in closures(m)),
        places=_places(m),
    )
    driven = {joint_name(m, joint) for _, joint in direct_drives(m)} if robot.loops else ()
    actuated = tuple(name for name in robot.joint_names if name in driven)
    return replace(robot, actuated=actuated, drives=joint_drives(m, robot), floor=floor_of(m))


def _places(m) -> Iterator[tuple[str, str, Pose]]:
    for k in (k for k in range(m.nsite) if m.site(k).name):
        yield m.site(k).name, body_name(m, int(m.site_bodyid[k])), (compiled_rotation(m.site_quat[k]), m.site_pos[k])


def _require_finite(m, path: Path):
    """Raise ModelError for what MuJoCo compiles although it is no number, such as a size or an armature of "inf"."""
    bodies = {"mass": m.body_mass, "inertia": m.body_inertia, "inertial pos": m.body_ipos, "pos": m.body_pos}
    joints = {"pos": m.jnt_pos, "axis": m.jnt_axis, "ref": m.qpos0[m.jnt_qposadr]}
    dofs = {"armature": m.dof_armature, "damping": m.dof_damping, "frictionloss": m.dof_frictionloss}
    closed = closures(m)
    named = [(values, name, lambda i: f"body '{body_name(m, i)}'") for name, values in bodies.items()]
    named += [(values, name, lambda i: f"joint '{joint_name(m, i)}'") for name, values in joints.items()]
    named += [(values, name, lambda i: f"joint '{joint_name(m, m.dof_jntid[i])}'") for name, values in dofs.items()]
    named.append((m.eq_data[closed, :10], "anchor and pose", lambda i: f"equality {closed[i]}"))
    named.append((m.opt.gravity[None], "gravity", lambda i: "<option>"))
    for values, name, owner in named:
        wrong = np.flatnonzero(~np.isfinite(values).all(axis=tuple(range(1, values.ndim))))
        if len(wrong):
            raise ModelError(
                f"{path}: {owner(wrong[0])} has {name} {values[wrong[0]].tolist()} once MuJoCo has compiled it; "
                "expected finite numbers. Correct its attributes, and the sizes of its geoms."
            )


def _followers(m) -> dict[int, tuple[int, int]]:
    """Joints that an active equality couples to another one by a straight line: the joint it follows, and the
    equality. What would close a circle, or couple a joint twice, is left out."""
    import mujoco

    kinds = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
    found: dict[int, tuple[int, int]] = {}
    for k in range(m.neq):
        if int(m.eq_type[k]) != int(mujoco.mjtEq.mjEQ_JOINT) or not m.eq_active0[k]:
            continue
        joint, master = int(m.eq_obj1id[k]), int(m.eq_obj2id[k])
        straight = master >= 0 and not np.any(m.eq_data[k, 2:5]) and m.eq_data[k, 1] != 0
        if not straight or joint in found or {int(m.jnt_type[joint]), int(m.jnt_type[master])} - {*kinds}:
            continue
        end = master
        while end in found:
            end = found[end][0]
        if end != joint:
            found[joint] = master, k
    return found


def _coupled(m, segments: list[Segment]) -> list[Segment]:
    """Segments with the joints that follow another as mimics: `q1 - ref1 = a0 + a1 (q2 - ref2)`, MuJoCo's form."""
    followers = _followers(m)
    if not followers:
        return segments
    mimics = {}
    for joint, (master, k) in followers.items():
        a0, a1 = m.eq_data[k, :2]
        start = 0.0 if master in followers else m.qpos0[m.jnt_qposadr[master]]  # of a follower, from its ref on
        mimics[joint_name(m, joint)] = joint_name(m, master), float(a1), float(a0 - a1 * start)

    def coupled(joint: Joint) -> Joint:
        if joint.name not in mimics:
            return joint
        master, ratio, offset = mimics[joint.name]
        return replace(joint, mimics=master, ratio=ratio, offset=offset)

    return [replace(each, joints=tuple(map(coupled, each.joints))) for each in segments]


def _segments(m) -> list[Segment]:
    segments = [ground("world")]
    for body in range(1, m.nbody):
        R, p = compiled_rotation(m.body_quat[body]), m.body_pos[body].copy()
        joints = [joint_of(m, j) for j in range(m.body_jntadr[body], m.body_jntadr[body] + m.body_jntnum[body])]
        if joints and joints[0].kind != "free":  # the pose of a free body is its q
            joints[0] = replace(joints[0], rotation=R, position=p)
        axes = compiled_rotation(m.body_iquat[body])
        inertia = axes @ np.diag(m.body_inertia[body]) @ axes.T
        theta = from_com_inertia(m.body_mass[body], m.body_ipos[body].copy(), inertia)
        known = bool(m.body_mass[body] > 0)
        segments.append(Segment(body_name(m, body), int(m.body_parentid[body]), R, p, tuple(joints), theta, known))
    return _coupled(m, segments)


def joint_of(m, index: int) -> Joint:
    kind = next(name for name, each in KINDS.items() if each.mujoco == joint_type(m, index))
    dof = m.jnt_dofadr[index]
    subspace = KINDS[kind].subspace(m.jnt_axis[index].copy(), m.jnt_pos[index].copy())
    joint = Joint(
        joint_name(m, index),
        kind,
        subspace,
        *identity(),
        armature=float(m.dof_armature[dof]),
        damping=float(m.dof_damping[dof].flat[0]),
        frictionloss=float(m.dof_frictionloss[dof]),
    )
    if joint.nv > 1:
        return joint
    limited = bool(m.jnt_limited[index])
    return replace(
        joint,
        offset=-float(m.qpos0[m.jnt_qposadr[index]]),
        lower=m.jnt_range[index, 0] if limited else -np.inf,
        upper=m.jnt_range[index, 1] if limited else np.inf,
        effort_limit=m.jnt_actfrcrange[index, 1] if m.jnt_actfrclimited[index] else np.inf,
    )


def _unmodelled(m, path: Path) -> list[str]:
    """Elements that act on the motion but are not part of the rigid-body model, one note each."""
    found = {
        "equality constraints": m.neq - len(closures(m)) - len(_followers(m)),
        "tendons": m.ntendon,
        "joint springs": int(np.count_nonzero(m.jnt_stiffness)),
        "gravity compensation on bodies": int(np.count_nonzero(m.body_gravcomp)),
    }
    return unmodelled(path, found)


CONTACT = ("friction", "solref", "solimp")  # numbers of a `Contact`


def standing(m: Any) -> np.ndarray:
    """Numbers of the geoms of an MjModel that touch and stand still."""
    return np.flatnonzero((m.body_weldid[m.geom_bodyid] == 0) & _touching(m))


def floor_of(m: Any) -> ContactParameters | None:
    """What all contacts with the floor of an MjModel have; None where it does not say so alone, in the same numbers
    everywhere."""
    own = standing(m)
    if not len(own) or m.npair or m.geom_priority[own].min() <= highest(m):
        return None
    found = {
        ContactParameters(
            *(tuple(getattr(m, f"geom_{name}")[g].tolist()) for name in CONTACT), condim=int(m.geom_condim[g])
        )
        for g in own
    }
    return found.pop() if len(found) == 1 else None


def floor_nodes(files: MjcfFiles, m: Any) -> dict[int, Node]:
    """Elements of all geoms that stand, by number, which say what contacts with the floor have; none where one is no
    element of its own, or `<pair>` says what contacts have. m: the MjModel of the files."""
    own, listed, nodes = standing(m), bodies(files)[0], {}
    for body in dict.fromkeys(m.geom_bodyid[own].tolist()):
        sections = files.sections("worldbody") if body == 0 else [each.node for each in listed[body - 1 : body]]
        elements = [geom for section in sections for geom in _geoms(files, section)]
        if m.npair or len(elements) != m.body_geomnum[body]:
            return {}
        nodes |= {geom: elements[geom - m.body_geomadr[body]] for geom in own[m.geom_bodyid[own] == body].tolist()}
    return nodes


def _touching(m) -> np.ndarray:
    return (m.geom_contype | m.geom_conaffinity) > 0


def highest(m) -> int:
    others = _touching(m)
    others[standing(m)] = False
    return int(m.geom_priority[others].max(initial=0))


def _geoms(files: MjcfFiles, section: Node) -> Iterator[Node]:
    """Geoms of a body, in order, none where one is made by a generator."""
    for child in files.children(section):
        if child.element.tag == "geom":
            yield child
        elif child.element.tag in WRAPPERS:
            yield from _geoms(files, child)
        elif child.element.tag in GENERATORS:
            return
