"""What runs say of the base parameters, Gaussians in information form, and tests of what these differ by.

For runs with evidence `(P_k, h_k)` and `x_k = a + u_k b` the change b has precision and score

    D = sum u^2 P - (sum u P) (sum P)^+ (sum u P),    s = sum u h - (sum u P) (sum P)^+ (sum h),

and if it lies in `b = H c`, then `s^T H (H^T D H)^+ H^T s` is chi-square with rank(H^T D H) degrees of freedom where
c = 0. Steps have u in {0, 1}, drifts u = time (Rao 1973, 6e; Basseville and Nikiforov 1993, 4.2). Singular precisions
are included. What varies beyond noise is estimated by medians, which a minority of changes cannot move.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.fit import weigh_by_noise
from steelyard.fit.block_scores import independent_blocks, sandwich
from steelyard.identifiable.basis import Basis
from steelyard.information import Information
from steelyard.numbers import NEGLIGIBLE, STEPS
from steelyard.terms import TERMS, ParameterLayout

MIXED = 1e-4  # share of unseen directions in a parameter, above which it is not told
RIVAL = np.log(100.0)  # causes whose probability is no more than a hundred times the best's are named beside it
LOAD, FRICTION, GEARBOX, OTHER = "load", "friction", "gearbox", "other"


@dataclass(frozen=True, eq=False)
class Evidence:
    """precision: (r, r), singular where a run does not show a combination; moment: (r,), `precision @ estimate`."""

    precision: np.ndarray
    moment: np.ndarray

    def __add__(self, other: "Evidence") -> "Evidence":
        return Evidence(self.precision + other.precision, self.moment + other.moment)

    def with_spread(self, spread) -> "Evidence":
        """The same estimate with variances (r,) added to its own: `(P^-1 + S)^-1`, P may be singular."""
        root = np.sqrt(spread)
        seen = self.precision * root  # P S^1/2
        gain = np.linalg.solve(np.eye(len(root)) + root[:, None] * seen, np.column_stack([seen.T, root * self.moment]))
        precision = self.precision - seen @ gain[:, :-1]
        return Evidence((precision + precision.T) / 2, self.moment - seen @ gain[:, -1])


@dataclass(frozen=True, eq=False)
class Fitness:
    """How a run was weighed."""

    noise: np.ndarray  # (g,) of the row groups
    unexplained: float  # share of the torque's RMS that least squares leaves, 0 to 1
    inflation: float  # deviations over those of noise as independent as the Information says


def evidence_of(blocks: Sequence[Information], total: Information) -> tuple[Evidence, Fitness]:
    """Evidence of a run from Informations of its contiguous blocks, of sum `total`: precision over the inflation that
    block scores show, as residuals are correlated. Raises FitError for too few samples."""
    weighted, noise = weigh_by_noise(total)
    scores = independent_blocks(sandwich(blocks, noise=noise))
    inflation = max(1.0, float(np.sqrt(np.mean(np.sum(scores.adjusted**2, axis=0)))))
    precision = weighted.G / inflation**2
    left = weighted.residual_energy(scores.base)
    unexplained = float(np.sqrt(weighted.weights @ left / max(weighted.c, np.finfo(float).tiny)))
    return Evidence((precision + precision.T) / 2, weighted.b / inflation**2), Fitness(noise, unexplained, inflation)


@dataclass(frozen=True, eq=False)
class Cause:
    """What can happen to a robot, as directions in which its base parameters would change.

    kind: "load" (mass on a link, gained or lost), "friction" or "gearbox" of a joint, "other" for anything at all.
    """

    kind: str
    place: str  # link or joint
    columns: tuple[int, ...]  # (m,) parameters that change
    directions: np.ndarray  # (r, m), base parameters of a change of each

    @property
    def name(self) -> str:
        return f"{self.kind} of {self.place}" if self.place else "something else"


def causes_of(layout: ParameterLayout, basis: Basis) -> tuple[Cause, ...]:
    """Causes that a regression can tell; those that change no base parameter are left out."""
    found = []
    for i, name in enumerate(layout.body_names):
        found.append((LOAD, name, range(layout.body(i).start, layout.body(i).stop)))
    for k, name in enumerate(layout.dof_names):
        columns = {term: layout.term(term).start + k for term in layout.terms}
        worn = [column for term, column in columns.items() if not TERMS[term].inertial]
        found.append((FRICTION, name, worn))
        if 0 < len(worn) < len(columns):  # a gearbox has inertia, too
            found.append((GEARBOX, name, list(columns.values())))
    told = [_cause(kind, place, columns, basis) for kind, place, columns in found]
    every = Cause(OTHER, "", tuple(int(c) for c in basis.columns), np.eye(basis.count))
    return (*(cause for cause in told if cause.directions.size and np.abs(cause.directions).max() > NEGLIGIBLE), every)


def _cause(kind: str, place: str, columns, basis: Basis) -> Cause:
    columns = tuple(int(column) for column in columns)
    return Cause(kind, place, columns, basis.regrouping[:, list(columns)])


@dataclass(frozen=True, eq=False)
class Explained:
    """A cause's test."""

    cause: Cause
    statistic: float  # and `degrees`: of freedom
    degrees: int
    log_p: float  # natural logarithm of the probability of so much by chance
    log_fit: float  # the same as if variances were known, which compares causes
    amount: np.ndarray  # and `deviation`: (m,) estimated change of the cause's columns, NaN where the data cannot tell
    deviation: np.ndarray


