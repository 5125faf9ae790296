"""Primitive shapes as points: boxes, cylinders, spheres, capsules and ellipsoids whose convex hull stands for them.

The points lie in rings around z, from the lowest up, and the poles follow them; so the faces are known.
"""

from functools import cache
from itertools import pairwise

import numpy as np

from steelyard.inertia import pseudo

AROUND = 24  # points on a circle
RINGS = {"cylinder": 2, "sphere": AROUND // 2 - 1, "capsule": AROUND // 2}
SIZES = {
    "box": ("x", "y", "z"),
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),
    "ellipsoid": ("x_radius", "y_radius", "z_radius"),
}
"""Kinds of solids and their sizes, m: whole side lengths of a box, the length of a capsule without its caps."""
# words of the primitives in URDF and SDF, and how many numbers each holds
XML_SIZES = {
    "box": {"size": 3},
    "sphere": {"radius": 1},
    "cylinder": {"radius": 1, "length": 1},
    "capsule": {"radius": 1, "length": 1},
    "ellipsoid": {"radii": 3},
    "cone": {"radius": 1, "length": 1},
}


def points(kind: str, size) -> np.ndarray:
    """Points (n, 3) m of a solid. size: the numbers of `SIZES[kind]` in order, m; of a "cone"
    its radius and length."""
    if kind == "box":
        return box(np.asarray(size) / 2)
    if kind in ("sphere", "ellipsoid"):
        return ellipsoid(np.broadcast_to(size, 3))
    if kind == "cone":  # its tip up
        ring = cylinder(float(size[0]), float(size[1]) / 2)
        return np.concatenate([ring[ring[:, 2] < 0], [[0.0, 0.0, size[1] / 2]]])
    return (cylinder if kind == "cylinder" else capsule)(float(size[0]), float(size[1]) / 2)


def filled(kind: str, size, density: float) -> np.ndarray:
    """Inertial parameters (10,) about its centre of a solid of uniform density, kg/m^3, exact. kind: of `SIZES`, or
    "cone": radius and length, its centre halfway to the tip, which is at the positive end. size: its sizes, m."""
    first, moments = 0.0, np.zeros(3)  # along z; of second order along the axes, over the mass
    if kind == "box":
        volume, moments = np.prod(size), np.square(size) / 12
    elif kind in ("sphere", "ellipsoid"):
        axes = np.broadcast_to(size, 3)
        volume, moments = 4 / 3 * np.pi * np.prod(axes), np.square(axes) / 5
    else:
        r, length = map(float, size)
        volume, moments = np.pi * r**2 * length, np.array([r**2 / 4, r**2 / 4, length**2 / 12])
        if kind == "cone":
            volume, first = volume / 3, -length / 4
            moments = np.array([3 / 20 * r**2, 3 / 20 * r**2, length**2 / 10])
        elif kind == "capsule":
            caps = 4 / 3 * np.pi * r**3
            of_caps = np.array([r**2 / 5, r**2 / 5, r**2 / 5 + 3 / 8 * r * length + length**2 / 4])
            moments = (volume * moments + caps * of_caps) / (volume + caps)
            volume += caps
    J = np.diag([*moments, 1.0])
    J[2, 3] = J[3, 2] = first
    return pseudo.to_parameters(density * volume * J)


@cache
def faces_of_urdf(kind: str) -> np.ndarray:
    """Triangles (f, 3) of the `points` of a URDF primitive, counterclockwise from outside; not to be written to."""
    if kind == "box":
        rings, poles = np.array([[0, 2, 6, 4], [1, 3, 7, 5]]), (0, 1)
    else:
        count = RINGS[kind] * AROUND
        rings = np.arange(count).reshape(-1, AROUND)
        poles = (0, count - 1) if kind == "cylinder" else (count, count + 1)  # an end without one is a fan of its ring
    rings = [np.full_like(rings[0], poles[0]), *rings, np.full_like(rings[0], poles[1])]
    found = []
    for low, high in pairwise(rings):
        lower, upper = np.column_stack([low, np.roll(low, -1)]), np.column_stack([high, np.roll(high, -1)])
        found += [np.column_stack([lower, upper[:, 1]]), np.column_stack([low, upper[:, ::-1]])]
    faces = np.concatenate(found)
    a, b, c = faces.T
    faces = faces[(a != b) & (b != c) & (c != a)]
    faces.flags.writeable = False
    return faces


def round_surface(semi_axes, latitudes: int, meridians: int) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) m, the poles repeated, and faces (f, 3), counterclockwise from outside, of an ellipsoid; the ends
    of its axes are among the corners. latitudes: odd, the poles included; meridians: a multiple of four."""
    lift, turn = np.meshgrid(np.linspace(-0.5, 0.5, latitudes) * np.pi, np.arange(meridians) * 2 * np.pi / meridians)
    unit = np.stack([np.cos(lift) * np.cos(turn), np.cos(lift) * np.sin(turn), np.sin(lift)], axis=-1)
    index = np.arange(unit[..., 0].size).reshape(meridians, latitudes)
    a, b = index[:, :-1].ravel(), np.roll(index, -1, axis=0)[:, :-1].ravel()
    faces = np.concatenate([np.column_stack([a, b, b + 1]), np.column_stack([a, b + 1, a + 1])])
    poles = (a % latitudes == 0), (a % latitudes == latitudes - 2)  # where one of the two triangles has no area
    return unit.reshape(-1, 3) * np.asarray(semi_axes, dtype=float), faces[~np.concatenate(poles)]


def box(half) -> np.ndarray:
    """Corners (8, 3) of a box. half: (3,) m half side lengths."""
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
    return signs * np.asarray(half, dtype=float)


def cylinder(radius: float, half_length: float) -> np.ndarray:
    """Points (2 AROUND, 3) on the rims of a cylinder along z; the polygon has the area of the circle."""
    angles = 2 * np.pi * np.arange(AROUND) / AROUND
    grown = radius * np.sqrt(2 * np.pi / (AROUND * np.sin(2 * np.pi / AROUND)))
    ring = grown * np.column_stack([np.cos(angles), np.sin(angles)])
    return np.concatenate([np.column_stack([ring, np.full(AROUND, z)]) for z in (-half_length, half_length)])


def ellipsoid(semi_axes) -> np.ndarray:
    """Points (n, 3) on an ellipsoid, scaled to have its volume to about one percent."""
    lift = np.pi * (np.arange(1, AROUND // 2) / (AROUND // 2) - 0.5)
    angles = 2 * np.pi * np.arange(AROUND) / AROUND
    rings = [
        np.column_stack([np.cos(t) * np.cos(angles), np.cos(t) * np.sin(angles), np.full(AROUND, np.sin(t))])
        for t in lift
    ]
    points = np.concatenate([*rings, [[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]]])
    return 1.012 * points * np.asarray(semi_axes, dtype=float)


def capsule(radius: float, half_length: float) -> np.ndarray:
    """Points (n, 3) of a cylinder along z with round caps. half_length: of the cylinder, without the caps."""
    rings, poles = np.split(ellipsoid(np.full(3, radius)), [-2])
    shift = np.array([0.0, 0.0, half_length])
    below, above = rings[rings[:, 2] <= 0] - shift, rings[rings[:, 2] >= 0] + shift
    return np.concatenate([below, above, poles + np.array([-shift, shift])])
