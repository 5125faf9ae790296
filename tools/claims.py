"""Run the proofs of the claims of `claim_list` and write docs/evidence/claims.md: `make claims`.

One run of pytest over all of them, or over those of some topics (`--topic fit`), whose outcomes are kept in
`claims_run.json`; measured figures are read from the tables that benchmarks write. `--page` writes the page from both
without running anything, `--junit FILE` takes the outcomes of an earlier run of pytest.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from tools.claim_list import CLAIMS
from tools.claim_page import FAILS, Outcome, page, status

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "evidence" / "claims.md"
KEPT = ROOT / "tools" / "claims_run.json"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topic", action="append", help="prove the claims of this topic only; may be repeated")
    parser.add_argument("--page", action="store_true", help="write the page from the outcomes that are kept")
    parser.add_argument("--junit", type=Path, help="outcomes of an earlier run, as pytest's --junit-xml writes them")
    parser.add_argument("--workers", default="auto", help="processes that run the tests")
    given = parser.parse_args()
    if not given.page:
        with tempfile.TemporaryDirectory() as folder:
            file = given.junit or Path(folder) / "outcome.xml"
            if given.junit is None:
                prove(file, given.workers, given.topic)
            keep(results(file))
    found = kept()
    PAGE.write_text(page(CLAIMS, found), encoding="utf-8")
    print(f"{PAGE} written")
    return int(any(status(claim, found) == FAILS for claim in CLAIMS))


def prove(outcome: Path, workers: str, topics: list[str] | None):
    """Run all proofs, or those of some topics, each file or test once."""
    proofs = {f"tests/{test}" for claim in CLAIMS if not topics or claim.topic in topics for test in claim.tests}
    wanted = sorted(proof for proof in proofs if proof.split("::")[0] not in proofs or "::" not in proof)
    command = [sys.executable, "-m", "pytest", "-q", "--exhaustive", "-n", workers, f"--junit-xml={outcome}", *wanted]
    environment = {"OPENBLAS_NUM_THREADS": "1"} | os.environ
    subprocess.run(command, cwd=ROOT, check=False, env=environment)


def results(file: Path) -> dict[str, Outcome]:
    """Outcome of each proof of the claims of which anything ran: parameters, and the tests of a file, together."""
    found = {proof: Outcome() for claim in CLAIMS for proof in claim.tests}
    for case in ElementTree.parse(file).iter("testcase"):
        parts = case.get("classname", "").split(".")
        path = "/".join(parts[1:] if parts[0] == "tests" else parts) + ".py"
        state = next((child.tag for child in case if child.tag in ("failure", "error", "skipped")), "passed")
        measured = [(each.get("name", ""), float(each.get("value", ""))) for each in case.iter("property")]
        for proof in (path, f"{path}::{case.get('name', '').split('[')[0]}"):
            if proof in found:
                found[proof].add(state, measured)
    return {proof: outcome for proof, outcome in found.items() if outcome.states}


def kept() -> dict[str, Outcome]:
    """Outcomes of the last run of each proof."""
    stored = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    return {proof: Outcome(each["states"], each["measured"]) for proof, each in stored.items()}


def keep(found: dict[str, Outcome]):
    """Keep outcomes with those of other proofs; proofs of no claim are dropped."""
    wanted = sorted({proof for claim in CLAIMS for proof in claim.tests})
    both = kept() | found
    stored = {proof: vars(both[proof]) for proof in wanted if proof in both}
    KEPT.write_text(json.dumps(stored, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
