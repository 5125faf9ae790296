"""Every engine makes the same sums, on the robots of example-robot-data, as they stand and floating."""

import importlib.util

import numpy as np
import pytest

from problems import random_log
from robots import URDFS
from steelyard.dynamics import inverse_dynamics
from steelyard.errors import ModelError
from steelyard.information import accumulate
from steelyard.model import load

pytestmark = pytest.mark.claim(
    "information.engines",
    "kernel, NumPy, JAX and QR agree; Pinocchio, MuJoCo and automatic differentiation confirm them",
    limits="the tests take a part of the robots, for compile time",
)

COMPILED = {"finger_edu", "quadrotor_base"}  # by JAX, seconds for each; larger in test_device.py


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize(
    "floating, paths, least",
    [(None, URDFS[::10], 4), (None, URDFS[::2], 25), (True, URDFS[1::12], 3), (True, URDFS[1::4], 10)],
    ids=["fixed, few", "fixed", "floating, few", "floating"],
)
def test_engines_agree_on_example_robots(floating, paths, least):
    rng = np.random.default_rng(0)
    seen = 0
    for path in paths:
        try:
            robot = load(path, floating=floating)
        except ModelError:
            continue
        log = random_log(robot, rng, samples=40, torque=lambda *s, robot=robot: inverse_dynamics(robot, *s))
        engines = ["native"]
        if path.stem in COMPILED and importlib.util.find_spec("jax") is not None:
            engines.append("jax")
        expected = accumulate(robot, log, armature=True, engine="numpy")
        results = {engine: accumulate(robot, log, armature=True, engine=engine) for engine in engines}
        if seen % 6 == 0:
            results["qr"] = accumulate(robot, log, armature=True, sums="qr").as_gram()
        for engine, found in results.items():
            for name in ("gram", "moment", "energy"):
                one, other = getattr(expected, name), getattr(found, name)
                error = np.abs(one - other).max() / np.abs(one).max()
                assert error < 1e-12, f"{path.stem}, {engine}, {name}: {error:.1e}"
        seen += 1
    assert seen > least
