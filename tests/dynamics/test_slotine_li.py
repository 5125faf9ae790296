"""The regressor of passive tracking against Pinocchio's Coriolis matrix, and the property that it is for."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mujoco_loops
import pinocchio_adapter as adapter
import steelyard as sy
from properties import tried
from robots import random_state, urdf
from steelyard.errors import OptionError
from strategies import robots


@pytest.mark.parametrize(("name", "floating"), [("panda", False), ("ur5_robot", False), ("solo12", True)])
def test_it_is_that_of_the_christoffel_symbols(name, floating):
    robot, rng = sy.load(urdf(name), floating=floating), np.random.default_rng(1)
    model = adapter.load(robot.source.path, floating)
    data, E = model.createData(), adapter.velocity_map(model, robot)
    for _ in range(3):
        q, v, ar = random_state(robot, rng)
        vr = rng.normal(size=robot.nv)
        there = adapter.configuration(model, robot, q)
        M, g = pin.crba(model, data, there), pin.computeGeneralizedGravity(model, data, there)
        M = np.triu(M) + np.triu(M, 1).T - np.diag(model.armature)
        C = pin.computeCoriolisMatrix(model, data, there, E @ v)
        expected = E.T @ (M @ E @ ar + C @ E @ vr + g)
        found = sy.slotine_li_regressor(robot, q, v, vr, ar) @ robot.inertias.ravel()
        np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())
        as_measured = sy.regressor(robot, q, v, ar) @ robot.inertias.ravel()
        assert np.abs(as_measured - expected).max() > 1e-2 * np.abs(expected).max()


@tried(20)
@given(robot=robots(most=6), seed=st.integers(0, 99), batch=st.sampled_from([(), (1,), (3, 1, 2)]))
def test_equal_references_give_the_regressor_itself(robot, seed, batch):
    rng = np.random.default_rng(seed)
    q, v, a = random_state(robot, rng, batch)
    Y = sy.regressor(robot, q, v, a)
    np.testing.assert_allclose(sy.slotine_li_regressor(robot, q, v, v, a), Y, atol=1e-9 * max(1, np.abs(Y).max()))


@tried(20)
@given(robot=robots(most=6, types=("revolute", "prismatic"), mimic=False), seed=st.integers(0, 99))
def test_the_change_of_the_mass_matrix_less_twice_c_is_skew(robot, seed):
    rng = np.random.default_rng(seed)
    q, v, _ = random_state(robot, rng)
    x, still, theta = rng.normal(size=robot.nv), np.zeros(robot.nv), robot.inertias.ravel()

    def kinetic(at):
        return x @ (sy.regressor(robot, at, still, x) - sy.regressor(robot, at, still, still)) @ theta

    step = 1e-5
    rate = (kinetic(q + step * v) - kinetic(q - step * v)) / (2 * step)
    C = sy.slotine_li_regressor(robot, q, v, x, still) - sy.slotine_li_regressor(robot, q, v, still, still)
    assert x @ C @ theta == pytest.approx(rate / 2, abs=1e-6 * max(1, abs(rate)))


def test_wrong_widths_are_refused():
    robot = sy.library.scara()
    with pytest.raises(OptionError, match=r"needs \(\.\.\., 4\)"):
        sy.slotine_li_regressor(robot, np.zeros(4), np.zeros(3), np.zeros(3), np.zeros(3))


STEP = 1e-4


@pytest.fixture(params=["five_bar", "four_bar_leg", "palletiser"], scope="module")
def linkage(request):
    """A linkage, MuJoCo's bodies of it, a closed state (q of all joints, v of the motors), and its motors."""
    robot, rng = getattr(sy.library, request.param)(), np.random.default_rng(3)
    still = np.zeros(robot.nv)
    robot = robot.with_joint_properties(armature=still, damping=still, frictionloss=still)
    m = mujoco_loops.hold_still(mujoco_loops.model_with_loops(robot).compile())
    names = sy.closed_loop.independent(robot)
    motors = np.array([robot.dof_names.index(name) for name in names])
    q_motors, v = 0.2 * rng.normal(size=len(motors)), rng.normal(size=len(motors))
    q = sy.closed_loop.tree_state(robot, q_motors, v, v)[0]
    return robot, m, q, v, motors


