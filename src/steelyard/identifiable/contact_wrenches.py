"""Components of a contact wrench that torques of joints determine, and those that none of them shows.

A wrench W on a link does the work `W . V` with the link's twist V, so its torques show what is not orthogonal to the
twists that the joints can give the link: in one pose the columns of the Jacobian, in all poses the velocity span of
paper C. The span of one joint's axis is carried across the joints between it and the link, and becomes the smallest
that their motion maps into itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from steelyard.arguments import require_type
from steelyard.cards import Card
from steelyard.dynamics.frames import frame_rows
from steelyard.errors import ModelError
from steelyard.identifiable.basis import RankDecisions, closure, extend, null_space_of, span_union
from steelyard.identifiable.from_robot import mechanism_of
from steelyard.identifiable.mechanism import Mechanism
from steelyard.identifiable.numeric_rank import EXTRA_STATES, robot_states
from steelyard.model import Robot
from steelyard.model.robot import WORLD
from steelyard.numbers import NEGLIGIBLE, SEED
from steelyard.spatial import adjoint, crm

COMPONENTS = "fx", "fy", "fz", "nx", "ny", "nz"


@dataclass(frozen=True, eq=False, repr=False)
class IdentifiableWrench(Card):
    """What joint torques say of a wrench `[f; n]` on a frame, in its axes at its origin, N and N m.

    blind: (6, d) basis of the wrenches without any torque, in reduced echelon form. joints: by degree that feels the
    frame, how many components its torque depends on, over all poses or in the one asked for; all others feel nothing.
    pose: whether it is one.
    """

    frame: str
    blind: np.ndarray
    joints: Mapping[str, int]
    pose: bool

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
    """(6, r) twists of the frame that each degree can make in some pose, in the frame's own axes.

    Of a coordinate that several joints between ground and frame share, by random poses.
    """
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
    """Columns of length one, without those that are zero."""
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
