"""Newton's method over cones: each step minimises the quadratic model of the cost subject to all constraints.

A quadratic cost needs one step; the entropic one, a barrier of its own, needs a handful, and no cone solver where no
further constraint is active. Steps are taken in `u = F d`, in which the model is a plain norm: directions that the data
fixes to many digits become tiny columns of the constraints instead of huge entries of the cost.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.errors import FitError
from steelyard.fit.constraints import Constraint
from steelyard.fit.program import Infeasible, Program
from steelyard.inertia import cones
from steelyard.inertia.solver import NoDigits

STEPS = 60
CONVERGED = 1e-10  # squared Newton decrement, relative to the cost (at least 1), that ends the iteration
CHEAP = 0.3  # length of a step, relative to its assumed scale, below which the problem is scaled anew
RESCALINGS = 4
SCALES = (1.0, 0.1, 0.01, 1e-4, 1e-6, 1e-8, 10.0)  # tried one after the other, relative to the guess
TOLERANCES = (1e-11, 1e-10, 1e-9, 1e-8)  # asked of the cone solver, one after the other
ENOUGH = 1e-8  # gap of a step, relative to its squared length, after which no other tolerance is tried
MARGIN = 10.0  # times the solver's tolerance: kept clear of every bound, so that the tolerance cannot cross it
TIE = 1e-12  # weight that picks the smallest of auxiliary variables that the cost leaves open
UNREACHABLE = 1e-8  # of the largest singular value: directions in which no step moves a constraint
NO_DIGITS = "The cone solver found no solution. Check the units of the log and the masses of the prior."


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
    free = [each for each in program.constraints if not each.equality and not (barrier and each.definite)]
    w = np.zeros(program.A.shape[1])
    feasible = False  # w = 0 need not be
    F, _ = program.model(w)
    for _ in range(STEPS):
        F, target = program.model(w)
        step = _constrained(program, free, w, F, target)
        length = _line_search(program, w, step.d, feasible)
        w, feasible = w + length * step.d, feasible or length == 1.0
        cost, decrement = program.cost(w), float(np.sum((F @ step.d) ** 2))
        if not program.entropic_weight:
            return Solution(w, _given(step.aux), step.gap / max(1.0, cost), cost, F)
        if length == 1.0 and decrement < CONVERGED * max(1.0, cost):
            F = program.model(w)[0]
            return Solution(w, _given(step.aux), (step.gap + decrement**1.5) / max(1.0, cost), cost, F)
    raise FitError("The Newton iteration did not converge. Check the units of the log and the masses of the prior.")


@dataclass(frozen=True, eq=False)
class _Step:
    """Change of w, auxiliary variables of all constraints, gap of the model's cost, length of the last stretch."""

    d: np.ndarray
    aux: tuple[np.ndarray, ...]
    gap: float
    length: float = 0.0


@dataclass(frozen=True, eq=False)
class _Around:
    """Parameters around the model's free optimum: `x(u) = parameters(w + inverse @ u)`, `u = F d` away from it."""

    program: Program
    w: np.ndarray
    inverse: np.ndarray
    free: list[Constraint]

    @cached_property
    def x(self) -> np.ndarray:
        return self.program.parameters(self.w)

    @cached_property
    def steps(self) -> np.ndarray:
        return self.program.directions @ self.inverse


