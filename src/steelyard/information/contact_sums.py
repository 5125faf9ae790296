"""Sums over samples of robots in contact: samples of one set of contacts at a time, projected and summed."""

from dataclasses import dataclass

import numpy as np

from steelyard.information.contact_rows import Contacts, contact_sets, projectors
from steelyard.information.gram import Grams, Triangles, merged_factors
from steelyard.information.regression_rows import chunk_rows

ENTRIES = 1_200_000  # of dense rows in a pass; they are several times those of the tree


@dataclass(frozen=True, eq=False)
class _Dense:
    """Where rows of the degrees that contacts reach lie among their common columns, and the torque behind them.

    degrees (d,); places (k,) of the common columns; own: of each degree, its columns among them.
    """

    degrees: np.ndarray
    places: np.ndarray
    own: tuple[np.ndarray, ...]


class ContactSums:
    """Sums of projected rows of joints. Logs with other contacts reach other rows, and have sums of their own.

    spec: a RegressionSpec.
    """

    def __init__(self, spec):
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
        step = max(1, ENTRIES // max(1, len(dense.degrees) * (len(dense.places) + 1)))
        for touching, samples in contact_sets(flags):
            for start in range(0, len(samples), step):
                part = samples[start : start + step]
                chunk = self.spec.chunk(channels, part)
                self._add_chunk(kept, dense, contacts, touching, chunk, None if weights is None else weights[part])

    def _add_chunk(self, kept, dense: _Dense, contacts: Contacts, touching, chunk, weights):
        spec, n, degrees = self.spec, chunk[0].shape[1], dense.degrees
        rows, place = np.zeros((n, len(degrees), len(dense.places) + 1)), {int(dof): i for i, dof in enumerate(degrees)}
        free = chunk_rows(spec.raw.robot, spec.raw.layout, spec.coulomb_width, spec.rows, chunk)
        for dof, (y, tau) in enumerate(free):
            if dof in place:
                i = place[dof]
                rows[:, i, dense.own[i]], rows[:, i, -1] = y.T, tau
            else:
                kept.add(dof, spec.rows[dof].places, y, tau, None if weights is None else weights[:, dof])
        own = np.ones((n, len(degrees))) if weights is None else weights[:, degrees]
        project, left = projectors(contacts, touching, chunk[0], np.sqrt(own))
        rows, counts = project @ rows, np.sum(own * left, axis=0)
        for i, dof in enumerate(degrees):
            kept.add(dof, dense.places, rows[:, i, :-1].T, rows[:, i, -1], count=counts[i])

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
