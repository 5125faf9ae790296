"""Scales of priors and noise by evidence, from sums alone.

Links have the prior `exp(-lambda_b D(theta_b, theta0_b))` with D the entropic divergence, which keeps them bodies that
can exist; all else is normal. The scales (one lambda a link, the size of every group of columns, the noise of every
joint) maximise the marginal likelihood: with A the precision of the posterior and D_g the prior's of a group of p_g
parameters, the data finds `gamma_g = p_g - tr(D_g A^-1_gg)` of them, and at the optimum their deviations explain just
these (MacKay 1992, Bayesian interpolation; Tipping 2001).

Columns of one joint alone, such as the bumps of its friction curve, are eliminated (Schur), so that the cost is that of
the links. For given scales the optimum is that of a convex problem, found by damped Newton steps; scales take Newton
steps of their own beside these, where the evidence is concave, and else each the step that it would take alone. The
compiled core takes them (`core/evidence.hpp`).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.errors import FitError
from steelyard.fit.prior import noticed
from steelyard.inertia.divergence import entropic_gradient
from steelyard.information import Information
from steelyard.native import require_core

TIGHTNESS, APART, TOGETHER = np.log(10.0), 2.0, 4.0  # of log lambda: mean, deviation of links about it, of itself
SCALE_ROUNDS, SETTLED, LONGEST = 60, 0.003, 1.5  # steps of the scales' logarithms, the last and the longest of them
NEWTON_ROUNDS, ARRIVED = 50, 1e-10  # steps to the optimum of given scales, and the decrement that ends them
NEAR = 0.3  # length of a step in the metric of the divergence, up to which it is taken whole
JITTER = 1e-13  # of a unit diagonal, that keeps rounding from making a matrix indefinite
RESOLVED = 1e-4  # of its torque, that no record of a joint is finer than: 16 bits of its range
NOTHING = 1e-9  # of a singular value, of the deviation of a column at its bound, and parameters that the data finds
SAME = 0.3  # of logarithms of scales, from the best so far, where another start is left
TILE = 8  # columns that the core takes together


@dataclass(frozen=True, eq=False)
class Group:
    """Parameters whose prior has one scale, normal in its logarithm about a mean with a deviation. columns: (k,)."""

    name: str
    columns: np.ndarray
    mean: float
    deviation: float


@dataclass(frozen=True, eq=False)
class Scales:
    """Logarithms of lambda (nb,), of the scales of groups (k,) and of the noise (g,)."""

    links: np.ndarray
    groups: np.ndarray
    noise: np.ndarray


@dataclass(frozen=True, eq=False)
class PosteriorProblem:
    """Sums and priors.

    info: in base columns. theta0: (nb, 10). middle, unit: (p,) prior means, and deviations at scales of one. groups: of
    the columns beside the links that share a scale. shares: of the samples that are independent, in the fit and in what
    is promised. start: (p,) where all
    unknowns are zero. equal: (m, p) rows of what is known exactly, which hold there. pinned: columns that are zero, as
    they cannot be negative.
    """

    info: Information
    theta0: np.ndarray
    middle: np.ndarray
    unit: np.ndarray
    groups: tuple[Group, ...]
    shares: tuple[float, float]
    start: np.ndarray
    equal: np.ndarray
    pinned: tuple[int, ...] = ()

    @property
    def share(self) -> float:
        return self.shares[0]

    @property
    def links(self) -> int:
        return 10 * len(self.theta0)

    @cached_property
    def local(self) -> np.ndarray:
        """(g, m) columns that act on one row group, where no other is mixed with them; whole tiles, -1 for none."""
        info = self.info
        seen = np.zeros(info.basis.count, dtype=int)
        for places in info.squares.pattern.places:
            seen[places] += 1
        alone = (np.count_nonzero(info.basis.regrouping, axis=1) == 1) & (seen == 1)
        told = np.any(self.equal, axis=0)
        alone &= (info.basis.columns >= self.links) & ~told[info.basis.columns]
        own = [info.basis.columns[places[alone[places]]] for places in info.squares.pattern.places]
        found = np.full((len(own), -(-max(map(len, own), default=0) // TILE) * TILE), -1)
        for row, columns in zip(found, own, strict=True):
            row[: len(columns)] = columns
        return found

    @cached_property
    def shared(self) -> np.ndarray:
        """(s,) all other columns, those of the links first."""
        kept = np.ones(self.info.layout.size, dtype=bool)
        kept[self.local[self.local >= 0]] = False
        return np.flatnonzero(kept)

    @cached_property
    def free(self) -> np.ndarray | None:
        """(s, f) directions of the shared columns that equalities leave; None for all. Columns in no equality stay
        alone: one that is pinned would leave no digits of others."""
        rows = self.equal[:, self.shared] * self.unit[self.shared]
        if not len(rows):
            return None
        told = np.asarray(rows.any(axis=0))
        _, size, axes = np.linalg.svd(rows[:, told] / np.linalg.norm(rows, axis=1, keepdims=True))
        own, alone = axes[np.count_nonzero(size > NOTHING) :].T, int(np.count_nonzero(~told))
        found = np.zeros((len(told), alone + own.shape[1]))
        found[~told, :alone], found[told, alone:] = np.eye(alone), own
        return self.unit[self.shared, None] * found

    @cached_property
    def sums(self) -> tuple[np.ndarray, ...]:
        """About the start, of the tiles of shared columns that each row group has: these and where those of each group
        begin (g + 1,), Gram matrices of shared, of local and shared (m rows a group) and of local columns (g, m, m),
        moments of shared and local columns (g, m), energies (g,)."""
        info = self.info
        place = np.full(info.layout.size, -1)
        place[info.basis.columns] = np.arange(info.basis.count)
        base = info.basis.regroup(self.start)
        left = info.moment - info.squares @ base
        (g, m), together = self.local.shape, np.ones(info.basis.count, dtype=bool)
        together[place[self.local[self.local >= 0]]] = False
        regrouping = info.basis.regrouping[:, self.shared]
        regrouping = np.pad(regrouping, ((0, 0), (0, -len(self.shared) % TILE))).reshape(len(regrouping), -1, TILE)
        seen, tiles, parts, Gll, bl = np.asarray(regrouping.any(axis=2)), [], [], np.zeros((g, m, m)), np.zeros((g, m))
        for i, (places, block) in enumerate(zip(info.squares.pattern.places, info.squares.blocks, strict=True)):
            k = int(np.sum(self.local[i] >= 0))
            at = np.searchsorted(places, place[self.local[i][:k]])
            rest = np.flatnonzero(together[places])
            tiles.append(np.flatnonzero(seen[places[rest]].any(axis=0)))
            E = regrouping[np.ix_(places[rest], tiles[-1])].reshape(len(rest), -1)
            cross = np.zeros((m, E.shape[1]))
            cross[:k] = block[np.ix_(at, rest)] @ E
            parts.append((E.T @ block[np.ix_(rest, rest)] @ E, cross, E.T @ left[i][places[rest]]))
            Gll[i, :k, :k], bl[i, :k] = block[np.ix_(at, at)], left[i][places[at]]
        Gss, Gls, bs = (np.concatenate([np.zeros(0), *map(np.ravel, each)]) for each in zip(*parts, strict=True))
        edges = np.cumsum([0, *map(len, tiles)])
        return np.concatenate(tiles), edges, Gss, Gls, Gll, bs, bl, info.residual_energy(base)

    def held(self, **changes) -> "PosteriorProblem":
        """The same with other prior means (middle), pinned columns or shares; sums stay as they are."""
        found = replace(self, **changes)
        vars(found).update({name: getattr(self, name) for name in ("local", "shared", "free", "sums")})
        return found

    @cached_property
    def deviations(self) -> np.ndarray:
        """(p,) prior deviations of all columns beside the links, at scales of one."""
        found = self.unit.copy()
        found[list(self.pinned)] *= NOTHING
        return found

    @cached_property
    def group_of(self) -> np.ndarray:
        """(p,) the group that each column is of, or -1."""
        found = np.full(self.info.layout.size, -1)
        for k, group in enumerate(self.groups):
            found[group.columns] = k
        return found


@dataclass(frozen=True, eq=False)
class PosteriorForm:
    """The log posterior to second order about x (p,), local columns eliminated.

    prior: (nb, 10, 10) its precision of links. C: (s, s) covariance of shared columns; gain: (g, m, s) and inverse:
    (g, m, m), by which local ones follow. slope: (s,). curvature: (nb + k, nb + k) of the negative log evidence over
    scales. evidence: log marginal likelihood but for a constant, by Laplace's approximation, priors of scales included.
    """

    problem: PosteriorProblem
    scales: Scales
    x: np.ndarray
    prior: np.ndarray
    C: np.ndarray
    gain: np.ndarray
    inverse: np.ndarray
    slope: np.ndarray
    curvature: np.ndarray
    evidence: float

    @property
    def weight(self) -> np.ndarray:
        """(g,) of squared residuals."""
        return self.problem.share * np.exp(-2 * self.scales.noise)

    def promised(self, largest: float) -> "PosteriorForm":
        """The same where no link of a file is believed beyond a lambda, no column is held at its bound, and samples are
        as independent as the noise."""
        scales = replace(self.scales, links=np.minimum(self.scales.links, np.log(largest)))
        return form(self.problem.held(pinned=(), shares=(self.problem.shares[1],) * 2), scales, self.x)

    @cached_property
    def root(self) -> np.ndarray:
        """(p, p) root of the posterior covariance."""
        problem = self.problem
        p, s = len(self.x), len(problem.shared)
        root = np.zeros((p, p))
        size = np.sqrt(np.diag(self.C))
        size[size == 0] = 1.0  # of what is fixed
        values, axes = np.linalg.eigh(self.C / size / size[:, None])
        shared = size[:, None] * axes * np.sqrt(np.maximum(values, 0.0))
        root[problem.shared, :s] = shared
        at = s
        for columns, gain, inverse in zip(problem.local, self.gain, self.inverse, strict=True):
            k = int(np.sum(columns >= 0))
            root[columns[:k], :s] = -gain[:k] @ shared
            root[columns[:k], at : at + k] = np.linalg.cholesky(inverse[:k, :k])
            at += k
        return root

    @cached_property
    def deviation(self) -> np.ndarray:
        """(p,) prior deviations of all columns beside the links."""
        return self.problem.deviations * np.exp(np.append(self.scales.groups, 0.0))[self.problem.group_of]

    @cached_property
    def root_of_scales(self) -> np.ndarray:
        """(p, nb + k) root of the covariance that parameters have as scales are not known (Kass and Steffey 1989,
        Approximate Bayesian inference in conditionally independent hierarchical models)."""
        problem, links, bodies = self.problem, self.problem.links, len(self.problem.theta0)
        pull = np.zeros((len(self.x), len(self.curvature)))
        slopes = np.exp(self.scales.links)[:, None] * entropic_gradient(self.x[:links].reshape(-1, 10), problem.theta0)
        pull[np.arange(links), np.arange(links) // 10] = slopes.ravel()
        own = np.flatnonzero(problem.group_of >= 0)
        pull[own, bodies + problem.group_of[own]] = (-2 * (self.x - problem.middle) / self.deviation**2)[own]
        hyper = np.append(np.full(bodies, np.hypot(APART, TOGETHER)), [group.deviation for group in problem.groups])
        values, axes = np.linalg.eigh(hyper[:, None] * self.curvature * hyper)
        spread = hyper[:, None] * axes / np.sqrt(np.maximum(values, 1.0))  # no wider than before any data
        return self.root @ (self.root.T @ pull @ spread)

    @cached_property
    def prior_root(self) -> np.ndarray:
        """(p, p) root of the covariance of the prior, equalities left aside."""
        links = self.problem.links
        root = np.diag(np.append(np.zeros(links), self.deviation[links:]))
        for i, block in enumerate(self.prior):
            unit = 1 / np.sqrt(np.diag(block))
            values, axes = np.linalg.eigh(unit[:, None] * block * unit)
            root[10 * i : 10 * i + 10, 10 * i : 10 * i + 10] = (
                unit[:, None] * axes / np.sqrt(np.maximum(values, JITTER))
            )
        return root


def least_noise(info: Information) -> np.ndarray:
    """(g,) noise that each row group has at least."""
    return RESOLVED * noticed(info.rms)


def form(problem: PosteriorProblem, scales: Scales, x) -> PosteriorForm:
    """The log posterior about parameters x (p,) of bodies that can exist."""
    return _by_core(problem, [scales], x)


def maximised(problem: PosteriorProblem, starts: Iterable[Scales], x=None) -> PosteriorForm:
    """The form at the scales of most evidence. starts: from which these are looked for, with parameters x (p,)."""
    return _by_core(problem, starts, problem.start if x is None else x, SCALE_ROUNDS, NEWTON_ROUNDS)


def _by_core(
    problem: PosteriorProblem, starts: Iterable[Scales], x, scale_rounds: int = 0, rounds: int = 0
) -> PosteriorForm:
    """The best form after so many steps at most of scales and x together, and then of x alone. Raises FitError."""
    (g, m), s, nb = problem.local.shape, len(problem.shared), len(problem.theta0)
    k = nb + len(problem.groups)
    begun = np.array([np.concatenate([each.links, each.groups, each.noise, x]) for each in starts])
    shapes = ((nb, 10, 10), (s, s), (g, m, s), (g, m, m), (s,), (k, k), (1,))
    found = [np.zeros(shape) for shape in shapes]
    rules = [TIGHTNESS, APART, TOGETHER, SETTLED, LONGEST, ARRIVED, NEAR, JITTER, NOTHING, SAME]
    if not require_core().evidence(
        *(problem.theta0, problem.middle, problem.deviations, problem.start),
        *(problem.shared, problem.local, problem.group_of),
        *problem.sums,
        problem.free,
        np.array([(each.mean, each.deviation) for each in problem.groups]).reshape(-1, 2),
        problem.share * problem.info.counts,
        least_noise(problem.info),
        problem.share,
        np.array([*rules, scale_rounds, rounds]),
        begun,
        *found,
    ):
        raise FitError("The sums have no posterior, as they are not finite or not positive.")
    links, groups, noise, x = np.split(begun[0], np.cumsum([nb, len(problem.groups), g]))
    prior, C, gain, inverse, slope, curvature, evidence = found
    scales = Scales(links, groups, noise)
    return PosteriorForm(problem, scales, x, prior, C, gain, inverse, slope, curvature, float(evidence[0]))
