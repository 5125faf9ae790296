"""Least squares over cones by a primal-dual interior-point method that goes along the central path as far as asked.

    min  1/2 ||F x - t||^2 + sum floor (tr S - log det S),   S = h - G x positive definite

The entropic prior of weight w is the point of the central path where `S Z = w 1`: the steps that solve a cone program,
where `S Z` goes to zero, stop there on the way, and a small weight is no harder than a large one.

Mehrotra's predictor and corrector in Nesterov and Todd's scaling (Vandenberghe 2010, "The CVXOPT linear and quadratic
cone program solvers"). Every step is a least-squares problem, solved by a QR decomposition: nothing is squared.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.fit.cone_blocks import ConeBlock, Scaled, products
from steelyard.fit.qr import Factors, least_squares
from steelyard.inertia import cones
from steelyard.numbers import NEGLIGIBLE, ROUNDING, SAME, STEPS

BACK = 0.99  # of the way to the border that a step may go
CENTRE = 0.02  # of that mean, which a step aims at, at least: half as many steps where constraints nearly bind
CENTRED = 1e-3  # smallest eigenvalue of all `S Z`, relative to their mean, that a step leaves
SHORT = 0.1  # length of a step below which one towards the central path is tried
SHRINK = 0.8  # of a step that is not centred
SHRINKS = 12
GENTLE = (0.3, 0.1, 0.0)  # of the residuals that such a step removes
WIDE = 10.0  # factor by which a step towards the central path changes an eigenvalue at most
APART = 10.0  # slacks of the unconstrained optimum, relative to those of the start, that say how large slacks become
CLEAR = 0.1  # smallest eigenvalue of a slack, relative to its size, with which a start is not moved inside
TINY = 1e-2  # slack of a start on a border, in units of its constraint
LEAST = 1e-8  # mean eigenvalue of `S Z` at the start
# Gap, relative to the cost (and at least to SAME), that ends the iteration; smooth costs gain digits at no risk.
DONE, SMOOTH = 1e-12, 1e-15
GOOD = 1e-10  # the same, where it ends as soon as a step gains little
GAINS = 0.5  # of the gap: a step that leaves more gains little
LIFTS = (1.0, 1e3, 1e6)  # of that, one after the other, where multipliers must become larger than a start tells
STUCK = 3  # short steps in a row, without a point inside, that end a trial
WIDER = 2.0  # how much further from the prior than the point found the optimum may lie in any unknown
EPSILON = 4 * np.finfo(float).eps  # of the terms of a sum: its rounding
STALLED = 8  # steps without a smaller gap, once there is a point inside, after which there are no more digits


@dataclass(frozen=True, eq=False)
class Point:
    """x (k,), inside all cones, and how far its cost is above the minimum at most."""

    x: np.ndarray
    gap: float
    multipliers: list[np.ndarray]


@dataclass(frozen=True, eq=False)
class ConeProblem:
    """F: (r, k); t: (r,). Blocks with a floor bend the directions that F leaves flat. unexplained: part of the
    cost that no x changes."""

    F: np.ndarray
    t: np.ndarray
    blocks: Sequence[ConeBlock]
    unexplained: float = 0.0

    def cost(self, x) -> float:
        """Without the entropic part's constant."""
        value = self.unexplained + 0.5 * float(np.sum((self.F @ x - self.t) ** 2))
        for block in self.blocks:
            if block.floor:
                eigenvalues = np.linalg.eigvalsh(block.slack(x))
                value += block.floor * float(np.sum(eigenvalues - 1 - np.log(np.maximum(eigenvalues, 1e-300))))
        return value

    @cached_property
    def G(self) -> np.ndarray:
        """(m, k) of all blocks, one below the other."""
        return np.concatenate([block.G.reshape(-1, self.F.shape[1]) for block in self.blocks])

    @cached_property
    def h(self) -> np.ndarray:
        """(m,) of all blocks."""
        return np.concatenate([block.h.ravel() for block in self.blocks])

    @cached_property
    def sizes(self) -> np.ndarray:
        """(m, k) magnitudes of G."""
        return np.abs(self.G)

    @cached_property
    def places(self) -> list[tuple[slice, tuple[int, int]]]:
        """Rows of each block in G, and how many of how many numbers."""
        stops = np.cumsum([block.h.size for block in self.blocks]).tolist()
        return [
            (slice(stop - block.h.size, stop), block.h.shape) for stop, block in zip(stops, self.blocks, strict=True)
        ]

    def matrices(self, rows) -> list[np.ndarray]:
        """(c, n, n) of each block, from triangles (m,)."""
        return [
            cones.from_triangle(rows[at].reshape(shape), block.n)
            for (at, shape), block in zip(self.places, self.blocks, strict=True)
        ]


