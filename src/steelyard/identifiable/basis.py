"""Base parameters: a choice of columns and a regrouping, `pi_b = Regroup theta = pi_1 + K pi_2` (paper C, section 2).

The choice takes the first independent column going down a body and then on to the next body, as the paper's tables do
(there the moments of inertia stand before the products).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.cards import Card
from steelyard.identifiable.thresholds import THRESHOLDS


@dataclass(frozen=True, eq=False, repr=False)
class Basis(Card):
    """Identifiable combinations of p parameters.

    columns: (r,) the base columns, ascending. regrouping: (r, p), identity on the base columns: `Y theta = Y[:,
    columns] @ regrouping @ theta`. null_space: (p, p - r), changes of theta that no motion reveals.
    """

    columns: np.ndarray
    regrouping: np.ndarray
    null_space: np.ndarray

    @property
    def count(self) -> int:
        return len(self.columns)

    def regroup(self, theta):
        """Base parameters (..., r) of full parameters (..., p)."""
        return np.asarray(theta) @ self.regrouping.T

    def lift(self, base, prior=None):
        """Full parameters (p,) with these base parameters (r,), nearest to a prior (p,) or to zero."""
        prior = np.zeros(self.regrouping.shape[1]) if prior is None else np.asarray(prior, dtype=float)
        return prior + self._pseudo_inverse @ (np.asarray(base) - self.regroup(prior))

    @cached_property
    def _pseudo_inverse(self):
        return np.linalg.pinv(self.regrouping)


def from_null_space(null_space, scale=None, order=None) -> Basis:
    """Basis of base parameters for a null space.

    Args:
        null_space: (p, d), given by any of its bases.
        scale: (p,) typical size of each column, 1 by default.
        order: (p,) place of each column in the order of preference, their own order by default.

    Returns:
        The Basis.
    """
    N = np.asarray(null_space, dtype=float)
    p, d = N.shape
    scale = np.ones(p) if scale is None else np.asarray(scale, dtype=float)
    dependent = np.sort(expressible(scale[:, None] * N, np.arange(p) if order is None else np.asarray(order)))
    base = np.delete(np.arange(p), dependent)
    expressed = np.zeros((len(base), d))
    if d:
        scaled = scale[:, None] * N
        expressed = -np.linalg.solve(scaled[dependent].T, scaled[base].T).T / scale[base, None] * scale[dependent]
    return from_dependence(dependent, expressed)


def from_dependence(dependent, expressed) -> Basis:
    """Basis in which each dependent column (d,) is `expressed` (p - d, d) by the others: `y_dep = y_base @ it`."""
    base = np.delete(np.arange(len(expressed) + len(dependent)), dependent)
    p = len(base) + len(dependent)
    regrouping, null_space = np.zeros((len(base), p)), np.zeros((p, len(dependent)))
    regrouping[np.arange(len(base)), base] = 1.0
    regrouping[:, dependent] = expressed
    null_space[dependent, np.arange(len(dependent))] = 1.0
    null_space[base] = -expressed
    return Basis(base, regrouping, null_space)


def rescaled(basis: Basis, scale) -> Basis:
    """The same basis for parameters that are `scale` (p,) times as large."""
    dependent = np.delete(np.arange(len(scale)), basis.columns)
    ratio = scale[basis.columns, None] / scale[dependent]
    return from_dependence(dependent, basis.regrouping[:, dependent] * ratio)


def expressible(null_space, order, share: float | None = None) -> np.ndarray:
    """(d,) columns to be expressed by the others, of a null space (p, d): the last in an order of preference (p,).

    A column depends on the ones before it exactly if some null vector ends there: orthogonal transformations of the
    null vectors, taken from the last column backwards, keep that decision well conditioned. share: of a unit vector
    among those left that a column carries; below, it waits for the others.
    """
    share = THRESHOLDS.dependent_share if share is None else share
    rows = np.linalg.qr(null_space)[0].T
    backwards, found = np.argsort(-order), []
    while len(rows):
        for column in backwards:
            ends = rows[:, column]
            length = np.linalg.norm(ends)
            if length > share:
                found.append(column)
                rows = _without(rows, ends / length)
                rows[:, column] = 0.0
        share /= 10
    return np.array(found, dtype=int)


def _without(rows, direction):
    """Orthonormal rows spanning what is left of the row space without one combination, by a Householder reflection."""
    reflector = direction.copy()
    reflector[0] += 1.0 if direction[0] >= 0 else -1.0
    reflected = rows - np.outer(reflector, (2.0 / (reflector @ reflector)) * (reflector @ rows))
    return reflected[1:]
