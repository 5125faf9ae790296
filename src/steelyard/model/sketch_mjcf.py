"""An MJCF file as a `Sketch`: inertials as written, everything else as MuJoCo's compiler understands it.

MuJoCo refuses files with impossible inertias, so a copy of its parsed model gets harmless ones before it is compiled;
what then still fails is a fault. Without a compiled model, the written bodies and inertials are checked alone.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from steelyard.errors import ModelError, choices
from steelyard.inertia import solids
from steelyard.model.meshes import Meshes, Piece
from steelyard.model.mjcf import MjcfDocument, joint_of
from steelyard.model.mjcf_compile import body_name, compile_files, compiled_rotation, joint_name, joint_type
from steelyard.model.mjcf_drives import direct_drives, joint_drives
from steelyard.model.mjcf_files import MjcfBody, MjcfFiles, Node, bodies, require_complete
from steelyard.model.mujoco_state import from_mujoco
from steelyard.model.robot import Robot
from steelyard.model.sketch import FILE_RULES, Inertial, Place, ScanFault, Shape, Sketch, SketchJoint, SketchPart
from steelyard.model.xml import Reader, rooted
from steelyard.spatial import rotation_from_quaternion


def geom_piece(m, geom: int) -> Piece | None:
    """What a geom of an MjModel m shows, in no role; None for planes, height fields and signed distance fields."""
    import mujoco

    kind, size = mujoco.mjtGeom(m.geom_type[geom]), m.geom_size[geom]
    placed = Piece(body_name(m, m.geom_bodyid[geom]), "", compiled_rotation(m.geom_quat[geom]), m.geom_pos[geom].copy())
    if kind == mujoco.mjtGeom.mjGEOM_MESH:
        mesh = m.geom_dataid[geom]
        start, count = m.mesh_vertadr[mesh], m.mesh_vertnum[mesh]
        vertices = m.mesh_vert[start : start + count].astype(float)
        start, count = m.mesh_faceadr[mesh], m.mesh_facenum[mesh]
        faces = m.mesh_face[start : start + count].astype(np.int64)
        return replace(placed, key=(f"mesh {m.mesh(mesh).name}",), vertices=vertices, faces=faces)
    exact = _primitive(kind.name.removeprefix("mjGEOM_").lower(), size.tolist())
    if exact is None:
        return None
    return replace(placed, key=(f"{exact[0]} {list(exact[1])}",), solid=exact, vertices=solids.points(*exact))


def _primitive(kind: str, size: list[float]) -> tuple[str, tuple[float, ...]] | None:
    """As `Piece.solid`, of a geom's type and size (3,): MuJoCo takes half lengths. None for no solid."""
    match kind:
        case "box":
            return kind, tuple(2 * each for each in size)
        case "sphere":
            return kind, (size[0],)
        case "ellipsoid":
            return kind, tuple(size)
        case "cylinder" | "capsule":
            return kind, (size[0], 2 * size[1])
    return None


def parts_of(m, places, inertials: list[Inertial | None], home: Place) -> tuple[SketchPart, ...]:
    """Parts of a compiled model m, the world left out. places: of bodies written in the file, and index of their
    inertial."""
    shapes: dict[int, list[Shape]] = {}
    for geom in range(m.ngeom):
        shape = _shape(m, geom, places, home)
        if shape is not None:
            shapes.setdefault(int(m.geom_bodyid[geom]), []).append(shape)
    parts = []
    for body in range(1, m.nbody):
        name = body_name(m, body)
        place, index = places.get(name, (home, None))
        inertial = None if index is None else inertials[index]
        if inertial is not None:
            # the compiled frame knows every spelling of the orientation
            inertial = replace(inertial, rotation=compiled_rotation(m.body_iquat[body]))
        parent = int(m.body_parentid[body]) - 1
        # a body on the world's own geometry is a root of its own
        parts.append(
            SketchPart(
                name,
                place,
                None if parent < 0 else parent,
                compiled_rotation(m.body_quat[body]),
                m.body_pos[body].copy(),
                bool(m.body_jntnum[body]),
                inertial,
                tuple(shapes.get(body, ())),
                float(m.body_mass[body]) if inertial is None and m.body_mass[body] > 1e-8 else 0.0,
            )
        )
    return tuple(parts)


