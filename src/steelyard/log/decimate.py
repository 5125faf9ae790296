"""Fewer samples, with what they cannot show taken out first: a zero-phase FIR filter with a Kaiser window.

Kaiser, "Nonrecursive digital filter design using the I0-sinh window function", 1974. What lies above half the new rate
would fold down and pass for motion; it is 80 dB down, and what lies below 80 % of that is kept to 1e-4.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError, OptionError
from steelyard.log import checks
from steelyard.log.frame_channels import changed
from steelyard.log.log import Log
from steelyard.log.stamps import GAP, segments

ATTENUATION = 80.0  # dB, of what would fold
OVERSAMPLED = 2.5  # samples kept for each that the bandwidth asks for: they hold all of a filtered log
PASSBAND = 0.8  # of half the new rate, kept
_MIDDLE = (1 + PASSBAND) / 2  # of half the new rate: where the gain is one half


def decimate(log: Log, factor: int) -> Log:
    """Every `factor`-th sample of a log, low-pass filtered: q, v, a, tau and wrenches alike. Stamps and flags are kept.

    Stretches between gaps are filtered each on its own; at either end of each, samples that the filter sees from one
    side only are left out. Quaternions in q (nq != nv) are left as measured. Raises OptionError for a factor below 1,
    LogError for stamps so irregular that a filter would have no frequency (filter with `differentiate` there, and take
    every k-th sample), or for no stretch long enough.
    """
    if factor != int(factor) or factor < 1:
        raise OptionError(f"factor={factor}: one sample out of how many? A whole number, 1 or more")
    if factor == 1:
        return log
    _require_even(log)
    kernel = kernel_of(int(factor))
    reach = len(kernel) // 2
    rows = [np.arange(part.start + reach, part.stop - reach, factor) for part in segments(log.t)]
    if not sum(map(len, rows)):
        raise LogError(
            f"log {log.name!r}: decimating by {factor} needs stretches of {len(kernel)} samples without a gap"
        )
    rows = np.concatenate(rows)

    def thinned(x):
        result = np.zeros((len(rows), x.shape[1]))
        for weight, shift in zip(kernel, range(-reach, reach + 1), strict=True):
            result += weight * np.asarray(x)[rows + shift]
        return result

    keys = ("v", "a", "tau") if log.nq != log.nv else ("q", "v", "a", "tau")
    fewer = log[rows]
    changes: dict[str, Any] = {key: thinned(value) for key in keys if (value := getattr(log, key)) is not None}
    changes["bandwidth"] = log.narrowed(_MIDDLE * 0.5 * log.rate / factor)
    changes |= changed(log, thinned, ("wrenches", "external", "imu"))
    note = (
        f"decimated by {factor}: kept up to {PASSBAND * 0.5 * log.rate / factor:.6g} Hz, {ATTENUATION:g} dB down from "
    )
    return fewer.replace(**changes).noted(
        f"{note}{0.5 * log.rate / factor:.6g} Hz; {len(rows)} of {len(log)} samples, at {log.rate / factor:.6g} Hz"
    )


def thinning_of(log: Log) -> int:
    """Every how many samples hold all of a filtered log."""
    return max(int(log.rate / (2 * OVERSAMPLED * log.bandwidth)), 1) if log.bandwidth else 1


def kernel_of(factor: int) -> NDArray[np.float64]:
    """Weights (2 k + 1,) of the filter, symmetric, of sum 1."""
    from scipy.signal import firwin, kaiserord

    edge = 1.0 / factor  # half the new rate over half the old one
    count, beta = kaiserord(ATTENUATION + 1.0, (1 - PASSBAND) * edge)  # dB, by which Kaiser's formula may fall short
    window: Any = ("kaiser", beta)
    return np.asarray(firwin(count | 1, _MIDDLE * edge, window=window), dtype=np.float64)


def _require_even(log: Log) -> None:
    checks.require_filterable(log, "decimated")
    steps = np.diff(log.t)
    median = float(np.median(steps))
    spread = float(np.std(steps[steps <= GAP * median])) / median
    if spread > checks.JITTER:
        raise LogError(
            f"log {log.name!r}: its steps spread by {100 * spread:.0f} % of their median, so it has no one rate to "
            "divide. Filter it with differentiate, which takes stamps as they are, and keep every k-th sample"
        )


def lagged_products(x) -> np.ndarray:
    """(n, ...) sums of signals (n, ...) times the same 0, 1, 2, ... samples later."""
    spectrum = np.fft.rfft(x, 2 * len(x), axis=0)
    return np.fft.irfft(np.abs(spectrum) ** 2, axis=0)[: len(x)]


def autocorrelation(x) -> np.ndarray:
    """(n,) autocorrelation of a signal (n,) about its mean, 1 at lag 0; zeros but for lag 0 of a constant."""
    products = lagged_products(np.asarray(x, dtype=float) - np.mean(x))
    if products[0] <= 0:
        return np.eye(1, len(x))[0]
    return products / products[0]


def memory(correlation) -> float:
    """Samples that count as one: `1 + 2 sum rho` up to the first lag at which the correlation has died."""
    below = np.flatnonzero(correlation < 0)
    end = int(below[0]) if len(below) else len(correlation)
    return float(max(1.0, 1 + 2 * correlation[1:end].sum()))
