"""What samples can tell at best, against what least squares makes of thousands of draws of the noise."""

import numpy as np
import pytest

from steelyard.diagnose.fisher_information import expected_error, information_loss

NOISE = np.array([0.3, 2.0])


def drawn_error(rows, weights, judged, rng, draws=4000):
    """Root mean squared error of the torques of judged rows, of weighted least squares with weights (nv, n)."""
    Y = (rows * (weights / NOISE[:, None])[:, :, None]).reshape(-1, rows.shape[2])
    found = np.linalg.pinv(Y) @ (rng.normal(size=(len(Y), draws)) * weights.reshape(-1, 1))
    return np.sqrt(np.mean(np.sum((judged.reshape(-1, rows.shape[2]) @ found) ** 2, axis=0)))


def test_expected_errors_are_those_of_drawn_noise():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2, 60, 5)) * [1, 1e-3, 1, 50, 1] + [0, 0, 2, 0, 0]
    kept = (rng.uniform(size=(2, 60)) < [[0.3], [0.8]]).astype(float)
    all_of_them = drawn_error(rows, np.ones((2, 60)), rows, rng)
    assert expected_error(rows, NOISE) == pytest.approx(all_of_them, rel=0.03)
    assert expected_error(rows, NOISE, share=0.25) == pytest.approx(2 * all_of_them, rel=0.03)
    found = information_loss(rows * kept[:, :, None], rows, NOISE)
    assert (found.combinations, found.lost) == (5, 0)
    assert found.ratio == pytest.approx(drawn_error(rows, kept, rows, rng) / all_of_them, rel=0.04)
    assert found.ratio > 1.1 and found.times_as_long == pytest.approx(found.ratio**2)
    repeated = np.tile(rows * kept[:, :, None], (1, round(10 * found.times_as_long), 1))
    assert information_loss(repeated, rows, NOISE).ratio == pytest.approx(1 / np.sqrt(10), rel=0.01)


def test_combinations_that_only_lost_samples_show():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(2, 80, 4))
    rows[:, 40:, 1] = rows[:, 40:, 0]  # only the first half tells these two apart
    rows[:, :, 3] = rows[:, :, 2]  # nothing does
    left = rows * (np.arange(80) >= 40)[:, None]
    found = information_loss(left, rows, NOISE)
    assert (found.combinations, found.lost) == (3, 1)
    other = information_loss(left[:, :, [0, 2]], rows[:, :, [0, 2]], NOISE)  # without them
    assert found.ratio == pytest.approx(other.ratio, rel=0.3) and 1.2 < found.ratio < 2
    assert information_loss(0 * rows, rows, NOISE).lost == 3
