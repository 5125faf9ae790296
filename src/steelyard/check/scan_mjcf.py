"""An MJCF file as a `Sketch`: inertials as written, everything else as MuJoCo's compiler understands it.

MuJoCo refuses files with impossible inertias, so a copy of its parsed model gets harmless ones before it is compiled;
what then still fails is a fault. Without a compiled model, the written bodies and inertials are checked alone.
"""

from itertools import pairwise
from pathlib import Path

import numpy as np

from steelyard.check.mjcf_geometry import joints_of, parts_of
from steelyard.check.parts import Fault, Inertial, Joint, Part, Place, Sketch
from steelyard.check.reading import FILE_RULES, Reader
from steelyard.errors import ModelError
from steelyard.model import Body, Document, Files, Meshes, Node, bodies, compile_file, read_files
from steelyard.spatial import rotation_from_quaternion

UNNAMED = "body{}"
ASSETS = {"mesh": "meshdir", "hfield": "meshdir", "skin": "meshdir", "texture": "texturedir"}


def scan(document: Document, folders: tuple[Path, ...], *, meshes: bool = True) -> Sketch:
    """Sketch of an MJCF document and what it includes. folders: in which files that it names may lie.

    Raises ModelError for includes that cannot be followed.
    """
    try:
        files = read_files(document.path, folders)
    except ModelError as error:
        raise ModelError(f"{document.path} cannot be read with what it includes: {error}") from error
    _require_no_circle(files)
    listed, barrier = bodies(files)
    readers = {owner: Reader(owner) for owner in files.documents.values()}
    missing = _missing_files(files, folders, readers) if meshes else []
    inertials = [_inertial(body, readers, i + 1) for i, body in enumerate(listed)]
    faults = [*missing, *(fault for reader in readers.values() for fault in reader.faults)]
    compiled, complaint = (None, None) if missing else _compiled(document.path, folders, faults)
    notes: tuple[str, ...] = ()
    if complaint:
        faults.append(Fault("SY508", Place(document.path, _line_in(complaint), "mujoco"), complaint))
    if compiled is None:
        parts, joints = _written(listed, inertials, readers)
        notes = (f"{document.path.name}: MuJoCo did not compile it, so geometry and joints were not checked.",)
        return Sketch(document.path, "mjcf", parts, joints, tuple(faults), notes)
    places = {body_name(body, i + 1): (body_place(body, readers, i + 1), i) for i, body in enumerate(listed)}
    home = Place(document.path, readers[files.main].place(files.main.root, "").line, "mujoco")
    if barrier is not None:
        notes = (f"{document.path.name}: bodies made by {barrier} are checked by their compiled values only.",)
    parts = parts_of(compiled, places, inertials, home)
    joints = joints_of(compiled, _joint_places(listed, readers), parts)
    return Sketch(document.path, "mjcf", parts, joints, tuple(faults), notes)


def body_name(body: Body, number: int) -> str:
    """Name of a body as the compiled model has it: unnamed ones by their number."""
    return body.node.element.attributes.get("name") or UNNAMED.format(number)


def body_place(body: Body, readers, number: int) -> Place:
    node = body.node
    return readers[node.document].place(node.element, f"body '{body_name(body, number)}'")


def _require_no_circle(files: Files):
    """Raise ModelError for files that include each other, which MuJoCo refuses as well."""
    inside = {d: [files.includes[e] for e in d.root.walk() if e in files.includes] for d in files.documents.values()}
    done: set[Document] = set()
    stack: list[tuple[Document, tuple[Document, ...]]] = [(files.main, ())]
    while stack:
        document, above = stack.pop()
        if document in above:
            names = " > ".join(d.path.name for d in (*above, document))
            raise ModelError(f"{files.main.path} includes files in a circle: {names}. Remove one of the <include>s.")
        if document not in done:
            stack += [(child, (*above, document)) for child in inside[document]]
        if not inside[document]:
            done.add(document)


def _missing_files(files: Files, allowed: tuple[Path, ...], readers) -> list[Fault]:
    """Faults of asset files that are not there or may not be opened; MuJoCo is not asked while there are any."""
    source = Meshes(files.main.path.parent, allowed)
    folders: dict[str, str] = {}
    for node in files.sections("compiler"):
        folders |= {
            k: v for k, v in node.element.attributes.items() if k in ("meshdir", "texturedir", "assetdir", "strippath")
        }
    found = []
    for document in files.documents.values():
        for element in document.root.walk():
            if element.tag not in ASSETS:
                continue
            for name in (n for n in element.attributes if n.startswith("file")):
                text = element.attributes[name]
                home = folders.get(ASSETS[element.tag], folders.get("assetdir", ""))
                text = Path(text).name if folders.get("strippath") == "true" else text
                starts = [files.main.path.parent / home, document.path.parent / home, document.path.parent]
                problem = source.find(text, starts)
                if problem.path is None and text:
                    place = readers[document].place(
                        element, f"{element.tag} '{element.attributes.get('name', text)[:60]}'"
                    )
                    message = f"{element.tag.capitalize()} {problem.message}"
                    found.append(Fault(FILE_RULES[problem.problem], place, message, text))
    return found


