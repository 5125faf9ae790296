"""Claims name proofs that exist, and the page says what a run found."""

import ast
from pathlib import Path

import pytest
from tools.claim_list import CLAIMS
from tools.claims import page, results, verdict

ROOT = Path(__file__).parents[1]
JUNIT = """<testsuites><testsuite>
<testcase classname="tests.test_demo" name="test_it_ends_well_and_says_so"/>
<testcase classname="tests.check.test_hostile" name="test_one_message_quickly[bomb]"><failure/></testcase>
<testcase classname="tests.check.test_hostile" name="test_one_message_quickly[deep]"/>
</testsuite></testsuites>"""


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.says[:40])
def test_proofs_exist(claim):
    assert claim.tests or claim.tables
    for proof in claim.tests:
        file, _, name = proof.partition("::")
        tree = ast.parse((ROOT / "tests" / file).read_text("utf-8"))
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert name in defined if name else any(each.startswith("test_") for each in defined)
    for table in claim.tables:
        assert (ROOT / table).is_file()


def test_verdicts_are_those_of_the_run(tmp_path):
    (tmp_path / "run.xml").write_text(JUNIT)
    found = results(tmp_path / "run.xml")
    verdicts = {claim.tests: verdict(claim, found) for claim in CLAIMS if claim.tests}
    assert verdicts[("test_demo.py",)] == "holds"
    assert verdicts[("check/test_hostile.py",)] == "FAILS"
    assert verdicts[("inertia/test_charts.py",)] == "not run"
    assert "1 passed, 1 failure" in page(found)
