"""What samples can tell at best: the error of an efficient unbiased estimator, from their Fisher information (Rao 1945;
Cramer 1946, 32.3).

Parameters with covariance C predict torques of rows Y with a mean square error of `tr(Y C Y^T)`, where the inverse of C
is the sum over the samples that count of outer products of rows over their noise. Errors fall with the root of the
number of samples, so a log with `ratio` times the error must be `ratio^2` times as long.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnose.thresholds import RANK

LOST = 1e-4  # of the whole rows' singular value, below which the rows that are left do not show a combination


@dataclass(frozen=True)
class InformationLoss:
    """What some rows tell of what others tell: combinations that all of these show, and how many of them are lost.

    ratio: expected error of torques over that from the others, as far as it comes from combinations that are not lost.
    """

    combinations: int
    lost: int
    ratio: float

    @property
    def times_as_long(self) -> float:
        """How many times as many samples leave the same error."""
        return self.ratio**2


def information_loss(rows, whole, noise) -> InformationLoss:
    """rows (nv, n, r): of what is left, zero for torques that are lost; whole (nv, m, r): of what there might have
    been, which also judge; noise (nv,): standard deviation of torques, N m."""
    axes = excited(whole, noise)
    left = np.linalg.qr(_flat(rows, noise) @ axes, mode="r")
    _, singular, rotation = np.linalg.svd(left)
    singular = np.append(singular, np.zeros(axes.shape[1] - len(singular)))
    energy = np.sum((_flat(whole) @ (axes @ rotation.T)) ** 2, axis=0)
    retained = singular > LOST
    ratio = np.inf
    if retained.any():
        ratio = np.sqrt(np.sum(energy[retained] / singular[retained] ** 2) / np.sum(energy[retained]))
    return InformationLoss(len(singular), int(np.sum(~retained)), float(ratio))


def expected_error(rows, noise, *, share: float = 1.0) -> float:
    """N m, root of the sum over all rows of the expected squared error of their torques. rows (nv, n, r), noise (nv,):
    as in `information_loss`; share: of the samples whose noise is independent."""
    return float(np.sqrt(np.sum((_flat(rows) @ excited(rows, noise)) ** 2) / share))


def excited(rows, noise) -> NDArray[np.float64]:
    """(r, k) directions of parameters that rows (nv, n, r) over noise (nv,) show, each to a variance of one."""
    flat = _flat(rows, noise)
    size = np.linalg.norm(flat, axis=0)
    size[size == 0] = np.inf
    _, singular, axes = np.linalg.svd(np.linalg.qr(flat / size, mode="r"), full_matrices=False)
    large = singular > RANK * singular[0]
    return (axes[large] / size).T / singular[large]


def _flat(rows, noise=None) -> NDArray[np.float64]:
    rows = rows if noise is None else rows / np.asarray(noise)[:, None, None]
    return rows.reshape(-1, rows.shape[2])
