"""Axes that are parallel, perpendicular, crossing or on one line but for the rounding of a file, made exactly so.

A file that writes pi as 3.1416 bends its axes by 1e-5 rad. To the letter such a robot reveals more than the one that
was meant, through motions of 1e-5, and products of them, that no experiment could see. Only the relations of an axis
to the ones that it can meet matter: of its parent's joint, of joints before that which only translate, of gravity at
the root, and of its siblings, with which a mimic joint or a rotor may couple it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.identifiable.mechanism import GROUND, Node
from steelyard.identifiable.thresholds import THRESHOLDS
from steelyard.spatial import skew


@dataclass(frozen=True, eq=False)
class Axis:
    """A unit direction (3,), and a point (3,) that the axis passes through; None for directions only."""

    direction: np.ndarray
    point: np.ndarray | None


def rounded(nodes: Sequence[Node], gravity, tolerance: float) -> tuple[list[Node], float]:
    """Nodes with such relations made exact, and the largest angle or offset that was changed.

    gravity (6,): its direction in the world, or zeros. tolerance: largest angle [rad] or offset that is changed.
    """
    ground = [Axis(gravity[:3], None)] if gravity.any() else []
    met, siblings, done, largest = [], {}, [], 0.0
    for node in nodes:
        above = (ground if node.parent == GROUND else met[node.parent]) + siblings.setdefault(node.parent, [])
        own = own_axis(node)
        if own is not None:
            R, p, change = _placed(node, own, above, tolerance)
            if change > THRESHOLDS.unchanged_axis:
                largest = max(largest, change)
                node = replace(node, rotation=R, position=p)
            siblings[node.parent].append(_in_parent(node, own))
        done.append(node)
        met.append(([] if own is None else [own]) + _inherited(node, own, above))
    return done, largest


def own_axis(node: Node) -> Axis | None:
    """The one axis of a joint, in its node's frame; that of the rotation for planar joints; None for other joints."""
    v, w = node.subspace[:3], node.subspace[3:]
    turning = np.flatnonzero(w.any(axis=0))
    if len(turning) == 1:
        speed = np.linalg.norm(w[:, turning[0]])
        direction = w[:, turning[0]] / speed
        return Axis(direction, np.cross(direction, v[:, turning[0]] / speed))
    if len(turning) == 0 and v.shape[1] == 1:
        return Axis(v[:, 0] / np.linalg.norm(v[:, 0]), None)
    return None


def aligned(direction, others: Sequence[Axis], tolerance: float) -> np.ndarray:
    """A unit direction, made exactly parallel to the nearest of the others, or perpendicular to those it nearly is."""
    if not others:
        return direction
    D = np.stack([other.direction for other in others])
    apart = np.linalg.norm(np.cross(D, direction), axis=1)
    nearest = int(np.argmin(apart))
    if apart[nearest] < tolerance:
        return np.sign(D[nearest] @ direction) * D[nearest]
    across = D[np.abs(D @ direction) < tolerance]
    if not len(across):
        return direction
    _, singular, Vt = np.linalg.svd(across)
    span = Vt[: int(np.count_nonzero(singular > 10 * tolerance))]
    direction = direction - span.T @ (span @ direction)
    return direction / np.linalg.norm(direction)


def _placed(node: Node, own: Axis, above: Sequence[Axis], tolerance: float):
    """Rotation and position of a node, and the largest change."""
    before = node.rotation @ own.direction
    after = aligned(before, above, tolerance)
    W = skew(np.cross(before, after))
    R = (np.eye(3) + W + W @ W / (1 + before @ after)) @ node.rotation
    p, change = node.position, float(np.linalg.norm(after - before))
    if own.point is not None:
        for other in above:
            if other.point is not None:
                offset = _offset(after, p + R @ own.point - other.point, other.direction)
                if np.linalg.norm(offset) < tolerance:
                    p, change = p - offset, max(change, float(np.linalg.norm(offset)))
    return R, p, change


def _offset(direction, between, other) -> np.ndarray:
    """Shortest way (3,) from another line to this one. between: from any point of the other to any of this."""
    normal = np.cross(direction, other)
    size = np.linalg.norm(normal)
    if size < 1e-12:
        return between - other * (other @ between)
    return normal / size * (normal / size @ between)


def _in_parent(node: Node, axis: Axis) -> Axis:
    point = None if axis.point is None else node.position + node.rotation @ axis.point
    return Axis(node.rotation @ axis.direction, point)


def _inherited(node: Node, own: Axis | None, above: Sequence[Axis]) -> list[Axis]:
    """Axes met further down: those before a joint that does not turn; their place only where it keeps it."""
    if node.subspace[3:].any():
        return []
    kept = []
    for axis in above:
        stays = own is None or np.linalg.norm(np.cross(node.rotation @ own.direction, axis.direction)) < 1e-12
        point = node.rotation.T @ (axis.point - node.position) if axis.point is not None and stays else None
        kept.append(Axis(node.rotation.T @ axis.direction, point))
    return kept
