"""Evidence and its tests against dense algebra, SciPy's distributions and textbook analysis of variance."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln, logsumexp

from steelyard.fleet.changes import alarms, run_spread
from steelyard.fleet.evidence import (
    Cause,
    Evidence,
    change_along,
    evidence_of,
    extra_variance,
    log_tail,
    marginal,
    pseudo_inverse,
    score_test,
)
from steelyard.fleet.population import population
from steelyard.information import Information

pytestmark = pytest.mark.claim("scale.changes")

SIZE = 5
EVERY = Cause("other", "", tuple(range(SIZE)), np.eye(SIZE))
FIRST = Cause("friction", "joint1", (0, 1), np.eye(SIZE)[:, :2])
LAST = Cause("friction", "joint2", (3, 4), np.eye(SIZE)[:, 3:])
CAUSES = (FIRST, LAST, EVERY)


def precision(rng, scale=1.0):
    rows = rng.normal(size=(20, SIZE)) * np.array([1.0, 10.0, 0.1, 1.0, 100.0])
    return scale * rows.T @ rows


def observed(rng, P, x):
    """Evidence of an estimate of x with this precision."""
    return Evidence(P, P @ x + np.linalg.cholesky(P) @ rng.normal(size=SIZE))


@pytest.mark.parametrize("u", [(0, 0, 1, 1), (0.0, 0.3, 0.7, 1.0)])
def test_changes_are_those_of_generalised_least_squares(u):
    rng = np.random.default_rng(0)
    runs = [observed(rng, precision(rng), 0.1 * rng.normal(size=SIZE)) for _ in u]
    design = np.concatenate([np.hstack([np.eye(SIZE), v * np.eye(SIZE)]) for v in u])
    weight = np.zeros((SIZE * len(u),) * 2)
    for k, run in enumerate(runs):
        weight[k * SIZE : (k + 1) * SIZE, k * SIZE : (k + 1) * SIZE] = run.precision
    estimates = np.concatenate([np.linalg.solve(run.precision, run.moment) for run in runs])
    covariance = np.linalg.inv(design.T @ weight @ design)
    change = (covariance @ design.T @ weight @ estimates)[SIZE:]
    found = score_test(change_along(runs, u), EVERY)
    np.testing.assert_allclose(found.amount, change, rtol=1e-8)
    np.testing.assert_allclose(found.deviation, np.sqrt(np.diag(covariance)[SIZE:]), rtol=1e-8)
    statistic = change @ np.linalg.solve(covariance[SIZE:, SIZE:], change)
    assert found.statistic == pytest.approx(statistic, rel=1e-8) and found.degrees == SIZE
    assert found.log_p == pytest.approx(stats.chi2.logsf(statistic, SIZE), rel=1e-6)


def test_a_direction_that_no_run_shows_is_left_out_and_not_told():
    rng = np.random.default_rng(1)
    P = precision(rng)
    P[:, 2] = P[2] = 0.0
    runs = [Evidence(P, P @ rng.normal(size=SIZE)) for _ in range(2)]
    found = score_test(change_along(runs, (0, 1)), EVERY)
    assert found.degrees == SIZE - 1 and np.isnan(found.amount[2]) and np.isfinite(np.delete(found.amount, 2)).all()
    assert np.isinf(marginal(runs[0])[1][2])


def test_added_variance_is_added_and_singular_precisions_stay_so():
    rng = np.random.default_rng(2)
    P, spread = precision(rng), np.array([0.1, 0.0, 3.0, 1e-3, 2.0])
    run = observed(rng, P, np.ones(SIZE))
    with_spread = run.with_spread(spread)
    np.testing.assert_allclose(
        np.linalg.inv(with_spread.precision), np.linalg.inv(P) + np.diag(spread), rtol=1e-7, atol=1e-9
    )
    expected = np.linalg.solve(P, run.moment)
    np.testing.assert_allclose(np.linalg.solve(with_spread.precision, with_spread.moment), expected, rtol=1e-7)
    P[:, 1] = P[1] = 0.0
    assert np.abs(Evidence(P, P @ expected).with_spread(spread).precision[1]).max() < 1e-12
    np.testing.assert_allclose(pseudo_inverse(P), np.linalg.pinv(P, rcond=1e-12), rtol=1e-6, atol=1e-12)


def test_tails_are_those_of_the_chi_square():
    for degrees in (1, 3, 10, 60):
        for value in (0.1, 5.0, 80.0, 1100.0, 1300.0):
            assert log_tail(value, degrees) == pytest.approx(stats.chi2.logsf(value, degrees), rel=1e-4, abs=1e-9)
            assert log_tail(value, degrees, 7.0) == pytest.approx(
                stats.f.logsf(value / degrees, degrees, 7.0), rel=1e-6
            )
    far = stats.f.logsf(1e39, 10, 12.0) - 6 * np.log(1e20)  # a power law, beyond what SciPy can tell
    assert log_tail(1e60, 10, 12.0) == pytest.approx(far, rel=1e-6)
    assert np.isfinite(log_tail(1e7, 10)) and log_tail(0.0, 0) == 0.0


def test_extra_variance_is_found_whatever_a_minority_does():
    rng = np.random.default_rng(3)
    variance = rng.uniform(0.5, 2.0, size=(4000, 2))
    distance = rng.normal(size=(4000, 2)) * np.sqrt(variance + np.array([3.0, 0.0]))
    distance[:400] = 1e3
    found = extra_variance(distance, variance)
    assert 2.7 < found[0] < 4.6 and found[1] < 0.5  # the median of the rest is their 56th percentile: 29 % more
    assert extra_variance(distance[400:], variance[400:])[0] == pytest.approx(3.0, rel=0.1)


def test_balanced_populations_have_the_spread_of_the_analysis_of_variance():
    """With equal precisions REML is `variance of estimates - variance of each` (Searle, Casella and McCulloch 1992)."""
    rng = np.random.default_rng(4)
    spread, noise, count = np.array([1.0, 0.3, 2.0, 0.5, 0.8]), 0.25, 400
    truth = 10.0 + spread * rng.normal(size=(count, SIZE))
    P = np.eye(SIZE) / noise**2
    robots = [observed(rng, P, each) for each in truth]
    estimates = np.stack([marginal(each)[0] for each in robots])
    found = population(robots, CAUSES, false_alarm=1e-6)
    assert found.outliers == ()
    np.testing.assert_allclose(found.mean, estimates.mean(axis=0), rtol=1e-8)
    np.testing.assert_allclose(found.spread**2, estimates.var(axis=0, ddof=1) - noise**2, rtol=0.01)
    shrunk = np.stack([found.individual(each)[0] for each in robots])
    assert np.sum((shrunk - truth) ** 2) < 0.97 * np.sum((estimates - truth) ** 2)
    _, covariance = found.individual(robots[0])
    np.testing.assert_allclose(np.diag(covariance), 1 / (1 / found.spread**2 + 1 / noise**2), rtol=1e-6)


def test_an_outlier_does_not_hide_in_the_spread_it_makes():
    rng = np.random.default_rng(5)
    P = np.eye(SIZE) * 1e4
    robots = [observed(rng, P, np.ones(SIZE) + 0.02 * rng.normal(size=SIZE)) for _ in range(12)]
    robots[4] = observed(rng, P, np.array([1.0, 1.0, 1.0, 1.8, 1.4]))
    robots[9] = observed(rng, P, np.array([0.2, 1.0, 1.0, 1.0, 1.0]))
    found = population(robots, CAUSES, false_alarm=0.01)
    assert {(each.robot, each.best.cause.place) for each in found.outliers} == {(4, "joint2"), (9, "joint1")}
    assert found.spread.max() < 0.05


def histories(rng, robots, runs, spread):
    """Robots that never change; runs differ by `spread` beyond noise."""
    return [
        [observed(rng, precision(rng), 1.0 + spread * rng.normal(size=SIZE)) for _ in range(runs)]
        for _ in range(robots)
    ]


def fleets_with_alarms(spread, count=15, *, known=True, robots=12, level=0.2):
    """Share of null fleets with any alarm. known: whether the spread of runs is looked for."""
    rng, hits = np.random.default_rng(6), 0
    for _ in range(count):
        fleet = histories(rng, robots, 4, spread)
        extra, pairs = run_spread(fleet, SIZE) if known else (0.0, 0)
        options = {"false_alarm": level, "robots": robots, "spread": extra, "pairs": pairs}
        hits += any(alarms(runs, range(4), CAUSES, **options) for runs in fleet)
    return hits / count


def test_false_alarms_are_as_rare_as_stated():
    assert fleets_with_alarms(np.zeros(SIZE)) <= 0.2
    assert fleets_with_alarms(np.full(SIZE, 0.05)) <= 0.2  # the spread is estimated, too
    assert fleets_with_alarms(np.full(SIZE, 0.5), 3, known=False) > 0.9  # without it, weather is a change


def test_a_step_and_a_drift_are_found_where_and_when_they_happen():
    rng = np.random.default_rng(7)
    times = np.arange(8.0)
    steady = histories(rng, 1, 8, 0.0)[0]
    assert alarms(steady, times, CAUSES, false_alarm=0.05) == ()
    step = [observed(rng, precision(rng), np.ones(SIZE) + (k >= 5) * np.array([0, 0, 0, 1.5, 0])) for k in range(8)]
    (found,) = alarms(step, times, CAUSES, false_alarm=0.05)
    assert (found.first, found.seen, found.shape, found.best.cause) == (5, 5, "step", LAST)
    assert found.best.amount[0] == pytest.approx(1.5, abs=4 * found.best.deviation[0]) and found.probability < 0.05
    slow = [observed(rng, precision(rng), np.ones(SIZE) + k * np.array([0.5, 0, 0, 0, 0])) for k in range(8)]
    found = alarms(slow, times, CAUSES, false_alarm=0.05)
    assert found and found[0].best.cause is FIRST and found[0].seen >= 2


@pytest.mark.parametrize("degrees", [2, 4, 10, 40])
@pytest.mark.parametrize("statistic", [1250.0, 1400.0, 3000.0])
def test_far_tails_are_the_sums_of_even_degrees(statistic, degrees):
    """`exp(-x) sum x^k / k!` with half of the statistic and of the degrees; floating point has no such probability."""
    x, terms = statistic / 2, np.arange(degrees // 2)
    exact = -x + logsumexp(terms * np.log(x) - gammaln(terms + 1))
    assert log_tail(statistic, degrees) == pytest.approx(exact, abs=2e-3)


def test_a_spread_that_is_estimated_takes_degrees_of_freedom():
    """Half of every variance is spread, known to ten degrees: the whole has four times as many (Satterthwaite)."""
    rng = np.random.default_rng(0)
    P, score = precision(rng), rng.normal(size=SIZE) * [1.0, 30.0, 0.3, 1.0, 300.0]
    whole, noise = Evidence(P / 2, score), Evidence(P, score)
    found = score_test(whole, EVERY, noise=noise, spread_degrees=10.0)
    statistic = score @ np.linalg.solve(P / 2, score)
    assert found.statistic == pytest.approx(statistic) and found.degrees == SIZE
    assert found.log_p == pytest.approx(stats.f.logsf(statistic / SIZE, SIZE, 40.0), rel=1e-9)
    assert found.log_fit == pytest.approx(stats.chi2.logsf(statistic, SIZE), rel=1e-9)


def test_the_spread_of_runs_is_theirs_and_not_that_of_pairs():
    rng = np.random.default_rng(1)
    spread, sure = np.array([0.5, 0.1, 2.0, 1.0, 0.01]), np.diag(np.full(SIZE, 1e8))
    robots = [[Evidence(sure, sure @ (spread * rng.normal(size=SIZE))) for _ in range(8)] for _ in range(150)]
    variance, pairs = run_spread(robots, SIZE)
    assert pairs == 150 * 7
    np.testing.assert_allclose(np.sqrt(variance), spread, rtol=0.12)


def test_evidence_of_samples_told_four_times_is_that_of_one():
    rng = np.random.default_rng(2)
    Y = rng.normal(size=(4000, 6))
    tau = Y @ np.ones(6) + rng.normal(size=4000)
    basis = Information.from_arrays(Y, tau).basis
    parts = zip(np.array_split(np.repeat(Y, 4, axis=0), 40), np.array_split(np.repeat(tau, 4), 40), strict=True)
    blocks = [replace(Information.from_arrays(*part), basis=basis) for part in parts]
    found, fitness = evidence_of(blocks, sum(blocks[1:], blocks[0]))
    assert fitness.inflation == pytest.approx(2.0, rel=0.15)
    np.testing.assert_allclose(np.diag(found.precision), np.diag(Y.T @ Y), rtol=0.3)
    np.testing.assert_allclose(np.linalg.solve(found.precision, found.moment), np.linalg.lstsq(Y, tau)[0], rtol=1e-9)


def test_an_alarm_is_told_with_its_chance_among_all_looks_and_tests():
    """The second look of one of seven robots, at a step before the second or third run: 6 / (pi n)^2 of its share."""
    rng = np.random.default_rng(3)
    P = precision(rng)
    runs = [observed(rng, P, x) for x in (np.zeros(SIZE), np.zeros(SIZE), np.array([1.5, 0.1, 0, 0, 0]))]
    (alarm,) = alarms(runs, np.arange(3.0), [EVERY], false_alarm=0.05, robots=7)
    assert (alarm.first, alarm.seen, alarm.shape) == (2, 2, "step")
    expected = np.exp(alarm.best.log_p) * 2 * 7 * np.pi**2 / 6 * 4
    assert 1e-300 < alarm.probability < 0.05 and alarm.probability == pytest.approx(expected, rel=1e-9)
