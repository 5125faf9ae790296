"""Torques of logs between their samples: cubic splines, and their derivatives."""

from collections.abc import Sequence

import numpy as np

from steelyard.log import Log
from steelyard.log.stamps import segments

SHORTEST = 4  # samples between two gaps; fewer make no curve and stay as they are


class Curves:
    """Torques of logs between their samples, read at every `step`-th stamp or some time after it."""

    def __init__(self, logs: Sequence[Log], step: int):
        self._pieces, self._known, self._mixed = [], {}, None
        for log in logs:
            (tau,) = log.require("tau")
            chosen = np.arange(0, len(log), step)
            for part in segments(log.t):
                stamps = log.t[chosen[(chosen >= part.start) & (chosen < part.stop)]]
                knots, values = log.t[part], tau[part]
                if len(knots) < SHORTEST:
                    knots, values = knots[0] + np.array([0.0, 1.0]), np.tile(values.mean(axis=0), (2, 1))
                self._pieces.append((knots, _cubics(knots, values), stamps))

    def at(self, delay, *, derivative: int = 0) -> np.ndarray:
        """Torques `delay` (nv,) s after the stamps, or their derivative: (n, nv). Held at the ends of a stretch."""
        asked = derivative, tuple(delay)
        if asked not in self._known:  # most hypotheses ask for the same
            self._known[asked] = self._read(np.asarray(delay, dtype=float), derivative)
        return self._known[asked]

    def mixed(self, matrix: np.ndarray) -> "Curves":
        """Curves of other torques, (m, nv) of these."""
        known = {asked: torque @ matrix.T for asked, torque in self._known.items() if len({*asked[1]}) == 1}
        return self._with(self._pieces, known, matrix if self._mixed is None else matrix @ self._mixed)

    def every(self, step: int) -> "Curves":
        """The same at every `step`-th stamp."""
        starts = np.cumsum([0, *(len(stamps) for *_, stamps in self._pieces)])
        pieces = [
            (*each, stamps[-start % step :: step])
            for (*each, stamps), start in zip(self._pieces, starts[:-1], strict=True)
        ]
        known = {asked: torque[::step] for asked, torque in self._known.items()}
        return self._with(pieces, known, self._mixed)

    @classmethod
    def _with(cls, pieces: list, known: dict, mixed: np.ndarray | None) -> "Curves":
        found = cls((), 1)
        found._pieces, found._known, found._mixed = pieces, known, mixed
        return found

    def _read(self, delay, derivative: int) -> np.ndarray:
        result = [np.empty((len(stamps), len(delay))) for *_, stamps in self._pieces]
        for values, (knots, cubics, stamps) in zip(result, self._pieces, strict=True):
            for late in np.unique(delay):
                where = delay == late
                t = np.clip(stamps + late, knots[0], knots[-1])
                if self._mixed is None:
                    values[:, where] = _read(knots, cubics[..., where], t, derivative)
                else:
                    values[:, where] = _read(knots, cubics, t, derivative) @ self._mixed[where].T
        return np.concatenate(result)


def _cubics(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(4, n - 1, k) coefficients, the constant first, of the cubic spline through values y (n, k) at x (n,), in the
    distance from the last knot. It has no corner in the third derivative next to its ends ("not a knot"); two values
    are joined by a line.

    The interpolating splines of SciPy are the same and load half of it.
    """
    from scipy.linalg import solve_banded

    step = np.diff(x)[:, None]
    slope = np.diff(y, axis=0) / step
    if len(x) == 2:
        rate = np.repeat(slope, 2, axis=0)
    else:
        bands, right = np.zeros((3, len(x))), np.empty_like(y)
        h = step[:, 0]
        bands[1, 1:-1], bands[0, 2:], bands[2, :-2] = 2 * (h[:-1] + h[1:]), h[:-1], h[1:]
        right[1:-1] = 3 * (step[1:] * slope[:-1] + step[:-1] * slope[1:])
        for end, (near, next_, d) in enumerate(((0, 1, x[2] - x[0]), (-1, -2, x[-1] - x[-3]))):
            bands[1, near], bands[2 * end, next_] = h[next_], d
            right[near] = ((h[near] + 2 * d) * h[next_] * slope[near] + h[near] ** 2 * slope[next_]) / d
        rate = solve_banded((1, 1), bands, right)
    bend = (rate[:-1] + rate[1:] - 2 * slope) / step
    return np.stack([y[:-1], rate[:-1], (slope - rate[:-1]) / step - bend, bend / step])


def _read(x: np.ndarray, cubics: np.ndarray, t: np.ndarray, derivative: int) -> np.ndarray:
    """(m, k) of a spline or its derivative at t (m,)."""
    piece = np.clip(np.searchsorted(x, t, side="right") - 1, 0, len(x) - 2)
    past, powers = (t - x[piece])[:, None], np.polynomial.polynomial.polyder(cubics, derivative)
    return np.add.reduce([power[piece] * past**k for k, power in enumerate(powers)])
