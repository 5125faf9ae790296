"""Columns added to the free fit of a case, to first order: their coefficients, and what the residual then is."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.cards import Card
from steelyard.diagnose.case import Case
from steelyard.log.decimate import autocorrelation, memory

ALIKE = 1.4  # times the filter's memory that white noise of a few hundred samples reaches
PARALLEL = 1e-4  # of its length that a column must keep beside what the fit explains already, else it says nothing


@dataclass(frozen=True, eq=False)
class Added:
    """Columns added to the free fit of a case, to first order.

    coefficients: (m,), and their information (m, m) for residuals of unit variance, none of columns that the fit
    explains anyway. before, after: (nv,) weighted residual energies; left: (nv, n) weighted residual after them;
    columns: of the fit, these included.
    """

    coefficients: np.ndarray
    information: np.ndarray
    before: np.ndarray
    after: np.ndarray
    left: np.ndarray
    columns: int

    @cached_property
    def covariance(self) -> np.ndarray:
        """(m, m) of the coefficients, infinite for columns that the fit explains anyway."""
        size = np.sqrt(np.diag(self.information))
        scale = np.where(size > 0, size, 1.0)
        found = np.linalg.pinv(self.information / scale / scale[:, None], rcond=1e-12, hermitian=True)
        found = found / scale / scale[:, None]
        found[size == 0, size == 0] = np.inf
        return found

    @property
    def deviations(self) -> np.ndarray:
        """(m,) standard deviations of the coefficients."""
        return np.sqrt(np.diag(self.covariance))


def certain(values, covariance, deviations: float) -> tuple[list[int], np.ndarray]:
    """Places of the estimates (m,) that are none by chance, each beside the others: so many standard deviations or
    more; and their values once the others are zero. The least certain is taken for zero, one at a time, and the others
    follow. covariance: (m, m), NaN with the value where nothing is known."""
    places: list[int] = np.flatnonzero(np.isfinite(values)).tolist()
    x, P = values[places], covariance[np.ix_(places, places)]
    while places:
        sigmas = np.abs(x) / np.sqrt(np.diag(P))
        least = int(np.argmin(sigmas))
        if sigmas[least] >= deviations:
            break
        share = P[:, least] / P[least, least]  # by which the others follow
        x = np.delete(x - share * x[least], least)
        P = np.delete(np.delete(P - np.outer(share, P[least]), least, axis=0), least, axis=1)
        del places[least]
    return places, x


@dataclass(frozen=True, eq=False, repr=False)
class JointEstimates(Card):
    """A number of each joint that a log has wrong: delays, s by which torques come late; or offsets, rad or m by which
    positions come short of what the torques say, to be added to them. And the covariance of all.

    value (nv,), covariance (nv, nv): NaN for degrees without a motor, and where torques do not show it. lasting: how
    many times longer than noise what is left stays alike.
    """

    value: np.ndarray
    covariance: np.ndarray
    lasting: float

    @classmethod
    def of(cls, case: Case, dofs, values, covariance, left) -> "JointEstimates":
        """Of some degrees (m,) with values (m,) and their covariance; left: (nv, n) residual beside them."""
        whole, spread = np.full(case.robot.nv, np.nan), np.full((case.robot.nv, case.robot.nv), np.nan)
        whole[dofs], spread[np.ix_(dofs, dofs)] = values, covariance
        return cls(whole, spread, lasting(case, left))

    @property
    def deviation(self) -> np.ndarray:
        """(nv,) standard deviations, NaN where torques do not show the number."""
        return np.sqrt(np.diag(self.covariance))

    def by_name(self, names: Sequence[str], most: float = np.inf) -> dict[str, tuple[float, float]]:
        """Number and standard deviation of the joints that tell theirs to better than `most`. names: (nv,)."""
        pairs = zip(names, self.value, self.deviation, strict=True)
        return {name: (float(x), float(sigma)) for name, x, sigma in pairs if sigma < most}

    def certain(self, deviations: float) -> tuple[list[int], np.ndarray]:
        """Degrees whose number is none by chance, and these numbers, as of `certain`."""
        return certain(self.value, self.covariance, deviations)


def add_columns(case: Case, columns, *, space=None, target=None) -> Added:
    """Least squares with added columns (nv, n, m).

    space: (nv n, k) orthonormal, what is explained anyway, `case.space` by default. target: (nv, n) torque to explain
    instead of the case's own.
    """
    space = case.space if space is None else space
    residual = case.weighted(case.target if target is None else target)
    residual = residual - space @ (space.T @ residual)
    weighted = case.weighted(columns)
    left = weighted - space @ (space.T @ weighted)
    size, kept = np.linalg.norm(weighted, axis=0), np.linalg.norm(left, axis=0)
    new = kept > PARALLEL * size
    left[:, ~new] = 0.0
    scale = np.where(new, kept, 1.0)
    coefficients = np.linalg.lstsq(left / scale, residual, rcond=1e-6)[0] / scale
    rest = [each.reshape(case.robot.nv, -1) for each in (residual, residual - left @ coefficients)]
    before, after = (np.sum(each**2, axis=1) for each in rest)
    return Added(coefficients, left.T @ left, before, after, rest[1], space.shape[1] + int(new.sum()))


def scatter(case: Case, added: Added) -> float:
    """What deviations for residuals of unit variance are to be multiplied by.

    A residual that stays alike for longer than the filter makes it is no noise but something that the model lacks:
    samples count for as many as are independent in the joint where it lasts longest.
    """
    freedom = max(1, added.left.size - added.columns)
    return float(np.sqrt(added.after.sum() / freedom / case.independence * lasting(case, added.left)))


def lasting(case: Case, residual) -> float:
    """How many times longer a residual (nv, n) stays alike than the filter says, in the worst joint; 1 for noise."""
    return float(np.max(persistence(case, residual)[list(case.dofs)], initial=1.0))


def persistence(case: Case, residual) -> np.ndarray:
    """(nv,) the same of each joint."""
    lags = np.array([memory(autocorrelation(each)) for each in residual])
    return np.maximum(1.0, lags * case.independence / ALIKE)


def promise(case: Case, dofs, columns, *, space=None, explained=None) -> tuple[np.ndarray, float]:
    """Coefficients (m,) of columns (d, n, m) on the rows of a few degrees, and the gain they promise to first order.

    The same as `add_columns` for columns that are zero elsewhere, at a cost that does not grow with the robot. space,
    explained: `case.space` and `case.explained()` by default; give both, or neither.
    """
    dofs = list(dofs)
    noise = case.free[1][dofs, None]
    own = (case.space if space is None else space).reshape(case.robot.nv, len(case), -1)[dofs]
    believed = np.broadcast_to(case.regression.believed, case.target.shape)[dofs]
    weighted = columns * (believed / noise)[:, :, None]
    inside = np.einsum("dnk,dnm->km", own, weighted)
    whole = np.einsum("dnm,dnl->ml", weighted, weighted)
    left = whole - inside.T @ inside
    residual = case.target[dofs] / noise - own @ (case.explained() if explained is None else explained)
    slope = np.einsum("dnm,dn->m", weighted, residual)
    size = np.sqrt(np.diag(whole))
    new = np.diag(left) > PARALLEL**2 * size**2
    scale = np.where(new, size, np.inf)
    coefficients = np.linalg.pinv(left / scale / scale[:, None], rcond=1e-6, hermitian=True) @ (slope / scale) / scale
    return coefficients, 0.5 * float(slope @ coefficients) / len(case)


def widened(case: Case, columns) -> np.ndarray:
    """(nv n, k) orthonormal basis of what the free fit and columns (nv, n, m) can explain together."""
    weighted = case.weighted(columns)
    left = weighted - case.space @ (case.space.T @ weighted)
    U, s, _ = np.linalg.svd(left, full_matrices=False)
    return np.column_stack([case.space, U[:, s > PARALLEL * np.linalg.norm(weighted, axis=0).max(initial=0.0)]])
