"""Output error: drives, friction and bodies that make the simulation move as the log does, from windows of it.

Gauss-Newton steps on the errors of positions, along derivatives that serve as long as these steps help. Joints of
several limbs on what stands do not move each other, so that a number of each is changed at once. Windows
begin where their own samples say, as far as the smoothed state leaves that open (multiple shooting).
"""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import ndtri, stdtrit

from steelyard.drives.arrays import DriveArrays
from steelyard.drives.coordinates import Unknowns
from steelyard.drives.window_errors import Simulated, errors_of
from steelyard.drives.windows import Windows
from steelyard.log.decimate import autocorrelation, memory
from steelyard.spatial import TWIST

STEPS, LAST = 12, 5  # of a search, and of what follows it
WALKED, SLOPES = 30, 4  # steps of walks, and how often derivatives are taken, which are dear
STALE = 0.1  # of the cost, below which a step along derivatives from elsewhere makes new ones worth it
PRIOR = 30.0  # samples that the prior counts as much as
SETTLED = 0.002  # relative change of the cost
ENDED = 0.1  # of the cost of a step of a standard deviation
STANDING = 0.2  # of the root mean square, that the typical error is at least: most samples may be of joints that stand
SETTLES = 0.05  # of the cost, by which a correction for the step may raise it: where windows begin does not follow it
FALLEN = 1e3  # times the typical error, or a variance, beyond which all are alike
OUTLIER = 6.0  # times the typical error, from which on it counts less
DAMPINGS = (0.03, 0.3, 3.0, 30.0)  # tried at once, times the current one
SHARED, SHARED_MORE = 3.0, 4.5  # times how windows of walks differ, which share errors (measured, docs/drives.md)
LIKE_CONTACTS = ("damping", "armature")  # what contacts that are not quite right look like first, as softness
UPPER = 0.975  # quantile
NEARBY = 0.3  # of the spread of where walking windows begin, that derivatives are taken over
FURTHEST = (2e-3, 0.05)  # rad or m, and times 1/s, as where a robot is in the plane may not be known at all
FIRST, LEAST, LARGEST = 1e-2, 1e-5, 10.0  # of the damping


@dataclass(frozen=True, eq=False)
class Refined:
    """unknowns: where it began; x: (p,) where it ended; moved: (2, k, nv) added to positions and speeds that windows
    begin with; rms: error over the windows, rad or m, before every step and at the end; slopes: of the errors by every
    number, near where it ended, where they are known; felt: as of `felt_by`, where it was asked for."""

    unknowns: Unknowns
    x: np.ndarray
    moved: np.ndarray
    rms: tuple[float, ...]
    slopes: "_Slopes | None" = None
    felt: np.ndarray | None = None

    @property
    def drives(self) -> DriveArrays:
        return self.unknowns.at(self.x)


def refine(
    simulated: Simulated,
    unknowns: Unknowns,
    *,
    begun: Refined | None = None,
    near: np.ndarray | None = None,
    progress: Callable[[float], None] | None = None,
) -> Refined:
    """Drives of less error over windows, or the given ones where there are none near. begun: where coarse steps ended;
    near: (p,) where to begin, if it is not where the prior is."""
    windows = simulated.windows
    coarse, damping, slopes = begun is None and not windows.walking, FIRST, None
    if begun is None:
        x = unknowns.within(unknowns.start if near is None else near)
        moved, rms, most = np.zeros((2, *windows.v.shape)), [], STEPS
    else:
        x, moved, rms, most = begun.x, begun.moved, [*begun.rms], LAST
    (error,) = simulated.errors([moved], [unknowns.at(x)])
    most, left = (WALKED, SLOPES) if windows.walking else (most, most)
    starts = None
    for step in range(most):
        if progress:
            progress(step / most)
        rms.append(float(np.sqrt(np.mean(error**2))))
        cost = _Cost(unknowns, windows, x, error)
        fresh = slopes is None
        if slopes is None:
            slopes, left = _slopes(simulated, moved, unknowns, x, starts=starts), left - 1
            starts = slopes.starts if windows.walking else None  # next to the same elsewhere
        before, start, better = cost.value(x, moved, error), (x, moved), 0.0
        while better <= 0 and damping < LARGEST:
            tried = [cost.step(*start, slopes, factor * damping) for factor in DAMPINGS]
            tried = [(unknowns.within(new), begin) for new, begin in tried]
            errors = simulated.errors([begin for _, begin in tried], [unknowns.at(new) for new, _ in tried])
            costs = [cost.value(*each, found) for each, found in zip(tried, errors, strict=True)]
            best = int(np.argmin(costs))
            better, damping = before - costs[best], max(LEAST, damping * DAMPINGS[best if costs[best] < before else -1])
            if better > 0:
                (x, moved), error = tried[best], errors[best]
        little = better < (SETTLED * before if coarse else ENDED * cost.deviation(x, moved, slopes))
        if little and (fresh or not left):
            break
        stale = coarse or (windows.walking and better < STALE * before)
        if left and (little or stale):  # derivatives serve as long as steps along them help
            slopes, damping = None, min(damping, FIRST)
    rms.append(float(np.sqrt(np.mean(error**2))))
    return Refined(unknowns, x, moved, tuple(rms), slopes)


