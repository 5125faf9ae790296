"""The deepest point of a set given by cone rows, by one small cone program (Clarabel): feasibility with a number attached."""

import numpy as np

from steelyard.errors import InertiaError
from steelyard.inertia import cones
from steelyard.inertia.cones import ConeRows

ACCURACY = 1e-7  # to which membership of sets with auxiliary variables is decided, relative to the body's size
TOLERANCE = 1e-10  # asked of the solver
TIE = 1e-6  # weight that picks the smallest of equally deep points, so that cones have a deepest one


def deepest_aux(rows: ConeRows, theta):
    """Largest `t` for which some aux has `b - A_theta theta - A_aux aux - t e` in the cones; negative if theta (10,) is outside."""
    A, b, kinds = _relaxed(rows.A_aux, rows.slack(theta), rows.cones, exact=False)
    return float(_solve(A, b, kinds)[-1])


def deepest_point(A, b, kinds):
    """A point x and depth `t <= 1` with `b - A x - t e` in the cones `kinds`, equalities kept. A: (r, n), b: (r,)."""
    A, b, kinds = _relaxed(A, b, kinds, exact=True)
    x = _solve(A, b, kinds)
    return x[:-1], float(x[-1])


def _relaxed(A, b, kinds, *, exact):
    """Rows in (x, t): every cone lets go by -t in the direction of its unit (an equality by a ball of radius -t unless exact), and t <= 1."""
    blocks_A, blocks_b, relaxed, start = [], [], [], 0
    for kind, n in kinds:
        block = slice(start, start + cones.row_count(kind, n))
        start = block.stop
        if kind == "zero" and not exact:
            blocks_A.append(np.block([[np.zeros((1, A.shape[1])), np.ones((1, 1))], [A[block], np.zeros((n, 1))]]))
            blocks_b.append(np.append(0.0, b[block]))
            relaxed.append(("soc", n + 1))
        else:
            blocks_A.append(np.column_stack([A[block], cones.unit(kind, n)]))
            blocks_b.append(b[block])
            relaxed.append((kind, n))
    blocks_A.append(np.append(np.zeros(A.shape[1]), 1.0)[None])
    return np.concatenate(blocks_A), np.concatenate([*blocks_b, [1.0]]), [*relaxed, ("nonnegative", 1)]


def _solve(A, b, kinds):
    import clarabel
    from scipy import sparse

    n = A.shape[1]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
    cost = np.append(np.zeros(n - 1), -1.0)
    curvature = sparse.diags_array(np.append(np.full(n - 1, TIE), 0.0), format="csc")
    solution = clarabel.DefaultSolver(curvature, cost, sparse.csc_matrix(A), b, cones.for_clarabel(kinds), settings).solve()
    if str(solution.status) not in ("Solved", "AlmostSolved"):
        raise InertiaError(f"the cone program that measures a set of bodies ended as {solution.status}; rescale the bodies or the set")
    return np.array(solution.x)
