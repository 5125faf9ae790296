"""Masks of torques: which samples they name, how far a filter carries them, and that masked ones leave no trace."""

import numpy as np
import pytest

import steelyard as sy
from steelyard.errors import LogError
from steelyard.information import accumulate
from steelyard.log import joined, masks

NAMES = ("a", "b", "c")
T = np.arange(600) / 100


def log_of(**changes):
    q = np.stack([np.sin(2 * T), np.cos(T), 0.1 * np.sin(3 * T)], axis=1)
    v = np.stack([2 * np.cos(2 * T), -np.sin(T), 0.3 * np.cos(3 * T)], axis=1)
    tau = np.stack([np.sin(2 * T), np.cos(3 * T), np.sin(T) + 0.5], axis=1)
    return sy.Log(**{"t": T, "q": q, "v": v, "tau": tau, "joint_names": NAMES} | changes)


def test_clipped_torques_count_for_nothing_in_their_joint_only():
    log = log_of()
    clipped = log.replace(tau=np.minimum(log.tau, [np.inf, 0.9, np.inf]))
    filtered = sy.filters.differentiate(clipped, cutoff=5.0)
    found = masks.masked(filtered, clipped, masks.saturated(clipped), 5.0)
    at = clipped.t[clipped.tau[:, 1] == 0.9]
    distance = np.abs(found.t[:, None] - at).min(axis=1)
    np.testing.assert_array_equal(found.weights[:, 1], distance > 0.5 / 5.0 + 1e-9)
    assert found.weights[:, [0, 2]].all() and len(found) == len(filtered) and "b " in found.notes[-1]
    assert masks.masked(filtered, log, masks.saturated(log), 5.0) is filtered
    np.testing.assert_array_equal(found[10:50].weights, found.weights[10:50])
    np.testing.assert_array_equal(found.select(["b"]).weights, found.weights[:, [1]])
    both = joined([found, filtered])
    np.testing.assert_array_equal(both.weights, np.concatenate([found.weights, np.ones_like(found.weights)]))
    with pytest.raises(LogError, match=r"shape \(599, 3\), expected \(600, 3\)"):
        masks.masked(filtered, clipped, masks.saturated(clipped)[1:], 5.0)


@pytest.mark.parametrize("step", [2.0, 1.0, 0.6, 0.3])
def test_coarse_steps_of_friction_are_no_limit_and_a_limit_of_coarse_steps_is_one(step):
    """Friction of a sign has most of its samples at the extremes of a torque that is told in a few steps."""
    steps = np.round((np.sign(np.cos(3 * T)) + 0.05 * np.sin(7 * T)) / step) * step
    log = log_of(tau=np.stack([steps, np.maximum(steps, 0), np.round(np.clip(np.sin(2 * T), -0.7, 0.7), 1)], axis=1))
    assert not masks.saturated(log)[:, :2].any()
    np.testing.assert_array_equal(masks.saturated(log)[:, 2], np.abs(log.tau[:, 2]) > 0.65)


def test_masked_torques_leave_no_trace():
    """Whatever the masked torques are, information, diagnosis case and validation are those of the others."""
    robot = sy.library.puma560().with_joint_properties(damping=np.ones(6), frictionloss=np.ones(6))
    recording = sy.simulate.record(robot, duration=4.0)
    log = sy.filters.differentiate(recording.log, cutoff=10.0)
    weights = np.ones((len(log), robot.nv))
    weights[200:700, 2] = 0
    tau = log.tau.copy()
    tau[200:700, 2] = 1e6
    masked, wrong = log.replace(weights=weights), log.replace(weights=weights, tau=tau)
    for one in (masked, wrong):
        info = accumulate(robot, one, armature=True)
        told = accumulate(robot, log, armature=True, sample_weights=weights)
        np.testing.assert_array_equal(info.counts, weights.sum(axis=0))
        np.testing.assert_allclose(info.gram, told.gram, rtol=1e-12)
        np.testing.assert_allclose(info.energy, told.energy, rtol=1e-9)
    estimate = sy.fit.consistent(info)
    assert (
        sy.validate(estimate, wrong).relative_error
        < 0.02
        < 1
        < sy.validate(estimate, log.replace(tau=tau)).relative_error
    )
    assert sy.validate(estimate, wrong).rms == pytest.approx(sy.validate(estimate, masked).rms)
    assert sy.diagnose.diagnose(estimate, wrong.replace(bandwidth=10.0)).faults == ()
    with pytest.raises(LogError, match="rows of joints alone"):
        accumulate(robot, masked, rows=["joints", "power"])