@dataclass(frozen=True, eq=False)
class Shown:
    """What windows say of the coordinates that were found.

    correction: (p,) by how much infinitely fine steps would change each coordinate: contacts of walks need them.
    """

    covariance: np.ndarray  # (p, p) of the truth about them
    wanted: np.ndarray  # (k, p) by how much each window alone would change each coordinate alone
    curvature: np.ndarray  # (k, p) of its cost there
    correction: np.ndarray

    @property
    def half_width(self) -> np.ndarray:
        """(p,) half of 95 % intervals."""
        return ndtri(UPPER) * np.sqrt(np.maximum(np.diag(self.covariance), 0))


def shown_by(simulated: Simulated, refined: Refined) -> Shown:
    """Covariance of the coordinates: that of `_posterior`, and what a step changes, as long logs leave less than what
    simulators differ by: armatures by half a step times the damping, delays by half a step. Of walks, what leaving out
    one window after the other changes (jackknife of clusters, Bell and McCaffrey 2002), and the prior."""
    unknowns, x, windows = refined.unknowns, refined.x, simulated.windows
    (error,) = simulated.errors([refined.moved], [unknowns.at(x)])
    slopes = refined.slopes or _slopes(simulated, refined.moved, unknowns, x)
    cost = _Cost(unknowns, windows, x, error)
    gram, _, scores, (inverse, mixed, _) = cost.normal(x, refined.moved, slopes)
    values = np.sqrt(cost.weight) * cost.rows(slopes.values)
    own = np.zeros((len(windows), len(x), len(x)))
    for places, joints in cost.limbs(slopes):
        some, inner = mixed[..., joints], inverse[..., joints]
        part = -np.einsum("cakj,cdkj,dbkj->kab", some, inner, some, optimize=True)
        for k, rows in enumerate(cost.spans):
            felt = values[:, rows, joints].reshape(len(values), -1)
            part[k] += felt @ felt.T
        np.add.at(own, np.ix_(np.arange(len(own)), places, places), part)
    inverse = np.linalg.inv(gram)
    curvature = np.maximum(np.diagonal(own, axis1=1, axis2=2), np.finfo(float).tiny)
    moved, drives, correction = refined.moved, refined.drives, np.zeros(len(x))
    stepped = [inverse @ cost.pulled(simulated.by_step(moved, drives), moved, slopes)]
    if windows.walking:
        (halved,) = simulated.halved(moved, [drives])
        found = np.clip(-inverse @ cost.pulled(2 * (halved - error), moved, slopes), -cost.most, cost.most)
        stepped.append(found)
        (other,) = simulated.halved(moved, [unknowns.at(unknowns.within(x + found))])
        before, after = (np.sum(cost.weight * np.minimum(np.abs(cost.rows(e)), FALLEN) ** 2) for e in (halved, other))
        if after < (1 + SETTLES) * before:
            correction = found
    by_step = sum(np.outer(each, each) for each in stepped) / 3
    if windows.walking:
        without = np.linalg.solve(gram - own, scores[:, :, None])[:, :, 0]
        spread = (len(own) - 1) / len(own) * without.T @ without
        covariance = spread + PRIOR * inverse @ cost.own @ inverse + by_step
        fourth = np.maximum(np.sum(without**4, axis=0), np.finfo(float).tiny)
        freedom = np.maximum(np.sum(without**2, axis=0) ** 2 / fourth, 1.0)  # Satterthwaite's
        # what prior and steps add has no such freedom (Welch and Satterthwaite)
        freedom *= np.minimum(np.diag(covariance) / np.maximum(np.diag(spread), np.finfo(float).tiny), FALLEN) ** 2
        covariance = _widened(unknowns, covariance, freedom, _by_limbs(unknowns, inverse, x), cost.most)
    else:
        covariance = _posterior(simulated, refined, error) + by_step
    return Shown(covariance, -scores / curvature, curvature, correction)


