"""Armature on joints with several degrees of freedom.

It is a torque per acceleration of each coordinate, and no kinetic energy where coordinates do not commute: a mass that
moves in a plane turns its momentum with it, an armature does not. Written as energy, armature misses the terms
`sum c^k_ij a_k v_i v_k` with the structure constants c of the joint's twists, so where a null vector changes
armatures these terms must vanish.
"""

import numpy as np

from steelyard.spatial import crm


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
