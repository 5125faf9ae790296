"""Derivatives of inverse dynamics against complex steps through equations of paper D, Pinocchio and JAX."""

import jax
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given

import complex_step
import pinocchio_adapter as adapter
from properties import tried
from random_robots import seeds, urdf_text
from robots import random_state, urdf
from steelyard.dynamics import inverse_dynamics, inverse_dynamics_derivatives, regressor
from steelyard.errors import OptionError
from steelyard.model import library, load

pytestmark = pytest.mark.claim(
    "derivatives.values", "torque derivatives against automatic differentiation, on random trees, and against Pinocchio"
)

BALLS = """<mujoco><worldbody><body name="a"><joint name="s" type="ball" pos="0.1 -0.2 0.3"/>
<inertial pos="0.1 0.2 0.3" mass="2" fullinertia="0.1 0.2 0.25 0.01 0.02 -0.03"/>
<body name="b" pos="0.2 0.1 -0.3" euler="20 30 40"><joint name="x" type="slide" axis="1 2 3"/>
<joint name="y" axis="0 1 1" pos="0.1 0 0.2" armature="0.3"/><joint name="t" type="ball"/>
<inertial pos="-0.1 0.2 0.1" mass="1" fullinertia="0.1 0.12 0.15 0.01 -0.02 0.03"/>
</body></body></worldbody></mujoco>"""


def close(found, expected, tolerance=1e-9):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max(initial=0)))


def compare(robot, rng):
    """Every derivative of the torques and of the links at a random state."""
    q, v, a = random_state(robot, rng)
    found, expected = inverse_dynamics_derivatives(robot, q, v, a), complex_step.derivatives(robot, q, v, a)
    torque = {name: np.moveaxis(parts[0], -1, 0) for name, parts in expected.items()}
    for mine, name in (("dq", "dq"), ("dv", "v"), ("da", "a"), ("dgravity", "gravity"), ("djoint", "eta")):
        close(getattr(found, f"dtau_{mine}"), torque[name])
    close(found.dtau_dplacement, torque["before"])
    compare_links(robot, found.links, expected)
    weights = rng.normal(size=robot.nv)
    pulled = found.vjp(weights)
    for mine, name in (
        ("q", "dq"),
        ("v", "v"),
        ("a", "a"),
        ("gravity", "gravity"),
        ("twist", "eta"),
        ("placement", "before"),
    ):
        close(getattr(pulled, mine), expected[name][0] @ weights)
    close(pulled.theta.ravel(), weights @ regressor(robot, q, v, a))
    close(found.dtau_dtheta, regressor(robot, q, v, a))


def compare_links(robot, found, expected):
    """P, Q, R of paper D."""
    for kind, place in (("dV", 1), ("dA", 2), ("dF", 3)):
        for name, columns in (
            ("eta", found.twists),
            ("dq", found.positions),
            ("v", found.rates),
            ("a", found.accelerations),
        ):
            theirs = expected[name][place][..., robot.body_joints, :].reshape(-1, robot.nb, 6)
            close(getattr(found, kind)[..., columns], np.moveaxis(theirs, 0, -1))


