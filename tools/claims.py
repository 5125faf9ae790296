"""Run the proofs of every claim of `claim_list.py` and write docs/claims.md: `make claims`.

One run of pytest over all of them; what it says of each file or test decides. `--list` writes the page from an earlier
run's JUnit file instead: `python -m tools.claims --junit FILE`.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

from tools.claim_list import CLAIMS, Claim

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "claims.md"
HEAD = """# Capability claims and their proofs

What the library claims to do, and the tests that show it. Written by `make claims`, which runs them; not by hand. A
claim *holds* when all its tests pass; what falls short of it, or limits it, is in the last column.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--junit", type=Path, help="outcome of an earlier run, as pytest's --junit-xml writes it")
    parser.add_argument("--workers", default="auto", help="processes that run the tests")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        outcome = given.junit or Path(folder) / "outcome.xml"
        if given.junit is None:
            prove(outcome, given.workers)
        found = results(outcome)
    PAGE.write_text(page(found), encoding="utf-8")
    print(f"{PAGE} written")
    return int(any(verdict(claim, found) == "FAILS" for claim in CLAIMS))


def prove(outcome: Path, workers: str):
    """Run all proofs, each file or test once."""
    wanted = sorted({f"tests/{test}" for claim in CLAIMS for test in claim.tests})
    whole = [test for test in wanted if "::" not in test]
    wanted = whole + [test for test in wanted if "::" in test and test.split("::")[0] not in whole]
    command = [sys.executable, "-m", "pytest", "-q", "-n", workers, f"--junit-xml={outcome}", *wanted]
    environment = {"OPENBLAS_NUM_THREADS": "1"} | os.environ
    subprocess.run(command, cwd=ROOT, check=False, env=environment)


def results(outcome: Path) -> dict[str, Counter]:
    """Passed, skipped and failed of each `file::test` under tests/, parameters together."""
    found: dict[str, Counter] = {}
    for case in ElementTree.parse(outcome).iter("testcase"):
        parts = case.get("classname", "").split(".")
        file = "/".join(parts[1:] if parts[0] == "tests" else parts) + ".py"
        state = next((child.tag for child in case if child.tag in ("failure", "error", "skipped")), "passed")
        name = f"{file}::{case.get('name', '').split('[')[0]}"
        found.setdefault(name, Counter())[state] += 1
    return found


def of_claim(claim: Claim, found: dict[str, Counter]) -> Counter:
    """Outcomes of all tests of a claim; `absent` counts the proofs of which nothing ran."""
    total = Counter()
    for proof in claim.tests:
        mine = [count for name, count in found.items() if name == proof or name.startswith(f"{proof}::")]
        total.update(sum(mine, Counter()) if mine else {"absent": 1})
    return total


def verdict(claim: Claim, found: dict[str, Counter]) -> str:
    total = of_claim(claim, found)
    if total["failure"] or total["error"]:
        return "FAILS"
    if total["absent"] or (claim.tests and not total["passed"]):
        return "not run"
    if not claim.tests:
        return "measured, falls short" if claim.short else "measured"
    return "holds, with limits" if claim.short else "holds"


def page(found: dict[str, Counter]) -> str:
    counts = Counter(verdict(claim, found) for claim in CLAIMS)
    lines = [HEAD, ", ".join(f"{number} {word}" for word, number in counts.most_common()) + ".\n"]
    for topic in dict.fromkeys(claim.topic for claim in CLAIMS):
        lines += [f"## {topic.capitalize()}\n", "| claim | | tests | proof | short of it |", "|---|---|---|---|---|"]
        lines += [row(claim, found) for claim in CLAIMS if claim.topic == topic]
        lines.append("")
    return "\n".join(lines)


def row(claim: Claim, found: dict[str, Counter]) -> str:
    total = of_claim(claim, found)
    ran = ", ".join(f"{total[state]} {state}" for state in ("passed", "skipped", "failure", "error") if total[state])
    proofs = [f"[{proof.split('::')[-1]}](../tests/{proof.split('::')[0]})" for proof in claim.tests]
    proofs += [f"[{Path(table).name}]({os.path.relpath(table, 'docs')})" for table in claim.tables]
    return f"| {claim.says} | {verdict(claim, found)} | {ran} | {', '.join(proofs)} | {claim.short} |"


if __name__ == "__main__":
    sys.exit(main())
