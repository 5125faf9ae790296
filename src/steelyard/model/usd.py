"""A USD file as a robot: rigid bodies are its links, joints between them its tree and its loop closures.

One walk makes a `Scene` with everything odd in it, of which both the tolerant sketch and the strict robot are made.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import ModelError
from steelyard.lazy import later
from steelyard.model.assemble import Forest, Ties, assemble, forest, segments_of
from steelyard.model.changes import unused
from steelyard.model.document import ModelDocument
from steelyard.model.drive import Drive
from steelyard.model.loops import Loop
from steelyard.model.meshes import Piece
from steelyard.model.robot import WORLD, ModelSource, Robot
from steelyard.model.sketch import Inertial, Sketch, SketchJoint, SketchPart
from steelyard.model.usd_files import Layers, composed, is_text, layers_of, quiet
from steelyard.model.usd_geometry import (
    SITES,
    GprimSolid,
    inertial_of,
    pieces_of,
    shapes_of,
    solids_of,
    surroundings_of,
)
from steelyard.model.usd_joints import (
    CLOSES,
    Connection,
    connections_of,
    drives_of,
    is_stacked,
    joint_of,
    limits_of,
    mimics_of,
)
from steelyard.model.usd_scene import Scene, applied, names_of, value
from steelyard.spatial import GRAVITY, Pose

APART = 1e-4  # rad and m: between frames of joints that add up


@dataclass(frozen=True, eq=False)
class UsdDocument(ModelDocument):
    """A USD file, with the layers that it names."""

    @cached_property
    def layers(self) -> Layers:
        """It and what it is composed of. Raises ModelError as `layers_of`."""
        return layers_of(self.path, self.folders)

    @cached_property
    def stage(self) -> Any:
        """The composed `Usd.Stage`. Raises ModelError as `composed`."""
        return composed(self.layers, self.path)

    def scene(self) -> Scene:
        """What is in it, nothing of it read yet."""
        scene = Scene(self.stage, self.path, self.lines)
        if self.layers.missing:
            scene.note("layers are not there, and what is in them is not read", self.layers.missing)
        return scene

    @cached_property
    def lines(self) -> dict[str, int]:
        """Line of each prim that the file itself has, where it is text."""
        if not is_text(self.path):
            return {}
        from steelyard.model.usd_text import prims_of

        return {path: prim.line for path, prim in prims_of(self.path.read_bytes().decode(errors="replace")).items()}

    @property
    def whole(self) -> bool:
        with quiet():
            scene = self.scene()
            return bool(scene.bodies and connections_of(scene))

    def referenced(self) -> Iterator[Path]:
        yield from (file for file in self.layers.paths.values() if file != self.path)

    def robot(self, *, floating, gravity) -> Robot:
        with quiet():
            found = _read(self.scene())
            scene = found.scene
            drives, world = drives_of(scene, found.connections), found.world
            parts = dict(enumerate(found.parts(shapes=False)[: len(found.tree.order)]))
            joints = found.joints(drives)
            if scene.refusals:
                raise ModelError(scene.refusals[0])
            robot = assemble(
                found.name,
                segments_of(parts, joints, world),
                floating=floating,
                gravity=_gravity(scene) if gravity is None else gravity,
                source=ModelSource(self.path.absolute(), "usd", self.folders),
                notes=scene.notes,
                closures=found.closures(),
                places=found.places(),
            )
            loops = tuple(loop for loop in robot.loops if loop.bodies[0] != loop.bodies[1])
            driven = [name for name in robot.joint_names if name in drives] if loops else ()
            known = {name: drive for name in robot.dof_names if (drive := drives.get(name)) is not None}
            notes = tuple(dict.fromkeys((*robot.notes, *scene.notes)))
            return replace(robot, loops=loops, actuated=tuple(driven), drives=known, notes=notes)

    def sketch(self, *, meshes: bool = True) -> Sketch:
        with quiet():
            found = _read(self.scene())
            if not found.scene.bodies:
                raise ModelError(f"{self.path} has no rigid body (PhysicsRigidBodyAPI); there is nothing to check.")
            parts, joints = found.parts(), found.joints(drives_of(found.scene, found.connections))
            return Sketch(self.path, "usd", "body", parts, joints, tuple(found.scene.faults), tuple(found.scene.notes))

    def pieces(self) -> Iterator[Piece]:
        with quiet():
            found = list(pieces_of(self.scene()))
        yield from found

    def surroundings(self, *, alone: bool = False) -> list[dict]:
        with quiet():
            return surroundings_of(self.scene())

    edited = later("steelyard.model", "usd_write.edited")
    with_inertials = later("steelyard.model", "usd_write.with_inertials")


@dataclass(frozen=True, eq=False)
class SceneReading:
    """A scene as it was understood."""

    scene: Scene
    connections: list[Connection]
    tree: Forest  # of bodies and connections by number
    solids: dict[int | None, list[GprimSolid]]
    inertials: dict[int, Inertial | None]  # of bodies by number, None where there is none
    inferred: set[int]  # numbers of those that state nothing, whose colliders weigh
    mimics: dict[str, tuple[str, float, float]]

    @property
    def name(self) -> str:
        prim = self.scene.stage.GetDefaultPrim()
        return names_of([prim])[0] if prim else self.scene.path.stem

    def carrying(self, body: int) -> list[tuple[Connection, int]]:
        """What carries a body, outermost first, each with the one of its ends that the body is; none of one that
        floats."""
        carrier = self.tree.carriers.get(body)
        return [] if carrier is None else [(self.connections[index], end) for index, end in carrier.joints]

    def _pose(self, body: int) -> Pose:
        """Of a body in what carries it: of joints that add up the first one's."""
        if body not in self.tree.carriers:
            frame = self.scene.frames[body]
            return frame.rotation, frame.position
        (first, child), *others = self.carrying(body)
        R, p = first.pose(child)
        for other, end in others:
            turned, moved = other.pose(end)
            if max(np.abs(turned - R).max(), np.abs(moved - p).max()) > APART:
                said = f"its frames place the body elsewhere than those of {first.name}, to which it adds up."
                self.scene.fault("SY506", other.prim, said, remedy="Let them agree at zero.")
        return R, p

    @property
    def world(self) -> str | None:
        """Name of the world as a part, where a joint that moves stands on it, or several trees do."""
        if not self.tree.order:
            self.scene.refusals.append(
                f"{self.scene.path} has no bodies (PhysicsRigidBodyAPI) with a joint between them; a robot needs some."
            )
        roots = self.tree.roots
        moving = any(c.kind is not None for body in roots for c, _ in self.carrying(body))
        return unused("world", self.scene.body_names) if moving or len(roots) != 1 else None

    def parts(self, *, shapes: bool = True) -> tuple[SketchPart, ...]:
        """Of a sketch; bodies outside the tree come last, where they stand."""
        names, found, places = self.scene.body_names, [], {}
        rest = [body for body in range(len(names)) if body not in self.tree.root]
        for body in (*self.tree.order, *rest):
            places[body] = len(found)
            R, p = self._pose(body)
            held, by_hand = body in self.tree.carriers, value(self.scene.bodies[body], "physics:kinematicEnabled")
            inertial, weighed = self.inertials[body], body in self.inferred
            found.append(
                SketchPart(
                    names[body],
                    self.scene.place(self.scene.bodies[body]),
                    places.get(self.tree.parent(body)),
                    R,
                    p,
                    any(c.kind is not None for c, _ in self.carrying(body)) if held else not by_hand,
                    None if weighed else inertial,
                    shapes_of(self.scene, self.solids.get(body, [])) if shapes else (),
                    inertial.mass if weighed and inertial is not None else 0.0,
                    theta=inertial.theta if weighed and inertial is not None else None,
                    known=inertial is not None and inertial.mass != 0,
                )
            )
        return tuple(found)

    def joints(self, drives: Mapping[str, Drive | None]) -> tuple[SketchJoint, ...]:
        found = []
        for number, body in enumerate(self.tree.order):
            for connection, end in self.carrying(body):
                single = connection.kind in ("revolute", "prismatic")
                limits = limits_of(self.scene, connection) if single else {}
                placed = connection.kind and joint_of(self.scene, connection, end, self.mimics)
                place = self.scene.place(connection.prim)
                found.append(
                    SketchJoint(
                        connection.name,
                        place,
                        connection.prim.GetTypeName().removeprefix("Physics"),
                        number,
                        limits,
                        place,
                        mimics=connection.name in self.mimics,
                        required_limits=("effort",) if connection.name in drives else (),
                        placed=placed or None,
                    )
                )
        return tuple(found)

    def closures(self) -> Iterator[Loop]:
        """Joints that the tree leaves over."""
        names = [*self.scene.body_names, None]  # the last is the world's
        for each in (self.connections[index] for index in self.tree.closing):
            if each.kind in CLOSES:
                one, other = (names[body] for body in each.bodies)
                yield Loop(each.name, CLOSES[each.kind], (one, other), *map(np.stack, zip(*each.ends, strict=True)))
            else:
                self.scene.note(
                    "a joint closes a loop and is of a kind that no closure has; it is not read", [each.name]
                )

    def places(self) -> Iterator[tuple[str, str, Pose]]:
        """Prims marked as sites, on the bodies that carry them."""
        prims = [(each, self.scene.body_of(each)) for each in self.scene.prims if applied(each, *SITES)]
        prims = [(each, body) for each, body in prims if body is not None and body in self.tree.root]
        for name, (prim, body) in zip(names_of([each for each, _ in prims]), prims, strict=True):
            seen = self.scene.frames[body].seen(self.scene.frame(prim))
            yield name, self.scene.body_names[body], (seen.rotation, seen.position)


