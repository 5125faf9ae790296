"""How far the true shape may be another than the one that was given: its place, its size, and where its sides are.

All errors are affine maps about the centre of the homogeneous shape, independent and Gaussian: three shifts and three
turns (`Solid.pose_std`), one scale (`scale_std`), and the place of each of the two sides along three axes (`side_std`).
A map `x -> T x` makes `T J T^T` of a pseudo-inertia J, so that errors of a homogeneous body are exact to first order,
whatever its form (paper A; of the pose paper D, 30-34).
"""

import numpy as np

from steelyard.inertia import pseudo
from steelyard.inertia.rotation import from_vector
from steelyard.payload.solid_shape import Solid
from steelyard.spatial import skew

ERRORS = 13  # three shifts, three turns, a scale, and three sides either way
THINNEST = 0.1  # of a length, to which sides may come together


def error_columns(solid: Solid) -> np.ndarray:
    """(10, 13) change of the homogeneous kilogram with one deviation of each error."""
    J, center = pseudo.to_matrix(solid.homogeneous), solid.homogeneous[1:4]
    columns = []
    for linear, shift in zip(*_generators(solid), strict=True):
        G = np.zeros((4, 4))
        G[:3, :3], G[:3, 3] = linear, shift - linear @ center
        columns.append(pseudo.to_parameters(G @ J + J @ G.T))
    return np.array(columns).T


def _generators(solid: Solid) -> tuple[np.ndarray, np.ndarray]:
    """Linear parts (13, 3, 3) about the centre, and shifts (13, 3), of one deviation of each error."""
    turn, place = solid.pose_std
    linear, shift = np.zeros((ERRORS, 3, 3)), np.zeros((ERRORS, 3))
    shift[:3] = place * np.eye(3)
    linear[3:6] = turn * skew(np.eye(3))
    linear[6] = solid.scale_std * np.eye(3)
    for k, (axis, side, length) in enumerate(zip(solid.axes.T, solid.side_std, solid.extents, strict=True)):
        linear[[7 + k, 10 + k]] = side / length * np.outer(axis, axis)
        shift[7 + k], shift[10 + k] = side / 2 * axis, -side / 2 * axis
    return linear, shift


def place_deviation(solid: Solid) -> float:
    """Standard deviation of the place of a point at the shape's end, m."""
    turn, shift = solid.pose_std
    reach = np.linalg.norm(solid.sides) / 2
    return float(np.hypot(np.hypot(shift, turn * reach), np.hypot(solid.scale_std * reach, solid.side_std.max())))


def moved(solid: Solid, deviations) -> Solid:
    """The shape after errors (13,), in deviations."""
    return solid.mapped(*_map(solid, deviations))


def moved_points(points, solid: Solid, deviations) -> np.ndarray:
    """Points (n, 3) of the shape after errors (13,), in deviations."""
    linear, shift = _map(solid, deviations)
    center = solid.homogeneous[1:4]
    return (points - center) @ linear.T + center + shift


def _map(solid: Solid, deviations) -> tuple[np.ndarray, np.ndarray]:
    """Linear part (3, 3) about the centre of the homogeneous shape, and shift (3,) in m."""
    z = np.asarray(deviations, dtype=float)
    turn, place = solid.pose_std
    outward, inward = solid.side_std * z[7:10], solid.side_std * z[10:]
    factors = np.exp(solid.scale_std * z[6]) * np.maximum(THINNEST, 1 + (outward + inward) / solid.extents)
    linear = from_vector(turn * z[3:6]) @ (solid.axes * factors) @ solid.axes.T
    return linear, place * z[:3] + solid.axes @ (outward - inward) / 2
