"""The cutoff that a log deserves, from its spectrum.

A low-pass filter loses signal above its cutoff and lets noise pass below it. The spectrum of the acceleration (that of
the position times the fourth power of frequency) shows both: white noise of the encoder is known by its shape and its
level at high frequencies, what is above it is motion. The cutoff minimises the expected squared error of the filtered
acceleration, the signal that suffers most; the optimum is flat, so the choice need not be exact.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import LogError
from steelyard.log import Log
from steelyard.log.gaps import segments

ORDER = 4  # of the Butterworth filter of `filters.differentiate`, run both ways
ABOVE = 3.0  # times the noise that a smoothed spectrum must be to count as motion
SMOOTHED = 9  # frequencies averaged
FLOOR = 0.25  # share of the sampling rate above which there is nothing but noise
SHORTEST, LONGEST = 64, 2**16  # samples: fewer show no spectrum, more show no other
LOWEST = 8  # candidates start at this many periods of the log


@dataclass(frozen=True)
class Bandwidth:
    """cutoff: Hz. noise: (k,) standard deviation of the white noise of each column, in its unit. frequency: (m,) Hz,
    spectrum: (m, k) power density of the acceleration, floor: (m, k) the part of it that is noise."""

    cutoff: float
    noise: NDArray[np.float64]
    frequency: NDArray[np.float64]
    spectrum: NDArray[np.float64]
    floor: NDArray[np.float64]


def bandwidth(log: Log) -> Bandwidth:
    """The cutoff for `filters.differentiate`, common to all joints. Raises LogError for a log too short to tell."""
    part = max(segments(log.t), key=lambda part: part.stop - part.start)
    part = slice(part.start, min(part.stop, part.start + LONGEST))
    return of_signal(log.q[part], log.t[part])


def of_signal(x: ArrayLike, t: ArrayLike) -> Bandwidth:
    """The same for positions x (n, k) at times t (n,), s, without gaps."""
    x, t = np.asarray(x, dtype=np.float64), np.asarray(t, dtype=np.float64)
    if len(t) < SHORTEST:
        raise LogError(f"{len(t)} samples without a gap are too few to choose a cutoff from; at least {SHORTEST}")
    even = np.linspace(t[0], t[-1], len(t))
    x = np.stack([np.interp(even, t, column) for column in x.T], axis=1)
    step = float(even[1] - even[0])
    frequency, spectrum = _spectrum(np.diff(x, n=2, axis=0) / step**2, step)
    shape = (2 * np.sin(np.pi * frequency * step) / step)[:, None] ** 4
    high = frequency > FLOOR / step
    level = np.mean(spectrum[high] / shape[high], axis=0)  # per Hz, two-sided in one
    noise = np.sqrt(level * 0.5 / step)
    floor = level * shape
    motion = _motion(spectrum, floor)
    candidates = np.geomspace(LOWEST / (even[-1] - even[0]), 0.45 / step, 400)
    cost = np.concatenate([_error(frequency, motion, floor, some) for some in np.array_split(candidates, 20)])
    return Bandwidth(float(candidates[int(np.argmin(cost))]), noise, frequency, spectrum, floor)


def _spectrum(x: NDArray, step: float) -> tuple[NDArray, NDArray]:
    """One-sided power density. A window of Hann, so that slow motion does not leak."""
    window = np.hanning(len(x))[:, None]
    power = np.abs(np.fft.rfft((x - x.mean(axis=0)) * window, axis=0)) ** 2
    density = 2 * step * power / np.sum(window**2)
    return np.fft.rfftfreq(len(x), step), density


def _motion(spectrum: NDArray, floor: NDArray) -> NDArray:
    """Spectrum of the motion: what stands out of the noise over a few frequencies."""
    from scipy.ndimage import uniform_filter1d

    smoothed = uniform_filter1d(spectrum, SMOOTHED, axis=0)
    return np.where(smoothed > ABOVE * floor, np.maximum(spectrum - floor, 0.0), 0.0)


def _error(frequency: NDArray, motion: NDArray, floor: NDArray, cutoffs: NDArray) -> NDArray:
    """(c,) expected squared errors of the acceleration for cutoffs (c,), each joint relative to its motion."""
    whole = np.sum(motion, axis=0)
    share = np.divide(1.0, whole, out=np.zeros_like(whole), where=whole > 0)
    passed = 1 / (1 + (np.sqrt(2) - 1) * (frequency / cutoffs[:, None]) ** (2 * ORDER))
    return (1 - passed) ** 2 @ (motion @ share) + passed**2 @ (floor @ share)
