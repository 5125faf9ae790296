"""What a suite of the adversary is."""

from collections.abc import Callable
from dataclasses import dataclass

Row = dict  # one case: `seed`, `seconds` of processor time, what came out as JSON values, `raised` where something did


@dataclass(frozen=True)
class Suite:
    """Random cases of one kind.

    name: of its page, docs/evidence/adversary/NAME.md. cases: how many make a full run. one: the outcome of the
    case of a seed, of JSON values; what it raises is recorded as `raised`. page: Markdown of all rows. limit: seconds
    of processor time a case may take.
    """

    name: str
    cases: int
    one: Callable[[int], Row]
    page: Callable[[list[Row]], str]
    limit: float = 120.0
