"""What a run says of the base parameters: a Gaussian in information form, which adds as Information does."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.fit import independent_blocks, sandwich, weigh_by_noise
from steelyard.information import Information


@dataclass(frozen=True, eq=False)
class Evidence:
    """precision: (r, r), singular where a run does not show a combination; moment: (r,), `precision @ estimate`."""

    precision: np.ndarray
    moment: np.ndarray

    def __add__(self, other: "Evidence") -> "Evidence":
        return Evidence(self.precision + other.precision, self.moment + other.moment)

    def blurred(self, spread) -> "Evidence":
        """The same estimate with variances (r,) added to its own: `(P^-1 + S)^-1`, P may be singular."""
        root = np.sqrt(spread)
        seen = self.precision * root  # P S^1/2
        gain = np.linalg.solve(np.eye(len(root)) + root[:, None] * seen, np.column_stack([seen.T, root * self.moment]))
        precision = self.precision - seen @ gain[:, :-1]
        return Evidence((precision + precision.T) / 2, self.moment - seen @ gain[:, -1])


@dataclass(frozen=True, eq=False)
class Fitness:
    """How a run was weighed. noise: (g,) of the row groups; unexplained: share of the torque's RMS that least squares
    leaves, 0 to 1; inflation: deviations over those of noise as independent as the Information says."""

    noise: np.ndarray
    unexplained: float
    inflation: float


def evidence_of(blocks: Sequence[Information], total: Information) -> tuple[Evidence, Fitness]:
    """Evidence of a run from the Informations of its contiguous blocks, their sum being `total`.

    Residuals correlated in time count for less: precision is divided by the inflation that block scores show
    (`fit.sandwich`). Raises FitError for too few samples.
    """
    weighted, noise = weigh_by_noise(total)
    scores = independent_blocks(sandwich(blocks, noise=noise))
    inflation = max(1.0, float(np.sqrt(np.mean(np.sum(scores.adjusted**2, axis=0)))))
    precision = weighted.G / inflation**2
    left = weighted.residual_energy(scores.base)
    unexplained = float(np.sqrt(weighted.weights @ left / max(weighted.c, np.finfo(float).tiny)))
    return Evidence((precision + precision.T) / 2, weighted.b / inflation**2), Fitness(noise, unexplained, inflation)
