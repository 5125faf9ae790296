"""The compiled core and the array code give the same, on every kind of joint and by every instruction set."""

import sys
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from problems import random_log, with_friction
from properties import tried
from random_robots import seeds, urdf_text
from robots import urdf
from steelyard import native
from steelyard.dynamics import inverse_dynamics, inverse_dynamics_derivatives
from steelyard.dynamics.native_plans import sum_plan, tree_arrays
from steelyard.errors import OptionError
from steelyard.information import accumulate
from steelyard.model import load
from steelyard.native import core


def assert_same(robot, log, **options):
    ours, fused = (accumulate(robot, log, engine=engine, **options) for engine in ("numpy", "native"))
    for name in ("gram", "moment", "energy", "counts"):
        one, other = getattr(ours, name), getattr(fused, name)
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-12 * np.abs(one).max(), err_msg=name)
    assert (ours.engine, fused.engine) == ("numpy", "native")
    assert ours.n == fused.n


@pytest.mark.exhaustive(keep=1)
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


@tried(25)
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
    x = np.random.default_rng(0).uniform(-largest, largest, 10_000)
    x[:17] = np.arange(-8, 9) * np.pi / 4
    sine, cosine = np.empty_like(x), np.empty_like(x)
    core().sines_and_cosines(x, sine, cosine)
    np.testing.assert_allclose(sine, np.sin(x), rtol=0, atol=2.3e-16)
    np.testing.assert_allclose(cosine, np.cos(x), rtol=0, atol=2.3e-16)


def test_streams_and_slices():
    rng = np.random.default_rng(1)
    robot = load(urdf("ur5_robot"))
    log = random_log(robot, rng, samples=1000, torque=lambda *s: inverse_dynamics(robot, *s))
    whole = accumulate(robot, log, engine="native")
    parts = accumulate(robot, (log[i : i + 130] for i in range(0, 1000, 130)), engine="native")
    np.testing.assert_allclose(parts.gram, whole.gram, rtol=0, atol=1e-12 * whole.gram.max())


@pytest.mark.parametrize("instructions", core().instruction_sets())
@pytest.mark.parametrize("samples", [1, 7, 129])
def test_instruction_sets_agree(monkeypatch, instructions, samples):
    """Every one that this processor has, with lanes and blocks that are not full."""
    rng = np.random.default_rng(samples)
    robot = with_friction(load(urdf("solo12"), floating=True), rng)
    log = random_log(robot, rng, samples=samples, torque=lambda *s: inverse_dynamics(robot, *s))
    expected = accumulate(robot, log, engine="numpy"), inverse_dynamics(robot, log.q, log.v, log.a)
    plain = inverse_dynamics_derivatives(robot, log.q, log.v, log.a, engine="numpy")
    for name in ("core", "require_core"):
        monkeypatch.setattr(native, name, lambda: OneSet(instructions))
    assert_near(accumulate(robot, log, engine="native").gram, expected[0].gram)
    assert_near(inverse_dynamics(robot, log.q, log.v, log.a), expected[1])
    found = inverse_dynamics_derivatives(robot, log.q, log.v, log.a, engine="native")
    for name in ("dtau_dq", "dtau_dv", "dtau_da", "dtau_djoint"):
        assert_near(getattr(found, name), getattr(plain, name))


class OneSet:
    """The core with one instruction set."""

    def __init__(self, instructions):
        self.instructions = instructions

    def __getattr__(self, name):
        made = getattr(core(), name)
        return made if isinstance(made, type) else lambda *arguments: made(*arguments, instructions=self.instructions)


def assert_near(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_without_the_core(monkeypatch):
    """An installation without a compiler: the same sums from NumPy, and one warning."""
    robot = load(urdf("ur5_robot"))
    log = random_log(robot, np.random.default_rng(2), samples=50, torque=lambda *s: inverse_dynamics(robot, *s))
    whole = accumulate(robot, log), inverse_dynamics(robot, log.q, log.v, log.a)
    monkeypatch.setitem(sys.modules, "steelyard._core", None)
    native.core.cache_clear()
    try:
        with pytest.warns(RuntimeWarning, match="no C\\+\\+ compiler was found"):
            slow = accumulate(robot, log)
        assert (whole[0].engine, slow.engine) == ("native", "numpy")
        assert_near(slow.gram, whole[0].gram)
        assert_near(inverse_dynamics(robot, log.q, log.v, log.a), whole[1])
        with pytest.raises(OptionError, match="compiled core"):
            accumulate(robot, log, engine="native")
        with pytest.raises(OptionError, match="compiled core"):  # before any file is read
            sy.identify("no such model.urdf", "no such log.csv")
    finally:
        native.core.cache_clear()


def test_errors_of_threads_are_raised():
    done = []

    def job(item):
        if item == 3:
            raise ValueError("item 3")
        done.append(item)

    native.for_each(job, range(3))
    assert sorted(done) == [0, 1, 2]
    with pytest.raises(ValueError, match="item 3"):
        native.for_each(job, range(50))


def samples_of(plan, n=5):
    """Samples of an arm of six joints for the core, by name of the argument."""
    x = {name: np.zeros((n, 6)) for name in ("q", "v", "a", "tau")}
    gram = np.zeros(plan.gram_start[-1])
    return x | {"fixed": np.zeros((0, 12, n)), "effects": np.zeros((0, n)), "roots": None, "gram": gram}


@pytest.mark.parametrize("name", ["q", "v", "a", "tau", "fixed", "effects", "roots", "gram"])
def test_wrong_shapes_are_refused(name):
    """Before the core reads or writes beyond an array; what it writes to must be of its type, too."""
    plan = sum_plan(load(urdf("ur5_robot")), np.arange(60), [()] * 6)
    x = samples_of(plan)
    core().add_samples(plan.tree, plan.rows, **x)
    right = np.zeros((5, 6)) if name == "roots" else x[name]
    wrong = [np.zeros((len(right) + 1, *right.shape[1:])), right[None]]
    for each in [*wrong, right.astype(np.float32)] if name == "gram" else wrong:
        with pytest.raises((ValueError, TypeError)):
            core().add_samples(plan.tree, plan.rows, **(x | {name: each}))


@cache
def tree_of_a_ur5():
    """Arrays of its tree, and a plan of its sums."""
    robot = load(urdf("ur5_robot"))
    return tree_arrays(robot), sum_plan(robot, np.arange(60), [()] * 6)


@tried(300)
@given(data=st.data())
def test_wrong_indices_are_refused(data):
    """Any index of a tree replaced: refused, or still within its arrays (sanitizers watch)."""
    arrays, plan = tree_of_a_ur5()
    kinds = sorted(name for name, x in arrays.items() if isinstance(x, np.ndarray) and x.dtype.kind == "i")
    name = data.draw(st.sampled_from(kinds))
    array = np.array(arrays[name])
    array[data.draw(st.integers(0, array.size - 1))] = data.draw(st.integers(-9, 9) | st.integers(-(2**63), 2**63 - 1))
    try:
        tree = core().Tree(**{key: np.array(x) if np.ndim(x) else x for key, x in (arrays | {name: array}).items()})
        core().add_samples(tree, plan.rows, **samples_of(plan))
    except ValueError:
        pass
    else:
        assert (array.min() >= 0 and array.max() <= 6) or array.min() == -1


def test_unknown_engine():
    robot = load(urdf("ur5_robot"))
    log = random_log(robot, np.random.default_rng(2), samples=10, torque=lambda *s: inverse_dynamics(robot, *s))
    with pytest.raises(OptionError, match="numpy, native"):
        accumulate(robot, log, engine="cuda")
