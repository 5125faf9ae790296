"""The posterior of all parameters at once, and samples of it whose bodies can exist.

Every sample is the optimum of a perturbed problem (randomise then optimise, Bardsley 2014): a point drawn from the
normal distribution is moved, in the metric of that distribution, to where a logarithmic barrier keeps every body's
pseudo-inertia positive definite. Away from the border that is the normal distribution itself; with `BARRIER` a number
that the data leaves open is spread as the normal distribution cut off at the border would be.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.errors import FitError
from steelyard.fit.constraints import Constraint, ConstraintRows
from steelyard.fit.prior import congruence
from steelyard.fit.pullback_form import Posterior, constrained
from steelyard.inertia import is_consistent
from steelyard.numbers import NEGLIGIBLE, ROUNDS, SAME

BARRIER = 0.25  # its weight: quantiles 5 to 95 % of a scalar open but for its sign are those of the cut-off normal
TIED = 1e-4  # deviations, to which slacks of inequalities are met


@dataclass(frozen=True, eq=False)
class JointNormal:
    """Parameters before constraints, SI units.

    within: constraints that samples meet: equalities, and inequalities of one row, such as those of a body inside an
    ellipsoid; others are left aside.
    """

    mean: np.ndarray  # (p,)
    root: np.ndarray  # (p, s) of the covariance `root @ root.T`
    bodies: np.ndarray  # (nb, 10) that can exist, whose sizes are units of the computation
    within: tuple[Constraint, ...] = ()

    def of_columns(self, columns) -> "JointNormal":
        """The same of some parameters (k,), which constraints speak of alone."""
        values, axes = np.linalg.eigh(self.root[columns] @ self.root[columns].T)
        root = axes * np.sqrt(np.maximum(values, 0.0))
        within = tuple(replace(each, A=each.A[:, columns]) for each in self.within)
        return replace(self, mean=self.mean[columns], root=root, within=within)

    def samples(self, count: int, lower, rng: np.random.Generator) -> np.ndarray:
        """(count, p) samples whose bodies can exist. lower: (p,) bounds of friction and armature, -inf where there is
        none. Raises FitError for samples that do not converge."""
        model, held = self._model(lower)
        p, cut, size = len(self.mean), 10 * len(self.bodies), len(model.start)
        found = np.zeros((0, p))
        for _ in range(ROUNDS):
            noise = rng.standard_normal((count - len(found), size))
            z = constrained(model, model.optimum(model.target + noise, np.zeros_like(noise)), last=BARRIER)
            y = (z @ model.factors[1].T)[:, :p]
            y -= (y - model.middle) @ held @ held.T
            x = np.maximum(model.start[:p] + y @ model.directions[:p, :p].T, lower)
            able = is_consistent(x[:, :cut].reshape(len(x), -1, 10)).all(axis=1)
            found = np.concatenate([found, x[able]])
            if len(found) == count:
                return found
        raise FitError(f"Only {len(found)} of {count} samples are of bodies that can exist; please report it.")

    def _given(self) -> "JointNormal":
        """The same with equalities met by conditioning."""
        rows = ConstraintRows(tuple(each for each in self.within if each.equality))
        if not rows.constraints:
            return self
        reach = np.abs(rows.A) @ np.linalg.norm(self.root, axis=1)  # of each row, were its terms to add up
        moves = reach > 0
        A, b = rows.A[moves] / reach[moves, None], rows.b[moves] / reach[moves]
        U, size, V = np.linalg.svd(A @ self.root)
        rank = int(np.sum(size > NEGLIGIBLE))
        met = V[:rank].T @ ((U.T[:rank] @ (b - A @ self.mean)) / size[:rank])
        return replace(self, mean=self.mean + self.root @ met, root=self.root @ V[rank:].T)

    def _model(self, lower) -> tuple["_Drawn", np.ndarray]:
        """The distribution as the form that constrained fits minimise, and (p, h) orthonormal directions of its
        coordinates that equalities hold. Slacks of inequalities are coordinates of their own that cannot be negative,
        tied to the others within `TIED` of their deviation."""
        given, p, cut = self._given(), len(self.mean), 10 * len(self.bodies)
        start = np.concatenate([self.bodies.ravel(), np.zeros(p - cut)])
        directions = np.eye(p)
        for i, block in enumerate(congruence(self.bodies)):
            directions[10 * i : 10 * i + 10, 10 * i : 10 * i + 10] = block
        effects = np.arange(cut, p)
        size = np.linalg.norm(given.root[cut:], axis=1)
        directions[effects, effects] = np.where(size > 0, size, 1.0)
        middle = np.linalg.solve(directions, given.mean - start)
        U, spread, _ = np.linalg.svd(np.linalg.solve(directions, given.root))
        spread = np.append(spread, np.zeros(p - len(spread)))
        free = spread > NEGLIGIBLE * SAME
        inverse = (U / np.where(free, spread, SAME)).T
        bound = np.asarray(lower, dtype=float)[cut:] / directions[effects, effects]
        A, b = _slacks(self.within, p, cut)
        reach, b = A @ directions, b - A @ start
        deviation = np.linalg.norm(A @ given.root, axis=1)
        reach, b = (each[deviation > 0] / deviation[deviation > 0, None] for each in (reach, b[:, None]))
        m = len(b)
        tie = np.concatenate([reach, np.eye(m)], axis=1) / TIED
        model = _Drawn(
            data=np.concatenate([np.pad(inverse, ((0, 0), (0, m))), tie]),
            target=np.concatenate([inverse @ middle, b[:, 0] / TIED]),
            pull=np.zeros(p + m),
            start=np.append(start, np.zeros(m)),
            directions=np.block([[directions, np.zeros((p, m))], [np.zeros((m, p)), np.eye(m)]]),
            lower=np.append(bound, np.zeros(m)),
            bodies=len(self.bodies),
            middle=middle,
        )
        return model, U[:, ~free]


def _slacks(known: Sequence[Constraint], size: int, cut: int) -> tuple[np.ndarray, np.ndarray]:
    """(m, p) and (m,) of `A x <= b` of inequalities of one row about bodies. cut: how many of the p = `size`
    parameters are theirs."""
    rows = [
        each
        for each in known
        if each.cones == (("nonnegative", 1),) and not each.A_aux.shape[1] and each.A[:, :cut].any()
    ]
    return np.array([each.A[0] for each in rows]).reshape(-1, size), np.array([each.b[0] for each in rows])


@dataclass(frozen=True, eq=False)
class _Drawn(Posterior):
    """middle: (p,) where the form has its minimum."""

    middle: np.ndarray
