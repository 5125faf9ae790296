"""URDF reading: links and joints to parts.

Only `<link>` inertials and `<joint>`s matter here; all else in the file is left alone.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from steelyard.errors import ModelError, choices
from steelyard.inertia import from_com_inertia, solids
from steelyard.model.assemble import DEFAULT_GRAVITY, Part, assemble, free_joint
from steelyard.model.joint import Joint, planar_subspace, prismatic_subspace, revolute_subspace, unit_axis, unlimited
from steelyard.model.meshes import Meshes, Piece
from steelyard.model.robot import WORLD, Robot, Source
from steelyard.model.xml import floats, number, parse, where
from steelyard.spatial import rotation_from_rpy

MESH = "mesh"  # the kind of geometry that is a file
ROLES = ("collision", "visual")
JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")


def load(path, *, floating=None, gravity=None, folders=()) -> Robot:
    """Read a URDF file. folders: in which its meshes may lie, which are not read here.

    Raises ModelError that names file, line and element.
    """
    path = Path(path)
    root = parse(path)
    if root.tag != "robot":
        raise ModelError(f"{path}:{root.sourceline}: the root element is <{root.tag}>; a URDF starts with <robot>.")
    if root.xpath("//*[contains(namespace-uri(), 'xacro')]"):
        raise ModelError(f"{path} holds xacro macros. Expand it first: `xacro {path.name} > robot.urdf`.")
    links = _named(root.findall("link"), "link", path)
    joints = _named(root.findall("joint"), "joint", path)
    if not links:
        raise ModelError(f"{path} has no <link>; a robot needs at least two links and a movable joint.")
    notes = [] if root.get("name") else [f"{path.name}: <robot> has no name; '{path.stem}' is used."]
    parts = _parts(links, joints, path)
    return assemble(
        root.get("name") or path.stem,
        parts,
        floating=floating,
        gravity=DEFAULT_GRAVITY if gravity is None else gravity,
        source=Source(path.absolute(), "urdf", tuple(folders)),
        notes=notes,
    )


def _named(elements, what, path):
    named = {}
    for element in elements:
        name = element.get("name")
        if not name:
            raise ModelError(f"{path}:{element.sourceline}: <{what}> has no name.")
        if name in named:
            first = named[name].sourceline
            raise ModelError(f'{path}:{element.sourceline}: <{what} name="{name}"> is already defined in line {first}.')
        named[name] = element
    return named


def _parts(links, joints, path) -> list[Part]:
    incoming = {}
    for joint in joints.values():
        parent, child = _end(joint, "parent", links, path), _end(joint, "child", links, path)
        if child in incoming:
            other = incoming[child][0].get("name")
            raise ModelError(
                f"{where(joint, path)} makes a second parent for link '{child}' (the first is joint '{other}'). "
                "URDF describes trees; close a loop in an MJCF model instead."
            )
        incoming[child] = (joint, parent)
    order = {name: index for index, name in enumerate(links)}
    roots = [name for name in links if name not in incoming]
    if len(roots) != 1:
        found = f"has {len(roots)} root links ({choices(roots)})" if roots else "is a loop without a root link"
        raise ModelError(f"{path}: the kinematic tree {found}; a URDF has exactly one link that is no joint's child.")
    _require_connected(roots[0], incoming, links, path)
    parts = []
    for name, link in links.items():
        stated = _inertial(link, path)
        known = stated is not None
        theta = np.zeros(10) if stated is None else stated
        if name == roots[0]:
            parts.append(Part(name, WORLD, np.eye(3), np.zeros(3), (), theta, known))
            continue
        joint, parent = incoming[name]
        R, p = origin(joint, path)
        placed = _joint(joint, R, p, path)
        parts.append(Part(name, order[parent], R, p, () if placed is None else (placed,), theta, known))
    return parts


def _require_connected(root, incoming, links, path):
    children = {}
    for child, (_, parent) in incoming.items():
        children.setdefault(parent, []).append(child)
    reached, stack = set(), [root]
    while stack:
        name = stack.pop()
        reached.add(name)
        stack += children.get(name, [])
    lost = [name for name in links if name not in reached]
    if lost:
        raise ModelError(f"{path}: links {choices(lost)} form a loop that is not connected to the root link '{root}'.")


def _end(joint, tag, links, path) -> str:
    element = joint.find(tag)
    name = element.get("link") if element is not None else None
    if name is None or name not in links:
        found = "has no" if name is None else f"names '{name}' as its"
        raise ModelError(f"{where(joint, path)} {found} {tag} link. Links of this file: {choices(links)}.")
    return name


def origin(element, path):
    """Pose of an element's <origin>, identity when it has none."""
    given = element.find("origin")
    if given is None:
        return np.eye(3), np.zeros(3)
    return rotation_from_rpy(floats(given, "rpy", 3, path, default=np.zeros(3))), floats(
        given, "xyz", 3, path, default=np.zeros(3)
    )


