"""Where a body of known shape sits on the sensor: the pose that gives a homogeneous shape the payload that was found.

The centre of mass says where its centroid is, the principal axes of inertia how it is turned. An axis is known up to
its sign, so a body has four poses, half turns about its principal axes apart; where two moments are alike, any turn
about the third axis is as good.
"""

from dataclasses import dataclass

import numpy as np

from steelyard.cards import Card
from steelyard.errors import InertiaError
from steelyard.inertia import parameters
from steelyard.numbers import SURE
from steelyard.payload.payload_estimate import Payload, principal
from steelyard.payload.solid_shape import ALIKE, solid_of
from steelyard.spatial import rotation_from_vector, rotation_vector

TURNS = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])  # halves, and none
KNOWN = 0.2  # rad, standard deviation up to which a turn about an axis counts as known


@dataclass(frozen=True, eq=False, repr=False)
class Placement(Card):
    """Pose of a shape's own frame in the sensor frame.

    rotation: (3, 3) and position: (3,) in m, of the pose that is nearest to what was expected.
    others: pairs of the same, all other poses that the payload has as well.
    axes: (3, 3) principal axes of the shape in its own frame, columns, of rising moment.
    turn_deviation: (3,) standard deviations of a turn about each of them, rad; inf where it cannot be known.
    position_deviation: (3,) standard deviations of the centroid in the sensor frame, m.
    ambiguous: what is not known of the pose, in words.
    notes: what does not fit.
    """

    rotation: np.ndarray
    position: np.ndarray
    others: tuple[tuple[np.ndarray, np.ndarray], ...]
    axes: np.ndarray
    turn_deviation: np.ndarray
    position_deviation: np.ndarray
    ambiguous: str
    notes: tuple[str, ...] = ()

    @property
    def pose(self) -> tuple[np.ndarray, np.ndarray]:
        """(R, p), as `solid_of(shape, pose=...)` takes it."""
        return self.rotation, self.position


def locate(payload: Payload, shape, *, near=None, scale: float = 1.0) -> Placement:
    """The pose on the sensor of a body of even density, from its payload and its shape.

    Args:
        payload: identified without the shape, from a motion that shows the inertia.
        shape: what `solid_of` takes, in a frame of its own in metres.
        near: rotation (3, 3) of the shape in the sensor frame that is expected, by default none; it chooses among the
            poses that the payload cannot tell apart.
        scale: metres per unit of the shape's file.

    Returns:
        The Placement; `ambiguous` says what the payload cannot know.

    Raises:
        InertiaError: a payload that no real body has, or an expected rotation that is none.

    Source: principal axes, paper A.
    """
    if not payload.consistent:
        raise InertiaError(
            f"a payload with status {payload.status.name} has no principal axes of a real body: identify with geo"
        )
    expected = np.eye(3) if near is None else np.asarray(near, dtype=float)
    if expected.shape != (3, 3) or np.abs(expected @ expected.T - np.eye(3)).max() > 1e-6:
        raise InertiaError(f"near is a rotation matrix (3, 3) of the shape in the sensor frame; got {near!r}")
    _, center, about = parameters.to_com_inertia(solid_of(shape, scale=scale).homogeneous)
    moments, axes = principal(payload.mass * about)
    found, directions = principal(payload.inertia)
    spread = payload.inertia_deviation_in(directions)
    turn = np.array([_turn_deviation(found, moments, spread, axis) for axis in range(3)])
    free = turn > KNOWN
    rotations = [directions @ np.diag(half) @ axes.T for half in TURNS]
    if free.any():  # turns that do not show are those of the expected pose
        rotations = [_turned_to(R, axes, free, expected) for R in rotations]
    rotations.sort(key=lambda R: -float(np.trace(expected.T @ R)))
    best, *rest = [(R, payload.com - R @ center) for R in _distinct(rotations)]
    return Placement(
        rotation=best[0],
        position=best[1],
        others=tuple(rest),
        axes=axes,
        turn_deviation=turn,
        position_deviation=payload.com_deviation,
        ambiguous=_words(free, len(rest)),
        notes=_misfit(found, moments, np.diag(spread)),
    )


def _turn_deviation(found, moments, spread, axis) -> float:
    """rad: a turn about an axis shows in the product of inertia of the other two, as far as their moments differ."""
    i, j = (k for k in range(3) if k != axis)
    apart = min(abs(found[i] - found[j]), abs(moments[i] - moments[j]))
    if apart <= ALIKE * moments[-1] or apart <= 2 * np.hypot(spread[i, i], spread[j, j]):
        return np.inf
    return float(spread[i, j] / apart)


def _turned_to(R, axes, free, expected):
    """R turned to the expected rotation by turns about the axes of the shape that are free."""
    if free.sum() > 1:
        return expected
    axis = axes[:, int(np.argmax(free))]
    change = R.T @ expected
    turned = np.array([change[2, 1] - change[1, 2], change[0, 2] - change[2, 0], change[1, 0] - change[0, 1]])
    angle = np.arctan2(axis @ turned, np.trace(change) - axis @ change @ axis)
    return R @ rotation_from_vector(angle * axis)


def _distinct(rotations):
    kept: list[np.ndarray] = []
    for R in rotations:
        if all(np.linalg.norm(rotation_vector(R.T @ other)) > 1e-6 for other in kept):
            kept.append(R)
    return kept


def _words(free, others) -> str:
    if free.all():
        return "no axis of inertia shows: only the centroid is located, the rotation is the expected one"
    if free.sum() == 2:
        return "turns about two axes do not show: only the centroid is located, the rotation is the expected one"
    turns = (
        f"; a turn about axis {int(np.argmax(free))} does not show, as the other moments are alike"
        if free.any()
        else ""
    )
    return f"{others + 1} poses have this payload, half turns about the principal axes apart{turns}"


def _misfit(found, moments, spread) -> tuple[str, ...]:
    off = np.abs(found - moments)
    if (off <= SURE * spread + ALIKE * moments[-1]).all():
        return ()
    return (
        f"principal moments {np.array2string(found, precision=3)} kg m^2 are not those of the homogeneous shape, "
        f"{np.array2string(moments, precision=3)}: its density is uneven, or the shape or its scale is another",
    )
