"""Cones of the interior-point method: batches of positive definite matrices of one size, and their scaling.

Nonnegative numbers are matrices of size one, second-order cones arrow matrices. With slack S and multiplier Z, both
positive definite, Nesterov and Todd's scaling `R^-1 S R^-T = R^T Z R = diag(e)` turns both into the same diagonal.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from steelyard.fit.constraints import ConstraintRows
from steelyard.inertia import cones


@dataclass(frozen=True, eq=False)
class ConeBlock:
    """Slacks `h - G x`, the triangles of positive definite matrices. G: (c, m, k), h: (c, m), n: size of a matrix.

    floor: what remains of the barrier at the end, `S Z = floor 1`: zero for a constraint, the weight for an entropic
    cost.
    """

    G: np.ndarray
    h: np.ndarray
    n: int
    floor: float = 0.0

    @cached_property
    def unit(self) -> np.ndarray:
        """(n, n)."""
        return np.eye(self.n)

    @property
    def degree(self) -> int:
        """Number of eigenvalues."""
        return len(self.h) * self.n

    def change(self, d) -> np.ndarray:
        """(c, n, n) `G d`."""
        return cones.from_triangle(self.G @ d, self.n)

    def slack(self, x) -> np.ndarray:
        """(c, n, n)."""
        return cones.from_triangle(self.h - self.G @ x, self.n)

    def pull(self, Z) -> np.ndarray:
        """(k,) `G^T Z`."""
        return np.tensordot(cones.triangle(Z), self.G, axes=2)

    def substituted(self, to, d) -> "ConeBlock":
        """The same in unknowns u with `x = d + to u`."""
        return ConeBlock(self.G @ to, self.h - self.G @ d, self.n, self.floor)


def blocks_of(rows: ConstraintRows, G, h) -> list[ConeBlock]:
    """Rows `h - G x` of constraints, as blocks. G: (m, k), h: (m,)."""
    made = []
    for kind, n, where, _ in rows.groups:
        if kind == "nonnegative":
            made.append(ConeBlock(G[where.ravel()][:, None], h[where.ravel()][:, None], 1))
        elif kind == "soc":
            made.append(ConeBlock(_arrow(n) @ G[where], h[where] @ _arrow(n).T, n))
        else:
            made.append(ConeBlock(G[where], h[where], n))
    return made


@lru_cache(maxsize=8)
def _arrow(n: int) -> np.ndarray:
    """(n (n + 1) / 2, n) from `(t, x)` to the triangle of `[[t, x^T], [x, t 1]]`."""
    matrices = np.zeros((n, n, n))
    matrices[0] = np.eye(n)
    for i in range(1, n):
        matrices[i, 0, i] = matrices[i, i, 0] = 1.0
    return cones.triangle(matrices).T


@dataclass(frozen=True, eq=False)
class Scaled:
    """A block at slacks and multipliers, the pair (2, c, n, n)."""

    block: ConeBlock
    pair: np.ndarray
    eigenvalues: np.ndarray  # (c, n) of both when scaled
    to: np.ndarray  # (c, n, n) `R`
    back: np.ndarray  # its inverse

    @classmethod
    def at(cls, block: ConeBlock, pair) -> "Scaled":
        """Raises LinAlgError where one of the pair is not positive definite to rounding."""
        L, M = np.linalg.cholesky(pair)
        U, eigenvalues, Vt = np.linalg.svd(M.mT @ L)
        root = 1 / np.sqrt(eigenvalues)
        return cls(block, pair, eigenvalues, L @ (Vt.mT * root[:, None, :]), (U.mT * root[:, :, None]) @ M.mT)

    @property
    def S(self) -> np.ndarray:
        """(c, n, n) slacks."""
        return self.pair[0]

    @property
    def Z(self) -> np.ndarray:
        """(c, n, n) multipliers."""
        return self.pair[1]

    @cached_property
    def products(self) -> np.ndarray:
        """(c, n) eigenvalues of `S Z`."""
        return self.eigenvalues**2

    @property
    def smooth(self) -> bool:
        """Whether a barrier remains at the end."""
        return self.block.floor > 0

    @property
    def pull(self) -> np.ndarray:
        """(c, n, n) at the slacks."""
        return self.Z - self.block.floor * self.block.unit if self.smooth else self.Z

    @property
    def scaled_pull(self) -> np.ndarray:
        """(c, n, n) the same, scaled."""
        return self.diagonal - self.block.floor * self.to.mT @ self.to if self.smooth else self.diagonal

    @property
    def rows(self) -> np.ndarray:
        """(c m, k) `R^-1 G R^-T`."""
        return (cones.congruence_matrix(self.back) @ self.block.G).reshape(-1, self.block.G.shape[2])

    def slack(self, S) -> np.ndarray:
        """Slacks (c, n, n), scaled."""
        return _symmetric(self.back @ S @ self.back.mT)

    def unscaled_multiplier(self, Z) -> np.ndarray:
        return _symmetric(self.back.mT @ Z @ self.back)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """(c, n, n) slack and multiplier, scaled."""
        return self.eigenvalues[:, :, None] * self.block.unit

    def towards(self, aim, bent=None) -> np.ndarray:
        """(c, n, n) changes of slack and multiplier together, scaled, that take `S Z` to aim (c, n) or a number.

        bent: (2, c, n, n) changes whose product counts, too.
        """
        own = (aim / self.eigenvalues - self.eigenvalues)[:, :, None] * self.block.unit
        if bent is None:
            return own
        product = bent[0] @ bent[1]
        return own - (product + product.mT) / (self.eigenvalues[:, :, None] + self.eigenvalues[:, None, :])

    def room(self, pair) -> float:
        """Share of the way to the border that scaled changes (2, c, n, n) cover; above 1 they go beyond."""
        root = 1 / np.sqrt(self.eigenvalues)
        return -float(np.linalg.eigvalsh(pair * (root[:, :, None] * root[:, None, :])).min(initial=0.0))


def _symmetric(X) -> np.ndarray:
    """The nearest symmetric matrices: beside unlike eigenvalues rounding makes the triangles two different matrices."""
    return (X + X.mT) / 2


def products(S, Z) -> np.ndarray:
    """(c, n) eigenvalues of `S Z`; negative where S is not positive definite. Z: positive definite."""
    M = np.linalg.cholesky(Z)
    return np.linalg.eigvalsh(_symmetric(M.mT @ S @ M))
