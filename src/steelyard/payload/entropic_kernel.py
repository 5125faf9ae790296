"""Numba kernel of many entropic fits: the iteration of `entropic`, problems over cores. Importing imports Numba."""

import numpy as np
from numba import njit, prange

from steelyard.payload.central_path import ACCEPTED, BOUNDARY, CENTERED, POLISH, STEPS
from steelyard.payload.small_matrices import (
    OPTIONS,
    cholesky,
    eigen,
    hessian,
    matrix,
    newton,
    product,
    residual_at,
    solve,
)

SHORTER = 0.8  # from one trial of a step's length to the next
TRIALS = 60


@njit(**OPTIONS)
def _length(point, dW, dS, boundary, room):
    """Longest step that keeps both matrices positive, with room. room: (2, 4, 4)."""
    L, trial = room
    length = 1.0
    for _ in range(TRIALS):
        inside = True
        for step in (dS, dW):
            if inside:
                for i in range(4):
                    for j in range(4):
                        trial[i, j] = length / boundary * step[i, j]
                    trial[i, i] += point[i]
                inside = cholesky(trial, L, 4)
        if inside:
            return length
        length *= SHORTER
    return 0.0


@njit(**OPTIONS)
def _step_to(target, point, scaling, factor, residual, row, column, dW, dS, room):
    """Scaled steps (dW, dS) to the scaled complementarity `target`, as in `central_path.advanced`."""
    half, push, step = room[0], room[1], np.empty(10)
    product(scaling, True, target, half)
    product(half, False, scaling, push)
    for i in range(10):
        step[i] = residual[i] + np.sqrt(1.0 if row[i] == column[i] else 2.0) * push[row[i], column[i]]
    solve(factor, step, 10)
    matrix(step, row, column, push)
    product(scaling, False, push, half)
    for i in range(4):
        for j in range(4):
            total = 0.0
            for k in range(4):
                total += half[i, k] * scaling[j, k]
            dW[i, j] = total
    for i in range(4):
        for j in range(4):
            dS[i, j] = target[i, j] - dW[i, j]
        dS[i, i] -= point[i]


@njit(**OPTIONS)
def _scale(L, axes, point, scaling, back):
    """scaling = diag(sqrt(point)) axes^T L^-1, and its inverse: both sides of a pair become diag(point)."""
    for i in range(4):
        root = np.sqrt(point[i])
        for j in range(3, -1, -1):
            total = axes[j, i] * root
            for k in range(j + 1, 4):
                total -= L[k, j] * scaling[i, k]
            scaling[i, j] = total / L[j, j]
    product(L, False, axes, back)
    for i in range(4):
        for j in range(4):
            back[i, j] /= np.sqrt(point[j])


@njit(**OPTIONS)
def _gap_after(point, dW, dS, length):
    """Mean gap of the scaled pair after a step."""
    after = 0.0
    for i in range(4):
        for j in range(4):
            own = point[i] if i == j else 0.0
            after += 0.25 * (own + length * dW[i, j]) * (own + length * dS[i, j])
    return after


@njit(**OPTIONS)
def _central_point(gram, pull, w, row, column, H, K, work):
    """`entropic._central_point`: w in place, a triangle. Returns the distance from the central path."""
    W, S, L, M, axes = work[0], work[1], work[2], work[3], work[4]
    scaling, back, dW, dS, target = work[5], work[6], work[7], work[8], work[9]
    room = (work[10], work[11])
    values, point, residual = np.empty(4), np.empty(4), np.empty(10)
    M[:, :] = 0.0
    matrix(w, row, column, W)
    residual_at(gram, pull, w, M, row, column, residual)
    S[:, :] = 0.0
    for i in range(4):
        S[i, i] = max(1.0, np.sqrt(np.sum(residual * residual)))
    distance = np.inf
    for _ in range(STEPS):
        if not cholesky(W, L, 4):
            return np.inf
        for i in range(4):
            for j in range(i + 1, 4):
                L[i, j] = 0.0
        product(L, True, S, back)
        product(back, False, L, M)
        eigen(M, values, axes)
        distance, gap = 0.0, 0.0
        for i in range(4):
            distance = max(distance, abs(values[i] - 1.0))
            gap += 0.25 * values[i]
            point[i] = np.sqrt(values[i])
        if not distance < np.inf or distance < CENTERED:
            return distance
        _scale(L, axes, point, scaling, back)
        product(scaling, True, scaling, M)
        hessian(gram, M, row, column, H)
        if not cholesky(H, K, 10):
            return np.inf
        M[:, :] = 0.0
        residual_at(gram, pull, w, M, row, column, residual)
        target[:, :] = 0.0
        for i in range(4):
            target[i, i] = 1.0 / point[i]
        _step_to(target, point, scaling, K, residual, row, column, dW, dS, room)
        length = _length(point, dW, dS, 1.0, room)
        after = _gap_after(point, dW, dS, length)
        shrink = min(1.0, max(0.0, after - 1.0) / (gap - 1.0)) ** 3 if gap > 1.0 else 0.0
        product(dW, False, dS, M)
        for i in range(4):
            for j in range(4):
                target[i, j] = -(M[i, j] + M[j, i]) / (point[i] + point[j])
            target[i, i] += max(1.0, shrink * gap) / point[i]
        _step_to(target, point, scaling, K, residual, row, column, dW, dS, room)
        length = _length(point, dW, dS, BOUNDARY, room)
        product(back, False, dW, M)
        for i in range(4):
            for j in range(4):
                for k in range(4):
                    W[i, j] += length * M[i, k] * back[j, k]
        product(scaling, True, dS, M)
        product(M, False, scaling, target)
        for i in range(4):
            for j in range(4):
                S[i, j] += length * target[i, j]
        for i in range(10):
            w[i] = np.sqrt(1.0 if row[i] == column[i] else 2.0) * W[row[i], column[i]]
    return distance


def solve_all(grams, pulls) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Minimise `1/2 w^T gram w - pull . w - log det W` for each problem.

    grams: (N, 10, 10), pulls: (N, 10). Returns the solutions (N, 10), the inverse Hessians (N, 10, 10) and which
    converged (N,).
    """
    column, row = np.tril_indices(4)
    solutions, spreads = np.empty_like(pulls), np.empty_like(grams)
    return solutions, spreads, _solve(grams, pulls, row, column, solutions, spreads)


@njit(parallel=True, **OPTIONS)
def _solve(grams, pulls, row, column, solutions, spreads):
    n = len(pulls)
    converged = np.zeros(n, dtype=np.bool_)
    for k in prange(n):
        work = np.empty((12, 4, 4))
        H, K, unit = np.empty((10, 10)), np.empty((10, 10)), np.empty(10)
        w = solutions[k]
        for i in range(10):
            w[i] = 1.0 if row[i] == column[i] else 0.0
        distance = _central_point(grams[k], pulls[k], w, row, column, H, K, work)
        if distance < ACCEPTED and newton(grams[k], pulls[k], w, row, column, H, K, POLISH, 0.0):
            converged[k] = True
            for j in range(10):
                for i in range(10):
                    unit[i] = 1.0 if i == j else 0.0
                solve(K, unit, 10)
                for i in range(10):
                    spreads[k, i, j] = unit[i]
    return converged
