"""Triangular factors of `[Y | tau]`, block by block (TSQR; Golub and Van Loan 2013, 5.2; Demmel et al. 2012).

The Gram matrix squares the condition number of a regression; its triangular factor `F`, `F^T F = [Y | tau]^T [Y |
tau]`, does not. Factors add, too: the factor of two logs is that of the two factors stacked.
"""

import numpy as np


def factors_of_rows(stacked) -> np.ndarray:
    """Factors (g, k, k) of rows (n, g, k), the torque among the columns."""
    return _square(np.linalg.qr(np.swapaxes(stacked, 0, 1), mode="r"))


def merged_factors(one, other) -> np.ndarray:
    """Factors (..., k, k) of the data of both."""
    return _square(np.linalg.qr(np.concatenate([one, other], axis=-2), mode="r"))


def selected_factors(factors, columns) -> np.ndarray:
    """Factors of some columns and the torque. factors: (g, k + 1, k + 1); columns: (r,)."""
    return _square(np.linalg.qr(factors[:, :, [*columns, -1]], mode="r"))


def sums_of_factors(factors):
    """gram (g, k, k), moment (g, k), energy (g,) of factors (g, k + 1, k + 1)."""
    R, z = factors[..., :-1], factors[..., -1]
    turned = np.swapaxes(R, -1, -2)
    return turned @ R, (turned @ z[..., None])[..., 0], np.sum(z * z, axis=-1)


def _square(R) -> np.ndarray:
    """R with rows of zeros below, where there were fewer rows than columns."""
    missing = R.shape[-1] - R.shape[-2]
    return np.concatenate([R, np.zeros((*R.shape[:-2], missing, R.shape[-1]))], axis=-2) if missing else R
