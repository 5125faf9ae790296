"""Curves against numerical differentiation, and what they promise at their ends."""

import numpy as np
import pytest

from steelyard.errors import OptionError
from steelyard.excite.motion_curves import Fourier, Spline

CURVES = [Fourier(10.0, 5, 2), Fourier(6.0, 3, 1, 0.5), Spline(10.0), Spline(4.0, 6)]


@pytest.mark.parametrize("curve", CURVES, ids=str)
def test_each_order_is_the_derivative_of_the_one_before(curve):
    t = np.linspace(0, curve.duration, 40_001)
    values = curve.values(t)
    for order in range(3):
        slope = np.gradient(values[order], t, axis=0)[2:-2]
        size = np.abs(values[order + 1]).max()
        np.testing.assert_allclose(slope, values[order + 1][2:-2], atol=3e-4 * size)


@pytest.mark.parametrize("curve", CURVES, ids=str)
def test_motions_start_and_stop_at_rest(curve):
    ends = curve.values(np.array([0.0, curve.duration]))
    size = np.abs(curve.values(np.linspace(0, curve.duration, 200))).max(axis=(1, 2))
    assert (np.abs(ends[1:3]).max(axis=(1, 2)) < 1e-12 * size[1:3]).all()


def test_a_fourier_motion_is_a_path_of_whole_periods():
    curve = Fourier(10.0, 4, 3, 1.0)
    assert curve.period == pytest.approx(3.0)
    ends = curve.values(np.array([0.0, curve.duration]))[0]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-12)
    inside = curve.values(np.array([2.0, 5.0]))  # at full rate, one period apart
    np.testing.assert_allclose(inside[:, 0], inside[:, 1], atol=1e-10)


def test_a_constant_is_among_the_motions_of_both():
    for curve in CURVES:
        values = curve.values(np.linspace(0, curve.duration, 50))[0]
        _, left, *_ = np.linalg.lstsq(values, np.ones(50), rcond=None)
        assert np.sum(left) < 1e-20


@pytest.mark.parametrize(
    "make", [lambda: Fourier(1.5), lambda: Fourier(10.0, 0), lambda: Spline(10.0, 3), lambda: Spline(-1.0)]
)
def test_curves_without_sense_are_refused(make):
    with pytest.raises(OptionError, match=r"got|fit into"):
        make()