def minimise(problem: ConeProblem, start, *, pivoted: bool = False) -> Point | None:
    """The minimum, from a start (k,); None where no point inside is found.

    pivoted: rows and columns of the least-squares problems in order of size, which keeps more digits and takes longer;
    the slacks start at those of the start, not at the size that they have in the unconstrained optimum.
    """
    for lift in LIFTS:
        try:
            found = _followed(_started(problem, start, pivoted, lift))
        except np.linalg.LinAlgError:  # not even a start: numbers that are not finite
            return None
        if found is not None:
            return found
    return None


def _followed(state: "_Iterate") -> Point | None:
    best, least, since, short, inside = None, np.inf, 0, 0, []
    try:
        for _ in range(STEPS * (1 + state.pivoted)):
            if state.inside:
                inside.append((state.x, state.scaled))
                found = state.certified() if state.gap < NEGLIGIBLE * max(SAME, state.least_cost) else None
                gap = state.gap if found is None else found.gap
                least, since = (gap, 0) if gap < GAINS * least else (least, since + 1)
                if found is not None:
                    best = found if best is None or found.gap < best.gap else best
                    share = best.gap / max(SAME, state.problem.cost(best.x))
                    if share < state.done or (since and share < GOOD):
                        break
                if since == STALLED:
                    break
            state, length = state.stepped()
            short = short + 1 if length < SHORT else 0
            if not inside and short == STUCK:
                break
    except np.linalg.LinAlgError:  # on the border to rounding: no more digits
        pass
    for x, scaled in reversed(inside):
        if best is not None:
            break
        best = _Iterate(state.problem, x, scaled, state.pivoted).certified()
    return best or state.trivial()


def certified(problem: ConeProblem, x, multipliers) -> Point | None:
    """A point x (k,) found otherwise, with the bound that its multipliers prove; None where it is not inside."""
    try:
        pairs = zip(problem.blocks, multipliers, strict=True)
        return _Iterate(problem, x, [Scaled.at(block, np.array([block.slack(x), Z])) for block, Z in pairs]).certified()
    except np.linalg.LinAlgError:
        return None


def effort(problem: ConeProblem, x) -> float:
    """What the quadratic cost rises by a short way from x onto the borders that it is outside of."""
    outside = []
    for block in problem.blocks:
        S = block.slack(x)
        eigenvalues, vectors = np.linalg.eigh(S)
        moved = (vectors * np.maximum(-eigenvalues, 0.0)[:, None, :]) @ vectors.mT
        outside.append(cones.triangle(moved).ravel())
    step = least_squares(problem.G, -np.concatenate(outside))
    return 0.5 * float(np.sum((problem.F @ step) ** 2))


def _started(problem: ConeProblem, x, pivoted: bool, lift: float) -> "_Iterate":
    """Slacks at x moved inside, and multipliers with which all products are the same."""
    slacks = _inside(problem.blocks, x, None if pivoted else _unconstrained(problem))
    cost = 0.5 * float(np.sum((problem.F @ x - problem.t) ** 2))
    degree = sum(block.degree for block in problem.blocks)
    floors = [block.floor for block in problem.blocks]
    mean = lift * max([max(cost, effort(problem, x)) / degree, LEAST, *floors])
    pairs = zip(problem.blocks, slacks, strict=True)
    scaled = [Scaled.at(block, np.array([S, mean * np.linalg.inv(S)])) for block, S in pairs]
    return _Iterate(problem, x, scaled, pivoted)


