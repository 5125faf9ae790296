"""A new MJCF file of a robot in its normal form, and of the geometry of its links."""

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

import numpy as np

from steelyard.errors import choices
from steelyard.model.changes import OPEN, Draft, unused
from steelyard.model.compare import PROPERTIES
from steelyard.model.joint import Joint, ball_anchor, screw
from steelyard.model.loops import Loop
from steelyard.model.meshes import Piece
from steelyard.model.mjcf_drives import actuator_element, as_text, hard_friction, simulated, unwritten
from steelyard.model.mjcf_write import new_inertial
from steelyard.model.normal_form import Member, NormalForm, at_origin
from steelyard.model.references import Relocation
from steelyard.model.robot import WORLD, Robot
from steelyard.model.side_mechanism import GROUND, rest_poses
from steelyard.model.xml_edit import NewElement, new_file, number_text
from steelyard.numbers import NEGLIGIBLE
from steelyard.spatial import quaternion_of

LOOPS = ("connect", "weld")  # kinds of loop closures that MJCF has


MESHES = (".stl", ".obj", ".msh")
# shown and touched geoms, as collections of MuJoCo's models have them; a shell may be open or flat
DEFAULTS = (
    NewElement(
        "default",
        {},
        (
            NewElement("mesh", {"inertia": "shell"}),
            NewElement(
                "default",
                {"class": "visual"},
                (NewElement("geom", {"group": "2", "contype": "0", "conaffinity": "0"}),),
            ),
            NewElement("default", {"class": "collision"}, (NewElement("geom", {"group": "3"}),)),
        ),
    ),
)
PROBE = (
    '<mujoco><asset><mesh name="m" file="{file}" inertia="shell"/></asset>'
    '<worldbody><geom type="mesh" mesh="m"{untouched}/></worldbody></mujoco>'
)
UNTOUCHED = ' contype="0" conaffinity="0"'


def mesh_problem(name: str, content: bytes, role: str) -> str:
    """As of `Shapes.problem`: MuJoCo itself is asked, as its rules are many."""
    import mujoco

    from steelyard.model.mjcf_compile import captured_warnings

    suffix = Path(name).suffix.lower()
    if suffix not in MESHES:
        return f"MuJoCo does not read {suffix} files"
    file = f"mesh{suffix}"
    text = PROBE.format(file=file, untouched=UNTOUCHED if role == "visual" else "")
    try:
        with captured_warnings():
            m = mujoco.MjModel.from_xml_string(text, {file: content})
    except (ValueError, RuntimeError) as error:
        said, _, _ = str(error).removeprefix("Error: ").partition("Element name")
        return "MuJoCo: " + " ".join(said.split())
    lost = _triangles_in_groups(content) - int(m.mesh_facenum[0]) if suffix == ".obj" else 0
    return f"MuJoCo leaves out {lost} triangles that are in groups" if lost > 0 else ""


def _triangles_in_groups(content: bytes) -> int:
    """Number of triangles of an OBJ file with several groups, of which MuJoCo (4.0) reads one; 0 of any other."""
    words = [line.split() for line in content.splitlines() if line[:1] in b"fgou"]
    groups = sum(line[:1] in ([b"g"], [b"o"], [b"usemtl"]) for line in words)
    return sum(len(line) - 3 for line in words if line[:1] == [b"f"]) if groups > 1 else 0


def overlapping(text: bytes, folder: Path) -> list[tuple[str, str]]:
    """Names of bodies whose geoms overlap where every joint is at zero, or at the limit nearest to it, in pairs; none
    of an MJCF text that does not compile. folder: where it is."""
    import mujoco

    from steelyard.model.mjcf_compile import captured_warnings

    try:
        with captured_warnings():
            spec = mujoco.MjSpec.from_string(text.decode())
            spec.modelfiledir = str(folder)
            m = spec.compile()
            d = mujoco.MjData(m)
            limited = np.flatnonzero(m.jnt_limited & (m.jnt_type >= int(mujoco.mjtJoint.mjJNT_SLIDE)))
            for joint in limited:
                at = m.jnt_qposadr[joint]
                d.qpos[at] = np.clip(d.qpos[at], *m.jnt_range[joint])
            mujoco.mj_kinematics(m, d)
            mujoco.mj_comPos(m, d)
            mujoco.mj_collision(m, d)
    except (ValueError, RuntimeError):  # reading it back says why
        return []
    deep = [sorted(m.geom_bodyid[[each.geom1, each.geom2]].tolist()) for each in d.contact if each.dist < 0]
    return [(m.body(a).name, m.body(b).name) for a, b in dict.fromkeys(map(tuple, deep))]


