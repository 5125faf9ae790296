"""Least squares over cones by a primal-dual interior-point method that goes along the central path as far as asked.

    min  1/2 ||F x - t||^2 + sum floor (tr S - log det S),   S = h - G x positive definite

The entropic prior of weight w is the point of the central path where `S Z = w 1`: the steps that solve a cone program,
where `S Z` goes to zero, stop there on the way, and a small weight is no harder than a large one.

Mehrotra's predictor and corrector in Nesterov and Todd's scaling (Vandenberghe 2010, "The CVXOPT linear and quadratic
cone program solvers"). Every step is a least-squares problem, solved by a QR decomposition: nothing is squared.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.fit.cone_blocks import Block, Scaled, products, scaled
from steelyard.inertia import cones

STEPS = 60  # the median problem takes 15, one in ten more than 30
BACK = 0.99  # of the way to the border that a step may go
CENTRED = 1e-3  # smallest eigenvalue of all `S Z`, relative to their mean, that a step leaves
SHORT = 0.1  # length of a step below which one towards the central path is tried
SHRINK = 0.8  # of a step that is not centred
SHRINKS = 12
GENTLE = (0.3, 0.1, 0.0)  # of the residuals that such a step removes
WIDE = 10.0  # factor by which a step towards the central path changes an eigenvalue at most
APART = 10.0  # slacks of the unconstrained optimum, relative to those of the start, that say how large slacks become
CLEAR = 0.1  # smallest eigenvalue of a slack, relative to its size, with which a start is not moved inside
TINY = 1e-2  # slack of a start on a border, in units of its constraint
UNREACHABLE = 1e-14  # of the largest singular value: directions in which no step moves a slack
LEAST = 1e-8  # mean eigenvalue of `S Z` at the start
# Gap, relative to the cost (and at least to COST), that ends the iteration; smooth costs gain digits at no risk.
DONE, SMOOTH = 1e-12, 1e-15
GOOD = 1e-10  # the same, where it ends as soon as a step gains little
GAINS = 0.5  # of the gap: a step that leaves more gains little
COST = 1e-6
LIFTS = (1.0, 1e3, 1e6)  # of that, one after the other, where multipliers must become larger than a start tells
STUCK = 3  # short steps in a row, without a point inside, that end a trial
MET = 1e-12  # error of the slacks, relative to their size, that is rounding
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
class Problem:
    """F: (r, k); t: (r,). Blocks with a floor bend the directions that F leaves flat. unexplained: part of the
    cost that no x changes."""

    F: np.ndarray
    t: np.ndarray
    blocks: Sequence[Block]
    unexplained: float = 0.0

    def cost(self, x) -> float:
        """Without the entropic part's constant."""
        value = self.unexplained + 0.5 * float(np.sum((self.F @ x - self.t) ** 2))
        for block in self.blocks:
            if block.floor:
                eigenvalues = np.linalg.eigvalsh(block.slack(x))
                value += block.floor * float(np.sum(eigenvalues - 1 - np.log(np.maximum(eigenvalues, 1e-300))))
        return value


def minimise(problem: Problem, start, *, pivoted: bool = False) -> Point | None:
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


def _followed(state: "_State") -> Point | None:
    best, since, short = None, 0, 0
    for _ in range(STEPS * (1 + state.pivoted)):
        try:
            state.factorise()
            found = state.certified()
            if found is not None:
                if best is None or found.gap < GAINS * best.gap:
                    best, since = found, 0
                else:
                    since += 1
                share = best.gap / max(COST, state.problem.cost(best.x))
                if share < (SMOOTH if state.smooth else DONE) or (since and share < GOOD) or since == STALLED:
                    break
            short = short + 1 if state.step() < SHORT else 0
            if best is None and short == STUCK:
                break
        except np.linalg.LinAlgError:  # on the border to rounding: no more digits
            break
    return best or state.inside()


def certified(problem: Problem, x, multipliers) -> Point | None:
    """A point x (k,) found otherwise, with the bound that its multipliers prove; None where it is not inside."""
    try:
        state = _State(problem, x, [block.slack(x) for block in problem.blocks], multipliers)
        state.factorise()
        return state.certified()
    except np.linalg.LinAlgError:
        return None


