"""Least squares whose unknowns may not be negative, all or some: the active-set method of Lawson and Hanson (1974).

SciPy has it in `scipy.optimize`, whose import takes longer than all problems of a job together.
"""

import numpy as np

ROUNDS = 10  # changes of the active set, for each unknown
TOLERANCE = 1e-12  # of the largest slope at unit columns: a smaller one is rounding


def nonnegative_least_squares(A, b, free=None) -> tuple[np.ndarray, float]:
    """Minimise `||A x - b||` with x >= 0.

    Args:
        A: (m, k), of any rank.
        b: (m,).
        free: (k,) unknowns that may be negative all the same; none by default.

    Returns:
        x (k,) and the sum of squared residuals.

    Source:
        Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23.
    """
    size = np.linalg.norm(A, axis=0)
    usable = size > 0
    scale = np.where(usable, size, 1.0)
    A = A / scale
    free = np.zeros(A.shape[1], dtype=bool) if free is None else np.asarray(free, dtype=bool) & usable
    x, passive = np.zeros(A.shape[1]), free.copy()
    if free.any():
        x[free] = np.linalg.lstsq(A[:, free], b)[0]
    least = TOLERANCE * max(float(np.linalg.norm(b)), 1e-300)
    for _ in range(ROUNDS * A.shape[1]):
        slope = np.where(passive | ~usable, -np.inf, A.T @ (b - A @ x))
        best = int(np.argmax(slope)) if len(slope) else 0
        if not len(slope) or slope[best] <= least:
            break
        passive[best] = True
        while True:
            trial = np.zeros_like(x)
            trial[passive] = np.linalg.lstsq(A[:, passive], b)[0]
            below = passive & ~free & (trial <= 0)
            if not below.any():
                break
            step = np.min(x[below] / np.maximum(x[below] - trial[below], 1e-300))
            x = x + step * (trial - x)
            passive &= free | (x > least)
        x = trial
    left = b - A @ x
    return x / scale, float(left @ left)
