"""From bodies and connections of a model file, of whatever format, to a Robot: the tree that connections span, lumping
of fixed parts, floating or fixed base, mimics, closures and places; and a robot without bodies that weigh nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from steelyard.errors import ModelError, choices
from steelyard.inertia import transform
from steelyard.model.joint import Joint
from steelyard.model.loops import Loop
from steelyard.model.robot import WORLD, Frame, Link, ModelSource, Robot
from steelyard.model.sketch import SketchJoint, SketchPart
from steelyard.spatial import Pose, adjoint, identity, then

FLOATING_BASE = "floating_base"


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


class Carrier(NamedTuple):
    """What carries a body."""

    parent: int  # number of a body or WORLD
    joints: tuple[tuple[int, int], ...]  # connections, outermost first, each with the one of its ends it carries


@dataclass(eq=False)
class Forest:
    """Trees that connections span. Bodies and connections by number."""

    order: list = field(default_factory=list)  # bodies, parents first
    carriers: dict[Any, Carrier] = field(default_factory=dict)  # of bodies that something carries
    closing: list = field(default_factory=list)  # connections beyond those of trees
    root: dict = field(default_factory=dict)  # body -> the first one of its tree

    def parent(self, body) -> int:
        """The body that carries one; WORLD for the world, and for one that flies."""
        return self.carriers[body].parent if body in self.carriers else WORLD

    @property
    def roots(self) -> list:
        """Bodies that hang on the world or on nothing."""
        return [body for body in self.order if self.parent(body) == WORLD]


def forest(
    ends: dict[Any, tuple[Any, Any]],
    starts: Callable[[Ties], Iterable],
    *,
    bound: Callable[[Any], bool] = lambda connection: True,
    adds: Callable[[Any], bool] = lambda connection: False,
    by_number: bool = False,
) -> Forest:
    """Trees from the world and from bodies that nothing ties to it.

    A connection between what others before it tie closes a loop; so does one that is not `bound` to a tree. One that
    `adds` to another of the same two bodies is part of the tree with it. ends: two bodies by connection. starts: where
    trees start, behind the world, of what is tied. by_number: whether what a body carries is in the order of bodies,
    not in that of connections.
    """
    tied, found = Ties(), Forest()
    edges: dict[frozenset, list] = {}
    for connection, pair in ends.items():
        between = frozenset(pair)
        if bound(connection) and tied.join(*pair):
            edges[between] = [connection]
        elif bound(connection) and between in edges and adds(connection):
            edges[between].append(connection)
        else:
            found.closing.append(connection)
    neighbours: dict[Any, list] = {}
    for one, other in sorted(map(sorted, edges)) if by_number else [ends[each[0]] for each in edges.values()]:
        neighbours.setdefault(one, []).append(other)
        neighbours.setdefault(other, []).append(one)
    for start in (WORLD, *starts(tied)):
        stack = [] if start in found.root else [(start, None)]
        while stack:
            body, parent = stack.pop()
            if body != WORLD:
                found.order.append(body)
                found.root[body] = found.root.get(WORLD if parent is None else parent, body)
            if parent is not None:
                joints = edges[frozenset((parent, body))]
                found.carriers[body] = Carrier(parent, tuple((each, ends[each].index(body)) for each in joints))
            stack += [(other, body) for other in reversed(neighbours.get(body, [])) if other != parent]
    return found


@dataclass(frozen=True, eq=False)
class Segment:
    """A link or body as the file has it, with the joints that carry it.

    rotation, position: pose in the parent part when no joint is between them. joints: placed joints between parent and
    part, outermost first; the first holds the pose, further ones start where it ends.
    """

    name: str
    parent: int  # index of the parent part, WORLD for the one root
    rotation: np.ndarray
    position: np.ndarray
    joints: tuple[Joint, ...]
    theta: np.ndarray
    has_inertial: bool


def ground(name: str) -> Segment:
    """The world, as a part that stands still."""
    return Segment(name, WORLD, *identity(), (), np.zeros(10), False)


def segments_of(
    parts: Mapping[int, SketchPart], joints: Iterable[SketchJoint], world: str | None = None
) -> list[Segment]:
    """Parts of a sketch, by number, with the joints that carry them; a root that moves without one flies. world: its
    name."""
    carried: dict[int | None, list[Joint]] = {}
    for each in joints:
        if each.placed is not None:
            carried.setdefault(each.part, []).append(each.placed)
    flying = [n for n, part in parts.items() if part.parent is None and part.moves and n not in carried]
    found = [] if world is None else [ground(world)]
    places = {None: len(found) - 1} | {number: len(found) + k for k, number in enumerate(parts)}
    for number, part in parts.items():
        own = carried.get(number, [])
        if number in flying:
            own = [free_joint(FLOATING_BASE if len(flying) == 1 else f"{FLOATING_BASE}_{part.name}")]
        elif own:
            own[0] = replace(own[0], rotation=part.rotation, position=part.position)
        stated = np.zeros(10) if part.inertial is None else part.inertial.theta
        found.append(
            Segment(
                part.name,
                places[part.parent],
                part.rotation,
                part.position,
                tuple(own),
                stated if part.theta is None else part.theta,
                part.inertial is not None if part.known is None else part.known,
            )
        )
    return found


def assemble(
    name: str,
    parts: list[Segment],
    *,
    floating,
    gravity,
    source: ModelSource | None,
    notes=(),
    closures: Iterable[Loop] = (),
    places: Iterable[tuple[str, str | None, Pose]] = (),
) -> Robot:
    """Build a Robot from parts in file order with exactly one root. floating: None keeps the base of the file, True
    puts a free joint under the root, False welds free joints. closures: loops between parts. places: name, part or
    None, and pose in it. Raises ModelError when nothing can move."""
    gravity = np.asarray(gravity, dtype=float)
    if gravity.shape != (3,) or not np.isfinite(gravity).all():
        raise ModelError(f"gravity is a finite vector of 3 in the world frame, m/s^2; got {gravity.tolist()}.")
    based = _based(parts, floating)
    whole = lumped(based)
    if not whole.joints:
        where = f" ({source.path})" if source else ""
        raise ModelError(
            f"Robot '{name}'{where} has no movable joint, so motion reveals nothing about its bodies. "
            "Use a model with movable joints. If the body flies, let the whole of it move, floating=True (--floating): "
            "its torques are then the wrench of all thrusts on it, [f; n] in its own axes."
        )
    _require_unique("joint", [j.name for j in whole.joints], name)
    _require_unique("body", whole.body_names, name)
    joints, mimic_notes = _resolved_mimics(whole.joints)
    free = [j for j in joints if j.mimics is None]
    links = {link.name: link for link in whole.links}

    def per_degree(field):
        own = np.array([getattr(j, field) for j in free for _ in range(j.nv)], dtype=float)
        return own + of_followers(joints, field)

    def riding(part: str | None, pose: Pose) -> tuple[int, np.ndarray, np.ndarray]:
        if part is None:
            return WORLD, *pose
        return links[part].body, *then((links[part].rotation, links[part].position), pose)

    def on_body(part: str | None, pose: Pose) -> tuple[str | None, np.ndarray, np.ndarray]:
        body, R, p = riding(part, pose)
        return None if body == WORLD else whole.body_names[body], R, p

    return Robot(
        name=name,
        joints=tuple(joints),
        parents=np.array(whole.parents),
        body_names=tuple(whole.body_names),
        body_joints=np.array(whole.body_joints),
        inertias=np.array(whole.inertias),
        gravity=gravity,
        armature=per_degree("armature"),
        damping=per_degree("damping"),
        frictionloss=per_degree("frictionloss"),
        links=tuple(whole.links),
        sites=tuple(Frame(each, *riding(part, pose)) for each, part, pose in places),
        loops=tuple(each.moved(on_body) for each in closures),
        source=source and replace(source, held=_has_free(parts) and not _has_free(based)),
        notes=(*notes, *mimic_notes),
    )


@dataclass(eq=False)
class Lumped:
    """Joints and bodies, parents first; parts without a joint are links that lend their inertia to the body they ride
    on."""

    joints: list[Joint] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    body_names: list[str] = field(default_factory=list)
    body_joints: list[int] = field(default_factory=list)
    inertias: list[np.ndarray] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)


def lumped(parts: list[Segment]) -> Lumped:
    """Parts depth first, children in file order."""
    children: dict[int, list[int]] = {}
    for index, part in enumerate(parts):
        children.setdefault(part.parent, []).append(index)
    found = Lumped()
    # a stack keeps deep chains clear of the recursion limit: part, joint and body it rides on, its pose there
    stack = [(index, WORLD, WORLD, identity()) for index in reversed(children.get(WORLD, []))]
    while stack:
        index, joint, body, pose = stack.pop()
        part = parts[index]
        if part.joints:
            first = part.joints[0]
            R, p = then(pose, (first.rotation, first.position))
            for each in (replace(first, rotation=R, position=p), *part.joints[1:]):
                found.joints.append(each)
                found.parents.append(joint)
                joint = len(found.joints) - 1
            pose = identity()
            body = len(found.body_names)
            found.body_names.append(part.name)
            found.body_joints.append(joint)
            found.inertias.append(np.zeros(10))
        else:
            pose = then(pose, (part.rotation, part.position))
        found.links.append(Link(part.name, body, *pose, part.theta, part.has_inertial))
        if body != WORLD:
            found.inertias[body] = found.inertias[body] + transform(part.theta, *pose)
        stack += [(child, joint, body, pose) for child in reversed(children.get(index, []))]
    return found


def free_joint(name: str = FLOATING_BASE) -> Joint:
    """A free joint at the parent's origin."""
    return Joint(name, "free", np.eye(6), *identity())


