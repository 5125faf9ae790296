"""Triangle meshes from files, through trimesh."""

import struct
import zlib
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from steelyard.errors import InertiaError, choices
from steelyard.inertia.mesh_size import require_bounded

# What trimesh's readers stumble over in damaged files: fuzzing met most of these (docs/evidence/fuzzing.md).
BROKEN = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    BadZipFile,
    EOFError,
    LookupError,
    MemoryError,
    NameError,
    OSError,
    RuntimeError,
    StopIteration,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)


def load(path, *, scale=1.0):
    """Vertices (n, 3) in metres and faces (f, 3) of a mesh file.

    path: STL, OBJ, PLY, OFF, GLB, ... (whatever trimesh reads); parts of a scene are placed by their transforms and
    concatenated. scale: metres per file unit, 0.001 for a file in millimetres. Raises InertiaError: no such file,
    unknown format, unreadable, no faces, scale not positive.
    """
    if not (np.isfinite(scale) and scale > 0):
        raise InertiaError(
            f"mesh scale is {scale!r}, expected a positive number of metres per file unit (0.001 for millimetres)"
        )
    vertices, faces = _read(path, _whole)
    return vertices * float(scale), faces


def load_colored(path):
    """Vertices (n, 3) in file units, faces (f, 3) and their colours (f, 4), bytes of red, green, blue and opacity, None
    where the file states none. A texture counts as the one colour of its material. Otherwise as `load`.
    """
    return _read(path, _colored)


def _whole(scene):
    mesh = scene.to_mesh()
    return np.array(mesh.vertices, dtype=float), np.array(mesh.faces, dtype=np.int64)


def _colored(scene):
    import trimesh

    parts = [each for each in scene.dump() if isinstance(each, trimesh.Trimesh)]
    starts = np.cumsum([0, *(len(each.vertices) for each in parts)])
    vertices = np.concatenate([np.zeros((0, 3)), *(each.vertices for each in parts)])
    faces = [np.asarray(each.faces, dtype=np.int64) + at for each, at in zip(parts, starts, strict=False)]
    faces = np.concatenate([np.zeros((0, 3), dtype=np.int64), *faces])
    if all(getattr(each.visual, "kind", None) is None for each in parts):
        return vertices, faces, None
    return vertices, faces, np.concatenate([_colors(each) for each in parts])


def _colors(mesh):
    """(f, 4) bytes."""
    look = mesh.visual
    if look.kind == "texture":
        return np.tile(np.asarray(look.material.main_color, dtype=np.uint8), (len(mesh.faces), 1))
    return np.asarray(look.face_colors, dtype=np.uint8)


def _collada_errors(suffix: str) -> tuple[type[Exception], ...]:
    if suffix not in ("dae", "zae"):
        return ()
    from collada import DaeError

    return (DaeError,)


def _read(path, extract):
    """What `extract` takes from the scene of a file: vertices, faces and more."""
    import trimesh

    path = Path(path)
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
    require_bounded(path)
    try:
        found = extract(trimesh.load_scene(path))
    except (*BROKEN, *_collada_errors(suffix)) as error:
        raise InertiaError(
            f"{path.name}: cannot be read as a {path.suffix} mesh ({error}). Export it again, for example as binary STL"
        ) from error
    if len(found[1]) == 0:
        raise InertiaError(
            f"{path.name}: holds no triangles (points or lines only?). A solid needs a closed triangle mesh"
        )
    return found
