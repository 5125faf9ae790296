"""Sums over samples of robots in contact: samples of one set of contacts at a time, projected and summed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from steelyard.information.contact_rows import Contacts, contact_sets, force_directions, projected_rows
from steelyard.information.gram import Grams, Triangles, merged_factors
from steelyard.information.regression_rows import chunk_rows

if TYPE_CHECKING:
    from steelyard.information.accumulation import RegressionSpec

CHUNK = 256  # samples a pass: dense rows of all degrees are several times those of the tree


@dataclass(frozen=True, eq=False)
class _Dense:
    """Where rows of the degrees that contacts reach lie among their common columns, and the torque behind them.

    degrees (d,); places (k,) of the common columns; own: of each degree, its columns among them.
    """

    degrees: np.ndarray
    places: np.ndarray
    own: tuple[np.ndarray, ...]


class ContactSums:
    """Sums of projected rows of joints. Logs with other contacts reach other rows, and have sums of their own."""

    def __init__(self, spec: "RegressionSpec"):
        self.spec = spec
        self.parts: dict[tuple[int, ...], Grams | Triangles] = {}
        self.weights: np.ndarray | None = None  # by which forces were eliminated, once some were

    def add(self, contacts: Contacts, flags, channels, weights=None):
        """Add samples that touch.

        contacts: of the log. flags: (n, c) bool, some contact in every sample. channels: q, v, a, tau, direction
        (n, .), the last may be None. weights: (n, nv) of squared residuals, or None.
        """
        dense, self.weights = self._dense(contacts), np.array(contacts.weights)
        kept = self.parts.setdefault(tuple(dense.degrees), self._made())
        for touching, samples in contact_sets(flags):
            for start in range(0, len(samples), CHUNK):
                part = samples[start : start + CHUNK]
                chunk = self.spec.chunk(channels, part)
                self._add_chunk(kept, dense, contacts, touching, chunk, None if weights is None else weights[part])

    def _add_chunk(self, kept, dense: _Dense, contacts: Contacts, touching, chunk, weights):
        spec, n = self.spec, chunk[0].shape[1]
        fixed = np.sqrt(np.array(contacts.weights))
        roots = np.broadcast_to(fixed, (n, len(fixed))) if weights is None else np.sqrt(weights) * fixed
        rows = np.zeros((n, len(dense.degrees), len(dense.places) + 1))
        which = {int(dof): i for i, dof in enumerate(dense.degrees)}
        for dof, (y, tau) in enumerate(
            chunk_rows(spec.raw.robot, spec.raw.layout, spec.coulomb_width, spec.rows, chunk)
        ):
            if dof in which:
                i = which[dof]
                rows[:, i, dense.own[i]], rows[:, i, -1] = y.T, tau
            else:
                kept.add(dof, spec.rows[dof].places, y, tau, None if weights is None else weights[:, dof])
        reached = roots[:, dense.degrees]
        Q = force_directions(contacts, touching, chunk[0], reached)
        rows = projected_rows(rows, Q, reached)
        counted = (1 if weights is None else weights[:, dense.degrees]) * (1 - np.sum(Q**2, axis=2))
        for i, dof in enumerate(dense.degrees):
            own = rows[:, i] / fixed[dof]
            kept.add(dof, dense.places, own[:, :-1].T, own[:, -1], count=np.sum(counted[:, i]))

    def total(self):
        """Squares, moment (g, k), energy (g,), factors, counts (g,), as of `Grams.total`; None before any sample."""
        whole = None
        for part in self.parts.values():
            whole = part.total() if whole is None else merged_totals(whole, part.total())
        return whole

    def _made(self) -> Grams | Triangles:
        size = len(self.spec.raw.columns), self.spec.robot.nv
        return (Triangles if self.spec.sums == "qr" else Grams)(size[1], size[0])

    def _dense(self, contacts: Contacts) -> _Dense:
        degrees = contacts.degrees
        rows = [self.spec.rows[dof].places for dof in degrees]
        places = np.unique(np.concatenate([np.zeros(0, dtype=int), *rows]))
        return _Dense(degrees, places, tuple(np.searchsorted(places, own) for own in rows))


def merged_totals(one, other):
    """Sums of both.

    Args:
        one: as of `Grams.total` or `Triangles.total`.
        other: the same of other samples.

    Returns:
        The same of all.
    """
    both = one[3] is not None and other[3] is not None
    factors = merged_factors(one[3], other[3]) if both else None
    return one[0] + other[0], one[1] + other[1], one[2] + other[2], factors, one[4] + other[4]
