"""What can happen to a robot, as directions in which its base parameters would change."""

from dataclasses import dataclass

import numpy as np

from steelyard.identifiable.basis import Basis
from steelyard.numbers import NEGLIGIBLE
from steelyard.terms import TERMS, ParameterLayout

LOAD, FRICTION, GEARBOX, OTHER = "load", "friction", "gearbox", "other"


@dataclass(frozen=True, eq=False)
class Cause:
    """kind: "load" (mass on a link, gained or lost), "friction" or "gearbox" of a joint, "other" for anything at all.

    place: link or joint; columns: (m,) parameters that change; directions: (r, m), base parameters of a change of
    each.
    """

    kind: str
    place: str
    columns: tuple[int, ...]
    directions: np.ndarray

    @property
    def name(self) -> str:
        return f"{self.kind} of {self.place}" if self.place else "something else"


def causes_of(layout: ParameterLayout, basis: Basis) -> tuple[Cause, ...]:
    """Causes that a regression can tell; those that change no base parameter are left out."""
    found = []
    for i, name in enumerate(layout.body_names):
        found.append((LOAD, name, range(layout.body(i).start, layout.body(i).stop)))
    for k, name in enumerate(layout.dof_names):
        columns = {term: layout.term(term).start + k for term in layout.terms}
        worn = [column for term, column in columns.items() if not TERMS[term].inertial]
        found.append((FRICTION, name, worn))
        if 0 < len(worn) < len(columns):  # a gearbox has inertia, too
            found.append((GEARBOX, name, list(columns.values())))
    told = [_cause(kind, place, columns, basis) for kind, place, columns in found]
    every = Cause(OTHER, "", tuple(int(c) for c in basis.columns), np.eye(basis.count))
    return (*(cause for cause in told if cause.directions.size and np.abs(cause.directions).max() > NEGLIGIBLE), every)


def _cause(kind: str, place: str, columns, basis: Basis) -> Cause:
    columns = tuple(int(column) for column in columns)
    return Cause(kind, place, columns, basis.regrouping[:, list(columns)])
