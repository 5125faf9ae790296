"""USD write-back: new inertials and joint properties as local opinions of a copy of the file's own layer.

Local opinions of the root layer count over those of whatever it names, so no other layer is touched and nothing is
flattened. In text only the numbers change; binary layers get the same opinions through OpenUSD; an archive is named as
the sublayer of a new layer. Masses and moments are single precision in USD's schema: where that is too coarse, and
where the file has it already, `newton:inertia` holds the tensor in double precision, too.
"""

import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from steelyard.errors import ModelError
from steelyard.inertia import from_com_inertia
from steelyard.inertia.parameters import DIAGONAL_FIRST
from steelyard.model.changes import Changes, Draft, com_form, find_changes
from steelyard.model.compare import relative_difference
from steelyard.model.drive import Drive
from steelyard.model.references import Relocation
from steelyard.model.robot import Robot
from steelyard.model.sketch import Inertial, Sketch
from steelyard.model.usd import UsdDocument
from steelyard.model.usd_files import BINARY, quiet
from steelyard.model.usd_geometry import TENSOR, stated
from steelyard.model.usd_joints import SOURCES, Connection, connections_of, drive_stem, si_of, source_of
from steelyard.model.usd_scene import SINGLE, Scene, Units, applied, value
from steelyard.model.usd_text import Opinion, Opinions, edited_text
from steelyard.numbers import SAME
from steelyard.spatial import quaternion_of, rotation_from_quaternion

TINY = 1e-8  # moments that OpenUSD may take for none
WRITTEN = (".usd", ".usda", ".usdc")


def edited(document: UsdDocument, robot: Robot, reference: Robot, target: Path) -> Draft:
    with quiet():
        scene = document.scene()
        connections = {each.name: each for each in connections_of(scene)}
        changes = find_changes(
            robot,
            reference,
            format="USD",
            hosts=lambda link: reference.links[link].name in scene.body_names,
            writable=lambda joint, _: joint.name in connections,
            drives=expressible(robot),
            obstacle=lambda joint: _obstacle(scene, connections.get(joint)),
        )
        opinions = Opinions()
        for index, theta in changes.links.items():
            name = reference.links[index].name
            _write_inertial(scene, scene.body_names.index(name), com_form(theta), opinions)
        _write_joints(scene, connections, changes, opinions)
        _require_own(scene, opinions)
        content, renamed = _copied(document, opinions, target)
    moved = [f"layer or asset @{each}@" for each in renamed]
    driven = [f"joint '{name}': {drive.kind} drive" for name, drive in changes.drives.items()]
    return changes.draft("body", target, document.folders, ((target, content),), moved, lines=driven)


def with_inertials(
    document: UsdDocument, sketch: Sketch, inertials: dict[int, Inertial], target: Path
) -> list[tuple[Path, bytes]]:
    with quiet():
        scene, opinions = document.scene(), Opinions()
        for index, inertial in inertials.items():
            body = scene.body_names.index(sketch.parts[index].name)
            form = inertial.mass, inertial.com, inertial.tensor_in_part
            _write_inertial(scene, body, form, opinions)
        _require_own(scene, opinions)
        return [(target, _copied(document, opinions, target)[0])]


def expressible(robot: Robot) -> dict[str, Drive]:
    """Drives that `PhysicsDriveAPI` can hold, as they read back: by position and by speed, of joints of one degree."""
    single = {joint.name for joint in robot.free_joints if joint.nv == 1}
    kinds = ("position", "velocity")
    found = {n: drive.read_back for n, drive in robot.drives.items() if n in single and drive.kind in kinds}
    return {name: Drive(d.kind, kp=d.kp, kd=d.kd, limit=d.limit) for name, d in found.items() if d is not None}


def _obstacle(scene: Scene, connection: Connection | None) -> str | None:
    if connection is None:
        return "it is no joint of the file"
    path = connection.prim.GetPath()
    for prim in scene.prims:
        relation = prim.GetRelationship("mjc:target") if prim.GetTypeName() == "MjcActuator" else None
        if relation and path in relation.GetTargets():
            return f"the MjcActuator <{prim.GetPath()}> drives it; edit that"
    return None


def number_opinion(name: str, number: float, type: str = "float") -> Opinion:
    """A number; type: "float" or "double"."""
    rounded = np.float32(number) if type == "float" else np.float64(number)
    return Opinion(name, type, str(rounded), float(rounded))


def vector_opinion(name: str, type: str, numbers: Iterable[float]) -> Opinion:
    """A tuple of single precision; quaternions real part first. type: "point3f", "float3" or "quatf"."""
    rounded = [np.float32(each) for each in numbers]
    return Opinion(name, type, f"({', '.join(map(str, rounded))})", tuple(map(float, rounded)))