def _inertial(link, path):
    inertial = link.find("inertial")
    if inertial is None:
        return None
    mass, inertia = inertial.find("mass"), inertial.find("inertia")
    if mass is None or inertia is None:
        missing = "mass" if mass is None else "inertia"
        raise ModelError(f"{where(link, path)}: its <inertial> has no <{missing}>. Add it, or remove the <inertial>.")
    R, com = origin(inertial, path)
    xx, xy, xz, yy, yz, zz = (
        number(inertia, key, path, default=0.0 if key in ("ixy", "ixz", "iyz") else None)
        for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    rotated = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    return from_com_inertia(number(mass, "value", path), com, rotated)


def _joint(element, R, p, path) -> Joint | None:
    """Placed joint of a URDF element, None when fixed."""
    name, kind = element.get("name"), element.get("type")
    if kind not in JOINT_TYPES:
        raise ModelError(f"{where(element, path)} has type '{kind}'. Supported: {choices(JOINT_TYPES)}.")
    if kind == "fixed":
        return None
    dynamics = element.find("dynamics")
    damping = friction = 0.0
    if dynamics is not None:
        damping = number(dynamics, "damping", path, default=0.0)
        friction = number(dynamics, "friction", path, default=0.0)
    if kind == "floating":
        return replace(free_joint(name), rotation=R, position=p)
    axis = element.find("axis")
    axis = np.array([1.0, 0.0, 0.0]) if axis is None else floats(axis, "xyz", 3, path, default=(1.0, 0.0, 0.0))
    axis = unit_axis(axis, joint=f"{name}' in '{path}")
    if kind == "planar":
        planar = Joint(name, "planar", planar_subspace(axis), R, p, **unlimited(3, 3))
        return replace(planar, damping=damping, frictionloss=friction)
    rotary = kind != "prismatic"
    mimics, ratio, offset = _mimic(element, path)
    lower, upper, velocity, effort = _limits(element, kind, path)
    return Joint(
        name,
        "revolute" if rotary else "prismatic",
        revolute_subspace(axis) if rotary else prismatic_subspace(axis),
        R,
        p,
        ratio=ratio,
        offset=offset,
        mimics=mimics,
        lower=lower,
        upper=upper,
        velocity_limit=velocity,
        effort_limit=effort,
        damping=damping,
        frictionloss=friction,
    )


def _mimic(element, path):
    mimic = element.find("mimic")
    if mimic is None:
        return None, 1.0, 0.0
    master = mimic.get("joint")
    if not master:
        raise ModelError(f"{where(element, path)}: its <mimic> names no joint.")
    return master, number(mimic, "multiplier", path, default=1.0), number(mimic, "offset", path, default=0.0)


def _limits(element, kind, path):
    """Lower, upper, velocity and effort limits, each (1,), infinite where the file states none.

    A bound that is missing is 0, as the format says. A range without width, and a speed or an effort of nothing, are
    what exporters write for "unknown": a joint that cannot move would be fixed. MuJoCo ignores such ranges, too.
    """
    limit = element.find("limit")
    keys = ("velocity", "effort") if kind == "continuous" else ("lower", "upper", "velocity", "effort")
    stated = {} if limit is None else {key: number(limit, key, path, default=0.0, infinite=True) for key in keys}
    lower, upper = stated.get("lower", 0.0), stated.get("upper", 0.0)
    if lower >= upper:
        lower, upper = -np.inf, np.inf
    velocity, effort = (value if (value := stated.get(key, 0.0)) > 0 else np.inf for key in ("velocity", "effort"))
    return tuple(np.array([value]) for value in (lower, upper, velocity, effort))


def pieces(path, folders: tuple[Path, ...]) -> Iterator[Piece]:
    """Geometry of all links, collision before visual. folders: in which meshes may lie, as of `allowed_folders`.

    Raises ModelError for a file that is no XML.
    """
    path = Path(path)
    root = parse(path)
    colors = {each.get("name"): _rgba(each, path) for each in root.findall("material")}
    source = Meshes(path.parent, folders)
    for link in root.findall("link"):
        for role in ROLES:
            for element in link.findall(role):
                try:
                    yield _piece(element, link.get("name"), path, source, colors)
                except ModelError as error:
                    yield Piece(link.get("name"), role, problem=str(error).rstrip("."))


def _piece(element, link: str, path: Path, source: Meshes, colors) -> Piece:
    """Raises ModelError for geometry that cannot be understood."""
    kind, name, size = _shape_of(element, path)
    R, p = origin(element, path)
    material = element.find("material")
    color = None if material is None else _rgba(material, path) or colors.get(material.get("name"))
    placed = Piece(link, element.tag, R, p, (name if kind == MESH else kind, *size), color=color)
    if kind == MESH:
        return replace(placed, file=source.find(name), name=name, scale=size)
    return replace(placed, vertices=solids.from_urdf(kind, size))


def _shape_of(element, path: Path) -> tuple[str, str, np.ndarray]:
    """Kind, name of the mesh file, and size (scale of a mesh) of a <collision> or <visual>.

    Raises ModelError for one without geometry, or with one that URDF does not know.
    """
    solid = element.find("geometry/*")  # a comment is no element
    if solid is None:
        raise ModelError(f"<{element.tag}> without geometry")
    if solid.tag == MESH:
        return MESH, solid.get("filename", "").strip(), floats(solid, "scale", 3, path, default=np.ones(3))
    if solid.tag not in solids.URDF_SIZES:
        raise ModelError(f"<{solid.tag}> is no geometry of URDF")
    sizes = [floats(solid, name, count, path) for name, count in solids.URDF_SIZES[solid.tag].items()]
    return solid.tag, "", np.concatenate(sizes)


def _rgba(material, path) -> tuple[float, ...] | None:
    color = material.find("color")
    if color is None:
        return None
    try:
        return tuple(np.clip(floats(color, "rgba", 4, path), 0.0, 1.0))
    except ModelError:  # a colour is not worth losing the piece
        return None