def _based(parts: list[Segment], floating) -> list[Segment]:
    if floating is None:
        return parts
    if floating and not _has_free(parts):
        return [replace(part, joints=(free_joint(),)) if part.parent == WORLD else part for part in parts]
    if not floating:
        return [replace(part, joints=()) if _has_free([part]) else part for part in parts]
    return parts


def _has_free(parts: Sequence[Segment]) -> bool:
    return any(joint.kind == "free" for part in parts for joint in part.joints)


def unmodelled(path: Path, found: Mapping[str, int]) -> list[str]:
    """Notes on what acts on the motion and is not part of the rigid-body model. found: how many of it."""
    said = "not modelled; their forces stay in the torques."
    return [f"{path.name}: {count} {what} {said}" for what, count in found.items() if count]


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


def without_massless(robot: Robot, shown: set[str]) -> tuple[Robot, tuple[str, ...]]:
    """The robot without bodies that have no mass, carry nothing, and lie before one joint: several joints are then in
    the body behind. shown: names of links that have geometry. With a note on the bodies that are left out."""
    gone = set(_empty(robot, shown))
    kept = [body for body in range(robot.nb) if body not in gone]
    inner = set(range(robot.nj)) - {int(robot.body_joints[body]) for body in kept}
    joints = list(robot.joints)
    for index in sorted(inner, reverse=True):  # the innermost first, so that a chain of them moves as a whole
        _join(joints, robot, index)
    if not gone:
        return replace(robot, joints=tuple(joints)), ()
    new = {WORLD: WORLD} | {old: place for place, old in enumerate(kept)}
    names = [robot.body_names[body] for body in sorted(gone)]
    left = replace(
        robot,
        joints=tuple(joints),
        body_names=tuple(robot.body_names[body] for body in kept),
        body_joints=robot.body_joints[kept],
        inertias=robot.inertias[kept],
        links=tuple(replace(link, body=new[link.body]) for link in robot.links if link.body not in gone),
        sites=tuple(replace(site, body=new[site.body]) for site in robot.sites),
    )
    return left, (f"Bodies without mass are left out, and their joints are of the body behind: {choices(names)}.",)


