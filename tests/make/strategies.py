"""Hypothesis strategies for what the library works on: robots, logs, meshes, constraint sets.

Shapes come from Hypothesis, so that examples shrink to few links, samples and faces; numbers come from a drawn seed.
"""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

import steelyard as sy
from problems import random_log
from random_bodies import rotations
from random_robots import TYPES, seeds, urdf_text
from steelyard.inertia import Ellipsoid


@st.composite
def robots(draw, *, most: int = 6, types=TYPES, mimic: bool = True) -> sy.Robot:
    """Robots of up to `most` links with at least one joint, read from URDF."""
    rng = np.random.default_rng(draw(seeds))
    text = urdf_text(rng, links=draw(st.integers(2, most)), types=types, mimic=mimic)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "random.urdf"
        path.write_text(text, encoding="utf-8")
        return sy.load(path)


@st.composite
def logs(draw, robot: sy.Robot, *, least: int = 2, most: int = 60, noise: float = 0.0) -> sy.Log:
    """Logs of random states of a robot, with its own torques."""
    rng = np.random.default_rng(draw(seeds))
    samples = draw(st.integers(least, most))
    return random_log(robot, rng, samples=samples, noise=noise, torque=partial(sy.inverse_dynamics, robot))


@st.composite
def meshes(draw, *, most: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Closed meshes: vertices (n, 3) in m and outward faces (f, 3) of convex hulls, turned and moved."""
    rng = np.random.default_rng(draw(seeds))
    points = rng.normal(size=(draw(st.integers(4, most)), 3)) * rng.uniform(0.05, 0.5, size=3)
    hull = ConvexHull(points @ rotations(draw(seeds)).T + rng.normal(size=3))
    corners = hull.points[hull.simplices]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.einsum("ij,ij->i", normals, hull.equations[:, :3]) < 0
    return hull.points, np.where(inward[:, None], hull.simplices[:, ::-1], hull.simplices)


@st.composite
def constraints(draw, robot: sy.Robot) -> dict:
    """What may be known of a robot, as arguments of `fit.consistent`, and true of it as it is."""
    names = st.lists(st.sampled_from(robot.body_names), unique=True, max_size=2)
    at = dict(zip(robot.body_names, robot.inertias, strict=True))
    known = {name: float(at[name][0]) for name in draw(names)}
    roomy = {name: Ellipsoid(at[name][1:4] / at[name][0], 4.0 * np.eye(3)) for name in draw(names)}
    fixed = {name: ("mass",) for name in draw(names) if name not in known}
    return {"masses": known, "within": roomy, "fixed": fixed}
