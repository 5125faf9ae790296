"""Distances between the bodies of a robot and to the floor, from the convex hulls of their geometry, in MuJoCo."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.dynamics.kinematics import TreeMotion, tree
from steelyard.errors import OptionError
from steelyard.excite.hulls import corners_of, solids_of
from steelyard.excite.limits import Limits, MotionBounds
from steelyard.excite.thresholds import THRESHOLDS
from steelyard.model import Robot, mjcf_text
from steelyard.model.formats import document_of, opened
from steelyard.model.mjcf_compile import captured_warnings
from steelyard.model.mujoco_state import to_mujoco
from steelyard.model.robot import WORLD

FLOOR = -2  # body number of the floor
STATIC = "standing still"  # bodies that carry the geometry of the base and of what is around


@dataclass(frozen=True, eq=False)
class NearPairs:
    """Pairs that are too near."""

    sample: np.ndarray  # (c,) pose
    first: np.ndarray  # and `second`: (c,) bodies, below zero what stands still
    second: np.ndarray
    room: np.ndarray  # (c,) m of distance beyond what the pair needs
    normal: np.ndarray  # and `point`: (c, 3) world, normal from first to second
    point: np.ndarray

    def gradient(self, robot: Robot, state: TreeMotion, fixed: int = 2) -> np.ndarray:
        """(c, nv): change of each distance with the joints. state: motion of the poses, world axes and origin. fixed:
        number of things that stand still."""
        constants = tree(robot)
        moved = np.zeros((robot.nb + fixed, len(constants.degree_joint)))  # negative numbers are the last rows
        moved[: robot.nb] = constants.ancestors[robot.body_joints]
        axes = np.moveaxis(state.axes[:, :, self.sample], 2, 0)
        velocity = axes[:, :, :3] + np.cross(axes[:, :, 3:], self.point[:, None])
        along = np.einsum("ctk,ck->ct", velocity, self.normal)
        degrees = (moved[self.second] - moved[self.first]) * along * constants.ratios
        found = np.zeros((len(self.sample), robot.nv))
        np.add.at(found.T, constants.coordinates, degrees.T)
        return found


@dataclass(frozen=True, eq=False)
class CollisionScene:
    """Geometry of a robot. close: pairs of body numbers that stand nearer than the clearance in most poses, which may
    come to touching."""

    robot: Robot
    model: Any
    data: Any
    bodies: np.ndarray
    clearance: float = 0.0  # m that bodies keep
    close: tuple[tuple[int, int], ...] = ()
    corners: tuple[np.ndarray, ...] = ()  # per body (8, 3) of the box around its geometry, in body axes
    notes: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ("base", "floor")  # names of what stands still, of numbers -1 (WORLD), -2 (FLOOR), and on

    def name(self, body: int) -> str:
        return self.robot.body_names[body] if body >= 0 else self.fixed[-1 - body]

    def contacts(self, q, room: float = 0.0) -> NearPairs:
        """Pairs with less than `room` m beyond what they need, in poses q (n, nv)."""
        import mujoco

        m, d = self.model, self.data
        m.geom_margin[:] = max(self.clearance + room, 0.0)
        zero = np.zeros((len(q), self.robot.nv))
        qpos = to_mujoco(m, self.robot, q, zero, zero)[0]
        parts: list[tuple] = []
        with captured_warnings():
            for k in range(len(qpos)):
                d.qpos[:] = qpos[k]
                mujoco.mj_kinematics(m, d)
                mujoco.mj_collision(m, d)
                if d.ncon:
                    c, which = d.contact, np.full(d.ncon, k)
                    parts.append((which, c.geom.copy(), c.dist.copy(), c.frame[:, :3].copy(), c.pos.copy()))
        if not parts:
            nothing = np.zeros(0, dtype=int)
            return NearPairs(nothing, nothing, nothing, np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3)))
        sample, geoms, distance, normal, point = (np.concatenate(x) for x in zip(*parts, strict=True))
        first, second = self.bodies[geoms[:, 0]], self.bodies[geoms[:, 1]]
        pair = np.sort(np.stack([first, second]), axis=0)
        needed = np.where(_among(pair, self.close), 0.0, self.clearance)
        # one contact a pair: how many MuJoCo finds jumps with the pose, the nearest does not
        order = np.lexsort((distance, pair[1], pair[0], sample))
        labels = np.stack([sample, *pair])[:, order]
        nearest = np.ones(len(order), dtype=bool)
        nearest[1:] = (labels[:, 1:] != labels[:, :-1]).any(axis=0)
        deepest = np.zeros_like(nearest)
        deepest[order] = nearest
        near = deepest & (distance < needed + room)
        return NearPairs(*(x[near] for x in (sample, first, second, distance - needed, normal, point)))

    def with_pairs(self, poses) -> tuple["CollisionScene", tuple[tuple[int, int], ...]]:
        """The same with the pairs that usually stand close in poses (n, nq), and the pairs that always touch."""
        touching = _shares(replace(self, clearance=0.0).contacts(poses), len(poses))
        always = tuple(pair for pair, share in touching.items() if share == 1)
        nearer = _shares(self.contacts(poses), len(poses))
        close = tuple(pair for pair, share in nearer.items() if share > THRESHOLDS.usually_close and pair not in always)
        notes = [f"{self.name(a)} and {self.name(b)} always touch as hulls and are not compared." for a, b in always]
        if close:
            named = ", ".join(f"{self.name(a)} and {self.name(b)}" for a, b in close)
            notes.append(f"Mostly nearer than the clearance, and only kept from touching: {named}.")
        return replace(self, close=close, notes=(*self.notes, *notes)), always


def _among(pair, listed) -> np.ndarray:
    """(c,) whether pairs (2, c), the lesser number first, are in a list."""
    found = np.zeros(pair.shape[1], dtype=bool)
    for one, other in listed:
        found |= (pair[0] == min(one, other)) & (pair[1] == max(one, other))
    return found


def _shares(found: NearPairs, poses: int) -> dict[tuple[int, int], float]:
    pairs = np.stack([found.sample, np.minimum(found.first, found.second), np.maximum(found.first, found.second)])
    listed, often = np.unique(np.unique(pairs.T, axis=0)[:, 1:], axis=0, return_counts=True)
    return {(int(a), int(b)): count / poses for (a, b), count in zip(listed, often, strict=True)}


def scene_within(robot: Robot, bounds: MotionBounds, limits: Limits, poses) -> CollisionScene | None:
    """Scene of what limits look at, None without any or without geometry. poses: (n, nq) random ones, see
    `scene_of`."""
    if not limits.collisions and limits.floor is None and limits.cartesian_speed is None:
        return None
    around = obstacles(limits)
    scene = scene_of(
        robot, poses, clearance=limits.clearance, floor=limits.floor, moving=~bounds.locked, obstacles=around
    )
    if scene is None and around:
        raise OptionError(
            f"Robot '{robot.name}' has no geometry that could be read, so nothing would keep it from "
            f"{around[0]['name']}. Name the folder of its meshes (--folder DIR)."
        )
    return scene


def obstacles(limits: Limits) -> list[dict]:
    """What is said to stand around a robot, as of `ModelDocument.surroundings`: boxes, and a scene. Raises OptionError:
    boxes without volume, or a scene in which nothing stands; ModelError: one that cannot be read."""
    import mujoco

    found = []
    for k, box in enumerate(limits.boxes, start=1):
        numbers = np.asarray(box, dtype=float)
        if numbers.shape != (6,) or not np.isfinite(numbers).all() or (numbers[3:] <= 0).any():
            raise OptionError(
                f"Box {list(box)}: six numbers are needed, its centre x, y, z and its size along x, y, z, in m; sizes "
                "are positive."
            )
        place = {"pos": numbers[:3], "size": numbers[3:] / 2, "quat": np.array([1.0, 0.0, 0.0, 0.0])}
        found.append(place | {"name": f"box {k}", "type": mujoco.mjtGeom.mjGEOM_BOX})
    if limits.scene is not None:
        own = opened(limits.scene).surroundings(alone=True)
        if not own:
            raise OptionError(f"{limits.scene}: nothing stands in this scene: it has no solids that touch and stay.")
        found += [each | {"name": f"{each['name']} of the scene"} for each in own]
    return found


def scene_notes(robot: Robot, scene: CollisionScene | None, limits: Limits) -> tuple[str, ...]:
    """Notes on mimic joints and on geometry."""
    followers = [f"{joint.name} follows {joint.mimics}" for joint in robot.joints if joint.mimics is not None]
    notes = (f"Mimic joints move along: {', '.join(followers)}.",) if followers else ()
    if not limits.collisions:
        return notes
    if scene is None:
        return (*notes, f"Robot '{robot.name}' has no geometry that could be read; collisions were not looked at.")
    return (*notes, *scene.notes)


@captured_warnings()
def scene_of(
    robot: Robot,
    poses,
    *,
    clearance: float = 0.02,
    floor: float | None = None,
    moving=None,
    obstacles: Sequence[dict] = (),
) -> CollisionScene | None:
    """Scene of a robot read from a file, None where it has no geometry. poses: (n, nq) random ones, which tell the
    pairs that always touch (hulls fill hollows). clearance, floor: m. moving: (nv,) degrees that move; bodies that none
    moves against each other, and neighbours, are left aside. obstacles: beside those of the file."""
    import mujoco

    solids, notes = solids_of(robot)
    if not solids:
        return None
    file = document_of(robot)
    around = [*(file.surroundings() if file and file.exists else []), *obstacles]
    apart = dict.fromkeys(solid.name for solid in solids if solid.body == WORLD and not solid.carrier)
    fixed = ("base", "floor", *apart, *(each["name"] for each in around))
    spec = mujoco.MjSpec.from_string(mjcf_text(robot))
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_MULTICCD  # the nearest point of a pair is enough
    for number in range(-len(fixed), 0):
        if number != FLOOR:
            spec.worldbody.add_body(name=_spec_name(robot, number))
    numbers = []

    def add(number: int, vertices=None, **geom):
        name = f"hull{len(numbers)}"
        if vertices is not None:
            spec.add_mesh(name=name, uservert=np.ravel(vertices).tolist())
            geom |= {"type": mujoco.mjtGeom.mjGEOM_MESH, "meshname": name}
        spec.body(_spec_name(robot, number)).add_geom(name=name, mass=0.0, **geom)
        numbers.append(number)

    for solid in solids:
        add(solid.body if solid.name not in apart else -1 - fixed.index(solid.name), solid.vertices)
    for each in around:
        add(-1 - fixed.index(each["name"]), **{key: value for key, value in each.items() if key != "name"})
    if floor is not None:
        add(FLOOR, type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], pos=[0, 0, floor])
    corners = tuple(corners_of([solid.vertices for solid in solids if solid.body == b]) for b in range(robot.nb))

    def compiled(pairs) -> CollisionScene:
        for one, other in pairs:
            spec.add_exclude(bodyname1=_spec_name(robot, one), bodyname2=_spec_name(robot, other))
        model = spec.compile()
        bodies = np.array([numbers[int(model.geom(i).name.removeprefix("hull"))] for i in range(model.ngeom)])
        return CollisionScene(robot, model, mujoco.MjData(model), bodies, clearance, (), corners, notes, fixed)

    made, always = compiled(_unmoved(robot, moving, len(fixed))).with_pairs(np.asarray(poses, dtype=float))
    if not always:
        return made
    return replace(compiled(always), close=made.close, notes=made.notes)


def _spec_name(robot: Robot, body: int) -> str:
    """Name of a body in the specification; the floor belongs to the world, what else stands still to bodies of its own,
    so that pairs can be left aside one by one."""
    return robot.body_names[body] if body >= 0 else "world" if body == FLOOR else f"{STATIC} {-body}"


def _unmoved(robot: Robot, moving, fixed: int) -> list[tuple[int, int]]:
    """Pairs of bodies, or of one and what stands still, that are neighbours or that no moving joint moves against each
    other."""
    constants = tree(robot)
    moves = np.ones(robot.nv, dtype=bool) if moving is None else np.asarray(moving)
    above = constants.ancestors[robot.body_joints] * moves[constants.coordinates]  # (nb, nt)
    together = [(j, i) for i in range(robot.nb) for j in range(i + 1, robot.nb) if np.array_equal(above[i], above[j])]
    still = [(-1 - k, int(i)) for i in np.flatnonzero(~above.any(axis=1)) for k in range(fixed)]
    standing = (i for i, joint in enumerate(robot.body_joints) if robot.carrier(joint) == WORLD)
    return together + still + [(WORLD, i) for i in standing if above[i].any()]
