"""Closed loops against MuJoCo's bodies with the multipliers eliminated by hand, and against JAX for the five-bar."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import steelyard as sy
from mujoco_loops import constraint, hold_still, model_with_loops, motion_and_torque
from steelyard.model import library

pytestmark = pytest.mark.claim(
    "loops.dynamics", "five-bar torques and derivatives against MuJoCo and JAX; singular poses by name"
)

ROBOTS = {"five_bar": library.five_bar, "four_bar_leg": library.four_bar_leg, "palletiser": library.palletiser}
SIZE = 0.5  # rad, of the motions tried


@pytest.fixture(scope="module", params=ROBOTS)
def robot(request):
    return ROBOTS[request.param]()


def independent_states(robot, count, seed=0):
    rng = np.random.default_rng(seed)
    size = (count, len(robot.actuated))
    return rng.uniform(-SIZE, SIZE, size), 2 * rng.normal(size=size), 5 * rng.normal(size=size)


def test_motion_and_torques_are_those_of_mujocos_bodies(robot):
    m = hold_still(model_with_loops(robot).compile())
    assert [m.joint(i).name for i in range(m.njnt)] == list(robot.joint_names)
    state = independent_states(robot, 6)
    q, v, a = sy.closed_loop.tree_state(robot, *state)
    tau = sy.closed_loop.inverse_dynamics(robot, *state)
    driven = [robot.joint_names.index(name) for name in robot.actuated]
    for k in range(len(q)):
        v_mj, a_mj, tau_mj = motion_and_torque(m, q[k], state[1][k], state[2][k], driven)
        np.testing.assert_allclose(v[k], v_mj, atol=1e-10)
        np.testing.assert_allclose(a[k], a_mj, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(tau[k], tau_mj, rtol=1e-8, atol=1e-8)
        gamma = sy.closed_loop.gamma(robot, q[k])
        np.testing.assert_allclose(gamma @ state[1][k], v_mj, atol=1e-10)
    open_tree = sy.inverse_dynamics(robot, q, v, a)[:, driven]
    assert np.abs(open_tree - tau).max() > 1e-2 * np.abs(tau).max(), "loops matter"


def test_the_same_robot_from_mjcf(robot, tmp_path):
    """MuJoCo's file has two points for each hinge: six equations of which two are independent in a planar loop."""
    path = tmp_path / "closed.xml"
    path.write_text(model_with_loops(robot).to_xml())
    read = sy.load(path)
    assert len(read.loops) == 2 * len(robot.loops) and {loop.kind for loop in read.loops} == {"connect"}
    assert read.actuated == robot.actuated and not read.notes
    state = independent_states(robot, 4)
    expected = sy.closed_loop.inverse_dynamics(robot, *state)
    np.testing.assert_allclose(sy.closed_loop.inverse_dynamics(read, *state), expected, rtol=1e-6, atol=1e-6)


def test_batches_guesses_and_joint_choices(robot):
    q, v, a = independent_states(robot, 6)
    tau = sy.closed_loop.inverse_dynamics(robot, q, v, a)
    Y = sy.closed_loop.regressor(robot, q, v, a)
    np.testing.assert_allclose(Y @ robot.inertias.ravel(), tau, rtol=1e-12, atol=1e-12)
    full = sy.closed_loop.tree_state(robot, q, v, a)
    np.testing.assert_allclose(sy.closed_loop.inverse_dynamics(robot, *full), tau, rtol=1e-8, atol=1e-9)
    rough = full[0] + np.where(np.isin(robot.joint_names, robot.actuated), 0, 0.03)
    np.testing.assert_allclose(sy.closed_loop.inverse_dynamics(robot, rough, v, a), tau, rtol=1e-8, atol=1e-9)
    for batch in ((), (1,), (3, 2)):
        part = [x[0] if batch == () else x[: int(np.prod(batch))].reshape(*batch, -1) for x in (q, v, a)]
        found = sy.closed_loop.inverse_dynamics(robot, *part)
        assert found.shape == (*batch, len(robot.actuated))
        np.testing.assert_allclose(found.reshape(-1, tau.shape[1]), tau[: max(int(np.prod(batch)), 1)], rtol=1e-8)
    empty = sy.closed_loop.inverse_dynamics(robot, q[:0], v[:0], a[:0])
    assert empty.shape == (0, len(robot.actuated))


