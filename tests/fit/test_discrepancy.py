"""Friction that the library does not have: it is found, it shifts what least squares says, and labels tell it."""

from dataclasses import replace

import numpy as np
import pytest

from noisy_torques import Repetitions
from steelyard import fit
from steelyard.app.demo_job import mistaken
from steelyard.fit.block_scores import find_discrepancy, independent_blocks, sandwich
from steelyard.information import accumulate_blocks
from steelyard.information.model_discrepancy import NAMES, shapes
from steelyard.log import filters
from steelyard.model import library

DRAWS = 40
FRICTION = ("viscous", "coulomb", "offset")
KINDS = {  # of speed, torque of the bodies and size; beside the smooth friction of the library, which is taken off
    "ideal": lambda v, tau, c: c * np.sign(v),
    "stribeck": lambda v, tau, c: c * np.sign(v) * (1 + 0.5 * np.exp(-((v / 0.1) ** 2))),
    "wide": lambda v, tau, c: c * np.tanh(v / 0.15),
    "asymmetric": lambda v, tau, c: c * (np.tanh(v / 0.05) + 0.2 * np.abs(v)),
    "loaded": lambda v, tau, c: np.tanh(v / 0.05) * (c + 0.1 * np.abs(tau)),
}


@pytest.fixture(scope="module")
def scara():
    truth = library.scara()
    return Repetitions(truth, mistaken(truth, seed=1))


def other_friction(study, kind):
    """(n, g) torque of friction of another kind, less that of the library, of the same size at high speed; none in the
    lift, which is so slow that every shape looks viscous."""
    log, width, given = study.log, study.blocks[0].coulomb_width, study.robot
    rigid = log.tau - given.damping * log.v - given.frictionloss * np.tanh(log.v / width)
    size = 0.2 * np.sqrt(np.mean(log.tau**2, axis=0)) * [1, 1, 0, 1]
    more = KINDS[kind](log.v, rigid, size) - size * np.tanh(log.v / width)
    return more * (size > 0)


def test_a_fit_of_the_model_is_seldom_doubted(scara):
    for correlation in (0.0, 0.95):
        rng = np.random.default_rng(31)
        draws = (scara.with_errors(scara.errors(rng, correlation)) for _ in range(DRAWS))
        doubted = [find_discrepancy(blocks, independent_blocks(sandwich(blocks))) is not None for blocks in draws]
        assert np.mean(doubted) <= 0.15, correlation  # 5 %, and two standard errors of so many draws


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("kind", KINDS)
def test_friction_of_another_shape_is_named_and_covered(scara, kind):
    rng, more = np.random.default_rng(32), other_friction(scara, kind)
    friction = np.array([name.rsplit(".")[-1] in FRICTION for name in scara.blocks[0].layout.names])
    told, trusting, data = [], [], []
    for _ in range(6):
        blocks = scara.with_errors(more + scara.errors(rng, 0.5))
        estimate = fit.consistent(sum(blocks))
        found = fit.uncertainty(estimate, blocks)
        blind = fit.uncertainty(estimate, [replace(block, discrepancy=None) for block in blocks])
        told += list(found.parameters.covers(scara.parameters)[friction])
        trusting += list(blind.parameters.covers(scara.parameters)[friction])
        data += list(found.base.covers(scara.base)[found.base.by(fit.Source.DATA)])
        assert found.lacking and not blind.lacking and not blind.explain()
        assert found.parameters.by(fit.Source.MODEL)[friction].mean() > 0.3
        (words,) = found.explain()
        assert found.lacking[0][0] in words and "model-dependent" in words
    assert np.mean(told) >= 0.92 and np.mean(trusting) < 0.85
    assert np.mean(data) >= 0.9


def test_intervals_that_hold_friction_are_not_data_determined(scara):
    """With little noise, what looks like noise is friction: errors of data-determined parameters are then far smaller
    than their deviations, unless these parameters are called otherwise."""
    errors = []
    for kind in ("ideal", "stribeck", "wide"):
        more = other_friction(scara, kind)
        for seed in range(4):
            blocks = scara.with_errors(more + 0.2 * scara.errors(np.random.default_rng(seed), 0.0))
            found = fit.uncertainty(fit.consistent(sum(blocks)), blocks).base
            errors += list(((found.estimate - scara.base) / found.deviation)[found.by(fit.Source.DATA)])
    assert len(errors) >= 4
    assert 0.85 < np.sqrt(np.mean(np.square(errors))) < 1.5


