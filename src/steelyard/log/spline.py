"""The smoothing spline: a zero-phase Butterworth filter for samples taken at any times, and its exact derivatives.

The minimiser of `sum_k w_k (x_k - s(t_k))^2 + lambda int (d^m s / dt^m)^2 dt`, with `w_k` the time sample k stands
for, is the signal passed through `H(f) = 1 / (1 + (f / f0)^(2 m))`: the power response of an order-m Butterworth
filter, which is the amplitude response of that filter run forwards and backwards (Unser and Blu, "Generalized smoothing
splines and the optimal discretization of the Wiener filter", 2005). Irregular stamps need no resampling, the ends are
free instead of mirrored, and velocity and acceleration are derivatives of one curve.
"""

from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

KNOTS_PER_PERIOD = 16
"""Knots in one period of the cutoff frequency: the response is within 1e-5 of the exact one at the cutoff. What is
faster hardly passes, so the number of knots does not grow with the sampling rate."""


def smooth(t: NDArray[np.float64], x: NDArray[np.float64], cutoff: float, order: int) -> "BSpline":
    """Spline through noisy samples. t: (n,) increasing, s; x: (n, k); cutoff: frequency of -3 dB, Hz, below half the
    median sampling rate; order m >= 1, with n > m. Returns a spline of `t - t[0]` with values (k,)."""
    from scipy.interpolate import BSpline
    from scipy.linalg import solveh_banded

    t = t - t[0]  # epoch time stamps would cost digits
    degree = max(order + 1, 5)  # acceleration stays smooth, and the penalty stays finite
    intervals = max(int(np.ceil(t[-1] * cutoff * KNOTS_PER_PERIOD)), 1)
    h = t[-1] / intervals
    knots = h * np.arange(-degree, intervals + degree + 1)
    basis = BSpline.design_matrix(t, knots, degree, extrapolate=True)
    weights = _time_per_sample(t)
    penalty = _roughness(knots, degree, order, h) * strength(cutoff, order, float(np.median(np.diff(t))))
    normal = basis.T @ basis.multiply(weights[:, None]) + penalty
    bands = np.zeros((degree + 1, normal.shape[0]))
    for k in range(degree + 1):
        bands[degree - k, k:] = normal.diagonal(k)
    coefficients = solveh_banded(bands, basis.T @ (weights[:, None] * x), overwrite_ab=True)
    return BSpline(knots, coefficients, degree, extrapolate=True)


def _time_per_sample(t: NDArray[np.float64]) -> NDArray[np.float64]:
    step = np.diff(t)
    return np.concatenate([step[:1], (step[1:] + step[:-1]) / 2, step[-1:]])


def strength(cutoff: float, order: int, step: float) -> float:
    """The lambda that puts -3 dB at the cutoff. Sampling folds the response, `H = S / (S + lambda)` with
    `S = sum_k (w + 2 pi k / step)^(-2 m)`, so the folded sum is used: exact up to half the sampling rate."""
    folds = 2 * np.pi * (cutoff + np.arange(-200, 201) / step)
    return float((np.sqrt(2) - 1) * np.sum(np.abs(folds) ** (-2.0 * order)))


def _roughness(knots: NDArray[np.float64], degree: int, order: int, h: float) -> Any:
    """Matrix of `int (d^m s / dt^m)^2 dt` in the spline's coefficients, by exact Gauss quadrature; sparse, banded."""
    import scipy.sparse as sp
    from scipy.interpolate import BSpline

    intervals = len(knots) - 2 * degree - 1
    nodes, weights = np.polynomial.legendre.leggauss(degree - order + 1)
    points = (h * (np.arange(intervals)[:, None] + (nodes + 1) / 2)).ravel()
    size = intervals + degree
    derivative = sp.csr_array((size - order, size))
    for k in range(order + 1):
        derivative += (-1) ** (order - k) * comb(order, k) / h**order * sp.eye_array(size - order, size, k=k)
    values = BSpline.design_matrix(points, knots[order:-order], degree - order, extrapolate=True) @ derivative
    return values.T @ (sp.diags_array(np.tile(weights * h / 2, intervals)) @ values)
