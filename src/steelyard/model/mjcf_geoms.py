"""Geoms of a compiled MuJoCo model as solids in the frame of their body."""

from dataclasses import dataclass

import numpy as np

from steelyard.inertia import solids
from steelyard.model.mjcf import compiled_rotation


@dataclass(frozen=True, eq=False)
class Solid:
    """vertices: (n, 3) m in the frame of a body or geom; faces: (f, 3), None where only the hull is meant; source: mesh
    or kind and size, equal for equal geometry in the geom's frame.
    """

    vertices: np.ndarray
    faces: np.ndarray | None
    source: str


def geom_solid(m, geom: int) -> Solid | None:
    """The solid of a geom of an MjModel m; None for planes, height fields and signed distance fields."""
    found = geom_shape(m, geom)
    if found is None:
        return None
    R, p = compiled_rotation(m.geom_quat[geom]), m.geom_pos[geom]
    return Solid(found.vertices @ R.T + p, found.faces, found.source)


def geom_shape(m, geom: int) -> Solid | None:
    """The same with vertices in the frame of the geom."""
    import mujoco

    kind, size = mujoco.mjtGeom(m.geom_type[geom]), m.geom_size[geom]
    faces = None
    if kind == mujoco.mjtGeom.mjGEOM_MESH:
        mesh = m.geom_dataid[geom]
        start, count = m.mesh_vertadr[mesh], m.mesh_vertnum[mesh]
        vertices = m.mesh_vert[start : start + count].astype(float)
        start, count = m.mesh_faceadr[mesh], m.mesh_facenum[mesh]
        faces, source = m.mesh_face[start : start + count].astype(np.int64), f"mesh {m.mesh(mesh).name}"
    elif kind == mujoco.mjtGeom.mjGEOM_BOX:
        vertices, source = solids.box(size), f"box {size.tolist()}"
    elif kind in (mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_ELLIPSOID):
        axes = np.full(3, size[0]) if kind == mujoco.mjtGeom.mjGEOM_SPHERE else size
        vertices, source = solids.ellipsoid(axes), f"ellipsoid {axes.tolist()}"
    elif kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        vertices, source = solids.cylinder(size[0], size[1]), f"cylinder {size[:2].tolist()}"
    elif kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        vertices, source = solids.capsule(size[0], size[1]), f"capsule {size[:2].tolist()}"
    else:
        return None
    return Solid(vertices, faces, source)
