"""Tests of what evidences differ by. All are score tests of Gaussians in information form, singular ones included.

For runs with evidence `(P_k, h_k)` and `x_k = a + u_k b` the change b has precision and score

    D = sum u^2 P - (sum u P) (sum P)^+ (sum u P),    s = sum u h - (sum u P) (sum P)^+ (sum h),

and if it lies in `b = H c`, then `s^T H (H^T D H)^+ H^T s` is chi-square with rank(H^T D H) degrees of freedom where
c = 0. Steps have u in {0, 1}, drifts u = time (Rao 1973, 6e; Basseville and Nikiforov 1993, 4.2).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.fleet.causes import Cause
from steelyard.fleet.evidence import Evidence

SEEN = 1e-9  # of the largest eigenvalue, scaled to a unit diagonal: below it a direction counts as not seen
MIXED = 1e-4  # share of unseen directions in a parameter, above which it is not told
MANY, TINY = 1e4, 1e-290  # degrees below from which F is chi-square; probability below which F has its leading term
FAR = 600.0  # half of a chi-square beyond which its tail is taken from the asymptotic series


@dataclass(frozen=True, eq=False)
class Change:
    """Precision (r, r) and score (r,), `precision @ change`, of a change of base parameters."""

    precision: np.ndarray
    score: np.ndarray


@dataclass(frozen=True, eq=False)
class Explained:
    """A cause's test.

    statistic, degrees: of freedom; log_p: natural logarithm of the probability of so much by chance; log_fit: the same
    as if variances were known, which compares causes. amount, deviation: (m,) estimated change of the cause's columns,
    NaN where the data cannot tell.
    """

    cause: Cause
    statistic: float
    degrees: int
    log_p: float
    log_fit: float
    amount: np.ndarray
    deviation: np.ndarray


def change_along(evidences: Sequence[Evidence], u) -> Change:
    """Change `b` of `x_k = a + u_k b`. u: (l,)."""
    P = np.stack([each.precision for each in evidences])
    h = np.stack([each.moment for each in evidences])
    u = np.asarray(u, dtype=float)
    total, along, twice = P.sum(axis=0), np.tensordot(u, P, 1), np.tensordot(u * u, P, 1)
    weight = along @ pseudo_inverse(total)
    return Change(twice - weight @ along, u @ h - weight @ h.sum(axis=0))


def score_test(change: Change, cause: Cause, *, noise: Change | None = None, told_by: float = np.inf) -> Explained:
    """The test of one cause.

    noise: the change without the estimated spread that `change` has in it; told_by: degrees of freedom of that spread.
    The more of a direction's variance is spread, the fewer degrees its variance has, and chi-square becomes F
    (Satterthwaite 1946).
    """
    H = cause.directions
    V, U = H.T @ change.precision @ H, H.T @ change.score
    scale, values, vectors = _spectrum(V)
    keep = values > SEEN * max(values[-1], np.finfo(float).tiny)
    root = scale[:, None] * vectors[:, keep] / np.sqrt(values[keep])
    z = root.T @ U
    statistic, degrees = float(z @ z), int(keep.sum())
    lost = np.linalg.norm(vectors[:, ~keep], axis=1) > MIXED
    amount, deviation = root @ z, np.linalg.norm(root, axis=1)
    amount, deviation = np.where(lost, np.nan, amount), np.where(lost, np.nan, deviation)
    below = np.inf
    if noise is not None and degrees and np.isfinite(told_by):
        share = 1.0 - degrees / max(float(np.einsum("ij,ik,kj->", root, H.T @ noise.precision @ H, root)), degrees)
        below = told_by / max(share, 1e-6) ** 2
    tails = log_tail(statistic, degrees, below), log_tail(statistic, degrees)
    return Explained(cause, statistic, degrees, *tails, amount, deviation)


def log_tail(statistic: float, degrees: int, below: float = np.inf) -> float:
    """Logarithm of the probability that a chi-square exceeds `statistic`; 0 for no degrees of freedom.

    below: degrees of freedom of the variance that it was divided by: `statistic / degrees` is F then.
    """
    from scipy.special import betainc, betaln, gammaincc, gammaln

    if degrees == 0:
        return 0.0
    half, a = statistic / 2, degrees / 2
    if below < MANY:
        b, rest = below / 2, below / (below + statistic)
        p = betainc(b, a, rest)
        return float(np.log(p)) if p > TINY else float(b * np.log(rest) - np.log(b) - betaln(a, b))
    if half < FAR:
        return float(np.log(max(gammaincc(a, half), np.finfo(float).tiny)))
    return float((a - 1) * np.log(half) - half - gammaln(a) + np.log1p((a - 1) / half))


def pseudo_inverse(precision) -> np.ndarray:
    """Inverse of a precision (r, r) on what it sees, zero elsewhere; well scaled whatever the units."""
    scale, values, vectors = _spectrum(precision)
    keep = values > SEEN * max(values[-1], np.finfo(float).tiny)
    root = scale[:, None] * vectors[:, keep] / np.sqrt(values[keep])
    return root @ root.T


def marginal(evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
    """Estimates and variances (r,) of each base parameter; infinite variance where it is not seen."""
    scale, values, vectors = _spectrum(evidence.precision)
    keep = values > SEEN * max(values[-1], np.finfo(float).tiny)
    root = scale[:, None] * vectors[:, keep] / np.sqrt(values[keep])
    lost = np.linalg.norm(vectors[:, ~keep], axis=1) > MIXED
    return root @ (root.T @ evidence.moment), np.where(lost, np.inf, np.sum(root**2, axis=1))


def _spectrum(matrix):
    """Scales (r,), eigenvalues and vectors of a symmetric matrix brought to a unit diagonal."""
    diagonal = np.diag(matrix)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(scale[:, None] * matrix * scale)
    return scale, values, vectors
