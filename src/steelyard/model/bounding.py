"""Where the mass of a body can be: volumes around everything that its links show in the model file."""

from functools import lru_cache
from pathlib import Path

import numpy as np

from steelyard.errors import InertiaError, ModelError
from steelyard.inertia import Ellipsoid, minimum_volume_ellipsoid
from steelyard.inertia.hull import corners
from steelyard.model.formats import document_of
from steelyard.model.meshes import PICTURE, Piece, read_mesh
from steelyard.model.references import Resolved
from steelyard.model.robot import Link, Robot
from steelyard.model.sketch import SMALL

INFLATE = 1.05  # semi-axes over those of the tightest ellipsoid: screws, cables and rounded-off meshes
LOOSE = 1e-4  # excess of the volume, which `INFLATE` makes nothing of
NOTHING = "the model shows no geometry"
FLAT = "its geometry is flat"


# bytes: a mesh above is not read at all
LARGEST = 32 * 2**20


# of a link: points (n, 3) m in its frame, whose hull holds what is known of it, and what keeps that from being all of
# it, empty when nothing does
LinkGeometry = tuple[np.ndarray, str]


def bounding_ellipsoids(robot: Robot, *, inflate: float = INFLATE) -> tuple[dict[str, Ellipsoid], dict[str, str]]:
    """Ellipsoids that hold the collision and visual geometry of bodies, fixed links included.

    Each is the smallest around all points, its semi-axes times `inflate`.

    Args:
        robot: read from a model file.
        inflate: factor of the semi-axes, 1 or more.

    Returns:
        The ellipsoids by body name, and for every other body why there is none.

    Raises:
        ModelError: an `inflate` below 1, and a file that can no longer be read.

    Source: paper B, section V.
    """
    if not (np.isfinite(inflate) and inflate >= 1):
        raise ModelError(f"inflate is {inflate!r}; expected a factor of at least 1 for the semi-axes.")
    tight, gaps = _tightest(robot)
    found = {name: Ellipsoid(each.center, each.Q * inflate**2) for name, each in tight.items()}
    return found, {name: gaps[name] for name in robot.body_names if name in gaps}


def unread_geometry(robot: Robot) -> dict[str, str]:
    """Why, by body name, of the first piece of geometry in a file that was not found or could not be read."""
    gaps = {} if robot.source is None else _tightest(robot)[1]
    return {name: why for name, why in gaps.items() if not why.startswith(NOTHING) and why != FLAT}


@lru_cache(maxsize=16)
def _tightest(robot: Robot) -> tuple[dict[str, Ellipsoid], dict[str, str]]:
    """The smallest ellipsoids, and why other bodies have none. A robot stays as it was read, and so does its shape."""
    clouds, gaps = body_points(robot)
    found = {}
    for name, points in clouds.items():
        try:
            found[name] = minimum_volume_ellipsoid(points, tolerance=LOOSE)
        except InertiaError:
            gaps[name] = FLAT
    return found, gaps


def body_points(robot: Robot) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Points (n, 3) in body frames, whose hull holds the geometry of the body; and why others have none, both by name.

    A body counts only as a whole: where a link that weighs something shows nothing, or a file cannot be read, its
    points are not all.
    """
    if robot.source is None:
        return {}, dict.fromkeys(robot.body_names, "the robot was not read from a file")
    by_link = _link_geometry(robot)
    if not any(len(points) or gap for points, gap in by_link.values()):
        return {}, dict.fromkeys(robot.body_names, NOTHING)
    clouds, gaps = {}, {}
    for i, name in enumerate(robot.body_names):
        links = [link for link in robot.links if link.body == i]
        weight = sum(link.theta[0] for link in links)
        gap = next(filter(None, (_gap(link, by_link.get(link.name), weight) for link in links)), "")
        points = [by_link[each.name][0] @ each.rotation.T + each.position for each in links if each.name in by_link]
        cloud = corners(np.concatenate([np.zeros((0, 3)), *points]))
        if gap or not len(cloud):
            gaps[name] = gap or NOTHING
        else:
            clouds[name] = cloud
    return clouds, gaps


def _gap(link: Link, geometry: LinkGeometry | None, weight: float) -> str:
    """Why the points of a link are not all that it is; empty when they are."""
    points, gap = geometry or ((), "")
    if not gap and not len(points) and link.theta[0] > SMALL * weight:
        return f"{NOTHING} of '{link.name}'"
    return gap


def _link_geometry(robot: Robot) -> dict[str, LinkGeometry]:
    """Geometry by link. Collision and visual geometry count together; either alone will do where the other is not to be
    read."""
    document = document_of(robot)
    assert document is not None
    by_link: dict[str, dict[str, list[Piece]]] = {}
    for piece in document.pieces():
        by_link.setdefault(piece.link, {}).setdefault(piece.role, []).append(piece)
    return {link: _of_link(roles) for link, roles in by_link.items()}


def _of_link(roles: dict[str, list[Piece]]) -> LinkGeometry:
    points, gaps = [np.zeros((0, 3))], []
    whole = False  # whether one role alone shows all of the link
    for role in sorted(roles):
        problems = []
        for piece in roles[role]:
            try:
                points.append(_points(piece, PICTURE if whole else LARGEST) @ piece.rotation.T + piece.position)
            except ModelError as error:
                problems.append(str(error).rstrip("."))
        whole = whole or not problems
        gaps += problems
    return np.concatenate(points), "" if whole or not gaps else gaps[0]


def _points(piece: Piece, largest: int) -> np.ndarray:
    """Points (n, 3) m of a piece in its own frame. Raises ModelError where they cannot be known."""
    if piece.problem:
        raise ModelError(piece.problem)
    if piece.vertices is not None:
        return corners(piece.vertices)
    assert piece.file is not None
    if piece.file.path is None:
        raise ModelError(piece.file.cause or piece.file.message)
    state = piece.file.path.stat()
    if state.st_size > largest:
        raise ModelError(f"'{piece.name}' has {state.st_size / 2**20:.0f} MB; up to {largest // 2**20} MB are read")
    read = _mesh_corners(piece.file.path, state.st_size, state.st_mtime_ns)
    if isinstance(read, str):
        raise ModelError(f"'{piece.name}' {read}")
    return read * piece.scale


@lru_cache(maxsize=512)
def _mesh_corners(path: Path, size: int, modified: int) -> np.ndarray | str:
    """Vertices (n, 3) of a mesh file's convex hull in file units, or what is wrong with it; read once a version."""
    loaded = read_mesh(path, path.name)
    return loaded.message if isinstance(loaded, Resolved) else corners(loaded[0])
