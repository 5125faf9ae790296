"""Shapes and samples as short text: quantised typed arrays in base64, little-endian as browsers read them."""

from base64 import b64encode

import numpy as np

from steelyard.viewer.shape import Shape

STEPS = 32767  # of a coordinate from the middle of the box to its side: a robot's link to some micrometres


def packed_shape(shape: Shape) -> dict:
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
