"""Fewer triangles: vertices that share a cell of a grid become one, where the planes around them meet best.

Vertex clustering with quadrics (Lindstrom 2000, Out-of-core simplification of large polygonal models): one pass over
the triangles, any mesh, closed or not.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from steelyard.numbers import ROUNDS
from steelyard.viewer.shape import Surface

SHARP = 1e-2  # singular value over the largest below which planes do not tell where a vertex belongs
ENOUGH, AIM = 0.8, 0.93  # of the triangles allowed: when the search ends, and what it aims at
FEW = 60  # triangles that every shape keeps


def within_budget(shapes: Sequence[Surface], triangles: int) -> tuple[Surface, ...]:
    """Shapes with no more than `triangles` in all; large shapes get more of them."""
    counts = np.array([len(shape.faces) for shape in shapes])
    if counts.sum() <= triangles:
        return tuple(shapes)
    share = _shares(counts, np.array([shape.size for shape in shapes]), triangles)
    return tuple(
        shape if n <= k else to_count(shape, int(k)) for shape, n, k in zip(shapes, counts, share, strict=True)
    )


def _shares(counts, sizes, triangles: int) -> np.ndarray:
    """Triangles of each shape: a few, the others by size, but none more than it has."""
    share = np.zeros(len(counts))
    few = min(FEW, triangles / len(counts))
    free = np.ones(len(counts), dtype=bool)
    while free.any():
        left = triangles - share[~free].sum() - few * free.sum()
        share[free] = few + left * sizes[free] / max(sizes[free].sum(), 1e-300)
        full = free & (counts <= share)
        if not full.any():
            break
        share[full], free = counts[full], free & ~full
    return share


def to_count(shape: Surface, triangles: int) -> Surface:
    """A shape with at most `triangles` faces, and hardly fewer: a short search for the cell."""
    corners = shape.vertices[shape.faces]
    area = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1).sum()
    cell = max(np.sqrt(area / triangles), 1e-9 * shape.size)
    found = None
    for _ in range(ROUNDS):
        tried = cluster(shape, cell)
        count = len(tried.faces)
        if count <= triangles and (found is None or count > len(found.faces)):
            found = tried
        if ENOUGH * triangles <= count <= triangles or (found is not None and count > triangles):
            break
        cell *= np.sqrt((count + 1) / (AIM * triangles))
    return shape if found is None else found


def cluster(shape: Surface, cell: float) -> Surface:
    """A shape whose vertices in each cube of side `cell` [m] are one; triangles within a cube vanish."""
    vertices = shape.vertices
    origin = vertices.min(axis=0)
    cubes = np.floor((vertices - origin) / cell).astype(np.int64)
    width = cubes.max(axis=0) + 1
    _, member = np.unique((cubes[:, 0] * width[1] + cubes[:, 1]) * width[2] + cubes[:, 2], return_inverse=True)
    faces = member[shape.faces]
    a, b, c = faces.T
    kept = np.flatnonzero((a != b) & (b != c) & (c != a))
    _, first = np.unique(np.sort(faces[kept], axis=1), axis=0, return_index=True)
    kept = kept[np.sort(first)]
    moved = _meeting_points(vertices, shape.faces, member, cell)
    used, renamed = np.unique(faces[kept], return_inverse=True)
    colors = None if shape.colors is None else shape.colors[kept]
    return replace(shape, vertices=moved[used], faces=renamed.reshape(-1, 3), colors=colors)


def _meeting_points(vertices, faces, member, cell: float) -> np.ndarray:
    """(k, 3) point of each cluster nearest to the planes of its triangles, by area; else the mean of its vertices."""
    count = int(member.max()) + 1
    mean = _sums(member, vertices, count) / np.bincount(member, minlength=count)[:, None]
    corners = vertices[faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.sqrt(np.maximum(np.linalg.norm(normal, axis=1), 1e-300))[:, None]  # squares count by area
    outer = (normal[:, :, None] * normal[:, None, :]).reshape(-1, 9)
    level = np.einsum("fi,fi->f", normal, corners[:, 0])[:, None] * normal
    A, b = np.zeros((count, 9)), np.zeros((count, 3))
    for k in range(3):
        A += _sums(member[faces[:, k]], outer, count)
        b += _sums(member[faces[:, k]], level, count)
    A = A.reshape(-1, 3, 3)
    values, axes = np.linalg.eigh(A)
    gap = np.einsum("kji,kj->ki", axes, b - np.einsum("kij,kj->ki", A, mean))
    sharp = values > SHARP * values[:, -1:]
    step = np.einsum("kij,kj->ki", axes, np.where(sharp, gap / np.where(sharp, values, 1.0), 0.0))
    near = np.abs(step).max(axis=1) < cell  # spikes where planes are nearly parallel
    return mean + np.where(near[:, None], step, 0.0)


def _sums(member, rows, count: int) -> np.ndarray:
    """(count, k) sums of the rows (n, k) of each cluster."""
    return np.stack([np.bincount(member, weights=column, minlength=count) for column in rows.T], axis=1)
