"""The cutoff that a log deserves, from its spectrum.

A low-pass filter loses signal above its cutoff and lets noise pass below it. The spectrum of the acceleration (that of
the position times the fourth power of frequency, of a measured velocity times the second) shows both: white noise of
the encoder is known by its shape and its level at high frequencies, or by the steps of one so coarse that few of them
are taken; what is above it is motion.

The cutoff minimises the expected squared error of the torques of a model that is fitted to the filtered log. With
energies of the acceleration, the signal that suffers most, relative to the motion's, D lost to the filter and N of
noise that passes:

- motion that is lost distorts the equation, by `DISTORTS sqrt(D)`;
- noise in the regressors attenuates parameters (errors in variables; Fuller 1987), by `WEAK N / (1 + WEAK N)`: the
  combinations that the motion excites less than the average by more;
- it scatters them by `DISTORTS sqrt(N / n)`, n the independent samples, 2 cutoff duration;
- noise of the torques scatters them by `SCATTER / sqrt(T)`, T the duration less a period of the cutoff at either end.

The first two factors follow from noise-free logs and from information matrices of arms (docs/evidence/cutoffs.md). The
sum of the squares, over joints, each relative to its own motion, has a flat minimum, so the choice need not be exact.

Torques are filtered less, `torque_cutoff_for`. A common cutoff close above the motion would take the torques' harmonics
(gravity is a sine of q, Coriolis forces are products of velocities), which regressors at filtered positions have.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import LogError
from steelyard.log.log import Log
from steelyard.log.smoothers import BUTTERWORTH, SAVGOL, order_of, response
from steelyard.log.stamps import segments


def quantum(x: NDArray[np.float64]) -> float | None:
    """Step between neighbouring values of a quantised signal (n,); None for a signal that takes any value."""
    levels = np.unique(x)
    if len(levels) < 4:  # least number of different values of a signal that has a resolution
        return None
    steps = np.diff(levels)
    steps = steps[steps > 1e-12 * np.abs(levels).max()]  # rounding of the same value
    if not len(steps):
        return None
    step = float(steps.min())
    step = float(np.median(steps[steps < 1.5 * step]))
    off = np.abs((levels - levels[0]) / step - np.round((levels - levels[0]) / step))
    # quantised values lie beside multiples of the step by less
    return step if float(np.median(off)) < 0.02 else None


def step_noise(x: NDArray[np.float64]) -> float:
    """Standard deviation that white noise would have, were it as dense at low frequencies as the noise of few steps.

    x: (n,). Noise of steps reaches up to the frequency at which they follow each other. Where that is beyond half the
    rate it is white, and shows at high frequencies; a signal that takes fewer steps has the same variance, step^2 / 12,
    within fewer frequencies. 0 for a signal without steps, or with one or more in two samples.
    """
    step = quantum(x)
    if step is None:
        return 0.0
    taken = float(np.mean(np.abs(np.diff(x)))) / step  # a sample
    return step / sqrt(24 * taken) if 0 < taken < 0.5 else 0.0


SMOOTHED = 9  # frequencies averaged
ABOVE = 8.0  # times the noise that such an average must be to count as motion
FLOOR = 0.25  # share of the sampling rate above which there is nothing but noise
SHORTEST, LONGEST = 64, 2**16  # samples: fewer show no spectrum, more show no other
BINS = 2000  # frequencies that candidates are compared at: a long log's are added up in bins
WINDOWED = np.linspace(0, 50, 2001)  # frequencies over the cutoff at which a sum over a window has its response drawn
DISTORTS = 0.4  # error of identified torques over the square root of the share of the acceleration that is lost
SCATTER = 0.006  # s^0.5: error that the torques' noise leaves, times the root of the duration: 0.2 % after ten seconds
WEAK = 4.0  # attenuation over that of the average; errors of identified arms are flat from 3 to 6


@dataclass(frozen=True)
class Bandwidth:
    """cutoff: Hz. noise: (k,) standard deviation of the white noise of each column, in its unit. frequency: (m,) Hz,
    spectrum: (m, k) power density of the acceleration, floor: (m, k) the part of it that is noise."""

    cutoff: float
    noise: NDArray[np.float64]
    frequency: NDArray[np.float64]
    spectrum: NDArray[np.float64]
    floor: NDArray[np.float64]


def cutoff_for(
    log: Log, cutoff: float | None = None, *, smoother: str = BUTTERWORTH, order: int | None = None
) -> float:
    """Hz: the given cutoff of a log, or that of its spectrum, at most `highest_cutoff`; the latter alone where no
    stretch has 64 samples. smoother, order: as of `filters.differentiate`."""
    if cutoff is not None:
        return cutoff
    highest = highest_cutoff(log)
    part = longest(log)
    if part.stop - part.start < SHORTEST:
        return highest
    return min(highest, bandwidth(log, smoother=smoother, order=order).cutoff)


def torque_cutoff_for(log: Log, cutoff: float | None = None, torque_cutoff: float | None = None) -> float:
    """Hz: the given cutoff of torques, else that of positions, or the highest where that is automatic; see `bandwidth`
    for why they differ."""
    if torque_cutoff is not None:
        return torque_cutoff
    return highest_cutoff(log) if cutoff is None else cutoff


def highest_cutoff(log: Log) -> float:
    """What motion and rate allow, Hz, whatever the spectrum says; logs with contacts or a free base are of a robot that
    steps."""
    allowed = log.rate / 6.0  # samples in a period of the cutoff: with fewer, derivatives are visibly wrong
    free = log.nq == log.nv + 1 >= 7
    if not (free or log.contacts):
        return min(10.0, allowed)  # Hz: arms move below it, structural vibration and noise lie above
    # Forces of feet come and go within hundredths of a second. A sensor needs no derivative, which has noise.
    return allowed if log.imu else min(20.0, allowed)


def acceleration_noise(noise: float, rate: float, cutoff: float) -> float:
    """Standard deviation of the acceleration, per s^2, that white noise of positions makes after
    `filters.differentiate` at a cutoff, Hz, of the Butterworth filter."""
    frequency = np.linspace(0.0, rate / 2, BINS)
    density = 2 * noise**2 / rate * (2 * np.pi * frequency) ** 4
    gain = response(BUTTERWORTH, frequency, 1 / rate, cutoff, order_of(BUTTERWORTH, None), 2)
    return float(np.sqrt(np.sum(gain**2 * density) * frequency[1]))


def bandwidth(log: Log, *, smoother: str = BUTTERWORTH, order: int | None = None) -> Bandwidth:
    """The cutoff with the least expected error of a fit to what `filters.differentiate` makes of a log, common to all
    joints; with v the higher one, of the channel that shows more. Raises LogError for a log too short to tell."""
    part, options = longest(log), {"smoother": smoother, "order": order}
    found = []
    if log.nq == log.nv:
        found.append(of_signal(np.asarray(log.q)[part], log.t[part], **options))
    if log.v is not None:
        found.append(of_signal(np.asarray(log.v)[part], log.t[part], derivatives=1, **options))
    return max(found, key=lambda each: each.cutoff)


def longest(log: Log) -> slice:
    """The longest stretch without a gap, or the beginning of it: more samples show no other spectrum."""
    part = max(segments(log.t), key=lambda part: part.stop - part.start)
    return slice(part.start, min(part.stop, part.start + LONGEST))


def of_signal(
    x: ArrayLike, t: ArrayLike, *, derivatives: int = 2, smoother: str = BUTTERWORTH, order: int | None = None
) -> Bandwidth:
    """The same for positions (derivatives=2) or velocities (1) x (n, k) at times t (n,), s, without gaps."""
    x, t, order = np.asarray(x, dtype=np.float64), np.asarray(t, dtype=np.float64), order_of(smoother, order)
    if len(t) < SHORTEST:
        raise LogError(f"{len(t)} samples without a gap are too few to choose a cutoff from; at least {SHORTEST}")
    coarse = np.array([step_noise(column) for column in np.ascontiguousarray(x.T)])
    even = np.linspace(t[0], t[-1], len(t))
    x = np.stack([np.interp(even, t, column) for column in x.T], axis=1)
    step = float(even[1] - even[0])
    frequency, spectrum = _spectrum(np.diff(x, n=derivatives, axis=0) / step**derivatives, step)
    shape = (2 * np.sin(np.pi * frequency * step) / step)[:, None] ** (2 * derivatives)
    high = frequency > FLOOR / step
    level = np.mean(spectrum[high] / shape[high], axis=0)  # per Hz, two-sided in one
    noise = np.maximum(np.sqrt(level * 0.5 / step), coarse)
    level = 2 * step * noise**2
    floor = level * shape
    binned = _binned(frequency, _motion(spectrum, floor), floor)
    # candidates start at this many periods of the log
    candidates = np.geomspace(8 / (even[-1] - even[0]), 0.45 / step, 400)
    duration = even[-1] - even[0]
    over = binned[0] / candidates[:, None]  # the filter sees many samples in a period of its cutoff
    if smoother == SAVGOL:
        drawn = response(smoother, WINDOWED, 0.5 / WINDOWED[-1], 1.0, order, derivatives)
        gains = np.interp(over, WINDOWED, drawn, right=0.0)
    else:
        gains = response(smoother, over, 0.0, 1.0, order, derivatives)
    lost, noisy = (1 - gains) ** 2 @ binned[1], gains**2 @ binned[2]
    scatter = noisy / (2 * candidates[:, None] * duration)
    ends = SCATTER**2 / (duration - 2 / candidates)
    attenuated = WEAK * noisy / (1 + WEAK * noisy)
    errors = DISTORTS**2 * (lost + scatter / (1 + scatter)) + attenuated**2 + ends[:, None]
    cost = np.sum(errors, axis=1)
    return Bandwidth(float(candidates[int(np.argmin(cost))]), noise, frequency, spectrum, floor)


def _spectrum(x: NDArray, step: float) -> tuple[NDArray, NDArray]:
    """One-sided power density. A window of Hann, so that slow motion does not leak."""
    window = np.hanning(len(x))[:, None]
    power = np.abs(np.fft.rfft((x - x.mean(axis=0)) * window, axis=0)) ** 2
    density = 2 * step * power / np.sum(window**2)
    return np.fft.rfftfreq(len(x), step), density


def _motion(spectrum: NDArray, floor: NDArray) -> NDArray:
    """Spectrum of the motion: what stands out of the noise over a few frequencies.

    A window of Hann correlates neighbours by -2/3 and 1/6, so nine average less than nine would: chance makes 8 times
    the noise of fewer than one in ten billion (5 times of one in a million, which one log in a hundred has somewhere),
    and a bump at a high frequency that is none of the motion's would raise the cutoff two- to threefold.
    """
    ends = np.pad(spectrum, ((SMOOTHED // 2, SMOOTHED // 2), (0, 0)), mode="symmetric")
    smoothed = np.lib.stride_tricks.sliding_window_view(ends, SMOOTHED, axis=0).mean(axis=-1)
    return np.where(smoothed > ABOVE * floor, np.maximum(spectrum - floor, 0.0), 0.0)


def _binned(frequency: NDArray, motion: NDArray, floor: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Frequency (m,), motion and noise (m, k) of the joints that move, each relative to its motion."""
    whole = np.sum(motion, axis=0)
    moving = whole > 0
    motion, floor = (each[:, moving] / whole[moving] for each in (motion, floor))
    edges = np.unique(np.geomspace(1, len(frequency), BINS).astype(int)) - 1
    count = np.diff(np.append(edges, len(frequency)))
    motion, floor = (np.add.reduceat(each, edges, axis=0) for each in (motion, floor))
    return np.add.reduceat(frequency, edges) / count, motion, floor
