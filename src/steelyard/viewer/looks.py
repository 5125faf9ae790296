"""What the model file of a robot shows: visual and collision geometry with its colours."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from steelyard.errors import ModelError
from steelyard.model import Robot
from steelyard.model.formats import document_of
from steelyard.model.meshes import Piece
from steelyard.viewer.shape import Looks, Part, Surface, hull_shape


def looks(robot: Robot) -> Looks:
    """Geometry of the file a robot was read from. What cannot be read is named in `gaps`, and never an error, as long
    as the file still is a model.
    """
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
            parts.append(Part(piece.link, index, piece.rotation, piece.position, piece.role, piece.color))
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
