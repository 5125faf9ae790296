"""docs/evidence/claims.md: what is promised, what of it holds, and the numbers."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.claim import Claim, Figure
from tools.page_tables import numbers, tables

ROOT = Path(__file__).parents[1]
FAILS, SHORT, NOT_RUN, LIMITS, HOLDS = "fails", "falls short", "not run", "holds within limits", "holds"
STATUSES = {  # what to look at first, first
    FAILS: "a test fails, or a measured figure misses what is promised of it and nobody has explained why",
    SHORT: "what is built passes its tests, but does not reach all that is promised; the last column says how far",
    NOT_RUN: "no proof ran here: all were skipped, or it is shown by a command that is run by hand",
    LIMITS: "all tests pass and all figures are met, under the conditions of the last column",
    HOLDS: "all tests pass, and every measured figure is what is promised",
}
HEAD = """# Capability claims and their proofs

What the library claims to do, the tests that show it, and measured figures beside what is promised of them. Written by
`make claims`, which runs the tests; not by hand. Figures come from the tables that `make bench`, `make peers`,
`make conformance` and `make fuzz` write, and from the tests themselves; of several cases, the least and the greatest.

"""


@dataclass
class Outcome:
    """Of one proof. states: how many tests passed, were skipped or failed. measured: least and greatest by name."""

    states: dict[str, int] = field(default_factory=dict)
    measured: dict[str, list[float]] = field(default_factory=dict)

    def add(self, state: str, measured: Iterable[tuple[str, float]]):
        self.states[state] = self.states.get(state, 0) + 1
        for name, value in measured:
            low, high = self.measured.get(name, (value, value))
            self.measured[name] = [min(low, value), max(high, value)]


def status(claim: Claim, found: dict[str, Outcome]) -> str:
    """One word for a claim, of STATUSES."""
    total = states(claim, found)
    missed = any(misses(figure) for figure in claim.figures)
    if total["failure"] or total["error"] or (missed and not claim.short):
        return FAILS
    if total["absent"] or (claim.tests and not total["passed"]) or not (claim.tests or claim.figures):
        return NOT_RUN
    return SHORT if claim.short else LIMITS if claim.limits else HOLDS


def states(claim: Claim, found: dict[str, Outcome]) -> Counter:
    """Outcomes of all tests of a claim; `absent` counts the proofs of which nothing ran."""
    total = Counter()
    for proof in claim.tests:
        total.update(found[proof].states if proof in found else {"absent": 1})
    return total


def values(figure: Figure) -> list[float]:
    """Numbers of a figure, in its unit. Raises LookupError for a row or column that is not there."""
    path = ROOT / figure.page
    rows = figure.rows or tuple(tables(path)[figure.heading])
    return [figure.times * x for row in rows for x in numbers(path, figure.heading, row, figure.column)]


def misses(figure: Figure) -> bool:
    low, high = min(values(figure)), max(values(figure))
    return (figure.most is not None and high > figure.most) or (figure.least is not None and low < figure.least)


def page(claims: Sequence[Claim], found: dict[str, Outcome]) -> str:
    """Markdown: the words of the statuses, what falls short, then every claim by topic."""
    by_status = {word: [claim for claim in claims if status(claim, found) == word] for word in STATUSES}
    lines = [HEAD + "| status | claims | meaning |", "|---|---|---|"]
    lines += [f"| {word} | {len(by_status[word])} | {meaning} |" for word, meaning in STATUSES.items()]
    lines += ["\n## What does not hold\n", "| topic | claim | status | measured | why |", "|---|---|---|---|---|"]
    for word in (FAILS, SHORT, NOT_RUN):
        lines += [
            f"| {claim.topic} | {claim.says} | {word} | {measured(claim, found)} | {remark(claim)} |"
            for claim in by_status[word]
        ]
    lines.append("")
    for topic in dict.fromkeys(claim.topic for claim in claims):
        lines += [f"## {topic.capitalize()}\n", "| claim | status | measured | tests | proof | limits, shortfall |"]
        lines += ["|---" * 6 + "|", *(row(claim, found) for claim in claims if claim.topic == topic), ""]
    return "\n".join(lines)


def row(claim: Claim, found: dict[str, Outcome]) -> str:
    total = states(claim, found)
    ran = ", ".join(f"{total[state]} {state}" for state in ("passed", "skipped", "failure", "error") if total[state])
    proofs = [f"[{proof.split('::')[-1]}](../../tests/{proof.split('::')[0]})" for proof in claim.tests]
    pages = dict.fromkeys([*(figure.page for figure in claim.figures), *claim.pages])
    proofs += [f"[{Path(name).name}]({os.path.relpath(name, 'docs/evidence')})" for name in pages]
    cells = (claim.says, status(claim, found), measured(claim, found), ran, ", ".join(proofs), remark(claim))
    return f"| {' | '.join(cells)} |"


def remark(claim: Claim) -> str:
    return "; ".join(text for text in (claim.short, claim.limits) if text)


def measured(claim: Claim, found: dict[str, Outcome]) -> str:
    """Figures of tables with what is promised of them, then those that tests handed over."""
    parts = [f"{figure.says} {span(values(figure))}{_unit(figure.unit)}{promise(figure)}" for figure in claim.figures]
    for proof in claim.tests:
        for name, ends in (found[proof].measured if proof in found else {}).items():
            says, _, unit = name.partition(", ")
            parts.append(f"{says} {span(ends)}{_unit(unit)}")
    return "; ".join(parts)


def promise(figure: Figure) -> str:
    ends = (("at least", figure.least), ("at most", figure.most))
    words = [f"{word} {end:,g}" for word, end in ends if end is not None]
    return f" ({', '.join(words)})" if words else ""


def span(numbers: Sequence[float]) -> str:
    low, high = (f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.3g}" for x in (min(numbers), max(numbers)))
    return low if low == high else f"{low} to {high}"


def _unit(unit: str) -> str:
    return f" {unit}" if unit else ""
