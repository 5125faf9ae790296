"""The smoothing spline: a zero-phase Butterworth filter for samples taken at any times, and its exact derivatives.

The minimiser of `sum_k w_k (x_k - s(t_k))^2 + lambda int (d^m s / dt^m)^2 dt`, with `w_k` the time sample k stands
for, is the signal passed through `H(f) = 1 / (1 + (f / f0)^(2 m))`: the power response of an order-m Butterworth
filter, which is the amplitude response of that filter run forwards and backwards (Unser and Blu, "Generalized smoothing
splines and the optimal discretization of the Wiener filter", 2005). Irregular stamps need no resampling, the ends are
free instead of mirrored, and velocity and acceleration are derivatives of one curve.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

KNOTS_PER_PERIOD = 16
"""Knots in one period of the cutoff frequency: the response is within 1e-5 of the exact one at the cutoff. What is
faster hardly passes, so the number of knots does not grow with the sampling rate."""


@dataclass(frozen=True, eq=False)
class UniformSpline:
    """A spline over intervals of one length h [s] from 0 on: coefficients (intervals + degree, k) of B-splines."""

    h: float
    degree: int
    coefficients: NDArray[np.float64]

    def __call__(self, t: NDArray[np.float64], derivative: int = 0) -> NDArray[np.float64]:
        """(n, k) values at times (n,), s, or those of a derivative."""
        degree = self.degree - derivative
        coefficients = np.diff(self.coefficients, n=derivative, axis=0) / self.h**derivative
        first, share = _places(t, self.h, len(coefficients) - degree)
        values = b_splines(share, degree)
        return np.add.reduce([values[:, [j]] * coefficients[first + j] for j in range(degree + 1)])


def smooth(t: NDArray[np.float64], x: NDArray[np.float64], cutoff: float, order: int) -> UniformSpline:
    """Spline through noisy samples. t: (n,) increasing, s; x: (n, k); cutoff: frequency of -3 dB, Hz, below half the
    median sampling rate; order m >= 1, with n > m. Returns a spline of `t - t[0]` with values (k,)."""
    from scipy.linalg import solveh_banded

    t = t - t[0]  # epoch time stamps would cost digits
    degree = max(order + 1, 5)  # acceleration stays smooth, and the penalty stays finite
    intervals = max(int(np.ceil(t[-1] * cutoff * KNOTS_PER_PERIOD)), 1)
    h = t[-1] / intervals
    size = intervals + degree
    first, share = _places(t, h, intervals)
    values = b_splines(share, degree)
    step = np.diff(t)
    weighted = values * np.concatenate([step[:1], (step[1:] + step[:-1]) / 2, step[-1:]])[:, None]  # time per sample
    penalty = _roughness(h, degree, order) * strength(cutoff, order, float(np.median(step)))
    bands = np.zeros((degree + 1, size))  # row degree - k: diagonal k of the normal matrix
    right = np.zeros((size, x.shape[1]))
    for i in range(degree + 1):
        for k in range(degree + 1 - i):
            own = np.bincount(first, weighted[:, i] * values[:, i + k], minlength=intervals) + penalty[i, i + k]
            bands[degree - k, i + k : i + k + intervals] += own
        for column, own in zip(right.T, (weighted[:, [i]] * x).T, strict=True):
            column[i : i + intervals] += np.bincount(first, own, minlength=intervals)
    return UniformSpline(h, degree, solveh_banded(bands, right, overwrite_ab=True))


def b_splines(share: NDArray[np.float64], degree: int) -> NDArray[np.float64]:
    """(n, degree + 1) B-splines on knots of distance one that are not zero, in order (Cox and de Boor). share: (n,) of
    the way through an interval, 0 to 1."""
    values = np.ones((len(share), 1))
    for d in range(1, degree + 1):
        j, rise = np.arange(d + 1), np.zeros((len(share), 1))
        lower, upper = np.hstack([rise, values]), np.hstack([values, rise])
        values = ((share[:, None] + (d - j)) * lower + ((1 + j) - share[:, None]) * upper) / d
    return values


def _places(t: NDArray[np.float64], h: float, intervals: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """(n,) the interval of each time, and the share of the way through it."""
    passed = t / h
    first = np.clip(passed.astype(np.intp), 0, intervals - 1)
    return first, passed - first


def strength(cutoff: float, order: int, step: float) -> float:
    """The lambda that puts -3 dB at the cutoff. Sampling folds the response, `H = S / (S + lambda)` with
    `S = sum_k (w + 2 pi k / step)^(-2 m)`, so the folded sum is used: exact up to half the sampling rate."""
    folds = 2 * np.pi * (cutoff + np.arange(-200, 201) / step)
    return float((np.sqrt(2) - 1) * np.sum(np.abs(folds) ** (-2.0 * order)))


def _roughness(h: float, degree: int, order: int) -> NDArray[np.float64]:
    """(degree + 1, degree + 1) matrix of `int (d^m s / dt^m)^2 dt` over an interval in the coefficients that count
    there, the same for all, by exact Gauss quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(degree - order + 1)
    rates = b_splines((nodes + 1) / 2, degree - order) @ np.diff(np.eye(degree + 1), n=order, axis=0) / h**order
    return rates.T @ (weights[:, None] * h / 2 * rates)
