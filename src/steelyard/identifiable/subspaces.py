"""Subspaces: extend, close under generators, null space; each rank decision is kept on record.

A new direction counts when more than `THRESHOLDS.rank` of a unit vector sticks out of the span so far. Geometry is
exact to rounding here (see `axis_rounding`), so that is far below anything real, products of small angles included.
"""

from dataclasses import dataclass

import numpy as np

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
