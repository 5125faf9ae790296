"""Which pieces of knowledge contradict each other: the fewest that have to give way, by name."""

from collections.abc import Sequence

import numpy as np

from steelyard.fit.constraints import EPS, Constraint
from steelyard.inertia import COARSE, cones, minimise

# How far a constraint must give way to be named, relative to its size: a mass that must vanish does.
YIELDS = 0.5 * EPS


def conflicting(start, directions, known: Sequence[Constraint]) -> tuple[str, ...]:
    """Labels of a small set of constraints that cannot hold together for parameters `start + directions @ y`.

    Every constraint may give way by its own amount, and the sum of the amounts is minimised: what remains above zero
    is the conflict. Constraints without which the rest still cannot hold are left out one after the other.
    """
    amounts = _amounts(start, directions, known)
    kept = [each for each, amount in zip(known, amounts, strict=True) if amount > YIELDS]
    needed = _connected(kept, known)
    for each in tuple(needed):
        rest = [other for other in needed if other is not each]
        if each not in kept and _amounts(start, directions, rest).max(initial=0.0) > YIELDS:
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
        for kind, n, block in _blocks(each):
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


def _blocks(constraint: Constraint):
    start = 0
    for kind, n in constraint.cones:
        stop = start + cones.row_count(kind, n)
        yield kind, n, slice(start, stop)
        start = stop
