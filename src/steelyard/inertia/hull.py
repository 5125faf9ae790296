"""Convex hulls: of a closed convex surface that spans all points, such as that of a primitive, as it is; else by Qhull.

SciPy's Qhull loads for longer than a model without meshes is checked.
"""

from dataclasses import dataclass

import numpy as np

LARGEST = 10**6  # pairs of a face and a point up to which a surface is tried
ROUNDING = 1e-9  # distance in front of a face that counts as none, over the extent of the points


@dataclass(frozen=True, eq=False)
class Hull:
    """points: (n, 3) m. vertices: (k,) indices of those that span it. faces: (f, 3), counterclockwise from outside.
    equations: (f, 4) outward unit normals and offsets of their planes; `n . x + d <= 0` inside. volume: m^3.
    """

    points: np.ndarray
    vertices: np.ndarray
    faces: np.ndarray
    equations: np.ndarray
    volume: float


def hull_of(points: np.ndarray) -> Hull | None:
    """Convex hull of points, by Qhull.

    Args:
        points: (n, 3) m.

    Returns:
        The Hull; None where the points span no volume.
    """
    from scipy.spatial import ConvexHull, QhullError

    try:
        found = ConvexHull(points)
    except (QhullError, ValueError):
        return None
    faces = found.simplices.astype(np.int64)
    inward = (_areas(points, faces) * found.equations[:, :3]).sum(axis=1) < 0
    faces[inward] = faces[inward][:, ::-1]
    return Hull(points, found.vertices, faces, found.equations, float(found.volume))


def convex_surface(vertices: np.ndarray, faces: np.ndarray | None, points: np.ndarray) -> Hull | None:
    """The hull of points, if a surface with some of them as vertices is its boundary: if it is closed, has as many
    faces as a triangulated sphere, and no point lies in front of a face.

    Args:
        vertices: (k, 3) m, of the surface.
        faces: (f, 3) numbers of vertices, counterclockwise from outside; None where there is no surface.
        points: (n, 3) m.

    Returns:
        The Hull, or None where the surface is no such boundary.
    """
    if faces is None or len(faces) * len(points) > LARGEST or not _is_closed(faces, len(vertices)):
        return None
    used = np.flatnonzero(np.bincount(faces.ravel()))  # np.unique loads masked arrays
    normals = _areas(vertices, faces)
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    if len(faces) != 2 * len(used) - 4 or not (lengths > 0).all():
        return None
    normals = normals / lengths
    heights = (normals * vertices[faces[:, 0]]).sum(axis=1)
    if (points @ normals.T - heights).max() > ROUNDING * np.ptp(points, axis=0).max():
        return None
    middle = vertices[used].mean(axis=0)
    volume = float((lengths[:, 0] * (heights - normals @ middle)).sum() / 6)
    return Hull(vertices, used, faces, np.column_stack([normals, -heights]), volume)


def _is_closed(faces: np.ndarray, count: int) -> bool:
    """Whether every edge is walked equally often in both directions; exact, for surfaces that are small."""
    edges = faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2).astype(np.int64)
    return np.array_equal(np.sort(edges @ [count, 1]), np.sort(edges @ [1, count]))


def _areas(points: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """(f, 3) normals of faces, twice as long as their areas."""
    a, b, c = (points[column] for column in faces.T)
    return np.cross(b - a, c - a)
