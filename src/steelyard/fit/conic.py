"""Least squares over cones by Clarabel: quick where few constraints bind, and independent of our own method.

The solver is kept inside every cone by more than its tolerance; what that costs is part of the gap, which is of the
problem that was asked.
"""

import numpy as np

from steelyard.fit.interior import Point, Problem, certified, effort
from steelyard.inertia import cones

EXACT, ROUGH = (1e-11, 1e-9), (1e-9, 1e-7)  # tolerances asked of the solver, one after the other
MARGIN = 10.0  # times the tolerance: kept clear of every border, so that the tolerance cannot cross it


def solved(problem: Problem, start, *, rough: bool = False) -> Point | None:
    """The minimum of a problem with a diagonal F, t = 0 and no floors; None where the solver finds no point inside.

    start: (k,), a point that tells how long steps are. rough: a gap of some 1e-7 of the cost will do.
    """
    import clarabel
    from scipy import sparse

    size = problem.F.shape[1]
    scale = max(1.0, np.sqrt(2 * effort(problem, start)))  # a start inside says nothing
    G = sparse.csc_matrix(scale * np.concatenate([block.G.reshape(-1, size) for block in problem.blocks]))
    h = np.concatenate([block.h.ravel() for block in problem.blocks])
    units = np.concatenate([np.tile(cones.triangle(np.eye(block.n)), len(block.h)) for block in problem.blocks])
    kinds = [("nonnegative", len(b.h)) if b.n == 1 else ("psd", b.n) for b in problem.blocks for _ in _each(b)]
    P = sparse.diags(np.diag(problem.F) ** 2, format="csc")
    for tolerance in ROUGH if rough else EXACT:
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        settings.max_threads = 1
        tightened = h - MARGIN * tolerance * units
        found = clarabel.DefaultSolver(
            P, np.zeros(size), G, tightened, cones.for_clarabel(kinds, clarabel), settings
        ).solve()
        if str(found.status) not in ("Solved", "AlmostSolved"):
            continue
        multipliers = np.split(scale**2 * np.array(found.z), np.cumsum([block.h.size for block in problem.blocks])[:-1])
        multipliers = [
            cones.from_triangle(each.reshape(block.h.shape), block.n)
            for each, block in zip(multipliers, problem.blocks, strict=True)
        ]
        point = certified(problem, scale * np.array(found.x), multipliers)
        if point is not None:
            return point
    return None


def _each(block) -> range:
    """Cones of a block: all numbers make one."""
    return range(1 if block.n == 1 else len(block.h))
