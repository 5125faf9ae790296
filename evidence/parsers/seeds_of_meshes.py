"""A tetrahedron in every mesh format."""

import base64
import json

import numpy as np

GLTF = {
    "asset": {"version": "2.0"},
    "scene": 0,
    "scenes": [{"nodes": [0]}],
    "nodes": [{"mesh": 0, "scale": [1, 1, 1]}],
    "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "mode": 4}]}],
    "bufferViews": [{"buffer": 0, "byteLength": 48}, {"buffer": 0, "byteOffset": 48, "byteLength": 48}],
    "accessors": [
        {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 1]},
        {"bufferView": 1, "componentType": 5125, "count": 12, "type": "SCALAR"},
    ],
}
OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
OFF = "OFF\n4 4 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n"


def stl() -> list[bytes]:
    return [_tetrahedron("stl"), _tetrahedron("stl_ascii")]


def obj() -> list[bytes]:
    return [OBJ.encode(), f"mtllib a.mtl\nusemtl a\n{OBJ}vt 0 0\nvn 0 0 1\nf 1/1/1 2/1/1 3/1/1 4/1/1\n".encode()]


def ply() -> list[bytes]:
    import trimesh

    ascii_ = trimesh.exchange.ply.export_ply(trimesh.Trimesh(*_corners()), encoding="ascii")
    return [_tetrahedron("ply"), ascii_]


def off() -> list[bytes]:
    return [OFF.encode()]


def glb() -> list[bytes]:
    return [_tetrahedron("glb")]


def gltf() -> list[bytes]:
    vertices, faces = _corners()
    data = base64.b64encode(vertices.astype("<f4").tobytes() + faces.astype("<u4").tobytes()).decode()
    buffer = {"byteLength": 96, "uri": f"data:application/octet-stream;base64,{data}"}
    return [json.dumps(GLTF | {"buffers": [buffer]}).encode()]


def dae() -> list[bytes]:
    return [_tetrahedron("dae")]


def threemf() -> list[bytes]:
    return [_tetrahedron("3mf")]


def _tetrahedron(kind: str) -> bytes:
    import trimesh

    data = trimesh.Trimesh(*_corners()).export(file_type=kind)
    return data.encode() if isinstance(data, str) else bytes(data)


def _corners():
    return np.vstack([np.zeros(3), np.eye(3)]), np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
