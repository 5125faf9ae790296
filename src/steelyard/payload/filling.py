"""Points that fill the inside of a shape evenly: a closed mesh by parity along lines, a cloud through voxels, voxel
centres by their voxels."""

import numpy as np

from steelyard.errors import InertiaError
from steelyard.inertia.hull import hull_of
from steelyard.native import NUMBERS
from steelyard.payload.thresholds import LOOKED_AT

MOST_CELLS = 1 << 27  # of a lattice, and pairs of face and line
NEIGHBOURS = 7  # of a cloud's point, whose distance sets the size of voxels that leave no gaps on its surface
SPREAD = 0.98  # share of the points whose neighbours must be that near
FEWEST_VOXELS = 27  # of a lattice: fewer points are corners
ROUNDED = 0.15  # of a lattice's step, by which its points may be rounded
MOST_VOXELS = 1 << 23  # of the box around a lattice
ROOMY = 5  # voxels across, of which a solid body has some that others surround
SQUARE = 0.97  # sine of the angle between the edges of a voxel
LEAK = 1.02  # filled over occupied voxels below which the cloud encloses nothing
OFFSET = 1e-3  # of a lattice, in spacings
MOST = 60_000  # points of one solid
SURFACE_SAMPLES = 20_000


def fill_mesh(vertices, faces, spacing, target, rng):
    """Points (n, 3) of a lattice inside a closed mesh, and its spacing (3,), m. spacing: None for about `target`."""
    enclosed = volume(vertices, faces)
    extent = np.ptp(vertices, axis=0)
    if not abs(enclosed) > 1e-12 * np.linalg.norm(extent) ** 3:
        raise InertiaError(
            f"the shape encloses {enclosed:.3g} m^3, so it has no inside: give thin sheets a thickness, or pass points"
        )
    spacing = (abs(enclosed) / target) ** (1 / 3) if spacing is None else spacing
    spacing = max(spacing, (abs(enclosed) / MOST) ** (1 / 3))
    for _ in range(4):  # a coarse lattice may miss a thin shape
        points, steps = _lattice_inside(vertices, faces, spacing, rng)
        if len(points) >= 10:
            return points, steps
        spacing *= 0.6
    raise InertiaError("no point of the lattice fell inside the shape: it is too thin for this density of points")


def volume(vertices, faces) -> float:
    """Signed volume of a closed mesh, m^3."""
    a, b, c = (vertices[faces[:, k]] - vertices.mean(axis=0) for k in range(3))
    return float(np.einsum("fi,fi->", a, np.cross(b, c))) / 6


