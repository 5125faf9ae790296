"""Where the mass of a body can be: volumes around everything that its links show in the model file."""

from functools import lru_cache
from pathlib import Path

import numpy as np

from steelyard.errors import InertiaError, ModelError
from steelyard.inertia import Ellipsoid, corners, minimum_volume_ellipsoid
from steelyard.model.mjcf_compile import compile_file
from steelyard.model.mjcf_geoms import geom_solid
from steelyard.model.mjcf_names import body_name
from steelyard.model.robot import Link, Robot
from steelyard.model.urdf_geometry import LinkGeometry, link_geometry

INFLATE = 1.05  # semi-axes over those of the tightest ellipsoid: screws, cables and rounded-off meshes
LOOSE = 1e-4  # excess of the volume, which `INFLATE` makes nothing of
NOTHING = "the model shows no geometry"
SMALL = 0.02  # of a body's mass: a link lighter than that may have no geometry (frames of sensors and tools)


def bounding_ellipsoids(robot: Robot, *, inflate: float = INFLATE) -> tuple[dict[str, Ellipsoid], dict[str, str]]:
    """Ellipsoids that hold the collision and visual geometry of bodies, fixed links included, by body name.

    Each is the smallest around all points (B, section V), its semi-axes times `inflate`. Returns them, and for every
    other body why there is none. Raises ModelError for an `inflate` below 1 and for a file that can no longer be read.
    """
    if not (np.isfinite(inflate) and inflate >= 1):
        raise ModelError(f"inflate is {inflate!r}; expected a factor of at least 1 for the semi-axes.")
    tight, gaps = _tightest(robot)
    found = {name: Ellipsoid(each.center, each.Q * inflate**2) for name, each in tight.items()}
    return found, {name: gaps[name] for name in robot.body_names if name in gaps}


@lru_cache(maxsize=16)
def _tightest(robot: Robot) -> tuple[dict[str, Ellipsoid], dict[str, str]]:
    """The smallest ellipsoids, and why other bodies have none. A robot stays as it was read, and so does its shape."""
    clouds, gaps = body_points(robot)
    found = {}
    for name, points in clouds.items():
        try:
            found[name] = minimum_volume_ellipsoid(points, tolerance=LOOSE)
        except InertiaError:
            gaps[name] = "its geometry is flat"
    return found, gaps


def body_points(robot: Robot) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Points (n, 3) in body frames, whose hull holds the geometry of the body; and why others have none, both by name.

    A body counts only as a whole: where a link that weighs something shows nothing, or a file cannot be read, its
    points are not all.
    """
    if robot.source is None:
        return {}, dict.fromkeys(robot.body_names, "the robot was not read from a file")
    read = link_geometry if robot.source.format == "urdf" else _mjcf_geometry
    by_link = read(robot.source.path, robot.source.folders)
    if not any(len(each.points) or each.gap for each in by_link.values()):
        return {}, dict.fromkeys(robot.body_names, NOTHING)
    clouds, gaps = {}, {}
    for i, name in enumerate(robot.body_names):
        links = [link for link in robot.links if link.body == i]
        weight = sum(link.theta[0] for link in links)
        gap = next(filter(None, (_gap(link, by_link.get(link.name), weight) for link in links)), "")
        points = [by_link[each.name].points @ each.rotation.T + each.position for each in links if each.name in by_link]
        cloud = corners(np.concatenate([np.zeros((0, 3)), *points]))
        if gap or not len(cloud):
            gaps[name] = gap or NOTHING
        else:
            clouds[name] = cloud
    return clouds, gaps


def _gap(link: Link, geometry: LinkGeometry | None, weight: float) -> str:
    """Why the points of a link are not all that it is; empty when they are."""
    if geometry is not None and geometry.gap:
        return geometry.gap
    if (geometry is None or not len(geometry.points)) and link.theta[0] > SMALL * weight:
        return f"{NOTHING} of '{link.name}'"
    return ""


def _mjcf_geometry(path: Path, folders: tuple[Path, ...]) -> dict[str, LinkGeometry]:
    """Geometry by body of an MJCF file."""
    m, _ = compile_file(path, folders)
    points: dict[str, list[np.ndarray]] = {}
    for geom in range(m.ngeom):
        found = geom_solid(m, geom)
        if found is not None:
            points.setdefault(body_name(m, m.geom_bodyid[geom]), []).append(corners(found.vertices))
    return {name: LinkGeometry(np.concatenate(each)) for name, each in points.items()}
