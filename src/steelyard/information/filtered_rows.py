"""Rows of momentum or energy of a stream of samples, through a first-order low-pass filter (Slotine and Li 1989).

A row `static + d rate / dt` (columns and target alike) becomes `F static + pole (rate - F rate)`, with the filter `F =
pole / (s + pole)` at rest at the first sample and `rate` counted from there: equal at every time, without acceleration.
Signals are taken as linear between samples.
"""

from dataclasses import dataclass, field

import numpy as np

from steelyard.errors import LogError
from steelyard.information.row_kinds import Pieces, balance_of

PART = 256  # samples whose weights are one triangular matrix


@dataclass(frozen=True, eq=False)
class Passed:
    """What a filter keeps of one row group: its last sample, and the outputs there. Each (k + 1,)."""

    static: np.ndarray
    rate: np.ndarray
    filtered_static: np.ndarray
    filtered_rate: np.ndarray


@dataclass
class RowFilter:
    """A first-order filter between chunks of a stream.

    pole: 2 pi times its cutoff, rad/s. stamp: s, of the last sample; groups: what was kept of each row group there.
    share: of the power of torques with white noise that passed in the last chunk.
    """

    pole: float
    stamp: float | None = None
    groups: dict[int, Passed] = field(default_factory=dict)
    share: float = 1.0

    def rows(self, spec, kind: str, t, channels) -> Pieces:
        """Rows of further samples, one each; a pause longer than the filter's time constant starts it anew."""
        stamps = t if self.stamp is None else np.append(self.stamp, t)
        if not np.all(np.diff(stamps) > 0):
            raise LogError("Stamps of a stream increase: the samples of an update come after those before.")
        for start in range(0, len(t), PART):
            yield from self._part(spec, kind, t, channels, slice(start, start + PART))

    def _part(self, spec, kind: str, t, channels, part: slice) -> Pieces:
        chunk, t = spec.chunk(channels, part), t[part]
        before = t[0] if self.stamp is None or t[0] - self.stamp > 1 / self.pole else self.stamp
        begun, steps = before == t[0], np.diff(t, prepend=before)
        share = _share(self.pole * steps[steps > 0])
        groups = {}
        for group, places, static, rate in balance_of(spec, kind)(spec, chunk):
            zero = np.zeros(len(static))
            last = Passed(static[:, 0], rate[:, 0], zero, rate[:, 0]) if begun else self.groups[group]
            still = self._filtered(steps, last.static, last.filtered_static, static)
            moving = self._filtered(steps, last.rate, last.filtered_rate, rate)
            groups[group] = Passed(static[:, -1], rate[:, -1], still[:, -1], moving[:, -1])
            row = still + self.pole * (rate - moving)
            yield group, places, row[:-1], row[-1]
        self.stamp, self.groups, self.share = float(t[-1]), groups, share

    def _filtered(self, steps, before, output, signal):
        """Outputs (k + 1, n) of a signal, from its value and the output at the sample before."""
        x = self.pole * steps
        left, right = _weights(x)
        entered = left * np.column_stack([before, signal[:, :-1]]) + right * signal
        passed = np.cumsum(x)
        decay = np.exp(-np.maximum(passed - passed[:, None], 0.0)) * np.triu(np.ones((len(x), len(x))))
        return output[:, None] * np.exp(-passed) + entered @ decay


def _weights(x):
    """Weights of the samples before and after steps of x time constants."""
    mean = np.where(x > 0, -np.expm1(-x) / np.where(x > 0, x, 1.0), 1.0)
    return mean - np.exp(-x), 1 - mean


def _share(x) -> float:
    """Power of filtered white noise over its own, at the mean step of x time constants; 1 without a step."""
    if not len(x):
        return 1.0
    step = np.mean(x)
    (left, right), kept = _weights(step), np.exp(-step)
    return float((left**2 + right**2 + 2 * kept * left * right) / (1 - kept**2))