def mass_matrix(robot, m, q, motors):
    """Of the motors, from MuJoCo's bodies and constraints, less MuJoCo's armature."""
    still, unit = np.zeros(len(motors)), np.eye(len(motors))
    rest = mujoco_loops.motion_and_torque(m, q, still, still, motors)[2]
    M = np.stack([mujoco_loops.motion_and_torque(m, q, still, each, motors)[2] - rest for each in unit], axis=1)
    G = sy.closed_loop.gamma(robot, q)
    return M - G.T @ np.diag(m.dof_armature) @ G


def changes(robot, m, q, motors):
    """(ni, ni, ni) derivatives of that matrix by the last coordinate, along closed loops."""
    found = []
    for unit in np.eye(len(motors)):
        ends = (sy.closed_loop.tree_state(robot, q[motors] + s * STEP * unit, unit, unit, start=q)[0] for s in (1, -1))
        ahead, behind = (mass_matrix(robot, m, each, motors) for each in ends)
        found.append((ahead - behind) / (2 * STEP))
    return np.stack(found, axis=-1)


def test_of_a_linkage_it_is_that_of_the_christoffel_symbols_of_mujocos_mass_matrix(linkage):
    """A Coriolis term of the other sign, and one without the rate of Gamma, are far off."""
    robot, m, q, v, motors = linkage
    rng = np.random.default_rng(4)
    vr, ar = rng.normal(size=(2, len(motors)))
    dM = changes(robot, m, q, motors)
    C = np.einsum("ijk,k->ij", dM + dM.swapaxes(1, 2) - np.moveaxis(dM, -1, 0), v) / 2
    still = np.zeros(len(motors))
    gravity = mujoco_loops.motion_and_torque(m, q, still, still, motors)[2]
    expected = mass_matrix(robot, m, q, motors) @ ar + C @ vr + gravity
    theta, size = robot.inertias.ravel(), np.abs(C @ vr).max()
    found = sy.closed_loop.slotine_li_regressor(robot, q, v, vr, ar) @ theta
    np.testing.assert_allclose(found, expected, atol=1e-5 * max(size, 1.0))
    other_sign = sy.closed_loop.slotine_li_regressor(robot, q, -v, vr, ar) @ theta
    assert np.abs(other_sign - expected).max() > 1e-2 * size
    if robot.name != "palletiser":  # whose parallelograms keep Gamma as it is
        G = sy.closed_loop.gamma(robot, q)
        no_rate = G.T @ sy.slotine_li_regressor(robot, q, G @ v, G @ vr, G @ ar) @ theta
        assert np.abs(no_rate - expected).max() > 1e-2 * size


def test_of_a_linkage_the_change_of_the_mass_matrix_less_twice_c_is_skew(linkage):
    robot, m, q, v, motors = linkage
    rate = changes(robot, m, q, motors) @ v
    still, unit, theta = np.zeros(len(motors)), np.eye(len(motors)), robot.inertias.ravel()
    rows = sy.closed_loop.slotine_li_regressor(robot, q, v, np.vstack([unit, still]), still) @ theta
    C = (rows[:-1] - rows[-1]).T
    skew = rate - 2 * C
    assert np.abs(skew + skew.T).max() < 1e-5 * max(1.0, np.abs(rate).max()) < np.abs(rate - C).max()


def test_of_a_linkage_equal_references_give_the_regressor_of_its_motors(linkage):
    robot, _, q, v, motors = linkage
    a = np.random.default_rng(5).normal(size=(2, 1, len(motors)))
    Y = sy.closed_loop.regressor(robot, q, v, a)
    found = sy.closed_loop.slotine_li_regressor(robot, q, v, v, a)
    np.testing.assert_allclose(found, Y, atol=1e-9 * np.abs(Y).max())
    from_motors = sy.closed_loop.slotine_li_regressor(robot, q[motors], v, v, a, start=q)
    np.testing.assert_allclose(from_motors, found, atol=1e-7 * np.abs(Y).max())
    with pytest.raises(OptionError, match="vr and ar need"):
        sy.closed_loop.slotine_li_regressor(robot, q, v, np.zeros(robot.nv), v)
