"""Robots before and after a conversion as Pinocchio and MuJoCo see them: torques, and extents of links in the world."""

import warnings
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin

import pinocchio_adapter as adapter
from mujoco_models import inverse_forces, rigid_body_model
from robots import EXAMPLE_ROBOTS, random_state
from steelyard.model.mjcf_compile import body_name
from steelyard.model.mujoco_state import force_from_mujoco, to_mujoco

DIRECTIONS = np.random.default_rng(0).normal(size=(40, 3))
DIRECTIONS = np.concatenate([DIRECTIONS / np.linalg.norm(DIRECTIONS, axis=1, keepdims=True), np.eye(3), -np.eye(3)])
ROLES = {"collision": pin.GeometryType.COLLISION, "visual": pin.GeometryType.VISUAL}


@dataclass
class View:
    """extents: by link and role, the support (40 + 6,) of its shapes in the world, m. torques: N m, (n, nv)."""

    extents: dict[tuple[str, str], np.ndarray]
    torques: np.ndarray


def states(robot, count=3, seed=0):
    """Random q, v, a (count, ...), mimic joints with their masters."""
    return random_state(robot, np.random.default_rng(seed), (count,))


def seen_by_pinocchio(path, robot, q, v, a) -> View:
    """A URDF without free base as Pinocchio sees it. robot: of the same joints, whose zero positions are the file's."""
    model = pin.buildModelFromUrdf(str(path))
    model.gravity.linear[:] = robot.gravity
    data = model.createData()
    torques = [adapter.inverse_dynamics(model, data, robot, *each) for each in zip(q, v, a, strict=True)]
    extents = {}
    folders = [str(Path(path).parent), str(EXAMPLE_ROBOTS.parent.parent), str(EXAMPLE_ROBOTS)]
    for role, kind in ROLES.items():
        shapes = pin.buildGeomFromUrdf(model, str(path), kind, package_dirs=folders)
        placed = pin.GeometryData(shapes)
        pin.updateGeometryPlacements(model, data, shapes, placed, adapter.configuration(model, robot, q[0]))
        for shape, place in zip(shapes.geometryObjects, placed.oMg, strict=True):
            own = _coal_support(shape, DIRECTIONS @ place.rotation) + DIRECTIONS @ place.translation
            _add(extents, (model.frames[shape.parentFrame].name, role), own)
    return View(extents, np.stack(torques) + robot.armature * a)  # which no URDF has


def _coal_support(shape, directions):
    solid = shape.geometry
    if hasattr(solid, "vertices"):
        return (directions @ np.asarray(solid.vertices()).T).max(axis=1)
    if hasattr(solid, "halfSide"):
        return np.abs(directions) @ solid.halfSide
    if hasattr(solid, "halfLength"):
        return _cylinder(directions, solid.radius, solid.halfLength)
    return np.full(len(directions), solid.radius)


def _cylinder(directions, radius, half):
    return radius * np.linalg.norm(directions[:, :2], axis=1) + half * np.abs(directions[:, 2])


def seen_by_mujoco(path, robot, q, v, a) -> View:
    """An MJCF file as MuJoCo sees it; loops and couplings are taken apart."""
    m = rigid_body_model(path)
    m.opt.gravity[:] = robot.gravity
    qpos, qvel, qacc = to_mujoco(m, robot, q, v, a)
    torques = force_from_mujoco(m, robot, qpos, inverse_forces(m, qpos, qvel, qacc))
    data = mujoco.MjData(m)
    data.qpos[:] = qpos[0]
    mujoco.mj_kinematics(m, data)
    extents = {}
    for geom in range(m.ngeom):
        support = _geom_support(m, geom, DIRECTIONS @ data.geom_xmat[geom].reshape(3, 3))
        if support is None:
            continue
        link = body_name(m, int(m.geom_bodyid[geom]))
        roles = ["visual"] if m.geom_group[geom] < 3 and shown(m, geom) else []
        roles += ["collision"] if m.geom_contype[geom] or m.geom_conaffinity[geom] else []
        for role in roles:
            _add(extents, (link, role), support + DIRECTIONS @ data.geom_xpos[geom])
    return View(extents, torques)


def shown(m, geom) -> bool:
    """Whether a geom has a colour that is not transparent."""
    return (m.geom_rgba[geom] if m.geom_matid[geom] < 0 else m.mat_rgba[m.geom_matid[geom]])[3] > 0


def _geom_support(m, geom, directions):
    size = m.geom_size[geom]
    match mujoco.mjtGeom(m.geom_type[geom]):
        case mujoco.mjtGeom.mjGEOM_BOX:
            return np.abs(directions) @ size
        case mujoco.mjtGeom.mjGEOM_SPHERE:
            return np.full(len(directions), size[0])
        case mujoco.mjtGeom.mjGEOM_CYLINDER:
            return _cylinder(directions, size[0], size[1])
        case mujoco.mjtGeom.mjGEOM_CAPSULE:
            return size[0] + size[1] * np.abs(directions[:, 2])
        case mujoco.mjtGeom.mjGEOM_ELLIPSOID:
            return np.linalg.norm(directions * size, axis=1)
        case mujoco.mjtGeom.mjGEOM_MESH:
            mesh = m.geom_dataid[geom]
            start = m.mesh_vertadr[mesh]
            faces = m.mesh_face[m.mesh_faceadr[mesh] : m.mesh_faceadr[mesh] + m.mesh_facenum[mesh]]
            return (directions @ m.mesh_vert[start + np.unique(faces)].astype(float).T).max(axis=1)
    return None


def _add(extents, key, support):
    extents[key] = np.maximum(extents.get(key, -np.inf), support)


def largest_difference(one: View, other: View, *, round_of=()) -> tuple[float, dict]:
    """Torques relative to the largest, and links whose extents differ, by how much in m."""
    torque = np.abs(one.torques - other.torques).max() / max(np.abs(one.torques).max(), 1e-9)
    apart = {}
    for key in one.extents.keys() | other.extents.keys():
        if key not in one.extents or key not in other.extents:
            apart[key] = np.inf if key in one.extents else -np.inf
            continue
        found, expected = other.extents[key], one.extents[key]
        size = max((expected + expected[[*range(40), 43, 44, 45, 40, 41, 42]]).max(), 1e-3)
        error = np.abs(found - expected).max()
        if error > 1e-6 * max(1.0, size, np.abs(expected).max()):
            apart[key] = float(error)
    return float(torque), apart


def quiet(function, *given, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*given, **named)
