"""What a claim is: a promise in words, the tests that prove it, and the measured figures that it is held to."""

from dataclasses import dataclass

RESULTS = "benchmarks/RESULTS.md"


@dataclass(frozen=True)
class Figure:
    """Numbers of a table of a page: those of some rows, in one column, under a heading.

    says: what they are. heading: "" is what comes before the first. unit: of the numbers, `times` what the table says.
    most, least: what the claim promises of every one of them.
    """

    says: str
    heading: str
    rows: tuple[str, ...]
    column: str
    unit: str = ""
    most: float | None = None
    least: float | None = None
    times: float = 1.0
    page: str = RESULTS


@dataclass(frozen=True)
class Claim:
    """says: the promise. tests: files or `file::test` under tests/, run as proof. figures: measured, from tables.

    pages: that hold more of its figures. limits: under which it holds. short: what it does not reach; both known and
    explained, and empty where there is nothing to say.
    """

    topic: str
    says: str
    tests: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    pages: tuple[str, ...] = ()
    limits: str = ""
    short: str = ""
