"""What data and prior together say of all parameters, constraints left aside: one quadratic form.

Coordinates are those in which the pullback prior is a plain norm: ten a body, `J = L (1 + Y) L^T` with the prior's `J0
= L L^T` and `Y` in the orthonormal symmetric matrices `program.TRIANGLES`, then one an effect (friction, ...).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard import native
from steelyard.errors import FitError
from steelyard.fit.block_scores import Sandwich
from steelyard.fit.prior import congruence, effect_pull, prior_parameters
from steelyard.numbers import STEPS


@dataclass(frozen=True, eq=False)
class Posterior:
    """`||data y - target||^2 + ||pull * y||^2` over coordinates y (p,), with parameters `start + directions @ y`."""

    data: np.ndarray  # (k, p) in the whitened coordinates of a Sandwich
    target: np.ndarray
    pull: np.ndarray  # (p,) square root of the prior's precision
    start: np.ndarray
    directions: np.ndarray
    lower: np.ndarray  # (e,) least values of the effects' coordinates, -inf where free
    bodies: int  # how many

    @cached_property
    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Q (k + p, p), S (p, p): with `y = S z` the form is `||z - Q^T [target, pull * prior]||^2` but for a constant,
        well scaled however unlike data and prior are."""
        Q, R = np.linalg.qr(np.concatenate([self.data, np.diag(self.pull)]))
        return Q, np.triu(np.linalg.inv(R))

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
    start = prior_parameters(info, theta0)
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


LAST = 1e-3  # mu: a few hundredths of a standard deviation from the constrained optimum
SHRINK = 0.03  # of mu, once Newton's method is close
FIRST = 10.0  # mu where the paths of a batch part: above what the noise of right-hand sides can upset
CLOSE = 1.0  # Newton decrement over sqrt(mu) below which mu falls
REACH, LONGEST = 0.9, 10.0  # share of the way to the border, and Newton steps, that a step may go
HALVINGS = 12
TOGETHER = 16  # fits that one thread takes at a time


def constrained(model: Posterior, free, *, last: float = LAST) -> np.ndarray:
    """(m, p) constrained optima z nearest to the free ones (n, p), see `Posterior.factors`, at a barrier of weight
    `last`; rows where Newton's method fails are left out. Raises FitError when half of them are."""
    inside = np.zeros(free.shape[1])
    bounded = _bounded(model)
    inside[bounded] = np.maximum(model.lower[bounded - 10 * model.bodies] + 1.0, 0.0)
    start = np.linalg.solve(model.factors[1], inside)[None]
    middle = np.mean(free, axis=0, keepdims=True)
    start = _followed(model, middle, start, max(float(np.sum((start - middle) ** 2)), FIRST), FIRST)
    found = _followed(model, free, np.repeat(start, len(free), axis=0), FIRST, last)
    arrived = found[np.isfinite(found[:, 0])]
    if 2 * len(arrived) <= len(free):
        raise FitError(
            f"Only {len(arrived)} of {len(free)} constrained fits converged; check the units of the log and the prior."
        )
    return arrived


def _followed(model: Posterior, free, start, first: float, last: float) -> np.ndarray:
    """Follow the central path from mu = first to last, each row at its own pace; NaN for rows that do not arrive."""
    n, p = free.shape
    more = -p % 8
    bounded = _bounded(model)
    rules = np.array([SHRINK, CLOSE, REACH, LONGEST, STEPS, HALVINGS])
    S = np.pad(model.factors[1], (0, more))
    free, z, arrived = np.pad(free, ((0, 0), (0, more))), np.pad(start, ((0, 0), (0, more))), np.zeros(n, dtype=bool)
    lower, fits = model.lower[bounded - 10 * model.bodies], native.require_core().constrained_fits

    def follow(part: slice):
        fits(S, model.bodies, bounded, lower, rules, free[part], first, last, z[part], arrived[part])

    native.for_each(follow, [slice(i, i + TOGETHER) for i in range(0, n, TOGETHER)])
    z[~arrived] = np.nan
    return z[:, :p]


def _bounded(model: Posterior) -> np.ndarray:
    return 10 * model.bodies + np.flatnonzero(np.isfinite(model.lower))
