"""A URDF file as a `Sketch`: nothing is refused, everything odd becomes a fault."""

from pathlib import Path

import numpy as np

from steelyard.errors import ModelError, choices
from steelyard.inertia import solids
from steelyard.model.meshes import MAX_MESH_BYTES, Meshes
from steelyard.model.references import Resolved
from steelyard.model.sketch import FILE_RULES, Inertial, Joint, Part, Reader, Shape, Sketch
from steelyard.model.urdf import JOINT_TYPES
from steelyard.model.xml_edit import Document, Element
from steelyard.spatial import rotation_from_rpy

TENSOR = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
TWINS = {"iyx": "ixy", "izx": "ixz", "izy": "iyz"}
LARGE = 4 * 2**20  # bytes of a mesh
LIMITS = ("lower", "upper", "effort", "velocity")


def sketch(document: Document, folders: tuple[Path, ...], *, meshes: bool = True) -> Sketch:
    """Sketch of a URDF document. folders: in which meshes may lie. meshes: whether they are read.

    Raises ModelError for unexpanded xacro.
    """
    path, root = document.path, document.root
    if any(name == "xmlns:xacro" for name in root.attributes) and any(e.tag.startswith("xacro:") for e in root.walk()):
        raise ModelError(f"{path} holds xacro macros. Expand it first: `xacro {path.name} > robot.urdf`.")
    reader = Reader(document)
    links = _named(reader, "link")
    joints = _named(reader, "joint")
    if not links:
        raise ModelError(f"{path} has no <link>; there is nothing to check.")
    incoming = _incoming(reader, links, joints)
    order = _parents_first(reader, links, incoming)
    index = {name: i for i, name in enumerate(order)}
    source = Meshes(path.parent, folders) if meshes else None
    parts = []
    for name in order:
        joint, parent = incoming.get(name, (None, None))
        R, p = (np.eye(3), np.zeros(3)) if joint is None else _origin(reader, joint, _label(joint), code="SY506")
        moves = joint is not None and joint.attributes.get("type") != "fixed"
        above = index.get(parent) if parent is not None else None
        parts.append(_part(reader, links[name], name, above, R, p, moves, source))
    carried = {joint: index[child] for child, (joint, _) in incoming.items() if child in index}
    found = tuple(_joint(reader, e, name, carried.get(e), joints) for name, e in joints.items())
    return Sketch(path, "urdf", "link", tuple(parts), found, tuple(reader.faults))


def _label(element: Element) -> str:
    return f"{element.tag} '{element.attributes.get('name', '')}'"


def _named(reader: Reader, tag: str) -> dict[str, Element]:
    named: dict[str, Element] = {}
    for element in reader.document.root.children:
        if element.tag != tag:
            continue
        name = element.attributes.get("name")
        if not name:
            reader.fault("SY505", element, tag, f"<{tag}> has no name.")
        elif name in named:
            line = reader.place(named[name], "").line
            reader.fault("SY505", element, _label(element), f"{tag} '{name}' is already defined in line {line}.")
        else:
            named[name] = element
    return named


def _incoming(reader: Reader, links, joints) -> dict[str, tuple[Element, str]]:
    """Child link -> its joint and parent link."""
    incoming: dict[str, tuple[Element, str]] = {}
    for joint in joints.values():
        ends = {}
        for tag in ("parent", "child"):
            element = joint.find(tag)
            name = None if element is None else element.attributes.get("link")
            if name in links:
                ends[tag] = name
            else:
                said = (
                    f"has no {tag} link" if name is None else f"names '{name[:60]}' as its {tag}, which is no link here"
                )
                reader.fault("SY505", element or joint, _label(joint), f"{_label(joint)} {said}.")
        if len(ends) < 2:
            continue
        if ends["child"] in incoming:
            other = incoming[ends["child"]][0].attributes["name"]
            said = f"link '{ends['child']}' has two parents, through joints '{other}' and '{joint.attributes['name']}'."
            reader.fault("SY505", joint, _label(joint), said)
        else:
            incoming[ends["child"]] = (joint, ends["parent"])
    return incoming


