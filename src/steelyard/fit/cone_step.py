"""Shortest step into cones: `min ||u||` subject to linear cone constraints on u, by Clarabel, with a proven gap.

The step is a combination of the rows of the constraints, so it is sought among those alone: few active constraints make
a small program, however many unknowns there are. Nothing is squared on the way.
"""

from dataclasses import dataclass, replace

import numpy as np

from steelyard.fit.program import Infeasible
from steelyard.fit.rows import Rows
from steelyard.inertia import cones
from steelyard.inertia.solver import NoDigits

CHEAP = 0.2  # length of a step, relative to its assumed scale, below which the problem is scaled anew
RESCALED = 2.0  # lengths that the scale then is: ample ones cost no digits, short ones do
RESCALINGS = 4
NOTHING = 1e-9  # standard deviations: no step at all
SCALES = (1.0, 10.0, 0.1, 0.01, 1e-4, 1e-6, 1e-8)  # tried one after the other, relative to the guess
OTHERS = (10.0, 100.0, 0.3)  # scales, relative to the best guess, that may bring the digits that it lacks
PROVEN = 1e-9  # gap of a step, relative to the cost, with which nothing else is tried
TOLERANCES = (1e-11, 1e-10, 1e-9, 1e-8)  # asked of the cone solver, one after the other
ENOUGH = 1e-8  # gap of a step, relative to its squared length, after which no other tolerance is tried
MARGIN = 10.0  # times the solver's tolerance: kept clear of every bound, so that the tolerance cannot cross it
TIE = 1e-12  # weight that picks the smallest of auxiliary variables that the cost leaves open
UNREACHABLE = 1e-8  # of the largest singular value: directions in which no step moves a constraint
NO_DIGITS = "The cone solver found no solution. Check the units of the log and the masses of the prior."


@dataclass(frozen=True, eq=False)
class Bounded:
    """Rows whose slack at a step u (k,) is `h - M u - A_aux aux`. h: (m,), M: (m, k). cost: without any step."""

    rows: Rows
    h: np.ndarray
    M: np.ndarray
    cost: float


@dataclass(frozen=True, eq=False)
class Shortest:
    """Step u (k,), auxiliary variables of the constraints that have some, and gap of `||u||^2 / 2`."""

    u: np.ndarray
    aux: tuple[np.ndarray, ...]
    gap: float

    @property
    def length(self) -> float:
        return float(np.linalg.norm(self.u))


def shortest_step(bounded: Bounded, scale: float | None = None, *, proof: bool = True) -> Shortest:
    """The shortest step; with proof, found in units of its own length and others, as far as that brings digits.

    scale: a guess of the length; that onto the nearest bounds otherwise. Raises Infeasible where no scale leads
    anywhere: there may be no such step, or no digits.
    """
    spanned, basis = _spanned(bounded)
    scale = scale or _distance_to_bounds(spanned)
    for factor in SCALES:
        try:
            step = _step(spanned, factor * scale, proof=proof)
            break
        except (Infeasible, NoDigits):
            continue
    else:
        raise Infeasible(NO_DIGITS)
    if proof:
        step = _refined(spanned, step, factor * scale)
    return step if basis is None else replace(step, u=basis @ step.u)


def _spanned(bounded: Bounded) -> tuple[Bounded, np.ndarray | None]:
    """The same in coordinates of the span of the rows, and its orthonormal basis (k, m); None for the whole space."""
    count, size = bounded.M.shape
    if count >= size:
        return bounded, None
    basis, triangle = np.linalg.qr(bounded.M.T)
    return replace(bounded, M=triangle.T), basis


