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
WIDE = 10.0  # factor by which a step towards the central path changes an eigenvalue at most
APART = 10.0  # slacks of the unconstrained optimum, relative to those of the start, that say how large slacks become
CLEAR = 0.1  # smallest eigenvalue of a slack, relative to its size, with which a start is not moved inside
TINY = 1e-2  # slack of a start on a border, in units of its constraint
LEAST = 1e-8  # mean eigenvalue of `S Z` at the start
DONE = 1e-10  # gap, relative to the cost (and at least that of COST), with which the iteration ends
COST = 1e-6
MET = 1e-12  # error of the slacks, relative to their size, that is rounding
STALLED = 8  # steps without a smaller gap, once there is a point inside, after which there are no more digits


@dataclass(frozen=True, eq=False)
class Point:
    """x (k,), inside all cones, and how far its cost is above the minimum at most."""

    x: np.ndarray
    gap: float


@dataclass(frozen=True, eq=False)
class Problem:
    """F: (r, k), triangular and regular unless a block has a floor; t: (r,). unexplained: part of the cost that no x
    changes."""

    F: np.ndarray
    t: np.ndarray
    blocks: Sequence[Block]
    unexplained: float = 0.0

    @property
    def smooth(self) -> bool:
        """Whether an entropic cost bends every direction."""
        return any(block.floor > 0 for block in self.blocks)

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
    try:
        return _followed(_State(problem, start, pivoted))
    except np.linalg.LinAlgError:  # not even a start: numbers that are not finite
        return None


def _followed(state: "_State") -> Point | None:
    best, since = None, 0
    for _ in range(STEPS * (1 + state.pivoted)):
        try:
            state.factorise()
            found = state.certified()
            if found is not None:
                better = best is None or found.gap < 0.9 * best.gap
                best, since = (found, 0) if better else (best, since + 1)
                if found.gap < DONE * max(COST, state.problem.cost(found.x)) or since == STALLED:
                    break
            state.step()
        except np.linalg.LinAlgError:  # on the border to rounding: no more digits
            break
    return best


