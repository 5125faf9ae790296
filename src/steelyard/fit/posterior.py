"""What data and prior together say of all parameters, constraints left aside: one quadratic form.

Coordinates are those in which the pullback prior is a plain norm: ten a body, `J = L (1 + Y) L^T` with the prior's `J0
= L L^T` and `Y` in the orthonormal symmetric matrices `program.TRIANGLES`, then one an effect (friction, ...).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.fit.least_squares import model_parameters
from steelyard.fit.program import congruence
from steelyard.fit.sandwich import Sandwich
from steelyard.fit.weighed import effect_pull


@dataclass(frozen=True, eq=False)
class Posterior:
    """`||data y - target||^2 + ||pull * y||^2` over coordinates y (p,), with parameters `start + directions @ y`.

    data: (k, p) in the whitened coordinates of a Sandwich; pull: (p,) square root of the prior's precision.
    lower: (e,) least values of the effects' coordinates, -inf where free. bodies: how many.
    """

    data: np.ndarray
    target: np.ndarray
    pull: np.ndarray
    start: np.ndarray
    directions: np.ndarray
    lower: np.ndarray
    bodies: int

    @cached_property
    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Q (k + p, p), S (p, p): with `y = S z` the form is `||z - Q^T [target, pull * prior]||^2` but for a constant,
        well scaled however unlike data and prior are."""
        Q, R = np.linalg.qr(np.concatenate([self.data, np.diag(self.pull)]))
        return Q, np.linalg.inv(R)

    def optimum(self, target, prior) -> np.ndarray:
        """(..., p) optimum z for other targets (..., k) and priors (..., p), these in standard deviations."""
        return np.concatenate([target, prior], axis=-1) @ self.factors[0]

    def parameters(self, z) -> np.ndarray:
        """(..., p) parameters of coordinates z (..., p)."""
        return self.start + z @ (self.directions @ self.factors[1]).T

    def spread(self, contrasts, scores) -> tuple[np.ndarray, np.ndarray]:
        """What noise and prior add to estimates `contrasts @ parameters`, in standard deviations: (c, K) of K scores
        (K, k) of the noise in whitened coordinates, (c, p) of the prior. contrasts: (c, p)."""
        Q, S = self.factors
        gain, k = contrasts @ (self.directions @ S), len(self.target)
        return gain @ (Q[:k].T @ scores.T), gain @ Q[k:].T

    def prior_variance(self, contrasts) -> np.ndarray:
        """(c,) variance of `contrasts @ parameters` by the prior alone."""
        return np.sum((contrasts @ self.directions / self.pull) ** 2, axis=1)


def posterior(scores: Sandwich, theta0, *, weight: float = 1.0) -> Posterior:
    """Posterior of scored data and a pullback prior at theta0 (nb, 10), see `fit.consistent`."""
    info = scores.weighted
    layout = info.layout
    start = np.zeros(layout.size) if info.robot is None else model_parameters(info.robot, layout)
    start[layout.inertial] = np.ravel(theta0)
    directions = np.eye(layout.size)
    for i, theta in enumerate(theta0):
        directions[layout.body(i), layout.body(i)] = congruence(theta)
    effects = np.arange(layout.inertial.stop, layout.size)
    pull = np.full(layout.size, np.sqrt(weight / 2))
    pull[effects] = effect_pull(info, weight)
    to_whitened = scores.from_base @ info.basis.regrouping
    size = np.hypot(np.linalg.norm(to_whitened[:, effects], axis=0), pull[effects])
    directions[effects, effects], pull[effects] = 1.0 / size, pull[effects] / size
    lower = np.full(len(effects), -np.inf)
    signed = np.array(layout.nonnegative, dtype=int)
    lower[signed - layout.inertial.stop] = -start[signed] / directions[signed, signed]
    return Posterior(
        data=to_whitened @ directions,
        target=scores.solution - to_whitened @ start,
        pull=pull,
        start=start,
        directions=directions,
        lower=lower,
        bodies=len(theta0),
    )
