"""Offsets of all positions together: recovered, with honest deviations, and named only where torques show them."""

from types import SimpleNamespace

import numpy as np
import pytest

import steelyard as sy
from recordings_of_arms import arm, diagnosis_of, fitted, recorded
from steelyard.app.demo_job import mistaken
from steelyard.diagnose import position_offsets
from steelyard.diagnose.added_columns import Added, lasting, scatter
from steelyard.diagnose.case import case_of
from steelyard.information import accumulate
from steelyard.simulate import record

pytestmark = pytest.mark.claim("logs.faults")

OFFSETS = np.array([0.03, 0.05, -0.03, 0.04, -0.05, 0.06, 0.01])


def case_for(name, log, robot=None):
    done = fitted(arm(name) if robot is None else robot, log)
    return case_of(done.estimate, (done.log,))


@pytest.fixture(scope="module")
def off():
    log = recorded("panda")
    return case_for("panda", log.replace(q=log.q + OFFSETS), mistaken(arm("panda")))


def test_rates_are_those_of_the_regression():
    case = case_for("puma560", recorded("puma560"))
    base, regression = case.free[0], case.regression
    found = regression.position_rates(base, (1, 4))
    for column, dof in enumerate((1, 4)):
        step = 1e-5 * np.eye(6)[dof]
        expected = (regression.moved(step).rows - regression.moved(-step).rows) @ base / 2e-5
        np.testing.assert_allclose(found[:, :, column], expected, atol=1e-6 * np.abs(expected).max())


def test_zeros_of_all_joints_at_once(off):
    """What torques cannot show, the first joint's about the vertical and the last one's, is left out."""
    found = position_offsets(off)
    assert np.isnan(found.value[[0, 6]]).all() and np.isfinite(found.value[1:6]).all()
    assert np.abs((found.value + OFFSETS) / found.deviation)[1:6].max() < 4
    assert found.deviation[1:5].max() < 2e-3 and found.certain(4.25)[0] == [1, 2, 3, 4, 5]
    assert set(found.by_name("abcdefg")) == set("bcdef")


def test_deviations_are_those_of_least_squares_with_everything_unknown(off):
    found = position_offsets(case_for("panda", recorded("panda")))
    case = case_for("panda", recorded("panda"))
    dofs = np.flatnonzero(np.isfinite(found.value))
    rows = np.concatenate([case.regression.rows, case.regression.position_rates(case.free[0], dofs)], axis=2)
    whole = (rows / case.free[1][:, None, None]).reshape(-1, rows.shape[2])
    size = np.linalg.norm(whole, axis=0)
    covariance = np.linalg.inv((whole / size).T @ (whole / size)) / size / size[:, None]
    expected = np.sqrt(np.diag(covariance)[-len(dofs) :] / case.independence)
    np.testing.assert_allclose(found.deviation[dofs], expected, rtol=0.1)
    assert found.lasting == 1.0


def test_what_is_left_and_is_no_noise_makes_every_offset_less_certain():
    """Torque of something slow that the model lacks, small beside gravity: what a spring or a cable would do."""
    log = recorded("panda")
    clean = position_offsets(case_for("panda", log))
    slow = 0.02 * np.sqrt(np.mean(log.tau**2, axis=0)) * np.sin(0.7 * log.t[:, None] + np.arange(7))
    lacking = log.replace(tau=log.tau + slow)
    found = position_offsets(case_for("panda", lacking))
    assert found.lasting > 3 and (found.deviation[1:5] > 5 * clean.deviation[1:5]).all()
    assert np.nanmax(np.abs(found.value / found.deviation)) < 4.25
    assert diagnosis_of(arm("panda"), lacking).faults == ()


def test_sign_of_a_last_position_that_torque_does_not_tell():
    """With the last position of a UR10 negated, a robot whose last torque is negated explains 10 s at 500 Hz without
    noise: to a few thousandths of the noise that sensors add, 0.3 nats in all where 9 would be evidence. Its last link
    is nearly a disc about the axis, which reads the same mirrored; a Panda's hand-side link is none."""
    nats = {}
    for name in ("ur10", "panda"):
        robot, truth = arm(name), record(arm(name), duration=10.0).truth[::5]
        turned = np.where(np.arange(robot.nv) == robot.nv - 1, -1, 1)
        told = truth.replace(**{key: turned * getattr(truth, key) for key in ("q", "v", "a")}, tau=turned * truth.tau)
        case = case_of(sy.fit.consistent(accumulate(robot, truth, armature=True)), [told])
        noise = 0.01 * np.sqrt(np.mean(truth.tau**2, axis=0))
        rows = (case.regression.rows / noise[:, None, None]).reshape(-1, case.regression.rows.shape[2])
        rows /= np.linalg.norm(rows, axis=0)
        target = (case.target / noise[:, None]).ravel()
        left = target - rows @ np.linalg.lstsq(rows, target, rcond=1e-12)[0]
        nats[name] = 0.5 * (left @ left) * 5000 / len(case)
    assert nats["ur10"] < 1 and nats["panda"] > 9
    log = recorded("ur10")
    (fault,) = diagnosis_of(mistaken(arm("ur10")), log.replace(q=[1, 1, 1, 1, 1, -1] * log.q)).faults
    assert fault.code == "torque_sign" and "cannot tell it from: position sign" in fault.message


def test_scatter_counts_the_columns_that_were_fitted():
    """Residuals of least squares with thirty columns of eighty rows; their squares are those of fifty degrees."""
    rng = np.random.default_rng(4)
    case = SimpleNamespace(dofs=(0, 1), independence=1.0)
    found = []
    for _ in range(300):
        space = np.linalg.qr(rng.normal(size=(80, 30)))[0]
        noise = 0.7 * rng.normal(size=80)
        left = (noise - space @ (space.T @ noise)).reshape(2, 40)
        added = Added(np.zeros(0), np.zeros((0, 0)), np.zeros(2), np.sum(left**2, axis=1), left, 30)
        found.append(scatter(case, added) / np.sqrt(lasting(case, left)))
    assert np.sqrt(np.mean(np.square(found))) == pytest.approx(0.7, rel=0.03)