def _empty(robot: Robot, shown: set[str]) -> Iterator[int]:
    named = {name for loop in robot.loops for name in loop.bodies} | {rotor.carrier for rotor in robot.rotors}
    for body, name in enumerate(robot.body_names):
        index = int(robot.body_joints[body])
        behind = np.flatnonzero(robot.parents == index)
        alone = not any(each.body == body for each in (*robot.links, *robot.sites) if each.name != name)
        if (
            not robot.inertias[body].any()
            and alone
            and len(behind) == 1
            and not {name} & (shown | named)
            and all(robot.joints[i].kind in ("revolute", "prismatic") for i in (index, int(behind[0])))
        ):
            yield body


def _join(joints: list[Joint], robot: Robot, index: int) -> None:
    """Let a joint end where the one behind it starts: `X1 exp(Phi1) X2 = X1 X2 exp(Ad(X2^-1) Phi1)`."""
    (behind,) = np.flatnonzero(robot.parents == index)
    first, second = joints[index], joints[behind]
    R, p = second.rotation, second.position
    if first.nv > 1 or (not p.any() and np.array_equal(R, np.eye(3))):
        return
    moved = adjoint(R.T, -R.T @ p) @ first.subspace
    R, p = then((first.rotation, first.position), (R, p))
    joints[index] = replace(first, subspace=moved, rotation=R, position=p)
    joints[behind] = replace(second, rotation=np.eye(3), position=np.zeros(3))
