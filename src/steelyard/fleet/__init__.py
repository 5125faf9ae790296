"""Many robots, many logs: sums on many workers, and what they tell about a fleet."""

from typing import TYPE_CHECKING

from steelyard.fleet.accumulate import accumulate
from steelyard.fleet.fits import Fit, Fits, fits
from steelyard.fleet.runs import Run, runs_of
from steelyard.fleet.study import Member, Study, study
from steelyard.fleet.summary import summary
from steelyard.fleet.sums import Accumulation, Failure, RunSums
from steelyard.fleet.write import write
from steelyard.lazy import lazy

if TYPE_CHECKING:
    from steelyard.fleet.accumulate import carried_out
    from steelyard.fleet.html import needs_a_look
    from steelyard.fleet.runs import ONE
    from steelyard.fleet.tables import overview

# Loaded on first use: they bring heavy libraries.
__getattr__ = lazy(__name__, {"carried_out": "accumulate", "needs_a_look": "html", "overview": "tables", "ONE": "runs"})

__all__ = [
    "ONE",
    "Accumulation",
    "Failure",
    "Fit",
    "Fits",
    "Member",
    "Run",
    "RunSums",
    "Study",
    "accumulate",
    "carried_out",
    "fits",
    "needs_a_look",
    "overview",
    "runs_of",
    "study",
    "summary",
    "write",
]
