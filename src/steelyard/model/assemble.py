"""From the parts of a model file to a Robot: order, lumping of fixed parts, floating or fixed base."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from steelyard.errors import ModelError
from steelyard.inertia import transform
from steelyard.model.joint import Joint
from steelyard.model.robot import WORLD, Link, Robot, Source

FLOATING_BASE = "floating_base"


@dataclass(frozen=True, eq=False)
class Segment:
    """A link or body as the file has it, with the joints that carry it.

    parent: index of the parent part, WORLD for the one root. rotation, position: pose in the parent part when no
    joint is between them. joints: placed joints between parent and part, outermost first; the first holds the pose,
    further ones start where it ends.
    """

    name: str
    parent: int
    rotation: np.ndarray
    position: np.ndarray
    joints: tuple[Joint, ...]
    theta: np.ndarray
    has_inertial: bool


class Ties:
    """Which things are tied to each other, directly or through others."""

    def __init__(self):
        self._above: dict[Any, Any] = {}

    def find(self, one: Any) -> Any:
        """The one that stands for all that are tied to a thing."""
        while (up := self._above.get(one, one)) != one:
            self._above[one] = self._above.get(up, up)
            one = up
        return one

    def join(self, one: Any, other: Any) -> bool:
        """Tie two together. False where they are tied already."""
        one, other = self.find(one), self.find(other)
        self._above[one] = other
        return one != other


def assemble(name: str, parts: list[Segment], *, floating, gravity, source: Source | None, notes=()) -> Robot:
    """Build a Robot from parts in file order with exactly one root.

    floating: None keeps the base the file describes, True puts a free joint under the root, False welds free joints
    where the file places them. gravity: (3,) m/s^2. Raises ModelError when nothing can move.
    """
    gravity = _checked_gravity(gravity)
    based = _based(parts, floating)
    lumped = _lumped(based)
    if not lumped.joints:
        where = f" ({source.path})" if source else ""
        raise ModelError(
            f"Robot '{name}'{where} has no movable joint, so motion reveals nothing about its bodies. "
            "Use a model with movable joints. If the body flies, let the whole of it move, floating=True (--floating): "
            "its torques are then the wrench of all thrusts on it, [f; n] in its own axes."
        )
    _require_unique("joint", [j.name for j in lumped.joints], name)
    _require_unique("body", lumped.body_names, name)
    joints, mimic_notes = _resolved_mimics(lumped.joints)
    free = [j for j in joints if j.mimics is None]

    def per_degree(field):
        own = np.array([getattr(j, field) for j in free for _ in range(j.nv)], dtype=float)
        return own + of_followers(joints, field)

    return Robot(
        name=name,
        joints=tuple(joints),
        parents=np.array(lumped.parents),
        body_names=tuple(lumped.body_names),
        body_joints=np.array(lumped.body_joints),
        inertias=np.array(lumped.inertias),
        gravity=gravity,
        armature=per_degree("armature"),
        damping=per_degree("damping"),
        frictionloss=per_degree("frictionloss"),
        links=tuple(lumped.links),
        source=source and replace(source, held=_has_free(parts) and not _has_free(based)),
        notes=(*notes, *mimic_notes),
    )


@dataclass(eq=False)
class _Lumped:
    """Joints and bodies, parents first; parts without a joint are links that lend their inertia to the body they ride
    on."""

    joints: list[Joint] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    body_names: list[str] = field(default_factory=list)
    body_joints: list[int] = field(default_factory=list)
    inertias: list[np.ndarray] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)


def _lumped(parts: list[Segment]) -> _Lumped:
    """Parts depth first, children in file order."""
    children: dict[int, list[int]] = {}
    for index, part in enumerate(parts):
        children.setdefault(part.parent, []).append(index)
    found = _Lumped()
    # a stack keeps deep chains clear of the recursion limit: part, joint and body it rides on, its pose there
    stack = [(index, WORLD, WORLD, np.eye(3), np.zeros(3)) for index in reversed(children.get(WORLD, []))]
    while stack:
        index, joint, body, R, p = stack.pop()
        part = parts[index]
        if part.joints:
            first = part.joints[0]
            placed = replace(first, rotation=R @ first.rotation, position=p + R @ first.position)
            for each in (placed, *part.joints[1:]):
                found.joints.append(each)
                found.parents.append(joint)
                joint = len(found.joints) - 1
            R, p = np.eye(3), np.zeros(3)
            body = len(found.body_names)
            found.body_names.append(part.name)
            found.body_joints.append(joint)
            found.inertias.append(np.zeros(10))
        else:
            R, p = R @ part.rotation, p + R @ part.position
        found.links.append(Link(part.name, body, R, p, part.theta, part.has_inertial))
        if body != WORLD:
            found.inertias[body] = found.inertias[body] + transform(part.theta, R, p)
        stack += [(child, joint, body, R, p) for child in reversed(children.get(index, []))]
    return found


def free_joint(name: str = FLOATING_BASE) -> Joint:
    """A free joint at the parent's origin."""
    return Joint(name, "free", np.eye(6), np.eye(3), np.zeros(3))