class Geometry:
    """Geoms of links, and the meshes that they name.

    assets: `<mesh>` elements.
    """

    def __init__(self, target: Path, pieces: Mapping[str, list[Piece]]):
        """target: the file. pieces: of links."""
        self.assets: list[NewElement] = []
        self._geoms: dict[str, list[NewElement]] = {}
        self._solid: set[str] = set()
        self._names: dict[tuple, str] = {}
        self._here = Relocation(target.parent, target.parent)
        for link, each in pieces.items():
            self._geoms[link] = [self._geom(piece) for piece in each]
            if any(piece.role == "collision" for piece in each):
                self._solid.add(link)

    def of(self, link: str) -> list[NewElement]:
        return self._geoms.get(link, [])

    @property
    def solids(self) -> int:
        """Number of links with geoms that touch others."""
        return len(self._solid)

    def touches(self, link: str) -> bool:
        """Whether a link has geoms that touch others."""
        return link in self._solid

    def _geom(self, piece: Piece) -> NewElement:
        attributes = {"class": piece.role} | dict(self._shape(piece)) | _pose(piece.position, piece.rotation)
        if piece.color is not None:
            attributes["rgba"] = number_text(piece.color)
        return NewElement("geom", attributes)

    def _shape(self, piece: Piece) -> Iterator[tuple[str, str]]:
        if piece.solid is None:
            yield from (("type", "mesh"), ("mesh", self._mesh(piece)))
            return
        kind, sizes = piece.solid
        yield "type", kind
        match kind:
            case "box":
                sizes = tuple(size / 2 for size in sizes)
            case "cylinder" | "capsule":
                sizes = (sizes[0], sizes[1] / 2)
        yield "size", number_text(sizes)

    def _mesh(self, piece: Piece) -> str:
        """Name of the `<mesh>` of a file and scale, made where it is new."""
        assert piece.file is not None and piece.file.path is not None and piece.scale is not None  # of `shape_output`
        file = self._here.seen(piece.file.path)
        key = (file, *piece.scale)
        if key not in self._names:
            self._names[key] = unused(piece.file.path.stem, self._names.values())
            attributes = {"name": self._names[key], "file": file}
            if not np.array_equal(piece.scale, np.ones(3)):
                attributes["scale"] = number_text(piece.scale)
            self.assets.append(NewElement("mesh", attributes))
        return self._names[key]


def new_model(form: NormalForm, target: Path, pieces: tuple[Piece, ...] = ()) -> Draft:
    robot, drives = form.robot, form.expected.drives
    geometry = Geometry(target, form.geometry(pieces))
    excluded = list(_excluded(form, geometry))

    def text(excluded) -> bytes:
        pairs = (NewElement("exclude", {"body1": one, "body2": other}) for one, other in excluded)
        sections = [
            NewElement("compiler", {"angle": "radian"} | ({"inertiafromgeom": "false"} if pieces else {})),
            NewElement("option", {"gravity": number_text(robot.gravity)} | (simulated() if drives else {})),
            *(DEFAULTS if pieces else ()),
            *_section("asset", geometry.assets),
            NewElement("worldbody", {}, world),
            *_section("contact", pairs),
            *_section("equality", (*(_coupling(robot, j) for j in robot.joints if j.mimics), *_closures(robot))),
            *_section("actuator", (actuator_element(name, name, drive) for name, drive in drives.items())),
        ]
        return new_file(NewElement("mujoco", {"model": robot.name}, tuple(sections)))

    world = (*_told_apart(form, geometry), *_inside(form, geometry))
    found = overlapping(text(excluded), target.parent) if geometry.solids > 1 else []
    notes = list(unwritten(robot.drives))
    if robot.mimic_names:
        named = choices(robot.mimic_names)
        notes.insert(0, f"Mimic joints ({named}) are coupled by <equality>, which MuJoCo holds softly.")
    if found:
        pairs = choices(" and ".join(pair) for pair in found)
        notes.append(f"Bodies whose shapes overlap at rest do not touch each other (<exclude>): {pairs}.")
    return form.draft(target, text([*excluded, *found]), notes)


def _section(tag: str, children) -> Iterator[NewElement]:
    children = tuple(children)
    if children:
        yield NewElement(tag, {}, children)


def _is_ground(member: Member) -> bool:
    return member.link.name == GROUND and not member.on and not member.joints and at_origin(member.link)


def _told_apart(form: NormalForm, geometry: Geometry) -> Iterator[NewElement]:
    """A site of the name of the ground that a file has, so that the link is told from the one that every file has."""
    still = [each for each in form.hanging[""] if not each.joints]
    others = any(at_origin(each.link) for each in still if each.link.name != GROUND)
    told = geometry.of(GROUND) or any(site.name == GROUND for site in form.robot.sites)
    if others and any(map(_is_ground, still)) and not told:
        yield NewElement("site", {"name": GROUND})


