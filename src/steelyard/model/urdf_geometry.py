"""Geometry of a URDF file: pieces of its links as the file names them, and shapes with their meshes read."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from steelyard.errors import ModelError
from steelyard.inertia import solids, to_com_inertia, transform
from steelyard.inertia.mesh_files import MOST_BYTES
from steelyard.model.meshes import PICTURE, Meshes, Piece
from steelyard.model.references import Resolved
from steelyard.model.sketch import FILE_RULES, Shape
from steelyard.model.xml import Document, Element, Reader
from steelyard.spatial import rotation_from_rpy

MESH = "mesh"  # the kind of geometry that is a file
ROLES = ("collision", "visual")
SOLIDS = ("box", "sphere", "cylinder", "capsule")
# words of URDF and SDF: of a tensor, limits, fields of a `Joint` that <dynamics> states, and joints that close loops
TENSOR = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
LIMITS = ("lower", "upper", "effort", "velocity")
PROPERTIES = {"damping": "damping", "frictionloss": "friction"}
CLOSED = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide", "fixed": "weld", "ball": "connect"}


def label_of(element: Element) -> str:
    return f"{element.tag} '{element.attributes.get('name', '')}'"


def origin(reader: Reader, element: Element, label: str, *, code="SY104"):
    """Pose of an element's <origin>, identity when it has none."""
    given = element.find("origin")
    if given is None:
        return np.eye(3), np.zeros(3)
    label = f"{label} > origin"
    rpy = reader.numbers(given, "rpy", 3, label, default=np.zeros(3), code=code)
    reader.require_radians(rpy, given, label)
    xyz = reader.numbers(given, "xyz", 3, label, default=np.zeros(3), code=code)
    return (rotation_from_rpy(rpy) if rpy.any() else np.eye(3)), xyz


def drawn(link: Element) -> Iterator[Element]:
    """Geometry of a link in an XML file, collision before visual."""
    return (each for role in ROLES for each in link.children if each.tag == role)


def solid_of(reader: Reader, element: Element, label: str) -> Element | None:
    """What a <collision> or <visual> shows; None, with a fault, for nothing."""
    geometry = element.find("geometry")
    found = None if geometry is None else next((each for each in geometry.children if ":" not in each.tag), None)
    if found is None:
        reader.fault("SY506", element, label, f"<{element.tag}> has no geometry.")
    return found


def shape_of(
    reader: Reader, solid: Element, piece: Piece | None, label: str, source: Meshes, limit: int
) -> Shape | None:
    """The shape of a piece, None where it is unknown. limit: bytes of a mesh that is read, 0 for none."""
    if piece is None or piece.problem:
        return None
    label = f"{label} > {solid.tag}"
    loaded = source.triangles(piece, limit)
    if isinstance(loaded, Resolved):
        reader.fault(FILE_RULES[loaded.problem], solid, label, f"Mesh {loaded.message}", file=piece.name)
    if loaded is None or isinstance(loaded, Resolved):
        return None
    vertices, faces = loaded
    if not all(np.isfinite(each).all() for each in (piece.rotation, piece.position, vertices)):
        return None
    kind, *size = piece.key
    vertices = vertices @ piece.rotation.T + piece.position
    return Shape(reader.place(solid, label), piece.role, vertices, faces, f"{kind} {[float(x) for x in size]}")


def shapes_of(reader: Reader, link: Element, label: str, source: Meshes, *, meshes: bool) -> tuple[tuple, bool]:
    """Shapes of a link, and whether some of its geometry is unknown."""
    found: list[Shape | None] = []
    for element in drawn(link):
        # a picture of many megabytes takes long; without it the geometry counts as unknown
        limit = PICTURE if element.tag == "visual" and any(found) else MOST_BYTES
        place = f"{label} > {element.tag}"
        solid, piece = _piece(reader, element, "", place)
        found.append(shape_of(reader, solid, piece, place, source, limit if meshes else 0))
    return tuple(filter(None, found)), None in found


