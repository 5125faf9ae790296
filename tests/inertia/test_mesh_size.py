"""Small mesh files that stand for much are refused before they are read, and whole ones are not."""

import io
import json
import re
import struct
import zipfile
from itertools import pairwise

import pytest
from evidence.parsers import seeds_of_meshes
from evidence.parsers.zipped import packed

from steelyard.errors import InertiaError
from steelyard.inertia import mesh_files

DOUBLINGS = 40


def members() -> dict[str, bytes]:
    """Of a 3MF file."""
    with zipfile.ZipFile(io.BytesIO(seeds_of_meshes.threemf()[0])) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def threemf_of_doubles(count: int) -> bytes:
    """Each object two of the one before."""
    inside = members()
    name = next(name for name in inside if name.endswith(".model"))
    text = inside[name].decode()
    first = re.search(r'<object[^>]*id="(\w+)"', text).group(1)
    ids = [first, *(str(1000 + k) for k in range(count))]
    doubles = ((own, f'<component objectid="{part}"/>' * 2) for part, own in pairwise(ids))
    twice = "".join(f'<object id="{own}"><components>{parts}</components></object>' for own, parts in doubles)
    text = text.replace("</resources>", f"{twice}</resources>")
    text = re.sub(r'(<item[^>]*objectid=")\w+', rf"\g<1>{ids[-1]}", text)
    return packed(inside | {name: text.encode()})


def collada_of_doubles(count: int) -> bytes:
    text = seeds_of_meshes.dae()[0].decode()
    start, end = text.index("<node"), text.rindex("</node>") + len("</node>")
    nodes = re.sub(r"<node[^>]*>", '<node id="n0">', text[start:end], count=1)
    for k in range(count):
        parts = f'<instance_node url="#n{k}"/>' * 2
        nodes += f'<node id="n{k + 1}">{parts}</node>'
    text = f'{text[:start]}<node id="top"><instance_node url="#n{count}"/></node>{text[end:]}'
    return text.replace("<library_visual", f"<library_nodes>{nodes}</library_nodes><library_visual").encode()


def large_archive() -> bytes:
    inside = members()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in inside.items():
            archive.writestr(name, content)
        archive.writestr("padding", bytes(129 * 2**20))
    return out.getvalue()


def gltf_of_zeros(count: int) -> bytes:
    tree = json.loads(seeds_of_meshes.gltf()[0])
    del tree["accessors"][0]["bufferView"]
    tree["accessors"][0]["count"] = count
    return json.dumps(tree).encode()


def entities() -> bytes:
    return b'<!DOCTYPE x [<!ENTITY a "1 1 1 1">]>' + seeds_of_meshes.dae()[0]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.3mf", lambda: threemf_of_doubles(DOUBLINGS), "20,000 parts"),
        ("a.3mf", large_archive, "unpacks to 129 MB"),
        ("a.dae", lambda: collada_of_doubles(DOUBLINGS), "20,000 parts"),
        ("a.dae", entities, "entities are not read"),
        ("a.gltf", lambda: gltf_of_zeros(10**10), "1e\\+10 entries"),
    ],
    ids=["3mf", "archive", "collada", "entities", "gltf"],
)
def test_bombs(name, content, message, tmp_path):
    path = tmp_path / name
    path.write_bytes(content())
    with pytest.raises(InertiaError, match=message):
        mesh_files.load(path)


@pytest.mark.parametrize(
    ("name", "content"), [("a.3mf", threemf_of_doubles(3)), ("a.dae", collada_of_doubles(3))], ids=["3mf", "collada"]
)
def test_parts_of_parts_are_read(name, content, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    _, faces = mesh_files.load(path)
    assert len(faces) == 8 * 4


def test_glb_of_zeros(tmp_path):
    """The JSON of a GLB file is looked at as that of a glTF file is."""
    text = gltf_of_zeros(10**10)
    text += b" " * (-len(text) % 4)
    path = tmp_path / "a.glb"
    path.write_bytes(struct.pack("<4sIIII", b"glTF", 2, 20 + len(text), len(text), 0x4E4F534A) + text)
    with pytest.raises(InertiaError, match="entries that it holds no data of"):
        mesh_files.load(path)
