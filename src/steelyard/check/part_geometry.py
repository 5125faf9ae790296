"""The geometry of a rigid body, as far as a model gives it: hull, enclosing ellipsoid, and the solid it would be."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.check.thresholds import THRESHOLDS
from steelyard.errors import InertiaError
from steelyard.inertia import Ellipsoid, mesh, minimum_volume_ellipsoid
from steelyard.inertia.hull import Hull, convex_surface, hull_of
from steelyard.model.bounding import LOOSE
from steelyard.model.sketch import Shape, Sketch


@dataclass(frozen=True, eq=False)
class Outline:
    """spanning: indices of the vertices of a shape that span its convex hull, all of them where it has no volume.
    convex: whether the shape's own faces are the boundary of that hull."""

    spanning: np.ndarray
    convex: bool


@dataclass(frozen=True, eq=False)
class PartGeometry:
    """Geometry of a part and of what is rigidly fixed to it, in the frame of the part."""

    own: tuple[Shape, ...]  # shapes of the part
    all: tuple[Shape, ...]  # shapes of the rigid body, or of the part again
    outline: Callable[[Shape], Outline]  # of a shape

    @cached_property
    def points(self) -> np.ndarray:
        """(n, 3) points in m that span the body."""
        return np.concatenate([shape.vertices[self.outline(shape).spanning] for shape in self.all])

    @cached_property
    def hull(self) -> Hull | None:
        """Convex hull, None where the geometry spans no volume."""
        convex = (shape for shape in self.all if self.outline(shape).convex)
        surfaces = (convex_surface(shape.vertices, shape.faces, self.points) for shape in convex)
        hull = next((each for each in surfaces if each is not None), None) or hull_of(self.points)
        return None if hull is None or self.thickness < THRESHOLDS.thin else hull

    @cached_property
    def thickness(self) -> float:
        """Smallest extent along a principal axis of the points, m."""
        centred = self.points - self.points.mean(axis=0)
        axes = np.linalg.svd(centred, full_matrices=False)[2]
        return float(np.ptp(centred @ axes.T, axis=0).min())

    @cached_property
    def diagonal(self) -> float:
        """Diagonal of the bounding box, m."""
        return float(np.linalg.norm(np.ptp(self.points, axis=0)))

    def outside(self, point) -> float:
        """How far a point (3,) lies outside the hull, m; negative inside. Never more than the true distance."""
        assert self.hull is not None
        equations = self.hull.equations
        return float((equations[:, :3] @ point + equations[:, 3]).max())

    def ellipsoid(self, growth: float) -> Ellipsoid | None:
        """Smallest ellipsoid around the hull with its axes times `growth`; None where there is none."""
        tight = self._tight
        return None if tight is None else Ellipsoid(tight.center, tight.Q * growth**2)

    @cached_property
    def _tight(self) -> Ellipsoid | None:
        if self.hull is None:
            return None
        try:
            return minimum_volume_ellipsoid(self.hull.points[self.hull.vertices], tolerance=LOOSE)
        except InertiaError:
            return None

    @cached_property
    def solid(self) -> np.ndarray | None:
        """(10,) parameters of the geometry filled with water, visual shapes preferred; None where it has no volume."""
        for shapes in (self.own, self.all):
            for role in ("visual", "collision"):
                thetas = [_solid(shape, self.outline(shape)) for shape in shapes if shape.role == role]
                total = sum((theta for theta in thetas if theta is not None), np.zeros(10))
                if total[0] > 0:
                    return total
        return None


def geometry_of(sketch: Sketch, index: int) -> PartGeometry | None:
    """Geometry around a part, None where it has none or where some of it is unknown."""
    known = sketch.memo.setdefault("geometry", {})
    if index not in known:
        known[index] = _geometry(sketch, index)
    return known[index]


def _geometry(sketch: Sketch, index: int) -> PartGeometry | None:
    members = sketch.clusters[sketch.carrier[index]]
    R0, p0 = sketch.placed[index]
    if any(sketch.parts[member].partial for member in members):
        return None  # half a body would make every judgement wrong
    moved = []
    for member in members:
        R, p = sketch.placed[member]
        R, p = R0.T @ R, R0.T @ (p - p0)
        moved += [replace(shape, vertices=shape.vertices @ R.T + p) for shape in sketch.parts[member].shapes]
    if not moved:
        return None
    outlines: dict[tuple[str, int], Outline] = sketch.memo.setdefault("outlines", {})

    def outline(shape: Shape) -> Outline:
        """The same for all shapes of a source: scales and poses are affine, and leave a hull's vertices as they are."""
        key = shape.source, len(shape.vertices)
        if key not in outlines:
            outlines[key] = _outline(shape)
        return outlines[key]

    return PartGeometry(sketch.parts[index].shapes, tuple(moved), outline)


def _outline(shape: Shape) -> Outline:
    surface = convex_surface(shape.vertices, shape.faces, shape.vertices)
    hull = surface or hull_of(shape.vertices)
    spanning = np.arange(len(shape.vertices)) if hull is None else hull.vertices
    return Outline(spanning, surface is not None)


def _solid(shape: Shape, outline: Outline) -> np.ndarray | None:
    """Parameters (10,) of one shape filled with water: of the mesh where it is closed, else of its hull."""
    closed = shape.faces is not None and (outline.convex or mesh.is_closed(shape.faces, len(shape.vertices)))
    if closed:
        theta = mesh.parameters(shape.vertices, shape.faces, density=THRESHOLDS.water, check=False)
        if theta[0] > 0:
            return theta
    hull = hull_of(shape.vertices[outline.spanning])
    if hull is None or hull.volume <= 0:
        return None
    return mesh.parameters(hull.points, hull.faces, density=THRESHOLDS.water, check=False)
