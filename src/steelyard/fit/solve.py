"""Newton's method over cones: each step minimises the quadratic model of the cost subject to all constraints.

A quadratic cost needs one step; the entropic one, a barrier of its own, needs a handful, and no cone solver where no
further constraint is active. Steps are taken in `u = F d`, in which the model is a plain norm: directions that the data
fixes to many digits become tiny columns of the constraints instead of huge entries of the cost.

Most constraints are slack at the optimum. Only those that a step violates enter the cone program, and the step is
repeated until it violates none: its dual, with no multipliers for the others, bounds the cost of the whole program.
"""

from dataclasses import dataclass

import numpy as np

from steelyard.errors import FitError
from steelyard.fit.cone_step import NO_DIGITS, RESCALED, Bounded, shortest_step
from steelyard.fit.program import Program
from steelyard.fit.rows import Rows

__all__ = ["NO_DIGITS", "Solution", "solve"]

STEPS = 60
CLEAR = 0.9  # of the way to the end of the entropic cost that a step may go
CONVERGED = 1e-10  # squared Newton decrement, relative to the cost (at least 1), that ends the iteration


@dataclass(frozen=True, eq=False)
class Solution:
    """Minimiser w (k,), auxiliary variables of the constraints that have some, certified duality gap relative to the
    cost (at least 1), cost, and the triangular factor F of its Hessian.
    """

    w: np.ndarray
    aux: tuple[np.ndarray, ...]
    gap: float
    cost: float
    F: np.ndarray


def solve(program: Program) -> Solution:
    """The global minimum. Raises Infeasible, or FitError when no digits are left."""
    barrier = program.entropic_weight > 0
    rows = Rows(tuple(each for each in program.constraints if not (each.equality or (barrier and each.definite))))
    w = np.zeros(program.A.shape[1])
    feasible = False  # w = 0 need not be
    for _ in range(STEPS):
        F, target = program.model(w)
        step = _constrained(program, rows, w, F, target)
        length = _line_search(program, w, step.d, feasible)
        w, feasible = w + length * step.d, feasible or length == 1.0
        cost, decrement = program.cost(w), float(np.sum((F @ step.d) ** 2))
        if not program.entropic_weight:
            return Solution(w, step.aux, step.gap / max(1.0, cost), cost, F)
        if length == 1.0 and decrement < CONVERGED * max(1.0, cost):
            F = program.model(w)[0]
            return Solution(w, step.aux, (step.gap + decrement**1.5) / max(1.0, cost), cost, F)
    raise FitError("The Newton iteration did not converge. Check the units of the log and the masses of the prior.")


@dataclass(frozen=True, eq=False)
class _Step:
    """Change of w, auxiliary variables of the constraints that have some, gap of the model's cost."""

    d: np.ndarray
    aux: tuple[np.ndarray, ...]
    gap: float


def _line_search(program: Program, w, d, feasible: bool) -> float:
    """Longest step, 1 or less, that the entropic cost accepts and that stays well clear of its end.

    A step right to the boundary lowers the cost, too, but each of the next ones would only double the distance.
    """
    if not program.entropic_weight:
        return 1.0
    before, length = program.cost(w), min(1.0, CLEAR / max(program.room(w, d), CLEAR))
    for _ in range(40):
        after = program.cost(w + length * d)
        if np.isfinite(after) and (after <= before * (1 + 1e-12) + 1e-12 or not feasible):
            return length
        length /= 2
    return length


def _constrained(program: Program, rows: Rows, w, F, target) -> _Step:
    """Minimise `||F d - target||^2 / 2` subject to the constraints at `w + d`."""
    from scipy.linalg import solve_triangular

    d = solve_triangular(F, target, check_finite=False)
    if not rows.constraints:
        return _Step(d, (), 0.0)
    slack = rows.slack(program.parameters(w + d))
    entered = rows.free | (rows.depths(slack) < 0)
    step, scale = _Step(d, (), 0.0), None  # where nothing is violated, this is the constrained optimum too
    missed = entered
    while missed.any():
        active = rows.only(entered)
        h = active.slack(program.parameters(w + d))
        M = solve_triangular(F, (active.A @ program.directions).T, trans=1, check_finite=False).T
        found = shortest_step(Bounded(active, h, M, max(1.0, program.remainder)), scale)
        step = _Step(d + solve_triangular(F, found.u, check_finite=False), found.aux, found.gap)
        missed = ~entered & (rows.depths(rows.slack(program.parameters(w + step.d))) < 0)
        entered, scale = entered | missed, RESCALED * found.length or None
    return step
