"""Least squares over a convex set of bodies: mass inside an ellipsoid or a hull, or merely consistent (paper B)."""

import numpy as np

from steelyard.inertia import COARSE, BodySet, divergence, minimise
from steelyard.payload.wrench_sums import triangle

WEIGHT = 1e-2  # of the prior: it decides what the data leaves open and hardly moves the rest
EPS = 1e-6  # eigenvalue kept from singular bodies, relative to the set's size


def constrained_fit(A, b, body_set: BodySet, prior, *, weight: float = WEIGHT) -> tuple[np.ndarray, np.ndarray]:
    """theta (10,) in the set that minimises `||A theta - b||^2 + weight * pullback(theta, prior)`, and its covariance
    (10, 10) with the constraints left aside.

    A: (k, 10), b: (k,) in units of the noise; prior: (10,), consistent. Raises InertiaError where no body of the set
    exists or the solver cannot reach one.
    """
    metric = 0.5 * weight * divergence.pullback_metric(np.asarray(prior, dtype=float))
    root = np.linalg.cholesky(metric).T
    factor = triangle(np.column_stack([np.concatenate([A, root]), np.concatenate([b, root @ prior])]))
    R, r = factor[:10, :10], factor[:10, 10]
    inverse = np.linalg.inv(R)
    free = inverse @ r
    covariance = inverse @ inverse.T
    rows = body_set.cone_rows(EPS)
    if not rows.aux and body_set.contains(free):
        return free, covariance
    size = max(1.0, float(np.linalg.norm(R @ (prior - free))))
    scale = np.linalg.norm(rows.A_aux, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    M = np.column_stack([rows.A_theta @ inverse * size, rows.A_aux / scale])
    h = rows.b - rows.A_theta @ free
    unit = float(np.abs(h).max()) or 1.0
    P = np.zeros((M.shape[1], M.shape[1]))
    P[:10, :10] = np.eye(10)
    step = minimise(P, np.zeros(len(P)), M / unit, h / unit, rows.cones, tolerances=COARSE)[:10]
    return free + inverse @ (size * step), covariance