def _inertial(body: Body, readers, number: int) -> Inertial | None:
    """The `<inertial>` as written; its orientation, in whatever spelling, comes from the compiled model later."""
    if body.inertial is None:
        return None
    element, reader = body.inertial.element, readers[body.inertial.document]
    label = f"body '{body_name(body, number)}' > inertial"
    mass = reader.number(element, "mass", label)
    com = reader.numbers(element, "pos", 3, label)
    if "fullinertia" in element.attributes:
        xx, yy, zz, xy, xz, yz = reader.numbers(element, "fullinertia", 6, label)
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    elif "diaginertia" in element.attributes:
        tensor = np.diag(reader.numbers(element, "diaginertia", 3, label))
    else:
        reader.fault("SY105", element, label, "<inertial> has neither diaginertia nor fullinertia.")
        tensor = np.full((3, 3), np.nan)
    rotation = np.eye(3)
    if "quat" in element.attributes:
        quaternion = reader.numbers(element, "quat", 4, label)
        length = np.linalg.norm(quaternion)
        if length > 0:
            rotation = rotation_from_quaternion(np.roll(quaternion / length, -1))
    return Inertial(reader.place(element, label), mass, com, rotation, tensor)


def _compiled(path: Path, folders: tuple[Path, ...], faults):
    """MuJoCo's compiled model with harmless inertias, or None; and what MuJoCo complains about, if anything new."""
    broken = any(fault.code in ("SY104", "SY105") for fault in faults)
    try:
        return compile_file(path, folders, _make_harmless)[0], None
    except ModelError as error:
        if error.__cause__ is None:  # not MuJoCo's
            raise
        text = " ".join(str(error.__cause__).split())
        return None, None if broken else f"MuJoCo refuses the file: {text}."


def _make_harmless(spec):
    """Give the bodies of an MjSpec inertials that MuJoCo takes."""
    for body in spec.bodies:
        if body.explicitinertial:
            if np.isfinite(body.fullinertia).all():
                body.fullinertia = np.full(6, np.nan)
            body.mass, body.inertia = 1.0, np.ones(3)
        elif body.joints and not _weighs(body):
            body.explicitinertial, body.mass, body.inertia, body.ipos = True, 1e-9, np.full(3, 1e-9), np.zeros(3)


def _weighs(body) -> bool:
    """Whether a body or what is fixed to it has geoms to weigh."""
    return bool(body.geoms) or any(not child.joints and _weighs(child) for child in body.bodies)


def _line_in(complaint: str) -> int:
    """Line number MuJoCo mentions, 1 when it mentions none."""
    words = complaint.replace(",", " ").replace(".", " ").split()
    lines = [int(b) for a, b in pairwise(words) if a == "line" and b.isdigit()]
    return lines[0] if lines else 1


def _joint_places(listed: list[Body], readers) -> dict[str, Place]:
    found = {}
    for number, body in enumerate(listed, 1):
        for i, joint in enumerate(body.joints):
            name = joint.element.attributes.get("name") or f"{body_name(body, number)}_joint{i}"
            found[name] = readers[joint.document].place(joint.element, f"joint '{name}'")
    return found


def _written(listed: list[Body], inertials, readers) -> tuple[tuple[Part, ...], tuple[Joint, ...]]:
    """Parts as written, without geometry; used when MuJoCo compiles nothing."""
    parts, joints = [], []
    for number, (body, inertial) in enumerate(zip(listed, inertials, strict=True), 1):
        place = body_place(body, readers, number)
        weighs = 1e-3 if any(e.tag == "geom" for e in body.node.element.children) else 0.0
        inferred = weighs if inertial is None else 0.0
        name = body_name(body, number)
        parts.append(Part(name, place, body.parent, np.eye(3), np.zeros(3), bool(body.joints), inertial, (), inferred))
        joints += [_bare_joint(joint, readers, name, i, number - 1) for i, joint in enumerate(body.joints)]
    return tuple(parts), tuple(joints)


def _bare_joint(joint: Node, readers, body: str, i: int, part: int) -> Joint:
    name = joint.element.attributes.get("name") or f"{body}_joint{i}"
    kind = "free" if joint.element.tag == "freejoint" else joint.element.attributes.get("type", "hinge")
    return Joint(name, readers[joint.document].place(joint.element, f"joint '{name}'"), kind, part, {})
