"""Torques as curves over time, so that a delay can be undone."""

from collections.abc import Sequence

import numpy as np

from steelyard.log import Log, segments

SHORTEST = 4  # samples between two gaps; fewer make no curve and stay as they are


class Curves:
    """Torques of logs between their samples, read at every `step`-th stamp or some time after it."""

    def __init__(self, logs: Sequence[Log], step: int):
        from scipy.interpolate import CubicSpline

        self._pieces = []
        for log in logs:
            (tau,) = log.require("tau")
            chosen = np.arange(0, len(log), step)
            for part in segments(log.t):
                stamps = log.t[chosen[(chosen >= part.start) & (chosen < part.stop)]]
                knots, values = log.t[part], tau[part]
                if len(knots) < SHORTEST:
                    knots, values = knots[0] + np.array([0.0, 1.0]), np.tile(values.mean(axis=0), (2, 1))
                self._pieces.append((CubicSpline(knots, values), stamps, knots[-1]))

    def at(self, delay, *, columns=None, derivative: int = 0) -> np.ndarray:
        """Torques `delay` (nv,) s after the stamps, or their derivative: (n, nv). Held at the ends of a stretch.

        columns: (nv,) of the logs, in order by default.
        """
        delay = np.asarray(delay, dtype=float)
        columns = np.arange(len(delay)) if columns is None else columns
        result = [np.empty((len(stamps), len(delay))) for _, stamps, _ in self._pieces]
        for values, (curve, stamps, end) in zip(result, self._pieces, strict=True):
            for late in np.unique(delay):
                where = delay == late
                values[:, where] = curve(np.clip(stamps + late, curve.x[0], end), derivative)[:, columns[where]]
        return np.concatenate(result)
