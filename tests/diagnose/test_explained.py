"""A cause is named where undoing it explains what a fit leaves, and nothing is named where it does not."""

import numpy as np
import pytest

from recordings_of_arms import arm, diagnosis_of, fitted, recorded
from steelyard.diagnose.added_columns import ALIKE, persistence
from steelyard.diagnose.case import case_of
from steelyard.diagnose.diagnosis import _model_class
from steelyard.diagnose.faults import fault
from steelyard.diagnose.hypothesis import surprise
from steelyard.diagnose.joint_residuals import analyse

PANDA = "panda_joint{}".format


def faults_of(name, log, robot=None):
    found = diagnosis_of(arm(name) if robot is None else robot, log).faults
    return found, [(fault.code, fault.joint) for fault in found]


def with_torque(name, added, seed=0):
    """A recording whose joints feel more than rigid links: added(q, v, size) by joint; size: RMS torque, N m."""
    log = recorded(name, seed=seed)
    v, tau = np.gradient(log.q, log.t, axis=0), log.tau.copy()
    for joint, function in added.items():
        size = np.sqrt(np.mean(log.tau[:, joint] ** 2))
        tau[:, joint] += function(log.q[:, joint], v[:, joint], size)
    return log.replace(tau=tau)


UNNAMED = {
    "nonlinear spring": lambda q, v, size: 3 * size * np.sin(3 * q),
    "hardening spring": lambda q, v, size: 3 * size * (q - q.mean()) ** 3,
    "pushed aside": lambda q, v, size: -2 * size * q,
    "quadratic drag": lambda q, v, size: size * v * np.abs(v),
    "contact": lambda q, v, size: 2 * size * (np.arange(len(q)) // (len(q) // 6) == 2),
}


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    ("what", "joint"),
    [
        ("nonlinear spring", 2),
        ("hardening spring", 1),
        ("pushed aside", 2),
        ("quadratic drag", 1),
        ("contact", 1),
    ],
)
def test_what_has_no_name_gets_none(what, joint):
    (fault,), (named,) = faults_of("panda", with_torque("panda", {joint: UNNAMED[what]}))
    assert named in [("model_class", None), ("not_physical", None)]
    if named[0] == "model_class":
        assert fault.message.startswith(
            f"Not explained: rigid links with this friction leave {fault.evidence['relative_error']:.0%} of the torque"
        )


def test_a_cause_that_explains_too_little_is_said_to():
    done = fitted(arm("panda"), with_torque("panda", {1: UNNAMED["nonlinear spring"]}))
    case = case_of(done.estimate, [done.log])
    left = analyse(case.robot, (case.regression.q, case.regression.v, case.regression.a), case.tau, case.error, 0.02)
    doubted = fault("torque_sign", "It may be.", "Negate it.", joint=PANDA(2))
    (found,) = [each for each in _model_class(case, left, case.relative_error, doubted) if each.code == "model_class"]
    words = "Of the causes with a name, torque sign of panda_joint2 explains most, but too little to be the cause"
    assert words in found.message
    (found,) = [each for each in _model_class(case, left, case.relative_error) if each.code == "model_class"]
    assert "causes with a name" not in found.message


def test_noise_is_nothing_that_a_model_lacks():
    log = recorded("panda")
    size = np.sqrt(np.mean(log.tau**2, axis=0))
    loud = log.replace(tau=log.tau + 2 * size * np.random.default_rng(0).normal(size=log.tau.shape))
    assert faults_of("panda", loud)[1] == []


def test_samples_of_a_residual_that_lasts_are_worth_less():
    """White noise counts whole; a random walk's samples are one another's."""
    rng = np.random.default_rng(0)
    white = rng.normal(size=(8, 20000))
    case = type("Noise", (), {"independence": 1.0})
    np.testing.assert_allclose(persistence(case, white), 1.0)
    smooth = np.array([np.convolve(each, np.ones(20) / 20, mode="same") for each in white])
    assert persistence(case, smooth).mean() == pytest.approx(20 / ALIKE, rel=0.1)


def test_figures_cost_what_their_size_is_unlikely():
    assert surprise([0.0], 0.1) == 0 and surprise([0.1, 0.2], 0.1) == pytest.approx(2.5)
