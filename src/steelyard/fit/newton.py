"""Newton's method for the entropic prior from a point near the minimum, for fits that follow each other in time.

The cost `||R w - z||^2 + rho sum (tr S - log det S)` over rho is self-concordant: where its Newton decrement `lambda`
is below 1, it lies `-lambda - log(1 - lambda)` above its minimum at most (Nesterov, Introductory Lectures on Convex
Optimization, 4.1). Linear inequalities (bounding ellipsoids, friction that is not negative) bound the steps, each of
which is a quadratic program; with its multipliers the Lagrangian is as self-concordant, and bounds the cost from below.
An interior-point method starts anew on its central path; these steps start from the minimum before.
"""

from dataclasses import dataclass

import numpy as np

from steelyard.fit.cone_solver import Solution
from steelyard.fit.constraints import ConstraintRows
from steelyard.fit.interior import GOOD
from steelyard.fit.prior import TRIANGLES
from steelyard.fit.program import Objective
from steelyard.fit.qr import least_squares, triangular_solve
from steelyard.inertia import cones
from steelyard.numbers import NEGLIGIBLE, ROUNDING, STEPS

HALVINGS = 30
DECREASE = 1e-4  # share of what the gradient promises that a step has to keep (Armijo)


def followed(objective: Objective, parameters) -> Solution | None:
    """The minimum of an entropic cost, from the minimum (p,) of a similar one.

    None where constraints are neither equalities nor linear inequalities, where no start is inside, or where Newton's
    steps get stuck.
    """
    linear = _linear(objective)
    if not objective.entropic_weight or linear is None:
        return None
    G, h = linear
    at = None
    for w in (_unknowns(objective, parameters), np.zeros(objective.size)):
        if at is None and (h - G @ w > -NEGLIGIBLE).all():
            at = _at(objective, w)
    for _ in range(STEPS):
        if at is None:
            return None
        room = np.maximum(h - G @ at.w, 0.0)
        step, multipliers = bounded_step(at.F, at.gradient, G, room)
        gap = at.gap(step) + float(multipliers @ room)
        if gap < GOOD * max(1.0, at.cost):
            return _solution(objective, at, gap)
        at = _stepped(objective, at, step)
    return None


def bounded_step(F, gradient, G, room) -> tuple[np.ndarray, np.ndarray]:
    """The step d (k,) that minimises `||F d||^2 / 2 + gradient . d` subject to `G d <= room`, and its multipliers (m,).

    A least-distance problem, solved by nonnegative least squares (Lawson and Hanson 1974, chapter 23). F: (k, k) upper
    triangular; room: (m,), not negative.
    """
    pull = triangular_solve(F, gradient, transposed=True)
    multipliers, moved = np.zeros(len(G)), -pull
    if len(G):
        B = triangular_solve(F, G.T, transposed=True)  # u = F d + pull is shortest with B^T u <= lack
        lack = room + B.T @ pull
        if (lack < 0).any():
            multipliers = _least_distance(B, lack)
            moved = moved - B @ multipliers
    return triangular_solve(F, moved), multipliers


def _least_distance(B, lack) -> np.ndarray:
    """(m,) multipliers of `B^T u <= lack` at the shortest u, `-B @ multipliers`."""
    from scipy.optimize import nnls

    size = np.linalg.norm(B, axis=0)
    units, bounds = B / size, lack / size
    reach = -bounds.min()
    found, _ = nnls(np.vstack([-units, -bounds / reach]), np.append(np.zeros(len(B)), 1.0))
    active = found > 0
    exact = np.zeros(len(lack))
    exact[active] = -least_squares(units[:, active], least_squares(units[:, active].T, bounds[active]))
    return np.maximum(exact, 0.0) / size


@dataclass(frozen=True, eq=False)
class _Followed:
    """w (k,), cost there, its gradient, and the triangular F of its Hessian `F^T F`. weight: of the entropic term."""

    w: np.ndarray
    cost: float
    gradient: np.ndarray
    F: np.ndarray
    weight: float

    def gap(self, step) -> float:
        """How far the Lagrangian here is above its minimum at most, with the multipliers of a step; infinite where that
        is not known."""
        decrement = float(np.linalg.norm(self.F @ step)) / np.sqrt(self.weight)
        return self.weight * (-decrement - np.log1p(-decrement)) if decrement < 1 else np.inf


def _linear(objective: Objective) -> tuple[np.ndarray, np.ndarray] | None:
    """G (m, k), h (m,) of the inequalities `G w <= h`; None where there are others."""
    inequalities = [each for each in objective.constraints if not each.equality and not each.definite]
    if any(kind != "nonnegative" or each.A_aux.shape[1] for each in inequalities for kind, _ in each.cones):
        return None
    A = np.concatenate([np.zeros((0, len(objective.start))), *(each.A for each in inequalities)])
    b = np.concatenate([np.zeros(0), *(each.b for each in inequalities)])
    G, h = A @ objective.directions, b - A @ objective.start
    length = np.linalg.norm(G, axis=1)
    moving = length > ROUNDING * length.max(initial=0.0)
    return G[moving], h[moving]


def _unknowns(objective: Objective, parameters) -> np.ndarray:
    """(k,) unknowns of parameters (p,) that meet all equalities."""
    moved = parameters - objective.start
    if objective.directions.shape[0] == objective.size:
        return np.linalg.solve(objective.directions, moved)
    unit = np.linalg.norm(objective.directions, axis=1)
    unit[unit == 0] = 1.0
    return least_squares(objective.directions / unit[:, None], moved / unit)


def _at(objective: Objective, w, *, cost: float | None = None) -> _Followed | None:
    """Cost and derivatives; None outside."""
    S = objective.relative(w)
    try:
        roots = np.linalg.inv(np.linalg.cholesky(S))
    except np.linalg.LinAlgError:
        return None
    weight, (F, t) = objective.entropic_weight, objective.quadratic
    slope = np.tensordot(np.eye(4) - roots.mT @ roots, TRIANGLES, axes=([1, 2], [1, 2]))
    gradient = F.T @ (F @ w - t) + weight * objective.spread.T @ slope.ravel()
    blocks = np.sqrt(weight) * cones.congruence_matrix(roots)
    bent = np.einsum("bij,bjk->bik", blocks, objective.spread.reshape(len(S), 10, objective.size))
    whole = np.asarray(np.linalg.qr(np.concatenate([F, bent.reshape(10 * len(S), objective.size)]), mode="r"))
    return _Followed(w, objective.cost(w) if cost is None else cost, gradient, whole, weight)


def _stepped(objective: Objective, at: _Followed, step) -> _Followed | None:
    """After a step, shortened until the cost falls."""
    length = 1.0
    for _ in range(HALVINGS):
        w = at.w + length * step
        cost = objective.cost(w)
        if cost <= at.cost + DECREASE * length * float(at.gradient @ step):
            return _at(objective, w, cost=cost)
        length /= 2
    return None


def _solution(objective: Objective, at: _Followed, gap: float) -> Solution | None:
    """None where a body lies beyond what a constraint says."""
    rows = ConstraintRows(tuple(objective.constraints))
    if (rows.depths(rows.slack(objective.parameters(at.w))) < -NEGLIGIBLE).any():
        return None
    entered = np.zeros(len(rows.constraints), dtype=bool)
    return Solution(at.w, (), gap / max(1.0, at.cost), at.cost, at.F, entered)