def _shape(m, geom: int, places, home: Place) -> Shape | None:
    found = geom_piece(m, geom)
    if found is None or found.vertices is None:
        return None
    place = places.get(found.link, (home, None))[0]
    role = "collision" if m.geom_contype[geom] or m.geom_conaffinity[geom] else "visual"
    return Shape(place, role, found.vertices @ found.rotation.T + found.position, found.faces, found.key[0])


def joints_of(m, places: dict[str, Place], parts: tuple[SketchPart, ...]) -> tuple[SketchJoint, ...]:
    """Joints of a compiled model with their limits, gears and armature."""

    gears, forces = _actuated(m)
    found = []
    for joint in range(m.njnt):
        body = int(m.jnt_bodyid[joint])
        name = joint_name(m, joint)
        place = places.get(name, replace(parts[body - 1].place, element=f"joint '{name}'"))
        kind = joint_type(m, joint)
        limits = {}
        if m.jnt_limited[joint]:
            limits |= {"lower": float(m.jnt_range[joint, 0]), "upper": float(m.jnt_range[joint, 1])}
        if m.jnt_actfrclimited[joint]:
            limits["effort"] = float(m.jnt_actfrcrange[joint, 1])
        elif joint in forces:
            limits["effort"] = forces[joint]
        gear = gears.get(joint)
        required = () if gear is None else ("effort",)
        placed = joint_of(m, joint)
        found.append(SketchJoint(name, place, kind, body - 1, limits, place, gear, False, required, placed))
    return tuple(found)


def _actuated(m) -> tuple[dict[int, float], dict[int, float]]:
    """Joint -> largest gear of the actuators on it; joint -> largest force they may give, where it is limited."""
    import mujoco

    gears: dict[int, float] = {}
    forces: dict[int, float] = {}
    for actuator, joint in direct_drives(m):
        gear = abs(float(m.actuator_gear[actuator, 0]))
        gears[joint] = max(gear, gears.get(joint, 0.0))
        if m.actuator_forcelimited[actuator]:
            forces[joint] = max(forces.get(joint, 0.0), gear * float(m.actuator_forcerange[actuator, 1]))
        elif (
            m.actuator_ctrllimited[actuator]
            and mujoco.mjtBias(m.actuator_biastype[actuator]) == mujoco.mjtBias.mjBIAS_NONE
        ):
            gain = abs(float(m.actuator_gainprm[actuator, 0]))
            forces[joint] = max(
                forces.get(joint, 0.0), gear * gain * float(np.abs(m.actuator_ctrlrange[actuator]).max())
            )
    return gears, forces


ASSETS = {"mesh": "meshdir", "hfield": "meshdir", "skin": "meshdir", "texture": "texturedir"}


def sketch(document: MjcfDocument, *, meshes: bool = True) -> Sketch:
    """As of `ModelDocument.sketch`, of the file and what it includes."""
    path = document.path
    rooted(path, "an MJCF", "mujoco")
    try:
        files = document.files
        require_complete(files)
    except ModelError as error:
        raise ModelError(f"{path} cannot be read with what it includes: {error}") from error
    listed, barrier = bodies(files)
    readers = {owner: Reader(owner) for owner in files.documents}
    missing = _missing_files(files, readers) if meshes else []
    inertials = [_inertial(body, readers) for body in listed]
    faults = [*missing, *(fault for reader in readers.values() for fault in reader.faults)]
    compiled, complaint = (None, None) if missing else _compiled(files, faults)
    notes = tuple(note for each in files.documents for note in each.notes)
    if complaint:
        faults.append(ScanFault("SY508", Place(path, _line_in(complaint), "mujoco"), complaint))
    if compiled is None:
        parts, joints = _written(listed, inertials, readers)
        notes += (f"{path.name}: MuJoCo did not compile it, so geometry and joints were not checked.",)
        return Sketch(path, "mjcf", "body", parts, joints, tuple(faults), notes)
    places = {body.name: (_place(body.node, readers, f"body '{body.name}'"), i) for i, body in enumerate(listed)}
    home = Place(path, readers[files.main].place(files.main.root, "").line, "mujoco")
    if barrier is not None:
        notes += (f"{path.name}: bodies made by {barrier} are checked by their compiled values only.",)
    parts = parts_of(compiled, places, inertials, home)
    joints = joints_of(compiled, _joint_places(listed, readers), parts)
    return Sketch(path, "mjcf", "body", parts, joints, tuple(faults), notes)