def unstated_tensor(reader: Reader, link: Element, mass: float, source: Meshes) -> tuple[np.ndarray, str]:
    """(3, 3) tensor about its centre, in the axes of the link, of its geometry filled evenly with a mass, else of a
    point; and which of both, in words."""
    for role in ROLES:
        pieces = [_piece(Reader(reader.document), each, "", "")[1] for each in drawn(link) if each.tag == role]
        thetas = [np.full(10, np.nan) if piece is None else source.filled(piece, 1.0) for piece in pieces]
        placed = [
            transform(theta, piece.rotation, piece.position)
            for piece, theta in zip(pieces, thetas, strict=True)
            if piece is not None and not isinstance(theta, str)
        ]
        total = np.sum(placed, axis=0) if pieces and len(placed) == len(pieces) else np.zeros(10)
        if np.isfinite(total).all() and total[0] > 0:
            tensor = to_com_inertia(total * (mass / total[0]))[2]
            return np.asarray(tensor), f"that of its {role} geometry, filled evenly"
    return np.zeros((3, 3)), "a point mass, as the link shows no geometry that could be filled"


def _piece(reader: Reader, element: Element, link: str, label: str) -> tuple[Element, Piece | None]:
    """Geometry of a <collision> or <visual>, None where it cannot be understood; a mesh has no file yet."""
    solid = solid_of(reader, element, label)
    if solid is None:
        return element, None
    label = f"{label} > {solid.tag}"
    placed = Piece(link, element.tag, *origin(reader, element, label, code="SY506"))
    if solid.tag == MESH:
        name = solid.attributes.get("filename", "").strip()
        if not name:
            reader.fault("SY601", solid, label, "<mesh> names no file.")
            return solid, None
        scale = reader.numbers(solid, "scale", 3, label, default=np.ones(3), code="SY506")
        return solid, replace(placed, key=(name, *scale), name=name, scale=scale)
    if solid.tag not in SOLIDS:
        reader.refusals.append(f"<{solid.tag}> is no geometry of URDF")
        return solid, None
    sizes = solids.XML_SIZES[solid.tag].items()
    size = np.concatenate([reader.numbers(solid, name, count, label, code="SY506") for name, count in sizes])
    exact = solid.tag, tuple(map(float, size))
    return solid, replace(placed, key=(solid.tag, *size), solid=exact, vertices=solids.points(solid.tag, size))


def named_files(document: Document, source: Meshes) -> Iterator[Path]:
    """Meshes and textures that a file names, where they are known. Raises ModelError for one outside its folders."""
    for element in document.root.every(MESH, "texture"):
        found = source.find(element.attributes.get("filename", "").strip())
        if found.problem == "outside":
            raise ModelError(f"{document.where(element)} {found.message}")
        if found.path is not None:
            yield found.path


def pieces_of(document: Document, source: Meshes) -> Iterator[Piece]:
    """Geometry of all links, collision before visual."""
    reader, children = Reader(document), document.root.children
    colors = {each.attributes.get("name"): _rgba(reader, each) for each in children if each.tag == "material"}
    for link in (each for each in children if each.tag == "link"):
        name = link.attributes.get("name", "")
        for element in drawn(link):
            reader.faults.clear()
            reader.refusals.clear()
            _, piece = _piece(reader, element, name, label_of(link))
            if piece is None or reader.refusals:
                said = [*reader.refusals, *(each.message for each in reader.faults)]
                yield Piece(name, element.tag, problem=said[0].rstrip("."))
                continue
            material = element.find("material")
            if material is not None:
                color = _rgba(reader, material) or colors.get(material.attributes.get("name"))
                piece = replace(piece, color=color)
            yield piece if piece.vertices is not None else replace(piece, file=source.find(piece.name))


def _rgba(reader: Reader, material: Element) -> tuple[float, ...] | None:
    color = material.find("color")
    if color is None:
        return None
    rgba = reader.numbers(color, "rgba", 4, "", code=None, strict="")  # a colour is not worth losing the piece
    return None if np.isnan(rgba).any() else tuple(np.clip(rgba, 0.0, 1.0))