def test_other_independent_joints_feel_the_same_power(robot):
    """Torques at other joints that produce the same motion do the same work."""
    other = [name for name in robot.joint_names if name not in robot.actuated]
    names = {"five_bar": ["joint1", "joint2"], "four_bar_leg": ["hip", "knee"]}.get(robot.name, ["yaw", *other[:2]])
    state = sy.closed_loop.tree_state(robot, *independent_states(robot, 5))
    one = sy.closed_loop.inverse_dynamics(robot, *state)
    two = sy.closed_loop.inverse_dynamics(robot, *state, actuated=names)
    order = [[robot.joint_names.index(n) for n in sy.closed_loop.independent(robot, actuated=x)] for x in (None, names)]
    powers = [np.sum(tau * state[1][:, columns], axis=1) for tau, columns in zip((one, two), order, strict=True)]
    np.testing.assert_allclose(powers[0], powers[1], rtol=1e-9, atol=1e-9)


def test_derivatives_are_those_of_the_torques(robot):
    q, v, a = independent_states(robot, 3, seed=1)
    found = sy.closed_loop.inverse_dynamics_derivatives(robot, q, v, a)
    step = 1e-5
    for name, which in (("dtau_dq", 0), ("dtau_dv", 1), ("dtau_da", 2)):
        analytic = getattr(found, name)
        for k in range(q.shape[1]):
            states = [
                [x + (i == which) * s * step * np.eye(q.shape[1])[k] for i, x in enumerate((q, v, a))] for s in (1, -1)
            ]
            ahead, behind = (sy.closed_loop.inverse_dynamics(robot, *state) for state in states)
            numeric = (ahead - behind) / (2 * step)
            scale = np.abs(analytic).max()
            np.testing.assert_allclose(analytic[..., k], numeric, rtol=1e-6, atol=1e-7 * scale)
    np.testing.assert_allclose(
        found.dtau_da, np.swapaxes(found.dtau_da, -1, -2), atol=1e-10 * np.abs(found.dtau_da).max()
    )


def _axes(robot):
    return np.array([*(joint.subspace[3:, 0] for joint in robot.joints), robot.loops[0].rotations[0][:, 2]])


def _turn(axis, angle):
    W = jnp.cross(jnp.eye(3), axis)
    return jnp.eye(3) + jnp.sin(angle) * W + (1 - jnp.cos(angle)) * (W @ W)