def test_the_shift_is_that_of_least_squares_with_the_columns(scara):
    errors = other_friction(scara, "stribeck") + scara.errors(np.random.default_rng(33), 0.0)
    blocks = scara.with_errors(errors)
    scores = sandwich(blocks)
    found = find_discrepancy(blocks, scores)
    tau = scara.log.tau + errors
    places = [scara.robot.dof_names.index(joint) for joint, _ in found.lacking]
    columns = [NAMES.index(name) for _, name in found.lacking]
    n, groups, r = len(tau), scara.log.nv, scara.blocks[0].basis.count
    N = np.zeros((groups, n, len(places)))
    for i, (dof, column) in enumerate(zip(places, columns, strict=True)):
        N[dof, :, i] = scara.shapes[column, dof]
    weight = 1 / scores.noise[:, None, None]
    stacked = (np.concatenate([scara.rows, N], axis=2) * weight).reshape(groups * n, -1)
    target = (tau.T[..., None] * weight).reshape(-1)
    plain, *_ = np.linalg.lstsq(stacked[:, :r], target)
    whole, *_ = np.linalg.lstsq(stacked, target)
    np.testing.assert_allclose(scores.base, plain, rtol=1e-6, atol=1e-9)
    moved = scores.to_base @ found.shift
    np.testing.assert_allclose(moved, plain - whole[:r], rtol=1e-5, atol=1e-6 * np.abs(moved).max())
    # what each block adds, adjusted as the scores of the fit without the columns
    influence = np.linalg.solve(stacked.T @ stacked, stacked.T * (target - stacked @ whole))[:r]
    per_block = np.add.reduceat(influence.reshape(r, groups, n).sum(axis=1), scara.edges[:-1], axis=1)
    inflated = np.linalg.norm(scores.adjusted) / np.linalg.norm(scores.score)
    np.testing.assert_allclose(
        scores.to_base @ found.spread, inflated * per_block, rtol=1e-3, atol=1e-6 * np.abs(per_block).max()
    )


def test_sums_are_those_of_the_columns_and_add(scara):
    log, width = scara.log, scara.blocks[0].coulomb_width
    expected = shapes(log, width)
    total = sum(scara.blocks).discrepancy
    rows = scara.rows
    np.testing.assert_allclose(total.squares, np.einsum("agn,bgn->gab", expected, expected), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(total.moment, np.einsum("agn,ng->ga", expected, log.tau), rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(total.cross, np.einsum("agn,gnr->gar", expected, rows), rtol=1e-8, atol=1e-6)
    weights = np.random.default_rng(0).uniform(0, 1, log.tau.shape)
    counted = sum(
        accumulate_blocks(scara.robot, log, armature=True, sample_weights=lambda part: weights[: len(part)], count=2)
    )
    assert counted.discrepancy is not None and not np.allclose(counted.discrepancy.moment, total.moment)
    for changed in (total_of(scara).rescaled(np.full(log.nv, 2.0)), total_of(scara).without(np.zeros(len(rows[0, 0])))):
        assert changed.discrepancy is None  # of other torques: no longer those sums


def total_of(study):
    return sum(study.blocks)


def test_columns_pass_the_filter_of_the_torque(scara):
    log = filters.differentiate(scara.log, cutoff=8.0, torque_cutoff=5.0)
    width = scara.blocks[0].coulomb_width
    plain = shapes(log.replace(bandwidth=None, direction=log.direction), width)
    filtered = shapes(log, width)
    inner = slice(250, -250)
    expected = filters.lowpass(plain[0].T, log.t, 5.0)
    np.testing.assert_allclose(filtered[0].T[inner], expected[inner], atol=1e-9)
    assert np.abs(filtered[0] - plain[0]).max() > 0.05
    thin = sum(accumulate_blocks(scara.robot, log, armature=True, count=16)).discrepancy
    whole = np.einsum("agn,bgn->gab", filtered, filtered)
    size = np.sqrt(np.einsum("gaa->ga", whole))
    assert np.abs((thin.squares - whole) / size[:, :, None] / size[:, None]).max() < 0.05  # of every sixth sample
