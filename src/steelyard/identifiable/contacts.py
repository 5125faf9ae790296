"""What unknown forces of contacts keep from sight: robots whose feet stand still while they move.

Rows at random states whose contacts stand still, in any place (velocities in the null space of the Jacobian,
accelerations that keep them there), less what contact forces explain. Their rank says what shows. What does not can be
told: where a link is held at a point in every sample, a mass there is neither moved nor felt. Such changes are verified
on the rows; what they do not account for is counted.

And of the forces themselves: a wrench W on a link does the work `W . V` with the link's twist V, so torques of joints
show what is not orthogonal to the twists that the joints can give the link: in one pose the columns of the Jacobian, in
all poses the velocity span of paper C. The span of one joint's axis is carried across the joints between it and the
link, and becomes the smallest that their motion maps into itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import cast

import numpy as np

from steelyard.arguments import require_type
from steelyard.cards import Card
from steelyard.dynamics import bias_acceleration
from steelyard.dynamics.closed_loop.projection import layout_rows
from steelyard.dynamics.contact_forces import contact_jacobian, orthonormal, require_contact_kinds
from steelyard.dynamics.frames import frame_rows
from steelyard.errors import ModelError, OptionError
from steelyard.identifiable.basis import RankDecisions, closure, extend, null_space_of, span_union
from steelyard.identifiable.from_robot import mechanism_of
from steelyard.identifiable.mechanism import Mechanism
from steelyard.identifiable.numeric_rank import EXTRA_STATES, robot_states
from steelyard.identifiable.thresholds import THRESHOLDS
from steelyard.inertia import transform
from steelyard.model import Robot
from steelyard.model.robot import WORLD
from steelyard.numbers import NEGLIGIBLE, SAME, SEED
from steelyard.spatial import adjoint, crm
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
    """What contacts hide."""

    combinations: int  # how many that known forces would show
    sentences: tuple[tuple[str, str], ...]  # what they are, by body
    untold: int  # how many of them no sentence accounts for
    flying: bool  # whether nothing ever touches

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
    """What contacts hide. known, unknown (p, d): null spaces with forces that are known, and in contact."""
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
    unit = np.eye(10)[0]
    return np.stack([transform(unit, np.eye(3), point) for point in points])


COMPONENTS = "fx", "fy", "fz", "nx", "ny", "nz"


@dataclass(frozen=True, eq=False, repr=False)
class IdentifiableWrench(Card):
    """What joint torques say of a wrench `[f; n]` on a frame, in its axes at its origin, N and N m.

    joints: by degree that feels the frame, how many components its torque depends on, over all poses or in the one
    asked for; all others feel nothing.
    """

    frame: str
    blind: np.ndarray  # (6, d) basis of the wrenches without any torque, in reduced echelon form
    joints: Mapping[str, int]
    pose: bool  # whether it is one

    @property
    def count(self) -> int:
        """How many of the six components are identifiable."""
        return 6 - self.blind.shape[1]

    @property
    def blind_words(self) -> tuple[str, ...]:
        """Wrenches without torque in words, such as "fz" or "fx + 0.3 ny" (per unit of the first)."""
        return tuple(_words(each) for each in self.blind.T)

    def _title(self) -> str:
        return f"{self.count} of 6 components of a wrench on {self.frame} are identifiable"

    def _rows(self):
        return {
            "poses": "one" if self.pose else "all",
            "not identifiable": "; ".join(self.blind_words) or None,
            "joints": self.joints,
        }


def identifiable_wrench(robot: Robot, frame: str, q=None) -> IdentifiableWrench:
    """Components of a wrench on a frame, such as of a contact, that torques of the joints determine.

    Args:
        robot: a tree, fixed or with a free base, whose six forces count as torques of joints.
        frame: name of a link or of another place of `robot.frames`.
        q: (nq,) pose, rad or m; by default all poses together (structural, paper C): what no pose shows.

    Returns:
        The IdentifiableWrench.

    Raises:
        ModelError: no such frame, one that does not move, or a robot with closed loops.
        OptionError: q has the wrong width.

    Example:
        >>> import steelyard as sy
        >>> sy.identifiable_wrench(sy.library.scara(), "link3").blind_words  # vertical axes
        ('nx', 'ny')
    """
    require_type(Robot, robot=robot)
    if robot.loops:
        raise ModelError(f"Robot '{robot.name}' has closed loops, in which torques depend on forces of all members.")
    at = robot.frame(frame)
    if at.body == WORLD:
        raise ModelError(f"'{frame}' does not move, so that no joint feels what touches it.")
    mechanism = mechanism_of(robot)
    decisions = RankDecisions()
    spans = _in_pose(robot, frame, np.asarray(q, dtype=float)) if q is not None else _spans(mechanism, robot, frame)
    scale = np.repeat([1 / mechanism.length, 1.0], 3)  # lengths of twists in those of the robot
    whole, ranks = np.zeros((6, 0)), {}
    for name, span in spans.items():
        own = extend(np.zeros((6, 0)), _unit(scale[:, None] * span), decisions)
        if own.shape[1]:
            ranks[name], whole = own.shape[1], span_union(whole, own, decisions)
    blind = scale[:, None] * null_space_of(whole.T, decisions)
    return IdentifiableWrench(frame, _echelon(blind), ranks, q is not None)


def _in_pose(robot: Robot, frame: str, q) -> dict[str, np.ndarray]:
    """(6, n) columns of the Jacobian in the frame's own axes, by degree."""
    samples = q.reshape(-1, robot.nq).T
    rows, R = frame_rows(robot, samples, (frame,))[0]
    turned = [np.einsum("jin,jkn->ikn", R, part) for part in (rows[:3], rows[3:])]
    return dict(zip(robot.dof_names, np.concatenate(turned).transpose(1, 0, 2), strict=True))


