"""Rows of many constraints together: a few array operations instead of a call for each constraint."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.fit.constraints import Constraint
from steelyard.inertia import cones


@dataclass(frozen=True, eq=False)
class Rows:
    """Constraints below each other: rows `b - A x - A_aux aux in K` on parameters x (p,)."""

    constraints: tuple[Constraint, ...]

    @cached_property
    def A(self) -> np.ndarray:
        """(m, p)."""
        return np.concatenate([each.A for each in self.constraints])

    @cached_property
    def b(self) -> np.ndarray:
        """(m,)."""
        return np.concatenate([each.b for each in self.constraints])

    @cached_property
    def free(self) -> np.ndarray:
        """(number of constraints,) which have auxiliary variables."""
        return np.array([each.A_aux.shape[1] > 0 for each in self.constraints], dtype=bool)

    def only(self, wanted) -> "Rows":
        """The constraints where wanted (number of constraints,) is true."""
        return Rows(tuple(each for each, keep in zip(self.constraints, wanted, strict=True) if keep))

    def slack(self, x, aux: Sequence[np.ndarray] = ()) -> np.ndarray:
        """(m,) `b - A x - A_aux aux`. aux: of the constraints that have some; left out where it is empty."""
        slack = self.b - self.A @ x
        for where, part in zip(np.flatnonzero(self.free), aux, strict=bool(aux)):
            slack[self.places[where]] -= self.constraints[where].A_aux @ part
        return slack

    def depths(self, slack) -> np.ndarray:
        """(number of constraints,) how far inside its cones each constraint's slack lies, as `Constraint.depth`."""
        depth = np.full(len(self.constraints), np.inf)
        for kind, n, rows, owner in self.groups:
            np.minimum.at(depth, owner, cones.smallest_eigenvalues(slack[rows], [(kind, n)])[:, 0])
        return depth

    @cached_property
    def places(self) -> list[slice]:
        """Rows of each constraint."""
        stops = np.cumsum([len(each.b) for each in self.constraints])
        return [slice(stop - len(each.b), stop) for each, stop in zip(self.constraints, stops, strict=True)]

    @cached_property
    def groups(self) -> list[tuple[str, int, np.ndarray, np.ndarray]]:
        """All cones of a kind: (kind, n, rows (c, r), constraint of each (c,))."""
        found: dict[tuple[str, int], list[tuple[int, int]]] = {}
        start = 0
        for owner, each in enumerate(self.constraints):
            for cone in each.cones:
                found.setdefault(cone, []).append((start, owner))
                start += cones.row_count(*cone)
        groups = []
        for (kind, n), where in found.items():
            starts, owners = np.array(where).T
            groups.append((kind, n, starts[:, None] + np.arange(cones.row_count(kind, n)), owners))
        return groups
