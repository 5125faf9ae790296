"""Triangles to look at, and the parts of a robot that have them: visual and collision geometry of its model file."""

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from steelyard.errors import ModelError
from steelyard.inertia.hull import hull_of
from steelyard.model import Robot
from steelyard.model.formats import document_of
from steelyard.model.meshes import Piece
from steelyard.numbers import SAME


@dataclass(frozen=True, eq=False)
class Surface:
    """vertices: (n, 3) m; faces: (f, 3), seen from outside counter-clockwise; colors: (f, 4) bytes, None for one colour
    that the part says.
    """

    vertices: np.ndarray
    faces: np.ndarray
    colors: np.ndarray | None = None

    @property
    def size(self) -> float:
        """Diagonal of the box around it, m."""
        return float(np.linalg.norm(np.ptp(self.vertices, axis=0)))


@dataclass(frozen=True, eq=False)
class ShapePart:
    """A shape on a link. rotation, position: its pose in the link's frame. role: "visual" or "collision". color: red,
    green, blue, opacity from 0 to 1, None where the model states none.
    """

    link: str
    shape: int
    rotation: np.ndarray
    position: np.ndarray
    role: str
    color: tuple[float, ...] | None = None


@dataclass(frozen=True, eq=False)
class Looks:
    """What a model file shows of a robot. shapes: each once; parts: where they are. gaps: what could not be read."""

    shapes: tuple[Surface, ...] = ()
    parts: tuple[ShapePart, ...] = ()
    gaps: tuple[str, ...] = ()


def hull_shape(points) -> Surface:
    """The convex hull of points (n, 3). Raises ModelError for points in a plane."""
    points = np.asarray(points, dtype=float)
    extent = np.ptp(points, axis=0)
    if not (np.isfinite(points).all() and extent.min() > SAME * extent.max()):
        raise ModelError("the shape has no volume")
    hull = hull_of(points)
    if hull is None:  # sizes of no body, such as 1e-320
        raise ModelError("the shape has no volume")
    return Surface(points, hull.faces)


STEPS = 32767  # of a coordinate from the middle of the box to its side: a robot's link to some micrometres


def packed_shape(shape: Surface) -> dict:
    """JSON-ready shape: `center + scale * positions` (int16), faces in groups of one colour, equal vertices joined."""
    lower, upper = shape.vertices.min(axis=0), shape.vertices.max(axis=0)
    center = 0.5 * (lower + upper)
    scale = float(max((upper - lower).max() / 2, 1e-9) / STEPS)
    positions, renamed = np.unique(
        np.rint((shape.vertices - center) / scale).astype(np.int16), axis=0, return_inverse=True
    )
    faces = renamed.reshape(-1)[shape.faces]
    a, b, c = faces.T
    whole = (a != b) & (b != c) & (c != a)
    faces = faces[whole]
    groups = [{"count": 3 * len(faces), "color": None}]
    if shape.colors is not None:
        colors, group = np.unique(shape.colors[whole], axis=0, return_inverse=True)
        group = group.reshape(-1)
        faces = faces[np.argsort(group, kind="stable")]
        groups = [
            {"count": 3 * int(n), "color": (color / 255).round(3).tolist()}
            for color, n in zip(colors, np.bincount(group, minlength=len(colors)), strict=True)
        ]
    return {
        "center": center.tolist(),
        "scale": scale,
        "positions": text(positions, "<i2"),
        "faces": text(faces, "<u2" if len(positions) < 2**16 else "<u4"),
        "wide": len(positions) >= 2**16,
        "groups": groups,
    }


def text(array, dtype: str) -> str:
    """Base64 of an array in a little-endian type."""
    return b64encode(np.ascontiguousarray(array, dtype=dtype).tobytes()).decode("ascii")


def looks(robot: Robot) -> Looks:
    """Geometry of the file a robot was read from; what cannot be read is named in `gaps` as long as the file is a
    model."""
    document = document_of(robot)
    if document is None:
        return Looks(gaps=("The robot was not read from a file: it has no meshes.",))
    shapes, parts, gaps = _ShapePool(), [], {}
    for piece in document.pieces():
        if piece.role or piece.problem:
            try:
                index = shapes.index_of(piece)
            except ModelError as error:
                gaps.setdefault(str(error).rstrip("."), []).append(piece.link)
                continue
            parts.append(ShapePart(piece.link, index, piece.rotation, piece.position, piece.role, piece.color))
    return Looks(tuple(shapes.found), tuple(parts), tuple(_gap_lines(gaps)))


@dataclass(eq=False)
class _ShapePool:
    """Shapes found so far, each once."""

    found: list[Surface] = field(default_factory=list)
    places: dict = field(default_factory=dict)

    def index_of(self, piece: Piece) -> int:
        """Index of the shape of a piece. Raises ModelError for one that cannot be read, or is vast."""
        if piece.problem or piece.key not in self.places:
            vertices, faces, colors = piece.colored_mesh()
            shape = hull_shape(vertices) if faces is None else Surface(vertices, faces, colors)
            if not np.isfinite(shape.size):
                raise ModelError("the shape is too large to be shown")
            self.places[piece.key] = len(self.found)
            self.found.append(shape)
        return self.places[piece.key]


def _gap_lines(gaps: dict[str, list[str]]) -> Iterator[str]:
    for problem, links in gaps.items():
        where = f"link '{links[0]}'" + (f" and {len(links) - 1} more" if len(links) > 1 else "")
        yield f"Not shown of {where}: {problem}."