def _refined(bounded: Bounded, step: Shortest, scale: float) -> Shortest:
    """The step found again in units nearer to its length, and in others where digits of its proof are lacking."""
    for _ in range(RESCALINGS):
        if step.length > CHEAP * scale or step.length < NOTHING:
            break
        scale = RESCALED * step.length
        again = _better(bounded, step, scale)
        if again is step:
            break
        step = again
    for factor in OTHERS:
        if step.length < NOTHING or step.gap < PROVEN * (bounded.cost + 0.5 * step.length**2):
            break
        step = _better(bounded, step, factor * scale)
    return step


def _better(bounded: Bounded, step: Shortest, scale: float) -> Shortest:
    """The step found in units of scale, where that has the smaller gap."""
    try:
        again = _step(bounded, scale)
    except (Infeasible, NoDigits):
        return step
    return again if again.gap <= step.gap else step


def _distance_to_bounds(bounded: Bounded) -> float:
    """Length of the step that moves all violated constraints onto their bounds: a scale for the solver."""
    out = bounded.rows.inside(bounded.h) - bounded.h
    if not out.any():
        return 1.0
    return float(np.linalg.norm(np.linalg.lstsq(bounded.M, -out, rcond=UNREACHABLE)[0])) or 1.0


def _step(bounded: Bounded, scale: float, *, proof: bool = True) -> Shortest:
    """The shortest step, in units of scale.

    The solver is kept inside every cone by more than its tolerance, 1e-10 where it has all digits; the gap is to the
    best of all points so far inside, without proof to the first. Raises Infeasible, NoDigits.
    """
    from scipy import sparse

    rows, M = bounded.rows, bounded.M * scale
    free = [each.A_aux for each in rows.constraints]
    units = [1.0 / np.maximum(np.linalg.norm(A, axis=0), 1e-300) for A in free]  # of auxiliary variables
    M_aux = sparse.csc_matrix((len(bounded.h), 0))
    if rows.free.any():
        M_aux = sparse.block_diag([A * unit for A, unit in zip(free, units, strict=True)], format="csc")
    best = None
    for tolerance in TOLERANCES:
        tightened = bounded.h - MARGIN * tolerance * rows.unit
        found = _clarabel(M, M_aux, tightened, rows.kinds, tolerance)
        if found is None:
            continue
        u, aux, multipliers = found
        parts = np.split(aux, np.cumsum([len(unit) for unit in units])[:-1])
        parts = tuple(unit * part for unit, part in zip(units, parts, strict=True) if len(unit))
        slack = bounded.h - M @ u
        if len(aux):
            slack -= M_aux @ aux
        if (rows.depths(slack) >= 0).all():
            gap = _duality_gap(u, aux, M, M_aux, tightened, rows.inside(multipliers))
            if best is None or scale**2 * gap < best.gap:
                best = Shortest(scale * u, parts, scale**2 * gap)
            if gap < ENOUGH * float(u @ u) or not proof:
                break
    if best is None:
        raise NoDigits("The cone solver met none of its tolerances.")
    return best


def _clarabel(M, M_aux, h, kinds, tolerance: float):
    """Minimiser u of `||u||^2 / 2`, `h - M u - M_aux aux` in the cones, with aux and multipliers; None if no digits."""
    import clarabel
    from scipy import sparse

    size, count = M.shape[1], M.shape[1] + M_aux.shape[1]
    P = sparse.csc_matrix(
        (np.append(np.ones(size), np.full(count - size, TIE)), np.arange(count), np.arange(count + 1))
    )
    rows = sparse.csc_matrix(M)
    if count > size:
        rows = sparse.hstack([rows, M_aux], format="csc")
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


def _duality_gap(u, aux, M, M_aux, h, multipliers) -> float:
    """`||u||^2 / 2` above the best lower bound that these multipliers, which are in their cones, prove."""
    pull = M.T @ multipliers
    bound = -0.5 * float(pull @ pull) - float(h @ multipliers)
    loose = float(np.abs(M_aux.T @ multipliers) @ np.abs(aux)) if len(aux) else 0.0
    return max(0.5 * float(u @ u) - bound + loose, 0.0)
