"""Newton's method for the entropic prior from a point near the minimum, for fits that follow each other in time.

The cost `||R w - z||^2 + rho sum (tr S - log det S)` over rho is self-concordant: where its Newton decrement `lambda`
is below 1, it lies `-lambda - log(1 - lambda)` above its minimum at most (Nesterov, Introductory Lectures on Convex
Optimization, 4.1). Friction at its lower bound, which the gradient pushes against it, stays there and takes no part.
An interior-point method starts anew on its central path; these steps start from the minimum before.
"""

from dataclasses import dataclass

import numpy as np

from steelyard.fit.cone_solver import PROVEN, Solution
from steelyard.fit.constraints import Rows
from steelyard.fit.prior import TRIANGLES
from steelyard.fit.program import Program
from steelyard.fit.qr import triangular_solve
from steelyard.inertia import cones

STEPS = 40  # of which two to six are usual
HALVINGS = 30
DECREASE = 1e-4  # share of what the gradient promises that a step has to keep (Armijo)
TOUCHING = 1e-9  # distance from a bound, in unknowns of order one, that is rounding
CLOSED = 0.01 * PROVEN  # gap relative to the cost, at which to stop


def followed(program: Program, parameters) -> Solution | None:
    """The minimum of a program with entropic prior, from the minimum (p,) of a similar one.

    None where it knows more than bodies that can exist and lower bounds of friction, or where Newton's steps get stuck.
    """
    inequalities = [each for each in program.constraints if not each.definite]
    if not program.entropic_weight or program.directions.shape[0] != program.size:
        return None
    lower = _bounds(program)
    if len(inequalities) != np.isfinite(lower).sum():
        return None
    w = np.maximum(np.linalg.solve(program.directions, parameters - program.start), lower)
    at = _at(program, w)
    if at is None:
        w = np.maximum(np.zeros(program.size), lower)
        at = _at(program, w)
    for _ in range(STEPS):
        if at is None:
            return None
        held = (w <= lower + TOUCHING) & (at.gradient > 0)
        gap = at.gap(held)
        if gap < CLOSED * max(1.0, at.cost):
            return _solution(program, at, gap)
        at = _stepped(program, at, lower, held)
        w = at.w if at is not None else w
    return None


@dataclass(frozen=True, eq=False)
class _Point:
    """w (k,), cost there, its gradient, and the triangular F of its Hessian `F^T F`. weight: of the entropic term."""

    w: np.ndarray
    cost: float
    gradient: np.ndarray
    F: np.ndarray
    weight: float

    def gap(self, held) -> float:
        """How far the cost is above the minimum at most; infinite where that is not known."""
        pull = np.where(held, 0.0, self.gradient)
        decrement = float(np.linalg.norm(triangular_solve(self.F, pull, transposed=True))) / np.sqrt(self.weight)
        return self.weight * (-decrement - np.log1p(-decrement)) if decrement < 1 else np.inf


def _bounds(program: Program) -> np.ndarray:
    """(k,) least values of the unknowns, each of one parameter where it has any."""
    lower = np.full(program.size, -np.inf)
    least = program.knowledge.lower_bounds
    if least is None:
        return lower
    bounded = np.isfinite(least)
    lower[bounded] = (least - program.start)[bounded] / np.diag(program.directions)[bounded]
    return lower


def _at(program: Program, w, *, cost: float | None = None) -> _Point | None:
    """Cost and derivatives; None outside."""
    S = program.relative(w)
    try:
        roots = np.linalg.inv(np.linalg.cholesky(S))
    except np.linalg.LinAlgError:
        return None
    weight, (F, t) = program.entropic_weight, program.quadratic
    slope = np.tensordot(np.eye(4) - roots.mT @ roots, TRIANGLES, axes=([1, 2], [1, 2]))
    gradient = F.T @ (F @ w - t) + weight * program.spread.T @ slope.ravel()
    blocks = np.sqrt(weight) * cones.congruence_matrix(roots)
    bent = np.einsum("bij,bjk->bik", blocks, program.spread.reshape(len(S), 10, -1)).reshape(-1, program.size)
    whole = np.asarray(np.linalg.qr(np.concatenate([F, bent]), mode="r"))
    return _Point(w, program.cost(w) if cost is None else cost, gradient, whole, weight)


def _stepped(program: Program, at: _Point, lower, held) -> _Point | None:
    """After a step along Newton's direction in the unknowns that are not held, shortened until the cost falls."""
    touching = at.w <= lower + TOUCHING
    while True:  # hold what the others would press against its bound, too
        free, step = ~held, np.zeros(len(at.w))
        F = at.F if free.all() else np.asarray(np.linalg.qr(at.F[:, free], mode="r"))
        step[free] = -triangular_solve(F, triangular_solve(F, at.gradient[free], transposed=True))
        pressed = touching & (step < 0)
        if not pressed.any():
            break
        held = held | pressed
    length = 1.0
    for _ in range(HALVINGS):
        w = np.maximum(at.w + length * step, lower)
        cost = program.cost(w)
        if cost <= at.cost + DECREASE * float(at.gradient @ (w - at.w)):
            return _at(program, w, cost=cost)
        length /= 2
    return None


def _solution(program: Program, at: _Point, gap: float) -> Solution | None:
    """None where a body lies beyond what a constraint says."""
    rows = Rows(tuple(program.constraints))
    if (rows.depths(rows.slack(program.parameters(at.w))) < -TOUCHING).any():
        return None
    entered = np.zeros(len(rows.constraints), dtype=bool)
    return Solution(at.w, (), gap / max(1.0, at.cost), at.cost, at.F, entered)