def effort(problem: Problem, x) -> float:
    """What the quadratic cost rises by a short way from x onto the borders that it is outside of."""
    outside = []
    for block in problem.blocks:
        S = block.slack(x)
        eigenvalues, vectors = np.linalg.eigh(S)
        moved = (vectors * np.maximum(-eigenvalues, 0.0)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
        outside.append(cones.triangle(moved).ravel())
    G = np.concatenate([block.G.reshape(-1, block.G.shape[2]) for block in problem.blocks])
    step = _least_squares(G, -np.concatenate(outside))
    return 0.5 * float(np.sum((problem.F @ step) ** 2))


def _least_squares(A, b) -> np.ndarray:
    from scipy.linalg import lstsq

    return np.asarray(lstsq(A, b, cond=UNREACHABLE, lapack_driver="gelsy", check_finite=False)[0])  # pyright: ignore


def _started(problem: Problem, x, pivoted: bool, lift: float) -> "_State":
    """Slacks at x moved inside, and multipliers with which all products are the same."""
    slacks = _inside(problem.blocks, x, None if pivoted else _unconstrained(problem))
    cost = 0.5 * float(np.sum((problem.F @ x - problem.t) ** 2))
    degree = sum(block.degree for block in problem.blocks)
    floors = [block.floor for block in problem.blocks]
    mean = lift * max([max(cost, effort(problem, x)) / degree, LEAST, *floors])
    return _State(problem, x, slacks, [mean * np.linalg.inv(S) for S in slacks], pivoted)


class _State:
    """An iterate: x, slacks S and multipliers Z of all blocks, and the factors that a step needs."""

    def __init__(self, problem: Problem, x, S, Z, pivoted: bool = False):
        self.problem, self.pivoted = problem, pivoted
        self.x, self.S, self.Z = np.array(x, dtype=float), list(S), list(Z)
        self.smooth = all(block.floor > 0 for block in problem.blocks)

    def factorise(self) -> None:
        problem = self.problem
        self.residual = problem.F @ self.x - problem.t
        self.missed = [S - block.slack(self.x) for block, S in zip(problem.blocks, self.S, strict=True)]
        self.scaled = [scaled(*each) for each in zip(problem.blocks, self.S, self.Z, strict=True)]
        self.rows = [each.rows for each in self.scaled]
        self.least_squares = _Factors(np.concatenate([problem.F, *self.rows]), self.pivoted)
        self.gradient = problem.F.T @ self.residual
        for each in self.scaled:
            self.gradient += each.block.pull(each.Z - each.block.floor * np.eye(each.block.n))
        self.means = {smooth: self._mean(smooth) for smooth in (False, True)}

    def _mean(self, smooth: bool) -> float:
        """Of the eigenvalues of `S Z`, over the blocks with or without a floor."""
        own = [each.eigenvalues.ravel() ** 2 for each in self.scaled if (each.block.floor > 0) == smooth]
        return float(np.mean(np.concatenate(own))) if own else 0.0

    def certified(self) -> Point | None:
        """x, where it is inside, with a bound of its cost above the minimum (weak duality).

        The bound needs multipliers that balance the gradient: the nearest to Z that do, if they are positive definite.
        """
        blocks = self.problem.blocks
        for S, missed in zip(self.S, self.missed, strict=True):
            if np.abs(missed).max() > MET * max(1.0, np.abs(S).max()):
                return None
        x = -self.least_squares.solve_normal(self.gradient)
        F = self.problem.F
        dual = self.residual + F @ x
        gap, remaining, terms = 0.5 * float(np.sum((F @ x) ** 2)), F.T @ dual, np.abs(F).T @ np.abs(dual)
        for block, each, rows in zip(blocks, self.scaled, self.rows, strict=True):
            change = cones.from_triangle((rows @ x).reshape(len(each.S), -1), block.n)
            if np.linalg.eigvalsh(each.diagonal + change).min() <= 0:
                return None
            Z = each.Z + each.unscaled_multiplier(change)
            eigenvalues = products(block.slack(self.x), Z)
            if eigenvalues.min() <= 0:
                return None
            if block.floor:
                relative = eigenvalues / block.floor
                gap += block.floor * float(np.sum(relative - 1 - np.log(relative)))
            else:
                gap += float(np.sum(eigenvalues))
            pulling = Z - block.floor * np.eye(block.n)
            remaining += block.pull(pulling)
            terms += np.tensordot(np.abs(cones.triangle(pulling)), np.abs(block.G), axes=2)
        reach = WIDER * np.maximum(np.abs(self.x), 1.0)
        return Point(self.x, gap + float((np.abs(remaining) + EPSILON * terms) @ reach), self.Z)

    def inside(self) -> Point | None:
        """x, where it is inside, with the bound that no cost is negative."""
        problem = self.problem
        if min(np.linalg.eigvalsh(block.slack(self.x)).min() for block in problem.blocks) <= 0:
            return None
        return Point(self.x, problem.cost(self.x) - problem.unexplained, self.Z)

    def step(self) -> float:
        """Go on; the length of the step."""
        floors = [each.block.floor for each in self.scaled]
        towards = [np.full_like(each.eigenvalues, floor) for each, floor in zip(self.scaled, floors, strict=True)]
        affine = self._direction(towards)
        reached = min(1.0, 1.0 / max(affine.room(self.scaled), 1e-300))
        share = (1.0 - reached) ** 3
        towards = [
            np.full_like(each.eigenvalues, max(share * self.means[floor > 0], floor))
            for each, floor in zip(self.scaled, floors, strict=True)
        ]
        bent = [(S @ Z + Z @ S) / 2 for S, Z in zip(affine.S, affine.Z, strict=True)]
        direction = self._direction(towards, bent)
        length = self._length(direction)
        if length < SHORT:
            towards = [
                np.clip(max(self.means[floor > 0], floor), own / WIDE, own * WIDE)
                for own, floor in zip((each.eigenvalues**2 for each in self.scaled), floors, strict=True)
            ]
            for remove in GENTLE:
                gentle = self._direction(towards, remove=remove)
                if (other := self._length(gentle)) > length:
                    direction, length = gentle, other
                if length > SHORT:
                    break
        self.x = self.x + length * direction.x
        for i, each in enumerate(self.scaled):
            change = each.block.change(direction.x) + direction.removed * self.missed[i]
            self.S[i] = self.S[i] - length * change
            self.Z[i] = self.Z[i] + length * each.unscaled_multiplier(direction.Z[i])
        return length

    def _direction(self, towards, bent=None, remove: float = 1.0) -> "_Direction":
        """The step to `S Z = towards`. bent: second-order terms (Mehrotra); remove: share of all residuals."""
        sides, wanted, missing = [remove * self.residual], [], []
        for i, each in enumerate(self.scaled):
            target = (towards[i] - each.eigenvalues**2)[:, :, None] * np.eye(each.block.n)
            wanted.append(each.over(target if bent is None else target - bent[i]))
            missing.append(remove * each.slack(self.missed[i]))
            pull = each.diagonal
            if each.block.floor:
                pull = pull - each.block.floor * np.swapaxes(each.to, 1, 2) @ each.to
            sides.append(cones.triangle(missing[i] + wanted[i] + remove * pull).ravel())
        x = self.least_squares.solve(-np.concatenate(sides))
        x = x - self.least_squares.solve_normal(self._remaining(x, wanted, missing, remove))
        S = [
            -cones.from_triangle((rows @ x).reshape(len(gone), -1), each.block.n) - gone
            for rows, gone, each in zip(self.rows, missing, self.scaled, strict=True)
        ]
        return _Direction(x, S, [want - own for want, own in zip(wanted, S, strict=True)], remove)

    def _remaining(self, x, wanted, missing, remove: float) -> np.ndarray:
        """(k,) gradient of the Lagrangian after a step x: large multipliers of the past have left digits behind."""
        gradient = remove * self.gradient + self.problem.F.T @ (self.problem.F @ x)
        for rows, want, gone in zip(self.rows, wanted, missing, strict=True):
            gradient += rows.T @ (cones.triangle(want + gone).ravel() + rows @ x)
        return gradient

    def _length(self, direction: "_Direction") -> float:
        """Longest step, 1 or less, that stays inside and near the central path."""
        length = min(1.0, BACK / max(direction.room(self.scaled), 1e-300))
        for _ in range(SHRINKS):
            if all(self._centred(direction, length, smooth) for smooth in (False, True)):
                break
            length *= SHRINK
        return length

    def _centred(self, direction, length: float, smooth: bool) -> bool:
        now, then = [], []
        for each, S, Z in zip(self.scaled, direction.S, direction.Z, strict=True):
            if (each.block.floor > 0) == smooth:
                now.append(each.eigenvalues.ravel() ** 2)
                then.append(products(each.diagonal + length * S, each.diagonal + length * Z).ravel())
        if not now:
            return True
        now, then = np.concatenate(now), np.concatenate(then)
        return then.min() / then.mean() >= min(CENTRED, 0.5 * now.min() / now.mean())


@dataclass(frozen=True, eq=False)
class _Direction:
    """Changes of x, and of slacks and multipliers, these scaled. removed: share of the residuals that goes."""

    x: np.ndarray
    S: list[np.ndarray]
    Z: list[np.ndarray]
    removed: float

    def room(self, blocks: Sequence[Scaled]) -> float:
        return max(max(each.room(S), each.room(Z)) for each, S, Z in zip(blocks, self.S, self.Z, strict=True))


class _Factors:
    """QR decomposition of A (m, k), m >= k: least squares and triangular solves.

    pivoted: columns by size, rows, too: errors are then small beside every row, not only beside the largest (Cox and
    Higham 1998).
    """

    def __init__(self, A, pivoted: bool):
        from scipy.linalg import get_lapack_funcs

        self.size = 1.0 / np.maximum(np.linalg.norm(A, axis=0), 1e-300)
        A = A * self.size
        self.columns = np.arange(A.shape[1])
        self.order = np.argsort(-np.abs(A).max(axis=1), kind="stable") if pivoted else np.arange(len(A))
        plain, with_pivots, self.apply = get_lapack_funcs(("geqrf", "geqp3", "ormqr"), (A,))
        if pivoted:
            self.QR, columns, self.tau, *_ = with_pivots(A[self.order])
            self.columns = columns - 1
        else:
            self.QR, self.tau, *_ = plain(A)
        if not np.isfinite(self.QR).all() or not np.diag(self.QR).all():
            raise np.linalg.LinAlgError

    def solve(self, b) -> np.ndarray:
        """(k,) minimiser of `||A x - b||`."""
        turned = self.apply("L", "T", self.QR, self.tau, b[self.order][:, None], lwork=64)[0][:, 0]
        size, x = len(self.columns), np.empty(len(self.columns))
        x[self.columns] = triangular_solve(self.QR[:size], turned[:size])
        return x * self.size

    def solve_normal(self, b) -> np.ndarray:
        """(k,) x of `A^T A x = b`."""
        x = np.empty(len(b))
        x[self.columns] = triangular_solve(self.QR[: len(b)], self.solve_transposed(b))
        return x * self.size

    def solve_transposed(self, b) -> np.ndarray:
        """(k,) `R^-T b`."""
        return triangular_solve(self.QR[: len(self.columns)], (b * self.size)[self.columns], transposed=True)


def triangular_solve(R, b, *, transposed: bool = False) -> np.ndarray:
    """`R^-1 b` of an upper triangle R, or `R^-T b`."""
    from scipy.linalg import solve_triangular

    return solve_triangular(R, b, trans=int(transposed), check_finite=False)


def _unconstrained(problem: Problem) -> np.ndarray:
    """(k,) minimum of the quadratic cost, with that of entropic costs at slacks of one."""
    rows, sides = [problem.F], [problem.t]
    for block in problem.blocks:
        if block.floor:
            rows.append(np.sqrt(block.floor) * block.G.reshape(-1, block.G.shape[2]))
            sides.append(np.zeros(block.h.size))
    return _least_squares(np.concatenate(rows), np.concatenate(sides))


def _inside(blocks: Sequence[Block], x, far) -> list[np.ndarray]:
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
