"""Mass properties of a closed triangle mesh of uniform density, and their derivatives (paper D, section 4; `theory.md`
5).

A closed mesh is a sum of signed tetrahedra, one a face with its apex at a common point. With `s = v1 + v2 + v3` and
`det = det[v1 v2 v3]` measured from that point, the moments of the density are

    m = mu/6 sum det,   h = mu/24 sum det s,   Sigma = mu/120 sum det (v1 v1^T + v2 v2^T + v3 v3^T + s s^T)

which equals (17)-(26) on every closed mesh. The apex is the centre of the bounding box, so a mesh far from its origin
keeps its digits. Moving a vertex moves its faces, so the derivatives are surface moments (Hadamard's form of the shape
derivative), with `n` the normal of (15) and `P = v1 v1^T + v2 v2^T + v3 v3^T`:

    dm/dv = mu/6 sum n,   dh_a/dv = mu/24 sum n (v + s)_a,
    dSigma_ab/dv = mu/120 sum n (2 v v^T + v s^T + s v^T + P + s s^T)_ab

over the faces around `v`; again equal to (16)-(28) on a closed mesh, vertex by vertex, with the same 27 numbers for all
three corners.
"""

import warnings
from hashlib import shake_128

import numpy as np

from steelyard.errors import InertiaError
from steelyard.inertia import pseudo
from steelyard.inertia.mesh_files import load
from steelyard.inertia.parameters import TENSOR, WATER, transform
from steelyard.numbers import ROUNDING

__all__ = ["load", "parameters", "vertex_derivatives"]

CHUNK = 1 << 14  # faces at a time: the working set stays in the second-level cache


def parameters(vertices, faces, *, density=WATER, check=True):
    """Inertial parameters of the solid enclosed by a triangle mesh (paper D, section 4).

    Args:
        vertices: (n, 3) m.
        faces: (f, 3) vertex indices, counter-clockwise seen from outside.
        density: kg/m^3.
        check: whether to refuse meshes that enclose no solid and to warn of implausible ones
            (`require_solid`); False only in an inner loop whose topology was checked before.

    Returns:
        (10,) theta about the mesh origin, in mesh axes.

    Raises:
        InertiaError: a mesh that is not closed, inward, flat or empty, numbers that are not finite, a density that is
            not positive. Warns with `SteelyardWarning`.

    Example:
        >>> import numpy as np
        >>> import steelyard as sy
        >>> vertices = 0.1 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
        >>> faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
        >>> theta = sy.inertia.mesh.parameters(vertices, faces, density=6000.0)
        >>> theta[:4].round(6)  # 1 kg, centre at a quarter of the edges
        array([1.   , 0.025, 0.025, 0.025])
    """
    vertices, faces = as_mesh(vertices, faces)
    density = require_density(density)
    columns, center = _about_center(vertices)
    J, thinnest = _moments(columns, faces)
    if check:
        require_solid(columns, faces, volume=J[3, 3], thinnest_face=thinnest)
    return transform(density * pseudo.to_parameters(J), np.eye(3), center)


def vertex_derivatives(vertices, faces, *, density=WATER, check=True):
    """Derivatives of `parameters` with respect to every vertex.

    Arguments and errors as for `parameters`. Returns (10, n, 3): entry `[i, k]` is the gradient of `theta[i]` with
    respect to vertex k, in units of theta per metre. Vertices that no face uses have zero derivatives.
    """
    vertices, faces = as_mesh(vertices, faces)
    density = require_density(density)
    columns, center = _about_center(vertices)
    if check:
        J, thinnest = _moments(columns, faces)
        require_solid(columns, faces, volume=J[3, 3], thinnest_face=thinnest)
    about_center = _moment_derivatives(columns, faces)
    to_theta = transform(pseudo.to_parameters(_MOMENT_BASIS), np.eye(3), center).T
    n = len(vertices)
    return ((density * to_theta) @ about_center.reshape(10, 3 * n)).reshape(10, n, 3)


