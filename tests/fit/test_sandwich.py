"""Covariance from blocks equals the sample-level formulas, and covers where residuals are correlated."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import fractional_matrix_power
from scipy.signal import lfilter

from steelyard.errors import FitError
from steelyard.fit.block_scores import independent_blocks, neighbour_correlation, sandwich
from steelyard.information import Information

pytestmark = pytest.mark.claim("fit.coverage")

SIZES = (9, 14, 7, 20, 11)  # samples of blocks


def raw_blocks(Y, tau, edges):
    """Informations of slices of a raw regression, with the columns that the whole of it reveals."""
    basis = Information.from_arrays(Y, tau).basis
    return tuple(replace(Information.from_arrays(Y[i:j], tau[i:j]), basis=basis) for i, j in pairwise(edges))


def sample_level_covariance(Y, tau, edges):
    """CR2 as it is written in terms of residuals."""
    A = np.linalg.inv(Y.T @ Y)
    residual = tau - Y @ A @ Y.T @ tau
    meat = np.zeros((Y.shape[1], Y.shape[1]))
    for i, j in pairwise(edges):
        block = Y[i:j]
        adjusted = fractional_matrix_power(np.eye(j - i) - block @ A @ block.T, -0.5) @ residual[i:j]
        meat += np.outer(block.T @ adjusted, block.T @ adjusted)
    return A @ meat @ A


def covariance(found):
    """(r, r) of the least-squares base parameters."""
    spread = found.to_base @ found.adjusted.T
    return spread @ spread.T


@pytest.fixture(scope="module")
def sampled():
    rng = np.random.default_rng(0)
    n = sum(SIZES)
    Y = rng.normal(size=(n, 3)) * [1.0, 20.0, 0.1] + rng.normal(size=3)
    Y[:, 2] *= np.linspace(0.1, 2.0, n)  # blocks differ in what they show
    tau = Y @ [1.0, 2.0, -3.0] + rng.normal(size=n) * np.linspace(0.5, 2.0, n)
    return Y, tau, np.cumsum([0, *SIZES])


def test_adjusted_covariance_is_the_sample_level_one(sampled):
    Y, tau, edges = sampled
    found = sandwich(raw_blocks(Y, tau, edges))
    np.testing.assert_allclose(covariance(found), sample_level_covariance(Y, tau, edges), rtol=1e-8)
    np.testing.assert_allclose(found.base, np.linalg.lstsq(Y, tau, rcond=None)[0], rtol=1e-10)
    np.testing.assert_allclose(np.diag(covariance(found)), found.variance(found.to_base), rtol=1e-10)


def test_degrees_of_freedom_are_those_of_the_quadratic_form(sampled):
    Y, tau, edges = sampled
    n = len(Y)
    A = np.linalg.inv(Y.T @ Y)
    free = np.eye(n) - Y @ A @ Y.T
    expected = []
    for contrast in np.eye(3):
        form = np.zeros((n, n))
        for i, j in pairwise(edges):
            root = fractional_matrix_power(free[i:j, i:j], -0.5)
            row = contrast @ A @ Y[i:j].T @ root @ free[i:j]
            form += np.outer(row, row)
        expected.append(np.trace(form) ** 2 / np.trace(form @ form))
    found = sandwich(raw_blocks(Y, tau, edges))
    np.testing.assert_allclose(found.degrees(found.to_base), expected, rtol=1e-8)


def test_one_block_that_holds_a_direction_alone_is_survived():
    rng = np.random.default_rng(1)
    Y = rng.normal(size=(60, 2))
    Y[10:, 1] = 0.0  # the second parameter moves in the first block only
    found = sandwich(raw_blocks(Y, Y @ [1.0, 1.0] + rng.normal(size=60), np.arange(0, 70, 10)))
    assert np.isfinite(covariance(found)).all() and np.isfinite(found.degrees(found.to_base)).all()


def test_merging_blocks_is_summing_their_information(sampled):
    Y, tau, edges = sampled
    merged = sandwich(raw_blocks(Y, tau, edges)).merged(2)
    assert merged.count == 2  # the odd block joins the last
    np.testing.assert_allclose(covariance(merged), sample_level_covariance(Y, tau, edges[[0, 2, 5]]), rtol=1e-8)


def test_blocks_grow_until_neighbours_are_unlike():
    rng = np.random.default_rng(2)
    n, edges = 6400, np.arange(0, 6401, 100)
    Y = rng.normal(size=(n, 4)) + np.sin(np.arange(n)[:, None] / 300.0 + np.arange(4))
    white, slow = rng.normal(size=n), lfilter([0.1], [1.0, -0.99], rng.normal(size=n))
    quick = independent_blocks(sandwich(raw_blocks(Y, white, edges)))
    slow_fine = sandwich(raw_blocks(Y, slow, edges))
    grown = independent_blocks(slow_fine)
    assert neighbour_correlation(slow_fine) > 0.2
    assert grown.count <= 16 < quick.count


def test_too_few_blocks_are_refused(sampled):
    Y, tau, edges = sampled
    with pytest.raises(FitError, match="at least 4"):
        sandwich(raw_blocks(Y, tau, edges[:4]))


def test_what_the_data_does_not_show_stays_out_of_whitened_coordinates():
    """A column that this data shows only in a sum with another, of other units: its own part changes no residual."""
    rng = np.random.default_rng(1)
    Y = rng.normal(size=(80, 2)) @ [[1.0, 20.0, 0.0], [0.0, 0.0, 3.0]]
    x = np.array([1.0, -2.0, 0.5])
    full = Information.from_arrays(np.vstack([Y, np.eye(3)]), np.zeros(83)).basis
    blocks = [replace(Information.from_arrays(Y[i : i + 20], Y[i : i + 20] @ x), basis=full) for i in range(0, 80, 20)]
    found = sandwich(blocks, noise=np.ones(1))
    assert len(found.solution) == 2
    np.testing.assert_allclose(found.from_base @ x, found.solution, rtol=1e-9)
    hidden = np.array([20.0, -1.0, 0.0])
    np.testing.assert_allclose(found.from_base @ hidden, 0.0, atol=1e-9)
    assert np.abs(np.linalg.pinv(found.to_base) @ hidden).max() > 1.0
