"""Small convex programs over the cones of `cones.py`, solved by Clarabel."""

import numpy as np

from steelyard.errors import InertiaError
from steelyard.inertia import cones
from steelyard.inertia.cones import ConeRows

FINE = (
    1e-11,
    1e-9,
    1e-8,
)  # tolerances asked of the solver, one after the other: degenerate problems do not have the digits of the first
COARSE = (1e-9, 1e-8, 1e-7, 1e-6)  # where a start or a yes or no is wanted
ACCURACY = 1e-6  # to which membership of sets with auxiliary variables is decided, relative to the body's size
TIE = 1e-9  # weight that picks the smallest of equally deep points, so that cones have a deepest one


class NoDigits(InertiaError):
    """The solver stopped before any of its tolerances were met."""


def minimise(P, q, A, b, kinds, *, tolerances=FINE):
    """The x that minimises `1/2 x^T P x + q^T x` subject to `b - A x` in the cones `kinds`.

    P: (n, n), q: (n,), A: (r, n), b: (r,), kinds: `(kind, n)` in row order. Raises InertiaError when there is no such
    x, NoDigits.
    """
    import clarabel
    from scipy import sparse

    upper, rows, kinds = sparse.csc_matrix(np.triu(P)), sparse.csc_matrix(A), cones.for_clarabel(kinds, clarabel)
    stopped = []
    for tolerance in tolerances:
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        solution = clarabel.DefaultSolver(upper, q, rows, b, kinds, settings).solve()
        status = str(solution.status)
        if status == "Solved":
            return np.array(solution.x)
        if "Infeasible" in status:
            raise InertiaError(
                f"no body satisfies all constraints ({status}): they contradict each other or leave no body with "
                "volume; loosen bounds, or give more points or larger ellipsoids"
            )
        stopped.append(f"{status} at {tolerance:g}, residuals {solution.r_prim:.1e} and {solution.r_dual:.1e}")
    raise NoDigits(
        f"a cone program over one body met none of its tolerances ({'; '.join(stopped)}): the set is badly scaled; "
        "avoid flat pieces and lengths far from the body's"
    )


def deepest(rows: ConeRows, theta):
    """Largest `t` for which some aux has `b - A_theta theta - A_aux aux - t e` in the cones; negative if theta (10,) is
    outside.
    """
    A, b, kinds = [], [], []
    slack = rows.slack(theta)
    for kind, n, block in rows.blocks():
        if kind == "zero":  # an equality lets go by a ball of radius -t
            A.append(np.block([[np.zeros((1, rows.aux)), np.ones((1, 1))], [rows.A_aux[block], np.zeros((n, 1))]]))
            b.append(np.append(0.0, slack[block]))
            kinds.append(("soc", n + 1))
        else:
            A.append(np.column_stack([rows.A_aux[block], cones.unit(kind, n)]))
            b.append(slack[block])
            kinds.append((kind, n))
    A.append(np.append(np.zeros(rows.aux), 1.0)[None])  # t <= 1
    small = np.diag(np.append(np.full(rows.aux, TIE), 0.0))
    cost, kinds = np.append(np.zeros(rows.aux), -1.0), [*kinds, ("nonnegative", 1)]
    return float(minimise(small, cost, np.concatenate(A), np.concatenate([*b, [1.0]]), kinds, tolerances=COARSE)[-1])
