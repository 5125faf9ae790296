"""Least squares without physics: ordinary (Atkeson, An and Hollerbach 1986) and recursive total (Kubus 2008)."""

import numpy as np

from steelyard.errors import FitError
from steelyard.payload.problem import Problem, solve


def ordinary(problem: Problem) -> np.ndarray:
    """(10,) ordinary least squares: force and torque rows weigh alike, in SI units, and nothing makes it physical."""
    return solve(*problem.information.whitened((1.0, 1.0), bias=problem.bias))


def total(problem: Problem) -> np.ndarray:
    """(10,) total least squares: noise in the regressor as in the wrench, the smallest singular vector of `[A b]`.

    Recursive as published: only the triangular factor of all samples so far enters, and it is updated, not rebuilt.
    Raises FitError where that vector says nothing about theta (the log excites too little).
    """
    v = np.linalg.svd(problem.information.triangle((1.0, 1.0), bias=problem.bias))[2][-1]
    if abs(v[-1]) < 1e-12:
        raise FitError(
            "Total least squares has no solution: the regressor is rank deficient, so its noise explains everything. "
            "Record a richer motion, or use method='ols'"
        )
    return -v[:10] / v[-1]
