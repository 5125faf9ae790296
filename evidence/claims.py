"""Claims of the project: markers of the tests that prove them, and how these tests ended.

A test, or the `pytestmark` of a file, is marked `claim("topic.name", "sentence", limits=, short=, pages=)`; further
proofs of the same claim carry its name alone. limits: under which it holds. short: what it does not reach; both known
and explained. pages: that say more. Figures are properties of tests (`record_property("error, %", 0.2)`).

A case is a file of tests. This module is also the plug-in of pytest that writes its row (`--claims FILE`).
"""

import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from evidence.runner import PAGES, ROOT, Row

LIMIT = 3600.0
TESTS = ROOT / "tests"
TOPICS = (
    *("pipeline", "body", "linter", "identifiability", "derivatives", "loops", "information", "fit", "payload"),
    *("excitation", "logs", "report", "scale", "trust"),
)
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
`make claims`, which runs the tests; not by hand. Claims are markers of tests; figures come from the rows that
`make bench`, `make peers`, `make conformance` and `make fuzz` store, and from the tests themselves; of several cases,
the least and the greatest.

"""


BY_HAND: Row = {  # what commands show that no test runs
    "case": "by hand",
    "claims": {
        "trust.wheel": {
            "says": "the wheel in an empty environment of every supported Python runs the README",
            "limits": "shown by `make package`, which is run by hand",
            "pages": ["docs/install.md"],
        },
        "trust.copy": {
            "says": "a fresh copy sets itself up and ends the demo in two minutes",
            "limits": "shown by `make demo`, which is run by hand",
            "pages": ["docs/tutorial.md"],
        },
    },
}


def cases() -> list[str]:
    files = (path for path in sorted(TESTS.rglob("test_*.py")) if "mark.claim(" in path.read_text("utf-8"))
    return [path.relative_to(TESTS).as_posix() for path in files]


def row(case: str) -> Row:
    """Claims whose sentence the file has, by name, and its proofs: `test`, empty for the whole file, and outcomes."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "row.json"
        command = [sys.executable, "-m", "pytest", "-q", "--exhaustive", "-p", "evidence.claims", f"--claims={out}"]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OPENBLAS_NUM_THREADS": "1"}
        said = subprocess.run([*command, f"tests/{case}"], cwd=ROOT, env=environment, capture_output=True, check=False)
        if not out.is_file():
            raise RuntimeError(said.stdout.decode()[-2000:])
        return json.loads(out.read_text("utf-8"))


def failed(row: Row) -> bool:
    return any(proof["states"].get("failed") for proof in row["proofs"])


def pytest_addoption(parser):
    parser.addoption("--claims", help="run tests that are marked as proofs of claims, and write their outcomes there")


def pytest_configure(config):
    if config.getoption("claims"):
        config.pluginmanager.register(Recorder(Path(config.getoption("claims"))))


class Recorder:
    """Takes down claims and outcomes of their tests."""

    def __init__(self, out: Path):
        self.out, self.claims = out, {}
        self.proofs = defaultdict(lambda: {"claims": [], "states": Counter(), "measured": {}, "pages": []})
        self.tests: dict[str, set[str]] = {}

    def pytest_collection_modifyitems(self, config, items):
        for item in items:
            self.tests[item.nodeid] = set()
            for node, mark in item.iter_markers_with_node("claim"):
                name, about = claim_of(mark)
                if about:
                    self.claims[name] = about
                test = "" if node is not item else item.originalname
                self.tests[item.nodeid].add(test)
                if name not in self.proofs[test]["claims"]:
                    self.proofs[test]["claims"].append(name)
        config.hook.pytest_deselected(items=[item for item in items if not self.tests[item.nodeid]])
        items[:] = [item for item in items if self.tests[item.nodeid]]

    def pytest_runtest_logreport(self, report):
        if report.when != "call" and report.passed:
            return
        for test in self.tests[report.nodeid]:
            proof = self.proofs[test]
            proof["states"][report.outcome] += 1
            for name, value in report.user_properties if report.when == "call" else ():
                if name == "page":
                    proof["pages"] = [*dict.fromkeys([*proof["pages"], value])]
                elif isinstance(value, float):
                    low, high = proof["measured"].get(name, (value, value))
                    proof["measured"][name] = [min(low, value), max(high, value)]

    def pytest_sessionfinish(self):
        proofs = [{"test": test, **proof} for test, proof in self.proofs.items()]
        self.out.write_text(json.dumps({"claims": self.claims, "proofs": proofs}), encoding="utf-8")


