"""QR decompositions, in which no condition number is squared: least squares and triangular solves.

LAPACK is called without SciPy's checks: for ten unknowns, these take ten times as long as the solve.
"""

from typing import Any

import numpy as np

UNREACHABLE = 1e-14  # of the largest singular value: directions in which no step moves a slack


class Factors:
    """QR decomposition of A (m, k), m >= k: least squares and triangular solves.

    pivoted: columns by size, rows, too: errors are then small beside every row, not only beside the largest (Cox and
    Higham 1998).
    """

    def __init__(self, A, pivoted: bool):
        from scipy.linalg import lapack

        self.lapack: Any = lapack  # its functions are made as SciPy is loaded
        k = A.shape[1]
        self.columns = self.order = self.size = None
        if pivoted:
            self.size = 1.0 / np.maximum(np.linalg.norm(A, axis=0), 1e-300)
            A = A * self.size
            self.order = np.argsort(-np.abs(A).max(axis=1), kind="stable")
            self.QR, columns, self.tau, *_ = self.lapack.dgeqp3(A[self.order])
            self.columns = columns - 1
        else:
            self.QR, self.tau, *_ = self.lapack.dgeqrf(A)
        self.R = np.asfortranarray(self.QR[:k])
        if not (np.isfinite(self.R).all() and np.diag(self.R).all()):
            raise np.linalg.LinAlgError

    def solve(self, b) -> np.ndarray:
        """(k,) minimiser of `||A x - b||`."""
        b = b if self.order is None else b[self.order]
        turned = self.lapack.dormqr("L", "T", self.QR, self.tau, b[:, None], 64)[0][: len(self.R), 0]
        return self._placed(self.lapack.dtrtrs(self.R, turned)[0])

    def solve_normal(self, b) -> np.ndarray:
        """(k,) x of `A^T A x = b`."""
        b = b if self.columns is None else (b * self.size)[self.columns]
        return self._placed(self.lapack.dtrtrs(self.R, self.lapack.dtrtrs(self.R, b, trans=1)[0])[0])

    def _placed(self, x) -> np.ndarray:
        """Unknowns (k,) of the columns in order of size, in their own order and units."""
        if self.columns is None or self.size is None:
            return x
        placed = np.empty(len(x))
        placed[self.columns] = x
        return placed * self.size


def triangular_solve(R, b, *, transposed: bool = False) -> np.ndarray:
    """`R^-1 b` of an upper triangle R, or `R^-T b`."""
    from scipy.linalg import solve_triangular

    return solve_triangular(R, b, trans=int(transposed), check_finite=False)


def least_squares(A, b) -> np.ndarray:
    """(k,) minimiser of `||A x - b||`, of least norm where directions of x change nothing."""
    from scipy.linalg import lstsq

    return np.asarray(lstsq(A, b, cond=UNREACHABLE, lapack_driver="gelsy", check_finite=False)[0])  # pyright: ignore


def span(columns, least: float = 1e-10) -> np.ndarray:
    """(n, m) orthonormal axes of columns (n, k) at unit length, none for singular values below this share of the
    largest."""
    size = np.linalg.norm(columns, axis=0)
    U, singular, _ = np.linalg.svd(columns[:, size > 0] / size[size > 0], full_matrices=False)
    return U[:, singular > least * singular.max(initial=0.0)]
