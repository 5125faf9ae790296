"""Bands of predicted torques hold new measurements as often as they say."""

import numpy as np
import pytest

from noisy_torques import Repetitions
from steelyard import fit
from steelyard.app.demo_job import mistaken
from steelyard.errors import FitError, OptionError
from steelyard.fit import validate
from steelyard.information import accumulate_blocks
from steelyard.model import library


@pytest.fixture(scope="module")
def scara():
    truth = library.scara()
    return Repetitions(truth, mistaken(truth, seed=1), duration=4.0, level=0.1)


@pytest.fixture(scope="module")
def predictor(scara):
    blocks = scara.with_errors(scara.errors(np.random.default_rng(0), 0.5))
    return fit.TorquePredictor(fit.uncertainty(fit.consistent(sum(blocks)), blocks))


def test_held_out_measurements_lie_in_their_bands(scara, predictor):
    truth = library.scara()
    other = Repetitions(truth, scara.prior, duration=30.0, seed=7)  # another motion
    noise = scara.noise * np.random.default_rng(1).normal(size=other.log.tau.shape)
    band = predictor(other.log.q, other.log.v, other.log.a)
    measured = other.log.tau + noise
    covered = np.mean((band.lower <= measured) & (measured <= band.upper), axis=0)
    assert np.all((covered > 0.92) & (covered < 0.98))
    # noise alone would promise too much where the new motion asks for what the short log hardly showed
    assert np.all(band.deviation > band.noise)


def test_the_model_torque_lies_where_parameter_deviations_say(scara):
    rng, hits = np.random.default_rng(2), []
    state = (scara.log.q[::10], scara.log.v[::10], scara.log.a[::10])
    for _ in range(30):
        blocks = scara.with_errors(scara.errors(rng, 0.5))
        band = fit.TorquePredictor(fit.uncertainty(fit.consistent(sum(blocks)), blocks))(*state)
        hits.append(np.mean(np.abs(band.torque - scara.log.tau[::10]) <= 2 * band.parameter))
    assert 0.9 < np.mean(hits) < 0.99


def test_predicted_torque_is_the_validated_one(scara, predictor):
    log = scara.log
    expected = validate(predictor.uncertainty.estimate, log).predicted
    np.testing.assert_allclose(predictor(log.q, log.v, log.a).torque, expected, atol=1e-8 * np.abs(expected).max())


def test_rotors_and_couplings_are_part_of_it(scara):
    log = scara.log.replace(tau=scara.log.tau + scara.errors(np.random.default_rng(4)))
    options = {"armature": True, "rotors": True, "coupling": (("joint2", "joint4"),)}
    blocks = accumulate_blocks(scara.robot, log, **options)
    predict = fit.TorquePredictor(fit.uncertainty(fit.consistent(sum(blocks)), blocks))
    expected = validate(predict.uncertainty.estimate, log).predicted
    band = predict(log.q, log.v, log.a)
    np.testing.assert_allclose(band.torque, expected, atol=1e-8 * np.abs(expected).max())
    assert np.all(np.isfinite(band.parameter))


@pytest.mark.parametrize("batch", [(), (1,), (3, 1, 2)])
def test_states_come_in_any_batch(scara, predictor, batch):
    count = int(np.prod(batch))
    q, v, a = (x[:count].reshape(*batch, -1) for x in (scara.log.q, scara.log.v, scara.log.a))
    band, whole = predictor(q, v, a), predictor(scara.log.q, scara.log.v, scara.log.a)
    assert band.torque.shape == band.lower.shape == (*batch, 4)
    np.testing.assert_allclose(band.parameter.reshape(count, -1), whole.parameter[:count], rtol=1e-9)


def test_bad_input_is_refused(scara, predictor):
    with pytest.raises(OptionError, match="level"):
        fit.TorquePredictor(predictor.uncertainty, level=95)
    blocks = accumulate_blocks(scara.robot, scara.log, rows="power")
    power = fit.uncertainty(fit.consistent(sum(blocks)), blocks)
    with pytest.raises(FitError, match="no torques of joint1"):
        fit.TorquePredictor(power)(scara.log.q, scara.log.v, scara.log.a)
    with pytest.raises(OptionError, match="4 velocities"):
        predictor(scara.log.q[:, :3], scara.log.v[:, :3], scara.log.a[:, :3])
