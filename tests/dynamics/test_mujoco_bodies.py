"""Parameters and regressors of MuJoCo models as they stand, against MuJoCo's own inverse dynamics."""

import mujoco
import numpy as np
import pytest

import steelyard as sy
from problems import scattered
from steelyard.dynamics import mujoco_inertias
from steelyard.dynamics.mujoco_bodies import mujoco_regressor, set_mujoco_inertias
from steelyard.errors import InertiaError, OptionError
from steelyard.model import mjcf_text

# A free body, a ball joint, a slider and two hinges at one body, a welded body: axes and places of all kinds.
MIXED = """<mujoco><option gravity="0.3 -0.5 -9.7"/><worldbody>
<body name="base" pos="0 0 1"><freejoint/><geom type="box" size="0.2 0.1 0.05" pos="0.02 0 0.01"/>
  <body name="arm" pos="0.1 0 0.1" euler="20 30 0"><joint type="ball" pos="0 0 -0.05"/>
    <geom type="capsule" size="0.03 0.1" pos="0.05 0 0.1" euler="0 40 0"/>
    <body name="slide" pos="0 0.1 0.2"><joint type="slide" axis="1 1 0"/><geom size="0.05" pos="0 0.02 0"/>
      <body name="wrist" pos="0 0 0.1"><joint axis="0 0 1" pos="0.1 0 0"/><joint axis="1 0 1"/><geom size="0.04"/>
        <body name="hand" pos="0.1 0 0" euler="0 0 45"><geom type="box" size="0.02 0.03 0.05"/></body></body>
</body></body></body></worldbody></mujoco>"""
MODELS = {"mixed": MIXED, "quadruped": mjcf_text(sy.library.quadruped()), "puma": mjcf_text(sy.library.puma560())}


def at_random(m, rng):
    d = mujoco.MjData(m)
    mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv), 1.0)
    d.qvel[:], d.qacc[:] = rng.normal(size=(2, m.nv))
    return d


def bodies_alone(m):
    """Without what is no body's."""
    m.dof_armature[:], m.dof_damping[:], m.dof_frictionloss[:] = 0, 0, 0
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    return m


@pytest.mark.parametrize("name", MODELS)
def test_rows_times_parameters_are_mujocos_forces(name):
    m, rng = bodies_alone(mujoco.MjModel.from_xml_string(MODELS[name])), np.random.default_rng(0)
    for _ in range(3):
        d = at_random(m, rng)
        Y = mujoco_regressor(m, d)
        mujoco.mj_inverse(m, d)
        forces = d.qfrc_inverse + d.qfrc_passive
        assert np.abs(forces).max() > 1
        np.testing.assert_allclose(Y @ mujoco_inertias(m).ravel(), forces, atol=1e-9 * np.abs(forces).max())


@pytest.mark.parametrize("name", MODELS)
def test_parameters_that_are_set_act(name):
    m, rng = bodies_alone(mujoco.MjModel.from_xml_string(MODELS[name])), np.random.default_rng(1)
    theta = mujoco_inertias(m)
    theta[1:] = scattered(theta[1:], rng)
    d = at_random(m, rng)
    expected = mujoco_regressor(m, d) @ theta.ravel()
    set_mujoco_inertias(m, theta)
    np.testing.assert_allclose(mujoco_inertias(m), theta, atol=1e-10)
    mujoco.mj_inverse(m, d)
    np.testing.assert_allclose(d.qfrc_inverse, expected, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(m.body_subtreemass[0], theta[:, 0].sum())


def test_what_cannot_be_set_is_refused():
    m = mujoco.MjModel.from_xml_string(MIXED)
    for theta, error in ((np.zeros((2, 10)), OptionError), (np.full((m.nbody, 10), np.nan), OptionError)):
        with pytest.raises(error, match="the world first"):
            set_mujoco_inertias(m, theta)
    massless = mujoco_inertias(m)
    massless[1, 0] = 0.0
    with pytest.raises(InertiaError):
        set_mujoco_inertias(m, massless)
    assert m.body_mass[1] > 0