class _Iterate:
    """x (k,), slacks S and multipliers Z of all blocks, scaled, and the factors that a step needs."""

    def __init__(self, problem: ConeProblem, x, scaled: Sequence[Scaled], pivoted: bool = False):
        self.problem, self.x, self.scaled, self.pivoted = problem, np.asarray(x, dtype=float), scaled, pivoted
        self.residual = problem.F @ self.x - problem.t
        slacks = problem.matrices(problem.h - problem.G @ self.x)
        self.missed = [each.S - slack for each, slack in zip(scaled, slacks, strict=True)]
        self.A = np.concatenate([problem.F, *(each.rows for each in scaled)])
        self.factors = Factors(self.A, pivoted)
        self.gradient = problem.F.T @ self.residual + _triangles([each.pull for each in scaled]) @ problem.G

    @cached_property
    def inside(self) -> bool:
        """Whether slacks are those of x."""
        return all(
            np.abs(missed).max() <= ROUNDING * max(1.0, np.abs(each.S).max())
            for each, missed in zip(self.scaled, self.missed, strict=True)
        )

    @cached_property
    def missing(self) -> np.ndarray:
        """(m,) triangles of what slacks miss, scaled."""
        return _triangles([each.slack(missed) for each, missed in zip(self.scaled, self.missed, strict=True)])

    @cached_property
    def pull(self) -> np.ndarray:
        """(m,) triangles of what pulls at the slacks, scaled."""
        return _triangles([each.scaled_pull for each in self.scaled])

    @cached_property
    def products(self) -> dict[bool, np.ndarray]:
        """Eigenvalues of `S Z` of all blocks with a floor, and of all without, where there are any."""
        return _by_smoothness(self.scaled)

    @property
    def done(self) -> float:
        """Gap, relative to the cost, that ends the iteration."""
        return SMOOTH if all(each.smooth for each in self.scaled) else DONE

    @cached_property
    def least_cost(self) -> float:
        """The cost, without what is entropic."""
        return self.problem.unexplained + 0.5 * float(self.residual @ self.residual)

    @cached_property
    def gap(self) -> float:
        """How far the cost is above the minimum, were x inside and the gradient balanced by the multipliers."""
        return sum(_complementarity(each.products, each.block.floor) for each in self.scaled)

    def certified(self) -> Point | None:
        """x, where it is inside, with a bound of its cost above the minimum (weak duality).

        The bound needs multipliers that balance the gradient: the nearest to Z that do, if they are positive definite.
        """
        if not self.inside:
            return None
        problem, F = self.problem, self.problem.F
        x = -self.factors.solve_normal(self.gradient)
        moved = self.A @ x
        dual, gap = self.residual + moved[: len(F)], 0.5 * float(np.sum(moved[: len(F)] ** 2))
        pulls, multipliers = [], []
        for each, change in zip(self.scaled, problem.matrices(moved[len(F) :]), strict=True):
            if np.linalg.eigvalsh(each.diagonal + change).min() <= 0:
                return None
            multipliers.append(each.Z + each.unscaled_multiplier(change))
            eigenvalues = products(each.block.slack(self.x), multipliers[-1])
            if eigenvalues.min() <= 0:
                return None
            gap += _complementarity(eigenvalues, each.block.floor)
            pulls.append(multipliers[-1] - each.block.floor * each.block.unit)
        pull = _triangles(pulls)
        remaining = F.T @ dual + pull @ problem.G
        terms = np.abs(dual) @ np.abs(F) + np.abs(pull) @ problem.sizes
        reach = WIDER * np.maximum(np.abs(self.x), 1.0)
        gap += float((np.abs(remaining) + EPSILON * terms) @ reach)
        return Point(self.x, gap, [each.Z for each in self.scaled])

    def trivial(self) -> Point | None:
        """x, where it is inside, with the bound that no cost is negative."""
        problem = self.problem
        if min(np.linalg.eigvalsh(block.slack(self.x)).min() for block in problem.blocks) <= 0:
            return None
        return Point(self.x, problem.cost(self.x) - problem.unexplained, [each.Z for each in self.scaled])

    def stepped(self) -> tuple["_Iterate", float]:
        """The next iterate, and the length of the step to it."""
        affine = self._direction([each.block.floor for each in self.scaled], refined=False)
        share = max((1.0 - min(1.0, 1.0 / affine.room)) ** 3, CENTRE)
        means = {smooth: float(own.mean()) for smooth, own in self.products.items()}
        direction = self._direction([max(share * means[e.smooth], e.block.floor) for e in self.scaled], affine.pairs)
        length, moved = self._moved(direction)
        if length < SHORT:
            towards = [
                np.clip(max(means[each.smooth], each.block.floor), each.products / WIDE, each.products * WIDE)
                for each in self.scaled
            ]
            for remove in GENTLE:
                gentle = self._direction(towards, remove=remove)
                other = self._moved(gentle)
                if other[0] > length:
                    direction, (length, moved) = gentle, other
                if length > SHORT:
                    break
        return _Iterate(self.problem, self.x + length * direction.x, moved, self.pivoted), length

    def _direction(self, towards, bent=None, remove: float = 1.0, *, refined: bool = True) -> "_Direction":
        """The step to `S Z = towards`. bent: scaled changes whose products count (Mehrotra); remove: share of all
        residuals; refined: with all digits."""
        bent = [None] * len(towards) if bent is None else bent
        wanted = [each.towards(*aim) for each, *aim in zip(self.scaled, towards, bent, strict=True)]
        r, aims, missing = len(self.residual), _triangles(wanted), remove * self.missing
        x = -self.factors.solve(np.concatenate([remove * self.residual, missing + aims + remove * self.pull]))
        if refined:  # large multipliers of the past have left digits behind: the gradient of the Lagrangian then
            change = self.A @ x
            change[r:] += aims + missing
            x = x - self.factors.solve_normal(remove * self.gradient + change @ self.A)
        slacks = self.problem.matrices(self.A[r:] @ x + missing)
        pairs = [np.array([-S, want + S]) for S, want in zip(slacks, wanted, strict=True)]
        return _Direction(x, remove, pairs, max(1e-300, *(e.room(p) for e, p in zip(self.scaled, pairs, strict=True))))

    def _moved(self, direction: "_Direction") -> tuple[float, list[Scaled]]:
        """Longest step, 1 or less, that stays inside and near the central path, and the blocks after it."""
        changes = [
            np.array([-change - direction.removed * missed, each.unscaled_multiplier(pair[1])])
            for each, change, missed, pair in zip(
                self.scaled,
                self.problem.matrices(self.problem.G @ direction.x),
                self.missed,
                direction.pairs,
                strict=True,
            )
        ]
        length = min(1.0, BACK / direction.room)
        for _ in range(SHRINKS):
            try:
                moved = _along(self.scaled, changes, length)
                if self._centred(moved):
                    return length, moved
            except np.linalg.LinAlgError:
                pass
            length *= SHRINK
        return length, _along(self.scaled, changes, length)

    def _centred(self, moved: Sequence[Scaled]) -> bool:
        then = _by_smoothness(moved)
        return all(
            then[smooth].min() / then[smooth].mean() >= min(CENTRED, 0.5 * own.min() / own.mean())
            for smooth, own in self.products.items()
        )


