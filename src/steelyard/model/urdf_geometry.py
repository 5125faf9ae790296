"""Collision and visual geometry of a URDF file's links, as points in link frames."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from steelyard.errors import ModelError
from steelyard.inertia import corners, solids
from steelyard.model.meshes import Meshes, read_mesh
from steelyard.model.references import Resolved
from steelyard.model.urdf import origin
from steelyard.model.xml import floats, parse

ROLES = ("collision", "visual")
MESH = "mesh"  # the kind of geometry that is a file
# bytes: a picture above is left out where collision geometry stands for it; a mesh above is not read at all.
PICTURE, LARGEST = 4 * 2**20, 32 * 2**20


@dataclass(frozen=True, eq=False)
class LinkGeometry:
    """points: (n, 3) m in the link's frame, whose hull holds what is known of the link; gap: what keeps that from being
    all of it, empty when nothing does.
    """

    points: np.ndarray
    gap: str = ""


def link_geometry(path, folders: tuple[Path, ...]) -> dict[str, LinkGeometry]:
    """Geometry by link. Collision and visual geometry count together; either alone will do where the other is not to be
    read. folders: in which meshes may lie, as of `references.reach`. Raises ModelError for a file that is no XML.
    """
    path = Path(path)
    source = Meshes(path.parent, folders)
    return {link.get("name"): _of_link(link, path, source) for link in parse(path).findall("link")}


def _of_link(link, path: Path, source: Meshes) -> LinkGeometry:
    points, gaps = [np.zeros((0, 3))], []
    whole = False  # whether one role alone shows all of the link
    for role in ROLES:
        elements = link.findall(role)
        problems = []
        for element in elements:
            try:
                points.append(_points(element, path, source, PICTURE if whole else LARGEST))
            except ModelError as error:
                problems.append(str(error).rstrip("."))
        whole = whole or bool(elements and not problems)
        gaps += problems
    return LinkGeometry(np.concatenate(points), "" if whole or not gaps else gaps[0])


def _points(element, path: Path, source: Meshes, largest: int) -> np.ndarray:
    """Points (n, 3) of a <collision> or <visual>. Raises ModelError where they cannot be known."""
    kind, mesh, size = shape_of(element, path)
    R, p = origin(element, path)
    local = _mesh(mesh, source, largest) * size if kind == MESH else solids.from_urdf(kind, size)
    return local @ R.T + p


def shape_of(element, path: Path) -> tuple[str, str, np.ndarray]:
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


def _mesh(name: str, source: Meshes, largest: int) -> np.ndarray:
    found = source.find(name)
    if found.path is None:
        raise ModelError(found.cause or found.message)
    state = found.path.stat()
    if state.st_size > largest:
        raise ModelError(f"'{name}' has {state.st_size / 2**20:.0f} MB; up to {largest // 2**20} MB are read")
    read = _corners(found.path, state.st_size, state.st_mtime_ns)
    if isinstance(read, str):
        raise ModelError(f"'{name}' {read}")
    return read


@lru_cache(maxsize=512)
def _corners(path: Path, size: int, modified: int) -> np.ndarray | str:
    """Vertices (n, 3) of a mesh file's convex hull in file units, or what is wrong with it; read once a version."""
    loaded = read_mesh(path, path.name)
    return loaded.message if isinstance(loaded, Resolved) else corners(loaded[0])
