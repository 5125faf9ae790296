"""Solids of a robot and of what stands around it, from the geometry of its model file."""

from dataclasses import dataclass

import numpy as np

from steelyard.model import Robot, compile_file, read_sketch

FEW_CORNERS = 4  # vertices of the least solid


@dataclass(frozen=True, eq=False)
class Solid:
    """Vertices (n, 3) of a convex solid in the frame of its body. body: WORLD for what does not move; name: of its
    link; carrier: whether a joint of the robot hangs on the link, which makes it the robot's own base."""

    body: int
    name: str
    vertices: np.ndarray
    carrier: bool = True


def solids_of(robot: Robot) -> tuple[list[Solid], tuple[str, ...]]:
    """Hulls of all parts, and what there is to say; collision geometry where there is any, else visual."""
    if robot.source is None or not robot.source.path.exists():
        return [], ()
    places = {link.name: link for link in robot.links}
    parts = read_sketch(robot.source.path, folders=robot.source.folders).parts
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
                solids.append(Solid(link.body, part.name, vertices, i in carriers))
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


def surroundings(robot: Robot) -> list[dict]:
    """Geoms of an MJCF file that hang on the world itself, as MuJoCo's specification wants them: tables, floors."""
    import mujoco

    if robot.source is None or robot.source.format != "mjcf" or not robot.source.path.exists():
        return []
    m, _ = compile_file(robot.source.path, robot.source.folders)
    found = []
    for g in np.flatnonzero((m.geom_bodyid == 0) & ((m.geom_contype | m.geom_conaffinity) != 0)):
        place = {"pos": m.geom_pos[g].copy(), "quat": m.geom_quat[g].copy()}
        name = m.geom(int(g)).name or f"geom {g} of the world"
        if m.geom_type[g] == mujoco.mjtGeom.mjGEOM_MESH:
            first, count = m.mesh_vertadr[m.geom_dataid[g]], m.mesh_vertnum[m.geom_dataid[g]]
            found.append(place | {"name": name, "vertices": m.mesh_vert[first : first + count].copy()})
        elif m.geom_type[g] != mujoco.mjtGeom.mjGEOM_HFIELD:
            kind = mujoco.mjtGeom(int(m.geom_type[g]))
            found.append(place | {"name": name, "type": kind, "size": m.geom_size[g].copy()})
    return found


def hull_vertices(vertices) -> np.ndarray:
    """Corners (k, 3) of the convex hull of points (n, 3); of their box where they have no volume."""
    from scipy.spatial import ConvexHull, QhullError

    vertices = np.asarray(vertices, dtype=float)
    try:
        return vertices[ConvexHull(vertices).vertices]
    except QhullError:
        return corners_of([vertices + thin for thin in (-1e-4, 1e-4)])


def corners_of(solids) -> np.ndarray:
    """Eight corners (8, 3) of the box around solids, or the origin (1, 3) where there are none."""
    if not solids:
        return np.zeros((1, 3))
    points = np.concatenate(solids)
    ends = np.stack([points.min(axis=0), points.max(axis=0)])
    return np.array([[ends[i, 0], ends[j, 1], ends[k, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
