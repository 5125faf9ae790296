"""Torques known up to a factor a joint: which factors any motion ties to others, and what then stays open.

The drive of joint j makes a torque `g_j e_j` of a known signal e_j and a gain g_j that is not known, so `Y_j phi = g_j
e_j`. Beside true parameters phi, others `phi + x` with gains `g_j (1 + s_j)` meet all of it exactly if `Y_j x = s_j Y_j
phi` in every state: linear and homogeneous in (x, s). Each random state adds to the rank of these rows until it is
complete, almost surely, because they are analytic in the state. So states that a solution was not made from, and that
it meets, certify it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from steelyard.identifiable.thresholds import THRESHOLDS

CHECKS = 4  # states that only check
MET = 1e-6  # relative size of what a solution may leave of them


@dataclass(frozen=True, eq=False)
class Freedom:
    """Changes that no motion shows, one a column: shares (n, f) of gains, orthonormal, and parameters (k, f) with them;
    without those of parameters alone."""

    shares: np.ndarray
    parameters: np.ndarray

    def where(self, *conditions) -> "Freedom":
        """What is left where conditions (c, f) on its columns are zero; their rows are of size one, or are none."""
        left = null_columns(np.concatenate([np.zeros((0, self.shares.shape[1])), *conditions]))
        return Freedom(self.shares @ left, self.parameters @ left)

    @property
    def moves(self) -> np.ndarray:
        """(n,) whether each gain is among what may change."""
        return np.linalg.norm(self.shares, axis=1) > MET


def freedom(sampled: Callable[[int], np.ndarray], columns, truth, owners, count: int) -> Freedom:
    """Shares of gains that parameters can make up for.

    Args:
        sampled: makes rows (s, rows, p) of as many random states as asked for, in units in which parameters are about
            one.
        columns: (k,) of the parameters that may change.
        truth: (p,) parameters that make the torques.
        owners: (rows,) number of the gain of each row, 0 to n - 1.
        count: states to begin with.

    Returns:
        The Freedom.
    """
    owners, k = np.asarray(owners), len(columns)
    while True:
        Y = sampled(count + CHECKS)
        gains = np.zeros((*Y.shape[:2], owners.max() + 1))
        gains[:, np.arange(len(owners)), owners] = -(Y @ truth)
        system = np.concatenate([Y[:, :, columns], gains], axis=2)
        size = np.linalg.norm(system, axis=(0, 1))
        size = np.where(size > THRESHOLDS.numeric_rank * size.max(initial=0.0), size, np.inf)
        system /= size
        found = _solutions(system[:-CHECKS].reshape(-1, len(size)), k)
        met = np.abs(system[-CHECKS:] @ found).max(initial=0.0) < MET
        if met or count > len(size):  # as many states as unknowns are enough
            found[:k] /= size[:k, None]
            shares, change = np.linalg.qr(found[k:] / np.where(np.isinf(size[k:]), 1.0, size[k:])[:, None])
            return Freedom(shares, found[:k] @ np.linalg.inv(change))
        count *= 2


def _solutions(system, k: int) -> np.ndarray:
    """(k + n, f) null vectors of a system with n gains in its last columns, none of the first k columns alone."""
    triangle = np.asarray(np.linalg.qr(system, mode="r"))
    U, singular, Vt = np.linalg.svd(triangle[:, :k], full_matrices=False)
    kept = singular > THRESHOLDS.numeric_rank * singular.max(initial=0.0)
    U, inverse = U[:, kept], Vt[kept].T / singular[kept]
    shown = U.T @ triangle[:, k:]
    shares = null_columns(triangle[:, k:] - U @ shown, unit=False)
    return np.concatenate([-inverse @ (shown @ shares), shares])


def null_columns(rows, *, unit: bool = True) -> np.ndarray:
    """(n, d) orthonormal null space of rows (m, n) of size one at most; unit: of their directions, for rows that are no
    rounding."""
    size = np.linalg.norm(rows, axis=1, keepdims=True)
    if unit:
        rows = rows[size[:, 0] > THRESHOLDS.numeric_rank] / size[size[:, 0] > THRESHOLDS.numeric_rank]
    if not len(rows):
        return np.eye(rows.shape[1])
    _, singular, Vt = np.linalg.svd(rows)
    return Vt[int(np.count_nonzero(singular > THRESHOLDS.numeric_rank)) :].T
