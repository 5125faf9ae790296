"""The tree of bodies that joints of a USD stage span, from the world or a floating body, and the joints left over."""

from dataclasses import dataclass, field

from steelyard.model.assemble import Ties
from steelyard.model.robot import WORLD
from steelyard.model.usd_joints import Connection, is_stacked
from steelyard.model.usd_scene import Scene, value


@dataclass(frozen=True, eq=False)
class PrimCarrier:
    """What carries a body."""

    parent: int  # number of a body or WORLD
    joints: tuple[tuple[Connection, int], ...]  # outermost first, each with the one of its bodies (0, 1) it carries

    @property
    def floats(self) -> bool:
        return not self.joints


@dataclass(eq=False)
class UsdTree:
    """Bodies by number."""

    order: list[int] = field(default_factory=list)  # parents first
    carriers: dict[int, PrimCarrier] = field(default_factory=dict)
    closing: list[Connection] = field(default_factory=list)  # joints of its bodies left over

    @property
    def roots(self) -> list[int]:
        """Bodies that hang on the world or float."""
        return [body for body in self.order if self.carriers[body].parent == WORLD]


def tree_of(scene: Scene, connections: list[Connection]) -> UsdTree:
    """Bodies of the scene's articulations, or of the trees with joints that move where it names none.

    A joint is part of the tree unless the file excludes it or it comes after those that hold its bodies already.
    """
    roots = _roots(scene)
    chosen = _chosen(scene, connections, roots)
    sets, edges, closing = Ties(), {}, []
    for each in (c for c in connections if set(c.bodies) & chosen):
        pair = frozenset(each.bodies)
        if each.mobile and sets.join(*each.bodies):
            edges[pair] = [each]
        elif each.mobile and pair in edges and is_stacked(each, roots):
            edges[pair].append(each)
        else:
            closing.append(each)
    neighbours: dict[int, list[int]] = {}
    for one, other in map(tuple, edges):
        neighbours.setdefault(one, []).append(other)
        neighbours.setdefault(other, []).append(one)
    tree = UsdTree(closing=closing)
    starts = [(WORLD, body) for body in sorted(neighbours.get(WORLD, []))]
    floating = _floating(scene, connections, chosen, sets, roots)
    stack = [*reversed(floating), *reversed(starts)]
    while stack:
        parent, body = stack.pop()
        joints = [(c, c.bodies.index(body)) for c in edges.get(frozenset((parent, body)), ())]
        tree.carriers[body] = PrimCarrier(parent, tuple(joints))
        tree.order.append(body)
        stack += [(body, each) for each in sorted(neighbours.get(body, []), reverse=True) if each != parent]
    left = len(scene.bodies) - len(tree.order)
    if left and tree.order:
        scene.notes.append(f"{scene.path.name}: {left} rigid bodies are not part of an articulation; left out.")
    return tree


def _roots(scene: Scene) -> list:
    from pxr import UsdPhysics

    return [each for each in scene.prims if each.HasAPI(UsdPhysics.ArticulationRootAPI)]


def _chosen(scene: Scene, connections: list[Connection], roots: list) -> set[int]:
    """Numbers of the bodies that make the robot."""
    sets = Ties()
    for each in connections:
        if WORLD not in each.bodies:
            sets.join(*each.bodies)
    marked = set()
    for root in roots:
        path = root.GetPath()
        marked |= {sets.find(i) for i, body in enumerate(scene.bodies) if body.GetPath().HasPrefix(path)}
        marked |= {
            sets.find(b) for c in connections if c.prim.GetPath().HasPrefix(path) for b in c.bodies if b != WORLD
        }
    if not marked:
        moving = [c for c in connections if c.kind is not None]
        marked = {sets.find(b) for c in moving for b in c.bodies if b != WORLD}
    if not marked and len(scene.bodies) == 1:
        marked = {0}
    return {i for i in range(len(scene.bodies)) if sets.find(i) in marked}


def _floating(scene: Scene, connections, chosen: set[int], sets: Ties, roots: list) -> list[tuple[int, int]]:
    """One body of each tree that nothing ties to the world: the one that the file marks, else the first that no joint
    has as its second."""
    second = {c.bodies[1] for c in connections if c.mobile}
    marked = {scene.body_numbers.get(str(each.GetPath())) for each in roots}
    groups: dict[int, list[int]] = {}
    for body in sorted(chosen):
        if sets.find(body) != sets.find(WORLD):
            groups.setdefault(sets.find(body), []).append(body)
    return [(WORLD, min(group, key=lambda b: (b not in marked, b in second, b))) for group in groups.values()]


def stands_still(scene: Scene, body: int) -> bool:
    """Whether a body that nothing holds is moved by the user alone."""
    return value(scene.bodies[body], "physics:kinematicEnabled") is True
