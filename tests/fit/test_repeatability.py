"""Runs that repeat are called consistent; a changed robot is found, and named."""

import numpy as np
import pytest
from scipy.stats import f_oneway

from noisy_torques import Repetitions
from steelyard import fit
from steelyard.app.demo_job import mistaken
from steelyard.errors import FitError, OptionError
from steelyard.fit import compare_runs
from steelyard.information import Information, accumulate_blocks
from steelyard.model import library


@pytest.fixture(scope="module")
def scara():
    truth = library.scara()
    return Repetitions(truth, mistaken(truth, seed=1), duration=10.0)


def test_probability_is_welchs():
    """A column of ones with a block a sample is a mean: the classical case."""
    rng = np.random.default_rng(0)
    samples = [rng.normal(scale=s, loc=m, size=n) for s, m, n in ((1.0, 0.0, 20), (3.0, 0.4, 15), (0.5, -0.2, 8))]
    runs = {f"run{i}": [Information.from_arrays([[1.0]], [x]) for x in each] for i, each in enumerate(samples)}
    found = fit.repeatability(runs)
    expected = f_oneway(*samples, equal_var=False)
    np.testing.assert_allclose(found.p, [expected.pvalue], rtol=1e-9)
    np.testing.assert_allclose(found.deviations[:, 0], [s.std(ddof=1) / np.sqrt(len(s)) for s in samples], rtol=1e-9)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("count, most", [(15, 3), (40, 6)])  # more than that is chance once in a hundred times
def test_runs_that_repeat_are_consistent(scara, count, most):
    rng = np.random.default_rng(1)
    alarms, ratios = [], []
    for _ in range(count):
        runs = {name: scara.with_errors(scara.errors(rng, 0.9)) for name in ("a", "b", "c")}
        found = fit.repeatability(runs)
        alarms.append(not found.consistent)
        ratios.append(found.ratio)
    assert sum(alarms) <= most  # one in twenty by design
    assert 0.8 < np.median(ratios) < 1.2


def test_a_load_in_one_run_is_found_and_named(scara):
    rng = np.random.default_rng(2)
    loaded = scara.robot.inertias.copy()
    loaded[3, :3] += [0.3, 0.02, 0.0]  # kg, kg m on the hand
    other = Repetitions(scara.robot.with_inertias(loaded), scara.prior, duration=10.0)
    runs = {"empty 1": scara, "empty 2": scara, "loaded": other}
    found = fit.repeatability({name: each.with_errors(each.errors(rng)) for name, each in runs.items()})
    assert not found.consistent and found.ratio > 3
    changed = [found.names.index(name) for name in ("link3.m", "link4.hx")]  # what weighs and what turns with the hand
    assert found.differs[changed].all() and all(found.runs[found.outlier[i]] == "loaded" for i in changed)
    assert found.differs.sum() <= 3  # one in twenty comparisons names another one by chance
    assert "link4.hx" in found.explain()[0] and "most in loaded" in found.explain()[0]
    lines = found.table().splitlines()
    assert len(lines) == 1 + len(found.names) and sum("differs (" in line for line in lines) == found.differs.sum()


def test_what_a_run_does_not_show_is_not_compared(scara):
    rng = np.random.default_rng(3)
    log = scara.log.replace(tau=scara.log.tau + scara.errors(rng))
    still = log.replace(v=log.v * [1, 1, 1, 0], a=log.a * [1, 1, 1, 0])
    runs = {name: accumulate_blocks(scara.robot, each, armature=True) for name, each in (("a", log), ("b", still))}
    found = fit.repeatability(runs)
    unseen = found.names.index("joint4.viscous")
    assert np.isnan(found.estimates[1, unseen]) and np.isfinite(found.pooled[unseen])
    assert not found.differs[unseen]


def test_other_runs_are_refused(scara):
    with pytest.raises(OptionError, match="two runs"):
        fit.repeatability({"only": scara.blocks})
    raw = [Information.from_arrays(np.eye(3), np.ones(3)) for _ in range(5)]
    with pytest.raises(FitError, match="'raw' has other columns"):
        fit.repeatability({"arm": scara.blocks, "raw": raw})


def test_spreads_and_the_outlying_run_by_hand():
    """Runs differ in what they show: the one that is farthest in its own deviations is named, not the farthest."""
    estimates = np.array([[1.0, 5.0], [2.0, 5.0], [6.0, 5.3]])
    deviations = np.array([[1.0, 0.1], [3.0, 2.0], [5.0, 0.1]])
    found = compare_runs(("a", "b", "c"), ("x", "y"), estimates, deviations, np.full((3, 2), 30.0))
    weight = 1 / deviations**2
    pooled = (weight * estimates).sum(axis=0) / weight.sum(axis=0)
    np.testing.assert_allclose(found.pooled, pooled, rtol=1e-12)
    np.testing.assert_allclose(found.spread, np.sqrt(((estimates - pooled) ** 2).sum(axis=0) / 2), rtol=1e-12)
    np.testing.assert_allclose(found.predicted, np.sqrt((deviations**2).mean(axis=0)), rtol=1e-12)
    near = np.abs(estimates - pooled)
    far = near / np.sqrt(deviations**2 - 1 / weight.sum(axis=0))  # each run pulls the mean
    np.testing.assert_array_equal(found.outlier, far.argmax(axis=0))
    sure = compare_runs(("a", "b", "c"), ("x",), [[0.0], [1.0], [2.0]], [[0.1], [0.1], [9.0]], np.full((3, 1), 30.0))
    assert sure.outlier[0] != 2  # the farthest, of which least is known
