"""Regrouping by blocks of null vectors, in time proportional to their number."""

from collections.abc import Sequence

import numpy as np

from steelyard.identifiable.assembly import Block
from steelyard.identifiable.basis import Basis, from_dependence, rescaled
from steelyard.identifiable.mechanism import GROUND, Mechanism

PAPER_ORDER = np.array([0, 1, 2, 3, 4, 9, 5, 8, 7, 6])  # place in the paper's tables: m h Ixx Iyy Izz Iyz Ixz Ixy


def preference(mechanism: Mechanism) -> np.ndarray:
    """(p,) place of each column in the order in which base parameters are chosen."""
    order = np.arange(mechanism.size)
    for body in range(len(mechanism.layout.body_names)):
        order[mechanism.layout.body(body)] = 10 * body + PAPER_ORDER
    return order


def dependent_columns(blocks: Sequence[Block]) -> np.ndarray:
    """Columns that are not base parameters, ascending."""
    return np.sort(np.concatenate([b.columns[b.pivots] for b in blocks] or [np.zeros(0, dtype=int)]))


def regrouped(mechanism: Mechanism, blocks: Sequence[Block], theta) -> np.ndarray:
    """Parameters (..., p), in the mechanism's units, moved onto base columns; all others become zero."""
    theta = np.array(theta, dtype=float)
    for block in blocks:
        moved = theta[..., block.columns[block.pivots]]
        if block.parent != GROUND:
            theta[..., mechanism.nodes[block.parent].columns] -= moved @ block.received.T
        theta[..., block.columns] -= moved @ block.entries.T
        theta[..., block.columns[block.pivots]] = 0.0
    return theta


def growth(mechanism: Mechanism, blocks: Sequence[Block]) -> float:
    """By what a choice of base columns multiplies parameters of size one, in the mechanism's units, at most."""
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(4, mechanism.size))
    with np.errstate(over="ignore", invalid="ignore"):
        grown = np.abs(regrouped(mechanism, blocks, signs)).max(initial=0.0)
    return float(grown) if np.isfinite(grown) else np.inf


def basis_of_blocks(mechanism: Mechanism, blocks: Sequence[Block]) -> Basis:
    """Basis in SI units."""
    dependent = dependent_columns(blocks)
    units = np.zeros((len(dependent), mechanism.size))
    units[np.arange(len(dependent)), dependent] = 1.0
    base = np.setdiff1d(np.arange(mechanism.size), dependent)
    expressed = regrouped(mechanism, blocks, units)[:, base].T
    return rescaled(from_dependence(dependent, expressed), mechanism.scale)


def sparse_null_space(mechanism: Mechanism, blocks: Sequence[Block]):
    """SciPy sparse null space (p, d) in SI units."""
    from scipy.sparse import csc_array

    rows, columns, entries, start = [], [], [], 0
    for block in blocks:
        parts = [(block.columns, block.entries)]
        if block.parent != GROUND:
            parts.append((mechanism.nodes[block.parent].columns, block.received))
        for places, values in parts:
            rows.append(np.repeat(places, block.count))
            columns.append(np.tile(start + np.arange(block.count), len(places)))
            entries.append((mechanism.scale[places, None] * values).ravel())
        start += block.count
    place = np.concatenate(rows or [[]]).astype(int), np.concatenate(columns or [[]]).astype(int)
    matrix = csc_array((np.concatenate(entries or [[]]), place), shape=(mechanism.size, start))
    matrix.eliminate_zeros()
    return matrix
