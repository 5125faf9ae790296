"""Geometry of an SDF file: pieces of links as the file names them, shapes, and inertials that the format computes."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from steelyard.errors import ModelError
from steelyard.inertia import solids, transform
from steelyard.inertia.mesh_files import MOST_BYTES
from steelyard.inertia.parameters import WATER
from steelyard.model.meshes import Meshes, Piece
from steelyard.model.sdf_files import SdfFiles
from steelyard.model.sdf_frames import SdfUse, raw_pose, text_of
from steelyard.model.sdf_tree import SdfBody, SdfTree
from steelyard.model.side_mechanism import z_along
from steelyard.model.sketch import Shape
from steelyard.model.urdf_geometry import drawn, shape_of, solid_of
from steelyard.model.xml import Element
from steelyard.spatial import inverse, quaternion_of, then

UNREAD = ("heightmap", "polyline", "image")


def shapes_of(body: SdfBody, label: str, source: Meshes, *, read: bool) -> tuple[tuple[Shape, ...], bool]:
    """Shapes of a link, and whether some of its geometry is unknown. read: whether mesh files are read."""
    found = []
    for element in drawn(body.item.element):
        solid, piece = _piece(body, element, label, source)
        if solid is not None:
            _rgba(body.item.sheet, element)  # for faults of it
            place = f"{label} > {element.tag}"
            found.append(shape_of(body.item.sheet.reader, solid, piece, place, source, MOST_BYTES if read else 0))
    return tuple(filter(None, found)), None in found


def _piece(body: SdfBody, element: Element, link: str, source: Meshes) -> tuple[Element | None, Piece | None]:
    """Geometry of a <collision> or <visual> of a link: what says it, None of nothing; and the piece, None where it
    cannot be understood. A mesh has no file yet."""
    reader, label = body.item.sheet.reader, f"{link} > {element.tag}"
    solid = solid_of(reader, element, label)
    if solid is None:
        return element, None
    if solid.tag == "empty":
        return None, None
    placed = Piece(link, element.tag, *_placed(body, element, label))
    label = f"{label} > {solid.tag}"
    if solid.tag == "mesh":
        return solid, _mesh(body.item.sheet, solid, label, placed, source)
    if solid.tag not in solids.XML_SIZES:
        known = solid.tag in UNREAD or solid.tag == "plane"
        return solid, replace(placed, problem=f"a <{solid.tag}>, which is {'not read' if known else 'unknown'}")
    sizes = [
        reader.content(solid, tag, count, label, code="SY506") for tag, count in solids.XML_SIZES[solid.tag].items()
    ]
    size = np.concatenate(sizes)
    if not np.isfinite(size).all():
        return solid, None
    exact = solid.tag, tuple(map(float, size))
    placed = replace(placed, key=(solid.tag, *size), vertices=solids.points(*exact))
    return solid, placed if solid.tag == "cone" else replace(placed, solid=exact)


def _placed(body: SdfBody, element: Element, label: str):
    pose, relative = raw_pose(body.item.sheet, element, label)
    if not relative:
        return pose
    relative = body.item.model_frame if relative == "__model__" else relative
    if body.scope.find(relative) is None:
        said = f"it is relative to '{relative[:60]}', which is no frame of its model."
        body.item.sheet.reader.fault("SY506", element, label, said)
        return pose
    return then(then(inverse(body.pose), body.scope.absolute(relative)), pose)


def _mesh(sheet: SdfUse, solid: Element, label: str, placed: Piece, source: Meshes) -> Piece | None:
    name = text_of(solid, "uri")
    if not name:
        sheet.reader.fault("SY601", solid, label, "<mesh> names no file.")
        return None
    scale = sheet.reader.content(solid, "scale", 3, label, default=np.ones(3), code="SY506")
    part = solid.find("submesh")
    if part is not None:
        return replace(placed, problem=f"submesh '{text_of(part, 'name')[:60]}' of '{name[:80]}', which is not read")
    if not np.isfinite(scale).all():
        return None
    file = source.find(name, [sheet.document.path.parent, source.folder])
    return replace(placed, key=(str(file.path or name), *scale), name=name, scale=scale, file=file)


def pieces_of(tree: SdfTree, source: Meshes) -> Iterator[Piece]:
    """Geometry of all links that do not stand still, collision before visual."""
    for index in tree.over.order:
        yield from _pieces(tree.bodies[index], tree.named(index), source)


def _pieces(body: SdfBody, name: str, source: Meshes) -> Iterator[Piece]:
    reader = body.item.sheet.reader
    for element in drawn(body.item.element):
        before = len(reader.faults)
        solid, piece = _piece(body, element, name, source)
        if solid is None:
            continue
        if piece is None:
            said = [each.message for each in reader.faults[before:]]
            yield Piece(name, element.tag, problem=said[0].rstrip("."))
            continue
        yield replace(piece, color=_rgba(body.item.sheet, element))


def _rgba(sheet: SdfUse, visual: Element) -> tuple[float, ...] | None:
    material = visual.find("material")
    if material is None or not text_of(material, "diffuse"):
        return None
    text = text_of(material, "diffuse").split()
    rgba = sheet.reader.content(material, "diffuse", len(text), "", code=None, strict="")
    if len(text) not in (3, 4) or np.isnan(rgba).any():
        return None
    return tuple(np.clip([*rgba, 1.0][:4], 0.0, 1.0))


def named_files(files: SdfFiles, source: Meshes) -> Iterator[Path]:
    """Files that are included, and meshes, where they are known. Raises ModelError for one outside the folders."""
    for sheet in files.sheets:
        for element in sheet.document.root.every("mesh", "include"):
            if element.tag == "include":
                found = files.named(sheet, element)
            else:
                found = source.find(text_of(element, "uri"), [sheet.document.path.parent, source.folder])
            if found.problem == "outside":
                raise ModelError(f"{sheet.document.where(element)} {found.message}")
            if found.path is not None:
                yield found.path


def automatic(body: SdfBody, label: str, source: Meshes) -> np.ndarray | None:
    """(10,) inertial parameters in its frame of a link that leaves them to the format: its collision geometry, filled
    with the stated density, and scaled to the stated mass. None where that is not known, with a fault."""
    element, reader = body.item.element.find("inertial"), body.item.sheet.reader
    assert element is not None
    density = reader.amount(element, "density", label, default=WATER)
    total = np.zeros(10)
    for collision in (each for each in body.item.element.children if each.tag == "collision"):
        _, piece = _piece(body, collision, label.partition(" > ")[0], source)
        own = reader.amount(collision, "density", label, default=density)
        found = "it has no geometry" if piece is None else source.filled(piece, own)
        if isinstance(found, str):
            said = f"<inertial auto> of a link that the format cannot fill: {found}."
            reader.fault("SY105", element, label, said, remedy="State mass, pose and inertia.")
            return None
        assert piece is not None
        total = total + transform(found, piece.rotation, piece.position)
    if not total[0] > 0:
        said = "<inertial auto> of a link without collision geometry."
        reader.fault("SY105", element, label, said, remedy="State mass, pose and inertia.")
        return None
    mass = reader.amount(element, "mass", label, default=total[0])
    return total * (mass / total[0])


def surroundings_of(tree: SdfTree, source: Meshes) -> list[dict]:
    """As of `ModelDocument.surroundings`: collision geometry of models that stand still."""
    import mujoco

    found: list[dict] = []
    for body in (each for each in tree.bodies if each.static):
        name = tree.name(body.path)
        for element in (each for each in body.item.element.children if each.tag == "collision"):
            solid, piece = _piece(body, element, name, source)
            if solid is None or piece is None:
                continue
            R, p = then(body.pose, (piece.rotation, piece.position))
            label = f"{name} {len(found)}"
            if solid.tag == "plane":
                normal = body.item.sheet.reader.content(solid, "normal", 3, label, default=(0, 0, 1), code="SY506")
                length = np.linalg.norm(normal)
                R = R @ z_along(normal / length) if length > 0 else R
                found.append(_geom(label, R, p) | {"type": mujoco.mjtGeom.mjGEOM_PLANE, "size": [0.0, 0.0, 1.0]})
                continue
            try:
                vertices = piece.colored_mesh()[0]
            except ModelError:  # nothing to keep away from is known
                continue
            found.append(_geom(label, R, p) | {"vertices": vertices})
    return found


def _geom(name: str, R, p) -> dict:
    return {"name": name, "pos": p, "quat": np.roll(quaternion_of(R), 1)}