class _State:
    """An iterate: x, slacks S and multipliers Z of all blocks, and the factors that a step needs."""

    def __init__(self, problem: Problem, start, pivoted: bool):
        self.problem, self.pivoted = problem, pivoted
        self.x = np.array(start, dtype=float)
        blocks = problem.blocks
        far = None if pivoted else _unconstrained(problem)
        self.S = [_inside(block, self.x, far) for block in blocks]
        cost = 0.5 * float(np.sum((problem.F @ self.x - problem.t) ** 2))
        degree = sum(block.degree for block in blocks)
        mean = max([cost / degree, LEAST, *(block.floor for block in blocks)])
        self.Z = [mean * np.linalg.inv(S) for S in self.S]

    def factorise(self) -> None:
        blocks = self.problem.blocks
        self.residual = self.problem.F @ self.x - self.problem.t
        self.missed = [S - block.slack(self.x) for block, S in zip(blocks, self.S, strict=True)]
        self.scaled = [scaled(*each) for each in zip(blocks, self.S, self.Z, strict=True)]
        self.rows = [each.rows for each in self.scaled]
        self.least_squares = _Factors(np.concatenate([self.problem.F, *self.rows]), self.pivoted)
        self.means = {smooth: self._mean(smooth) for smooth in (False, True)}

    def _mean(self, smooth: bool) -> float:
        """Of the eigenvalues of `S Z`, over the blocks with or without a floor."""
        own = [each.eigenvalues.ravel() ** 2 for each in self.scaled if (each.block.floor > 0) == smooth]
        return float(np.mean(np.concatenate(own))) if own else 0.0

    def certified(self) -> Point | None:
        """x, where it is inside, with a bound of its cost above the minimum from the multipliers (weak duality).

        Where entropic costs bend every direction, an error of the gradient is measured by their curvature: the cost is
        self-concordant, and near the minimum the bound is right to a factor of two.
        """
        gap, gradient = 0.0, self.problem.F.T @ self.residual
        for each, missed in zip(self.scaled, self.missed, strict=True):
            block = each.block
            if np.abs(missed).max() > MET * max(1.0, np.abs(each.S).max()):
                return None
            eigenvalues = products(block.slack(self.x), each.Z)
            if eigenvalues.min() <= 0:
                return None
            if block.floor:
                relative = eigenvalues / block.floor
                gap += block.floor * float(np.sum(relative - 1 - np.log(relative)))
            else:
                gap += float(np.sum(eigenvalues))
            gradient += block.pull(each.Z - block.floor * np.eye(block.n))
        if self.problem.smooth:
            error = self.least_squares.solve_transposed(gradient)
            return Point(self.x, gap + float(error @ error))
        return Point(self.x, gap + 0.5 * float(np.sum(_transposed(self.problem.F, gradient) ** 2)))

    def step(self) -> None:
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
            centring = self._direction(towards, remove=0.0)
            if (other := self._length(centring)) > length:
                direction, length = centring, other
        self.x = self.x + length * direction.x
        for i, each in enumerate(self.scaled):
            change = each.block.change(direction.x) + direction.removed * self.missed[i]
            self.S[i] = self.S[i] - length * change
            self.Z[i] = self.Z[i] + length * each.unscaled_multiplier(direction.Z[i])

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
        S = [
            -cones.from_triangle((rows @ x).reshape(len(gone), -1), each.block.n) - gone
            for rows, gone, each in zip(self.rows, missing, self.scaled, strict=True)
        ]
        return _Direction(x, S, [want - own for want, own in zip(wanted, S, strict=True)], remove)

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
        from scipy.linalg import lapack

        self.size = 1.0 / np.maximum(np.linalg.norm(A, axis=0), 1e-300)
        A = A * self.size
        self.columns = np.arange(A.shape[1])
        self.order = np.argsort(-np.abs(A).max(axis=1), kind="stable") if pivoted else np.arange(len(A))
        if pivoted:
            self.QR, columns, self.tau, *_ = lapack.dgeqp3(A[self.order])
            self.columns = columns - 1
        else:
            self.QR, self.tau, *_ = lapack.dgeqrf(A)
        if not np.isfinite(self.QR).all() or not np.diag(self.QR).all():
            raise np.linalg.LinAlgError

    def solve(self, b) -> np.ndarray:
        """(k,) minimiser of `||A x - b||`."""
        from scipy.linalg import lapack, solve_triangular

        turned = lapack.dormqr("L", "T", self.QR, self.tau, b[self.order][:, None], lwork=64)[0][:, 0]
        size, x = len(self.columns), np.empty(len(self.columns))
        x[self.columns] = solve_triangular(self.QR[:size], turned[:size], check_finite=False)
        return x * self.size

    def solve_transposed(self, b) -> np.ndarray:
        """(k,) `R^-T b`."""
        return _transposed(self.QR[: len(self.columns)], (b * self.size)[self.columns])


def _transposed(R, b) -> np.ndarray:
    from scipy.linalg import solve_triangular

    return solve_triangular(R, b, trans=1, check_finite=False)


def _unconstrained(problem: Problem) -> np.ndarray:
    """(k,) minimum of the quadratic cost, with that of entropic costs at slacks of one."""
    rows, sides = [problem.F], [problem.t]
    for block in problem.blocks:
        if block.floor:
            rows.append(np.sqrt(block.floor) * block.G.reshape(-1, block.G.shape[2]))
            sides.append(np.zeros(block.h.size))
    return np.linalg.lstsq(np.concatenate(rows), np.concatenate(sides), rcond=None)[0]


def _inside(block: Block, x, far) -> np.ndarray:
    """(c, n, n) slacks at x moved inside, and multiples of one where those far away are much larger."""
    S = block.slack(x)
    eigenvalues = np.linalg.eigvalsh(S)
    size = np.maximum(np.abs(eigenvalues).max(axis=1), TINY)
    least = eigenvalues[:, 0]
    moved = np.where(least < CLEAR * size, size - np.minimum(least, 0.0), 0.0)
    S = S + moved[:, None, None] * np.eye(block.n)
    if far is not None:
        away = np.abs(np.linalg.eigvalsh(block.slack(far))).max(axis=1)
        large = away > APART * size
        S[large] = away[large, None, None] * np.eye(block.n)
    return S
