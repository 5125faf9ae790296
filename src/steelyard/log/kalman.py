"""The Kalman filter and Rauch-Tung-Striebel smoother of motion: value, rate, acceleration, and how sure they are.

The acceleration is a random walk (white jerk of density q), the value is measured with white noise. Smoothed both ways
this is the signal through `1 / (1 + (f / f0)^6)`, with `(2 pi f0)^6 = q / (sigma^2 step)`: a Butterworth filter of
order 3 run forwards and backwards (Wahba 1978, for the spline that is the same estimate). What it adds are standard
deviations, and a bandwidth by maximum likelihood (innovations; Schweppe 1965) where no cutoff is given. All columns
have the same noise and agility, so one 3x3 covariance a sample serves all of them; the error of a rotation lives in
body axes and is small between samples, so that it has the same.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import LogError
from steelyard.log.spline import strength
from steelyard.log.stamps import segments
from steelyard.native import require_core

SHORTEST = 10  # samples of a stretch
RATE_SPREAD, ACCELERATION_SPREAD = 10.0, 100.0  # of the first state, 1/s and 1/s^2 of the value's unit
_SPREAD = 100.0  # of the first state: noise, times this, times the cutoff's angular frequency (squared)


@dataclass(frozen=True, eq=False)
class Smoothed:
    """Estimates and standard deviations, each (n, k), of value, rate and acceleration."""

    value: NDArray[np.float64]
    rate: NDArray[np.float64]
    acceleration: NDArray[np.float64]
    value_deviation: NDArray[np.float64]
    rate_deviation: NDArray[np.float64]
    acceleration_deviation: NDArray[np.float64]
    cutoff: float  # -3 dB, Hz
    noise: NDArray[np.float64]  # (k,) standard deviation of the measurements
    density: NDArray[np.float64]  # (k,) of the white jerk, unit^2/s^5


def smooth(
    t: ArrayLike, x: ArrayLike, *, cutoff: float | None = None, noise: ArrayLike | None = None, causal: bool = False
) -> Smoothed:
    """Smooth signals x (n,) or (n, k) at times t, stretches between gaps each on their own. cutoff: Hz; None: the most
    likely one. noise: None: what innovations say. causal: filter only, as online. Raises LogError for stamps that do
    not increase, or no stretch of 10 samples."""
    t, x = np.asarray(t, dtype=np.float64), np.asarray(x, dtype=np.float64)
    x = x[:, None] if x.ndim == 1 else x
    if t.shape != x.shape[:1] or not np.all(np.diff(t) > 0):
        raise LogError(f"t must increase and have one stamp a sample; found shape {t.shape} for x {x.shape}")
    parts = segments(t)
    longest = max(parts, key=lambda part: part.stop - part.start)
    if min(part.stop - part.start for part in parts) < SHORTEST:
        raise LogError(f"a stretch between gaps has fewer than {SHORTEST} samples; leave it out")
    cutoff = most_likely(t[longest], x[longest]) if cutoff is None else cutoff
    ratio = density_ratio(cutoff, float(np.median(np.diff(t))))
    sigma = noise_of(t[longest], x[longest], cutoff) if noise is None else np.broadcast_to(noise, x.shape[1:])
    found = [_stretch(t[part], x[part], cutoff, ratio, not causal) for part in parts]
    value, rate, acceleration = (np.concatenate([states[i] for states, _ in found]) for i in range(3))
    spread = np.concatenate([deviation for _, deviation in found])[:, :, None] * sigma
    return Smoothed(
        *(value, rate, acceleration, spread[:, 0], spread[:, 1], spread[:, 2]),
        cutoff=cutoff,
        noise=np.asarray(sigma),
        density=ratio * sigma**2,
    )


def derivatives(t: NDArray, x: NDArray, cutoff: float, count: int) -> NDArray[np.float64]:
    """(count + 1, n, k): x (n, k) smoothed at times t (n,) without gaps, and its first `count` derivatives."""
    states, _ = _stretch(t, x, cutoff, density_ratio(cutoff, float(np.median(np.diff(t)))), True)
    return np.stack(states[: count + 1])


def density_ratio(cutoff: float, step: float) -> float:
    """Density of the jerk over the variance of the measurements, 1/s^5, that puts -3 dB at the cutoff, Hz."""
    return step / strength(cutoff, 3, step)  # the order of the Butterworth filter that the smoother is


def most_likely(t: NDArray, x: NDArray) -> float:
    """The cutoff, Hz, at which samples x (n, k) without gaps are most likely, each column with a noise of its own."""
    from scipy.optimize import minimize_scalar

    t, x = t[:5000], x[:5000, np.ptp(x[:5000], axis=0) > 0]
    rate = 1 / float(np.median(np.diff(t)))
    if not x.shape[1]:
        raise LogError("nothing moves: there is no most likely bandwidth; give a cutoff")
    lowest, highest = np.log(4 / (t[-1] - t[0])), np.log(0.45 * rate)
    grid = np.linspace(lowest, highest, 15)
    cost = [_unlikely(t, x, np.exp(each)) for each in grid]
    k = int(np.argmin(cost))
    bracket = (grid[max(k - 1, 0)], grid[min(k + 1, len(grid) - 1)])
    best = minimize_scalar(
        lambda c: _unlikely(t, x, np.exp(c)), bounds=bracket, method="bounded", options={"xatol": 1e-4}
    )
    return float(np.exp(best.x))


def noise_of(t: NDArray, x: NDArray, cutoff: float) -> NDArray[np.float64]:
    """Standard deviation of the measurements (k,), from the innovations at a cutoff."""
    return np.sqrt(np.mean(_innovations(t, x, cutoff)[0], axis=0))


def _unlikely(t: NDArray, x: NDArray, cutoff: float) -> float:
    """Minus the log-likelihood, each column's noise at its best."""
    squares, logarithm = _innovations(t, x, cutoff)
    return float(0.5 * np.sum(len(squares) * np.log(np.mean(squares, axis=0)) + logarithm))


