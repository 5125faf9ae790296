"""Constraints with a label in words, many of them as rows, and which of them contradict each other.

Inequality rows are divided by the size of what they bound: a tolerance of 1e-9 then means the same for a finger and for
a torso.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.fit.thresholds import THRESHOLDS
from steelyard.inertia import cones
from steelyard.inertia.cones import COARSE, minimise


@dataclass(frozen=True, eq=False)
class Constraint:
    """Rows `b - A x - A_aux aux in K` on all parameters x (p,) in SI units, and what they say in words."""

    label: str
    A: np.ndarray
    A_aux: np.ndarray
    b: np.ndarray
    cones: tuple[tuple[str, int], ...]
    definite: bool = False  # whether this is `J >= THRESHOLDS.eigenvalue J0` of a body, which an entropic cost implies

    @property
    def equality(self) -> bool:
        """Whether this only states equalities among the parameters."""
        return all(kind == "zero" for kind, _ in self.cones) and self.A_aux.shape[1] == 0


@dataclass(frozen=True, eq=False)
class ConstraintRows:
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

    def only(self, wanted) -> "ConstraintRows":
        """The constraints where wanted (number of constraints,) is true."""
        return ConstraintRows(tuple(each for each, keep in zip(self.constraints, wanted, strict=True) if keep))

    def slack(self, x, aux: Sequence[np.ndarray] = ()) -> np.ndarray:
        """(m,) `b - A x - A_aux aux`. aux: of the constraints that have some; left out where it is empty."""
        if not self.constraints:
            return np.zeros(0)
        slack = self.b - self.A @ x
        for where, part in zip(np.flatnonzero(self.free), aux, strict=bool(aux)):
            slack[self.places[where]] -= self.constraints[where].A_aux @ part
        return slack

    def depths(self, slack) -> np.ndarray:
        """(number of constraints,) how far inside its cones each slack lies: negative outside; equalities' errors."""
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


def conflicting(start, directions, known: Sequence[Constraint]) -> tuple[str, ...]:
    """Labels of a small set of constraints that cannot hold together for parameters `start + directions @ y`.

    Every constraint may give way by its own amount, and the sum of the amounts is minimised: what remains above zero
    is the conflict. Constraints without which the rest still cannot hold are left out one after the other.
    """
    amounts = _amounts(start, directions, known)
    kept = [each for each, amount in zip(known, amounts, strict=True) if amount > THRESHOLDS.gives_way]
    needed = _connected(kept, known)
    for each in tuple(needed):
        rest = [other for other in needed if other is not each]
        if each not in kept and _amounts(start, directions, rest).max(initial=0.0) > THRESHOLDS.gives_way:
            needed = rest
    return tuple(each.label for each in needed)


def _connected(kept: Sequence[Constraint], known: Sequence[Constraint]) -> list[Constraint]:
    """Constraints on the parameters of some, and on those that these share with others, and so on."""
    touched = np.zeros(known[0].A.shape[1], dtype=bool)
    for each in kept:
        touched |= _columns(each)
    while True:
        found = [each for each in known if (_columns(each) & touched).any()]
        grown = np.any([_columns(each) for each in found], axis=0)
        if np.array_equal(grown, touched):
            return found
        touched = grown


def _columns(constraint: Constraint) -> np.ndarray:
    return np.asarray(constraint.A.any(axis=0))


def _amounts(start, directions, known: Sequence[Constraint]) -> np.ndarray:
    """How far each constraint gives way in the solution with the least sum of these amounts."""
    size, count = directions.shape[1], len(known)
    width = size + sum(each.A_aux.shape[1] for each in known) + count
    rows, sides, kinds = [], [], []
    place = size
    for i, each in enumerate(known):
        aux = slice(place, place + each.A_aux.shape[1])
        place = aux.stop
        for kind, n, block in cones.ConeRows(each.A, each.A_aux, each.b, each.cones).blocks():
            A = np.zeros((block.stop - block.start, width))
            A[:, :size] = each.A[block] @ directions
            A[:, aux] = each.A_aux[block]
            b = each.b[block] - each.A[block] @ start
            if kind == "zero":
                A, b, kind, n = np.concatenate([A, -A]), np.concatenate([b, -b]), "nonnegative", 2 * n
            A[:, width - count + i] = -cones.unit(kind, n)
            rows.append(A)
            sides.append(b)
            kinds.append((kind, n))
    positive = np.zeros((count, width))
    positive[:, width - count :] = -np.eye(count)
    cost = np.concatenate([np.zeros(width - count), np.ones(count)])
    small = np.diag(np.concatenate([np.full(width - count, 1e-9), np.zeros(count)]))
    solution = minimise(
        small,
        cost,
        np.concatenate([*rows, positive]),
        np.concatenate([*sides, np.zeros(count)]),
        [*kinds, ("nonnegative", count)],
        tolerances=COARSE,
    )
    return solution[width - count :]
