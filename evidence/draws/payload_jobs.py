"""Random payloads with known truth: shapes, densities inside them, motions and sensors."""

from dataclasses import dataclass

import numpy as np
import trimesh
from scipy.spatial.transform import Rotation

from evidence.bench.tray_experiment import NOISE, POSE_NOISE, wrist_motion
from steelyard.inertia import parameters
from steelyard.payload import WrenchLog, filter_motion

SHAPES = ("box", "rod", "plate", "ellipsoid", "cylinder", "tube", "hammer")
DENSITIES = ("homogeneous", "core", "shell", "random")
MOTIONS = ("exact", "noisy", "filtered", "poses")
LEVELS = ("low", "moderate", "high")
INSIDE = 400  # points of a shape's inside that concentrated masses are drawn from
BALL = 60  # points of a core


@dataclass(frozen=True, eq=False)
class Thing:
    """shape: a closed mesh in the sensor frame; theta: (10,) of what it really holds."""

    shape: trimesh.Trimesh
    theta: np.ndarray
    kind: str
    density: str


def thing(rng, kind: str, density: str) -> Thing:
    """A payload of a kind of shape and of density, somewhere in front of the sensor."""
    mesh, inside = _shape(rng, kind)
    mass = float(np.clip(abs(mesh.volume) * 10 ** rng.uniform(2.0, 3.7), 0.03, 8.0))
    theta = mass * _spread(rng, mesh, inside, density)
    R = Rotation.random(rng=rng).as_matrix()
    p = np.array([0, 0, 0.03]) + rng.uniform(0, 0.1, 3) - R @ mesh.bounds.mean(axis=0)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = R, p
    return Thing(mesh.copy().apply_transform(pose), parameters.transform(theta, R, p), kind, density)


def _shape(rng, kind):
    """A mesh, and (n, 3) points evenly inside it."""
    a, b, c = np.sort(10 ** rng.uniform(-1.5, -0.6, 3))[::-1]
    create = trimesh.creation
    if kind in ("box", "rod", "plate"):
        sides = {"box": (a, b, c), "rod": (a, 0.1 * a, 0.1 * a), "plate": (a, b, 0.02 * a)}[kind]
        return create.box(sides), rng.uniform(-0.5, 0.5, (INSIDE, 3)) * sides
    if kind == "ellipsoid":
        ball = create.icosphere(3)
        ball.apply_scale([a / 2, b / 2, c / 2])
        x = rng.normal(size=(INSIDE, 3))
        x *= rng.uniform(size=(INSIDE, 1)) ** (1 / 3) / np.linalg.norm(x, axis=1, keepdims=True)
        return ball, x * [a / 2, b / 2, c / 2]
    if kind in ("cylinder", "tube"):
        hole = 0.7 if kind == "tube" else 0.0
        mesh = create.annulus(hole * b / 2, b / 2, a) if hole else create.cylinder(b / 2, a)
        radius = b / 2 * np.sqrt(rng.uniform(hole**2, 1, INSIDE))
        angle = rng.uniform(0, 2 * np.pi, INSIDE)
        return mesh, np.stack([radius * np.cos(angle), radius * np.sin(angle), rng.uniform(-a / 2, a / 2, INSIDE)], 1)
    handle, head = np.array([a, 0.15 * a, 0.15 * a]), np.array([0.25 * a, 0.5 * a, 0.3 * a])
    shift = np.array([(a + 0.25 * a) / 2, 0, 0])
    mesh = trimesh.util.concatenate([create.box(handle), create.box(head).apply_translation(shift)])
    in_head = rng.uniform(size=(INSIDE, 1)) < head.prod() / (head.prod() + handle.prod())
    unit = rng.uniform(-0.5, 0.5, (INSIDE, 3))
    return mesh, np.where(in_head, unit * head + shift, unit * handle)


def _spread(rng, mesh, inside, density):
    """(10,) of 1 kg. A core: most of it in a small ball; a shell: most of it on the surface; random: in a few lumps."""
    even = parameters.from_com_inertia(1.0, mesh.center_mass, mesh.moment_inertia / mesh.volume)
    if density == "homogeneous":
        return even
    share = rng.uniform(0.7, 1.0)
    if density == "shell":
        points, _ = trimesh.sample.sample_surface(mesh, 4000, seed=int(rng.integers(1 << 31)))
        return share * _masses(points).mean(axis=0) + (1 - share) * even
    if density == "core":
        center = mesh.center_mass if rng.uniform() < 0.5 and mesh.euler_number > 0 else inside[0]
        near = np.argsort(np.linalg.norm(inside - center, axis=1))[: rng.integers(4, BALL)]
        return share * _masses(inside[near]).mean(axis=0) + (1 - share) * even
    lumps = rng.integers(2, 7)
    share = rng.uniform(0.5, 1.0)
    return share * rng.dirichlet(np.ones(lumps)) @ _masses(inside[:lumps]) + (1 - share) * even


def _masses(points):
    """(n, 10) of 1 kg at each point."""
    return np.stack([parameters.from_com_inertia(1.0, x, np.zeros((3, 3))) for x in points])


def held(rng, theta, motion: str, level: str) -> WrenchLog:
    """A log of what holds theta. exact: only the wrench has noise; noisy: the acceleration, too; filtered: motion from
    noisy poses; poses: samples at rest."""
    if motion == "poses":
        count = int(rng.integers(5, 60))
        rotation = Rotation.random(count, rng=rng).as_matrix()
        log = WrenchLog(t=np.arange(count) * 1.0, wrench=np.zeros((count, 6)), rotation=rotation)
    else:
        log = wrist_motion(10 ** rng.uniform(-0.3, 0.6), rng.uniform(0.8, 8.0), start=rng.uniform(0, 60))
    angular, linear, force, torque = NOISE[level]
    noise = rng.normal(size=(len(log), 6)) * np.repeat([force, torque], 3)
    log = log.replace(wrench=felt(log, theta) + noise)
    if motion == "noisy":
        return log.replace(
            acceleration=log.acceleration + rng.normal(size=(len(log), 6)) * np.repeat([linear, angular], 3)
        )
    if motion == "filtered":
        loud = NOISE[level][0] / NOISE["moderate"][0]
        tremble = Rotation.from_rotvec(loud * POSE_NOISE[1] * rng.normal(size=(len(log), 3))).as_matrix()
        position = log.position + loud * POSE_NOISE[0] * rng.normal(size=(len(log), 3))
        return filter_motion(log.replace(rotation=log.rotation @ tremble, position=position))
    return log


def felt(log: WrenchLog, theta) -> np.ndarray:
    """(n, 6) wrench of Newton and Euler, written out sample by sample and without the library's regressor."""
    mass, com, inertia = parameters.to_com_inertia(theta)
    origin, (twist, acceleration) = log.origin_acceleration, log.motion
    w, alpha = twist[:, 3:], acceleration[:, 3:]
    center = origin + np.cross(alpha, com) + np.cross(w, np.cross(w, com))
    force = mass * (center - log.gravity_in_sensor)
    spin = alpha @ inertia + np.cross(w, w @ inertia)
    return np.concatenate([force, spin + np.cross(com, force)], axis=1)
