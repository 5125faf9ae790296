"""What unknown forces of contacts keep from sight: robots whose feet stand still while they move.

Rows at random states whose contacts stand still, in any place (velocities in the null space of the Jacobian,
accelerations that keep them there), less what contact forces explain. Their rank says what shows. What does not can be
told: where a link is held at a point in every sample, a mass there is neither moved nor felt. Such changes are verified
on the rows; what they do not account for is counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import cast

import numpy as np

from steelyard.dynamics import bias_acceleration, contact_jacobian, orthonormal
from steelyard.dynamics.contact_forces import require_contact_kinds
from steelyard.errors import OptionError
from steelyard.identifiable.numeric_rank import EXTRA_STATES, layout_rows, robot_states
from steelyard.identifiable.thresholds import THRESHOLDS
from steelyard.inertia import transform
from steelyard.model import Robot
from steelyard.model.robot import WORLD
from steelyard.numbers import SAME, SEED
from steelyard.terms import ParameterLayout

CONTACTS_METHOD = "numeric, in contact"
FLYING = (
    "Nothing holds the base in flight: the scale of all masses shows through torques of joints alone. Give the total "
    "mass."
)

Frames = Sequence[str] | Mapping[str, str]
Contacts = Frames | Sequence[Frames]


@dataclass(frozen=True)
class Stances:
    """Sets of frames that stand still together, each in some samples; kinds: of contact, by frame."""

    sets: tuple[tuple[str, ...], ...]
    kinds: Mapping[str, str]

    @property
    def always(self) -> tuple[str, ...]:
        """Frames that stand still in all samples."""
        return tuple(frame for frame in self.sets[0] if all(frame in each for each in self.sets))


@dataclass(frozen=True)
class Hidden:
    """What contacts hide. combinations: how many that known forces would show; sentences: what they are, by body;
    untold: how many of them no sentence accounts for; flying: whether nothing ever touches."""

    combinations: int
    sentences: tuple[tuple[str, str], ...]
    untold: int
    flying: bool

    def __str__(self) -> str:
        return "\n".join(self.lines)

    @property
    def lines(self) -> tuple[str, ...]:
        """What does not show, and what would reveal it."""
        told = tuple(f"Does not show: {sentence}." for _, sentence in self.sentences)
        more = (f"{self.untold} more combinations do not show in these stances.",) if self.untold else ()
        return (*told, *more, *([FLYING] if self.flying else []))

    def of_link(self, link: str) -> list[str]:
        """Lines about one body."""
        return [f"Does not show: {sentence}." for body, sentence in self.sentences if body == link]


def stances_of(robot: Robot, contacts: Contacts | Stances) -> Stances:
    """Contacts in one form. Raises ModelError for unknown frames, OptionError for unknown kinds."""
    if isinstance(contacts, Stances):
        return contacts
    sets: list[dict[str, str]] = []
    if isinstance(contacts, str | Mapping) or all(isinstance(each, str) for each in contacts):
        contacts = (cast(Frames, contacts),)
    for each in cast(Sequence[Frames], contacts):
        names = (each,) if isinstance(each, str) else each
        sets.append(dict(each) if isinstance(each, Mapping) else dict.fromkeys(names, "point"))
    kinds: dict[str, str] = {}
    for own in sets:
        require_contact_kinds(own)
        for frame, kind in own.items():
            robot.frame(frame)
            if kinds.setdefault(frame, kind) != kind:
                raise OptionError(f"'{frame}' is a contact of one kind: {kinds[frame]} or {kind}.")
    return Stances(tuple(tuple(each) for each in sets), kinds)


def contact_states(robot: Robot, layout: ParameterLayout, stances: Stances, *, dynamic: bool) -> np.ndarray:
    """Rows (n, p) of random states of every stance, less what contact forces explain."""
    rows = []
    for k, frames in enumerate(stances.sets):
        kinds = [stances.kinds[frame] for frame in frames]
        held = len(frames) and contact_jacobian(robot, robot.neutral[:, None], frames, kinds).shape[2]
        count = 3 * layout.size // max(robot.nv - held, 1) + EXTRA_STATES
        q, v, a = robot_states(robot, count, SEED + k)
        Q = orthonormal(contact_jacobian(robot, q, frames, kinds))
        v, a = _standing(robot, frames, kinds, q, v * dynamic, a * dynamic)
        y = layout_rows(robot, layout, q, v, a)
        rows.append((y - Q @ (Q.mT @ y)).reshape(-1, layout.size))
    return np.concatenate(rows)


def _standing(robot: Robot, frames, kinds, q, v, a):
    """The nearest v, a (nv, n) that keep the frames where they are."""
    if not frames:
        return v, a
    J = contact_jacobian(robot, q, frames, kinds).mT
    back = np.linalg.pinv(J, rcond=THRESHOLDS.sampled_rank)
    v = v.T - (back @ (J @ v.T[..., None]))[..., 0]
    bias = _bias(robot, frames, kinds, q, v)
    a = a.T - (back @ (J @ a.T[..., None] + bias[..., None]))[..., 0]
    return v.T, a.T


def _bias(robot: Robot, frames, kinds, q, v):
    """Accelerations (n, m) of the held components that velocities (n, nv) alone make."""
    parts = []
    for frame, kind in zip(frames, kinds, strict=True):
        bias = bias_acceleration(robot, q.T, v, frame)
        if kind == "line":
            turned = contact_jacobian(robot, q, (frame,), ("line",)).mT[:, 3:]
            world = contact_jacobian(robot, q, (frame,), ("flat",)).mT[:, 3:]
            axes = turned @ np.linalg.pinv(world, rcond=THRESHOLDS.sampled_rank)
            parts += [bias[:, :3], (axes @ bias[:, 3:, None])[..., 0]]
        else:
            parts.append(bias[:, : 3 if kind == "point" else 6])
    return np.concatenate(parts, axis=1)


def hidden_behind(robot: Robot, stances: Stances, rows, known, unknown) -> Hidden:
    """What contacts hide.

    rows (n, p): of `contact_states`. known, unknown (p, d): null spaces with forces that are known, and in contact.
    """
    found, sentences = [], []
    size = np.linalg.norm(rows, axis=0)
    bodies = size[: 10 * robot.nb].reshape(-1, 10)
    bodies[:] = bodies.max(axis=0)  # of what stands still, nothing but rounding is left
    for body in dict.fromkeys(robot.frame(frame).body for frame in stances.always):
        if body == WORLD:
            continue
        for words, changes in _candidates(robot, body, stances):
            padded = np.zeros((rows.shape[1], len(changes)))
            padded[10 * body : 10 * body + 10] = changes.T
            # a change of parameters below this share of the size of rows leaves them as they are
            if np.all(np.linalg.norm(rows @ padded, axis=0) <= 1e-8 * (size @ np.abs(padded))):
                found.append(padded)
                sentences.append((robot.body_names[body], words))
                break
    lost, told = unknown.shape[1] - known.shape[1], 0
    if found:
        together = np.concatenate([known, *found], axis=1) * np.where(size > 0, size, 1.0)[:, None]
        together /= np.maximum(np.linalg.norm(together, axis=0), np.finfo(float).tiny)
        told = int(np.linalg.matrix_rank(together, tol=SAME)) - known.shape[1]
    return Hidden(lost, tuple(sentences), lost - told, not any(stances.sets))


def _candidates(robot: Robot, body: int, stances: Stances):
    """Changes (c, 10) of a body that its contacts may hide, the most first, and their words."""
    frames = [robot.frame(frame) for frame in stances.always if robot.frame(frame).body == body]
    points = [frame.position for frame in frames]
    along = [(one + other) / 2 for one, other in combinations(points, 2)]
    for frame in frames:
        if stances.kinds[frame.name] == "line":
            along += [frame.position + side * frame.rotation[:, 0] for side in (0.1, -0.1)]
    them = " and ".join(frame.name for frame in frames)
    remedy = "lift it in some samples, or measure its force"
    yield f"anything that moves with {them}, which stands still: {remedy}", np.eye(10)
    if along:
        yield f"masses along the line of {them}: {remedy}", _point_masses([*points, *along])
    yield f"a point mass at {them}: {remedy}", _point_masses(points)


def _point_masses(points) -> np.ndarray:
    """(c, 10) unit point masses."""
    unit = np.eye(10)[0]
    return np.stack([transform(unit, np.eye(3), point) for point in points])
