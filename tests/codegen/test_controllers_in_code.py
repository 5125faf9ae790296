"""Controllers as code: passive tracking against Pinocchio, natural adaptation against SciPy's matrix functions, the
momentum observer against MuJoCo; in C through compilers that take warnings for errors."""

import ctypes
import runpy
import subprocess
from dataclasses import replace
from string import Template

import numpy as np
import pinocchio as pin
import pytest
import scipy.linalg
from evidence.draws.pushes import Friction, Push, moved
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import pinocchio_adapter as adapter
import steelyard as sy
from compilers import COMPILERS, EACH_COMPILER, NEEDED
from properties import tried
from random_bodies import bodies
from random_trees import random_tree
from robots import random_state, urdf
from steelyard.app import app
from steelyard.codegen import controllers
from steelyard.dynamics.generalised_momentum import momentum_and_drift
from steelyard.errors import ModelError, OptionError
from steelyard.inertia import is_consistent, pseudo
from strategies import robots

OF_STATES = "slotine_li_regressor", "momentum"
ALL = (*OF_STATES, "natural_step", "momentum_observer")

CALLS = Template("""
#include "$header"
#ifdef __cplusplus
extern "C" {
#endif
void passive(const REAL *q, const REAL *v, const REAL *vr, const REAL *ar, REAL *Y);
void passive(const REAL *q, const REAL *v, const REAL *vr, const REAL *ar, REAL *Y)
{ ${name}_slotine_li_regressor(q, v, vr, ar, Y); }
int adapt(REAL *theta, const REAL *direction, REAL gain);
int adapt(REAL *theta, const REAL *direction, REAL gain) { return ${name}_natural_step(theta, direction, gain); }
void observe(void *kept, const REAL *q, const REAL *v, const REAL *tau, REAL gain, REAL period, REAL *r);
void observe(void *kept, const REAL *q, const REAL *v, const REAL *tau, REAL gain, REAL period, REAL *r)
{ ${name}_momentum_observer((${name}_observer *)kept, q, v, tau, gain, period, r); }
#ifdef __cplusplus
}
#endif
""")


class Compiled:
    """The controllers of a header, called with arrays."""

    def __init__(self, path, name, folder, compiler=None, real="double"):
        (folder / "calls.c").write_text(CALLS.substitute(header=path, name=name))
        options = [f"-DREAL={real}", *(["-DSTEELYARD_FLOAT"] if real == "float" else [])]
        command = [*(compiler or COMPILERS[0]), *options, "-O2", "-shared", "-fPIC", "calls.c", "-o", "calls.so", "-lm"]
        subprocess.run(command, cwd=folder, check=True)
        self.code = ctypes.CDLL(str(folder / "calls.so"))
        self.real, self.dtype = getattr(ctypes, f"c_{real}"), np.dtype("f4" if real == "float" else "f8")

    def _given(self, *arrays):
        held = [np.array(x, dtype=self.dtype, order="C") for x in arrays]
        return held, [x.ctypes.data_as(ctypes.POINTER(self.real)) for x in held]

    def passive(self, q, v, vr, ar, bodies):
        (*_, Y), pointers = self._given(q, v, vr, ar, np.empty((len(v), 10 * bodies)))
        self.code.passive(*pointers)
        return Y

    def adapted(self, theta, direction, gain):
        (theta, _), pointers = self._given(theta, direction)
        return self.code.adapt(*pointers, self.real(gain)), theta

    def observed(self, t, q, v, tau, gain):
        rows, kept = [], np.zeros(1000)
        for k in range(len(t)):
            (*_, r), pointers = self._given(q[k], v[k], tau[k], np.empty(tau.shape[1]))
            period = t[k] - t[k - 1] if k else 0.0
            self.code.observe(
                kept.ctypes.data_as(ctypes.c_void_p), *pointers[:3], self.real(gain), self.real(period), pointers[3]
            )
            rows.append(r)
        return np.array(rows)


@pytest.mark.parametrize(("name", "floating"), [("panda", False), ("ur5_robot", False), ("solo12", True)])
def test_passive_tracking_is_that_of_pinocchio(name, floating, tmp_path):
    robot, rng = sy.load(urdf(name), floating=floating), np.random.default_rng(1)
    made = sy.controller_code(robot, tmp_path / "code.py", functions=("slotine_li_regressor",))
    code = runpy.run_path(str(made.path))
    model = adapter.load(robot.source.path, floating)
    data, E = model.createData(), adapter.velocity_map(model, robot)
    q, v, ar = random_state(robot, rng)
    vr = rng.normal(size=robot.nv)
    there = adapter.configuration(model, robot, q)
    M, g = pin.crba(model, data, there), pin.computeGeneralizedGravity(model, data, there)
    M = np.triu(M) + np.triu(M, 1).T - np.diag(model.armature)
    C = pin.computeCoriolisMatrix(model, data, there, E @ v)
    expected = E.T @ (M @ E @ ar + C @ E @ vr + g)
    found = code["slotine_li_regressor"](q, v, vr, ar) @ code["BODY_PARAMETERS"]
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())
    as_measured = code["slotine_li_regressor"](q, v, v, ar) @ code["BODY_PARAMETERS"]
    assert np.abs(as_measured - expected).max() > 1e-2 * np.abs(expected).max()


