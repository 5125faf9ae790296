"""What a mesh must be before its mass properties mean anything; every finding names its remedy."""

import warnings

import numpy as np

from steelyard.errors import InertiaError
from steelyard.numbers import ROUNDING


class SteelyardWarning(UserWarning):
    """Input that Steelyard can use but that is probably not what was meant; the message says what to change."""


def as_mesh(vertices, faces):
    """Vertices (n, 3) as float and faces (f, 3) as integers; an InertiaError says which array is wrong and how."""
    vertices, faces = np.asarray(vertices), np.asarray(faces)
    for name, array in (("vertices", vertices), ("faces", faces)):
        if array.size == 0:
            raise InertiaError(
                f"empty mesh: {name} has shape {array.shape}. Expected at least four faces; check that the file "
                "holds a solid"
            )
        if array.ndim != 2 or array.shape[1] != 3:
            raise InertiaError(
                f"mesh {name} have shape {array.shape}, expected (n, 3). Triangulate polygons before calling"
            )
    if not np.issubdtype(faces.dtype, np.integer):
        raise InertiaError(
            f"mesh faces have type {faces.dtype}, expected integer vertex indices; swapped with vertices?"
        )
    vertices = np.asarray(vertices, dtype=float)
    if not np.isfinite(vertices).all():
        row = int(np.argmin(np.isfinite(vertices).all(axis=1)))
        raise InertiaError(
            f"vertex {row} of the mesh is {vertices[row].tolist()}: not finite. Repair or re-export the mesh"
        )
    low, high = int(faces.min()), int(faces.max())
    if low < 0 or high >= len(vertices):
        raise InertiaError(
            f"mesh faces refer to vertices {low} ... {high}, but there are {len(vertices)} vertices (0-based "
            "indices expected)"
        )
    return vertices, faces


def require_density(density):
    """The density as a float, or an InertiaError when it is not a positive finite number in kg/m^3."""
    value = np.asarray(density, dtype=float)
    if value.ndim != 0 or not np.isfinite(value) or value <= 0:
        raise InertiaError(
            f"density is {density!r}, expected one positive number in kg/m^3 (water 1000, aluminium 2700, steel 7850)"
        )
    return float(value)


def require_solid(columns, faces, *, volume, thinnest_face):
    """Refuse a mesh that encloses no solid; warn of an implausible size and of faces without area.

    columns: (3, n) vertices; faces: (f, 3) as from `as_mesh`; volume: signed, m^3; thinnest_face: smallest squared
    `|(v2-v1) x (v3-v1)|`.
    """
    diagonal = float(np.linalg.norm(np.ptp(columns, axis=1)))
    if not is_closed(faces, columns.shape[1]):
        raise InertiaError(_describe_opening(faces))
    if not (diagonal < 1e50 and np.isfinite(volume)):  # m: its volume is still a number
        raise InertiaError(f"the mesh is {diagonal:.3g} m large, beyond any body. Check its file and scale")
    if abs(volume) <= ROUNDING * diagonal**3:
        raise InertiaError(
            f"degenerate mesh: it encloses {volume:.3g} m^3 within a box of diagonal {diagonal:.3g} m, so it has no "
            "inside. Expected a solid; give thin sheets a thickness before export"
        )
    if volume < 0:
        raise InertiaError(
            f"inward-oriented mesh: its signed volume is {volume:.3g} m^3. Faces must be counter-clockwise seen from "
            "outside; reverse them with faces[:, ::-1]"
        )
    _warn_of_size(diagonal)
    if thinnest_face <= 1e-24 * diagonal**4:  # squared |n| of a face relative to the diagonal to the fourth
        warnings.warn(
            "degenerate faces: the mesh has triangles without area. They add no mass, but derivatives at their corners "
            "may be useless; merge duplicate vertices or clean the mesh if you need them",
            SteelyardWarning,
            stacklevel=3,
        )


def _warn_of_size(diagonal):
    if diagonal > 10.0:  # m: a robot part larger than this is almost always a mesh in millimetres
        remedy = (
            f"the mesh spans {diagonal:.4g} m: is it in millimetres? Pass scale=0.001 when loading, or multiply "
            "its vertices by 0.001"
        )
    elif diagonal < 1e-4:  # m: and one smaller than this was scaled twice
        remedy = f"the mesh spans {diagonal:.3g} m: was it scaled twice? Lengths must be in metres"
    else:
        return
    warnings.warn(f"implausible size: {remedy}", SteelyardWarning, stacklevel=4)


def is_closed(faces, count):
    """Whether every edge is walked equally often in both directions, which is what the divergence theorem needs.

    With a random number `r` for each vertex, an edge `a -> b` is worth `r_a r_b (r_a - r_b)`: opposite walks cancel,
    everything else survives unless the dice conspire (chance below 1e-15). A face sums to `-(r_a - r_b)(r_b - r_c)(r_c
    - r_a)`, so no sorting is needed. faces: (f, 3), count: number of vertices.
    """
    r = np.random.default_rng(0).integers(0, 2**64, size=count, dtype=np.uint64)
    total = 0
    for start in range(0, len(faces), 1 << 15):
        a, b, c = (r[column] for column in faces[start : start + (1 << 15)].T)
        total += int(((a - b) * (b - c) * (c - a)).sum(dtype=np.uint64))
    return total % 2**64 == 0


def _describe_opening(faces):
    """Why `is_closed` failed: holes, or neighbouring faces that disagree on what is outside."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    edges = edges[edges[:, 0] != edges[:, 1]]
    forward = edges[:, 0] < edges[:, 1]
    _, edge, uses = np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True, return_counts=True)
    balance = np.bincount(edge.ravel(), weights=np.where(forward, 1.0, -1.0))
    holes = int(np.sum(uses % 2 == 1))
    if holes:
        return (
            f"the mesh is not watertight: {holes} of {len(uses)} edges belong to an odd number of faces. A volume "
            "needs a closed surface; merge vertices that coincide, fill the holes, or use the convex hull"
        )
    clashes = int(np.sum(balance != 0))
    return (
        f"the faces of the mesh are not consistently oriented: {clashes} of {len(uses)} edges are walked twice in "
        "the same direction. "
        "Make neighbouring faces agree (trimesh.repair.fix_normals), counter-clockwise seen from outside"
    )
