"""Parts of the torque sum to the prediction, link by link as Pinocchio computes them."""

import numpy as np
import pinocchio as pin
import pytest

import steelyard as sy
from recordings_of_arms import arm, fitted, recorded
from steelyard.diagnose.torque_contributions import EFFECTS


@pytest.fixture(scope="module")
def done():
    spring = {"springs": ("joint2",), "coupling": (("joint5", "joint6"),)}
    return fitted(arm("puma560"), recorded("puma560")[:4000], fit=sy.fit.least_squares, **spring)


def test_parts_sum_to_the_prediction(done):
    parts = sy.diagnose.contributions(done.estimate, done.log)
    predicted = sy.validate(done.estimate, done.log).predicted
    assert np.abs(parts.total - predicted).max() < 1e-12 * np.abs(predicted).max()
    assert tuple(parts.rms) == EFFECTS and (parts.rms["extras"][[1, 4, 5]] > 0).all()
    np.testing.assert_allclose(sum(parts.shares.values()), 1.0)


def test_parts_of_a_given_model_sum_to_its_prediction():
    robot, log = arm("panda"), fitted(arm("panda"), recorded("panda")[:3000]).log
    parts = sy.diagnose.contributions(robot, log)
    np.testing.assert_allclose(parts.total, sy.validate(robot, log).predicted, atol=1e-11)
    assert not parts.effects["offset"].any() and not parts.effects["extras"].any()


def test_each_link_and_gravity_are_what_pinocchio_says():
    path = sy.library.puma560().source.path
    robot, log = sy.load(path), fitted(arm("puma560"), recorded("puma560")[:2000]).log[::200]
    parts = sy.diagnose.contributions(robot, log)
    model = pin.buildModelFromUrdf(str(path))
    inertias = [pin.Inertia(inertia) for inertia in model.inertias]
    for body in range(robot.nb):
        for i in range(1, model.njoints):
            model.inertias[i] = inertias[i] if i == body + 1 else pin.Inertia.Zero()
        data = model.createData()
        expected = [pin.rnea(model, data, *row).copy() for row in zip(log.q, log.v, log.a, strict=True)]
        np.testing.assert_allclose(parts.links[:, :, body], expected, atol=1e-10)
    for i in range(1, model.njoints):
        model.inertias[i] = inertias[i]
    data = model.createData()
    expected = [pin.computeGeneralizedGravity(model, data, q).copy() for q in log.q]
    np.testing.assert_allclose(parts.gravity, expected, atol=1e-10)