def claim_of(mark) -> tuple[str, dict]:
    """Name of a claim, and what its marker says of it; nothing where it names the claim alone."""
    name, *sentence = mark.args
    return name, {"says": sentence[0], **mark.kwargs} if sentence else {}


@dataclass
class Claim:
    """A claim with its proofs (file, and what its row says of a test or of the whole file)."""

    name: str
    says: str = ""
    limits: str = ""
    short: str = ""
    pages: Iterable[str] = ()
    proofs: list[tuple[str, dict]] = field(default_factory=list)

    @property
    def states(self) -> Counter:
        """How many tests passed, were skipped or failed."""
        return sum((Counter(proof["states"]) for _, proof in self.proofs), Counter())

    @property
    def status(self) -> str:
        """One word, of STATUSES."""
        if self.states["failed"]:
            return FAILS
        if not self.states["passed"]:
            return NOT_RUN
        return SHORT if self.short else LIMITS if self.limits else HOLDS

    @property
    def remark(self) -> str:
        return "; ".join(text for text in (self.short, self.limits) if text)

    @property
    def measured(self) -> str:
        """Figures of all proofs, each with its unit and what is promised of it."""
        parts = []
        for _, proof in self.proofs:
            for name, ends in proof["measured"].items():
                says, unit, promise = name.split("; ") if "; " in name else (*f"{name}, ".split(", ")[:2], "")
                parts.append(" ".join(text for text in (says, span(ends), unit, promise) if text))
        return "; ".join(parts)

    @property
    def sources(self) -> str:
        """Links to tests, and to pages that say more."""
        found = {f"[{proof['test'] or file}](../../tests/{file})": None for file, proof in self.proofs}
        pages = [*(page for _, proof in self.proofs for page in proof.get("pages", ())), *self.pages]
        found |= {f"[{Path(page).name}]({os.path.relpath(ROOT / page, PAGES)})": None for page in pages}
        return ", ".join(found)


def claims_of(rows: Iterable[Row]) -> list[Claim]:
    """All claims, by topic and name."""
    found: dict[str, Claim] = {}
    for row in rows:
        for proof in row.get("proofs", ()):
            for name in proof["claims"]:
                found.setdefault(name, Claim(name)).proofs.append((row["case"], proof))
        for name, about in row.get("claims", {}).items():
            claim = found.setdefault(name, Claim(name))
            for key, value in about.items():
                setattr(claim, key, value)
    return sorted(found.values(), key=lambda claim: (TOPICS.index(topic_of(claim)), claim.name))


def topic_of(claim: Claim) -> str:
    return claim.name.partition(".")[0]


def page(rows: list[Row]) -> str:
    """The words of the statuses, what falls short, then every claim by topic."""
    claims = claims_of([*rows, BY_HAND])
    by_status = {word: [claim for claim in claims if claim.status == word] for word in STATUSES}
    lines = [HEAD + "| status | claims | meaning |", "|---|---|---|"]
    lines += [f"| {word} | {len(by_status[word])} | {meaning} |" for word, meaning in STATUSES.items()]
    lines += ["\n## What does not hold\n", "| topic | claim | status | measured | why |", "|---|---|---|---|---|"]
    for word in (FAILS, SHORT, NOT_RUN):
        lines += [
            f"| {topic_of(claim)} | {claim.says} | {word} | {claim.measured} | {claim.remark} |"
            for claim in by_status[word]
        ]
    lines.append("")
    for topic in TOPICS:
        lines += [f"## {topic.capitalize()}\n", "| claim | status | measured | tests | proof | limits, shortfall |"]
        lines += ["|---" * 6 + "|", *(_line(claim) for claim in claims if topic_of(claim) == topic), ""]
    return "\n".join(lines)


def _line(claim: Claim) -> str:
    states = [state for state in ("passed", "skipped", "failed") if claim.states[state]]
    ran = ", ".join(f"{claim.states[state]} {state}" for state in states)
    return f"| {' | '.join([claim.says, claim.status, claim.measured, ran, claim.sources, claim.remark])} |"


def span(numbers: Iterable[float]) -> str:
    low, high = (f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.3g}" for x in (min(numbers), max(numbers)))
    return low if low == high else f"{low} to {high}"
