"""Small wrench logs with known truth, and the shared tools data."""

import numpy as np
import pytest
from evidence.bench.tray_experiment import wrist_motion

from robots import SHARED_DATA
from steelyard.inertia import parameters
from steelyard.payload import WrenchLog
from steelyard.payload.wrench_sums import wrench_regressor

TOOLS = ("Box_Wrench", "Hammer", "Measuring_Tape", "Pliers", "Screwdriver")
MODERATE = (0.1, 0.005, 0.05, 0.5)  # force, torque, linear and angular acceleration (Table II)
THETA = parameters.from_com_inertia(
    0.7, np.array([0.02, -0.03, 0.08]), np.array([[3e-3, 1e-4, -2e-4], [1e-4, 2.5e-3, 3e-5], [-2e-4, 3e-5, 1e-3]])
)


def swing(theta=THETA, *, speed=2.0, duration=2.0, noise=(0.0, 0.0, 0.0, 0.0), bias=0.0, seed=0):
    """A log of a swinging wrist that holds theta. noise: as `MODERATE`."""
    motion = wrist_motion(speed, duration)
    rng = np.random.default_rng(seed)
    wrench = wrench_regressor(motion) @ theta + bias
    wrench = wrench + rng.normal(size=wrench.shape) * np.repeat(noise[:2], 3)
    acceleration = motion.acceleration + rng.normal(size=wrench.shape) * np.repeat(noise[2:], 3)
    return motion.replace(wrench=wrench, acceleration=acceleration)


def static(theta=THETA, poses=8, seed=0, sigma=(0.0, 0.0), gravity=(0.0, 0.0, -9.81), bias=0.0):
    """A log of poses at rest."""
    from random_bodies import rotations

    log = WrenchLog(
        t=np.arange(poses) * 1.0, wrench=np.zeros((poses, 6)), rotation=rotations(seed, (poses,)), gravity=gravity
    )
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(poses, 6)) * np.repeat(sigma, 3)
    return log.replace(wrench=wrench_regressor(log) @ theta + bias + noise)


def in_world_axes(log, vectors):
    """Spatial vectors (n, 6) in sensor axes to world axes."""
    halves = [np.einsum("nij,nj->ni", log.rotation, vectors[:, half]) for half in (slice(3), slice(3, 6))]
    return np.concatenate(halves, axis=1)


def tool(name):
    """Arrays, truth in the sensor frame, and point cloud in the sensor frame of a tool. Skips where it is absent."""
    path = SHARED_DATA / "tools" / f"{name}.npz"
    if not path.is_file():
        pytest.skip("needs ../shared/data/tools")
    with np.load(path) as stored:
        data = dict(stored)
    placed = np.linalg.inv(data["ft_pose"][0]) @ data["object_pose"][0]
    theta = parameters.from_com_inertia(float(data["mass"]), data["com_mesh"], data["inertia_com"])
    lines = path.with_suffix(".ply").read_text().split("end_header\n")[1].splitlines()
    points = np.array([line.split()[:3] for line in lines if len(line.split()) == 8], dtype=float)
    R, p = placed[:3, :3], placed[:3, 3]
    return data, parameters.transform(theta, R, p), points @ R.T + p


def tool_log(data, *, seed=None, gravity=(0.0, 0.0, 9.81)):
    """The log of a tool, with moderate noise when a seed is given."""
    wrench, acceleration = data["wrench"], data["ft_acc"]
    if seed is not None:
        rng = np.random.default_rng(seed)
        wrench = wrench + rng.normal(size=wrench.shape) * np.repeat(MODERATE[:2], 3)
        acceleration = acceleration + rng.normal(size=wrench.shape) * np.repeat(MODERATE[2:], 3)
    return WrenchLog.from_world_axes(
        t=data["t"],
        wrench=wrench,
        rotation=data["ft_pose"][:, :3, :3],
        twist=data["ft_vel"],
        acceleration=acceleration,
        gravity=gravity,
    )
