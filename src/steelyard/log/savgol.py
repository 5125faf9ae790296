"""Savitzky and Golay's acceleration, with the value and rate that belong to it, at any time stamps.

Savitzky and Golay, "Smoothing and differentiation of data by simplified least squares procedures", Anal. Chem. 36,
1964: at each sample the second derivative of the polynomial that fits its neighbours best. Their value and rate are
filters of other responses, which would break `tau = Y theta`. Here they are the integrals of that acceleration: in a
window -1 < u < 1 these are again fits of polynomials, with weights (1 - u^2)^2 and 1 - u^2 and two degrees and one less
(Legendre's kernels integrate to Jacobi's; Gasser, Mueller and Mammitzsch 1985). So the three have one response.

The window is a length of time: samples at its rim count by the share of their step that lies inside it, so the cutoff
can be had exactly, and where all of them count fully the acceleration's weights are the classical ones. At the ends of
the data the last full window's polynomial is used.
"""

from math import sqrt

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from steelyard.errors import LogError
from steelyard.numbers import SAME

SMOOTH = 2  # derivatives that the one curve has


def derivatives(t: NDArray, x: NDArray, cutoff: float, degree: int, count: int) -> NDArray[np.float64]:
    """(count + 1, n, k): x (n, k) at times t filtered at -3 dB, Hz, and its first derivatives, two at most, by
    polynomials of a degree. Raises LogError where windows hold too few samples."""
    return np.stack([_derivative(t - t[0], x, cutoff, degree, each) for each in range(count + 1)])


def _derivative(t: NDArray, x: NDArray, cutoff: float, degree: int, derivative: int) -> NDArray[np.float64]:
    step = float(np.median(np.diff(t)))
    half = half_width(cutoff, degree, step, derivative)
    if t[-1] < 2 * half:
        raise LogError(f"a window of {2 * half:.3g} s does not fit into {t[-1]:.3g} s; use a higher cutoff")
    reach = int(np.ceil(half / step + 0.5))
    inner = slice(reach, len(t) - reach)
    if inner.start >= inner.stop or np.abs(np.diff(t) - step).max() > SAME * step:
        return _at(t, x, np.arange(len(t)), half, step, degree, derivative)
    from scipy.signal import oaconvolve

    result = np.empty(x.shape)
    result[inner] = oaconvolve(x, _even(half, step, degree, derivative)[1][::-1, None], mode="valid", axes=0)
    ends = np.r_[: inner.start, inner.stop : len(t)]
    result[ends] = _at(t, x, ends, half, step, degree, derivative)
    return result


def _at(
    t: NDArray, x: NDArray, samples: NDArray, half: float, step: float, degree: int, derivative: int
) -> NDArray[np.float64]:
    """The same at some of the samples, each with a window of its own."""
    centres = np.clip(t[samples], half, t[-1] - half)
    first = np.searchsorted(t, centres - half - step / 2)
    stop = np.searchsorted(t, centres + half + step / 2, side="right")
    if np.any(stop - first <= degree):
        raise LogError(
            f"windows of {2 * half:.3g} s hold fewer than {degree + 1} samples; use a lower cutoff or degree"
        )
    columns = np.arange(int((stop - first).max()))
    result = np.empty((len(samples), x.shape[1]))
    size = max(1, 2_000_000 // (len(columns) * (degree + 1)))  # numbers of a window matrix worked on at a time
    for start in range(0, len(samples), size):
        part = slice(start, start + size)
        rows = np.minimum(first[part, None] + columns, len(t) - 1)
        offset = t[rows] - centres[part, None]
        inside = np.where(columns < (stop - first)[part, None], _inside(offset, half, step), 0.0)
        at = (t[samples[part]] - centres[part]) / half
        kernels = _kernels(offset / half, inside, at, degree, derivative) / half**derivative
        result[part] = np.einsum("nl,nlk->nk", kernels, x[rows], optimize=True)
    return result


def response(frequency: NDArray, step: float, cutoff: float, degree: int, derivative: int = 0) -> NDArray[np.float64]:
    """Gain at frequencies (m,), Hz, of the filter for a derivative, relative to the exact one; real: its phase is zero.
    The derivatives' differ by what a window of few samples shows of its rim. step: s between samples."""
    return _gain(
        np.asarray(frequency, dtype=float), half_width(cutoff, degree, step, derivative), step, degree, derivative
    )


def _gain(frequency: NDArray, half: float, step: float, degree: int, derivative: int) -> NDArray[np.float64]:
    offset, kernel = _even(half, step, degree, derivative)
    phase = 2 * np.pi * np.multiply.outer(frequency, offset)
    exact = (2 * np.pi * frequency) ** derivative
    wave = np.sin(phase) if derivative % 2 else np.cos(phase)
    sign = -1.0 if derivative % 4 >= 2 else 1.0
    return np.where(exact == 0, 1.0, sign * (wave @ kernel) / np.where(exact == 0, 1.0, exact))  # polynomials stay


def half_width(cutoff: float, degree: int, step: float, derivative: int = 0) -> float:
    """Half the window, s, that puts -3 dB of a derivative's filter at the cutoff, Hz, below half the rate."""
    from scipy.optimize import root_scalar

    def gain(half):
        return float(_gain(np.array([cutoff]), half, step, degree, derivative)[0]) - sqrt(0.5)

    samples = (degree - SMOOTH + derivative + 1) // 2 * 2 + 1  # that the polynomials pass through
    smallest, guess = samples / 2 * step, (degree / 6 + 0.04) / cutoff  # the latter for long windows
    if gain(smallest) <= 0:  # of an acceleration, above a third of the rate
        return smallest
    high = max(guess, smallest)
    while gain(high) > 0:
        high *= 1.1
    low = high
    while gain(low) <= 0:
        low = max(low / 1.1, smallest)
    return float(root_scalar(gain, bracket=(low, high), method="brentq", xtol=1e-12 * high).root)


def _even(half: float, step: float, degree: int, derivative: int) -> tuple[NDArray, NDArray]:
    """Offsets, s, and weights of the filter in the middle of even stamps."""
    reach = int(np.ceil(half / step + 0.5))
    offset = step * np.arange(-reach, reach + 1)
    inside = _inside(offset, half, step)
    kernel = _kernels(offset[None] / half, inside[None], np.zeros(1), degree, derivative)[0]
    return offset, kernel / half**derivative


def _inside(offset: NDArray, half: float, step: float) -> NDArray:
    """Share of a sample's step that lies in the window."""
    return np.clip((half - np.abs(offset)) / step + 0.5, 0.0, 1.0)


def _kernels(u: NDArray, inside: NDArray, at: NDArray, degree: int, derivative: int) -> NDArray[np.float64]:
    """(n, l): weights of samples at u (n, l) in a derivative at `at` (n,) of the polynomials that fit them best; all in
    units of half a window. Legendre polynomials keep the normal equations well posed."""
    less = SMOOTH - derivative
    basis = legendre.legvander(u, degree - less)
    weighted = basis * (inside * np.maximum(1 - u**2, 0.0) ** less)[..., None]
    normal = np.swapaxes(weighted, 1, 2) @ basis
    unit = np.eye(degree - less + 1)
    wanted = legendre.legval(at, legendre.legder(unit, derivative)).T
    return np.einsum("nlp,np->nl", weighted, np.linalg.solve(normal, wanted[..., None])[..., 0])
