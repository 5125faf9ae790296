"""A mistake that may have been made, and the same data with it undone."""

from dataclasses import dataclass

import numpy as np

from steelyard.diagnose.case import Case
from steelyard.diagnose.finding import Fault


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """fault: what to say if it is true. case: the mistake undone. gain: log-likelihood won per independent sample."""

    fault: Fault
    case: Case
    gain: float


@dataclass(frozen=True, eq=False)
class Added:
    """Columns added to the free fit of a case, to first order.

    coefficients: (m,), and their standard deviations for residuals of unit variance, infinite for columns that the fit
    explains anyway. before, after: (nv,) weighted residual energies.
    """

    coefficients: np.ndarray
    deviations: np.ndarray
    before: np.ndarray
    after: np.ndarray


PARALLEL = 1e-4  # of its length that a column must keep beside what the fit explains already, else it says nothing


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
    split = [
        np.sum(each.reshape(case.robot.nv, -1) ** 2, axis=1) for each in (residual, residual - left @ coefficients)
    ]
    covariance = np.linalg.pinv((left / scale).T @ (left / scale), rcond=1e-12, hermitian=True)
    deviations = np.where(new, np.sqrt(np.diag(covariance)) / scale, np.inf)
    return Added(coefficients, deviations, *split)


def promise(case: Case, dofs, columns, *, space=None) -> tuple[np.ndarray, float]:
    """Coefficients (m,) of columns (d, n, m) on the rows of a few degrees, and the gain they promise to first order.

    The same as `add_columns` for columns that are zero elsewhere, at a cost that does not grow with the robot.
    """
    dofs = list(dofs)
    noise = case.free[1][dofs, None]
    own = (case.space if space is None else space).reshape(case.robot.nv, len(case), -1)[dofs]
    believed = np.broadcast_to(case.regression.believed, case.target.shape)[dofs]
    weighted = columns * (believed / noise)[:, :, None]
    inside = np.einsum("dnk,dnm->km", own, weighted)
    whole = np.einsum("dnm,dnl->ml", weighted, weighted)
    left = whole - inside.T @ inside
    residual = case.target[dofs] / noise - own @ case.explained(space)
    slope = np.einsum("dnm,dn->m", weighted, residual)
    size = np.sqrt(np.diag(whole))
    new = np.diag(left) > PARALLEL**2 * size**2
    scale = np.where(new, size, np.inf)
    coefficients = np.linalg.pinv(left / scale / scale[:, None], rcond=1e-6, hermitian=True) @ (slope / scale) / scale
    return coefficients, 0.5 * float(slope @ coefficients) / len(case)


def promises(case: Case, columns) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (m,) and gains (m,) that each of columns (nv, n, m) promises when it is added alone."""
    weighted = case.weighted(columns)
    whole = np.sum(weighted**2, axis=0)
    left = whole - np.sum((case.space.T @ weighted) ** 2, axis=0)
    slope = weighted.T @ (case.weighted(case.target) - case.space @ case.explained())
    coefficients = slope / np.where(left > PARALLEL**2 * whole, left, np.inf)
    return coefficients, 0.5 * slope * coefficients / len(case)


def widened(case: Case, columns) -> np.ndarray:
    """(nv n, k) orthonormal basis of what the free fit and columns (nv, n, m) can explain together."""
    weighted = case.weighted(columns)
    left = weighted - case.space @ (case.space.T @ weighted)
    U, s, _ = np.linalg.svd(left, full_matrices=False)
    return np.column_stack([case.space, U[:, s > PARALLEL * np.linalg.norm(weighted, axis=0).max(initial=0.0)]])