@tried(12)
@given(robot=robots(most=6), seed=st.integers(0, 99))
def test_code_of_random_robots(robot, seed, tmp_path_factory):
    path = tmp_path_factory.mktemp("code") / "robot.py"
    code = runpy.run_path(str(sy.controller_code(robot, path, functions=OF_STATES).path))
    q, v, ar = random_state(robot, np.random.default_rng(seed), (2,))
    vr = np.random.default_rng(seed + 1).normal(size=v.shape)
    Y = sy.slotine_li_regressor(robot, q, v, vr, ar)
    np.testing.assert_allclose(code["slotine_li_regressor"](q, v, vr, ar), Y, atol=1e-12 * max(1, np.abs(Y).max()))
    expected = np.stack(momentum_and_drift(robot, q, v), axis=-2)
    np.testing.assert_allclose(code["momentum"](q, v), expected, atol=1e-12 * max(1, np.abs(expected).max()))


@NEEDED
@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("seed", range(4))
def test_random_trees_with_rotors_in_c(seed, tmp_path):
    """Mimic, ball, planar and screw joints; each header is compared with the library before it appears."""
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, bodies=4)
    robot = robot.with_joint_properties(armature=rng.uniform(size=robot.nv), damping=rng.uniform(size=robot.nv))
    robot = replace(robot, inertias=bodies(seed, (robot.nb,)))
    made = sy.controller_code(robot, tmp_path / "tree.h", functions=ALL, rotors=True)
    assert made.compiled and made.functions == ALL
    code, rows = Compiled(made.path, "random", tmp_path), 6
    t = np.cumsum(rng.uniform(0.001, 0.2, size=rows))
    q, v, tau = random_state(robot, rng, (rows,))
    expected = sy.momentum_observer(robot, t, q, v, tau, gain=12.0, rotors=True)
    np.testing.assert_allclose(code.observed(t, q, v, tau, 12.0), expected, atol=1e-11 * np.abs(expected).max())


@pytest.fixture(scope="module")
def header(tmp_path_factory):
    """Of the PUMA 560 as it is."""
    return sy.controller_code(sy.library.puma560(), tmp_path_factory.mktemp("code") / "puma.h", functions=ALL).path


@pytest.mark.parametrize("compiler", EACH_COMPILER)
def test_every_compiler(compiler, header, tmp_path):
    robot, rng = sy.library.puma560(), np.random.default_rng(2)
    code = Compiled(header, "puma560", tmp_path, compiler)
    q, v, vr, ar = rng.normal(size=(4, 6))
    Y = sy.slotine_li_regressor(robot, q, v, vr, ar)
    np.testing.assert_allclose(code.passive(q, v, vr, ar, 6), Y, atol=1e-12 * np.abs(Y).max())
    theta, direction = bodies(1, (6,)), rng.normal(size=(6, 10))
    status, found = code.adapted(theta, direction, 0.3)
    expected = sy.fit.natural_step(theta, direction, gain=0.3)
    assert status == 0
    np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())


def geared_puma():
    """Joints with armature, so that their friction does not stop them within a step of the simulation."""
    return sy.library.puma560().with_joint_properties(armature=np.full(6, 0.5))


@pytest.fixture(scope="module")
def puma(tmp_path_factory):
    if not COMPILERS:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("puma")
    return Compiled(sy.controller_code(geared_puma(), folder / "p.h", functions=ALL).path, "puma560", folder)


def test_the_step_is_the_geodesic_by_matrix_functions(puma):
    rng = np.random.default_rng(3)
    theta, direction = bodies(3, (6,)), rng.normal(size=(6, 10))
    status, found = puma.adapted(theta, direction, 0.05)
    assert status == 0
    basis = np.eye(16).reshape(16, 4, 4)
    for before, d, after in zip(theta, direction, found, strict=True):
        J = pseudo.to_matrix(before)
        symmetric = (basis + basis.transpose(0, 2, 1)) / 2
        G = sum(d @ pseudo.to_parameters(each) * one for each, one in zip(symmetric, basis, strict=True))
        half = scipy.linalg.sqrtm(J)
        expected = half @ scipy.linalg.expm(-0.05 * half @ (G + G.T) / 2 @ half) @ half
        np.testing.assert_allclose(pseudo.to_matrix(after), expected, rtol=1e-9, atol=1e-11)


