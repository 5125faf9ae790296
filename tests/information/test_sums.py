"""Information: sums equal the stacked regression, adds, is lossless in base columns, refuses what cannot be used."""

import numpy as np
import pytest

from problems import random_log, with_friction
from robots import urdf
from steelyard.dynamics import inverse_dynamics, regressor
from steelyard.dynamics.effects import effect_column
from steelyard.errors import FitError, LogError, OptionError
from steelyard.identifiable import regression_basis
from steelyard.information import Information, accumulate, reversal_weights
from steelyard.job import REVERSAL_WEIGHT
from steelyard.model import load
from steelyard.native import CHUNK
from steelyard.terms import layout_of

pytestmark = pytest.mark.claim("information.refusals", "mismatches, gaps and interruptions are named and lose nothing")


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    robot = with_friction(load(urdf("panda")), rng)  # its second finger mimics the first
    rigid = robot.with_joint_properties(armature=np.zeros(robot.nv))
    return robot, random_log(robot, rng, samples=CHUNK + 100, torque=lambda *s: inverse_dynamics(rigid, *s))


def stacked(robot, log, layout):
    """(n, nv, p) the whole regression, written out plainly."""
    full = np.zeros((len(log), robot.nv, layout.size))
    full[..., layout.inertial] = regressor(robot, log.q, log.v, log.a)
    for dof in layout.dofs:
        for term, column in zip(layout.terms, layout.effects_of(dof), strict=True):
            full[:, dof, column] = effect_column(term, log.v[:, dof], log.a[:, dof])
    return full


def test_sums_equal_the_stacked_regression(case):
    robot, log = case
    info = accumulate(robot, log, armature=True, columns="all")
    Y = stacked(robot, log, info.layout)
    np.testing.assert_allclose(info.gram, np.einsum("ngi,ngj->gij", Y, Y, optimize=True), rtol=1e-11, atol=1e-7)
    np.testing.assert_allclose(info.moment, np.einsum("ngi,ng->gi", Y, log.tau), rtol=1e-11, atol=1e-7)
    np.testing.assert_allclose(info.energy, (log.tau**2).sum(axis=0), rtol=1e-12)
    assert info.n == len(log)
    weights = np.arange(1.0, robot.nv + 1)
    np.testing.assert_allclose(info.weighted(weights).G, np.tensordot(weights, info.gram, axes=1))


def test_base_columns_are_lossless(case):
    robot, log = case
    full, base = (accumulate(robot, log, armature=True, columns=c) for c in ("all", "base"))
    K = base.basis.regrouping
    np.testing.assert_allclose(K.T @ base.G @ K, full.G, rtol=1e-9, atol=1e-9 * np.abs(full.G).max())
    np.testing.assert_allclose(base.b @ K, full.b, rtol=1e-9, atol=1e-9 * np.abs(full.b).max())
    np.testing.assert_allclose(full.base.gram, base.gram, rtol=1e-12)


def test_information_adds(case):
    robot, log = case
    whole = accumulate(robot, log)
    parts = sum(accumulate(robot, log[start : start + 200]) for start in range(0, len(log), 200))
    streamed = accumulate(robot, (log[start : start + 77] for start in range(0, len(log), 77)))
    for other in (parts, streamed):
        np.testing.assert_allclose(other.gram, whole.gram, rtol=1e-9, atol=1e-9 * np.abs(whole.gram).max())
        assert other.n == whole.n


