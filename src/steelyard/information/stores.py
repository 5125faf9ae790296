"""What is kept of rows, a group at a time: Gram matrices, or triangular factors."""

import numpy as np

from steelyard.information.factors import factors_of_rows, sums_of_factors
from steelyard.information.squares import Squares

BLOCK = 256  # rows kept for the next triangularisation, at least


def scaled(y, target, weights):
    """Rows (k, n) and target (n,) whose squares are weighed."""
    return (y, target) if weights is None else (y * np.sqrt(weights), target * np.sqrt(weights))


class Grams:
    """Gram matrices of g row groups in k columns, of the columns that each group has."""

    def __init__(self, g: int, k: int):
        self.places, self.blocks = [np.zeros(0, dtype=int)] * g, [np.zeros((0, 0))] * g
        self.moment, self.energy, self.counts = np.zeros((g, k)), np.zeros(g), np.zeros(g)

    def add(self, group: int, places, y, target, weights=None):
        self.counts[group] += len(target) if weights is None else weights.sum()
        y, target = scaled(y, target, weights)
        self.add_sums(group, places, y @ y.T, y @ target, target @ target)

    def add_sums(self, group: int, places, gram, moment, energy):
        """Add sums over samples: (k_i, k_i), (k_i,) and a number, of the group's places (k_i,), always the same."""
        if len(places) != len(self.places[group]):
            self.places[group], self.blocks[group] = places, np.zeros(gram.shape)
        self.blocks[group] += gram
        self.moment[group][places] += moment
        self.energy[group] += energy

    def squares(self) -> Squares:
        return Squares.joined(self.moment.shape[1], self.places, self.blocks)

    def total(self):
        """Squares, moment (g, k), energy (g,), factors, counts (g,)."""
        return self.squares(), self.moment, self.energy, None, self.counts


class Triangles:
    """Triangular factors of g row groups in k columns, of the columns that each group has."""

    def __init__(self, g: int, k: int):
        self.size, self.counts = k, np.zeros(g)
        self.places, self.waiting = [np.zeros(0, dtype=int)] * g, [[] for _ in range(g)]

    def add(self, group: int, places, y, target, weights=None):
        self.places[group], waiting = places, self.waiting[group]
        self.counts[group] += len(target) if weights is None else weights.sum()
        y, target = scaled(y, target, weights)
        waiting.append(np.concatenate([y, target[None]]).T)
        if sum(len(rows) for rows in waiting) >= BLOCK + 2 * len(places):
            self._triangularise(group)

    def _triangularise(self, group: int):
        self.waiting[group] = [np.linalg.qr(np.concatenate(self.waiting[group]), mode="r")]

    def total(self):
        """Squares, moment (g, k), energy (g,), factors (g, k + 1, k + 1), counts (g,)."""
        stacked = np.zeros((len(self.places), self.size + 1, self.size + 1))
        for group, places in enumerate(self.places):
            if self.waiting[group]:
                self._triangularise(group)
                triangle = self.waiting[group][0]
                stacked[group][: len(triangle), [*places, -1]] = triangle
        triangles = factors_of_rows(np.swapaxes(stacked, 0, 1))
        gram, moment, energy = sums_of_factors(triangles)
        return Squares.of(gram), moment, energy, triangles, self.counts