def _posterior(simulated: Simulated, refined: Refined, error) -> np.ndarray:
    """(p, p) covariance of the true coordinates about those that were found: of a linear Gaussian posterior together
    with what robots have and models do not (Kennedy and O'Hagan 2001: the discrepancy of a model), and how far its mean
    is from them. Samples count as many as are independent, by the autocorrelation of what is left."""
    unknowns, x, own = refined.unknowns.with_oddities(refined.x)
    starts = None if refined.slopes is None else refined.slopes.starts
    slopes = _slopes(simulated, refined.moved, unknowns, x, starts=starts)
    cost = _Cost(unknowns, simulated.windows, x, error)
    gram, pull, *_ = cost.normal(x, refined.moved, slopes)
    left = np.sqrt(cost.weight) * cost.error
    count = np.mean([1 / memory(autocorrelation(each)) for each in left.T]) / np.mean(left**2)
    prior = cost.own / PRIOR
    covariance = np.linalg.inv(count * (gram - cost.own) + prior)
    shift = covariance @ (count * pull + (prior - count * cost.own) @ (x - cost.mean))
    return (covariance + np.outer(shift, shift))[np.ix_(own, own)]


def _by_limbs(unknowns: Unknowns, inverse, x) -> np.ndarray:
    """(p,) what limbs as in the model would change: they take up errors of contacts, and mass of the trunk."""
    limbs = unknowns.of_bodies.start + np.flatnonzero(~unknowns.bodies[:, 0].any(axis=1))
    return -inverse[:, limbs] @ np.linalg.solve(inverse[np.ix_(limbs, limbs)], x[limbs])


def _widened(unknowns: Unknowns, covariance, freedom, other, most) -> np.ndarray:
    """With degrees of freedom, what windows share, and another answer (p,), up to deviations (p,) of the prior."""
    shared = np.full(len(covariance), SHARED)
    shared[-1] = SHARED_MORE
    for name in set(LIKE_CONTACTS) & set(unknowns.free):
        shared[unknowns.span(name)] = SHARED_MORE
    wide = shared * stdtrit(freedom, UPPER) / ndtri(UPPER)
    found = covariance * np.outer(wide, wide) + np.outer(other, other)
    least = np.minimum(1.0, most / np.sqrt(np.maximum(np.diag(found), np.finfo(float).tiny)))
    return found * np.outer(least, least)


def felt_by(simulated: Simulated, refined: Refined) -> np.ndarray:
    """(p,) information of windows about each coordinate alone, times that of its prior."""
    (error,) = simulated.errors([refined.moved], [refined.drives])
    slopes = refined.slopes or _slopes(simulated, refined.moved, refined.unknowns, refined.x)
    cost = _Cost(refined.unknowns, simulated.windows, refined.x, error)
    gram, *_ = cost.normal(refined.x, refined.moved, slopes)
    return np.diag(gram) / np.diag(cost.own) - 1