def test_effects_that_are_no_columns_stay_at_the_model(case):
    robot, log = case
    known = accumulate(robot, log, friction=(), armature=False)
    x = known.basis.regroup(robot.inertias.ravel())
    assert np.all(known.residual_energy(x) < 1e-16 * known.energy.sum() * len(log))
    without = robot.with_joint_properties(damping=np.zeros(robot.nv))
    assert np.any(accumulate(without, log, friction=()).residual_energy(x) > 1.0)


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("stem", ["panda", "ur5_robot", "solo12", "romeo", "baxter", "anymal-kinova"])
@pytest.mark.parametrize("effects", [False, True], ids=["bodies", "all"])
def test_base_columns_predict_and_are_independent(stem, effects):
    robot = load(urdf(stem))
    layout = layout_of(robot, friction=("viscous", "coulomb", "offset") if effects else (), armature=effects)
    basis = regression_basis(robot, layout)
    rng = np.random.default_rng(1)
    log = random_log(robot, rng, samples=400, torque=lambda *s: inverse_dynamics(robot, *s))
    Y = stacked(robot, log, layout).reshape(-1, layout.size)
    Yb = Y[:, basis.columns]
    np.testing.assert_allclose(Yb @ basis.regrouping, Y, atol=1e-9 * np.abs(Y).max())
    singular = np.linalg.svd(Yb / np.linalg.norm(Yb, axis=0), compute_uv=False)
    assert singular[-1] > 1e-7 * singular[0]
    assert np.abs(Y @ basis.null_space).max() < 1e-9 * np.abs(Y).max() * max(np.abs(basis.null_space).max(), 1)
    theta = rng.normal(size=layout.size)
    np.testing.assert_allclose(basis.regroup(basis.lift(basis.regroup(theta))), basis.regroup(theta), atol=1e-9)
    moved = theta + basis.null_space @ rng.normal(size=basis.null_space.shape[1])
    np.testing.assert_allclose(basis.regroup(moved), basis.regroup(theta), atol=1e-8)


def test_a_missing_base_column_is_noticed():
    robot = load(urdf("ur5_robot"))
    basis = regression_basis(robot, layout_of(robot))
    log = random_log(robot, np.random.default_rng(2), samples=50, torque=lambda *s: inverse_dynamics(robot, *s))
    Y = regressor(robot, log.q, log.v, log.a).reshape(-1, 60)
    fewer = basis.columns[:-1]
    assert np.abs(Y[:, fewer] @ basis.regrouping[:-1] - Y).max() > 1e-3


def test_raw_regressions():
    rng = np.random.default_rng(3)
    Y = rng.normal(size=(100, 2, 4))
    Y[..., 3] = 2 * Y[..., 1]
    x = np.array([1.0, 2.0, 3.0, 0.0])
    info = Information.from_arrays(Y, Y @ x)
    assert list(info.basis.columns) == [0, 1, 2]
    np.testing.assert_allclose(np.linalg.solve(info.base.G, info.base.b), [1, 2, 3], atol=1e-12)


def test_dependent_columns_of_any_size():
    """Columns of different units: what depends on others is expressed by them in those units."""
    rng = np.random.default_rng(3)
    free = rng.normal(size=(50, 4)) * [1e-4, 1.0, 30.0, 1e3]
    Y = np.column_stack([free, free @ [2e3, 0.0, 0.5, 0.0], free @ [0.0, 3.0, 0.0, 1e-2]])
    basis = Information.from_arrays(Y, rng.normal(size=50)).basis
    assert basis.count == 4
    np.testing.assert_allclose(Y[:, basis.columns] @ basis.regrouping, Y, rtol=1e-9)


@pytest.mark.parametrize("sums", ["gram", "qr"])
def test_other_torques_of_the_same_motion(sums):
    """Gains of currents, and what known parameters leave: as if the torques had been those."""
    rng = np.random.default_rng(4)
    Y, tau, gains = rng.normal(size=(40, 3, 5)), rng.normal(size=(40, 3)), np.array([2.0, -0.5, 7.0])
    known, x = rng.normal(size=(2, 5))
    info = Information.from_arrays(Y, tau, sums=sums)
    left = tau - np.einsum("ngp,p->ng", Y, known)
    for found, torques in ((info.rescaled(gains), gains * tau), (info.without(known), left)):
        expected = Information.from_arrays(Y, torques, sums=sums)
        np.testing.assert_allclose(found.moment, expected.moment, atol=1e-12)
        np.testing.assert_allclose(found.energy, expected.energy)
        np.testing.assert_allclose(found.residual_energy(x), expected.residual_energy(x))


def test_independence_of_a_sum_is_that_of_its_samples(case):
    robot, log = case
    one = accumulate(robot, log[:100].replace(bandwidth=0.1 * log.rate))
    other = accumulate(robot, log[100:400].replace(bandwidth=0.3 * log.rate))
    assert (one + other).independence == pytest.approx(0.5)  # 20 and 180 of 400


