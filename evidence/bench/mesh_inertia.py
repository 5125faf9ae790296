"""Time the mass properties of a mesh of a million faces and their derivatives with respect to every vertex, beside
trimesh.

Medians in seconds. Aims on two cores: mass properties under 0.15 s, all vertex derivatives under 1 s. trimesh computes
mass properties only.
"""

import numpy as np

from evidence.bench.timing import median_seconds
from steelyard.inertia import mesh


def sphere(rings, sectors):
    """A ball of radius 0.1 m away from the origin: vertices (n, 3), outward faces (2 sectors (rings - 1), 3)."""
    polar = np.linspace(0, np.pi, rings + 1)[1:-1, None]
    turn = np.linspace(0, 2 * np.pi, sectors, endpoint=False)
    x, y, z = np.sin(polar) * np.cos(turn), np.sin(polar) * np.sin(turn), np.cos(polar) * np.ones(sectors)
    vertices = np.concatenate([np.stack([x, y, z], axis=-1).reshape(-1, 3), [[0, 0, 1.0], [0, 0, -1.0]]])
    here = (np.arange(rings - 2)[:, None] * sectors + np.arange(sectors)).ravel()
    there = (np.arange(rings - 2)[:, None] * sectors + (np.arange(sectors) + 1) % sectors).ravel()
    first, second = np.arange(sectors), (np.arange(sectors) + 1) % sectors
    last = (rings - 2) * sectors
    top, bottom = np.full(sectors, len(vertices) - 2), np.full(sectors, len(vertices) - 1)
    faces = [
        np.stack([here, here + sectors, there + sectors], axis=1),
        np.stack([here, there + sectors, there], axis=1),
        np.stack([top, first, second], axis=1),
        np.stack([bottom, last + second, last + first], axis=1),
    ]
    return 0.1 * vertices + [1.0, 2.0, 3.0], np.concatenate(faces)


def run(*, faces=1_000_000):
    """Medians in seconds, `{"faces", "parameters", "parameters unchecked", "vertex derivatives", "trimesh", "ratio"}`.

    `ratio` is trimesh's time over ours for the same ten numbers, which must agree, both on fresh arrays.
    """
    import trimesh

    rings = round(np.sqrt(faces / 4))
    vertices, triangles = sphere(rings, 2 * rings)

    def by_trimesh():
        shape = trimesh.Trimesh(vertices, triangles, process=False)
        shape.density = 1000.0
        return shape.mass_properties

    found, expected = mesh.parameters(vertices, triangles), by_trimesh()
    np.testing.assert_allclose(found[0], expected.mass, rtol=1e-9)
    np.testing.assert_allclose(found[1:4] / found[0], expected.center_mass, rtol=1e-9)
    ours = median_seconds(lambda: mesh.parameters(vertices, triangles))
    theirs = median_seconds(by_trimesh)
    return {
        "faces": len(triangles),
        "parameters": ours,
        "parameters unchecked": median_seconds(lambda: mesh.parameters(vertices, triangles, check=False)),
        "vertex derivatives": median_seconds(lambda: mesh.vertex_derivatives(vertices, triangles)),
        "trimesh": theirs,
        "ratio": theirs / ours,
    }
