"""Subspaces of parameters, with each rank decision on record, and the choice of base parameters.

A new direction counts when more than `THRESHOLDS.rank` of a unit vector sticks out of the span so far. Geometry is
exact to rounding here (see `placement`), so that is far below anything real, products of small angles included.

Base parameters are a choice of columns and a regrouping, `pi_b = Regroup theta = pi_1 + K pi_2` (paper C, section 2).
It takes the first independent column going down a body and then on to the next body, as the paper's tables do (there
the moments of inertia stand before the products).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.cards import Card
from steelyard.identifiable.thresholds import THRESHOLDS


@dataclass
class RankDecisions:
    """The closest rank decisions of an analysis: smallest size taken as real, largest taken as zero."""

    kept: float = np.inf
    dropped: float = 0.0

    def rank(self, singular, tolerance: float = THRESHOLDS.rank) -> int:
        """How many of the descending sizes count."""
        count = int(np.count_nonzero(singular > tolerance))
        if count:
            self.kept = min(self.kept, float(singular[count - 1]))
        if count < len(singular):
            self.dropped = max(self.dropped, float(singular[count]))
        return count


def extend(Q, new, decisions: RankDecisions, tolerance: float = THRESHOLDS.rank):
    """Orthonormal columns of what `new` (n, k) adds to the span of orthonormal Q (n, r)."""
    if Q.shape[1] == Q.shape[0] or not new.shape[1]:
        return new[:, :0]
    new = new - Q @ (Q.T @ new)
    U, singular, _ = np.linalg.svd(new, full_matrices=False)
    U = U[:, : decisions.rank(singular, tolerance)]
    if Q.shape[1] and U.shape[1]:  # once more: a weak new direction is only roughly orthogonal
        U = np.linalg.qr(U - Q @ (Q.T @ U))[0]
    return U


def span_union(Q, new, decisions: RankDecisions, tolerance: float = THRESHOLDS.rank):
    """Orthonormal basis of the span of Q and `new`."""
    return np.concatenate([Q, extend(Q, new, decisions, tolerance)], axis=1)


def closure(Q, generators, decisions: RankDecisions):
    """Smallest span that holds Q (n, r) and that every generator (n, n) maps into itself.

    It is the controllable subspace of a linear system, of a switched one for several generators (paper C, section 7.2).
    """
    frontier = Q
    while len(generators) and frontier.shape[1] and Q.shape[1] < Q.shape[0]:
        frontier = extend(Q, np.concatenate([G @ frontier for G in generators], axis=1), decisions)
        Q = np.concatenate([Q, frontier], axis=1)
    return Q


def null_space_of(rows, decisions: RankDecisions):
    """Orthonormal basis (n, d) of what `rows` (m, n) do not see. Rows are products of unit vectors, so of size one."""
    if not rows.shape[0]:
        return np.eye(rows.shape[1])
    _, singular, Vt = np.linalg.svd(rows)
    return Vt[decisions.rank(singular) :].T


@dataclass(frozen=True, eq=False, repr=False)
class Basis(Card):
    """Identifiable combinations of p parameters."""

    columns: np.ndarray  # (r,) the base columns, ascending
    regrouping: np.ndarray  # (r, p), identity on the base columns: `Y theta = Y[:, columns] @ regrouping @ theta`
    null_space: np.ndarray  # (p, p - r), changes of theta that no motion reveals

    @property
    def count(self) -> int:
        return len(self.columns)

    def regroup(self, theta):
        """Base parameters (..., r) of full parameters (..., p)."""
        theta, (dependent, expressed) = np.asarray(theta), self._dependence
        return theta[..., self.columns] + theta[..., dependent] @ expressed.T

    @cached_property
    def _dependence(self) -> tuple[np.ndarray, np.ndarray]:
        """(d,) the other columns, and (r, d) how they regroup."""
        dependent = np.delete(np.arange(self.regrouping.shape[1]), self.columns)
        return dependent, self.regrouping[:, dependent]

    def lift(self, base, prior=None):
        """Full parameters (p,) with these base parameters (r,), nearest to a prior (p,) or to zero; columns know no
        bodies, so these need not be such that can exist (`Analysis.lift`)."""
        prior = np.zeros(self.regrouping.shape[1]) if prior is None else np.asarray(prior, dtype=float)
        return prior + self._pseudo_inverse @ (np.asarray(base) - self.regroup(prior))

    @cached_property
    def _pseudo_inverse(self):
        return np.linalg.pinv(self.regrouping)


def from_null_space(null_space, scale=None, order=None) -> Basis:
    """Basis of base parameters for a null space (p, d), given by any of its bases. scale: (p,) typical size of each
    column, 1 by default; order: (p,) place of each column in the order of preference, their own by default."""
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
