"""A sensor whose bias changes steadily: the augmented regression, the truth, and what a constant bias makes of it."""

import numpy as np
import pytest
from evidence.bench.tray_experiment import test_object

from payload_logs import THETA, swing
from steelyard.errors import OptionError
from steelyard.native import LONG_CHUNK
from steelyard.payload import Status, diagnose, identify, observability
from steelyard.payload.wrench_problem import mass_of
from steelyard.payload.wrench_sums import accumulate, bias_of, eliminated, wrench_regressor

OFFSET = np.array([1.0, -2.0, 0.5, 0.03, -0.02, 0.01])
RATE = np.array([0.3, 0.2, -0.4, 0.02, 0.01, -0.015])  # N/s and N m/s
NOISE = (0.05, 0.002, 0.0, 0.0)
THING = test_object("hammer")


def drifting(theta=THETA, *, seed=0, noise=NOISE, duration=6.0, start=0.0):
    log = swing(theta, noise=noise, bias=OFFSET, seed=seed, duration=duration)
    return log.replace(t=log.t + start, wrench=log.wrench + np.outer(log.t, RATE))


def test_least_squares_are_the_augmented_regression():
    log = drifting(start=1.7e9)  # stamps of a clock
    rows = np.concatenate(
        [
            wrench_regressor(log),
            np.broadcast_to(np.eye(6), (len(log), 6, 6)),
            (log.t - log.t[0])[:, None, None] * np.eye(6),
        ],
        axis=2,
    ).reshape(-1, 22)
    expected = np.linalg.lstsq(rows, log.wrench.ravel(), rcond=None)[0]
    found = identify(log, "ols", bias="drift")
    np.testing.assert_allclose(found.theta, expected[:10], atol=1e-8)
    info = accumulate(log, bias="drift")
    spread = np.linalg.inv(rows.T @ rows)  # with unit noise
    A = eliminated(info, (1.0, 1.0))[:10, :10]
    bias, own = bias_of(info, (1.0, 1.0), found.theta, np.linalg.inv(A.T @ A))
    np.testing.assert_allclose(bias, expected[10:], atol=1e-7)
    np.testing.assert_allclose(own, np.sqrt(np.diag(spread))[10:], rtol=1e-6)


def test_sums_of_parts_count_time_from_the_first():
    log = drifting(duration=60.0, start=1.7e9)
    assert len(log) > LONG_CHUNK
    rows = np.concatenate([wrench_regressor(log), np.broadcast_to(np.eye(6), (len(log), 6, 6))], axis=2)
    rows = np.concatenate([rows, (log.t - log.t[0])[:, None, None] * np.eye(6), log.wrench[:, :, None]], axis=2)
    for factor, part in zip(accumulate(log, bias="drift").factors, (slice(3), slice(3, 6)), strict=True):
        expected = np.einsum("nki,nkj->ij", rows[:, part], rows[:, part])
        np.testing.assert_allclose(factor.T @ factor, expected, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("method", ["geo", "density"])
@pytest.mark.parametrize("draws", [8, pytest.param(20, marks=pytest.mark.exhaustive)])  # 48 intervals, or 120
def test_drift_is_within_its_interval_and_masses_are_right(method, draws):
    inside = []
    for seed in range(draws):
        log = drifting(THING.theta, seed=seed)
        found = identify(log, method, shape=THING.solid if method == "density" else None, bias="drift")
        assert not found.findings and found.status is Status.OK
        assert found.mass == pytest.approx(THING.theta[0], rel=0.02)
        inside.append(np.abs(found.drift - RATE) < 1.96 * found.drift_deviation)
        assert found.drift_deviation[:3].max() < 0.02 and found.drift_deviation[3:].max() < 0.002
        np.testing.assert_allclose(found.bias, OFFSET, atol=0.1)
    assert np.mean(inside) > 0.88
    assert "its drift" in found.summary() and found.as_dict()["drift"] == found.drift.tolist()


def test_a_constant_bias_is_wrong_there_and_the_drift_is_named():
    log = drifting(THING.theta)
    constant, right = identify(log, "ols", bias=True), identify(log, "ols", bias="drift")
    assert abs(constant.mass - THING.theta[0]) > 10 * abs(right.mass - THING.theta[0])
    for found in (constant, identify(log)):
        assert any("the sensor's bias drifts" in text and "(--drift)" in text for text in found.findings)
    assert any("not tared" in text for text in diagnose(swing(noise=NOISE, bias=OFFSET, duration=6.0)))
    assert mass_of(drifting(noise=(0, 0, 0, 0)), "drift") == pytest.approx(THETA[0], rel=0.05)


def test_what_a_log_shows_beside_a_drift():
    log = swing()
    assert observability(log, bias="drift").rank == 10
    assert observability(log[:3], bias="drift").rank <= 6  # a line explains two of three samples
    with pytest.raises(OptionError, match="bias is False, True"):
        identify(log, bias="linear")


def test_a_sensor_that_warms_up_is_named_with_the_bias_that_undoes_most():
    """Its bias nears what it ends at: no line, but nearer to one than to a constant."""
    log = swing(THING.theta, noise=NOISE, duration=6.0)
    end = np.array([3.0, -2.0, 5.0, 0.1, 0.06, -0.08])
    log = log.replace(wrench=log.wrench + np.outer(1 - np.exp(-log.t / 1.7), end))
    found = identify(log)
    assert found.status is Status.SUSPECT and any("bias='drift' (--drift)" in each for each in found.findings)
    undone = identify(log, bias="drift")
    mass = THING.theta[0]
    assert abs(undone.mass - mass) < max(0.5 * abs(found.mass - mass), 3 * undone.mass_deviation)
