"""Links and joints of an SDF file as trees: which of its models is the robot, and what stands on the world.

A model that no joint holds to the world flies, as SDF says. Where a file has several models, the robot is the one whose
joints move; joints of the world can make one robot of several models.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from steelyard.errors import choices
from steelyard.model.assemble import Forest, Ties, forest
from steelyard.model.robot import WORLD
from steelyard.model.sdf_files import SdfFiles
from steelyard.model.sdf_frames import SEPARATOR, WORLD_FRAME, FrameScope, Item
from steelyard.spatial import Pose, inverse, then

FIXED = "fixed"
FLIES = "no joint holds link"  # of a note
COUPLING = "gearbox"  # a joint that couples two others


class SdfBody(NamedTuple):
    """A link of the file."""

    item: Item
    scope: FrameScope
    path: tuple[str, ...]  # names of the models that it is in, and its own
    pose: Pose  # in the world
    static: bool  # whether it belongs to a model that stands still


class SdfJoint(NamedTuple):
    """A joint of the file. parent, child: indices of the bodies, WORLD for the world and static models."""

    item: Item
    scope: FrameScope
    path: tuple[str, ...]
    kind: str
    parent: int
    child: int
    pose: Pose  # of its frame in the world


@dataclass(eq=False)
class SdfTree:
    """Bodies and joints of a file."""

    bodies: list[SdfBody] = field(default_factory=list)
    joints: list[SdfJoint] = field(default_factory=list)
    over: Forest = field(default_factory=Forest)  # of bodies that do not stand still
    chosen: frozenset[int] = frozenset()  # bodies of the robot
    prefix: tuple[str, ...] = ()  # names of models that are not said, since the robot is in one model
    notes: list[str] = field(default_factory=list)

    @cached_property
    def by_path(self) -> dict[tuple[str, ...], SdfJoint]:
        return {joint.path: joint for joint in self.joints}

    @property
    def listed(self) -> list[int]:
        """Bodies, parents first, and those that stand still."""
        return [*self.over.order, *(index for index, body in enumerate(self.bodies) if body.static)]

    def name(self, path: tuple[str, ...]) -> str:
        """What a link, joint or frame is called in the robot."""
        inside = path[: len(self.prefix)] == self.prefix and len(path) > len(self.prefix)
        return SEPARATOR.join(path[len(self.prefix) :] if inside else path)

    def named(self, body: int) -> str:
        return self.name(self.bodies[body].path)

    def relative(self, body: int) -> Pose:
        """Pose of a body in the one that carries it, at zero; in the world where none does."""
        parent, pose = self.over.parent(body), self.bodies[body].pose
        return pose if parent == WORLD else then(inverse(self.bodies[parent].pose), pose)


def tree_of(files: SdfFiles) -> SdfTree:
    """Trees of a file; what cannot be understood is a fault of its readers."""
    tree = SdfTree()
    places: dict[Item, int] = {}
    for scope in _scopes(files.world):
        for item in scope.of("link"):
            places[item] = len(tree.bodies)
            tree.bodies.append(SdfBody(item, scope, (*scope.path, item.name), scope.absolute(item.name), scope.static))
    for scope in _scopes(files.world):
        for item in scope.of("joint"):
            joint = _connection(scope, item, places)
            if joint is not None:
                tree.joints.append(joint)
        for item in scope.of("frame"):
            scope.pose(item.name)
    ends = {index: (each.parent, each.child) for index, each in enumerate(tree.joints) if each.kind != COUPLING}
    carried = {child for _, child in ends.values()}
    moving = sorted((body in carried, body) for body, each in enumerate(tree.bodies) if not each.static)
    tree.over = forest(ends, lambda _: [body for _, body in moving])
    _choose(tree, files)
    return tree


def _scopes(scope: FrameScope) -> Iterator[FrameScope]:
    yield scope
    for item in scope.of("model"):
        if item.scope is not None:
            yield from _scopes(item.scope)


def _connection(scope: FrameScope, item: Item, places: dict[Item, int]) -> SdfJoint | None:
    ends, reader, element = [], item.sheet.reader, item.element
    for tag in ("parent", "child"):
        found = element.find(tag)
        name = "" if found is None else found.text.strip()
        name = item.model_frame if name == "__model__" else name
        if name == WORLD_FRAME:
            ends.append(WORLD)
        elif name and scope.find(name) is not None:
            carrier = scope.carrier(name)
            ends.append(WORLD if carrier is None else places.get(carrier[1], WORLD))
        else:
            said = f"names '{name[:60]}' as its {tag}, which is no frame here" if name else f"has no <{tag}>"
            reader.fault("SY505", found or element, item.label, f"{item.label} {said}.", remedy=scope.known)
    kind = element.attributes.get("type", "").strip().lower()
    if len(ends) < 2:
        return None
    parent, child = ends
    if parent == child == WORLD:
        return None  # within what stands still
    if parent == child:
        said = f"{item.label} ties a link to itself."
        reader.fault("SY505", element, item.label, said, remedy="Correct <parent> or <child>.")
        return None
    path = (*scope.path, item.name)
    return SdfJoint(item, scope, path, kind, parent, child, scope.absolute(item.name))


def _choose(tree: SdfTree, files: SdfFiles) -> None:
    groups = _groups(tree)
    ends = ((each.parent, each.child) for each in tree.joints if each.kind not in (FIXED, COUPLING))
    movable = {tree.over.root[parent if child == WORLD else child] for parent, child in ends}
    free = {root for root in tree.over.root.values() if root not in tree.over.carriers}
    able = [group for group in groups if not movable.isdisjoint(group)]
    named = [group for group in groups if files.model in (tree.bodies[body].path[0] for body in group)]
    found = named or able or groups
    refuse, element = files.sheets[0].reader.refuse, files.main.root
    if not found:
        why = "all models are static" if tree.bodies else "it has no <link>"
        remedy = "Give the file of a robot, without <static>."
        refuse(element, f"nothing in the file can move: {why}.", next(iter(files.missing), remedy))
        return
    if len(found) > 1 or (files.model and not named):
        names = [tree.bodies[group[0]].path[0] for group in found]
        said = f"the file has {len(found)} model(s) that {'move' if able else 'could move'} ({choices(names)})."
        refuse(element, said, f"Choose the robot: --arg model={names[0]} (arguments={{'model': {names[0]!r}}}).")
        return
    group = found[0]
    roots = [body for body in group if tree.over.root[body] == body]
    acting = [root for root in roots if root in movable]
    kept = [root for root in roots if root not in free or root in acting] if acting else roots
    flying = [root for root in kept if root in free]
    if flying and (len(flying) > 1 or any(root not in free for root in acting)):
        names = [tree.named(root) for root in flying]
        said = f"links {choices(names)} fly, each with what it carries, beside other trees of the same model."
        refuse(element, said, "Join them by joints, or keep one a file.")
    tree.chosen = frozenset(body for body in group if tree.over.root[body] in kept)
    models = {tree.bodies[body].path[0] for body in tree.chosen}
    if len(models) == 1:
        tree.prefix = tuple(models)
    _tell(tree, files, flying)


def _tell(tree: SdfTree, files: SdfFiles, flying: list[int]) -> None:
    name = files.main.path.name
    left = [tree.named(body) for body in tree.over.order if body not in tree.chosen]
    if left:
        tree.notes.append(f"{name}: no joint ties {choices(left)} to the robot; they are not part of it.")
    for root in flying:
        tree.notes.append(
            f"{name}: {FLIES} '{tree.named(root)}' to the world, so it flies, as SDF says; --fixed "
            "(floating=False) holds it where it is."
        )


def _groups(tree: SdfTree) -> list[list[int]]:
    """Bodies that do not stand still, by models that joints of the world tie together."""
    tied = Ties()
    for joint in tree.joints:
        if WORLD not in (joint.parent, joint.child):
            tied.join(*(tree.bodies[end].path[0] for end in (joint.child, joint.parent)))
    found: dict[str, list[int]] = {}
    for body in tree.over.order:
        found.setdefault(tied.find(tree.bodies[body].path[0]), []).append(body)
    return list(found.values())
