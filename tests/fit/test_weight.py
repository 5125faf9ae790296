"""The default weight of the prior, beside others on simulated and on real logs."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import steelyard as sy
from problems import random_log, scattered, with_friction
from robots import SHARED_DATA
from steelyard import fit
from steelyard.dynamics import inverse_dynamics
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


def held_out(blocks):
    """(k,) RMS residual of each block by fits of every weight to the others, in units of the joints' noise."""
    precision, squares = 1 / fit.least_squares(sum(blocks)).noise ** 2, []
    for block in blocks:
        rest = sum(other for other in blocks if other is not block)
        fits = [fit.consistent(rest, weight=weight) for weight in WEIGHTS]
        energy = [precision @ block.base.residual_energy(each.base) for each in fits]
        squares.append(np.array(energy) / block.counts.sum())
    return np.sqrt(np.mean(squares, axis=0))


def test_more_weight_trades_residual_for_distance():
    blocks, model = blocks_of(0.3)
    whole = sum(blocks)
    fits = [fit.consistent(whole, weight=weight) for weight in WEIGHTS]
    residual = [np.sum(whole.base.residual_energy(each.base)) for each in fits]
    distance = [divergence.pullback(each.theta, model.inertias).sum() for each in fits]
    assert (np.diff(residual) > 0).all() and (np.diff(distance) < 0).all()


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("spread, seeds", [(0.1, 4), (0.3, 4), (0.3, 2), (0.8, 4)])
def test_default_is_near_the_optimum_of_simulated_logs(spread, seeds):
    """Held-out error at weight 1 against the best weight, which nobody knows beforehand."""
    ratios = []
    for seed in range(seeds):
        scores = held_out(blocks_of(spread, seed)[0])
        ratios.append(scores[WEIGHTS.index(1.0)] / scores.min())
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
    scores = held_out(blocks)
    assert scores[WEIGHTS.index(1.0)] < 1.05 * scores.min()