def _read(scene: Scene) -> SceneReading:
    connections = connections_of(scene)
    tree = _tree(scene, connections)
    solids = solids_of(scene)
    inertials, inferred = {}, set()
    for body in range(len(scene.bodies)):
        inertials[body], weighed = inertial_of(scene, body, solids.get(body, []))
        inferred |= {body} if weighed else set()
    names = scene.body_names
    scene.note("masses that are not stated are those of colliders", (names[b] for b in tree.order if b in inferred))
    sprung = (c.name for c in connections if scene.number(c.prim, "mjc:stiffness"))
    scene.note("springs of joints are not modelled; their forces stay in the torques", sprung)
    return SceneReading(scene, connections, tree, solids, inertials, inferred, mimics_of(scene, connections))


def _gravity(scene: Scene) -> np.ndarray:
    """(3,) m/s^2 of the first physics scene; that of the earth along the down axis where it leaves it open."""
    from pxr import UsdGeom

    down = 0.0 - np.eye(3)[1 if UsdGeom.GetStageUpAxis(scene.stage) == "Y" else 2]
    prim = next((each for each in scene.prims if each.GetTypeName() == "PhysicsScene"), None)
    if prim is None:
        return -GRAVITY[2] * down
    if value(prim, "newton:gravityEnabled") is False or value(prim, "mjc:flag:gravity") is False:
        return np.zeros(3)
    direction, size = value(prim, "physics:gravityDirection"), scene.number(prim, "physics:gravityMagnitude")
    size = -GRAVITY[2] if size is None or np.isinf(size) else size * scene.units.length
    along = down if direction is None else np.array(direction, dtype=float)
    return size * along / np.linalg.norm(along) if along.any() else size * down


