"""QR sums: the digits that Gram matrices lose, and the same algebra: add, convert, weigh, discount, save."""

import numpy as np
import pytest

import steelyard as sy
from problems import random_log, true_base, with_friction
from robots import random_state, urdf
from steelyard.errors import OptionError
from steelyard.information import accumulate


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    robot = with_friction(sy.load(urdf("panda")), rng)
    rigid = robot.with_joint_properties(armature=np.zeros(robot.nv))
    return robot, random_log(robot, rng, samples=900, noise=0.01, torque=lambda *s: sy.inverse_dynamics(rigid, *s))


def around_one_pose(robot, size):
    """A log of a robot that hardly leaves one pose: what other poses would show is in the last digits."""
    q, v, a = random_state(robot, np.random.default_rng(1), (4000,))
    q = q[0] + size * q
    return sy.Log(t=np.arange(len(q)) * 0.01, q=q, v=v, a=a, tau=sy.inverse_dynamics(robot, q, v, a))


def test_ill_conditioned_data():
    """Condition 1e9 of unit columns: the Gram matrix loses all digits, the factor keeps six."""
    rng = np.random.default_rng(2)
    left, right = (np.linalg.qr(rng.normal(size=(n, 8)))[0] for n in (400, 8))
    Y = (left * np.logspace(0, -9, 8)) @ right.T
    assert 1e8 < np.linalg.cond(Y / np.linalg.norm(Y, axis=0)) < 1e10
    truth = rng.normal(size=8)
    errors = {}
    for sums in ("gram", "qr"):
        info = sy.Information.from_arrays(Y, Y @ truth, sums=sums)
        assert info.basis.count == 8
        found = sy.fit.least_squares(info).parameters
        errors[sums] = np.linalg.norm(found - truth) / np.linalg.norm(truth)
    assert errors["qr"] < 1e-6
    assert errors["gram"] > 0.1


def test_a_robot_that_hardly_moves():
    """Torque offsets are told from gravity by 1e-4 rad of travel only: condition 5e8."""
    robot = sy.load(urdf("ur5_robot"))
    log = around_one_pose(robot, 1e-4)
    errors = {}
    for sums in ("gram", "qr"):
        info = accumulate(robot, log, friction=("offset",), sums=sums)
        truth = true_base(info, robot)
        found = info.basis.regroup(sy.fit.least_squares(info).parameters)
        errors[sums] = np.linalg.norm(found - truth) / np.linalg.norm(truth)
    assert errors["qr"] < 1e-6 < 0.1 < errors["gram"]


def test_both_paths_agree_on_ordinary_robots(case):
    robot, log = case
    gram, qr = (accumulate(robot, log, armature=True, sums=sums) for sums in ("gram", "qr"))
    np.testing.assert_array_equal(qr.as_gram().gram, qr.gram)
    for name in ("gram", "moment", "energy"):
        one, other = getattr(gram, name), getattr(qr, name)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * np.abs(one).max())
    assert np.all(np.tril(qr.factors[0], -1) == 0)
    one, other = (sy.fit.least_squares(info) for info in (gram, qr))
    np.testing.assert_allclose(one.parameters, other.parameters, rtol=0, atol=1e-11 * np.abs(one.parameters).max())
    np.testing.assert_allclose(one.noise, other.noise, rtol=1e-9)  # Gram residuals are small differences
    np.testing.assert_allclose(one.covariance, other.covariance, rtol=0, atol=1e-10 * one.covariance.max())
    consistent = [sy.fit.consistent(info).parameters for info in (gram, qr)]
    np.testing.assert_allclose(consistent[0], consistent[1], atol=1e-6)


def test_they_add(case):
    robot, log = case
    whole = accumulate(robot, log, sums="qr")
    parts = [accumulate(robot, log[start : start + 100], sums="qr") for start in range(0, len(log), 100)]
    together = sum(parts)
    assert together.kind == "qr"
    streamed = accumulate(robot, (log[start : start + 37] for start in range(0, len(log), 37)), sums="qr")
    for info in (together, streamed):
        rebuilt = np.swapaxes(info.factors, 1, 2) @ info.factors
        np.testing.assert_allclose(rebuilt[:, :-1, :-1], whole.gram, atol=1e-12 * whole.gram.max())
        np.testing.assert_array_equal(info.counts, whole.counts)
        solutions = (sy.fit.least_squares(each).parameters for each in (info, whole))
        np.testing.assert_allclose(*solutions, atol=1e-10)
    mixed = parts[0] + accumulate(robot, log[100:], sums="gram")
    assert (mixed.kind, mixed.n) == ("gram", len(log))
    np.testing.assert_allclose(mixed.gram, whole.gram, atol=1e-12 * whole.gram.max())


def test_weights_forgetting_base_and_files(case, tmp_path):
    robot, log = case
    full, base = (accumulate(robot, log, columns=columns, sums="qr") for columns in ("all", "base"))
    one, other = (np.swapaxes(info.factors, 1, 2) @ info.factors for info in (full.base, base))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * other.max())
    faded = base.discounted(0.25)
    np.testing.assert_allclose(faded.factors, base.factors / 2)
    x = np.random.default_rng(3).normal(size=base.basis.count)
    np.testing.assert_allclose(faded.residual_energy(x), base.as_gram().discounted(0.25).residual_energy(x), rtol=1e-10)
    weights = np.arange(1.0, robot.nv + 1)
    one, other = (sy.fit.whitening.whiten(info.weighted(weights)) for info in (base, base.as_gram()))
    np.testing.assert_allclose(one.R.T @ one.R, other.R.T @ other.R, atol=1e-9 * np.abs(one.R.T @ one.R).max())
    np.testing.assert_allclose(one.solve(), other.solve(), atol=1e-8)
    back = sy.load_information(sy.save_information(base, tmp_path / "info.npz"), robot)
    np.testing.assert_array_equal(back.factors, base.factors)
    assert (back + base).kind == "qr"


def test_exact_data_leaves_no_residual(case):
    """What a Gram matrix cannot tell from rounding: the residual of exact data."""
    robot, _ = case
    rigid = robot.with_joint_properties(armature=np.zeros(7 + 1), damping=np.zeros(8), frictionloss=np.zeros(8))
    log = random_log(rigid, np.random.default_rng(4), samples=500, torque=lambda *s: sy.inverse_dynamics(rigid, *s))
    gram, qr = (accumulate(rigid, log, friction=(), sums=sums) for sums in ("gram", "qr"))
    x = true_base(qr, rigid)
    assert np.sqrt(qr.residual_energy(x).max() / qr.energy.max()) < 1e-13
    assert np.sqrt(gram.residual_energy(x).max() / gram.energy.max()) > 1e-10


def test_fewer_samples_than_columns_and_unknown_kinds(case):
    robot, log = case
    few = accumulate(robot, log[:5], sums="qr")
    np.testing.assert_allclose(few.gram, accumulate(robot, log[:5]).gram, atol=1e-12 * few.gram.max())
    with pytest.raises(OptionError, match=r"sums is one of gram, qr"):
        accumulate(robot, log, sums="svd")
