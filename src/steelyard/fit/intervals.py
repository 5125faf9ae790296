"""Intervals of parameters, and where each number comes from."""

from dataclasses import dataclass
from enum import Enum

import numpy as np


class Source(Enum):
    """What determines a parameter; the text is what reports say."""

    DATA = "data-determined"
    MODEL = "model-dependent"
    PRIOR = "prior-determined"
    NOTHING = "unidentifiable"
    GIVEN = "given"


@dataclass(frozen=True, eq=False)
class Intervals:
    """Estimates, standard deviations and two-sided intervals (c,) of named parameters, and what determines each.

    Intervals of data-determined parameters cover the truth with probability `level` whatever the prior. Those of
    model-dependent ones hold with and without what the torques show beyond the model, such as friction of another shape
    (`fit.discrepancy`); another model might move them further. Those of others say what data, prior and physical
    consistency leave open, and hold as far as the prior does. What was given as known has no width.
    """

    names: tuple[str, ...]
    estimate: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    deviation: np.ndarray
    sources: tuple[Source, ...]
    level: float

    def __len__(self) -> int:
        return len(self.names)

    @property
    def labels(self) -> tuple[str, ...]:
        """`data-determined`, `prior-determined`, `unidentifiable` or `given`, one a parameter."""
        return tuple(source.value for source in self.sources)

    def by(self, source: Source) -> np.ndarray:
        """(c,) whether a parameter is determined by this source."""
        return np.array([each is source for each in self.sources], dtype=bool)

    def covers(self, truth) -> np.ndarray:
        """(c,) whether true values (c,) lie in their intervals."""
        return (self.lower <= truth) & (truth <= self.upper)

    def table(self) -> str:
        """One line a parameter: name, estimate, interval, label."""
        width = max(map(len, self.names), default=0)
        rows = zip(self.names, self.estimate, self.lower, self.upper, self.labels, strict=True)
        return "\n".join(f"{n:{width}}  {e:>12.5g}  [{a:>12.5g}, {b:>12.5g}]  {label}" for n, e, a, b, label in rows)
