"""Solids of a robot and of what stands around it, from the geometry of its model file."""

from dataclasses import dataclass

import numpy as np

from steelyard.inertia.hull import hull_of
from steelyard.model import Robot
from steelyard.model.formats import read_sketch

FEW_CORNERS = 4  # vertices of the least solid


@dataclass(frozen=True, eq=False)
class ConvexSolid:
    """Vertices (n, 3) of a convex solid in the frame of its body."""

    body: int  # WORLD for what does not move
    name: str  # of its link
    vertices: np.ndarray
    carrier: bool = True  # whether a joint of the robot hangs on the link, which makes it the robot's own base


def solids_of(robot: Robot) -> tuple[list[ConvexSolid], tuple[str, ...]]:
    """Hulls of all parts, and what there is to say; collision geometry where there is any, else visual."""
    if robot.source is None or not robot.source.path.exists():
        return [], ()
    places = {link.name: link for link in robot.links}
    parts = read_sketch(robot.source.path, folders=robot.source.folders, arguments=robot.source.arguments).parts
    carriers = _carriers(parts)
    solids, missing = [], []
    for i, part in enumerate(parts):
        link = places.get(part.name)
        if link is None:
            continue
        shapes = [s for s in part.shapes if s.role == "collision"] or list(part.shapes)
        for shape in shapes:
            if shape.vertices is not None and len(shape.vertices) >= FEW_CORNERS:
                vertices = hull_vertices(shape.vertices) @ link.rotation.T + link.position
                solids.append(ConvexSolid(link.body, part.name, vertices, i in carriers))
        if part.partial:
            missing.append(part.name)
    said = f"Geometry of {', '.join(missing)} was not read, so nothing keeps other bodies away from it."
    return solids, (said,) if missing else ()


def _carriers(parts) -> set[int]:
    """Parts on which a joint hangs, and those between them and the root."""
    found: set[int] = set()
    for part in parts:
        at = part.parent if part.moves else None
        while at is not None:
            found.add(at)
            at = parts[at].parent
    return found


def hull_vertices(vertices) -> np.ndarray:
    """Corners (k, 3) of the convex hull of points (n, 3); of their box where they have no volume."""
    vertices = np.asarray(vertices, dtype=float)
    hull = hull_of(vertices)
    return corners_of([vertices + thin for thin in (-1e-4, 1e-4)]) if hull is None else vertices[hull.vertices]


def corners_of(solids) -> np.ndarray:
    """Eight corners (8, 3) of the box around solids, or the origin (1, 3) where there are none."""
    if not solids:
        return np.zeros((1, 3))
    points = np.concatenate(solids)
    ends = np.stack([points.min(axis=0), points.max(axis=0)])
    return np.array([[ends[i, 0], ends[j, 1], ends[k, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
