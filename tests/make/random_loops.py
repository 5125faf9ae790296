"""Random robots with one loop of any kind, and geometry of such robots moved by hand."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import steelyard as sy
from random_robots import urdf_text
from robots import random_state
from steelyard.dynamics.kinematics import motion
from steelyard.model.loops import Loop
from steelyard.spatial import adjoint, left_jacobian, rotation_from_vector

FREE_MOTIONS = {"connect": (), "hinge": (), "weld": (), "slide": (2,), "cylinder": (2,)}


def robot_closed_at(seed: int, kind: str):
    """A random robot with one loop, and a configuration where it is closed."""
    rng = np.random.default_rng(seed)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "random.urdf"
        path.write_text(urdf_text(rng, links=6))
        robot = sy.load(path)
    q = random_state(robot, rng)[0]
    names = [None, *robot.body_names]
    first, second = rng.choice(len(names), size=2, replace=False)
    frames = []
    for body in (first, second):
        R, p = (np.eye(3), np.zeros(3)) if body == 0 else _pose(robot, body - 1, q)
        frames.append((R, p))
    world_R, world_p = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.normal(size=3)
    world_R = world_R * np.sign(np.linalg.det(world_R))
    turned = world_R if kind != "connect" else world_R[:, [1, 2, 0]]
    slid = world_p + sum(0.3 * world_R[:, axis] for axis in FREE_MOTIONS[kind])
    poses = [(world_R, world_p), (turned, slid)]
    rotations = np.stack([R.T @ W for (R, _), (W, _) in zip(frames, poses, strict=True)])
    positions = np.stack([R.T @ (w - p) for (R, p), (_, w) in zip(frames, poses, strict=True)])
    loop = Loop("ring", kind, (names[first], names[second]), rotations, positions)
    return replace(robot, loops=(loop,)), q[None]


def _pose(robot, body, q):
    still = np.zeros((robot.nv, 1))
    state = motion(robot, q[:, None], still, still)
    return state.rotation[body, ..., 0], state.position[body, :, 0]


def pose(xi):
    return rotation_from_vector(xi[3:]), left_jacobian(xi[3:]) @ xi[:3]


def moved(robot, joints, placements, closures):
    """The robot with moved axes (nj, 6), places (nj, 6) and closures (L, 2, 6)."""
    changed = []
    for joint, eta, xi in zip(robot.joints, joints, placements, strict=True):
        R, p = pose(xi)
        changed.append(
            replace(
                joint,
                subspace=adjoint(*pose(eta)) @ joint.subspace,
                rotation=joint.rotation @ R,
                position=joint.position + joint.rotation @ p,
            )
        )
    loops = []
    for loop, sides in zip(robot.loops, closures, strict=True):
        steps = [pose(xi) for xi in sides]
        R = np.stack([r @ step for r, (step, _) in zip(loop.rotations, steps, strict=True)])
        p = np.stack([at + r @ step for at, r, (_, step) in zip(loop.positions, loop.rotations, steps, strict=True)])
        loops.append(replace(loop, rotations=R, positions=p))
    return replace(robot, joints=tuple(changed), loops=tuple(loops), source=None)


def slope(function, step=5e-4):
    """Derivative at zero by central differences, extrapolated twice."""
    rows = [(function(h) - function(-h)) / (2 * h) for h in (step, step / 2, step / 4)]
    rows = [(4 * rows[i + 1] - rows[i]) / 3 for i in range(2)]
    return (16 * rows[1] - rows[0]) / 15
