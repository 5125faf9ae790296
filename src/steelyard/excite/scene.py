"""Distances between the bodies of a robot and to the floor, from the convex hulls of their geometry, in MuJoCo."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.check.scan import scan
from steelyard.dynamics.kinematics import Motion, tree
from steelyard.model.mjcf_new import draft
from steelyard.model.mujoco_state import to_mujoco
from steelyard.model.robot import WORLD, Robot

FLOOR = -2  # body number of the floor
GROUND = "ground"
STATIC = "hulls of the base"  # body that carries the geometry of the base
MOSTLY = 0.5  # share of random poses from which a pair nearer than the clearance counts as close
FEW_CORNERS = 4  # vertices of the least solid


@dataclass(frozen=True, eq=False)
class Contacts:
    """Pairs nearer than asked. sample: (c,) pose; first, second: (c,) bodies, WORLD for the base, FLOOR; room: (c,) m
    of distance beyond what the pair needs; normal, point: (c, 3) world, normal from first to second.
    """

    sample: np.ndarray
    first: np.ndarray
    second: np.ndarray
    room: np.ndarray
    normal: np.ndarray
    point: np.ndarray

    def gradient(self, robot: Robot, state: Motion) -> np.ndarray:
        """(c, nv): change of each distance with the joints. state: motion of the poses, world axes and origin."""
        constants = tree(robot)
        moved = np.zeros((robot.nb + 2, len(constants.degree_joint)))  # last two rows: FLOOR and WORLD stay
        moved[: robot.nb] = constants.ancestors[robot.body_joints]
        axes = np.moveaxis(state.axes[:, :, self.sample], 2, 0)
        velocity = axes[:, :, :3] + np.cross(axes[:, :, 3:], self.point[:, None])
        along = np.einsum("ctk,ck->ct", velocity, self.normal)
        degrees = (moved[self.second] - moved[self.first]) * along * constants.ratios
        found = np.zeros((len(self.sample), robot.nv))
        np.add.at(found.T, constants.coordinates, degrees.T)
        return found


@dataclass(frozen=True, eq=False)
class Scene:
    """Geometry of a robot. clearance: m that bodies keep. close: pairs of body numbers that stand nearer than the
    clearance in most poses, which may come to touching. corners: per body (8, 3) of the box around its geometry, in
    body axes.
    """

    robot: Robot
    model: Any
    data: Any
    bodies: np.ndarray
    clearance: float = 0.0
    close: tuple[tuple[int, int], ...] = ()
    corners: tuple[np.ndarray, ...] = ()
    notes: tuple[str, ...] = ()

    def name(self, body: int) -> str:
        return {WORLD: "base", FLOOR: "floor"}.get(body) or self.robot.body_names[body]

    def contacts(self, q, room: float = 0.0) -> Contacts:
        """Pairs with less than `room` m beyond what they need, in poses q (n, nv)."""
        import mujoco

        m, d = self.model, self.data
        m.geom_margin[:] = max(self.clearance + room, 0.0)
        zero = np.zeros((len(q), self.robot.nv))
        qpos = to_mujoco(m, self.robot, q, zero, zero)[0]
        parts: list[tuple] = []
        for k in range(len(qpos)):
            d.qpos[:] = qpos[k]
            mujoco.mj_kinematics(m, d)
            mujoco.mj_collision(m, d)
            if d.ncon:
                c = d.contact
                parts.append((np.full(d.ncon, k), c.geom.copy(), c.dist.copy(), c.frame[:, :3].copy(), c.pos.copy()))
        if not parts:
            nothing = np.zeros(0, dtype=int)
            return Contacts(nothing, nothing, nothing, np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3)))
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
        kept = deepest & (distance < needed + room)
        return Contacts(*(x[kept] for x in (sample, first, second, distance - needed, normal, point)))

    def judged(self, poses) -> tuple["Scene", tuple[tuple[int, int], ...]]:
        """The same with pairs known that mostly stand close in poses (n, nq), and the pairs that always touch."""
        touching = _shares(replace(self, clearance=0.0).contacts(poses), len(poses))
        always = tuple(pair for pair, share in touching.items() if share == 1)
        nearer = _shares(self.contacts(poses), len(poses))
        close = tuple(pair for pair, share in nearer.items() if share > MOSTLY and pair not in always)
        told = [f"{self.name(a)} and {self.name(b)} always touch as hulls and are not compared." for a, b in always]
        if close:
            named = ", ".join(f"{self.name(a)} and {self.name(b)}" for a, b in close)
            told.append(f"Mostly nearer than the clearance, and only kept from touching: {named}.")
        return replace(self, close=close, notes=(*self.notes, *told)), always


def _among(pair, listed) -> np.ndarray:
    """(c,) whether pairs (2, c), the lesser number first, are in a list."""
    found = np.zeros(pair.shape[1], dtype=bool)
    for one, other in listed:
        found |= (pair[0] == min(one, other)) & (pair[1] == max(one, other))
    return found


def _shares(found: Contacts, poses: int) -> dict[tuple[int, int], float]:
    """Share of the poses in which each pair was found."""
    pairs = np.stack([found.sample, np.minimum(found.first, found.second), np.maximum(found.first, found.second)])
    listed, often = np.unique(np.unique(pairs.T, axis=0)[:, 1:], axis=0, return_counts=True)
    return {(int(a), int(b)): count / poses for (a, b), count in zip(listed, often, strict=True)}


def scene_of(robot: Robot, poses, *, clearance: float = 0.02, floor: float | None = None, moving=None) -> Scene | None:
    """Scene of a robot read from a file, None where it has no geometry.

    poses: (n, nq) random ones, which tell the pairs that always touch (hulls fill hollows). clearance: m. floor: height
    m or None. moving: (nv,) degrees that move, all by default; bodies that no such joint moves against each other are
    left aside, and so are neighbours.
    """
    import mujoco

    solids, notes = solids_of(robot)
    if not solids:
        return None
    spec = mujoco.MjSpec.from_string(draft(robot, Path("robot.xml")).files[-1][1].decode())
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_MULTICCD  # the nearest point of a pair is enough
    spec.worldbody.add_body(name=STATIC)  # apart from the floor, which stays compared with what stands on the base
    numbers = []
    for i, (body, vertices) in enumerate(solids):
        spec.add_mesh(name=f"hull{i}", uservert=vertices.ravel().tolist())
        spec.body(_spec_name(robot, body)).add_geom(
            name=f"hull{i}", type=mujoco.mjtGeom.mjGEOM_MESH, meshname=f"hull{i}", mass=0.0
        )
        numbers.append(body)
    if floor is not None:
        spec.worldbody.add_geom(name=GROUND, type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], pos=[0, 0, floor])
    corners = tuple(_corners([v for body, v in solids if body == b]) for b in range(robot.nb))

    def compiled(pairs) -> Scene:
        for one, other in pairs:
            spec.add_exclude(bodyname1=_spec_name(robot, one), bodyname2=_spec_name(robot, other))
        model = spec.compile()
        bodies = np.array([_body_of(model.geom(i).name, numbers) for i in range(model.ngeom)])
        return Scene(robot, model, mujoco.MjData(model), bodies, clearance, (), corners, notes)

    made, always = compiled(_unmoved(robot, moving)).judged(np.asarray(poses, dtype=float))
    if not always:
        return made
    return replace(compiled(always), close=made.close, notes=made.notes)


def _spec_name(robot: Robot, body: int) -> str:
    return STATIC if body == WORLD else robot.body_names[body]


def _unmoved(robot: Robot, moving) -> list[tuple[int, int]]:
    """Pairs of bodies, or of one and the base, that are neighbours or that no moving joint moves against each other."""
    constants = tree(robot)
    moves = np.ones(robot.nv, dtype=bool) if moving is None else np.asarray(moving)
    above = constants.ancestors[robot.body_joints] * moves[constants.coordinates]  # (nb, nt)
    above = np.concatenate([above, np.zeros((1, above.shape[1]))])  # the last row is that of the base
    number = [*range(robot.nb), WORLD]
    return [
        (number[j], i)
        for i in range(robot.nb)
        for j in range(i + 1, robot.nb + 1)
        if np.array_equal(above[i], above[j]) or (number[j] == WORLD and _stands_on(robot, i) == WORLD)
    ]


def _body_of(name: str, numbers) -> int:
    return FLOOR if name == GROUND else numbers[int(name.removeprefix("hull"))]


def _stands_on(robot: Robot, body: int) -> int:
    """The body, or WORLD, that a body's chain of joints hangs on."""
    joint = int(robot.parents[robot.body_joints[body]])
    while joint != WORLD and joint not in robot.body_joints:
        joint = int(robot.parents[joint])
    return joint if joint == WORLD else int(np.flatnonzero(robot.body_joints == joint)[0])


