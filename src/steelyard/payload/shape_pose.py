"""A shape whose place in the sensor frame is not quite known: what a small motion of it changes.

The pose errors are three turns about the centre of the homogeneous shape and three shifts, independent and Gaussian. To
first order they change the parameters of the homogeneous body along six directions (paper D, 30-34).
"""

from dataclasses import replace

import numpy as np

from steelyard.inertia import from_vector, parameters
from steelyard.payload.solid_shape import Solid
from steelyard.spatial import skew


def pose_columns(solid: Solid) -> np.ndarray:
    """(10, 6) change of the homogeneous kilogram with one deviation of each shift and turn."""
    D, center = parameters.transform_derivative(solid.homogeneous), solid.homogeneous[1:4]
    turn, shift = solid.pose_std
    return np.concatenate([shift * D[:, :3], turn * (D[:, 3:] + D[:, :3] @ skew(center))], axis=1)


def place_deviation(solid: Solid) -> float:
    """Standard deviation of the place of a point at the shape's end, m."""
    turn, shift = solid.pose_std
    return float(np.hypot(shift, turn * np.linalg.norm(solid.sides) / 2))


def moved(solid: Solid, deviations) -> Solid:
    """The shape after shifts and turns (6,), in deviations."""
    points = moved_points(solid.points, solid, deviations)
    half = solid.spacing / 2
    R, shift = _motion(solid, deviations)
    center = solid.homogeneous[1:4]
    homogeneous = parameters.transform(solid.homogeneous, R, center + shift - R @ center)
    return replace(
        solid,
        points=points,
        lower=points.min(axis=0) - half,
        upper=points.max(axis=0) + half,
        homogeneous=homogeneous,
    )


def moved_points(points, solid: Solid, deviations) -> np.ndarray:
    """Points (n, 3) of the shape after shifts and turns (6,), in deviations."""
    R, shift = _motion(solid, deviations)
    center = solid.homogeneous[1:4]
    return (points - center) @ R.T + center + shift


def _motion(solid, deviations):
    """Rotation (3, 3) about the centre of the homogeneous shape, and shift (3,) in m."""
    turn, shift = solid.pose_std
    return from_vector(turn * np.asarray(deviations[3:])), shift * np.asarray(deviations[:3])
