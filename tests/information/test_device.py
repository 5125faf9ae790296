"""The JAX engine: same sums as NumPy's, arrays that stay JAX's, clear refusals; on a GPU too where there is one."""

import contextlib
import sys

import numpy as np
import pytest

from problems import random_log, with_friction
from robots import urdf
from steelyard.dynamics import inverse_dynamics
from steelyard.errors import LogError, OptionError
from steelyard.information import accumulate
from steelyard.information import engines as device
from steelyard.log import Log, filters
from steelyard.model import library, load
from steelyard.terms import UserColumn

jax = pytest.importorskip("jax", reason="JAX is not installed (pip install 'steelyard[gpu]')")


@pytest.fixture(autouse=True)
def short_chunks(monkeypatch):
    monkeypatch.setattr(device, "CPU_CHUNK", 256)


def log_of(robot, samples):
    rng = np.random.default_rng(0)
    return random_log(robot, rng, samples=samples, torque=lambda *s: inverse_dynamics(robot, *s))


def on_device(log, where=None):
    channels = {name: jax.device_put(getattr(log, name), where) for name in ("q", "v", "a", "tau")}
    return log.replace(**channels)


def assert_same(found, expected):
    for name in ("gram", "moment", "energy", "counts"):
        one, other = getattr(expected, name), getattr(found, name)
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-12 * np.abs(one).max(), err_msg=name)
    assert found.engine == "jax"


@pytest.fixture(scope="module")
def arm():
    robot = with_friction(library.scara(), np.random.default_rng(1))
    return robot, log_of(robot, 700)


def test_every_kind_of_column(arm):
    """Chunks of one size with a part left over; couplings, springs, and a user's function that knows only NumPy."""
    robot, log = arm
    pair = robot.joint_names[-2:]
    cube = UserColumn("cube", lambda q, v, a: np.asarray(v, order="C") ** 3)
    options = {"coupling": (pair,), "springs": pair[:1], "extra": (cube,), "friction": ("viscous", "coulomb")}
    assert_same(accumulate(robot, log, engine="jax", **options), accumulate(robot, log, engine="numpy", **options))
    assert not jax.config.jax_enable_x64


def test_sample_weights(arm):
    robot, log = arm
    weights = np.random.default_rng(2).uniform(0, 2, size=log.tau.shape)
    found = accumulate(robot, log, engine="jax", sample_weights=weights)
    assert_same(found, accumulate(robot, log, engine="numpy", sample_weights=weights))


def test_floating_base_and_directions():
    robot = load(urdf("finger_edu"), floating=True)
    log = log_of(robot, 200)
    recorded = log.replace(direction=np.tanh(log.v / 0.1), direction_width=0.05)
    assert_same(accumulate(robot, recorded, engine="jax"), accumulate(robot, recorded, engine="numpy"))


def test_jax_arrays_stay_on_the_device_and_choose_the_engine(arm):
    robot, log = arm
    with jax.enable_x64(True):
        there = on_device(log)
    assert all(isinstance(getattr(there, name), jax.Array) for name in ("q", "v", "a", "tau"))
    expected = accumulate(robot, log, engine="numpy")
    assert_same(accumulate(robot, there), expected)
    assert_same(accumulate(robot, (there[:600], there[600:])), expected)
    for engine in ("numpy", "native"):
        np.testing.assert_allclose(accumulate(robot, there, engine=engine).gram, expected.gram, rtol=1e-11, atol=1e-9)
    again = accumulate(robot, there) + accumulate(robot, log, engine="numpy")
    assert again.engine == "mixed"


def test_single_precision_channels_are_summed_in_double(arm):
    robot, log = arm
    rounded = log.replace(**{name: np.float32(getattr(log, name)) for name in ("q", "v", "a", "tau")})
    assert on_device(log).q.dtype == np.float32
    assert_same(accumulate(robot, on_device(log)), accumulate(robot, rounded, engine="numpy"))


def test_logs_of_jax_arrays_are_filtered_and_refused_like_others(arm):
    robot, log = arm
    with jax.enable_x64(True):
        there = Log(t=log.t, q=jax.numpy.asarray(log.q), tau=jax.numpy.asarray(log.tau), joint_names=log.joint_names)
        bad = on_device(log).replace(tau=jax.numpy.asarray(log.tau).at[7, 2].set(np.nan))
    filled = filters.differentiate(there, cutoff=5.0)
    expected = filters.differentiate(log.replace(v=None, a=None), cutoff=5.0)
    np.testing.assert_allclose(filled.a, expected.a, atol=1e-9 * np.abs(expected.a).max())
    with pytest.raises(LogError, match=r"tau of column 2.*sample 7"):
        accumulate(robot, bad)


def test_compiled_once_a_regression(arm):
    robot, log = arm
    accumulate(robot, log, engine="jax")
    before = device._compiled.cache_info().misses
    accumulate(robot, log[:500], engine="jax")
    assert device._compiled.cache_info().misses == before


def test_without_jax_or_float64(arm, monkeypatch):
    robot, log = arm
    device._jax.cache_clear()
    monkeypatch.setattr(jax, "enable_x64", lambda on: contextlib.nullcontext())
    with pytest.raises(OptionError, match="float64"):
        accumulate(robot, log, engine="jax")
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(OptionError, match=r"steelyard\[gpu\]"):
        accumulate(robot, log, engine="jax")
    assert accumulate(robot, log).engine == "native"


@pytest.mark.claim(
    "scale.gpu",
    "sums and batched fits on a GPU",
    short="never run on a GPU: none was available, so no crossover is stated",
)
def test_on_a_gpu(arm):
    if jax.default_backend() == "cpu":
        pytest.skip("JAX has no GPU here")
    robot, log = arm
    with jax.enable_x64(True):
        there = on_device(log, jax.devices()[0])
    assert_same(accumulate(robot, there), accumulate(robot, log, engine="numpy"))