@tried(100)
@given(seed=seeds)
def test_random_trees_agree_with_complex_steps(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    path = tmp_path_factory.mktemp("random") / "robot.urdf"
    path.write_text(urdf_text(rng, links=int(rng.integers(2, 10))))
    compare(load(path, floating=bool(rng.integers(2)) or None), rng)


def test_balls_and_compound_joints(tmp_path):
    path = tmp_path / "balls.xml"
    path.write_text(BALLS)
    compare(load(path), np.random.default_rng(1))


@pytest.mark.parametrize(
    ("name", "floating"), [("panda", False), ("go2", True), ("g1_29dof_rev_1_0", True), ("tiago", False)]
)
def test_agrees_with_pinocchio(name, floating):
    model, robot = adapter.load(urdf(name), floating), load(urdf(name), floating=floating or None)
    q, v, a = random_state(robot, np.random.default_rng(0), (3,))
    found, E, data = (
        inverse_dynamics_derivatives(robot, q, v, a),
        adapter.velocity_map(model, robot),
        model.createData(),
    )
    for k in range(3):
        pin.computeRNEADerivatives(model, data, adapter.configuration(model, robot, q[k]), E @ v[k], E @ a[k])
        M = np.triu(data.M) + np.triu(data.M, 1).T
        for mine, theirs in ((found.dtau_dq, data.dtau_dq), (found.dtau_dv, data.dtau_dv), (found.dtau_da, M)):
            close(mine[k], E.T @ theirs @ E, 1e-11)
        close(found.tau[k], adapter.inverse_dynamics(model, data, robot, q[k], v[k], a[k]), 1e-11)


@pytest.mark.exhaustive
def test_jax_differentiates_to_the_same_and_runs_the_same_source():
    robot = library.cheetah3_leg()
    state = random_state(robot, np.random.default_rng(3), (2,))
    found = inverse_dynamics_derivatives(robot, *state)

    def both(q, v, a):
        derivatives = inverse_dynamics_derivatives(robot, q, v, a)
        return derivatives.dtau_dtwist, derivatives.vjp(v).theta

    with jax.enable_x64(True):
        arrays = [jax.numpy.asarray(x) for x in state]
        rows = jax.jit(jax.vmap(jax.jacfwd(lambda *x: inverse_dynamics(robot, *x), argnums=(0, 1, 2))))(*arrays)
        for mine, theirs in zip((found.dtau_dq, found.dtau_dv, found.dtau_da), rows, strict=True):
            close(mine, np.asarray(theirs))
        twists, pulled = jax.jit(both)(*arrays)
        assert isinstance(twists, jax.Array)
        close(np.asarray(twists), found.dtau_dtwist, 1e-12)
        close(np.asarray(pulled), found.vjp(state[1]).theta, 1e-12)


@pytest.mark.parametrize("batch", [(), (1,), (3, 1, 2), (700,)])
def test_batch_shapes(batch):
    robot = load(urdf("panda"))
    q, v, a = random_state(robot, np.random.default_rng(0), batch)
    found, weights = (
        inverse_dynamics_derivatives(robot, q, v, a),
        np.random.default_rng(1).normal(size=(*batch, robot.nv)),
    )
    nv, nj, nb = robot.nv, robot.nj, robot.nb
    assert found.dtau_dq.shape == found.dtau_dv.shape == found.dtau_da.shape == (*batch, nv, nv)
    assert found.dtau_dtwist.shape == (*batch, nv, nv, 6) and found.dtau_djoint.shape == (*batch, nv, nj, 6)
    assert found.dtau_dgravity.shape == (*batch, nv, 3) and found.links.dF.shape == (*batch, nb, 6, 6 * nj + 3 * nv)
    pulled = found.vjp(weights)
    assert pulled.theta.shape == (*batch, nb, 10) and pulled.twist.shape == (*batch, nj, 6)
    close(pulled.q, (weights[..., None, :] @ found.dtau_dq)[..., 0, :], 1e-12)
    for index in list(np.ndindex(*batch))[-2:]:
        alone = inverse_dynamics_derivatives(robot, q[index], v[index], a[index])
        close(found.dtau_dtwist[index], alone.dtau_dtwist, 1e-13)
        close(found.dtau_dq[index], alone.dtau_dq, 1e-13)


def test_a_twist_along_its_own_motion_changes_nothing_else_does():
    """Turning a revolute joint about its own axis, or shifting it along, leaves every torque; tilting it does not."""
    robot = load(urdf("ur5_robot"))
    found = inverse_dynamics_derivatives(robot, *random_state(robot, np.random.default_rng(4), (5,)))
    for i, joint in enumerate(robot.joints):
        axis = joint.subspace[3:, 0]
        still = np.eye(6)[:, 3:] @ axis, np.eye(6)[:, :3] @ axis
        assert max(np.abs(found.dtau_dtwist[:, :, i] @ eta).max() for eta in still) < 1e-11
        across = np.eye(6)[:, 3:] @ np.roll(axis, 1)
        assert np.abs(found.dtau_dtwist[:, :, i] @ across).max() > 1e-2


def test_refusals():
    robot = load(urdf("panda"))
    q, v, a = random_state(robot, np.random.default_rng(0))
    with pytest.raises(OptionError, match="q has shape"):
        inverse_dynamics_derivatives(robot, q[:-1], v, a)
    with pytest.raises(OptionError, match="weights has shape"):
        inverse_dynamics_derivatives(robot, q, v, a).vjp(v[:-1])


@pytest.mark.parametrize(("name", "floating"), [("panda", False), ("go2", True)])
def test_the_kernel_agrees(name, floating):
    robot = load(urdf(name), floating=floating or None)
    robot = robot.with_joint_properties(armature=np.arange(robot.nv) / 10)
    state = random_state(robot, np.random.default_rng(0), (2, 600))
    plain, fused = (inverse_dynamics_derivatives(robot, *state, engine=engine) for engine in ("numpy", "native"))
    for key in ("dtau_dq", "dtau_dv", "dtau_da", "dtau_djoint", "dtau_dtwist"):
        assert getattr(fused, key).shape == getattr(plain, key).shape
        close(getattr(fused, key), getattr(plain, key), 1e-12)
    with pytest.raises(OptionError, match="engine is one of auto, numpy, native"):
        inverse_dynamics_derivatives(robot, *state, engine="cuda")
