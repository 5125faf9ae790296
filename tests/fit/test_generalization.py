"""Errors that a posterior foretells of other data and of other motion, against the errors that it then makes."""

from functools import reduce
from operator import add

import numpy as np
import pytest

import steelyard as sy
from small_runs import JOINTS, motion, torques, write_model
from steelyard.fit.prediction_error import RANGE_SHARE, generalization, ordinary_use
from steelyard.information import accumulate, accumulate_blocks
from steelyard.weighed_columns import NUISANCES

NOISE = np.array([0.6, 0.2, 0.15])  # N m and N, some 2 % of the torques
COLUMNS = {"friction": ("viscous", "coulomb", "offset", "curve", "load"), "nuisances": NUISANCES}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    truth = write_model(folder / "truth.urdf")
    return (
        truth,
        write_model(folder / "heavy.urdf", forearm=3.5),
        write_model(folder / "given.urdf", mass=5, forearm=1.5),
    )


def recorded(model, *, samples, seed, moving=(1.0, 1.0, 1.0)):
    t, q, v, a = motion(samples=samples, seed=seed, moving=moving)
    tau = torques(model, q, v, a, noise=0.0) + NOISE * np.random.default_rng([seed, 1]).normal(size=q.shape)
    return sy.Log(t=t, q=q, v=v, a=a, tau=tau, joint_names=JOINTS)


def reached(given, logs, held_out):
    """The posterior of logs, and how it generalizes."""
    robot = sy.load(given)
    blocks = {f"log{k}": accumulate_blocks(robot, log, engine="numpy", **COLUMNS) for k, log in enumerate(logs)}
    estimate = sy.fit.posterior(reduce(add, [block for each in blocks.values() for block in each]))
    held = accumulate(robot, held_out, engine="numpy", **COLUMNS)
    return estimate, generalization(estimate, blocks, held)


def error_of(links, truth, estimate, other):
    """Torque error of links in other motion, by the difference of parameters, over the torque of the estimate."""
    E = other.basis.regrouping[:, : estimate.theta.size]
    off, own = (E @ each.ravel() for each in (links - truth.inertias, estimate.theta))
    return np.sqrt(other.squares.forms(off).sum() / other.squares.forms(own).sum())


def test_errors_met_are_those_expected(models):
    """White noise: over logs the mean square of the ratios is one, of held-out samples and of parts; links err in other
    motion as they promise."""
    true, given = sy.load(models[0]), models[2]
    held, parts, promised = [], [], []
    for seed in range(12):
        log = recorded(models[0], samples=240, seed=seed)
        estimate, found = reached(given, [log], recorded(models[0], samples=240, seed=seed + 50))
        held.append(found.held_out.ratio)
        parts += [each.ratio for each in found.parts]
        other = ordinary_use(estimate.prior, [log])
        actual = error_of(estimate.theta, true, estimate, other)
        promised.append(actual / estimate.expected_error("written", other).value)
    assert np.mean(np.square(held)) == pytest.approx(1.0, abs=0.1)
    assert np.mean(np.square(parts)) == pytest.approx(1.0, abs=0.15)
    assert np.mean(np.square(promised)) == pytest.approx(1.0, abs=0.3)


def test_a_load_in_one_of_three_logs_is_found_there(models):
    truth, heavy, given = models
    logs = [recorded(model, samples=500, seed=seed) for seed, model in enumerate((truth, heavy, truth))]
    found = reached(given, logs, recorded(truth, samples=200, seed=9))[1]
    assert [each.name for each in found.parts] == ["log0", "log1", "log2"]
    ratios = [each.ratio for each in found.parts]
    assert ratios[1] > 5 and ratios[1] > 5 * max(ratios[0], ratios[2]) > 0
    same = reached(given, [recorded(truth, samples=500, seed=seed) for seed in range(3)], logs[0])[1]
    assert max(each.ratio for each in same.parts) < 1.2


def test_what_no_motion_showed_is_not_promised(models):
    """One joint moves: the held-out error is the noise, and links of either file are promised to err in other motion
    about as they do, more where it was not the shoulder that carries all."""
    truth, given = sy.load(models[0]), (models[2], models[1])
    everything = recorded(models[0], samples=600, seed=0)
    shown = reached(given[0], [everything], everything)[0]
    for joint in range(3):
        log = recorded(models[0], samples=600, seed=0, moving=np.eye(3)[joint])
        other = ordinary_use(truth, [everything])
        noise = np.sqrt(np.sum(NOISE**2) / np.sum(np.mean(log.tau**2, axis=0)))
        for file in given:
            estimate, found = reached(file, [log], log)
            assert found.fitted == pytest.approx(noise, rel=0.1) and found.held_out.ratio == pytest.approx(1.0, abs=0.1)
            for name, links in (("given", estimate.prior.inertias), ("written", estimate.theta)):
                promise, actual = estimate.expected_error(name, other), error_of(links, truth, estimate, other)
                assert actual < promise.upper and promise.value > 0.8 * actual
            assert joint == 0 or promise.value > 2 * shown.expected_error("written", other).value


def test_ordinary_use_stays_within_ranges_and_speeds(models, monkeypatch):
    """Positions spread over the limits' middle part, speeds within their limits, and joints do not move together."""
    robot, seen = sy.load(models[0]), {}
    module = __import__("steelyard.fit.prediction_error", fromlist=["accumulate"])

    def noted(robot, log, **options):
        seen["log"] = log
        return accumulate(robot, log, **options)

    monkeypatch.setattr(module, "accumulate", noted)
    log = recorded(models[0], samples=300, seed=0)
    assert ordinary_use(robot, [log]).n == module.SAMPLES
    drawn = seen["log"]
    most = RANGE_SHARE * robot.upper
    assert (np.abs(drawn.q) <= most).all() and (np.abs(drawn.q).max(axis=0) > 0.97 * most).all()
    assert np.abs(drawn.v[:, :2]).max() <= module.SPEED_SHARE * 10
    assert np.sqrt(np.mean(drawn.v**2, axis=0))[0] == pytest.approx(most[0] / np.sqrt(2), rel=0.15)
    together = np.corrcoef(np.hstack([drawn.q, drawn.v, drawn.a]).T) - np.eye(9)
    assert np.abs(together).max() < 0.25
