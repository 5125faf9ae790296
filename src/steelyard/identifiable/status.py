"""How each parameter can be known: alone, in combination, or not at all (paper C, Table 3)."""

from enum import Enum

import numpy as np

from steelyard.identifiable.thresholds import THRESHOLDS


class Status(Enum):
    """Identifiable alone; in combination and chosen as base; in combination; unidentifiable."""

    ALONE = "identifiable alone"
    BASE = "identifiable in combination with others, chosen as base parameter"
    COMBINED = "identifiable in combination with others"
    UNIDENTIFIABLE = "unidentifiable"

    @property
    def symbol(self) -> str:
        return {"ALONE": "★", "BASE": "●", "COMBINED": "○", "UNIDENTIFIABLE": "×"}[self.name]


def statuses(result) -> tuple[Status, ...]:
    """(p,) status of each column of an Identifiability."""
    base = np.zeros(result.size, dtype=bool)
    base[result.columns] = True
    tied, seen = _tied_and_seen(result)
    kinds = []
    for j in range(result.size):
        if base[j]:
            kinds.append(Status.BASE if tied[j] else Status.ALONE)
        else:
            kinds.append(Status.COMBINED if seen[j] else Status.UNIDENTIFIABLE)
    return tuple(kinds)


def _tied_and_seen(result):
    """Whether a column is tied to others by a null vector (p,), and whether changing it alone is noticed (p,)."""
    negligible = max(THRESHOLDS.negligible, 10 * result.decisions.dropped)
    regrouping = result.basis.regrouping / result.mechanism.scale[result.columns, None] * result.mechanism.scale
    tied = np.zeros(result.size, dtype=bool)
    others = regrouping.copy()
    others[np.arange(len(result.columns)), result.columns] = 0.0
    tied[result.columns] = np.abs(others).max(axis=1, initial=0.0) > negligible
    return tied, np.abs(regrouping).max(axis=0, initial=0.0) > negligible