def _parents_first(reader: Reader, links, incoming) -> list[str]:
    children: dict[str, list[str]] = {}
    for child, (_, parent) in incoming.items():
        children.setdefault(parent, []).append(child)
    roots = [name for name in links if name not in incoming]
    if len(roots) > 1:
        said = f"link '{roots[1]}' hangs on no joint; the tree already has the root '{roots[0]}' ({len(roots)} roots)."
        reader.fault("SY505", links[roots[1]], _label(links[roots[1]]), said)
    order, stack = [], list(reversed(roots))
    while stack:
        name = stack.pop()
        order.append(name)
        stack += reversed(children.get(name, []))
    lost = [name for name in links if name not in set(order)]
    if lost:
        said = f"links {choices(lost)} form a loop that hangs on no root."
        reader.fault("SY505", incoming[lost[0]][0], _label(links[lost[0]]), said)
        for name in lost:  # cut open, so that their inertials are still checked
            incoming.pop(name)
    return order + lost


def _origin(reader: Reader, element: Element, label: str, *, code="SY104"):
    origin = element.find("origin")
    if origin is None:
        return np.eye(3), np.zeros(3)
    label = f"{label} > origin"
    rpy = reader.numbers(origin, "rpy", 3, label, default=np.zeros(3), code=code)
    xyz = reader.numbers(origin, "xyz", 3, label, default=np.zeros(3), code=code)
    return rotation_from_rpy(rpy), xyz


def _part(reader: Reader, link: Element, name, parent, R, p, moves, meshes) -> Part:
    label = _label(link)
    shapes: list[Shape] = []
    partial = False
    for role in ("collision", "visual"):
        for element in link.children:
            if element.tag == role:
                # a picture of many megabytes takes long; without it the geometry counts as unknown
                limit = LARGE if role == "visual" and shapes else MAX_MESH_BYTES
                found = _shape(reader, element, role, f"{label} > {role}", meshes, limit)
                partial = partial or not found
                shapes += found
    known = np.nan_to_num(R), np.nan_to_num(p)  # an unreadable pose is reported once, then ignored
    inertial = _inertial(reader, link, label)
    return Part(name, reader.place(link, label), parent, *known, moves, inertial, tuple(shapes), partial=partial)


def _inertial(reader: Reader, link: Element, label: str) -> Inertial | None:
    inertial = link.find("inertial")
    if inertial is None:
        return None
    label = f"{label} > inertial"
    R, com = _origin(reader, inertial, label)
    mass, tensor = np.nan, np.full((3, 3), np.nan)
    element = inertial.find("mass")
    if element is None:
        reader.fault("SY105", inertial, label, "<inertial> has no <mass>.")
    else:
        mass = reader.number(element, "value", f"{label} > mass")
    element = inertial.find("inertia")
    if element is None:
        reader.fault("SY105", inertial, label, "<inertial> has no <inertia>.")
    else:
        tensor = _tensor(reader, element, f"{label} > inertia")
    return Inertial(reader.place(inertial, label), mass, com, R, tensor)


def _tensor(reader: Reader, element: Element, label: str) -> np.ndarray:
    off = ("ixy", "ixz", "iyz")
    xx, xy, xz, yy, yz, zz = (reader.number(element, key, label, default=0.0 if key in off else None) for key in TENSOR)
    for twin, key in TWINS.items():
        if twin in element.attributes:
            other, value = reader.number(element, twin, label), {"ixy": xy, "ixz": xz, "iyz": yz}[key]
            if np.isfinite([other, value]).all() and abs(other - value) > 1e-9 * max(abs(other), abs(value)):
                reader.fault("SY205", element, label, f"{twin} = {other:g} but {key} = {value:g}.")
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _shape(reader: Reader, element: Element, role: str, label: str, meshes: Meshes | None, limit: int) -> list[Shape]:
    geometry = element.find("geometry")
    if geometry is None or not geometry.children:
        reader.fault("SY506", element, label, f"<{role}> has no geometry.")
        return []
    solid = geometry.children[0]
    label = f"{label} > {solid.tag}"
    R, p = _origin(reader, element, label, code="SY506")
    found = _mesh(reader, solid, label, meshes, limit) if solid.tag == "mesh" else _primitive(reader, solid, label)
    if found is None or not (np.isfinite(R).all() and np.isfinite(p).all() and np.isfinite(found[0]).all()):
        return []
    vertices, faces, source = found
    return [Shape(reader.place(solid, label), role, vertices @ R.T + p, faces, source)]


