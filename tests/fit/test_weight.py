"""Choice of the prior's weight: definitions, what a good and a bad prior ask for, real logs."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import steelyard as sy
from problems import random_log, scattered, with_friction
from robots import SHARED_DATA
from steelyard import fit
from steelyard.dynamics import inverse_dynamics
from steelyard.errors import OptionError
from steelyard.fit import prior_weight as weight
from steelyard.fit.prior import consistent_prior
from steelyard.inertia import divergence
from steelyard.information import accumulate
from steelyard.log import folds
from steelyard.model import library
from steelyard.prepare.prepared import with_motion

EXAMPLE = Path(__file__).parents[2] / "examples" / "02_models_from_dh.py"
WEIGHTS = (1e-4, 1e-2, 1.0, 1e2, 1e4)


def blocks_of(spread, seed=0, samples=60, noise=0.4, count=4):
    """Block Informations of a leg whose bodies differ from the model's by `spread`, and the model."""
    rng = np.random.default_rng(seed)
    model = library.cheetah3_leg()
    model = model.with_inertias(consistent_prior(model, model, model.nb)[0])
    truth = with_friction(model.with_inertias(scattered(model.inertias, rng, spread)), rng)
    bare = truth.with_joint_properties(**{k: np.zeros(truth.nv) for k in ("armature", "damping", "frictionloss")})
    log = random_log(truth, rng, samples=samples, noise=noise, torque=lambda q, v, a: inverse_dynamics(bare, q, v, a))
    return [accumulate(model, test, armature=True) for _, test in folds(log, count)], model


def test_held_out_errors_are_what_their_name_says():
    blocks, model = blocks_of(0.3)
    choice = fit.choose_weight(blocks, weights=(0.1, 10.0), folds=4, regularizer="entropic")
    assert choice.held_out.shape == (4, 2)
    noise = fit.least_squares(sum(blocks[1:], blocks[0])).noise
    for k, tried in enumerate(choice.weights):
        estimate = fit.consistent(blocks[0] + blocks[1] + blocks[3], weight=tried, regularizer="entropic")
        energy = blocks[2].base.residual_energy(estimate.base)
        expected = np.sqrt(np.sum(energy / noise**2) / blocks[2].counts.sum())
        assert choice.held_out[2, k] == pytest.approx(expected, rel=1e-9)
    everything = fit.consistent(sum(blocks[1:], blocks[0]), weight=10.0, regularizer="entropic")
    assert choice.distance[1] == pytest.approx(divergence.pullback(everything.theta, model.inertias).sum(), rel=1e-9)
    assert choice.weight == choice.weights[np.argmin(choice.scores)]
    assert f"{choice.weight:<9.3g}*" in choice.table()


def test_more_weight_trades_residual_for_distance():
    blocks, _ = blocks_of(0.3)
    choice = fit.choose_weight(blocks, weights=WEIGHTS, method="lcurve")
    assert (np.diff(choice.residual) > 0).all()
    assert (np.diff(choice.distance) < 0).all()
    assert choice.weight in WEIGHTS[1:-1]
    assert not len(choice.held_out)


def test_the_corner_is_where_the_curve_turns():
    falling = np.array([[0.0, 5.0], [0.1, 4.0], [0.2, 0.1], [4.0, 0.05], [8.0, 0.0]])
    assert weight._corner(*falling.T) == 2
    assert weight._corner(*falling[::-1].T) == 2
    assert weight._corner(*falling[:2].T) == 1


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("seeds", [2, 4])  # a decade apart in any of them
def test_right_models_ask_for_more_weight_than_wrong_ones(seeds):
    chosen = {
        spread: [fit.choose_weight(blocks_of(spread, seed)[0], weights=WEIGHTS).weight for seed in range(seeds)]
        for spread in (0.01, 0.8)
    }
    assert np.mean(np.log10(chosen[0.01])) > np.mean(np.log10(chosen[0.8])) + 1


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("spread, seeds", [(0.1, 4), (0.3, 4), (0.3, 2), (0.8, 4)])
def test_default_is_near_the_optimum_of_simulated_logs(spread, seeds):
    """Held-out error at weight 1 against the best weight, which nobody knows beforehand."""
    ratios = []
    for seed in range(seeds):
        choice = fit.choose_weight(blocks_of(spread, seed)[0], weights=WEIGHTS)
        ratios.append(choice.scores[WEIGHTS.index(1.0)] / choice.scores.min())
    assert np.mean(ratios) < 1.05


@pytest.mark.exhaustive(keep=1)
@pytest.mark.skipif(not SHARED_DATA.is_dir(), reason="the measured logs are not part of the project")
@pytest.mark.parametrize("name, file", [("panda", "panda_unisa_30Hz.npz"), ("tx40", "tx40_100Hz.npz")])
def test_default_is_near_the_optimum_of_real_logs(name, file, tmp_path):
    path = tmp_path / f"{name}.urdf"
    path.write_text(runpy.run_path(str(EXAMPLE))["urdf_from_table"](SHARED_DATA / "models.json", name))
    robot = sy.load(path)
    log = with_motion(sy.read_log(SHARED_DATA / file, robot), None)
    blocks = [accumulate(robot, test, armature=True) for _, test in folds(log, 3)]
    choice = fit.choose_weight(blocks, weights=WEIGHTS, folds=3)
    assert choice.scores[WEIGHTS.index(1.0)] < 1.05 * choice.scores.min()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"method": "aic"}, "Unknown method 'aic'"),
        ({"weight": 2.0}, "leave out weight"),
        ({"folds": 1}, "at least two"),
        ({"count": 1}, "at least two"),
    ],
)
def test_mistakes_are_explained(options, message):
    blocks = blocks_of(0.3)[0][: options.pop("count", 4)]
    with pytest.raises(OptionError, match=message):
        fit.choose_weight(blocks, **options)