def _given(aux: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    return tuple(each for each in aux if len(each))


def _line_search(program: Program, w, d, feasible: bool) -> float:
    """Longest step of 1, 1/2, ... that the entropic cost accepts."""
    if not program.entropic_weight:
        return 1.0
    before, length = program.cost(w), 1.0
    for _ in range(40):
        after = program.cost(w + length * d)
        if np.isfinite(after) and (after <= before * (1 + 1e-12) + 1e-12 or not feasible):
            return length
        length /= 2
    return length


def _constrained(program: Program, free: list[Constraint], w, F, target) -> _Step:
    """Minimise `||F d - target||^2 / 2` subject to the constraints at `w + d`."""
    from scipy.linalg import solve_triangular

    d = solve_triangular(F, target, check_finite=False)
    x = program.parameters(w + d)
    none = tuple(np.zeros(each.A_aux.shape[1]) for each in free)
    if not any(len(each) for each in none) and all(each.depth(x, none[0][:0]) >= 0 for each in free):
        return _Step(d, none, 0.0)  # the unconstrained optimum is inside: it is the constrained one too
    around = _Around(program, w + d, solve_triangular(F, np.eye(len(F)), check_finite=False), free)
    step = _scaled_step(around, _distance_to_bounds(around))
    return _Step(d + step.d, step.aux, step.gap)


def _scaled_step(around: _Around, scale: float) -> _Step:
    """The step in units of its own length, as far as that brings digits. The first scale is a guess: others follow.

    Raises Infeasible where none leads anywhere: there may be no such step, or no digits.
    """
    for factor in SCALES:
        try:
            step = _cone_step(around, factor * scale)
            break
        except (Infeasible, NoDigits):
            continue
    else:
        raise Infeasible(NO_DIGITS)
    scale *= factor
    for _ in range(RESCALINGS):
        if CHEAP * scale < step.length or step.length == 0.0:
            break
        try:
            again = _cone_step(around, 2 * step.length)
        except (Infeasible, NoDigits):
            break
        if again.gap > step.gap:
            break
        scale, step = 2 * step.length, again
    return step


def _distance_to_bounds(around: _Around) -> float:
    """Length of the steps that move each violated constraint of a point onto its bound: a scale for the solver."""
    squares = 0.0
    for each in around.free:
        slack = each.b - each.A @ around.x
        depths = cones.smallest_eigenvalues(slack, each.cones)
        out, start = np.zeros(len(slack)), 0
        for (kind, n), depth in zip(each.cones, depths, strict=True):
            stop = start + cones.row_count(kind, n)
            out[start:stop] = max(0.0, -depth) * cones.unit(kind, n)
            start = stop
        if out.any():
            u = np.linalg.lstsq(each.A @ around.steps, out, rcond=UNREACHABLE)[0]
            squares += float(u @ u)
    return np.sqrt(squares) or 1.0


def _cone_step(around: _Around, scale: float) -> _Step:
    """Minimise `||u||` subject to the constraints, in units of scale.

    The solver is kept inside every cone by more than its tolerance, 1e-10 where it has all digits; the gap is to the
    best of all points so far inside. Raises Infeasible, NoDigits.
    """
    from scipy import sparse

    free = around.free
    units = [1.0 / np.maximum(np.linalg.norm(each.A_aux, axis=0), 1e-300) for each in free]  # of auxiliary variables
    M = np.concatenate([each.A @ around.steps * scale for each in free])
    M_aux = sparse.block_diag([each.A_aux * unit for each, unit in zip(free, units, strict=True)], format="csc")
    h = np.concatenate([each.b - each.A @ around.x for each in free])
    kinds = [kind for each in free for kind in each.cones]
    inside = np.concatenate([cones.unit(kind, n) for kind, n in kinds])
    best = None
    for tolerance in TOLERANCES:
        tightened = h - MARGIN * tolerance * inside
        found = _clarabel(M, M_aux, tightened, kinds, tolerance)
        if found is None:
            continue
        u, aux, multipliers = found
        d = around.inverse @ (scale * u)
        parts = tuple(
            unit * part
            for unit, part in zip(units, np.split(aux, np.cumsum([len(unit) for unit in units])[:-1]), strict=True)
        )
        x = around.program.parameters(around.w + d)
        if all(each.depth(x, part) >= 0 for each, part in zip(free, parts, strict=True)):
            gap, length = _duality_gap(u, aux, M, M_aux, tightened, kinds, multipliers), float(np.linalg.norm(u))
            if best is None or scale**2 * gap < best.gap:
                best = _Step(d, parts, scale**2 * gap, scale * length)
            if gap < ENOUGH * length**2:
                break
    if best is None:
        raise NoDigits("The cone solver met none of its tolerances.")
    return best


def _clarabel(M, M_aux, h, kinds, tolerance: float):
    """Minimiser u of `||u||^2 / 2`, `h - M u - M_aux aux` in the cones, with aux and multipliers; None if no digits."""
    import clarabel
    from scipy import sparse

    size, count = M.shape[1], M.shape[1] + M_aux.shape[1]
    P = sparse.diags_array(np.concatenate([np.ones(size), np.full(count - size, TIE)]), format="csc")
    rows = sparse.hstack([sparse.csc_matrix(M), M_aux], format="csc")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    settings.max_threads = 1
    solution = clarabel.DefaultSolver(
        P, np.zeros(count), rows, h, cones.for_clarabel(kinds, clarabel), settings
    ).solve()
    status = str(solution.status)
    if "PrimalInfeasible" in status:
        raise Infeasible("No parameters satisfy all constraints.")
    if status not in ("Solved", "AlmostSolved"):
        return None
    return np.array(solution.x[:size]), np.array(solution.x[size:]), np.array(solution.z)


def _duality_gap(u, aux, M, M_aux, h, kinds, multipliers) -> float:
    """`||u||^2 / 2` above the best lower bound that these multipliers, moved into their cones, prove."""
    multipliers = _into_cones(multipliers, kinds)
    pull = M.T @ multipliers
    bound = -0.5 * float(pull @ pull) - float(h @ multipliers)
    return max(0.5 * float(u @ u) - bound + float(np.abs(M_aux.T @ multipliers) @ np.abs(aux)), 0.0)


def _into_cones(values, kinds) -> np.ndarray:
    """Multipliers moved into the dual cones (the cones themselves; anything for equalities)."""
    moved, start = values.copy(), 0
    for kind, n in kinds:
        block = slice(start, start + cones.row_count(kind, n))
        start = block.stop
        if kind != "zero":
            depth = float(cones.smallest_eigenvalues(values[block], ((kind, n),))[0])
            moved[block] += max(0.0, -depth) * cones.unit(kind, n)
    return moved