def mass_opinions(form, units: Units, stretch: np.ndarray, axes: np.ndarray, *, tensor: bool) -> list[Opinion]:
    """Opinions of `PhysicsMassAPI`, and `newton:inertia` where single precision is too coarse or `tensor`, of mass,
    centre of mass and inertia about it in the body's axes. stretch: (3, 3) units per coordinate; axes: (3, 3) principal
    ones that stay."""
    mass, com, inertia = form
    moments, R = _principal(inertia / units.inertia, axes)
    rounded = _feasible(moments)
    local = np.linalg.solve(stretch, com / units.length)
    q = np.roll(quaternion_of(R), 1).astype(np.float32)
    found = [
        number_opinion("physics:mass", mass / units.mass),
        vector_opinion("physics:centerOfMass", "point3f", local),
        vector_opinion("physics:diagonalInertia", "float3", rounded),
        vector_opinion("physics:principalAxes", "quatf", q),
    ]
    seen = rotation_from_quaternion(np.roll(q, -1) / np.linalg.norm(q.astype(float)))
    read = seen @ np.diag(rounded) @ seen.T * units.inertia
    error = relative_difference(from_com_inertia(mass, 0 * com, read), from_com_inertia(mass, 0 * com, inertia))
    if inertia.any() and (tensor or error > SAME / 2 or rounded.min() < TINY):
        six = [float(inertia[i, j] / units.inertia) for i, j in DIAGONAL_FIRST]
        found.append(Opinion(TENSOR, "double[]", f"[{', '.join(map(repr, six))}]", six))
    return found


def _principal(inertia, axes) -> tuple[np.ndarray, np.ndarray]:
    """Moments (3,) and axes (3, 3): the given ones where the inertia is diagonal in them."""
    seen = axes.T @ inertia @ axes
    if np.abs(seen - np.diag(np.diag(seen))).max() <= SINGLE * np.abs(seen).max():
        return np.diag(seen), axes
    moments, R = np.linalg.eigh(inertia)
    R[:, 0] *= np.sign(np.linalg.det(R))
    return moments, R


def _feasible(moments) -> np.ndarray:
    """Moments (3,) in single precision, of which none is more than the sum of the others by rounding."""
    rounded = moments.astype(np.float32)
    k = int(np.argmax(rounded))
    others = [i for i in range(3) if i != k]
    excess = moments[k] - moments[others].sum()
    while excess <= SINGLE * moments[k] and float(rounded[k]) > rounded[others].astype(float).sum():
        rounded[others] = np.nextafter(rounded[others], np.float32(np.inf))
    return rounded.astype(float)


def _write_inertial(scene: Scene, body: int, form, opinions: Opinions):
    prim, stretch = scene.bodies[body], scene.frames[body].stretch
    path, before = str(prim.GetPath()), stated(scene, prim, stretch)
    has_tensor = value(prim, TENSOR) is not None
    found = mass_opinions(
        form, scene.units, stretch, before.rotation if not has_tensor else np.eye(3), tensor=has_tensor
    )
    opinions.add(path, *(each for each in found if not _stands(prim, each)))
    if not applied(prim, "PhysicsMassAPI", "NewtonMassAPI"):
        opinions.apply(path, "PhysicsMassAPI")
    if found[-1].name == TENSOR and not applied(prim, "NewtonMassAPI"):
        opinions.apply(path, "NewtonMassAPI")


def _stands(prim, opinion: Opinion) -> bool:
    """Whether a prim says so already; axes that it does not state are its own."""
    found = value(prim, opinion.name)
    if found is None:
        return opinion.name == "physics:principalAxes" and opinion.value == (1.0, 0.0, 0.0, 0.0)
    if opinion.type == "quatf":
        return (found.real, *found.imaginary) == opinion.value
    return found == opinion.value if opinion.type == "float" else tuple(found) == tuple(opinion.value)


def _write_joints(scene: Scene, connections: dict[str, Connection], changes: Changes, opinions: Opinions) -> None:
    for name, properties in changes.joints.items():
        connection = connections[name]
        path = str(connection.prim.GetPath())
        for field, number in properties.items():
            attribute, per_degree = source_of(connection, field) or (SOURCES[field][0][0], field == "damping")
            type = str(connection.prim.GetAttribute(attribute).GetTypeName() or "float")
            unit = si_of(connection, field, scene.units, per_degree=per_degree)
            opinions.add(path, number_opinion(attribute, number / unit, type))
            if attribute.startswith("newton:") and not applied(connection.prim, "NewtonJointAPI"):
                opinions.apply(path, "NewtonJointAPI")
    for name, drive in changes.drives.items():
        connection = connections[name]
        path, stem = str(connection.prim.GetPath()), drive_stem(connection)
        opinions.add(path, *drive_opinions(connection.turns, stem, drive, scene.units))
        schema = f"PhysicsDriveAPI:{stem.split(':')[1]}"
        if not applied(connection.prim, schema):
            opinions.apply(path, schema)