def solids_of(robot: Robot) -> tuple[list[tuple[int, np.ndarray]], tuple[str, ...]]:
    """Body and vertices (n, 3), in its frame, of each solid; collision geometry where there is any, else visual."""
    if robot.source is None or not robot.source.path.exists():
        return [], ()
    places = {link.name: link for link in robot.links}
    solids, missing = [], []
    for part in scan(robot.source.path).parts:
        link = places.get(part.name)
        if link is None:
            continue
        shapes = [s for s in part.shapes if s.role == "collision"] or list(part.shapes)
        shapes = [s.vertices for s in shapes if s.vertices is not None and len(s.vertices) >= FEW_CORNERS]
        solids += [(link.body, hull_vertices(v) @ link.rotation.T + link.position) for v in shapes]
        if part.partial:
            missing.append(part.name)
    said = f"Geometry of {', '.join(missing)} was not read, so nothing keeps other bodies away from it."
    return solids, (said,) if missing else ()


def hull_vertices(vertices) -> np.ndarray:
    """Corners (k, 3) of the convex hull of points (n, 3); of their box where they have no volume."""
    from scipy.spatial import ConvexHull, QhullError

    vertices = np.asarray(vertices, dtype=float)
    try:
        return vertices[ConvexHull(vertices).vertices]
    except QhullError:
        return _corners([vertices + thin for thin in (-1e-4, 1e-4)])


def _corners(solids) -> np.ndarray:
    """Eight corners (8, 3) of the box around solids, or the origin (1, 3) where there are none."""
    if not solids:
        return np.zeros((1, 3))
    points = np.concatenate(solids)
    ends = np.stack([points.min(axis=0), points.max(axis=0)])
    return np.array([[ends[i, 0], ends[j, 1], ends[k, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
