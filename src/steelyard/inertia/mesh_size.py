"""Mesh files of a few words that stand for gigabytes, refused before they are read.

Compressed archives, glTF accessors without data, parts of parts of parts in COLLADA and 3MF. The other formats state
counts as well, but trimesh holds those against the data.
"""

import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

from steelyard.errors import InertiaError

MOST_BYTES = 128 * 2**20  # of what an archive unpacks to
MOST_PARTS = 20_000
MOST_ZEROS = 2**24  # entries of accessors that glTF fills with zeros
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
)
GLB_START = 20  # bytes of a GLB file before its JSON


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
    if zeros > MOST_ZEROS:
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
    """Root element of XML; None for what is none."""
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