def change_along(evidences: Sequence[Evidence], u) -> Evidence:
    """Of the change `b` of `x_k = a + u_k b`. u: (l,)."""
    P = np.stack([each.precision for each in evidences])
    h = np.stack([each.moment for each in evidences])
    u = np.asarray(u, dtype=float)
    total, along, twice = P.sum(axis=0), np.tensordot(u, P, 1), np.tensordot(u * u, P, 1)
    weight = along @ pseudo_inverse(total)
    return Evidence(twice - weight @ along, u @ h - weight @ h.sum(axis=0))


def score_test(
    change: Evidence, cause: Cause, *, noise: Evidence | None = None, spread_degrees: float = np.inf
) -> Explained:
    """The test of one cause. noise: the change without the estimated spread, of `spread_degrees`, that it has in it:
    the more of a direction's variance is spread, the fewer degrees it has, and chi-square becomes F (Satterthwaite
    1946)."""
    H = cause.directions
    V, U = H.T @ change.precision @ H, H.T @ change.moment
    root, lost = _inverse_root(V)
    z = root.T @ U
    statistic, degrees = float(z @ z), root.shape[1]
    amount, deviation = root @ z, np.linalg.norm(root, axis=1)
    amount, deviation = np.where(lost, np.nan, amount), np.where(lost, np.nan, deviation)
    below = np.inf
    if noise is not None and degrees and np.isfinite(spread_degrees):
        share = 1.0 - degrees / max(float(np.einsum("ij,ik,kj->", root, H.T @ noise.precision @ H, root)), degrees)
        below = spread_degrees / max(share, 1e-6) ** 2
    tails = log_tail(statistic, degrees, below), log_tail(statistic, degrees)
    return Explained(cause, statistic, degrees, *tails, amount, deviation)


def log_tail(statistic: float, degrees: int, below: float = np.inf) -> float:
    """Logarithm of the probability that a chi-square exceeds `statistic`, or F where the variance that it was divided
    by has `below` degrees of freedom."""
    from scipy.special import betainc, betaln, gammaincc, gammaln

    if degrees == 0:
        return 0.0
    half, a, tiny = statistic / 2, degrees / 2, np.finfo(float).tiny
    if np.isfinite(below):
        b, rest = below / 2, below / (below + statistic)
        p, far = betainc(b, a, rest), b * np.log(rest) - np.log(b) - betaln(a, b)
    else:
        p = gammaincc(a, half)
        far = (a - 1) * np.log(half) - half - gammaln(a) + np.log1p((a - 1) / half) if p <= tiny else 0.0
    return float(np.log(p) if p > tiny else far)  # the leading terms of what numbers do not hold


def pseudo_inverse(precision) -> np.ndarray:
    """Inverse of a precision (r, r) on what it sees, zero elsewhere; well scaled whatever the units."""
    root, _ = _inverse_root(precision)
    return root @ root.T


def marginal(evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
    """Estimates and variances (r,) of each base parameter; infinite variance where it is not seen."""
    root, lost = _inverse_root(evidence.precision)
    return root @ (root.T @ evidence.moment), np.where(lost, np.inf, np.sum(root**2, axis=1))


def _inverse_root(matrix) -> tuple[np.ndarray, np.ndarray]:
    """Root R (r, k) of the inverse `R R^T` on the k determined directions, and (r,) which entries have none."""
    diagonal = np.diag(matrix)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(scale[:, None] * matrix * scale)
    seen = values > NEGLIGIBLE * max(values[-1], np.finfo(float).tiny)
    root = scale[:, None] * vectors[:, seen] / np.sqrt(values[seen])
    return root, np.linalg.norm(vectors[:, ~seen], axis=1) > MIXED


def chance(tests: Sequence[Explained], looks: float) -> float:
    """Logarithm of the probability that the clearest of these tests is chance, among `looks` times as many."""
    return min(test.log_p for test in tests) + np.log(len(tests) * looks)


def probability(log_p: float) -> float:
    """A probability that JSON can hold, of its logarithm."""
    return max(float(np.exp(log_p)), float(np.finfo(float).tiny))


def rivals(best: Explained, tests: Iterable[Explained]) -> tuple[Cause, ...]:
    """Causes that explain nearly as much as the best one."""
    near = (test.cause for test in tests if test.log_fit < best.log_fit + RIVAL)
    return tuple(cause for cause in near if cause is not best.cause and cause.place)


def extra_variance(distance, variance, times: float = 1.0) -> np.ndarray:
    """(r,) variances s >= 0 for which the median of `distance^2 / (variance + times s)` is that of a chi-square.

    distance, variance: (n, r), the latter infinite where a row does not tell. 0 where fewer than three rows do.
    """
    from scipy.special import gammaincinv

    median = 2 * gammaincinv(0.5, 0.5)  # of a chi-square with one degree of freedom
    distance, variance = np.asarray(distance, dtype=float), np.asarray(variance, dtype=float)
    known = np.isfinite(variance)
    square = np.where(known, distance**2, np.nan)
    finite = np.where(known, variance, 1.0)
    enough = known.sum(axis=0) >= 3
    low = np.zeros(distance.shape[1])
    high = np.nanmax(np.where(enough, square, 0.0), axis=0, initial=0.0) / (median * times)
    for _ in range(STEPS):
        middle = (low + high) / 2
        ratio = np.where(enough, square, 0.0) / (finite + times * middle)
        larger = np.nanmedian(ratio, axis=0) > median
        low, high = np.where(larger, middle, low), np.where(larger, high, middle)
    return np.where(enough, low, 0.0)
