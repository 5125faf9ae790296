"""The fused kernel and the array code give the same sums, on every kind of joint; the choice between them."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from problems import random_log, with_friction
from random_robots import seeds, urdf_text
from robots import urdf
from steelyard.dynamics import inverse_dynamics, kernel_choice
from steelyard.errors import OptionError
from steelyard.information import accumulate, engines
from steelyard.model import load

KERNEL = "steelyard.dynamics.kernel"


def assert_same(robot, log, **options):
    ours, fused = (accumulate(robot, log, engine=engine, **options) for engine in ("numpy", "numba"))
    for name in ("gram", "moment", "energy", "counts"):
        one, other = getattr(ours, name), getattr(fused, name)
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-12 * np.abs(one).max(), err_msg=name)
    assert (ours.engine, fused.engine) == ("numpy", "numba")
    assert ours.n == fused.n


@pytest.mark.parametrize(
    ("stem", "floating", "samples"),
    [("panda", None, 5000), ("solo12", True, 301), ("anymal", True, 128), ("g1_29dof_rev_1_0", True, 150)],
)
def test_real_robots(stem, floating, samples):
    rng = np.random.default_rng(0)
    robot = with_friction(load(urdf(stem), floating=floating), rng)
    log = random_log(robot, rng, samples=samples, torque=lambda *s: inverse_dynamics(robot, *s))
    pair = robot.joint_names[-2:]
    assert_same(robot, log, armature=True, coupling=(pair,), springs=pair[:1])
    assert_same(robot, log, friction=(), columns="all" if stem == "panda" else "base")
    weights = rng.uniform(0, 2, size=log.tau.shape)
    assert_same(robot, log, armature=True, sample_weights=weights)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(seed=seeds)
def test_random_trees(tmp_path_factory, seed):
    """Spherical, planar and free joints, mimic joints in one coordinate, any order of branches."""
    rng = np.random.default_rng(seed)
    path = tmp_path_factory.mktemp("random") / "robot.urdf"
    path.write_text(urdf_text(rng, links=int(rng.integers(2, 12))))
    robot = load(path)
    log = random_log(robot, rng, samples=37, torque=lambda *s: inverse_dynamics(robot, *s))
    assert_same(robot, log, columns="all")


@pytest.mark.parametrize("largest", [1.0, 10.0, 1e3, 9e4, 1e7])
def test_sines_and_cosines(largest):
    """Within an ulp of one, at multiples of an eighth turn too, and of the library's beyond the range of the series."""
    from steelyard.dynamics.kernel import sines_and_cosines

    x = np.random.default_rng(0).uniform(-largest, largest, 10_000)
    x[:17] = np.arange(-8, 9) * np.pi / 4
    sine, cosine = np.empty_like(x), np.empty_like(x)
    sines_and_cosines(x, sine, cosine)
    np.testing.assert_allclose(sine, np.sin(x), rtol=0, atol=2.3e-16)
    np.testing.assert_allclose(cosine, np.cos(x), rtol=0, atol=2.3e-16)


def test_streams_and_slices():
    rng = np.random.default_rng(1)
    robot = load(urdf("ur5_robot"))
    log = random_log(robot, rng, samples=1000, torque=lambda *s: inverse_dynamics(robot, *s))
    whole = accumulate(robot, log, engine="numba")
    parts = accumulate(robot, (log[i : i + 130] for i in range(0, 1000, 130)), engine="numba")
    np.testing.assert_allclose(parts.gram, whole.gram, rtol=0, atol=1e-12 * whole.gram.max())


def test_choice_by_size_and_cache(monkeypatch):
    robot = load(urdf("ur5_robot"))
    rows = [type("Row", (), {"places": np.zeros(40)})] * 6
    monkeypatch.setitem(sys.modules, KERNEL, None)
    monkeypatch.delitem(sys.modules, KERNEL)
    for ready, small, large in ((True, 10_000, 10_000_000), (False, 10_000_000, 100_000_000)):
        monkeypatch.setattr(kernel_choice, "compiled", lambda module, function, ready=ready: ready)
        assert engines.chosen(robot, rows, small) == "numpy"
        assert engines.chosen(robot, rows, large) == "numba"
    monkeypatch.setitem(sys.modules, KERNEL, object())
    assert engines.chosen(robot, rows, 10_000) == "numba"
    assert engines.chosen(robot, rows, 100) == "numpy"


def test_kernel_is_found_where_numba_keeps_it(tmp_path):
    """A process with a cache folder of its own compiles once, and the next one knows."""
    code = (
        f"from steelyard.dynamics import kernel_choice; print(kernel_choice.compiled('{KERNEL}', 'add_samples'))\n"
        "from steelyard.dynamics import kernel\n"
        "from numba.core.caching import FunctionCache\n"
        "print(FunctionCache(kernel.add_samples.py_func).cache_path)"
    )
    for variable in ("NUMBA_CACHE_DIR", None):
        environment = os.environ | ({variable: str(tmp_path)} if variable else {})
        environment = {k: v for k, v in environment.items() if variable or k != "NUMBA_CACHE_DIR"}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        known, folder = done.stdout.split()
        source = Path(kernel_choice.__file__).with_name("kernel.py")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "environ", environment)
            assert Path(folder) in kernel_choice._caches(source)
            if variable:
                assert known == "False"
                (Path(folder) / "kernel.add_samples-1.py311.nbi").touch()
                assert kernel_choice.compiled(KERNEL, "add_samples")


def test_unknown_engine():
    robot = load(urdf("ur5_robot"))
    log = random_log(robot, np.random.default_rng(2), samples=10, torque=lambda *s: inverse_dynamics(robot, *s))
    with pytest.raises(OptionError, match="numpy, numba"):
        accumulate(robot, log, engine="cuda")