def _about_center(vertices):
    """Vertices about the centre of their bounding box, as contiguous rows x, y, z (3, n), and that centre (3,)."""
    columns = np.ascontiguousarray(vertices.T)
    center = 0.5 * (columns.min(axis=1) + columns.max(axis=1))
    return columns - center[:, None], center


def _corners(columns, faces, start):
    """Corner coordinates of a chunk of faces: three arrays (3, c). columns: (3, n)."""
    chunk = np.ascontiguousarray(faces[start : start + CHUNK].T)
    return [columns.take(corner, axis=1, mode="clip") for corner in chunk]  # the range was checked


def _cross(a, b):
    """Cross product of (3, c) arrays; `numpy.cross` copies far more."""
    return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def _moments(columns, faces):
    """Pseudo-inertia at unit density (4, 4), and the smallest squared `|n|` of all faces (for the degeneracy check)."""
    second, first, volume, thinnest = np.zeros((3, 3)), np.zeros(3), 0.0, np.inf
    for start in range(0, len(faces), CHUNK):
        a, b, c = _corners(columns, faces, start)
        normal = _cross(b - a, c - a)
        det = (a * normal).sum(axis=0)
        s = a + b + c
        weighted = s * det
        volume += det.sum()
        first += weighted.sum(axis=1)
        second += weighted @ s.T
        for corner in (a, b, c):
            second += (corner * det) @ corner.T
        thinnest = min(thinnest, (normal * normal).sum(axis=0).min())
    J = np.empty((4, 4))
    J[:3, :3], J[:3, 3], J[3, :3], J[3, 3] = second / 120, first / 24, first / 24, volume / 6
    return J, thinnest


# The ten unit pseudo-inertias (10, 4, 4) in the order volume, first moments, `TENSOR` of second moments.
_MOMENT_BASIS = np.zeros((10, 4, 4))
for _k, (_i, _j) in enumerate([(3, 3), (0, 3), (1, 3), (2, 3), *TENSOR]):
    _MOMENT_BASIS[_k, _i, _j] = _MOMENT_BASIS[_k, _j, _i] = 1.0


def _moment_derivatives(columns, faces):
    """Derivatives (10, n, 3) of the moments `_MOMENT_BASIS` at unit density. columns: (3, n) about the apex."""
    from scipy.sparse import csc_array

    n = columns.shape[1]
    around = csc_array(
        (np.ones(3 * len(faces)), faces.ravel(), np.arange(0, 3 * len(faces) + 1, 3)), shape=(n, len(faces))
    )
    normal, face_moments = _face_moments(columns, faces)
    out = np.empty((10, n, 3))
    for axis in range(3):
        sums = around @ (normal[:, axis : axis + 1] * face_moments)  # (n, 10): sum over the faces around each vertex
        area, weighted, quadratic = sums[:, 0], sums[:, 1:4].T, sums[:, 4:].T
        out[0, :, axis] = area / 6
        out[1:4, :, axis] = (columns * area + weighted) / 24
        for k, (i, j) in enumerate(TENSOR):
            own = 2 * columns[i] * columns[j] * area + columns[i] * weighted[j] + columns[j] * weighted[i]
            out[4 + k, :, axis] = (own + quadratic[k]) / 120
    return out


def _face_moments(columns, faces):
    """Normals (f, 3) and `[1, s, (P + s s^T)_ij]` (f, 10) of every face."""
    normals, moments = np.empty((len(faces), 3)), np.empty((len(faces), 10))
    for start in range(0, len(faces), CHUNK):
        a, b, c = _corners(columns, faces, start)
        rows = slice(start, start + CHUNK)
        normals[rows] = _cross(b - a, c - a).T
        s = a + b + c
        moments[rows, 0] = 1.0
        moments[rows, 1:4] = s.T
        for k, (i, j) in enumerate(TENSOR):
            moments[rows, 4 + k] = a[i] * a[j] + b[i] * b[j] + c[i] * c[j] + s[i] * s[j]
    return normals, moments


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
    """Refuse a mesh that encloses no solid; warn of an implausible size (volume, m^3) and of faces without area."""
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
    r = np.frombuffer(shake_128().digest(8 * count), dtype=np.uint64)  # `numpy.random` takes longer to load
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