def _lattice_inside(vertices, faces, spacing, rng):
    """Lattice points (n, 3) with an odd number of crossings below them, and the spacing; a minute offset keeps lines
    off edges."""
    lower, upper = vertices.min(axis=0), vertices.max(axis=0)
    sides = np.maximum(1.0, np.ceil((upper - lower) / spacing - 0.5))
    if np.prod(sides) > MOST_CELLS:
        share = abs(volume(vertices, faces)) / np.prod(upper - lower)
        raise InertiaError(
            f"the shape fills {share:.1g} of its bounding box, too little for points that are spread evenly: turn it "
            "so that its sides are along the axes, ask for fewer points, or give thin sheets a thickness"
        )
    counts = sides.astype(int)
    steps = (upper - lower) / counts
    axes = [
        low + step * (np.arange(count) + 0.5 + rng.uniform(-OFFSET, OFFSET))
        for low, step, count in zip(lower, steps, counts, strict=True)
    ]
    # only whether a number of crossings is odd counts, which bytes that overflow still tell
    flips = np.zeros((counts[0] * counts[1], counts[2] + 1), dtype=np.int8)
    for line, height in _crossings(vertices[faces], axes[0], axes[1]):
        np.add.at(flips, (line, np.searchsorted(axes[2], height)), 1)
    line, level = np.nonzero(np.cumsum(flips, axis=1, dtype=np.int8)[:, :-1] & 1)
    return np.stack([axes[0][line // counts[1]], axes[1][line % counts[1]], axes[2][level]], axis=1), steps


def _crossings(corners, x, y):
    """Line and height where vertical lines of the grid x, y cross faces (f, 3, 3). Raises InertiaError for faces above
    each other a thousand times."""
    lower, upper = corners[:, :, :2].min(axis=1), corners[:, :, :2].max(axis=1)
    first = np.stack([np.searchsorted(grid, lower[:, k]) for k, grid in enumerate((x, y))], axis=1)
    spans = np.stack([np.searchsorted(grid, upper[:, k], "right") for k, grid in enumerate((x, y))], axis=1) - first
    ends = np.cumsum(spans.prod(axis=1))
    if ends[-1] > MOST_CELLS:
        raise InertiaError("the shape folds over itself too often to be filled: repair the mesh, or pass points")
    edges = np.searchsorted(ends, np.arange(NUMBERS, ends[-1], NUMBERS))
    for faces in np.split(np.arange(len(corners)), np.unique(edges)):
        pairs = spans[faces].prod(axis=1)
        face = np.repeat(faces, pairs)
        within = np.arange(len(face)) - np.repeat(np.cumsum(pairs) - pairs, pairs)
        across, along = np.divmod(within, np.maximum(spans[face, 1], 1))
        i, j = first[face, 0] + across, first[face, 1] + along
        hit, height = _crossing(corners[face], x[i], y[j])
        yield (i * len(y) + j)[hit], height


def _crossing(corners, x, y):
    """Which triangles (n, 3, 3) are crossed by the vertical line through x, y (n,) each, and the heights of those."""
    a, b, c = (corners[:, k] for k in range(3))
    ux, uy, vx, vy = b[:, 0] - a[:, 0], b[:, 1] - a[:, 1], c[:, 0] - a[:, 0], c[:, 1] - a[:, 1]
    area = ux * vy - uy * vx
    scale = 1 / np.where(area == 0, np.inf, area)
    px, py = x - a[:, 0], y - a[:, 1]
    s, t = (px * vy - py * vx) * scale, (ux * py - uy * px) * scale
    hit = (s >= 0) & (t >= 0) & (s + t < 1) & (area != 0)
    z, s, t = corners[hit, :, 2], s[hit], t[hit]
    return hit, z[:, 0] + s * (z[:, 1] - z[:, 0]) + t * (z[:, 2] - z[:, 0])


def fill_cloud(points, spacing, target, rng):
    """Points (n, 3) that fill the inside of a surface cloud, their spacing, and whether the cloud encloses nothing."""
    from scipy import ndimage
    from scipy.spatial import KDTree

    reach = KDTree(points).query(points, k=min(NEIGHBOURS, len(points)))[0][:, -1]
    extent = np.ptp(points, axis=0)
    pitch = max(float(np.quantile(reach, SPREAD)), float(extent.max()) / 200, 1e-6)
    lower = points.min(axis=0) - 2.5 * pitch
    shape = np.ceil(extent / pitch).astype(int) + 6
    occupied = np.zeros(shape, dtype=bool)
    occupied[tuple(((points - lower) / pitch).astype(int).T)] = True
    closed = ndimage.binary_closing(occupied, np.ones((3, 3, 3))) | occupied
    solid = np.asarray(ndimage.binary_fill_holes(closed)) | _enclosed(closed)
    centers = (np.argwhere(solid) + 0.5) * pitch + lower
    filled, inner = _divided(centers, pitch * np.eye(3), spacing, target)
    inside = ((filled >= points.min(axis=0)) & (filled <= points.max(axis=0))).all(axis=1)  # voxels overhang the box
    filled = filled[inside] if inside.sum() > 10 else filled
    filled, inner = _thinned(filled, inner, _wanted(len(centers) * pitch**3, spacing, target), rng)
    return filled, np.full(3, inner), bool(solid.sum() < LEAK * occupied.sum() and (extent > 6 * pitch).all())


def fill_voxels(centers, steps, spacing, target, rng):
    """Points (n, 3) that fill the voxels around centers, and their spacing (3,), m. steps: (3, 3) edges of a voxel."""
    filled, inner = _divided(centers, steps, spacing, target)
    volume = len(centers) * abs(np.linalg.det(steps))
    filled, inner = _thinned(filled, inner, _wanted(volume, spacing, target), rng)
    return filled, np.full(3, inner)


def _wanted(volume, spacing, target) -> float:
    """m between points, as asked for or for `target` of them."""
    return (volume / target) ** (1 / 3) if spacing is None else spacing


def _divided(centers, steps, spacing, target) -> tuple[np.ndarray, float]:
    """Points of voxels that are divided until they are as near as wanted, and how near that is, m."""
    wanted = _wanted(len(centers) * abs(np.linalg.det(steps)), spacing, target)
    most = max(1.0, (MOST / len(centers)) ** (1 / 3))
    splits = np.clip(np.ceil(np.linalg.norm(steps, axis=1) / wanted), 1, most).astype(int)
    axes = [(np.arange(split) - (split - 1) / 2) / split for split in splits]
    offsets = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3) @ steps
    return (centers[:, None] + offsets).reshape(-1, 3), float((abs(np.linalg.det(steps)) / splits.prod()) ** (1 / 3))


def _thinned(filled, inner, wanted, rng) -> tuple[np.ndarray, float]:
    if wanted <= 1.3 * inner:
        return filled, inner
    keep = max(10, round(len(filled) * (inner / wanted) ** 3))
    return rng.permutation(filled)[:keep], inner * (len(filled) / keep) ** (1 / 3)


def lattice_of(points) -> tuple[np.ndarray, bool] | None:
    """Edges (3, 3) of the voxels whose centres are points (n, 3), in any orientation, and whether they are walls alone.
    None where they are no lattice of right angles, enclose a hollow as surfaces do, or are too few to tell."""
    from scipy import ndimage
    from scipy.spatial import KDTree

    if len(points) < FEWEST_VOXELS:
        return None
    some = np.random.default_rng(0).permutation(points)[:LOOKED_AT]
    near = np.asarray(KDTree(points).query(some, k=FEWEST_VOXELS)[1])[:, 1:]
    steps = _steps((points[near] - some[:, None]).reshape(-1, 3))
    if steps is None:
        return None
    origin = points[0]
    for _ in range(3):  # a long row shows its step better than neighbours do
        index = np.round((some - origin) @ np.linalg.inv(steps))
        *fitted, origin = np.linalg.lstsq(np.column_stack([index, np.ones(len(some))]), some, rcond=None)[0]
        steps = np.where(np.ptp(index, axis=0)[:, None] > 0, fitted, steps)
        if abs(np.linalg.det(steps)) < SQUARE**3 * np.linalg.norm(steps, axis=1).prod():
            return None
    place = (points - origin) @ np.linalg.inv(steps)
    if not (np.abs(place - np.round(place)).max() <= ROUNDED and np.prod(np.ptp(place, axis=0) + 1) < MOST_VOXELS):
        return None
    index = np.round(place - place.min(axis=0)).astype(int)
    occupied = np.zeros(index.max(axis=0) + 1, dtype=bool)
    occupied[tuple(index.T)] = True
    if occupied.sum() < len(points):  # two in one place
        return None
    if np.asarray(ndimage.binary_fill_holes(occupied)).sum() > len(points):
        return None
    return steps, min(occupied.shape) >= ROOMY and not np.any(ndimage.binary_erosion(occupied))


def _steps(apart) -> np.ndarray | None:
    """(3, 3) shortest differences (k, 3) of neighbours at right angles to each other; a layer is as thick as its voxels
    are wide."""
    steps = np.zeros((0, 3))
    length = np.linalg.norm(apart, axis=1)
    for _ in range(3):
        across = np.linalg.norm(apart - apart @ np.linalg.pinv(steps) @ steps, axis=1) if len(steps) else length
        square = (length > 0) & (across > SQUARE * length)
        if not square.any():
            break
        first = apart[square][np.argmin(length[square])]
        size = np.linalg.norm(first)
        sign = np.sign(apart @ first)
        alike = np.linalg.norm(apart * sign[:, None] - first, axis=1) < 2 * ROUNDED * size
        steps = np.vstack([steps, np.mean((apart * sign[:, None])[alike], axis=0)])
    if not len(steps):
        return None
    size = np.linalg.norm(steps, axis=1).mean()
    return np.vstack([steps, size * np.linalg.svd(steps)[2][len(steps) :]])


def _enclosed(occupied):
    """Voxels with occupied ones on both sides along all three axes: the inside of a surface with holes."""
    inside = np.ones_like(occupied)
    for axis in range(3):
        before = np.maximum.accumulate(occupied, axis=axis)
        after = np.flip(np.maximum.accumulate(np.flip(occupied, axis), axis=axis), axis)
        inside &= before & after
    return inside


def surface_points(vertices, faces, rng):
    """(n, 3) points spread evenly over triangles, and the vertices they use."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    if not area.sum() > 0:
        raise InertiaError("the mesh has no area: its triangles are all degenerate. Export it again")
    face = np.searchsorted(np.cumsum(area) / area.sum(), rng.uniform(size=SURFACE_SAMPLES)).clip(max=len(faces) - 1)
    s, t = rng.uniform(size=(2, SURFACE_SAMPLES, 1))
    fold = s + t > 1
    s, t = np.where(fold, 1 - s, s), np.where(fold, 1 - t, t)
    on_faces = a[face] + s * (b[face] - a[face]) + t * (c[face] - a[face])
    return np.concatenate([on_faces, vertices[np.unique(faces)]])


def hull(points):
    """Vertices and outward faces of the convex hull of points (n, 3); flat sets are given a thickness of 2 %."""
    found = hull_of(points)
    if found is None:
        thickness = 0.01 * float(np.ptp(points, axis=0).max())
        if not thickness > 0:
            raise InertiaError("all points of the shape coincide; give at least the corners of its bounding box")
        _, _, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=True)
        points = np.concatenate([points + sign * thickness * axis for axis in axes[1:] for sign in (-1, 1)])
        found = hull_of(points)
        assert found is not None  # of a set as thick as that
    return points, found.faces


def sphere(rings: int = 24):
    """Vertices and faces of a unit sphere."""
    polar, azimuth = np.linspace(0, np.pi, rings + 1)[1:-1], np.linspace(0, 2 * np.pi, 2 * rings, endpoint=False)
    p, a = (grid.ravel() for grid in np.meshgrid(polar, azimuth, indexing="ij"))
    points = np.stack([np.sin(p) * np.cos(a), np.sin(p) * np.sin(a), np.cos(p)], axis=1)
    return hull(np.concatenate([points, [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]]))
