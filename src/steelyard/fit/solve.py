"""Newton's method over cones: each step minimises the quadratic model of the cost subject to all constraints.

A quadratic cost needs one step; the entropic one, a barrier of its own, needs a handful, and no cone solver where no
further constraint is active. Steps are taken in `u = F d`, in which the model is a plain norm: directions that the data
fixes to many digits become tiny columns of the constraints instead of huge entries of the cost.

Most constraints are slack at the optimum. Only those that a step violates enter the cone program, and the step is
repeated until it violates none: its dual, with no multipliers for the others, bounds the cost of the whole program.
Only that last step is worth a proof, which costs several times as much as the step.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from steelyard.errors import FitError
from steelyard.fit.cone_step import NO_DIGITS, RESCALED, Bounded, shortest_step
from steelyard.fit.program import Program
from steelyard.fit.rows import Rows

__all__ = ["NO_DIGITS", "Solution", "proven", "solve"]

Enough = Callable[[np.ndarray], bool]

STEPS = 60
CLEAR = 0.9  # of the way to the end of the entropic cost that a step may go
CONVERGED = 1e-10  # squared Newton decrement, relative to the cost (at least 1), that ends the iteration


@dataclass(frozen=True, eq=False)
class Solution:
    """Minimiser w (k,), auxiliary variables of the constraints that have some, certified duality gap relative to the
    cost (at least 1), cost, and the triangular factor F of its Hessian. near: where a proof starts, if it is open.
    """

    w: np.ndarray
    aux: tuple[np.ndarray, ...]
    gap: float
    cost: float
    F: np.ndarray
    near: "_Step | None" = None


def solve(program: Program, *, proof: bool = True, enough: Enough | None = None) -> Solution:
    """The global minimum. proof: whether its gap matters; one step may do without, to be `proven` later.

    enough: whether parameters (p,) tell already what is asked. Those within some of the constraints are tried on the
    way: the cost of the minimum is no less than theirs. Without a proof and an entropic cost only, which need all.
    Raises Infeasible, or FitError when no digits are left.
    """
    barrier = program.entropic_weight > 0
    rows = _inequalities(program)
    w = np.zeros(program.size)
    feasible = False  # w = 0 need not be
    for _ in range(STEPS):
        F, target = program.model(w)
        step = _constrained(program, rows, w, F, target, proof=proof or barrier, enough=enough)
        length = _line_search(program, w, step.d, feasible)
        w, feasible = w + length * step.d, feasible or length == 1.0
        cost, decrement = program.cost(w), float(np.sum((F @ step.d) ** 2))
        if not barrier:
            return Solution(w, step.aux, step.gap / max(1.0, cost), cost, F, None if proof else step)
        if length == 1.0 and decrement < CONVERGED * max(1.0, cost):
            F = program.model(w)[0]
            return Solution(w, step.aux, (step.gap + decrement**1.5) / max(1.0, cost), cost, F)
    raise FitError("The Newton iteration did not converge. Check the units of the log and the masses of the prior.")


def proven(program: Program, solution: Solution) -> Solution:
    """The same minimum with the gap that can be shown. Raises as `solve`."""
    if solution.near is None:
        return solution
    w, F = np.zeros(program.size), solution.F
    step = _constrained(program, _inequalities(program), w, F, program.model(w)[1], near=solution.near)
    cost = program.cost(step.d)
    return Solution(step.d, step.aux, step.gap / max(1.0, cost), cost, F)


def _inequalities(program: Program) -> Rows:
    """Constraints that a step may violate: the entropic cost keeps some by itself."""
    barrier = program.entropic_weight > 0
    return Rows(tuple(each for each in program.constraints if not (each.equality or (barrier and each.definite))))


@dataclass(frozen=True, eq=False)
class _Step:
    """Change of w, auxiliary variables of the constraints that have some, gap of the model's cost; which constraints
    entered, and the length of the step away from the minimum without them."""

    d: np.ndarray
    aux: tuple[np.ndarray, ...]
    gap: float
    entered: np.ndarray
    length: float = 0.0


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


def _constrained(
    program: Program,
    rows: Rows,
    w,
    F,
    target,
    *,
    proof: bool = True,
    near: _Step | None = None,
    enough: Enough | None = None,
) -> _Step:
    """Minimise `||F d - target||^2 / 2` subject to the constraints at `w + d`. near: the same without a proof."""
    from scipy.linalg import solve_triangular

    d = solve_triangular(F, target, check_finite=False)
    if not rows.constraints:
        return _Step(d, (), 0.0, np.zeros(0, dtype=bool))

    def violated(step: _Step) -> np.ndarray:
        return ~step.entered & (rows.depths(rows.slack(program.parameters(w + step.d))) < 0)

    def within(entered, scale: float | None, *, proof: bool) -> _Step:
        active = rows.only(entered)
        h = active.slack(program.parameters(w + d))
        M = solve_triangular(F, (active.A @ program.directions).T, trans=1, check_finite=False).T
        found = shortest_step(Bounded(active, h, M, max(1.0, program.residual.remainder)), scale, proof=proof)
        moved = d + solve_triangular(F, found.u, check_finite=False)
        return _Step(moved, found.aux, found.gap, entered, found.length)

    step, first = near or _Step(d, (), 0.0, rows.free.copy()), near is None
    missed, unproven = violated(step) | (rows.free & first), step.entered.any() and not first
    while missed.any() or unproven:  # where nothing is violated, the free optimum is the constrained one too
        last = not missed.any()
        step = within(step.entered | missed, RESCALED * step.length or None, proof=last)
        if enough is not None and not proof and enough(program.parameters(w + step.d)):
            break
        missed, unproven = violated(step), proof and not last
    return step