def _innovations(t: NDArray, x: NDArray, cutoff: float) -> tuple[NDArray, float]:
    """Squared innovations (n, k) over their variance for unit noise, and the sum of its logarithms."""
    ratio = density_ratio(cutoff, float(np.median(np.diff(t))))
    gains, back, variance, _ = covariances(t - t[0], 1.0, ratio, False, *_spreads(cutoff))
    columns = zip(np.ascontiguousarray(x.T), _start(t, x, cutoff).T, strict=True)
    squares = [filter_vector(t, x[:, None], gains, back, False, *first[:, None])[-1] for x, first in columns]
    settled = slice(3, None)  # the first samples tell where the motion starts
    return np.stack(squares, axis=1)[settled] / variance[settled, None], float(np.sum(np.log(variance[settled])))


def _stretch(
    t: NDArray, x: NDArray, cutoff: float, ratio: float, both_ways: bool
) -> tuple[tuple[NDArray, ...], NDArray]:
    """Value, rate and acceleration (n, k) of a stretch, and their deviations (n, 3) for unit noise."""
    t = t - t[0]
    gains, back, _, covariance = covariances(t, 1.0, ratio, both_ways, *_spreads(cutoff))
    start = _start(t, x, cutoff)
    value, rate, acceleration, _ = filter_vector(t, np.ascontiguousarray(x), gains, back, both_ways, *start)
    return (value, rate, acceleration), np.sqrt(np.einsum("nii->ni", covariance))


def _spreads(cutoff: float) -> tuple[float, float]:
    """What the first rate and acceleration may be, in units of the noise."""
    turn = 2 * np.pi * cutoff
    return _SPREAD * turn, _SPREAD * turn**2


def _start(t: NDArray, x: NDArray, cutoff: float) -> NDArray[np.float64]:
    """(2, k) first rate and acceleration, of the parabola through the first half period of the cutoff."""
    near = slice(0, max(5, int(np.searchsorted(t - t[0], 0.5 / cutoff))))
    unit = t[near][-1] - t[0]
    powers = np.vander((t[near] - t[0]) / unit, 3, increasing=True)
    fitted = np.linalg.lstsq(powers, x[near], rcond=None)[0]
    return np.stack([fitted[1] / unit, 2 * fitted[2] / unit**2])


def covariances(t, sigma, q, smooth, rate_spread=RATE_SPREAD, acceleration_spread=ACCELERATION_SPREAD):
    """Gains (n, 3), smoother gains (n, 3, 3), innovation variances (n,), and covariances (n, 3, 3) of the error of
    [value, rate, acceleration] on each axis: all that does not depend on the measurements. t: (n,) s; sigma: standard
    deviation of a measured value; q: density of the jerk; smooth: whether the smoother's gains are wanted; spreads:
    standard deviations of what the first rate and acceleration may be."""
    n = t.size
    gains, back, S, P = np.empty((n, 3)), np.empty((n, 3, 3)), np.empty(n), np.empty((n, 3, 3))
    require_core().covariances(t, sigma, q, smooth, rate_spread, acceleration_spread, gains, back, S, P)
    return gains, back, S, P


def filter_vector(t, measured, gains, back, smooth, rate=0.0, acceleration=0.0):
    """Value, rate and acceleration (n, m) of measured columns (n, m), and squared innovations (n,), summed over the
    columns. gains, back: of `covariances`; smooth: whether the smoother runs, too; rate, acceleration: (m,) of the
    first state, at rest by default."""
    x, innovations = np.empty((3, *measured.shape)), np.empty(t.size)
    x[0, :1], x[1, :1], x[2, :1] = measured[:1], rate, acceleration
    require_core().filter_vector(t, measured, gains, back, smooth, x, innovations)
    return x[0], x[1], x[2], innovations


def filter_rotation(t, measured, gains, back, smooth):
    """Rotation (n, 3, 3), angular velocity and acceleration (n, 3) in body axes of measured rotations (n, 3, 3),
    world_from_body, and squared innovations (n,); otherwise as `filter_vector`."""
    n = t.size
    R, w, al, innovations = np.empty((n, 3, 3)), np.empty((n, 3)), np.empty((n, 3)), np.empty(n)
    require_core().filter_rotation(t, measured, gains, back, smooth, R, w, al, innovations)
    return R, w, al, innovations


def track(dt, R_measured, p_measured, sigma, q, R, w, al, x, P):
    """One step of the filters of positions and of rotations, in place, dt s after the one before. R_measured: (3, 3)
    world_from_body; p_measured: (3,) m in the world; sigma, q: (2,) standard deviations of position, m, and rotation,
    rad, and densities of their jerk. Overwritten: R (3, 3), w, al (3,) angular velocity and acceleration in body axes,
    x (3, 3) position, velocity and acceleration in the world, P (2, 3, 3) covariances of position and rotation."""
    require_core().track(dt, R_measured, p_measured, sigma, q, R, w, al, x, P)
