"""Gram matrices of row groups, each in the columns that the group has, and triangular factors of the same sums.

The torque of a joint depends on the bodies behind it and on its own friction: of the (g, k, k) numbers of all groups a
quarter is not zero by construction for an arm, 4 % for a humanoid and 2 % for an animal of a hundred joints.

The Gram matrix squares the condition number of a regression; its triangular factor `F`, `F^T F = [Y | tau]^T [Y |
tau]`, does not. Factors add, too: the factor of two logs is that of the two factors stacked (TSQR; Golub and Van Loan
2013, 5.2; Demmel et al. 2012).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from steelyard.cards import Card

BLOCK = 256  # rows kept for the next triangularisation, at least


@dataclass(frozen=True, eq=False)
class Pattern:
    """Which of k columns each of g row groups has. places: (k_i,) of each group."""

    size: int
    places: tuple[np.ndarray, ...]

    @cached_property
    def edges(self) -> np.ndarray:
        """(g + 1,) where the block of each group starts among the numbers of all blocks, and where the last ends."""
        return np.cumsum([0, *(len(each) ** 2 for each in self.places)])

    @cached_property
    def counts(self) -> np.ndarray:
        """(g,) numbers of each block."""
        return np.diff(self.edges)

    @cached_property
    def entries(self) -> np.ndarray:
        """(m,) where the numbers of all blocks lie in a flattened (k, k) matrix."""
        return np.concatenate([np.zeros(0, dtype=int), *((p[:, None] * self.size + p).ravel() for p in self.places)])

    def is_that_of(self, other: "Pattern") -> bool:
        return self is other or (
            self.size == other.size
            and len(self.places) == len(other.places)
            and all(a is b or np.array_equal(a, b) for a, b in zip(self.places, other.places, strict=True))
        )


@dataclass(frozen=True, eq=False, repr=False)
class Squares(Card):
    """Matrices (g, k, k) that are zero outside of a pattern. flat: (m,) numbers of all blocks, one after the other."""

    pattern: Pattern
    flat: np.ndarray

    @classmethod
    def joined(cls, size: int, places: Iterable[np.ndarray], blocks: Iterable[np.ndarray]) -> "Squares":
        """From the places (k_i,) and block (k_i, k_i) of each group, of `size` columns in all."""
        return cls(Pattern(size, tuple(places)), np.concatenate([np.zeros(0), *(np.ravel(block) for block in blocks)]))

    @classmethod
    def of(cls, dense) -> "Squares":
        """Those of matrices (g, k, k): a column that is all zero, row and column, is none of its group."""
        dense = np.asarray(dense, dtype=float)
        used = (dense != 0).any(axis=1) | (dense != 0).any(axis=2)
        places = [np.flatnonzero(each) for each in used]
        return cls.joined(dense.shape[-1], places, [G[np.ix_(p, p)] for G, p in zip(dense, places, strict=True)])

    @classmethod
    def stacked(cls, parts: Sequence["Squares"]) -> "Squares":
        """The groups of several, one after the other."""
        if len(parts) == 1:
            return parts[0]
        places = tuple(each for part in parts for each in part.pattern.places)
        return cls(Pattern(parts[0].pattern.size, places), np.concatenate([part.flat for part in parts]))

    def __len__(self) -> int:
        return len(self.pattern.places)

    @property
    def blocks(self) -> list[np.ndarray]:
        """(k_i, k_i) of each group, views."""
        return [
            self.flat[i:j].reshape(len(places), len(places))
            for places, (i, j) in zip(self.pattern.places, pairwise(self.pattern.edges), strict=True)
        ]

    def __getitem__(self, group: int) -> np.ndarray:
        """(k, k) of one group."""
        i, j, size = *self.pattern.edges[group : group + 2], self.pattern.size
        whole = np.zeros(size * size)
        whole[self.pattern.entries[i:j]] = self.flat[i:j]
        return whole.reshape(size, size)

    @property
    def dense(self) -> np.ndarray:
        """(g, k, k) of all groups, zeros included."""
        size = self.pattern.size
        return np.stack([self[group] for group in range(len(self))]) if len(self) else np.zeros((0, size, size))

    def weighted(self, weights) -> np.ndarray:
        """(k, k) sum over groups with weights (g,)."""
        size = self.pattern.size
        numbers = self.flat * np.repeat(np.asarray(weights, dtype=float), self.pattern.counts)
        return np.bincount(self.pattern.entries, weights=numbers, minlength=size * size).reshape(size, size)

    def __matmul__(self, x) -> np.ndarray:
        """(g, k) product of each matrix with one vector (k,)."""
        found = np.zeros((len(self), self.pattern.size))
        for row, places, block in zip(found, self.pattern.places, self.blocks, strict=True):
            row[places] = block @ x[places]
        return found

    def forms(self, x) -> np.ndarray:
        """(g,) quadratic forms `x^T G x` of one vector (k,)."""
        return np.array(
            [x[places] @ block @ x[places] for places, block in zip(self.pattern.places, self.blocks, strict=True)]
        )

    def traces(self, square) -> np.ndarray:
        """(g,) traces of `G square` with one symmetric matrix (k, k): the sum of forms of vectors x for `sum x x^T`."""
        numbers = self.flat * np.ravel(square)[self.pattern.entries]
        return np.array([numbers[i:j].sum() for i, j in pairwise(self.pattern.edges)])

    def __mul__(self, factor: float) -> "Squares":
        return replace(self, flat=factor * self.flat)

    def __add__(self, other: "Squares") -> "Squares":
        if self.pattern.is_that_of(other.pattern):
            return replace(self, flat=self.flat + other.flat)
        pairs = zip(self.pattern.places, other.pattern.places, strict=True)
        whole = Pattern(self.pattern.size, tuple(np.union1d(*pair) for pair in pairs))
        return replace(self, pattern=whole, flat=self._within(whole) + other._within(whole))

    def _within(self, whole: Pattern) -> np.ndarray:
        """(m,) the same numbers in a larger pattern."""
        flat = np.zeros(whole.edges[-1])
        for i, j, places, own, block in zip(
            whole.edges[:-1], whole.edges[1:], whole.places, self.pattern.places, self.blocks, strict=True
        ):
            at = np.searchsorted(places, own)
            flat[i:j].reshape(len(places), len(places))[np.ix_(at, at)] = block
        return flat

    def selected(self, columns) -> "Squares":
        """Those of some columns (r,), in their order."""
        place = np.full(self.pattern.size, -1)
        place[columns] = np.arange(len(columns))
        places, blocks = [], []
        for own, block in zip(self.pattern.places, self.blocks, strict=True):
            moved = place[own]
            order = np.argsort(moved)[np.count_nonzero(moved < 0) :]
            places.append(moved[order])
            blocks.append(block[np.ix_(order, order)])
        return Squares.joined(len(columns), places, blocks)

    def mixed(self, mixing) -> "Squares":
        """Those of the columns `old columns @ mixing`. mixing: (k, k')."""
        places, blocks = [], []
        for own, block in zip(self.pattern.places, self.blocks, strict=True):
            among = mixing[own]
            new = np.flatnonzero(among.any(axis=0))
            places.append(new)
            blocks.append(among[:, new].T @ block @ among[:, new])
        return Squares.joined(mixing.shape[1], places, blocks)


def factors_of_rows(stacked) -> np.ndarray:
    """Factors (g, k, k) of rows (n, g, k), the torque among the columns."""
    return _square(np.linalg.qr(np.swapaxes(stacked, 0, 1), mode="r"))


def merged_factors(one, other) -> np.ndarray:
    """Factors (..., k, k) of the data of both."""
    return _square(np.linalg.qr(np.concatenate([one, other], axis=-2), mode="r"))


def selected_factors(factors, columns) -> np.ndarray:
    """Factors of some columns and the torque. factors: (g, k + 1, k + 1); columns: (r,)."""
    return _square(np.linalg.qr(factors[:, :, [*columns, -1]], mode="r"))


def sums_of_factors(factors):
    """gram (g, k, k), moment (g, k), energy (g,) of factors (g, k + 1, k + 1)."""
    R, z = factors[..., :-1], factors[..., -1]
    turned = np.swapaxes(R, -1, -2)
    return turned @ R, (turned @ z[..., None])[..., 0], np.sum(z * z, axis=-1)


def _square(R) -> np.ndarray:
    """R with rows of zeros below, where there were fewer rows than columns."""
    missing = R.shape[-1] - R.shape[-2]
    return np.concatenate([R, np.zeros((*R.shape[:-2], missing, R.shape[-1]))], axis=-2) if missing else R


def scaled(y, target, weights):
    """Rows (k, n) and target (n,) whose squares are weighed."""
    return (y, target) if weights is None else (y * np.sqrt(weights), target * np.sqrt(weights))


def counted(target, weights, count) -> float:
    """How many rows a number of them counts for."""
    if count is not None:
        return count
    return len(target) if weights is None else weights.sum()


class Grams:
    """Gram matrices of g row groups in k columns, of the columns that each group has."""

    def __init__(self, g: int, k: int):
        self.places, self.blocks = [np.zeros(0, dtype=int)] * g, [np.zeros((0, 0))] * g
        self.moment, self.energy, self.counts = np.zeros((g, k)), np.zeros(g), np.zeros(g)

    def add(self, group: int, places, y, target, weights=None, count=None):
        """Add rows y (k_i, n). count: how many they count for, by default n or the sum of their weights."""
        self.counts[group] += counted(target, weights, count)
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

    def add(self, group: int, places, y, target, weights=None, count=None):
        self.places[group], waiting = places, self.waiting[group]
        self.counts[group] += counted(target, weights, count)
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
