"""A consistent fit assembled, ready to be inspected or solved: cost, unknowns and constraints.

Each body is written around its prior pseudo-inertia, `J = L (1 + Y) L^T` with `J0 = L L^T`. In the ten numbers `y =
svec(Y)` the constant pullback distance is `1/2 ||y||^2` and the entropic one `tr Y - log det(1 + Y)`, both free of
units: the program stays well scaled for a gripper finger and for a torso. Only the triangular factor of the data
enters, so its size does not depend on the log.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.errors import FitError
from steelyard.fit.constraints import Constraint
from steelyard.inertia import cones, pseudo

TRIANGLES = cones.from_triangle(np.eye(10), 4)  # (10, 4, 4) orthonormal symmetric matrices
DEPENDENT = 1e-9  # of the largest singular value: equalities that repeat others
CONTRADICTION = 1e-8  # error of equalities, relative to the size of what they tie, that no parameters remove


class Infeasible(FitError):
    """No parameters satisfy all constraints."""


@dataclass(frozen=True, eq=False)
class Residual:
    """`||A w - b||^2 + constant` over w (k,). constant: what no parameters can explain."""

    A: np.ndarray
    b: np.ndarray
    constant: float

    @cached_property
    def triangle(self) -> tuple[np.ndarray, np.ndarray]:
        """R, z and nothing more of `||A w - b||`: all that the minimisation needs."""
        if not self.A.shape[1]:
            return np.zeros((0, 0)), np.zeros(0)
        return _factor(self.A, self.b)

    @cached_property
    def remainder(self) -> float:
        """Part of the cost that no w changes."""
        return self.constant + max(float(self.b @ self.b - self.triangle[1] @ self.triangle[1]), 0.0)


@dataclass(frozen=True, eq=False)
class Program:
    """`min residual(w) + entropic_weight * sum d(J || J0)` over w (k,), subject to the constraints.

    Parameters are `x = start + directions @ w`, the relative change of the bodies' second moments is `Y = offset +
    spread @ w`, ten numbers a body. given: columns that equalities settle.
    """

    residual: Residual
    start: np.ndarray
    directions: np.ndarray
    offset: np.ndarray
    spread: np.ndarray
    entropic_weight: float
    constraints: tuple[Constraint, ...]
    given: tuple[int, ...] = ()

    @property
    def body_count(self) -> int:
        return len(self.offset) // 10

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return self.directions.shape[1]

    def parameters(self, w) -> np.ndarray:
        """(p,) in SI units."""
        return self.start + self.directions @ w

    def relative(self, w) -> np.ndarray:
        """(nb, 4, 4) `1 + Y`, the identity at the prior."""
        y = (self.offset + self.spread @ w).reshape(-1, 10)
        return np.eye(4) + np.tensordot(y, TRIANGLES, axes=1)

    def cost(self, w) -> float:
        """Objective, infinite where an entropic term ends."""
        R, z = self.residual.triangle
        value = self.residual.remainder + float(np.sum((R @ w - z) ** 2))
        if self.entropic_weight:
            eigenvalues = np.linalg.eigvalsh(self.relative(w))
            if (eigenvalues <= 0).any():
                return np.inf
            value += self.entropic_weight * float(np.sum(eigenvalues - 1 - np.log(eigenvalues)))
        return value

    @property
    def quadratic(self) -> tuple[np.ndarray, np.ndarray]:
        """F and t of the residual's cost `||F w - t||^2 / 2` but for what no w changes; F upper triangular."""
        R, z = self.residual.triangle
        return np.sqrt(2) * R, np.sqrt(2) * z

    def hessian(self, w) -> np.ndarray:
        """(k, k) triangular F of the cost's Hessian `F^T F`."""
        F = self.quadratic[0]
        if not self.entropic_weight:
            return F
        rows = [F]
        for i, C in enumerate(np.linalg.cholesky(self.relative(w))):
            inverse = np.linalg.inv(C)
            local = cones.triangle(inverse @ TRIANGLES @ inverse.T).T
            rows.append(np.sqrt(self.entropic_weight) * local @ self.spread[10 * i : 10 * i + 10])
        return np.asarray(np.linalg.qr(np.concatenate(rows), mode="r"))


def _factor(A, b) -> tuple[np.ndarray, np.ndarray]:
    """Triangular R and z with `||R x - z||^2` equal to `||A x - b||^2` but for a constant."""
    factor = np.asarray(np.linalg.qr(np.column_stack([A, b]), mode="r"))[: A.shape[1]]
    return factor[:, :-1], factor[:, -1]


def mass_factor(J) -> np.ndarray:
    """(..., 4, 4) upper triangular L with `J = L L^T`: of `L Y L^T`, the mass is a multiple of one entry of Y alone, so
    that a known mass is met however large the other moments are."""
    return np.linalg.cholesky(J[..., ::-1, ::-1])[..., ::-1, ::-1]


def congruence(theta0) -> np.ndarray:
    """(..., 10, 10): theta of `L Y L^T` for the coordinates y of Y, with `J0 = L L^T`. theta0: (..., 10)."""
    L = mass_factor(pseudo.to_matrix(theta0))[..., None, :, :]
    return np.swapaxes(pseudo.to_parameters(L @ TRIANGLES @ np.swapaxes(L, -1, -2)), -1, -2)


def met(known: Sequence[Constraint], start, directions) -> tuple[np.ndarray, np.ndarray]:
    """Particular y and orthonormal N with all equalities met by `start + directions @ (y + N w)`, whatever w.

    Raises Infeasible where they contradict each other.
    """
    equalities = [each for each in known if each.equality]
    A = np.concatenate([each.A for each in equalities])
    missing = np.concatenate([each.b for each in equalities]) - A @ start
    rows = A @ directions
    size = np.linalg.norm(rows, axis=1)
    rows, missing = rows / size[:, None], missing / size
    touched = np.abs(rows).max(axis=0) > DEPENDENT  # others keep coordinates of their own, and their digits
    U, singular, Vt = np.linalg.svd(rows[:, touched])
    rank = int(np.count_nonzero(singular > DEPENDENT * singular.max(initial=0.0)))
    y, N = np.zeros(rows.shape[1]), np.zeros((rows.shape[1], rows.shape[1] - rank))
    y[touched] = Vt[:rank].T @ ((U[:, :rank].T @ missing) / singular[:rank])
    if np.abs(rows @ y - missing).max(initial=0.0) > CONTRADICTION:
        raise Infeasible("Equalities contradict each other.")
    free = int(np.count_nonzero(~touched))
    N[np.flatnonzero(~touched), np.arange(free)] = 1.0
    N[touched, free:] = Vt[rank:].T
    return y, N
