"""Optimality criteria: one number of the information that a motion gives about what is wanted, with its gradient.

Unknowns are in units of what the prior leaves open: the pullback metric of `fit.consistent` for bodies, wide normal
spreads for friction. `precision` is one plus what earlier logs brought, the information of a motion adds
`spread^T G spread`, and the covariance of what is wanted is a block of the inverse (D-, A- and E-optimality: Pukelsheim
2006; with a prior: Chaloner and Verdinelli 1995); "prediction" is the mean variance of torques over random motions at
all speeds that the limits allow (V-optimality). Condition numbers are of base columns of unit length.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.excite.measured_axes import JOINTS, measured_slice
from steelyard.excite.thresholds import THRESHOLDS
from steelyard.identifiable.basis import Basis
from steelyard.model import Robot
from steelyard.terms import COULOMB_WIDTH, ParameterLayout

SHARP = 6.0  # power of the norms that stand for largest eigenvalues


@dataclass(frozen=True, eq=False)
class Goal:
    """Which unknowns matter, and the cost of what a motion leaves of their uncertainty.

    selection: (w, c) what of each wanted column the unknowns make up, in units of its prior; `contrasts` span it.
    reference: (k, c) deviations of torques (of what sensors feel where torques are not measured) that one unit of each
    unknown makes in random motions, over what is typical of each row; their squares add up to their mean.
    """

    robot: Robot
    layout: ParameterLayout
    basis: Basis
    noise: np.ndarray  # (rows,) standard deviation of each row, N m (N)
    rate: float  # independent samples a second
    criterion: str  # one of `CRITERIA`
    spread: np.ndarray  # (r, c) base parameters of one unit of each unknown, a unit being what the prior leaves open
    precision: np.ndarray  # (c, c) information of the unknowns before the motion
    wanted: np.ndarray  # (w,) columns of the regression that count
    selection: np.ndarray
    unit_selection: np.ndarray  # (w, c) the same with the prior of each column scaled to one
    rank: int  # number of base directions that some allowed motion shows
    earlier: np.ndarray  # (r, r) information of earlier logs
    reference: np.ndarray
    noise_share: float = 0.0  # further noise, as a share of the RMS of a row along the motion
    coulomb_width: float = COULOMB_WIDTH  # rad/s (m/s) of smoothed Coulomb friction
    kinds: tuple[str, ...] = (JOINTS,)  # of rows that are measured

    @property
    def measured(self) -> slice:
        """Rows that are measured."""
        return measured_slice(self.robot, self.kinds)

    def noise_along(self, forces) -> np.ndarray:
        """(rows,) standard deviation of each row along a motion that needs forces (rows, n): `noise` and a share of
        their RMS."""
        return np.sqrt(self.noise**2 + self.noise_share**2 * np.mean(forces**2, axis=1))

    def noise_gradient(self, forces, slope) -> np.ndarray:
        """Gradient (rows, n) by forces of a cost with derivative `slope` by the logarithm of each row's information."""
        return -2 * self.noise_share**2 / forces.shape[1] * forces * (slope / self.noise_along(forces) ** 2)[:, None]

    def cost(self, gram) -> tuple[float, np.ndarray]:
        """Cost of a weighted Gram matrix (r, r) in base columns, to be minimised, and its gradient (r, r)."""
        if self.criterion == "condition":
            return _condition(gram + self.earlier, self.rank)
        if self.criterion == "D" and self._known is not None:
            return self._volume(gram)
        inverse = np.linalg.inv(self.precision + self.spread.T @ gram @ self.spread)
        block = self.contrasts @ inverse @ self.contrasts.T
        if self.criterion == "D":
            value, inner = np.linalg.slogdet(block)[1] / len(block), np.linalg.inv(block) / len(block)
        elif self.criterion in ("A", "prediction"):
            trace = np.trace(block)
            value, inner = np.log(trace), np.eye(len(block)) / trace
        else:
            values, vectors = np.linalg.eigh(block)
            power = (values / values[-1]) ** SHARP
            value = np.log(values[-1]) + np.log(power.sum()) / SHARP
            inner = (vectors * (power / values / power.sum())) @ vectors.T
        half = self.spread @ inverse @ self.contrasts.T
        return float(value), -half @ inner @ half.T

    def _volume(self, gram) -> tuple[float, np.ndarray]:
        """The same for "D" where everything counts: a volume does not depend on units, so base columns will do."""
        assert self._known is not None
        known, constant = self._known
        L = np.linalg.cholesky(known + gram)
        half = np.linalg.inv(L)
        value = constant - 2 * np.sum(np.log(np.diag(L)))
        return float(value) / len(L), -half.T @ half / len(L)

    @cached_property
    def _known(self) -> tuple[np.ndarray, float] | None:
        """Information (r, r) in base columns before the motion, and the part of the logarithm of the volume that does
        not change; None unless all base parameters count."""
        size = len(self.spread)
        if self.spread.shape != (size, size) or self.contrasts.shape != (size, size):
            return None
        units = np.linalg.inv(self.spread)
        logarithm = np.linalg.slogdet(self.contrasts)[1] - np.linalg.slogdet(self.spread)[1]
        return units.T @ self.precision @ units, 2 * logarithm

    def covariance(self, gram) -> np.ndarray:
        """(r, r) of the base parameters after a motion with this weighted Gram matrix, with prior and earlier logs."""
        return self.spread @ np.linalg.solve(self.precision + self.spread.T @ gram @ self.spread, self.spread.T)

    def deviation_ratios(self, gram) -> np.ndarray:
        """(w,) standard deviation of each wanted parameter after the motion over that before it, parts that no motion
        shows included."""
        unseen = 1.0 - np.sum(self.unit_selection**2, axis=1)
        precisions = self.precision, self.precision + self.spread.T @ gram @ self.spread
        before, after = (
            unseen + np.sum(self.unit_selection @ np.linalg.inv(x) * self.unit_selection, axis=1) for x in precisions
        )
        return np.sqrt(after / before)

    def condition(self, gram) -> float:
        """Condition number of the regressor with unit columns, earlier logs counted, of what can be shown at all."""
        values = np.linalg.eigvalsh(unit_columns(gram + self.earlier)[0])[::-1][: self.rank]
        return float(np.sqrt(values[0] / values[-1])) if values[-1] > 0 else np.inf

    @cached_property
    def contrasts(self) -> np.ndarray:
        if self.criterion == "prediction":
            return self.reference
        _, singular, Vt = np.linalg.svd(self.selection, full_matrices=False)
        visible = singular > THRESHOLDS.visible
        return singular[visible, None] * Vt[visible]


def unit_columns(gram) -> tuple[np.ndarray, np.ndarray]:
    """Gram matrix (r, r) of columns scaled to unit length, and these lengths (r,), inf for columns of zeros."""
    size = np.sqrt(np.maximum(np.diag(gram), 0.0))
    size = np.where(size > 1e-12 * size.max(initial=1e-300), size, np.inf)
    return gram / size[:, None] / size, size


def _condition(gram, rank: int) -> tuple[float, np.ndarray]:
    """Logarithm of a smoothed condition number of the regressor with unit columns, and its gradient."""
    C, size = unit_columns(gram)
    values, vectors = np.linalg.eigh(C)
    values, vectors = np.maximum(values[-rank:], 1e-14), vectors[:, -rank:]
    large, small = (values / values[-1]) ** SHARP, (values[0] / values) ** SHARP
    value = np.log(values[-1] / values[0]) + (np.log(large.sum()) + np.log(small.sum())) / SHARP
    pull = large / values / large.sum() - small / values / small.sum()
    F = (vectors * pull) @ vectors.T
    by_size = np.diag((F * C).sum(axis=1)) / size**2
    return float(value) / 2, (F / size[:, None] / size - by_size) / 2