def _spans(mechanism: Mechanism, robot: Robot, frame: str) -> dict[str, np.ndarray]:
    """(6, r) twists of the frame that each degree can make in some pose, in its own axes; of shared coordinates by
    random poses."""
    at, found = robot.frame(frame), {}
    body = robot.body_names[at.body]
    node = next(i for i, each in enumerate(mechanism.nodes) if each.name == body and len(each.columns))
    path = mechanism.path(node)[::-1]
    riders = [k for i in path for k in mechanism.nodes[i].coordinates]
    shared = {k for k in riders if riders.count(k) > 1}
    decisions = RankDecisions()
    scale = np.repeat([mechanism.length, 1.0], 3)[:, None]
    for i in path:
        own = mechanism.nodes[i]
        X = adjoint(own.rotation.T, -own.rotation.T @ own.position)
        turns = [crm(phi) for phi in own.subspace.T]
        found = {k: closure(np.linalg.qr(X @ span)[0], turns, decisions) for k, span in found.items()}
        found |= {int(k): _unit(phi[:, None]) for k, phi in zip(own.coordinates, own.subspace.T, strict=True)}
    X = adjoint(at.rotation.T, -at.rotation.T @ at.position / mechanism.length)
    spans = {mechanism.coordinate_names[k]: scale * (X @ span) for k, span in found.items()}
    if shared:
        sampled = _in_pose(robot, frame, robot_states(robot, EXTRA_STATES + 6, SEED)[0].T)
        spans |= {mechanism.coordinate_names[k]: sampled[mechanism.coordinate_names[k]] for k in shared}
    return spans


def _unit(columns) -> np.ndarray:
    size = np.linalg.norm(columns, axis=0)
    kept = size > NEGLIGIBLE * size.max(initial=0.0)
    return columns[:, kept] / size[kept]


def _echelon(basis) -> np.ndarray:
    """(6, d) the same span in reduced column echelon form."""
    rows, at = basis.T.copy(), 0
    for column in range(6):
        if at == len(rows):
            break
        pivot = at + int(np.argmax(np.abs(rows[at:, column])))
        if abs(rows[pivot, column]) <= NEGLIGIBLE * np.abs(rows[pivot]).max():
            continue
        rows[[at, pivot]] = rows[[pivot, at]]
        rows[at] /= rows[at, column]
        others = np.arange(len(rows)) != at
        rows[others] -= np.outer(rows[others, column], rows[at])
        at += 1
    rows[np.abs(rows) < NEGLIGIBLE * np.abs(rows).max(axis=1, initial=0.0, keepdims=True)] = 0.0
    return rows.T


def _words(wrench) -> str:
    parts = [(x, name) for x, name in zip(wrench, COMPONENTS, strict=True) if x]
    told = " + ".join(name if x == 1 else f"{x:.3g} {name}" for x, name in parts)
    return told.replace("+ -", "- ")