@tried(60)
@given(seed=st.integers(0, 999), gain=st.floats(-1e6, 1e6))
def test_bodies_stay_bodies(puma, seed, gain):
    theta, direction = bodies(seed, (6,)), np.random.default_rng(seed).normal(size=(6, 10))
    status, found = puma.adapted(theta, direction, gain)
    assert status == 0 and is_consistent(found).all()
    expected = sy.fit.natural_step(theta, direction, gain=gain)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_what_is_no_body_stays_as_it_was(puma):
    theta, direction = bodies(4, (6,)), np.ones((6, 10))
    for place, value in (((3, 0), -1.0), ((5, 4), np.nan), ((0, 9), np.inf)):
        wrong = theta.copy()
        wrong[place] = value
        status, found = puma.adapted(wrong, direction, 0.1)
        assert status == 1
        np.testing.assert_array_equal(found, wrong)
    for value in (np.nan, np.inf):
        status, found = puma.adapted(theta, np.full((6, 10), value), 0.1)
        assert status == 1
        np.testing.assert_array_equal(found, theta)


def test_torques_of_a_push_in_mujoco(puma):
    """The compiled observer on a simulated arm: what the library finds, sample for sample, and what MuJoCo applied."""
    robot = geared_puma()
    push = Push(robot.body_names[2], np.array([0.1, 0.0, 0.1]), np.array([30.0, 20.0, -25.0]), 0.2, 1.0)
    friction = Friction(robot.damping, robot.frictionloss, np.zeros(6), 0.0)
    log, outside = moved(robot, seed=1, duration=0.8, friction=friction, pushes=(push,))
    found = puma.observed(log.t, log.q, log.v, log.tau, 40.0)
    expected = sy.momentum_observer(robot, log.t, log.q, log.v, log.tau, gain=40.0)
    np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())
    assert np.abs(found - outside)[-100:].max() < 0.1 * np.abs(outside).max() and np.abs(outside).max() > 5


def test_a_repeated_call_keeps_the_torque(puma):
    """A period of zero, as of a clock that stands, changes nothing."""
    rng = np.random.default_rng(0)
    q, v, tau = rng.normal(size=(3, 1, 6)).repeat(3, axis=1)
    r = puma.observed(np.array([0.0, 0.01, 0.01]), q, v, tau, 5.0)
    np.testing.assert_allclose(r[2], r[1], rtol=1e-12)


@NEEDED
def test_single_precision(header, tmp_path):
    rng = np.random.default_rng(5)
    code = Compiled(header, "puma560", tmp_path, real="float")
    theta, direction = bodies(1, (6,)), rng.normal(size=(6, 10))
    status, found = code.adapted(theta, direction, 0.1)
    expected = sy.fit.natural_step(theta, direction, gain=0.1)
    assert status == 0
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


@NEEDED
def test_no_memory_of_its_own(header, tmp_path):
    (tmp_path / "call.c").write_text(CALLS.substitute(header=header, name="puma560"))
    command = [*COMPILERS[0], "-DREAL=double", "-O2", "-c", "call.c", "-o", "call.o"]
    subprocess.run(command, cwd=tmp_path, check=True)
    symbols = subprocess.run(["nm", "call.o"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()
    assert not {"malloc", "calloc", "realloc", "alloca", "free"} & set(symbols)
    assert not {"B", "b", "D", "d", "C"} & set(symbols[1::2])


@NEEDED
@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("momentum_observer", "(1 - gain * whole) * held", "(1 - gain * step) * held"),
        ("momentum_observer", "- friction + drift", "- friction - drift"),
        ("natural_step", "-= gain * L[k][i]", "+= gain * L[k][i]"),
        ("natural_step", "STEELYARD_EXP(most)", "1 + most"),
    ],
)
def test_wrong_code_is_not_written(name, right, wrong, tmp_path, monkeypatch):
    made = controllers.CONTROLLERS[name]
    assert right in made.text.template
    changed = replace(made, text=Template(made.text.template.replace(right, wrong)))
    monkeypatch.setitem(controllers.CONTROLLERS, name, changed)
    with pytest.raises(ModelError, match=f"C code of {name} .*is off the library by"):
        sy.controller_code(sy.library.scara(), tmp_path / "a.h", functions=(name,))
    assert not list(tmp_path.iterdir())


def test_steps_are_written_in_c(tmp_path):
    with pytest.raises(OptionError, match=r"natural_step is written in C: name the file \.h"):
        sy.controller_code(sy.library.scara(), tmp_path / "a.py", functions=("gravity", "natural_step"))
    model = sy.library.scara().source.path
    words = ["convert", str(model), str(tmp_path / "a.h"), "--functions", "gravity,momentum_observer"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0 and "scara_momentum_observer(" in (tmp_path / "a.h").read_text()
    refused = CliRunner().invoke(app, [*words[:2], str(tmp_path / "b.urdf"), *words[3:]])
    assert refused.exit_code == 2 and "--functions" in refused.stderr and not (tmp_path / "b.urdf").exists()
