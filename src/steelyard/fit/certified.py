"""What is claimed of a constrained solution, checked on the parameters themselves."""

import numpy as np

from steelyard.errors import FitError
from steelyard.fit.estimate import Certificate
from steelyard.fit.rows import Rows
from steelyard.fit.solve import Solution
from steelyard.inertia import pseudo

DIGITS = 1e-15  # of the terms of a constraint: what their sum is known to
ROUNDING = 1e-9  # of the size of what is bounded: a smaller error is rounding, in parameters of very unlike bodies


def onto_bounds(known, parameters) -> np.ndarray:
    """Bounded friction within rounding of its bound is put there."""
    parameters = parameters.copy()
    for each in known:
        if each.cones == (("nonnegative", 1),) and np.count_nonzero(each.A) == 1:
            column = int(np.flatnonzero(each.A[0])[0])
            slack = float(each.b[0] - each.A[0] @ parameters)
            if -ROUNDING < slack < 0:
                parameters[column] = each.b[0] / each.A[0, column]
    return parameters


def depths_of(known, parameters, solution: Solution) -> np.ndarray:
    """(number of constraints,) how far inside each constraint the parameters lie."""
    rows = Rows(known)
    return rows.depths(rows.slack(parameters, solution.aux))


def certificate_of(layout, theta0, known, parameters, depths, gap: float) -> Certificate:
    """Check the constraints on the parameters themselves. Raises FitError when one is violated."""
    inverse = np.linalg.inv(np.linalg.cholesky(pseudo.to_matrix(theta0)))
    J = pseudo.to_matrix(parameters[layout.inertial].reshape(-1, 10))
    smallest = float(np.linalg.eigvalsh(inverse @ J @ np.swapaxes(inverse, -1, -2)).min(initial=np.inf))
    equality = np.array([each.equality for each in known], dtype=bool)
    broken = [
        f"{each.label} ({depth:.1e})"
        for each, depth in zip(known, depths, strict=True)
        if depth < -ROUNDING - DIGITS * float((np.abs(each.A) @ np.abs(parameters)).max(initial=0.0))
    ]
    if broken:
        raise FitError(f"The solution failed its own check: {'; '.join(broken)}.")
    return Certificate(gap, smallest, float(depths[~equality].min(initial=np.inf)))
