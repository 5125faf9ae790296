"""Triangle meshes from files, through trimesh; those of a few words that stand for gigabytes are refused unread.

Such are compressed archives, glTF accessors without data, parts of parts of parts in COLLADA and 3MF. The other formats
state counts as well, but trimesh holds those against the data.
"""

import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from steelyard.errors import InertiaError, choices
from steelyard.extras import extra

MOST_BYTES = 128 * 2**20  # of a mesh, and of what an archive unpacks to
MOST_PARTS = 20_000
GLB_START = 20  # bytes of a GLB file before its JSON
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, LookupError, OSError, RuntimeError, ValueError)
# What trimesh's readers stumble over in damaged files: fuzzing met most of these (docs/evidence/fuzzing.md).
BROKEN = (*DAMAGED, ArithmeticError, AssertionError, AttributeError, MemoryError, NameError, StopIteration)
BROKEN += (SyntaxError, TypeError, struct.error)


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
    where the file states none. A texture counts as the one colour of its material. Otherwise as `load`."""
    return _read(path, _colored)


def _whole(scene):
    vertices, faces = [np.zeros((0, 3))], [np.zeros((0, 3), dtype=np.int64)]
    for _, points, triangles in _placed(scene):
        faces.append(triangles + sum(map(len, vertices)))
        vertices.append(points)
    return np.concatenate(vertices), np.concatenate(faces)


def _colored(scene):
    parts = [mesh for mesh, _, _ in _placed(scene)]
    if all(getattr(each.visual, "kind", None) is None for each in parts):
        return *_whole(scene), None
    return *_whole(scene), np.concatenate([_colors(each) for each in parts])


def _placed(scene):
    """Each mesh of a scene with its vertices (n, 3) and faces (f, 3) in place. Meshes are not copied, as their textures
    cannot be without Pillow."""
    import trimesh

    for node in scene.graph.nodes_geometry:
        transform, name = scene.graph[node]
        mesh = scene.geometry[name]
        if isinstance(mesh, trimesh.Trimesh):
            points = np.asarray(mesh.vertices, dtype=float) @ transform[:3, :3].T + transform[:3, 3]
            faces = np.asarray(mesh.faces, dtype=np.int64)
            yield mesh, points, faces[:, ::-1] if np.linalg.det(transform[:3, :3]) < 0 else faces


def _colors(mesh):
    """(f, 4) bytes."""
    look = mesh.visual
    if look.kind == "texture":
        return np.tile(np.asarray(look.material.main_color, dtype=np.uint8), (len(mesh.faces), 1))
    return np.asarray(look.face_colors, dtype=np.uint8)


def _collada_errors(suffix: str) -> tuple[type[Exception], ...]:
    if suffix not in ("dae", "zae"):
        return ()
    with extra("Reading COLLADA"):
        from collada import DaeError

    return (DaeError,)


def _read(path, extract):
    """What `extract` takes from the scene of a file: vertices, faces and more."""
    with extra("Reading meshes"):
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


def require_bounded(path: Path) -> None:
    """Raise InertiaError for such a file. What is damaged is left to its reader."""
    checks: dict[str, Callable[[Path], None]] = {".gltf": _gltf, ".glb": _gltf, ".dae": _collada, ".3mf": _archive}
    check = checks.get(path.suffix.lower())
    if check is not None:
        check(path)


def _gltf(path: Path) -> None:
    content = path.read_bytes()
    if path.suffix.lower() == ".glb":
        length = struct.unpack_from("<I", content, 12)[0] if len(content) >= GLB_START else 0
        content = content[GLB_START : GLB_START + length]
    try:
        tree = json.loads(content)
        empty = [each["count"] for each in tree["accessors"] if "bufferView" not in each]
        zeros = sum(count for count in empty if isinstance(count, int | float))
    except (ValueError, LookupError, TypeError, RecursionError):
        return
    if zeros > 2**24:  # entries of accessors that glTF fills with zeros
        raise InertiaError(f"{path.name}: asks for {zeros:.3g} entries that it holds no data of. Export it again")


def _collada(path: Path) -> None:
    root = _parsed(path, path.read_bytes())
    if root is None:
        return
    nodes = {each.get("id"): each for each in root.iter("{*}node")}
    scenes = (node for scene in root.iter("{*}visual_scene") for node in scene)

    def parts(node):
        yield from node.iterchildren("{*}node")
        yield from (nodes.get(each.get("url", "")[1:]) for each in node.iterchildren("{*}instance_node"))

    _require_few(path, scenes, parts)


def _archive(path: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(info.file_size for info in archive.infolist())
            if size > MOST_BYTES:
                raise InertiaError(
                    f"{path.name}: unpacks to {size / 2**20:,.0f} MB; up to {MOST_BYTES // 2**20} MB are read. "
                    "Export a coarser mesh"
                )
            models = [name for name in archive.namelist() if name.lower().endswith(".model")]
            for name in models:
                _components(path, _parsed(path, archive.read(name)))
    except DAMAGED:
        return


def _components(path: Path, root) -> None:
    if root is None:
        return
    objects = {each.get("id"): each for each in root.iter("{*}object")}
    items = (objects.get(each.get("objectid")) for each in root.iter("{*}item"))

    def parts(each):
        return (objects.get(part.get("objectid")) for part in each.iterfind("{*}components/{*}component"))

    _require_few(path, items, parts)


def _parsed(path: Path, content: bytes):
    with extra("Reading XML meshes"):
        from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError:
        return None
    if root.getroottree().docinfo.internalDTD is not None:
        raise InertiaError(f"{path.name}: document type declarations and entities are not read. Remove <!DOCTYPE>")
    return root


def _require_few(path: Path, roots: Iterable, parts: Callable[..., Iterable]) -> None:
    """Raise InertiaError for too many parts, parts of parts counted as often as they are shown."""
    waiting, count = list(roots), 0
    while waiting:
        part = waiting.pop()
        if part is None:  # a name that stands for nothing
            continue
        count += 1
        if count > MOST_PARTS:
            raise InertiaError(f"{path.name}: shows more than {MOST_PARTS:,} parts. Export the mesh in one piece")
        waiting += parts(part)
