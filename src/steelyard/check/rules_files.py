"""SY6xx: files a model names."""

from collections.abc import Iterator

import numpy as np

from steelyard.check.part_geometry import geometry_of
from steelyard.check.rule import Hit, rule
from steelyard.check.shaped_inertials import is_placeholder
from steelyard.check.thresholds import THRESHOLDS
from steelyard.model.sketch import Part, Sketch


@rule("SY605", "mesh-scale", "warning")
def mesh_scale(sketch: Sketch) -> Iterator[Hit]:
    """The geometry of a link is a thousand times too large or too small.

    Why: Mesh formats carry no units; CAD programs write millimetres. Without scale="0.001 0.001 0.001" a hand is as
    large as a house, with a scale too many it is smaller than a grain, and rules on geometry mean nothing. Geometry of
    more than 20 m is named, and geometry that the radius of gyration of its link's mass contradicts.
    Example:
        <mesh filename="hand.stl"/>   for a file in millimetres
    Remedy: Correct the scale, or export in metres.
    """
    for index, part in enumerate(sketch.parts):
        geometry = geometry_of(sketch, index) if part.shapes and part.moves else None
        if geometry is None:
            continue
        extents = np.ptp(geometry.points, axis=0)
        size, ratio = " x ".join(f"{x:.3g}" for x in extents), _over_gyration(part, geometry.diagonal)
        message = f"{sketch.word} '{part.name}' has geometry of {size} m"
        if extents.max() > THRESHOLDS.largest or (ratio > THRESHOLDS.shrunk[1] and extents.max() > 1.0):
            remedy = 'Add scale="0.001 0.001 0.001", or export in metres.'
            yield Hit(part.shapes[0].place, f"{message}; a mesh in millimetres?", remedy)
        elif ratio < THRESHOLDS.shrunk[0]:
            message += f", and its mass a radius of gyration of {geometry.diagonal / ratio:.3g} m"
            told = f"{message}; scaled by 0.001 once too often?"
            yield Hit(part.shapes[0].place, told, "Correct the scale of the mesh, or the tensor.")


def _over_gyration(part: Part, diagonal: float) -> float:
    """Diagonal of a geometry, m, over the radius of gyration of its link's mass; 1 where this says nothing."""
    inertial = part.inertial
    if inertial is None or not inertial.usable or inertial.is_point or is_placeholder(inertial):
        return 1.0
    squared = float(np.trace(inertial.tensor)) / 2 / inertial.mass
    return diagonal / np.sqrt(squared) if 0 < squared < THRESHOLDS.far**2 else 1.0