def _primitive(reader: Reader, solid: Element, label: str):
    if solid.tag not in solids.URDF_SIZES:
        return None
    numbers = [
        reader.numbers(solid, name, count, label, code="SY506") for name, count in solids.URDF_SIZES[solid.tag].items()
    ]
    size = np.concatenate(numbers)
    return solids.from_urdf(solid.tag, size), None, f"{solid.tag} {size.tolist()}"


def _mesh(reader: Reader, solid: Element, label: str, meshes: Meshes | None, limit: int):
    name = solid.attributes.get("filename", "").strip()
    if not name:
        reader.fault("SY601", solid, label, "<mesh> names no file.")
        return None
    scale = reader.numbers(solid, "scale", 3, label, default=np.ones(3), code="SY506")
    if meshes is None:
        return None
    loaded = meshes.load(name, limit)
    if loaded is None:
        return None
    if isinstance(loaded, Resolved):
        reader.fault(FILE_RULES[loaded.problem], solid, label, f"Mesh {loaded.message}", file=name)
        return None
    vertices, faces = loaded
    return vertices * scale, faces if np.prod(scale) > 0 else faces[:, ::-1], f"{name} {scale.tolist()}"


def _joint(reader: Reader, element: Element, name: str, part, joints) -> Joint:
    label, kind = _label(element), element.attributes.get("type", "")
    if kind not in JOINT_TYPES:
        said = f"joint type '{kind[:40]}' is unknown; URDF has {choices(JOINT_TYPES)}."
        reader.fault("SY506", element, label, said)
    if kind in ("revolute", "continuous", "prismatic", "planar"):
        axis = element.find("axis")
        if axis is not None:
            vector = reader.numbers(axis, "xyz", 3, f"{label} > axis", default=(1, 0, 0), code="SY506")
            if not np.linalg.norm(vector) >= 1e-9 and np.isfinite(vector).all():
                reader.fault("SY506", axis, f"{label} > axis", "the joint's axis is zero: it has no direction.")
    mimic = element.find("mimic")
    if mimic is not None:
        _check_mimic(reader, mimic, f"{label} > mimic", name, joints)
    limit = element.find("limit")
    limits = {}
    if limit is not None:
        for key in LIMITS:
            if key in limit.attributes:
                limits[key] = reader.number(limit, key, f"{label} > limit", code="SY506")
    place = None if limit is None else reader.place(limit, f"{label} > limit")
    required = ("effort", "velocity") if kind in ("revolute", "prismatic") else ()
    return Joint(
        name,
        reader.place(element, label),
        kind,
        part,
        limits,
        place,
        mimics=mimic is not None,
        required_limits=required,
    )


def _check_mimic(reader: Reader, mimic: Element, label: str, name: str, joints):
    chain, current = [name], mimic.attributes.get("joint", "")
    while current in joints and current not in chain:
        chain.append(current)
        following = joints[current].find("mimic")
        if following is None:
            return
        current = following.attributes.get("joint", "")
    if current in chain:
        reader.fault("SY507", mimic, label, f"joints {choices([*chain, current])} mimic each other in a circle.")
    elif len(chain) == 1:
        reader.fault("SY507", mimic, label, f"it mimics '{current[:60]}', which is no joint of this file.")