def drive_opinions(turns: bool, stem: str, drive: Drive, units: Units) -> list[Opinion]:
    """Opinions of `PhysicsDriveAPI`. turns: of the joint; stem: of its attributes."""
    unit = units.inertia * 180 / np.pi if turns else units.mass
    torque = units.of_property("effort", turns=turns)
    limit = np.inf if drive.limit is None else drive.limit / torque
    return [
        number_opinion(stem + "stiffness", (drive.kp or 0.0) / unit),
        number_opinion(stem + "damping", (drive.kd or 0.0) / unit),
        number_opinion(stem + "maxForce", limit),
    ]


def _require_own(scene: Scene, opinions: Opinions):
    """Raise ModelError for prims of instances, on which nobody can have an opinion."""
    for path in opinions.paths:
        if scene.stage.GetPrimAtPath(path).IsInstanceProxy():
            raise ModelError(
                f"{scene.path}: <{path}> is part of an instance, which all copies share, so it cannot be edited. Set "
                "instanceable = false on the prim that is one and try again."
            )


def _copied(document: UsdDocument, opinions: Opinions, target: Path) -> tuple[bytes, list[str]]:
    """Content of the copy for a target, and the paths that are others in it."""
    path, suffix = document.path, target.suffix.lower()
    if suffix not in WRITTEN:
        raise ModelError(f"{target}: USD archives are read, not written. Choose one of {', '.join(WRITTEN)}.")
    mover = Relocation(path.parent, target.parent)
    head = path.read_bytes()[:8]
    if head.startswith(b"#usda") and suffix != ".usdc":
        given = path.read_bytes().decode(errors="surrogateescape")
        text, renamed = edited_text(given, opinions, mover.moved)
        return text.encode(errors="surrogateescape"), renamed
    from pxr import Sdf, UsdUtils

    layer, renamed = Sdf.Layer.CreateAnonymous(suffix), []
    root = document.layers.root
    if head.startswith((b"#usda", BINARY)):
        layer.TransferContent(root)

        def moved(name: str) -> str:
            new = mover.moved(name)
            renamed.extend([] if new is None else [new])
            return new or name

        if not mover.stays:
            UsdUtils.ModifyAssetPaths(layer, moved)
    else:
        for key in root.pseudoRoot.ListInfoKeys():
            if key not in ("subLayers", "subLayerOffsets"):
                layer.pseudoRoot.SetInfo(key, root.pseudoRoot.GetInfo(key))
        renamed.append(mover.seen(path))
        layer.subLayerPaths.append(renamed[0])
    author(layer, opinions)
    as_text = suffix == ".usda" or (suffix == ".usd" and not head.startswith(BINARY))
    return exported(layer, ".usda" if as_text else ".usdc"), list(dict.fromkeys(renamed))


def author(layer, opinions: Opinions):
    from pxr import Gf, Sdf, Vt

    makers = {"quatf": lambda v: Gf.Quatf(v[0], *v[1:]), "double[]": Vt.DoubleArray}
    makers |= dict.fromkeys(("point3f", "float3"), lambda v: Gf.Vec3f(*v))
    for path in opinions.paths:
        prim = Sdf.CreatePrimInLayer(layer, path)
        for opinion in opinions.values.get(path, {}).values():
            attribute = layer.GetAttributeAtPath(f"{path}.{opinion.name}") or Sdf.AttributeSpec(
                prim, opinion.name, Sdf.ValueTypeNames.Find(opinion.type), Sdf.VariabilityVarying
            )
            attribute.default = makers.get(opinion.type, float)(opinion.value)
        if schemas := opinions.schemas.get(path):
            before = prim.GetInfo("apiSchemas") if prim.HasInfo("apiSchemas") else Sdf.TokenListOp()
            if before.isExplicit:
                before.explicitItems = [*schemas, *before.explicitItems]
            else:
                before.prependedItems = [*schemas, *before.prependedItems]
            prim.SetInfo("apiSchemas", before)


def exported(layer, suffix: str) -> bytes:
    """Content of a file of a `Sdf.Layer`; suffix: ".usda" or ".usdc"."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"layer{suffix}"
        layer.Export(str(file))
        return file.read_bytes()
