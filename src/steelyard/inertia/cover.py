"""A few ellipsoids whose union covers a shape: the bounding volume of B, Corollary 2, for shapes one ellipsoid fits
badly.

The shape is cut by planes, always the piece with the largest ellipsoid and always where the two new ellipsoids are
smallest in sum.

What the union contains. From a point cloud: every point, and the convex hull of every piece; nothing is promised
between pieces. From a closed mesh: **the whole solid**, inside included, convex or not. Triangles are clipped at the
cutting planes, and the part of a solid in a convex cell is bounded by clipped surface and by sections whose outlines
lie on that surface, so it lies in the convex hull of the clipped triangles, around which the ellipsoid is drawn. The
union also contains points outside the shape; more ellipsoids leave fewer.
"""

from itertools import product

import numpy as np

from steelyard.errors import InertiaError
from steelyard.inertia.ellipsoid import Ellipsoid
from steelyard.inertia.enclose import minimum_volume_ellipsoid

ANYWHERE = tuple(
    product(range(3), (0.3, 0.4, 0.5, 0.6, 0.7))
)  # (principal axis, where along it): finds heads and handles
HALVING = ((2, 0.5),)  # across the longest axis: follows rings and bends
PROBES = 1 << 12  # points that compare the volumes of unions
SUPPORTS = 120  # directions whose farthest points stand for a piece while cuts are compared


def cover(vertices, faces=None, *, count=4) -> tuple[Ellipsoid, ...]:
    """At most `count` ellipsoids that together contain a mesh's solid, or every point of a cloud.

    vertices: (n, 3) in m; faces: (f, 3) of a closed mesh, None for a cloud. Of the covers by 1, 2, ... `count`
    ellipsoids met on the way, the one whose union is smallest is returned, so a ball keeps a single one. Raises
    InertiaError: count below 1, flat or too few points.
    """
    if count < 1:
        raise InertiaError(f"a cover by {count} ellipsoids was asked for, expected at least 1")
    vertices = np.asarray(vertices, dtype=float)
    whole = vertices[:, None, :] if faces is None else vertices[np.asarray(faces)]
    stages = [stage for cuts in (ANYWHERE, HALVING) for stage in _partitions(whole, count, cuts)]
    covers = [tuple(minimum_volume_ellipsoid(piece.reshape(-1, 3)) for piece in stage) for stage in stages]
    return covers[int(np.argmin(_union_volumes(covers)))]


def _partitions(whole, count, cuts):
    """Partitions of a piece into 2, 3, ... at most `count` pieces, after the trivial one."""
    pieces, volumes = [whole], [_rough_ellipsoid(whole).volume]
    yield tuple(pieces)
    while len(pieces) < count and max(volumes) > 0:
        largest = int(np.argmax(volumes))
        halves = _best_cut(pieces[largest], cuts)
        if halves is None:
            volumes[largest] = 0.0  # too few points to cut: leave this piece alone
            continue
        pieces[largest : largest + 1] = [half for half, _ in halves]
        volumes[largest : largest + 1] = [volume for _, volume in halves]
        yield tuple(pieces)


def _best_cut(piece, cuts):
    """The two halves `(piece, rough volume)` with the smallest sum of volumes, or None if no cut leaves two solid
    halves.
    """
    corners = piece.reshape(-1, 3)
    best, best_sum = None, np.inf
    axes = _rough_ellipsoid(piece).semi_axes[1].T
    for axis, fraction in cuts:
        normal = axes[axis]
        heights = corners @ normal
        offset = (1 - fraction) * heights.min() + fraction * heights.max()
        halves = []
        for side in (-1.0, 1.0):
            half = _clip(piece, side * normal, side * offset)
            try:
                halves.append((half, _rough_ellipsoid(half).volume))
            except InertiaError:  # a half without volume has no ellipsoid
                break
        if len(halves) == 2 and halves[0][1] + halves[1][1] < best_sum:
            best, best_sum = halves, halves[0][1] + halves[1][1]
    return best


def _rough_ellipsoid(piece):
    """Enclosing ellipsoid of the farthest points of a piece in `SUPPORTS` directions: quick, a few per cent small."""
    corners = piece.reshape(-1, 3)
    if len(corners) > SUPPORTS:
        rank = np.arange(SUPPORTS) + 0.5
        height, turn = (
            1 - 2 * rank / SUPPORTS,
            np.pi * (1 + np.sqrt(5)) * rank,
        )  # a Fibonacci spiral covers the sphere evenly
        ring = np.sqrt(1 - height**2)
        directions = np.stack([ring * np.cos(turn), ring * np.sin(turn), height])
        scale = np.maximum(np.ptp(corners, axis=0), 1e-300)
        corners = corners[np.unique((corners / scale @ directions).argmax(axis=0))]
    return minimum_volume_ellipsoid(corners, tolerance=1e-2)


def _union_volumes(covers):
    """Volume of the union of each cover, relative to one box around all: the share of evenly spread probes inside."""
    from scipy.stats.qmc import Halton  # half a second to import

    reach = [
        (e.center - np.sqrt(np.diag(e.Q)), e.center + np.sqrt(np.diag(e.Q)))
        for ellipsoids in covers
        for e in ellipsoids
    ]
    lower, upper = np.min([low for low, _ in reach], axis=0), np.max([high for _, high in reach], axis=0)
    probes = lower + (upper - lower) * Halton(3, scramble=False).random(PROBES)
    return [np.any([e.contains(probes) for e in ellipsoids], axis=0).mean() for ellipsoids in covers]


def _clip(piece, normal, offset):
    """The part of points (n, 1, 3) or triangles (f, 3, 3) with `normal . x >= offset`; cut triangles are triangulated
    again.
    """
    height = piece @ normal - offset
    above = height >= 0
    kept = [piece[above.all(axis=1)]]
    if piece.shape[1] == 3:
        for corner in range(3):  # turn the odd corner to the front, then cut the two edges that leave it
            turn = np.roll(np.arange(3), -corner)
            odd, left, right = above[:, turn].T
            lone, pair = odd & ~left & ~right, ~odd & left & right
            a, b, c = (piece[:, k] for k in turn)
            ha, hb, hc = (height[:, k, None] for k in turn)
            with np.errstate(divide="ignore", invalid="ignore"):  # only rows whose corners lie on both sides are used
                ab, ac = a + (b - a) * ha / (ha - hb), a + (c - a) * ha / (ha - hc)
            kept += [np.stack([a, ab, ac], axis=1)[lone]]
            kept += [np.stack([ab, b, c], axis=1)[pair], np.stack([ab, c, ac], axis=1)[pair]]
    return np.concatenate(kept)