def _checked_gravity(gravity):
    gravity = np.asarray(gravity, dtype=float)
    if gravity.shape != (3,) or not np.isfinite(gravity).all():
        raise ModelError(f"gravity is a finite vector of 3 in the world frame, m/s^2; got {gravity.tolist()}.")
    return gravity


def _based(parts: list[Segment], floating) -> list[Segment]:
    """Parts with the base the caller asked for."""
    if floating is None:
        return parts
    if floating and not _has_free(parts):
        return [replace(part, joints=(free_joint(),)) if part.parent == WORLD else part for part in parts]
    if not floating:
        return [replace(part, joints=()) if _has_free([part]) else part for part in parts]
    return parts


def _has_free(parts: Sequence[Segment]) -> bool:
    return any(joint.kind == "free" for part in parts for joint in part.joints)


def _require_unique(what: str, names: list[str], robot: str):
    repeated = sorted({n for n in names if names.count(n) > 1}) if len(set(names)) < len(names) else []
    if repeated:
        raise ModelError(
            f"Robot '{robot}' uses the {what} name '{repeated[0]}' more than once; give each {what} its own name."
        )


def of_followers(joints: Sequence[Joint], field: str) -> np.ndarray:
    """(nv,) armature, damping or friction loss that joints feel of those that follow them: by the square of the ratio,
    of dry friction by its size."""
    free = [joint for joint in joints if joint.mimics is None]
    starts = dict(zip([joint.name for joint in free], np.cumsum([0, *(joint.nv for joint in free)]), strict=False))
    found = np.zeros(sum(joint.nv for joint in free))
    for joint in joints:
        if joint.mimics is not None:
            share = abs(joint.ratio) if field == "frictionloss" else joint.ratio**2
            found[starts[joint.mimics]] += share * getattr(joint, field)
    return found


def _resolved_mimics(joints: list[Joint]) -> tuple[list[Joint], list[str]]:
    """Mimic joints resolved to a joint that has coordinates of its own (chains followed), and notes."""
    by_name = {j.name: j for j in joints}
    notes = []

    def resolve(joint: Joint) -> Joint:
        seen = [joint.name]
        while joint.mimics is not None:
            master = by_name.get(joint.mimics)
            if master is None:
                notes.append(
                    f"Joint '{seen[0]}' mimics '{joint.mimics}', which is not a movable joint of this robot; "
                    f"'{seen[0]}' is taken to move on its own."
                )
                return replace(by_name[seen[0]], mimics=None, ratio=1.0, offset=0.0)
            if master.name in seen:
                raise ModelError(f"Joints {seen} mimic each other in a circle; one of them must move on its own.")
            if master.nv != 1 or joint.nv != 1:
                raise ModelError(f"Joint '{joint.name}' mimics '{master.name}'; both must have one degree of freedom.")
            if master.mimics is None:
                return joint
            seen.append(master.name)
            joint = replace(
                joint,
                mimics=master.mimics,
                ratio=joint.ratio * master.ratio,
                offset=joint.ratio * master.offset + joint.offset,
            )
        return joint

    return [resolve(j) for j in joints], notes