@dataclass(frozen=True, eq=False)
class _Slopes:
    """Derivatives of errors.

    values: (s, m, nv), and at: (s, nv), the coordinate that each joint's are taken with. starts: (2, m, nv) by the
    position and the speed that a joint's windows begin with; of a walking robot (2 nv, m, nv), by those of all joints.
    """

    values: np.ndarray
    at: np.ndarray
    starts: np.ndarray


class _Cost:
    """Huber's of errors about as large as the given ones, and the priors of coordinates and of where windows begin.

    Errors count in what is typical of them. Rows (r, j) are those of every joint; of a walking robot, whose joints all
    move each other, those of all joints are one.
    """

    def __init__(self, unknowns: Unknowns, windows: Windows, x, error):
        self.mean, covariance = unknowns.prior(x)
        self.most = np.sqrt(np.diag(covariance))
        self.walking = windows.walking
        counts = windows.counts * (windows.nv if self.walking else 1)
        edges = np.concatenate([[0], np.cumsum(counts)])
        self.spans = [slice(a, b) for a, b in pairwise(edges)]
        self.typical = np.ones(windows.nv)
        kinds = [np.arange(3), np.arange(3, TWIST), np.arange(TWIST, windows.nv)]
        for kind in kinds if self.walking else [np.arange(windows.nv)]:
            size = np.abs(error[:, kind])
            most = STANDING * float(np.sqrt(np.mean(size**2)))
            self.typical[kind] = max(1.4826 * float(np.median(size)), most, 1e-9)
        self.error = self.rows(error)
        self.weight = np.minimum(1.0, OUTLIER / np.maximum(np.abs(self.error), 1e-300))
        self.own = PRIOR * np.linalg.inv(covariance)
        if self.walking:
            self.begin = windows.information.transpose(1, 2, 0)[..., None]
        else:
            self.begin = np.zeros((2, 2, *windows.v.shape))
            self.begin[[0, 1], [0, 1]] = 1 / windows.spread**2

    def rows(self, errors) -> np.ndarray:
        """(..., r, j) of (..., m, nv)."""
        errors = errors / self.typical
        return errors.reshape(*errors.shape[:-2], -1, 1) if self.walking else errors

    def begun(self, moved) -> np.ndarray:
        """(c, k, j) of where windows begin, (2, k, nv)."""
        return moved.transpose(0, 2, 1).reshape(-1, moved.shape[1], 1) if self.walking else moved

    def value(self, x, moved, error) -> float:
        size, begun = np.abs(self.rows(error)), self.begun(moved)
        far = 2 * OUTLIER * size - OUTLIER**2
        priors = (x - self.mean) @ self.own @ (x - self.mean) + np.sum(begun * self._held(begun))
        return float(np.sum(np.where(size < OUTLIER, size**2, far)) + priors)

    def limbs(self, slopes: "_Slopes") -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Coordinates (s,) that joints which move each other answer to, and those joints, columns of rows."""
        at = slopes.at[:, :1] if self.walking else slopes.at
        for places in np.unique(at, axis=1).T:
            yield places, np.flatnonzero((at == places[:, None]).all(axis=0))

    def _held(self, begun) -> np.ndarray:
        return np.einsum("cdkj,dkj->ckj", self.begin, begun)

    def _sums(self, one, other) -> np.ndarray:
        """(a, b, k, j) of products over each window. one, other: (a, r, j), (b, r, j)."""
        one, other = (each.transpose(2, 0, 1) for each in (one, other))
        return np.stack(
            [(one[:, :, rows] @ other[:, :, rows].transpose(0, 2, 1)).transpose(1, 2, 0) for rows in self.spans], axis=2
        )

    def normal(self, x, moved, slopes: _Slopes, damping: float = 0.0):
        """Gauss-Newton's matrix (p, p) and gradient (p,), halved; what each window adds to the gradient (k, p); and
        what beginnings of windows follow from. These are taken out: each window decides them on its own."""
        values, starts, error = self.rows(slopes.values), self.rows(slopes.starts), self.error[None]
        weighted, pushed = self.weight * values, self.weight * starts
        own = weighted.transpose(2, 0, 1) @ values.transpose(2, 1, 0)  # (j, a, b)
        scores = self._sums(weighted, error)[:, 0]
        inner = self._sums(pushed, starts) + self.begin
        every = np.arange(len(inner))
        inner[every, every] *= 1 + damping
        mixed = self._sums(pushed, values)
        pulls = self._sums(pushed, error)[:, 0] + self._held(self.begun(moved))
        inverse = np.moveaxis(np.linalg.inv(np.moveaxis(inner, (0, 1), (-2, -1))), (-2, -1), (0, 1))
        solved = np.einsum("cdkj,dakj->cakj", inverse, mixed, optimize=True)
        for one, other in zip(solved.transpose(0, 3, 1, 2), mixed.transpose(0, 3, 2, 1), strict=True):
            own -= one @ other
        scores = scores - np.einsum("cakj,ckj->akj", solved, pulls)
        gram, parts = self.own.copy(), np.zeros((scores.shape[1], len(x)))
        for places, joints in self.limbs(slopes):
            np.add.at(parts.T, places, scores[:, :, joints].sum(axis=2))
            np.add.at(gram, (places[:, None], places), own[joints].sum(axis=0))
        return gram, parts.sum(axis=0) + self.own @ (x - self.mean), parts, (inverse, mixed, pulls)

    def pulled(self, more, moved, slopes: _Slopes) -> np.ndarray:
        """(p,) by what errors that change by `more` (m, nv) change the gradient."""
        other = copy(self)
        change = self.rows(more)
        other.error = self.error + (np.clip(change, -OUTLIER / 2, OUTLIER / 2) if self.walking else change)
        return other.normal(self.mean, moved, slopes)[1] - self.normal(self.mean, moved, slopes)[1]

    def deviation(self, x, moved, slopes: _Slopes) -> float:
        """What a step of a standard deviation costs, as windows differ."""
        gram, _, parts, _ = self.normal(x, moved, slopes)
        parts = parts - parts.mean(axis=0)
        return float(np.median(np.sum(parts**2, axis=0) / np.diag(gram)))

    def step(self, x, moved, slopes: _Slopes, damping: float) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and beginnings of windows after a step."""
        gram, pull, _, (inverse, mixed, pulls) = self.normal(x, moved, slopes, damping)
        move = -np.linalg.solve(gram + damping * np.diag(np.diag(gram)), pull)
        move = np.clip(move, -self.most, self.most)
        places = slopes.at[:, :1] if self.walking else slopes.at
        left = pulls + np.einsum("cakj,aj->ckj", mixed, move[places])
        begun = -np.einsum("cdkj,dkj->ckj", inverse, left)
        if self.walking:
            begun = begun.reshape(2, -1, begun.shape[1]).transpose(0, 2, 1)
        return x + move, moved + begun