def _inside(form: NormalForm, geometry: Geometry, body: int = WORLD) -> Iterator[NewElement]:
    """Elements of a body or the world: its geoms and sites, links that are fixed to it, and bodies on joints."""
    name = "" if body == WORLD else form.robot.body_names[body]
    yield from geometry.of(name or GROUND)
    for site in (site for site in form.robot.sites if site.body == body):
        yield NewElement("site", {"name": site.name} | _pose(site.position, site.rotation))
    for each in sorted(form.hanging[name], key=lambda each: bool(each.joints)):
        if _is_ground(each):
            continue
        link = each.link
        inertial = (new_inertial(link.theta),) if link.theta.any() else ()
        joints = (_joint(form, index) for index in each.joints)
        inner = _inside(form, geometry, link.body) if each.joints else geometry.of(link.name)
        pose = _pose(each.position, each.rotation)
        yield NewElement("body", {"name": link.name} | pose, (*inertial, *joints, *inner))


def _pose(position, rotation) -> dict[str, str]:
    attributes = {"pos": number_text(position)} if np.any(position) else {}
    if not np.array_equal(rotation, np.eye(3)):
        attributes["quat"] = number_text(np.roll(quaternion_of(rotation), 1))
    return attributes


def _excluded(form: NormalForm, geometry: Geometry) -> Iterator[tuple[str, str]]:
    """Pairs of a link that stands still and a body on it: MuJoCo lets all neighbours touch but those of the world."""
    still = [each.link.name for each in form.hanging[""] if not each.joints and geometry.touches(each.link.name)]
    for member in (each for each in form.hanging[""] if each.joints):
        moving = [member.link.name, *(each.link.name for each in form.hanging[member.link.name] if not each.joints)]
        if form.robot.joints[member.joints[0]].kind != "free":
            yield from product(still, filter(geometry.touches, moving))


def _closures(robot: Robot) -> Iterator[NewElement]:
    """Loops that MJCF has a constraint for; the others are left to the side file."""
    for loop in filter(lambda loop: is_stated(robot, loop), robot.loops):
        one, other = (GROUND if body is None else body for body in loop.bodies)
        attributes = {"name": loop.name, "body1": one, "body2": other}
        if loop.kind == "connect":
            yield NewElement("connect", attributes | {"anchor": number_text(loop.positions[0])})
            continue
        # MuJoCo takes the anchor in the second body, and in the first the same point with the second's orientation
        R = loop.rotations[0] @ loop.rotations[1].T
        relative = [*loop.positions[0], *np.roll(quaternion_of(R), 1)]
        yield NewElement(
            "weld", attributes | {"anchor": number_text(loop.positions[1]), "relpose": number_text(relative)}
        )


def is_stated(robot: Robot, loop: Loop) -> bool:
    """Whether MJCF has a constraint for a loop: a point, which MuJoCo takes where it is at zero, or the whole pose."""
    if loop.kind != "connect":
        return loop.kind in LOOPS
    (R, p), points = rest_poses(robot), []
    for body, position in zip(loop.bodies, loop.positions, strict=True):
        at = None if body is None else robot.body_joints[robot.body_index(body)]
        points.append(position if at is None else p[at] + R[at] @ position)
    return bool(np.abs(points[0] - points[1]).max() <= NEGLIGIBLE)


def _joint(form: NormalForm, index: int) -> NewElement:
    joint = form.robot.joints[index]
    attributes = {"name": joint.name, "type": str(joint.features.mujoco)}
    if joint.features.quaternion and not joint.features.slides:
        attributes["pos"] = number_text(ball_anchor(joint.subspace))
    if joint.nv == 1:
        axis, anchor, _ = screw(joint)
        attributes["axis"] = number_text(axis)
        if np.any(anchor):
            attributes["pos"] = number_text(anchor)
        if joint.offset and joint.mimics is None:
            attributes["ref"] = number_text([-joint.offset])
        bounds = np.array([joint.lower[0], joint.upper[0]])
        if np.isfinite(bounds).any():
            attributes["range"] = number_text(np.clip(bounds, -OPEN, OPEN))
        if np.isfinite(joint.effort_limit[0]):
            attributes["actuatorfrcrange"] = number_text([-joint.effort_limit[0], joint.effort_limit[0]])
    values = {field: form.value(index, field) for field in PROPERTIES}
    if joint.name in form.robot.drives and values["frictionloss"]:
        attributes |= as_text(hard_friction())
    return NewElement("joint", attributes | {field: number_text([value]) for field, value in values.items() if value})


def _coupling(robot: Robot, joint: Joint) -> NewElement:
    """The mimic as `q - 0 = a0 + a1 (q_master - ref_master)`, MuJoCo's form; a reference is minus the offset."""
    master = next(j for j in robot.joints if j.name == joint.mimics)
    a0 = joint.offset - joint.ratio * master.offset
    return NewElement(
        "joint", {"joint1": joint.name, "joint2": master.name, "polycoef": number_text([a0, joint.ratio, 0, 0, 0])}
    )
