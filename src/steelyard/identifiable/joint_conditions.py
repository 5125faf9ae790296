"""Conditions of one joint in parameter space: momentum, transfer rate, armature (paper C, eqs. 36, 39, 40 and 52).

Everything derives from one constant, `inertia_map()[a, b, k]`: the derivative of the spatial inertia entry `M[a, b]`
with respect to parameter k, so `M(theta) = inertia_map() @ theta`. Leading batch axes throughout.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from steelyard.inertia import from_spatial_inertia, to_spatial_inertia
from steelyard.spatial import crm


@cache
def inertia_map() -> np.ndarray:
    """(6, 6, 10) derivative of the spatial inertia with respect to each parameter."""
    return np.moveaxis(to_spatial_inertia(np.eye(10)), 0, -1).copy()


@cache
def _rates() -> np.ndarray:
    """(6, 10, 10): A(phi) for each unit twist."""
    products = np.moveaxis(inertia_map(), -1, 0) @ crm(np.eye(6))[:, None]
    return np.stack([from_spatial_inertia(M + np.swapaxes(M, -1, -2)) for M in products]).swapaxes(1, 2)


def momentum(V, U):
    """Coefficients of `u^T M(theta) v` for all pairs of columns (paper C, `Mom`, eq. 52).

    V: (..., 6, n), U: (..., 6, k). Returns (..., 10, n k).
    """
    pairs = U[..., :, None, :, None] * V[..., None, :, None, :]
    return inertia_map().reshape(36, 10).T @ pairs.reshape(*pairs.shape[:-4], 36, -1)


def transfer_rate(phi):
    """A(phi): how parameters seen from the parent change as the joint moves along a twist (paper C, eq. 40).

    phi: (..., 6). Returns (..., 10, 10) with `A theta = vee(crm(phi)^T M + M crm(phi))`.
    """
    return np.tensordot(phi, _rates(), axes=1)


def armature_rows(subspace):
    """Conditions (r, k) on changes of the k armatures of a joint with subspace (6, k)."""
    k = subspace.shape[1]
    if k < 2:
        return np.zeros((0, k))
    brackets = np.einsum("aij,jb->aib", crm(subspace.T), subspace)
    c = np.einsum("ki,aib->kab", np.linalg.pinv(subspace), brackets)  # twist a, then b, gives c[:, a, b]
    rows = np.einsum("kab,kl->kabl", c, np.eye(k)) + np.einsum("akb,al->kabl", c, np.eye(k))
    rows = rows.reshape(-1, k)
    return rows[np.abs(rows).max(axis=1) > 1e-12]


@dataclass(frozen=True, eq=False)
class Transfer:
    """Changes of parameters that go unnoticed as transfers across one joint (or cluster of joints).

    members, shares: nodes and the (10, d) changes of each. columns (e,), extras (e, d): changes of other parameters.
    parent: the node that (10, d) `received` is added to.
    """

    members: tuple[int, ...]
    shares: tuple[np.ndarray, ...]
    columns: np.ndarray
    extras: np.ndarray
    parent: int
    received: np.ndarray

    @property
    def count(self) -> int:
        return self.received.shape[1]
