"""The global minimum of a `Program`, with a gap that is proven for the problem that was asked.

Where no constraint is active, a quadratic cost has its minimum in closed form. Most constraints are slack at the
optimum: only those that a point violates enter the interior-point method, and it is repeated until none is. Multipliers
of zero for the others make its bound one of the whole program.

Where our own method leaves a gap open, quadratic costs go to Clarabel, too. This file chooses constraints and ways;
steps are those of `interior`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from steelyard.fit.cone_blocks import ConeBlock, blocks_of
from steelyard.fit.constraints import ConstraintRows
from steelyard.fit.interior import ConeProblem, Point, certified, effort, minimise
from steelyard.fit.program import Infeasible, Objective
from steelyard.fit.qr import triangular_solve
from steelyard.inertia import cones
from steelyard.numbers import ROUNDS, SAME

PROVEN = 1e-8  # gap, relative to the cost (at least 1), above which another way is tried
ROUGH = 1e-5  # the same where costs are compared only: 0.01 nats in a fit of a thousand independent samples
# Tolerances asked of Clarabel, one after the other.
CLARABEL_EXACT, CLARABEL_ROUGH = (1e-11, 1e-9), (1e-9, 1e-7)
MARGIN = 10.0  # times the tolerance: kept clear of every border, so that the tolerance cannot cross it


@dataclass(frozen=True, eq=False)
class Solution:
    """Minimiser w (k,), auxiliary variables of the constraints that have some, certified duality gap relative to the
    cost (at least 1), cost, and the triangular factor F of its Hessian."""

    w: np.ndarray
    aux: tuple[np.ndarray, ...]
    gap: float
    cost: float
    F: np.ndarray
    entered: np.ndarray  # which inequalities were looked at


def minimum(program: Objective, *, like: Solution | None = None, rough: bool = False) -> Solution:
    """The global minimum. like: solution of a similar program. rough: a gap of ROUGH will do. Raises Infeasible."""
    rows = ConstraintRows(tuple(each for each in program.constraints if not each.equality))
    entered = rows.free.copy()
    if program.entropic_weight:  # the cost itself keeps bodies consistent, as a rule by far
        entered |= np.array([not each.definite for each in rows.constraints], dtype=bool)
    if like is not None:
        entered |= like.entered
    trial = 0
    while True:
        found, missed = _round(program, rows, entered, rough)
        if not missed.any():
            break
        trial += 1
        entered = entered | missed | (trial == ROUNDS)
    cost = program.cost(found.w)
    return Solution(found.w, found.aux, found.gap / max(1.0, cost), cost, program.hessian(found.w), entered)


@dataclass(frozen=True, eq=False)
class _Minimum:
    """w (k,), auxiliary variables, and how far the cost is above the minimum at most."""

    w: np.ndarray
    aux: tuple[np.ndarray, ...]
    gap: float


def _round(program: Objective, rows: ConstraintRows, entered, rough: bool) -> tuple[_Minimum, np.ndarray]:
    """A minimum within the constraints that entered, and which of the others it misses; its gap is closed, if that can
    be, where it misses none: where more have to enter, no digits are needed. Raises Infeasible."""
    minima = _minima(program, rows.only(entered), rough)
    found = next(minima)
    while True:
        missed = entered & False
        if rows.constraints:
            slack = rows.slack(program.parameters(found.w))
            missed = ~entered & (rows.depths(slack) < 0)
        closed = found.gap < (ROUGH if rough else PROVEN) * max(1.0, program.cost(found.w))
        better = None if closed or missed.any() else next(minima, None)
        if better is None:
            return found, missed
        found = better


def _minima(program: Objective, rows: ConstraintRows, rough: bool) -> Iterator[_Minimum]:
    """The minimum subject to some of the constraints, each time by another way and better. Raises Infeasible."""
    F, target = program.quadratic
    if not program.size and not rows.free.any():  # equalities settle everything
        yield _Minimum(np.zeros(0), (), 0.0)
        return
    if not rows.constraints and not program.entropic_weight:
        yield _Minimum(triangular_solve(F, target), (), 0.0)
        return
    free = _Free(rows, program.size)
    start = np.zeros(program.size + free.count)
    target = np.append(target, np.zeros(free.count))
    problem = ConeProblem(free.factor(F), target, _blocks(program, rows, free), program.residual.remainder)
    ways = [lambda: minimise(problem, start), lambda: minimise(problem, start, pivoted=True)]
    if not program.entropic_weight:
        short, whole, to_short = _spanned(problem, program.size, start)
        ways = [lambda: whole(minimise(short, to_short)), ways[1], lambda: whole(_by_clarabel(short, to_short))]
        if rough:
            ways = [lambda: whole(_by_clarabel(short, to_short, rough=True)), *ways[:2]]
        elif free.count:  # many small cones that share one body: few of Clarabel's steps, hundreds of ours
            ways = [ways[2], *ways[:2]]
    best = None
    for way in ways:
        point = way()
        if point is not None and (best is None or point.gap < best.gap):
            best = point
            yield _Minimum(best.x[: program.size], free.parts(best.x[program.size :]), best.gap)
    if best is None:
        raise Infeasible("No parameters satisfy all constraints.")


def _spanned(problem: ConeProblem, size: int, start):
    """A quadratic problem in the steps from its free minimum that the rows span (others only cost), the way back to a
    point of it, and the start in these unknowns. size: number of unknowns that cost; the others are auxiliary.

    Steps are taken in `u = F x - t`: directions that the data fixes to many digits become tiny columns of the
    constraints instead of huge entries of the cost.
    """
    F, count = problem.F[:size, :size], problem.F.shape[1] - size
    middle = np.append(triangular_solve(F, problem.t[:size]), np.zeros(count))
    rows = np.concatenate([block.G[:, :, :size].reshape(-1, size) for block in problem.blocks])
    basis = np.eye(size)
    if len(rows) < size:
        basis = np.linalg.qr(triangular_solve(F, rows.T, transposed=True))[0]
    width = basis.shape[1]
    to = np.zeros((size + count, width + count))
    to[:size, :width] = triangular_solve(F, basis)
    to[size:, width:] = np.eye(count)
    blocks = [block.substituted(to, middle) for block in problem.blocks]
    cost = np.diag(np.append(np.ones(width), np.diag(problem.F)[size:]))
    short = ConeProblem(cost, np.zeros(width + count), blocks, problem.unexplained)

    def whole(found: Point | None) -> Point | None:
        return None if found is None else certified(problem, middle + to @ found.x, found.multipliers)

    return short, whole, np.append(basis.T @ (F @ (start - middle)[:size]), np.zeros(count))


def _blocks(program: Objective, rows: ConstraintRows, free: "_Free") -> list[ConeBlock]:
    blocks = []
    if rows.constraints:
        G = np.column_stack([rows.A @ program.directions, free.columns])
        blocks = blocks_of(rows, G, rows.slack(program.start))
    if program.entropic_weight:
        G = np.column_stack([-program.spread, np.zeros((len(program.spread), free.count))])
        h = np.tile(cones.triangle(np.eye(4)), program.body_count) + program.offset
        shape = (program.body_count, 10)
        blocks.append(ConeBlock(G.reshape(*shape, G.shape[1]), h.reshape(shape), 4, program.entropic_weight))
    return blocks


class _Free:
    """Auxiliary variables of all constraints that have some, side by side, each in units of its column."""

    def __init__(self, rows: ConstraintRows, size: int):
        self.own = [each.A_aux for each in rows.constraints if each.A_aux.shape[1]]
        self.units = [1.0 / np.maximum(np.linalg.norm(A, axis=0), 1e-300) for A in self.own]
        self.count = sum(len(unit) for unit in self.units)
        self.columns = np.zeros((len(rows.b) if rows.constraints else 0, self.count))
        starts = np.cumsum([0, *(len(unit) for unit in self.units)])
        parts = zip(np.flatnonzero(rows.free), self.own, self.units, starts[:-1], strict=True)
        for where, A, unit, start in parts:
            self.columns[rows.places[where], start : start + len(unit)] = A * unit

    def factor(self, F) -> np.ndarray:
        """F with a little cost of these variables, which picks the smallest where the cost leaves them open."""
        whole = np.zeros((len(F) + self.count, F.shape[1] + self.count))
        whole[: len(F), : F.shape[1]] = F
        whole[len(F) :, F.shape[1] :] = SAME * np.eye(self.count)
        return whole

    def parts(self, values) -> tuple[np.ndarray, ...]:
        """Of each constraint, in its own units."""
        places = np.cumsum([len(unit) for unit in self.units])[:-1]
        return tuple(unit * part for unit, part in zip(self.units, np.split(values, places), strict=False))


def _by_clarabel(problem: ConeProblem, start, *, rough: bool = False) -> Point | None:
    """The minimum by Clarabel: quick where few constraints bind, and independent of our own method.

    The solver is kept inside every cone by more than its tolerance; what that costs is part of the gap, which is of the
    problem that was asked. Of a problem with a diagonal F, t = 0 and no floors; None where it finds no point inside.

    start: (k,), a point that tells how long steps are. rough: a gap of some 1e-7 of the cost will do.
    """
    size = problem.F.shape[1]
    scale = max(1.0, np.sqrt(2 * effort(problem, start)))  # a start inside says nothing
    G = scale * np.concatenate([block.G.reshape(-1, size) for block in problem.blocks])
    h = np.concatenate([block.h.ravel() for block in problem.blocks])
    units = np.concatenate([np.tile(cones.triangle(np.eye(block.n)), len(block.h)) for block in problem.blocks])
    kinds = [
        ("nonnegative", len(b.h)) if b.n == 1 else ("psd", b.n)
        for b in problem.blocks
        for _ in range(1 if b.n == 1 else len(b.h))
    ]
    P = np.diag(np.diag(problem.F) ** 2)
    for tolerance in CLARABEL_ROUGH if rough else CLARABEL_EXACT:
        found = cones.by_clarabel(P, np.zeros(size), G, h - MARGIN * tolerance * units, kinds, tolerance)
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