def _slopes(simulated: Simulated, moved, unknowns: Unknowns, x, *, starts=None) -> _Slopes:
    """Derivatives of the errors. starts: those by where windows begin, where they are known."""
    simulation, windows = simulated.simulation, simulated.windows
    changes = unknowns.changes(simulation.limbs)
    ends, aside = windows.spread.mean(axis=(1, 2)), np.eye(2)[:, :, None]
    if windows.walking:  # each on its own
        ends = np.minimum(NEARBY * windows.spread.mean(axis=1), np.array(FURTHEST)[:, None]).ravel()
        aside = np.eye(len(ends)).reshape(-1, 2, windows.nv)
    begins = [moved + (end * one)[:, None] for end, one in zip(ends, aside, strict=True)] if starts is None else []
    here = unknowns.at(x)
    cases = [(moved, here), *((moved, unknowns.at(x + change)) for change, _ in changes)]
    cases += [(each, here) for each in begins]
    error, *found = errors_of(simulation, [windows.begun(each) for each, _ in cases], [drives for _, drives in cases])
    sizes = [change.max() for change, _ in changes]
    values = np.stack([(new - error) / size for new, size in zip(found, sizes, strict=False)])
    if starts is None:
        starts = np.stack([(new - error) / size for new, size in zip(found[len(changes) :], ends, strict=True)])
    return _Slopes(values, np.stack([at for _, at in changes]), starts)