def test_refusals(case):
    robot, log = case
    with pytest.raises(OptionError, match="stribeck"):
        accumulate(robot, log, friction=("stribeck",))
    with pytest.raises(OptionError, match="columns"):
        accumulate(robot, log, columns="some")
    with pytest.raises(LogError, match=r"has no v, a"):
        accumulate(robot, log.replace(v=None, a=None))
    bad = log.tau.copy()
    bad[7, 2] = np.nan
    with pytest.raises(LogError, match=r"tau.*0\.07 s"):
        accumulate(robot, log.replace(tau=bad))
    with pytest.raises(LogError, match="robot 'ur5'"):
        accumulate(load(urdf("ur5_robot")), log)
    with pytest.raises(LogError, match="empty"):
        accumulate(robot, [])
    with pytest.raises(FitError, match="different columns"):
        accumulate(robot, log) + accumulate(robot, log, armature=True)
    with pytest.raises(FitError, match="Coulomb"):
        accumulate(robot, log) + accumulate(robot, log, coulomb_width=0.3)
    with pytest.raises(OptionError, match="weights"):
        accumulate(robot, log).weighted([1.0])


def test_sample_weights_multiply_the_squared_residuals(case):
    robot, log = case
    weights = np.random.default_rng(3).uniform(0, 2, size=(len(log), robot.nv))
    weights[::3] = 0.0
    info = accumulate(robot, log, armature=True, columns="all", sample_weights=weights)
    Y = stacked(robot, log, info.layout)
    gram = np.einsum("ng,ngi,ngj->gij", weights, Y, Y, optimize=True)
    np.testing.assert_allclose(info.gram, gram, rtol=0, atol=1e-11 * gram.max())
    np.testing.assert_allclose(info.moment, np.einsum("ng,ngi,ng->gi", weights, Y, log.tau), rtol=1e-10, atol=1e-7)
    np.testing.assert_allclose(info.energy, (weights * log.tau**2).sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(info.counts, weights.sum(axis=0))
    triangular = accumulate(robot, log, armature=True, columns="all", sums="qr", sample_weights=weights)
    np.testing.assert_allclose(triangular.gram, gram, rtol=0, atol=1e-11 * gram.max())
    np.testing.assert_allclose(triangular.counts, weights.sum(axis=0))
    with pytest.raises(OptionError, match="rows of joints"):
        accumulate(robot, log, rows="power", sample_weights=weights)


def test_a_weight_of_two_counts_a_sample_twice(case):
    robot, log = case
    twice = accumulate(robot, log) + accumulate(robot, log[:100])
    weights = np.where(np.arange(len(log)) < 100, 2.0, 1.0)
    weighted = accumulate(robot, log, sample_weights=weights)
    streamed = accumulate(robot, iter([log[:60], log[60:]]), sample_weights=lambda log: 1.0 + (log.t < 0.995))
    for info in (weighted, streamed):
        np.testing.assert_allclose(info.gram, twice.gram, rtol=1e-9, atol=1e-9 * np.abs(twice.gram).max())
        np.testing.assert_array_equal(info.counts, twice.counts)


@pytest.mark.parametrize("weights", [np.ones(3), -np.ones(612), np.full((612, 8), np.nan), np.ones((612, 3))])
def test_sample_weights_that_cannot_be_used(case, weights):
    robot, log = case
    with pytest.raises(OptionError, match="sample_weights of log"):
        accumulate(robot, log, sample_weights=weights)
    with pytest.raises(OptionError, match="function"):
        accumulate(robot, [log], sample_weights=np.ones(len(log)))


def test_reversal_weights(case):
    robot, log = case
    weights = reversal_weights(robot, log, weight=0.2, width=0.5)
    slope = 1 / np.cosh(log.v / 0.5) ** 2  # of tanh(v / width), over its slope at standstill
    np.testing.assert_allclose(weights, 1 - 0.8 * slope, rtol=1e-12)
    still = log.replace(v=np.zeros_like(log.v))
    np.testing.assert_array_equal(reversal_weights(robot, still), REVERSAL_WEIGHT)
    quadruped = load(urdf("solo12"), floating=True)
    hanging = random_log(quadruped, np.random.default_rng(0), samples=3, torque=lambda q, v, a: np.zeros_like(v))
    weights = reversal_weights(quadruped, hanging.replace(v=np.zeros((3, quadruped.nv))))
    np.testing.assert_array_equal(weights[:, :6], 1.0)
    np.testing.assert_array_equal(weights[:, 6:], REVERSAL_WEIGHT)
    with pytest.raises(OptionError, match="between 0 and 1"):
        reversal_weights(robot, log, weight=-0.1)