def _place(node: Node, readers, element: str) -> Place:
    return readers[node.document].place(node.element, element)


def _missing_files(files: MjcfFiles, readers) -> list[ScanFault]:
    """Faults of asset files that are not there or may not be opened; MuJoCo is not asked while there are any."""
    source = Meshes(files.main.path.parent, files.folders)
    folders: dict[str, str] = {}
    for node in files.sections("compiler"):
        folders |= {
            k: v for k, v in node.element.attributes.items() if k in ("meshdir", "texturedir", "assetdir", "strippath")
        }
    found = []
    for node in (each for each in files.everything() if each.element.tag in ASSETS):
        document, element = node.document, node.element
        for name in (n for n in element.attributes if n.startswith("file")):
            text = element.attributes[name]
            home = folders.get(ASSETS[element.tag], folders.get("assetdir", ""))
            text = Path(text).name if folders.get("strippath") == "true" else text
            starts = [files.main.path.parent / home, document.path.parent / home, document.path.parent]
            problem = source.find(text, starts)
            if problem.path is None and text:
                place = readers[document].place(element, f"{element.tag} '{element.attributes.get('name', text)[:60]}'")
                message = f"{element.tag.capitalize()} {problem.message}"
                found.append(ScanFault(FILE_RULES[problem.problem], place, message, text))
    return found


def _inertial(body: MjcfBody, readers) -> Inertial | None:
    """The `<inertial>` as written; its orientation, in whatever spelling, comes from the compiled model later."""
    if body.inertial is None:
        return None
    element, reader = body.inertial.element, readers[body.inertial.document]
    label = f"body '{body.name}' > inertial"
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


def _compiled(files: MjcfFiles, faults):
    """MuJoCo's compiled model with harmless inertias, or None; and what MuJoCo complains about, if anything new."""
    broken = any(fault.code in ("SY104", "SY105") for fault in faults)
    try:
        return compile_files(files, _make_harmless)[0], None
    except ModelError as error:
        if error.__cause__ is None:  # not MuJoCo's
            raise
        text = " ".join(str(error.__cause__).split())
        return None, None if broken else f"MuJoCo refuses the file: {text}."


def _make_harmless(spec):
    for body in spec.bodies:
        if body.explicitinertial:
            if np.isfinite(body.fullinertia).all():
                body.fullinertia = np.full(6, np.nan)
            body.mass, body.inertia = 1.0, np.ones(3)
        elif body.joints and not _weighs(body):
            body.explicitinertial, body.mass, body.inertia, body.ipos = True, 1e-9, np.full(3, 1e-9), np.zeros(3)


def _weighs(body) -> bool:
    return bool(body.geoms) or any(not child.joints and _weighs(child) for child in body.bodies)


def _line_in(complaint: str) -> int:
    words = complaint.replace(",", " ").replace(".", " ").split()
    lines = [int(b) for a, b in pairwise(words) if a == "line" and b.isdigit()]
    return lines[0] if lines else 1


def _joint_places(listed: list[MjcfBody], readers) -> dict[str, Place]:
    joints = {name: node for body in listed for name, node in body.joints.items()}
    return {name: _place(node, readers, f"joint '{name}'") for name, node in joints.items()}


def _written(listed: list[MjcfBody], inertials, readers) -> tuple[tuple[SketchPart, ...], tuple[SketchJoint, ...]]:
    """Parts as written, without geometry; used when MuJoCo compiles nothing."""
    parts, joints, places = [], [], _joint_places(listed, readers)
    for index, (body, inertial) in enumerate(zip(listed, inertials, strict=True)):
        place = _place(body.node, readers, f"body '{body.name}'")
        weighs = 1e-3 if body.node.element.find("geom") else 0.0
        inferred = weighs if inertial is None else 0.0
        moves = bool(body.joints)
        parts.append(SketchPart(body.name, place, body.parent, np.eye(3), np.zeros(3), moves, inertial, (), inferred))
        for name, node in body.joints.items():
            kind = "free" if node.element.tag == "freejoint" else node.element.attributes.get("type", "hinge")
            joints.append(SketchJoint(name, places[name], kind, index, {}))
    return tuple(parts), tuple(joints)


