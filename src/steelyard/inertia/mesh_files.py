"""Triangle meshes from files, through trimesh."""

from pathlib import Path

import numpy as np

from steelyard.errors import InertiaError, choices


def load(path, *, scale=1.0):
    """Vertices (n, 3) in metres and faces (f, 3) of a mesh file.

    path: STL, OBJ, PLY, OFF, GLB, ... (whatever trimesh reads); parts of a scene are placed by their transforms and
    concatenated. scale: metres per file unit, 0.001 for a file in millimetres. Raises InertiaError: no such file,
    unknown format, unreadable, no faces, scale not positive.
    """
    import trimesh

    path = Path(path)
    if not (np.isfinite(scale) and scale > 0):
        raise InertiaError(
            f"mesh scale is {scale!r}, expected a positive number of metres per file unit (0.001 for millimetres)"
        )
    if not path.is_file():
        raise InertiaError(f"no mesh file at {path}. Check the path; relative paths start at {Path.cwd()}")
    suffix = path.suffix.lower().lstrip(".")
    if suffix not in trimesh.available_formats():
        known = sorted({"stl", "obj", "ply", "off", "glb", "gltf", "3mf", "dae"} & set(trimesh.available_formats()))
        raise InertiaError(
            f"{path.name}: unsupported mesh format '{suffix}'. Readable here: {choices(known)}; convert the file "
            "to one of them"
        )
    if path.stat().st_size == 0:
        raise InertiaError(f"{path.name}: the file is empty (0 bytes). Export the mesh again")
    vertices, faces = _read(trimesh, path)
    return vertices * float(scale), faces


def _read(trimesh, path):
    try:
        mesh = trimesh.load_scene(path).to_mesh()
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, OSError, NotImplementedError) as error:
        raise InertiaError(
            f"{path.name}: cannot be read as a {path.suffix} mesh ({error}). Export it again, for example as binary STL"
        ) from error
    if len(mesh.faces) == 0:
        raise InertiaError(
            f"{path.name}: holds no triangles (points or lines only?). A solid needs a closed triangle mesh"
        )
    return np.array(mesh.vertices, dtype=float), np.array(mesh.faces, dtype=np.int64)
