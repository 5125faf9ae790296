"""The regressor of passive tracking against Pinocchio's Coriolis matrix, and the property that it is for."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pinocchio_adapter as adapter
import steelyard as sy
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


@settings(max_examples=20, deadline=None)
@given(robot=robots(most=6), seed=st.integers(0, 99), batch=st.sampled_from([(), (1,), (3, 1, 2)]))
def test_equal_references_give_the_regressor_itself(robot, seed, batch):
    rng = np.random.default_rng(seed)
    q, v, a = random_state(robot, rng, batch)
    Y = sy.regressor(robot, q, v, a)
    np.testing.assert_allclose(sy.slotine_li_regressor(robot, q, v, v, a), Y, atol=1e-9 * max(1, np.abs(Y).max()))


@settings(max_examples=20, deadline=None)
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
