"""Armature of free joints against MuJoCo's inverse dynamics: robots, loose bodies, every way to the torque."""

import jax
import mujoco
import numpy as np
import pytest

import steelyard as sy
from mujoco_models import inverse_forces, rigid_body_model
from robots import random_state
from steelyard import native
from steelyard.codegen import controller_code
from steelyard.dynamics.newton_euler import _by_arrays
from steelyard.information import accumulate
from steelyard.model.mujoco_state import force_from_mujoco, to_mujoco

BODY = '<inertial pos="{}" mass="{}" diaginertia="0.03 0.04 0.05"/>'


def mjcf(rng, *, bases: int, spelled: str) -> str:
    """Trees with free bases, each with a ball and a hinge; the armature is the default's or the joint's own."""
    trees = []
    for k in range(bases):
        armature = f"{rng.uniform(0.1, 2):.3f}"
        own = f'<joint name="root{k}" type="free" armature="{armature}"/>'
        free = {"default": f'<joint name="root{k}" type="free"/>', "own": own, "none": f'<freejoint name="root{k}"/>'}
        com = " ".join(f"{x:.3f}" for x in rng.normal(size=3) * 0.1)
        trees.append(
            f'<body name="trunk{k}" pos="{k} 0 1">{free[spelled]}{BODY.format(com, 2)}'
            f'<body name="head{k}" pos="0.2 0 0"><joint name="neck{k}" type="ball"/>{BODY.format("0 0 1", 0.4)}</body>'
            f'<body name="leg{k}" pos="0.1 0 -0.1"><joint name="hip{k}" axis="0 1 0"/>{BODY.format("0 0 -0.2", 0.5)}'
            "</body></body>"
        )
    default = f'<default><joint armature="{rng.uniform(0.1, 2):.3f}" damping="1"/></default>'
    return f'<mujoco model="free">{default}<worldbody>{"".join(trees)}</worldbody></mujoco>'


@pytest.fixture(params=["default", "own", "none"])
def case(request, tmp_path):
    """A robot with free bases, random states of it, MuJoCo's forces there, and the file."""
    rng = np.random.default_rng(len(request.param))
    path = tmp_path / "free.xml"
    path.write_text(mjcf(rng, bases=2 if request.param == "default" else 1, spelled=request.param))
    robot = sy.load(path)
    q, v, a = random_state(robot, rng, (7,))
    m = rigid_body_model(path)
    qpos, qvel, qacc = to_mujoco(m, robot, q, v, a)
    return robot, (q, v, a), force_from_mujoco(m, robot, qpos, inverse_forces(m, qpos, qvel, qacc)), path


def test_numpy_core_and_jax_agree_with_mujoco(case):
    robot, state, expected, _ = case
    assert native.core() is not None
    allowed = 1e-10 * np.abs(expected).max()
    np.testing.assert_allclose(sy.inverse_dynamics(robot, *state), expected, atol=allowed)
    np.testing.assert_allclose(_by_arrays(np, robot, *(x.T for x in state)).T, expected, atol=allowed)
    with jax.enable_x64(True):
        found = jax.jit(lambda *each: sy.inverse_dynamics(robot, *each))(*map(jax.numpy.asarray, state))
    np.testing.assert_allclose(np.asarray(found), expected, atol=allowed)


def test_a_times_armature_is_not_it(case):
    """The variant known to be wrong."""
    robot, (q, v, a), expected, _ = case
    naive = sy.regressor(robot, q, v, a) @ robot.inertias.ravel() + robot.armature * a
    based = robot.armature[:6].any()
    assert (np.abs(naive - expected).max() > 1e-2 * np.abs(expected).max()) == based


def test_known_armature_leaves_the_regression(case):
    robot, (q, v, a), expected, _ = case
    log = sy.Log(t=np.arange(len(q)) / 100.0, q=q, v=v, a=a, tau=expected)
    bare = robot.with_joint_properties(damping=np.zeros(robot.nv))
    info = accumulate(bare, log, friction=(), sums="qr")
    x = info.basis.regroup(robot.inertias.ravel())
    assert np.sqrt(info.residual_energy(x).sum() / info.energy.sum()) < 1e-9


def test_derivatives_by_both_engines_and_the_gradient(case):
    robot, (q, v, a), _, _ = case
    weights = np.random.default_rng(1).normal(size=v.shape)
    expected = np.empty((*v.shape, robot.nv))
    for i, step in enumerate(1e-6 * np.eye(robot.nv)):
        ahead, behind = (sy.inverse_dynamics(robot, q, v + s * step, a) for s in (1, -1))
        expected[..., i] = (ahead - behind) / 2e-6
    for engine in ("numpy", "native"):
        found = sy.inverse_dynamics_derivatives(robot, q, v, a, engine=engine)
        np.testing.assert_allclose(found.dtau_dv, expected, atol=1e-6 * np.abs(expected).max())
        np.testing.assert_allclose((weights[:, None] @ found.dtau_dv)[:, 0], found.vjp(weights).v, atol=1e-10)
        assert found.dtau_djoint is not None
        np.testing.assert_allclose(found.dtau_dv, expected, atol=1e-6 * np.abs(expected).max())
        M = np.stack([sy.inverse_dynamics(robot, q, v, a + e) for e in np.eye(robot.nv)], axis=-1)
        np.testing.assert_allclose(M - sy.inverse_dynamics(robot, q, v, a)[..., None], found.dtau_da, atol=1e-9)


def test_written_files_and_code_keep_it(case, tmp_path):
    robot, state, expected, _ = case
    sy.save(robot, tmp_path / "copy.xml")
    again = sy.load(tmp_path / "copy.xml")
    np.testing.assert_array_equal(again.armature, robot.armature)
    np.testing.assert_allclose(sy.inverse_dynamics(again, *state), expected, atol=1e-9 * np.abs(expected).max())
    m = mujoco.MjModel.from_xml_string(sy.model.mjcf_text(robot))
    np.testing.assert_array_equal(np.sort(m.dof_armature), np.sort(robot.armature))
    if robot.nv < 12:  # generated code is compared with the library before it is kept
        controller_code(robot, tmp_path / "arm.h")
