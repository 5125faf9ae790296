"""Errors that a fit foretells of other data and of other motion, against the errors that it then makes."""

from functools import reduce
from operator import add

import numpy as np
import pytest

import steelyard as sy
from small_runs import JOINTS, motion, torques, write_model
from steelyard.fit.prediction_error import RANGE_SHARE, generalization, ordinary_use
from steelyard.fit.prior import model_parameters
from steelyard.information import accumulate, accumulate_blocks

NOISE = np.array([0.6, 0.2, 0.15])  # N m and N, some 2 % of the torques
COLUMNS = {"friction": ("viscous", "coulomb")}
TRUE = {"damping": [0.6, 0.4, 3.0], "frictionloss": [0.3, 0.2, 1.0]}  # of `small_runs.torques`


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


def reached(given, logs, held_out, **options):
    robot = sy.load(given)
    blocks = {f"log{k}": accumulate_blocks(robot, log, engine="numpy", **COLUMNS) for k, log in enumerate(logs)}
    estimate = sy.fit.consistent(reduce(add, [block for each in blocks.values() for block in each]))
    other = ordinary_use(robot, logs, **COLUMNS)
    held = accumulate(robot, held_out, engine="numpy", **COLUMNS)
    return estimate, other, generalization(estimate, blocks, held, weight=1.0, other_motion=other)


def test_errors_met_are_those_expected(models):
    """White noise: over logs the mean square of the ratios is one, of held-out samples, parts and other motion."""
    truth, _, given = models
    true = sy.load(truth).with_joint_properties(**TRUE)
    held, parts, promised = [], [], []
    for seed in range(12):
        log = recorded(truth, samples=240, seed=seed)
        estimate, other, found = reached(given, [log], recorded(truth, samples=240, seed=seed + 50))
        held.append(found.held_out.ratio)
        parts += [each.ratio for each in found.parts]
        off = estimate.base - estimate.basis.regroup(model_parameters(true, estimate.layout))
        actual = other.squares.forms(off).sum() + other.n * np.sum(NOISE**2)
        promised.append(actual / other.residual_energy(estimate.base).sum() / found.other_motion**2)
    assert np.mean(np.square(held)) == pytest.approx(1.0, abs=0.1)
    assert np.mean(np.square(parts)) == pytest.approx(1.0, abs=0.15)
    assert np.mean(promised) == pytest.approx(1.0, abs=0.3)


def test_a_load_in_one_of_three_logs_is_found_there(models):
    truth, heavy, given = models
    logs = [recorded(model, samples=500, seed=seed) for seed, model in enumerate((truth, heavy, truth))]
    found = reached(given, logs, recorded(truth, samples=200, seed=9))[2]
    assert [each.name for each in found.parts] == ["log0", "log1", "log2"]
    ratios = [each.ratio for each in found.parts]
    assert ratios[1] > 5 and ratios[1] > 5 * max(ratios[0], ratios[2]) > 0
    same = reached(given, [recorded(truth, samples=500, seed=seed) for seed in range(3)], logs[0])[2]
    assert max(each.ratio for each in same.parts) < 1.2


def test_what_no_motion_showed_is_not_promised(models):
    """One joint moves: the held-out error is the noise, other motion would err by more than its torque."""
    truth, _, given = models
    log = recorded(truth, samples=600, seed=0, moving=(1.0, 0.0, 0.0))
    found = reached(given, [log], log)[2]
    noise = np.sqrt(np.sum(NOISE**2) / np.sum(np.mean(log.tau**2, axis=0)))
    assert found.fitted == pytest.approx(noise, rel=0.1) and found.held_out.ratio == pytest.approx(1.0, abs=0.1)
    assert found.other_motion > 0.5


def test_ordinary_use_stays_within_ranges_and_speeds(models, monkeypatch):
    """Positions spread over the limits' middle part, speeds within their limits, and joints do not move together."""
    robot, seen = sy.load(models[0]), {}
    module = __import__("steelyard.fit.prediction_error", fromlist=["accumulate"])

    def noted(robot, log, **options):
        seen["log"] = log
        return accumulate(robot, log, **options)

    monkeypatch.setattr(module, "accumulate", noted)
    log = recorded(models[0], samples=300, seed=0)
    assert ordinary_use(robot, [log], **COLUMNS).n == module.SAMPLES
    drawn = seen["log"]
    most = RANGE_SHARE * robot.upper
    assert (np.abs(drawn.q) <= most).all() and (np.abs(drawn.q).max(axis=0) > 0.97 * most).all()
    assert np.abs(drawn.v[:, :2]).max() <= module.SPEED_SHARE * 10
    assert np.sqrt(np.mean(drawn.v**2, axis=0))[0] == pytest.approx(most[0] / np.sqrt(2), rel=0.15)
    together = np.corrcoef(np.hstack([drawn.q, drawn.v, drawn.a]).T) - np.eye(9)
    assert np.abs(together).max() < 0.25
