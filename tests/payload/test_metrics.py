"""Error metrics against (10)-(12) of paper E, worked out by hand."""

import numpy as np
import pytest

from steelyard.errors import InertiaError, OptionError
from steelyard.inertia import from_com_inertia
from steelyard.payload.payload_estimate import errors

SIDES = np.array([0.3, 0.2, 0.1])  # m
TRUTH = from_com_inertia(2.0, np.zeros(3), np.diag([0.010, 0.020, 0.025]))


def test_each_is_relative_to_the_box():
    """A box of 2 kg has moments 2 / 12 (b^2 + c^2), 2 / 12 (a^2 + c^2), 2 / 12 (a^2 + b^2); its off-diagonal scales are
    2 / 12 (a b), ...
    """
    off = 2 / 12 * np.array([[0.05, 0.06, 0.03], [0.06, 0.10, 0.02], [0.03, 0.02, 0.13]])
    shares = np.array([[0.1, -0.2, 0.3], [-0.2, -0.4, 0.5], [0.3, 0.5, 0.6]])  # six different ones, of mean size 0.35
    theta = from_com_inertia(2.1, np.array([0.003, -0.004, 0.001]), np.diag([0.010, 0.020, 0.025]) + shares * off)
    found = errors(theta, TRUTH, SIDES)
    np.testing.assert_allclose(found.percent, [5.0, 4 / 3, 35.0], rtol=1e-12)
    np.testing.assert_allclose(found.com_axes, [1.0, 2.0, 1.0], rtol=1e-12)
    np.testing.assert_allclose(found.inertia_entries, 100 * np.abs(shares), rtol=1e-9)
    assert found.geodesic == np.inf  # no body has such moments


def test_none_for_the_truth_in_any_frame_and_no_mass_is_all_of_it():
    moved = from_com_inertia(2.0, np.array([0.1, 0.2, -0.3]), np.diag([0.010, 0.020, 0.025]))
    found = errors(moved, moved, SIDES)
    assert found.percent == pytest.approx([0, 0, 0], abs=1e-12) and found.geodesic == pytest.approx(0, abs=1e-12)
    assert errors(np.zeros(10), TRUTH, SIDES).mass == 100
    scaled = errors(np.e * TRUTH, TRUTH, SIDES)
    assert scaled.geodesic == pytest.approx(2.0)  # four eigenvalues of ratio e


def test_refusals():
    with pytest.raises(OptionError, match="three positive lengths"):
        errors(TRUTH, TRUTH, [0.1, 0.0, 0.2])
    with pytest.raises(InertiaError, match="expected a positive number"):
        errors(TRUTH, np.zeros(10), SIDES)
