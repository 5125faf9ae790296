"""Scales of priors and noise by evidence, from sums alone.

Links have the prior `exp(-lambda_b D(theta_b, theta0_b))` with D the entropic divergence, which keeps them bodies that
can exist; all else is normal. The scales (one lambda a link, the size of every group of columns, the noise of every
joint) maximise the marginal likelihood: with A the precision of the posterior and D_g the prior's of a group of p_g
parameters, the data finds `gamma_g = p_g - tr(D_g A^-1_gg)` of them, and at the optimum their deviations explain just
these (MacKay 1992, Bayesian interpolation; Tipping 2001).

Columns of one joint alone, such as the bumps of its friction curve, are eliminated (Schur), so that the cost is that of
the links. For given scales the optimum is that of a convex problem, found by damped Newton steps.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.fit.whitening import noise_floor
from steelyard.inertia import pseudo
from steelyard.information import Information

TIGHTNESS, APART, TOGETHER = np.log(10.0), 2.0, 4.0  # of log lambda: mean, deviation of links about it, of itself
SCALE_ROUNDS, SETTLED, LONGEST = 60, 0.02, 1.5  # steps of the scales' logarithms, the last and the longest of them
NEWTON_ROUNDS, ARRIVED = 50, 1e-10  # steps to the optimum of given scales, and the decrement that ends them
NEAR = 0.3  # length of a step in the metric of the divergence, up to which it is taken whole
JITTER = 1e-13  # of a unit diagonal, that keeps rounding from making a matrix indefinite
DEPENDENT = 1e-9  # singular value of equalities that repeat others
PINNED = 1e-9  # of its deviation, that a column held at its bound keeps
LEAST_FOUND = 1e-9  # parameters that the data finds, at least
MOMENTS = pseudo.to_matrix(np.eye(10))


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
class Problem:
    """Sums and priors.

    info: in base columns. theta0: (nb, 10). middle, unit: (p,) prior means, and deviations at scales of one. groups: of
    the columns beside the links that share a scale. share: of the samples that are independent. start: (p,) where all
    unknowns are zero. equal: (m, p) rows of what is known exactly, which hold there. pinned: columns that are zero, as
    they cannot be negative.
    """

    info: Information
    theta0: np.ndarray
    middle: np.ndarray
    unit: np.ndarray
    groups: tuple[Group, ...]
    share: float
    start: np.ndarray
    equal: np.ndarray
    pinned: tuple[int, ...] = ()

    @property
    def links(self) -> int:
        return 10 * len(self.theta0)

    @cached_property
    def local(self) -> np.ndarray:
        """(g, m) columns that act on one row group, where no other column is mixed with them; padded with -1."""
        info = self.info
        seen = np.zeros(info.basis.count, dtype=int)
        for places in info.squares.pattern.places:
            seen[places] += 1
        alone = (np.count_nonzero(info.basis.regrouping, axis=1) == 1) & (seen == 1)
        told = np.any(self.equal, axis=0)
        alone &= (info.basis.columns >= self.links) & ~told[info.basis.columns]
        own = [info.basis.columns[places[alone[places]]] for places in info.squares.pattern.places]
        found = np.full((len(own), max(map(len, own), default=0)), -1)
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
        """(s, f) orthonormal directions of the shared columns that equalities leave; None for all."""
        rows = self.equal[:, self.shared] * self.unit[self.shared]
        if not len(rows):
            return None
        _, size, axes = np.linalg.svd(rows / np.linalg.norm(rows, axis=1, keepdims=True))
        return self.unit[self.shared, None] * axes[np.count_nonzero(size > DEPENDENT) :].T

    @cached_property
    def sums(self) -> tuple[np.ndarray, ...]:
        """About the start: Gram matrices (g, s, s), (g, s, m) and (g, m, m) of shared and local columns, moments (g, s)
        and (g, m), energies (g,)."""
        info = self.info
        place = np.full(info.layout.size, -1)
        place[info.basis.columns] = np.arange(info.basis.count)
        base = info.basis.regroup(self.start)
        left = info.moment - info.squares @ base
        g, s, m = len(left), len(self.shared), self.local.shape[1]
        found = (np.zeros((g, s, s)), np.zeros((g, s, m)), np.zeros((g, m, m)), np.zeros((g, s)), np.zeros((g, m)))
        local = place[self.local[self.local >= 0]]
        regrouping = info.basis.regrouping[:, self.shared]
        for i, (places, block) in enumerate(zip(info.squares.pattern.places, info.squares.blocks, strict=True)):
            k = int(np.sum(self.local[i] >= 0))
            at = np.searchsorted(places, place[self.local[i][:k]])
            rest = np.flatnonzero(~np.isin(places, local))
            E = regrouping[places[rest]]
            found[0][i] = E.T @ block[np.ix_(rest, rest)] @ E
            found[1][i, :, :k] = E.T @ block[np.ix_(rest, at)]
            found[2][i, :k, :k] = block[np.ix_(at, at)]
            found[3][i] = E.T @ left[i][places[rest]]
            found[4][i, :k] = left[i][places[at]]
        return *found, info.residual_energy(base)

    def deviations(self, scales: Scales) -> np.ndarray:
        """(p,) prior deviations of all columns beside the links."""
        found = self.unit.copy()
        for group, size in zip(self.groups, np.exp(scales.groups), strict=True):
            found[group.columns] *= size
        found[list(self.pinned)] *= PINNED
        return found


@dataclass(frozen=True, eq=False)
class Form:
    """The log posterior to second order about x (p,), local columns eliminated.

    H: (nb, 10, 10) second derivatives of the divergence; precision: (s, s) of the prior of shared columns; deviation:
    (p,) of all but links. weight: (g,) of squared residuals. C: (s, s) covariance of shared columns; gain: (g, m, s)
    and inverse: (g, m, m), by which local ones follow; best: (g, m) these at the start. slope: (s,). log_det: of the
    posterior precision less that of the prior.
    """

    problem: Problem
    scales: Scales
    x: np.ndarray
    H: np.ndarray
    precision: np.ndarray
    deviation: np.ndarray
    weight: np.ndarray
    C: np.ndarray
    gain: np.ndarray
    inverse: np.ndarray
    best: np.ndarray
    slope: np.ndarray
    log_det: float

    def stepped(self) -> tuple[np.ndarray, float]:
        """The next x of a damped Newton step, and the decrement of this one."""
        problem, shared = self.problem, self.problem.shared
        step = self.C @ self.slope
        moved = step[: problem.links].reshape(-1, 10)
        length = np.sqrt(max(float(np.einsum("ba,bac,bc->b", moved, self.H, moved).max(initial=0.0)), 0.0))
        x = self.x.copy()
        x[shared] += step if length < NEAR else step / (1 + length)
        own = problem.local >= 0
        x[problem.local[own]] = (
            problem.start[problem.local[own]] + (self.best - self.gain @ (x - problem.start)[shared])[own]
        )
        return x, float(self.slope @ step)

    @property
    def theta(self) -> np.ndarray:
        return self.x[: self.problem.links].reshape(-1, 10)

    @cached_property
    def divergence(self) -> np.ndarray:
        """(nb,) of each link from its prior."""
        ratio = np.linalg.solve(pseudo.to_matrix(self.problem.theta0), pseudo.to_matrix(self.theta))
        return np.trace(ratio, axis1=1, axis2=2) - np.linalg.slogdet(ratio)[1] - 4

    @cached_property
    def residuals(self) -> np.ndarray:
        """(g,) sums of squares."""
        Gss, Gsl, Gll, bs, bl, energy = self.problem.sums
        moved = self.x - self.problem.start
        xs, xl = moved[self.problem.shared], np.where(self.problem.local >= 0, moved[self.problem.local], 0.0)
        whole = energy - 2 * (bs @ xs + np.sum(bl * xl, axis=1)) + (Gss @ xs) @ xs
        whole += np.sum(xl * (2 * xs @ Gsl + np.einsum("gkl,gl->gk", Gll, xl)), axis=1)
        return np.maximum(whole, 0.0)

    @cached_property
    def local_variances(self) -> np.ndarray:
        """(g, m)."""
        return np.einsum("gkk->gk", self.inverse) + np.sum((self.gain @ self.C) * self.gain, axis=2)

    @cached_property
    def taken(self) -> np.ndarray:
        """(g,) degrees of freedom that the parameters take from each row group: traces of parts of the hat matrix."""
        Gss, Gsl, Gll, *_ = self.problem.sums
        pulled = self.gain @ self.C
        covariance = self.inverse + pulled @ np.swapaxes(self.gain, 1, 2)
        found = np.tensordot(Gss, self.C, 2) + np.sum(Gll * covariance, axis=(1, 2))
        return self.weight * (found - 2 * np.sum(np.swapaxes(Gsl, 1, 2) * pulled, axis=(1, 2)))

    @cached_property
    def centre(self) -> float:
        """Mean of log lambda over links, beside its own prior."""
        own = self.scales.links
        return float((own.sum() / APART**2 + TIGHTNESS / TOGETHER**2) / (len(own) / APART**2 + 1 / TOGETHER**2))

    @property
    def evidence(self) -> float:
        """Log marginal likelihood but for a constant, by Laplace's approximation, priors of scales included."""
        problem, scales = self.problem, self.scales
        rest = np.arange(problem.links, len(self.x))
        pulled = (self.x[rest] - problem.middle[rest]) / self.deviation[rest]
        fit = self.weight @ self.residuals / 2 + np.exp(scales.links) @ self.divergence + pulled @ pulled / 2
        noise = problem.share * problem.info.counts @ scales.noise
        hyper = np.sum((scales.links - self.centre) ** 2) / APART**2 + (self.centre - TIGHTNESS) ** 2 / TOGETHER**2
        hyper += sum((x - g.mean) ** 2 / g.deviation**2 for x, g in zip(scales.groups, problem.groups, strict=True))
        return -float(fit + noise + (self.log_det + hyper) / 2)

    def found(self) -> np.ndarray:
        """(nb,) parameters of each link that the data finds."""
        nb, free = len(self.H), self.problem.free
        precision, count = _blocks(self.precision, nb), np.full(nb, 10.0)
        if free is not None:
            prior = free @ np.linalg.pinv(free.T @ self.precision @ free, hermitian=True) @ free.T
            count = np.sum(precision * _blocks(prior, nb), axis=(1, 2))
        return np.clip(count - np.sum(precision * _blocks(self.C, nb), axis=(1, 2)), LEAST_FOUND, 10.0)

    def rescaled(self) -> tuple[Scales, float]:
        """Scales that explain better what was found, one Newton step each of the logarithm, and the longest of them."""
        problem, scales = self.problem, self.scales
        found, far = self.found(), np.exp(scales.links) * self.divergence
        slope = far - found / 2 + (scales.links - self.centre) / APART**2
        links = -slope / (far + found * (1 - found / 10) / 2 + 1 / APART**2)
        variance = np.zeros(len(self.x))
        variance[problem.shared] = np.diag(self.C)
        own = problem.local >= 0
        variance[problem.local[own]] = self.local_variances[own]
        groups = np.zeros(len(problem.groups))
        for k, group in enumerate(problem.groups):
            precision, size = self.deviation[group.columns] ** -2.0, len(group.columns)
            told = np.clip(size - precision @ variance[group.columns], LEAST_FOUND, size)
            square = precision @ (self.x - problem.middle)[group.columns] ** 2
            slope = told - square + (scales.groups[k] - group.mean) / group.deviation**2
            groups[k] = -slope / (2 * square + 2 * told * (1 - told / size) + 1 / group.deviation**2)
        left = np.maximum(problem.share * problem.info.counts - self.taken, 1.0)
        noise = np.maximum(np.sqrt(problem.share * self.residuals / left), noise_floor(problem.info))
        links, groups = (np.clip(each, -LONGEST, LONGEST) for each in (links, groups))
        moved = max(np.abs(each).max(initial=0.0) for each in (links, groups, np.log(noise) - scales.noise))
        return Scales(scales.links + links, scales.groups + groups, np.log(noise)), float(moved)

    def promised(self, largest: float) -> "Form":
        """The same where no link of a file is believed beyond a lambda."""
        scales = replace(self.scales, links=np.minimum(self.scales.links, np.log(largest)))
        return form(self.problem, scales, self.x)

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
    def prior_root(self) -> np.ndarray:
        """(p, p) root of the covariance of the prior, equalities left aside."""
        links = self.problem.links
        root = np.diag(np.append(np.zeros(links), self.deviation[links:]))
        for i, block in enumerate(_blocks(self.precision, links // 10)):
            root[10 * i : 10 * i + 10, 10 * i : 10 * i + 10] = np.linalg.inv(np.linalg.cholesky(block)).T
        return root


def _blocks(M, nb: int) -> np.ndarray:
    """(nb, 10, 10) of each body on the diagonal."""
    i = np.arange(nb)
    return M[: 10 * nb, : 10 * nb].reshape(nb, 10, nb, 10)[i, :, i]


def divergence_hessians(theta) -> np.ndarray:
    """(nb, 10, 10) second derivatives of the entropic divergence at theta (nb, 10)."""
    turned = np.linalg.inv(pseudo.to_matrix(theta))[:, None] @ MOMENTS
    return np.einsum("baik,bcki->bac", turned, turned)


def form(problem: Problem, scales: Scales, x) -> Form:
    """The log posterior about parameters x (p,) of bodies that can exist."""
    links, nb, shared, own = problem.links, len(problem.theta0), problem.shared, problem.local >= 0
    theta, s = x[:links].reshape(-1, 10), len(problem.shared)
    lam, deviation = np.exp(scales.links), problem.deviations(scales)
    H = divergence_hessians(theta)
    precision = np.zeros((s, s))
    i = np.arange(nb)
    precision[:links, :links].reshape(nb, 10, nb, 10)[i, :, i] = lam[:, None, None] * H
    rest = np.arange(links, s)
    precision[rest, rest] = deviation[shared[rest]] ** -2.0
    weight = problem.share * np.exp(-2 * scales.noise)
    Gss, Gsl, Gll, bs, bl, _ = problem.sums
    at = np.where(own, problem.local, 0)
    local = np.where(own, deviation[at] ** -2.0, 1.0)
    pulled = np.where(own, (problem.start - problem.middle)[at] * local, 0.0)
    M = weight[:, None, None] * Gll
    k = np.arange(M.shape[1])
    M[:, k, k] += local
    size = 1 / np.sqrt(np.einsum("gkk->gk", M))
    root = np.linalg.cholesky(M * size[:, :, None] * size[:, None, :] + JITTER * np.eye(len(k)))
    back = np.linalg.inv(root) * size[:, None, :]
    inverse = np.swapaxes(back, 1, 2) @ back
    cross = weight[:, None, None] * np.swapaxes(Gsl, 1, 2)
    half = np.linalg.solve(root, size[:, :, None] * cross)  # whose square has no rounding times its condition
    gain = np.swapaxes(back, 1, 2) @ half
    best = np.einsum("gkl,gl->gk", inverse, weight[:, None] * bl - pulled)
    A = precision + np.tensordot(weight, Gss, 1)
    A -= np.tensordot(half, half, ((0, 1), (0, 1))) if cross.size else 0.0
    b = weight @ bs - np.einsum("gks,gk->s", cross, best)
    moments = np.linalg.inv(pseudo.to_matrix(problem.theta0)) - np.linalg.inv(pseudo.to_matrix(theta))
    slope = b - (A - precision) @ (x - problem.start)[shared]
    slope[:links] -= (lam[:, None] * np.einsum("bij,aji->ba", moments, MOMENTS)).ravel()
    slope[rest] -= (x - problem.middle)[shared[rest]] * precision[rest, rest]
    free = problem.free
    reduced, prior = (A, precision) if free is None else (free.T @ A @ free, free.T @ precision @ free)
    C, log_A = _inverse(reduced)
    log_det = log_A - _inverse(prior)[1] + 2 * np.log(np.where(own, deviation[at], 1.0)).sum()
    log_det += float(2 * np.log(np.einsum("gkk->gk", root)).sum() - 2 * np.log(size).sum())
    C = C if free is None else free @ C @ free.T
    return Form(problem, scales, x, H, precision, deviation, weight, C, gain, inverse, best, slope, log_det)


def _inverse(A) -> tuple[np.ndarray, float]:
    """Inverse and logarithm of the determinant of a positive definite matrix."""
    size = 1 / np.sqrt(np.diag(A))
    root = np.linalg.cholesky(size[:, None] * A * size + JITTER * np.eye(len(A)))
    back = np.linalg.inv(root) * size
    return back.T @ back, float(2 * np.log(np.diag(root)).sum() - 2 * np.log(size).sum())


def optimum(problem: Problem, scales: Scales, x) -> Form:
    """The form at the optimum of given scales."""
    for _ in range(NEWTON_ROUNDS):
        found = form(problem, scales, x)
        x, decrement = found.stepped()
        if decrement < ARRIVED:
            break
    return form(problem, scales, x)


def maximised(problem: Problem, starts: Iterable[Scales]) -> Form:
    """The form at the scales of most evidence. starts: from which these are looked for."""
    best = None
    for scales in starts:
        x = problem.start
        for _ in range(SCALE_ROUNDS):
            found = form(problem, scales, x)
            x, _ = found.stepped()
            scales, moved = replace(found, x=x).rescaled()
            if moved < SETTLED:
                break
        found = optimum(problem, scales, x)
        if best is None or found.evidence > best.evidence:
            best = found
    assert best is not None, "there is a start"
    return best