def pieces(document: MjcfDocument) -> Iterator[Piece]:
    """Geoms of an MJCF file, but for planes and fields, which are its surroundings; one in two roles comes twice."""
    import mujoco

    m, _ = document.compiled
    drawn = mujoco.MjvOption().geomgroup  # groups that MuJoCo shows
    for geom in range(m.ngeom):
        found = geom_piece(m, geom)
        if found is None:
            continue
        color = m.geom_rgba[geom] if m.geom_matid[geom] < 0 else m.mat_rgba[m.geom_matid[geom]]
        shown = drawn[np.clip(m.geom_group[geom], 0, len(drawn) - 1)] and color[3] > 0
        touched = m.geom_contype[geom] or m.geom_conaffinity[geom]
        roles = [role for role, applies in (("visual", shown), ("collision", touched)) if applies] or [""]
        numbers = (m.geom_size, m.geom_pos, m.geom_quat, m.geom_rgba)
        if not all(np.isfinite(each[geom]).all() for each in numbers):
            yield Piece(found.link, roles[0], problem="a geom with sizes or a place that are no numbers")
            continue
        for role in roles:
            yield replace(found, role=role, color=tuple(color.astype(float)) if role == "visual" else None)


def surroundings(document: MjcfDocument, *, alone: bool = False) -> list[dict]:
    """As of `ModelDocument.surroundings`: geoms on the world itself that touch something; no height fields. alone: the
    file has no robot, so that bodies that do not move count, too."""
    import mujoco

    m, _ = document.compiled
    data = mujoco.MjData(m)
    mujoco.mj_kinematics(m, data)
    body = m.body_weldid[m.geom_bodyid] if alone else m.geom_bodyid
    found = []
    for g in np.flatnonzero((body == 0) & ((m.geom_contype | m.geom_conaffinity) != 0)):
        quat = np.empty(4)
        mujoco.mju_mat2Quat(quat, data.geom_xmat[g])
        place = {"pos": data.geom_xpos[g].copy(), "quat": quat}
        name = m.geom(int(g)).name or f"geom {g} of the world"
        kind = mujoco.mjtGeom(int(m.geom_type[g]))
        if kind == mujoco.mjtGeom.mjGEOM_MESH:
            shape = geom_piece(m, int(g))
            assert shape is not None  # of a mesh
            found.append(place | {"name": name, "vertices": shape.vertices})
        elif kind != mujoco.mjtGeom.mjGEOM_HFIELD:
            found.append(place | {"name": name, "type": kind, "size": m.geom_size[g].copy()})
    return found


def keyframes(document: MjcfDocument, robot: Robot) -> dict[str, np.ndarray]:
    """Positions (nq,) of a robot in the keyframes of its file, by name; none where its joints have no names there."""
    m, _ = document.compiled
    if not set(robot.joint_names) <= {m.joint(i).name for i in range(m.njnt)}:
        return {}
    still = np.zeros((m.nkey, m.nv))
    q, _, _ = from_mujoco(m, robot, m.key_qpos, still, still)
    return {m.key(k).name or str(k): q[k] for k in range(m.nkey)}


def left_out(document: MjcfDocument) -> Iterator[str]:
    import mujoco

    m, _ = document.compiled
    fields = (int(mujoco.mjtGeom.mjGEOM_PLANE), int(mujoco.mjtGeom.mjGEOM_HFIELD), int(mujoco.mjtGeom.mjGEOM_SDF))
    drives = joint_drives(m, document.robot(floating=None, gravity=None))
    found = {
        "tendons": m.ntendon,
        "actuators that are no drive of one joint": len(m.actuator_trntype) - len(drives),
        "sensors": m.nsensor,
        "keyframes": m.nkey,
        "cameras": m.ncam,
        "lights": m.nlight,
        "textures": m.ntex,
        "skins": m.nskin,
        "flexible bodies": m.nflex,
        "planes and height fields": int(np.isin(m.geom_type, fields).sum()),
        "pairs and exclusions of contacts": m.npair + m.nexclude,
        "joint springs": int(np.count_nonzero(m.jnt_stiffness)),
    }
    lost = [f"{count} {what}" for what, count in found.items() if count]
    if lost:
        yield f"Not in the new file: {choices(lost)}."