def _paper_five_bar(robot, w):
    """Torque of a spherical five-bar with axes w (5, 3) by paper D, (12) and (13), its cut joint's angle and how far
    it is from closed: none of our dynamics.

    The tree's torques come from its Lagrangian by automatic differentiation.
    """
    h, moments = robot.inertias[:, 1:4], robot.inertias[:, [4, 5, 7, 5, 6, 8, 7, 8, 9]].reshape(-1, 3, 3)

    def links(q):
        first = _turn(w[0], q[0])
        second = first @ _turn(w[1], q[1])
        return first, second, second @ _turn(w[2], q[2]), _turn(w[3], q[3])

    def gamma(q):
        first, second, _, fourth = links(q)
        x, y, z = first @ w[1], second @ w[2], -fourth @ w[4]
        cofactors = jnp.stack([jnp.cross(y, z), jnp.cross(z, x), jnp.cross(x, y)])
        J = -cofactors @ jnp.stack([w[0], -w[3]], axis=1) / (x @ cofactors[0])
        return jnp.stack([np.array([1.0, 0.0]), J[0], J[1], np.array([0.0, 1.0]), J[2]])

    def lagrangian(q, v):
        R, rate = jax.jvp(lambda x: jnp.stack(links(x)), (q,), (v,))
        W = jnp.swapaxes(R, 1, 2) @ rate
        spin = jnp.stack([W[:, 2, 1], W[:, 0, 2], W[:, 1, 0]], axis=1)
        weight = jnp.einsum("i,bij,bj->", robot.gravity, R, h)
        return 0.5 * jnp.einsum("bi,bij,bj->", spin, moments, spin) + weight

    def torque(q, v_active, a_active):
        G, G_rate = jax.jvp(gamma, (q,), (gamma(q) @ v_active,))
        v, a = G @ v_active, G @ a_active + G_rate @ v_active
        momentum = jax.grad(lagrangian, 1)
        _, inertial = jax.jvp(momentum, (q[:4], v[:4]), (v[:4], a[:4]))
        return G[:4].T @ (inertial - jax.grad(lagrangian)(q[:4], v[:4]))

    def cut_angle(q):
        _, _, third, fourth = links(q)
        E = fourth.T @ third
        return jnp.arctan2(
            jnp.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]]) @ w[4], jnp.trace(E) - 1
        )

    def gap(q):
        _, _, third, fourth = links(q)
        return (third - fourth) @ w[4]

    return gamma, torque, cut_angle, gap


@pytest.mark.exhaustive
def test_five_bar_torques_and_derivatives_by_automatic_differentiation():
    robot = library.five_bar()
    state = independent_states(robot, 3, seed=2)
    q = sy.closed_loop.tree_state(robot, *state)[0]
    tau = sy.closed_loop.inverse_dynamics(robot, *state)
    found = sy.closed_loop.inverse_dynamics_derivatives(robot, *state)
    with jax.enable_x64(True):
        gamma, torque, cut_angle, _ = _paper_five_bar(robot, _axes(robot))
        quick = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}  # to compile
        whole = jax.jit(
            lambda *x: (torque(*x), *jax.jacfwd(torque, (0, 1, 2))(*x), gamma(x[0])), compiler_options=quick
        )
        for k, joints in enumerate(q):
            everything = jnp.append(joints, cut_angle(joints))
            value, by_all, by_v, by_a, G = whole(everything, *(jnp.array(x[k]) for x in state[1:]))
            np.testing.assert_allclose(sy.closed_loop.gamma(robot, joints), G[:4], rtol=1e-9, atol=1e-10)
            np.testing.assert_allclose(tau[k], value, rtol=1e-9, atol=1e-10)
            np.testing.assert_allclose(found.dtau_dq[k], by_all @ G, rtol=1e-8, atol=1e-9)
            np.testing.assert_allclose(found.dtau_dv[k], by_v, rtol=1e-8, atol=1e-9)
            np.testing.assert_allclose(found.dtau_da[k], by_a, rtol=1e-8, atol=1e-9)


@pytest.mark.exhaustive
def test_five_bar_derivatives_by_axes_by_automatic_differentiation():
    """Paper D, (14): every axis turns, that of the cut joint too, and the passive joints close the loop again."""
    robot = library.five_bar()
    state = independent_states(robot, 2, seed=3)
    found = sy.closed_loop.inverse_dynamics_derivatives(robot, *state)
    axes, to_body = _axes(robot), robot.loops[0].rotations[0].T

    def torque_of(turns, still, q, v, a):
        w = jnp.stack([x + jnp.cross(turn, x) for x, turn in zip(axes, turns, strict=True)])
        _, torque, cut_angle, gap = _paper_five_bar(robot, w)
        open_by, passive = gap(q), jax.jacfwd(_paper_five_bar(robot, axes)[3])(q)[:, 1:3]
        q = q.at[1:3].add(-still * jnp.linalg.pinv(passive) @ open_by)  # exact to first order
        return torque(jnp.append(q, cut_angle(q)), v, a)

    with jax.enable_x64(True):
        slopes = jax.jit(jax.jacfwd(torque_of))
        for k, joints in enumerate(found.at.q):
            arguments = np.zeros((5, 3)), 1.0, joints, state[1][k], state[2][k]
            expected = slopes(*(jnp.asarray(x) for x in arguments))
            np.testing.assert_allclose(found.dtau_dtwist[k, :, :, 3:], expected[:, :4], rtol=1e-8, atol=1e-8)
            np.testing.assert_allclose(found.dtau_dcut[k, :, 0, 3:] @ to_body, expected[:, 4], rtol=1e-8, atol=1e-8)
            held = slopes(*(jnp.asarray(x) for x in (arguments[0], 0.0, *arguments[2:])))
            assert np.abs(held - expected).max() > 1e-2 * np.abs(expected).max(), "the closure's own motion counts"


