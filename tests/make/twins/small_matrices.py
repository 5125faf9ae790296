"""Newton steps over small symmetric matrices, entry by entry: what the online estimator does without the core.

`row`, `column` (10,) say which entries of a 4 by 4 matrix its triangle lists (`cones.triangle`).
"""

import numpy as np

from steelyard.payload.entropic import CONVERGED, HALVINGS

SWEEPS, DIAGONAL = 20, 1e-32  # of the Jacobi iteration; off-diagonal squares relative to the diagonal that end it


def cholesky(A, L, n):
    """Lower factor of the leading (n, n) block; False when it is not positive definite."""
    for i in range(n):
        for j in range(i + 1):
            total = A[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i == j:
                if not total > 0:
                    return False
                L[i, i] = np.sqrt(total)
            else:
                L[i, j] = total / L[j, j]
    return True


def solve(L, x, n):
    """x <- (L L^T)^-1 x."""
    for i in range(n):
        for k in range(i):
            x[i] -= L[i, k] * x[k]
        x[i] /= L[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= L[k, i] * x[k]
        x[i] /= L[i, i]


def matrix(w, row, column, W):
    """W (4, 4) of its triangle w (10,), whose entries stand at (row, column); off-diagonals carry sqrt(2)."""
    for k in range(10):
        value = w[k] if row[k] == column[k] else w[k] * np.sqrt(0.5)
        W[row[k], column[k]] = value
        W[column[k], row[k]] = value


def invert(L, X):
    """X = (L L^T)^-1, 4 by 4."""
    for j in range(4):
        for i in range(4):
            X[i, j] = 1.0 if i == j else 0.0
        for i in range(4):
            for k in range(i):
                X[i, j] -= L[i, k] * X[k, j]
            X[i, j] /= L[i, i]
        for i in range(3, -1, -1):
            for k in range(i + 1, 4):
                X[i, j] -= L[k, i] * X[k, j]
            X[i, j] /= L[i, i]


def congruence(X, r, c, s, t):
    """Entry of the matrix of `w -> triangle(X W X)`, X symmetric, between the triangle's entries (r, c) and (s, t)."""
    if r == c and s == t:
        return X[r, s] * X[r, s]
    if r == c:
        return np.sqrt(2.0) * X[r, s] * X[r, t]
    if s == t:
        return np.sqrt(2.0) * X[r, s] * X[c, s]
    return X[r, s] * X[c, t] + X[r, t] * X[c, s]


def product(A, turned, B, out):
    """out = A B of 4 by 4 matrices, or A^T B where `turned`."""
    for i in range(4):
        for j in range(4):
            total = 0.0
            for k in range(4):
                total += (A[k, i] if turned else A[i, k]) * B[k, j]
            out[i, j] = total


def eigen(A, values, axes):
    """Eigenvalues (4,) and axes (columns) of a symmetric A (4, 4) by Jacobi rotations; A becomes diagonal."""
    for i in range(4):
        for j in range(4):
            axes[i, j] = 1.0 if i == j else 0.0
    for _ in range(SWEEPS):
        off = A[0, 1] ** 2 + A[0, 2] ** 2 + A[0, 3] ** 2 + A[1, 2] ** 2 + A[1, 3] ** 2 + A[2, 3] ** 2
        if off <= DIAGONAL * (A[0, 0] ** 2 + A[1, 1] ** 2 + A[2, 2] ** 2 + A[3, 3] ** 2):
            break
        for p in range(3):
            for q in range(p + 1, 4):
                if A[p, q] == 0.0:
                    continue
                tau = (A[q, q] - A[p, p]) / (2 * A[p, q])
                t = (1.0 if tau >= 0 else -1.0) / (abs(tau) + np.sqrt(1 + tau * tau))
                c = 1 / np.sqrt(1 + t * t)
                s = t * c
                for k in range(4):
                    x, y = A[k, p], A[k, q]
                    A[k, p], A[k, q] = c * x - s * y, s * x + c * y
                for k in range(4):
                    x, y = A[p, k], A[q, k]
                    A[p, k], A[q, k] = c * x - s * y, s * x + c * y
                for k in range(4):
                    x, y = axes[k, p], axes[k, q]
                    axes[k, p], axes[k, q] = c * x - s * y, s * x + c * y
    for i in range(4):
        values[i] = A[i, i]


def hessian(gram, X, row, column, H):
    """H of `1/2 w^T gram w - pull . w - log det W` where X is the inverse of W."""
    for i in range(10):
        for j in range(i + 1):
            H[i, j] = gram[i, j] + congruence(X, row[i], column[i], row[j], column[j])
            H[j, i] = H[i, j]


def residual_at(gram, pull, w, X, row, column, out):
    """pull - gram w + triangle(X): minus the gradient where X is the inverse of W."""
    for i in range(10):
        total = pull[i] + np.sqrt(1.0 if row[i] == column[i] else 2.0) * X[row[i], column[i]]
        for j in range(10):
            total -= gram[i, j] * w[j]
        out[i] = total


def newton(gram, pull, w, row, column, H, L, steps, margin):
    """Damped Newton steps to the minimum of `1/2 w^T gram w - pull . w - log det W`, eigenvalues of W above a margin.

    w (10,) goes in place; H and its factor L (10, 10) are left at the last point. False where they are not.
    """
    W, X, C = np.empty((4, 4)), np.empty((4, 4)), np.zeros((4, 4))
    step, slope, trial = np.empty(10), np.empty(10), np.empty(10)
    for turn in range(steps + 1):
        matrix(w, row, column, W)
        if not cholesky(W, C, 4):
            return False
        invert(C, X)
        hessian(gram, X, row, column, H)
        if not cholesky(H, L, 10):
            return False
        if turn == steps:
            return True
        residual_at(gram, pull, w, X, row, column, slope)
        step[:] = slope
        solve(L, step, 10)
        decrement, size = 0.0, 0.0
        for i in range(10):
            decrement += step[i] * slope[i]
            for j in range(10):
                size += w[i] * gram[i, j] * w[j]
        if not decrement < np.inf:
            return False
        if decrement < CONVERGED * max(1.0, size):
            return True
        length = 1.0
        for _ in range(HALVINGS):
            for i in range(10):
                trial[i] = w[i] + length * step[i]
            matrix(trial, row, column, W)
            for i in range(4):
                W[i, i] -= margin
            if cholesky(W, C, 4):
                for i in range(10):
                    w[i] = w[i] + (length if length == 1.0 else 0.9 * length) * step[i]
                break
            length *= 0.5
    return True