@dataclass(frozen=True, eq=False)
class _Direction:
    """Change of x, and changes (2, c, n, n) of slacks and multipliers of each block, scaled."""

    x: np.ndarray
    removed: float  # share of the residuals that goes
    pairs: list[np.ndarray]
    room: float  # share of the way to the border that it covers


def _along(blocks: Sequence[Scaled], changes, length: float) -> list[Scaled]:
    """Blocks after a step. Raises LinAlgError where they are outside."""
    return [Scaled.at(e.block, e.pair + length * change) for e, change in zip(blocks, changes, strict=True)]


def _by_smoothness(blocks: Sequence[Scaled]) -> dict[bool, np.ndarray]:
    found: dict[bool, list[np.ndarray]] = {}
    for each in blocks:
        found.setdefault(each.smooth, []).append(each.products.ravel())
    return {smooth: own[0] if len(own) == 1 else np.concatenate(own) for smooth, own in found.items()}


def _complementarity(eigenvalues, floor: float) -> float:
    """Part of the gap that eigenvalues (c, n) of `S Z` make."""
    if not floor:
        return float(eigenvalues.sum())
    relative = eigenvalues / floor
    return floor * float(np.sum(relative - 1 - np.log(relative)))


def _triangles(matrices: Sequence[np.ndarray]) -> np.ndarray:
    """(m,) of all blocks (c, n, n)."""
    if len(matrices) == 1:
        return cones.triangle(matrices[0]).ravel()
    return np.concatenate([cones.triangle(each).ravel() for each in matrices])


def _unconstrained(problem: ConeProblem) -> np.ndarray:
    """(k,) minimum of the quadratic cost, with that of entropic costs at slacks of one."""
    rows, sides = [problem.F], [problem.t]
    for block in problem.blocks:
        if block.floor:
            rows.append(np.sqrt(block.floor) * block.G.reshape(-1, block.G.shape[2]))
            sides.append(np.zeros(block.h.size))
    return least_squares(np.concatenate(rows), np.concatenate(sides))


def _inside(blocks: Sequence[ConeBlock], x, far) -> list[np.ndarray]:
    """(c, n, n) slacks at x, those on or outside a border moved inside by as much as the worst is outside; multiples of
    one where those far away are much larger."""
    spectra = [np.linalg.eigvalsh(block.slack(x)) for block in blocks]
    worst = max(TINY, -min(each.min() for each in spectra))
    slacks = []
    for block, eigenvalues in zip(blocks, spectra, strict=True):
        least, size = eigenvalues[:, 0], np.abs(eigenvalues).max(axis=1)
        out = least < CLEAR * np.maximum(size, TINY)
        size = np.where(out, np.maximum(size, worst), size)
        S = block.slack(x) + np.where(out, size - np.minimum(least, 0.0), 0.0)[:, None, None] * np.eye(block.n)
        if far is not None:
            away = np.abs(np.linalg.eigvalsh(block.slack(far))).max(axis=1)
            large = away > APART * size
            S[large] = away[large, None, None] * np.eye(block.n)
        slacks.append(S)
    return slacks