def _tree(scene: Scene, connections: list[Connection]) -> Forest:
    """Bodies of the scene's articulations, or of the trees with joints that move where it names none.

    A joint is part of the tree unless the file excludes it or it comes after those that hold its bodies already.
    """
    from pxr import UsdPhysics

    roots = [each for each in scene.prims if each.HasAPI(UsdPhysics.ArticulationRootAPI)]
    chosen = _chosen(scene, connections, roots)
    second = {c.bodies[1] for c in connections if c.mobile}
    marked = {scene.body_numbers.get(str(each.GetPath())) for each in roots}

    def floating(tied: Ties) -> Iterator[int]:
        """One body of each tree that nothing ties to the world: the one that the file marks, else the first that no
        joint has as its second."""
        groups: dict[int, list[int]] = {}
        for body in sorted(chosen):
            groups.setdefault(tied.find(body), []).append(body)
        groups.pop(tied.find(WORLD), None)
        yield from (min(group, key=lambda b: (b not in marked, b in second, b)) for group in groups.values())

    tree = forest(
        {index: each.bodies for index, each in enumerate(connections) if set(each.bodies) & chosen},
        floating,
        bound=lambda index: connections[index].mobile,
        adds=lambda index: is_stacked(connections[index], roots),
        by_number=True,
    )
    left = len(scene.bodies) - len(tree.order)
    if left and tree.order:
        scene.notes.append(f"{scene.path.name}: {left} rigid bodies are not part of an articulation; left out.")
    return tree


def _chosen(scene: Scene, connections: list[Connection], roots: list) -> set[int]:
    sets = Ties()
    for each in connections:
        if WORLD not in each.bodies:
            sets.join(*each.bodies)
    marked = set()
    for root in roots:
        path = root.GetPath()
        marked |= {sets.find(i) for i, body in enumerate(scene.bodies) if body.GetPath().HasPrefix(path)}
        below = [c for c in connections if c.prim.GetPath().HasPrefix(path)]
        marked |= {sets.find(b) for c in below for b in c.bodies if b != WORLD}
    if not marked:
        marked = {sets.find(b) for c in connections if c.kind is not None for b in c.bodies if b != WORLD}
    if not marked and len(scene.bodies) == 1:
        marked = {0}
    return {i for i in range(len(scene.bodies)) if sets.find(i) in marked}
