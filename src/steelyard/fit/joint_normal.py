"""The posterior of all parameters at once, and samples of it whose bodies can exist.

Every sample is the optimum of a perturbed problem (randomise then optimise, Bardsley 2014): a point drawn from the
normal distribution is moved, in the metric of that distribution, to where a logarithmic barrier keeps every body's
pseudo-inertia positive definite. Away from the border that is the normal distribution itself; with `BARRIER` a number
that the data leaves open is spread as the normal distribution cut off at the border would be.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.errors import FitError
from steelyard.fit.constraints import Constraint, Rows
from steelyard.fit.posterior import Posterior, constrained
from steelyard.fit.prior import congruence
from steelyard.inertia import is_consistent

BARRIER = 0.25  # its weight: quantiles 5 to 95 % of a scalar open but for its sign are those of the cut-off normal
DEPENDENT = 1e-9  # of the largest singular value: equalities that repeat others
HELD = 1e-6  # relative change of second moments, by which what equalities hold moves before it is put back
ROUNDS = 8  # of samples drawn again where one did not converge


@dataclass(frozen=True, eq=False)
class JointNormal:
    """Parameters before constraints, SI units.

    mean: (p,). root: (p, s) of the covariance `root @ root.T`. bodies: (nb, 10) that can exist, whose sizes are units
    of the computation.
    """

    mean: np.ndarray
    root: np.ndarray
    bodies: np.ndarray

    def given(self, known: Sequence[Constraint]) -> "JointNormal":
        """The same for parameters that meet equalities; other constraints are left aside."""
        rows = Rows(tuple(each for each in known if each.equality))
        if not rows.constraints:
            return self
        U, size, V = np.linalg.svd(rows.A @ self.root)
        rank = int(np.sum(size > DEPENDENT * size.max(initial=0.0)))
        met = V[:rank].T @ ((U.T[:rank] @ (rows.b - rows.A @ self.mean)) / size[:rank])
        return JointNormal(self.mean + self.root @ met, self.root @ V[rank:].T, self.bodies)

    def samples(self, count: int, lower, rng: np.random.Generator) -> np.ndarray:
        """(count, p) samples whose bodies can exist.

        Args:
            count: of samples.
            lower: (p,) bounds of friction and armature, -inf where there is none.
            rng: random numbers.

        Returns:
            (count, p).

        Raises:
            FitError: samples that do not converge.
        """
        model, held = self._model(lower)
        found, cut = np.zeros((0, len(self.mean))), 10 * len(self.bodies)
        for _ in range(ROUNDS):
            noise = rng.standard_normal((count - len(found), len(self.mean)))
            z = constrained(model, model.optimum(model.target + noise, np.zeros_like(noise)), last=BARRIER)
            y = z @ model.factors[1].T
            y -= (y - model.middle) @ held @ held.T
            x = np.maximum(model.start + y @ model.directions.T, lower)
            able = is_consistent(x[:, :cut].reshape(len(x), -1, 10)).all(axis=1)
            found = np.concatenate([found, x[able]])
            if len(found) == count:
                return found
        raise FitError(f"Only {len(found)} of {count} samples are of bodies that can exist; please report it.")

    def _model(self, lower) -> tuple["_Drawn", np.ndarray]:
        """The distribution as the form that constrained fits minimise, and (p, h) orthonormal directions of its
        coordinates that equalities hold."""
        p, cut = len(self.mean), 10 * len(self.bodies)
        start = np.concatenate([self.bodies.ravel(), np.zeros(p - cut)])
        directions = np.eye(p)
        for i, block in enumerate(congruence(self.bodies)):
            directions[10 * i : 10 * i + 10, 10 * i : 10 * i + 10] = block
        effects = np.arange(cut, p)
        size = np.linalg.norm(self.root[cut:], axis=1)
        directions[effects, effects] = np.where(size > 0, size, 1.0)
        middle = np.linalg.solve(directions, self.mean - start)
        U, spread, _ = np.linalg.svd(np.linalg.solve(directions, self.root))
        spread = np.append(spread, np.zeros(p - len(spread)))
        free = spread > DEPENDENT * HELD
        inverse = (U / np.where(free, spread, HELD)).T
        bound = np.asarray(lower, dtype=float)[cut:] / directions[effects, effects]
        form = {"data": inverse, "target": inverse @ middle, "pull": np.zeros(p), "start": start}
        return _Drawn(**form, directions=directions, lower=bound, bodies=len(self.bodies), middle=middle), U[:, ~free]


@dataclass(frozen=True, eq=False)
class _Drawn(Posterior):
    """middle: (p,) where the form has its minimum."""

    middle: np.ndarray