def test_wrenches_from_outside_are_what_mujocos_jacobians_say(robot):
    m = hold_still(model_with_loops(robot).compile())
    rng, state = np.random.default_rng(5), independent_states(robot, 3)
    names = (robot.body_names[0], robot.body_names[-1])
    external = {name: rng.normal(size=(3, 6)) for name in names}
    tau = sy.closed_loop.inverse_dynamics(robot, *state, external=external)
    alone = sy.closed_loop.inverse_dynamics(robot, *state)
    q, gamma = sy.closed_loop.tree_state(robot, *state)[0], sy.closed_loop.gamma(robot, state[0])
    d = mujoco.MjData(m)
    for k in range(3):
        constraint(m, d, q[k])
        pulled = np.zeros(m.nv)
        for name in names:
            linear, angular, body = np.empty((3, m.nv)), np.empty((3, m.nv)), m.body(name).id
            mujoco.mj_jacBody(m, d, linear, angular, body)
            wrench = external[name][k].reshape(2, 3) @ d.xmat[body].reshape(3, 3).T
            pulled += linear.T @ wrench[0] + angular.T @ wrench[1]
        np.testing.assert_allclose(tau[k], alone[k] - gamma[k].T @ pulled, rtol=1e-9, atol=1e-9)
    assert np.abs(tau - alone).max() > 0.1


def test_floating_base_with_a_loop():
    """A leg on a free torso: the base wrench is as it would be for the tree, and loops change the joints only."""
    robot = library.four_bar_leg(floating=True)
    rng = np.random.default_rng(4)
    q = np.concatenate([rng.normal(size=(4, 7)), rng.uniform(-SIZE, SIZE, (4, 2))], axis=1)
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    v, a = rng.normal(size=(2, 4, 8))
    tau = sy.closed_loop.inverse_dynamics(robot, q, v, a)
    assert sy.closed_loop.independent(robot)[:2] == ("floating_base[0]", "floating_base[1]") and tau.shape == (4, 8)
    whole = sy.inverse_dynamics(robot, *sy.closed_loop.tree_state(robot, q, v, a))
    np.testing.assert_allclose(tau[:, :6], whole[:, :6], rtol=1e-9, atol=1e-9)
    fixed = library.four_bar_leg()
    level = np.tile([0, 0, 0, 0, 0, 0, 1.0], (4, 1))
    on_ground = sy.closed_loop.inverse_dynamics(fixed, q[:, 7:], v[:, 6:], a[:, 6:])
    still = np.zeros((4, 6))
    held = sy.closed_loop.inverse_dynamics(
        robot, np.hstack([level, q[:, 7:]]), np.hstack([still, v[:, 6:]]), np.hstack([still, a[:, 6:]])
    )
    np.testing.assert_allclose(held[:, 6:], on_ground, rtol=1e-9, atol=1e-9)
    derivatives = sy.closed_loop.inverse_dynamics_derivatives(robot, q, v, a)
    np.testing.assert_allclose(derivatives.dtau_da, np.swapaxes(derivatives.dtau_da, 1, 2), atol=1e-9)
