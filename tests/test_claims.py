"""Claims name proofs and figures that exist, and the page is that of the claims, the last run and the tables."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from tools.claim import Claim, Figure
from tools.claim_list import CLAIMS
from tools.claim_page import FAILS, HOLDS, LIMITS, NOT_RUN, SHORT, Outcome, measured, page, status, values
from tools.claims import PAGE, kept, results

ROOT = Path(__file__).parents[1]
JUNIT = """<testsuites><testsuite>
<testcase classname="tests.test_demo" name="test_it_ends_well_and_says_so"><properties>
<property name="held out, %" value="0.25"/></properties></testcase>
<testcase classname="tests.check.test_hostile" name="test_one_message_quickly[bomb]"><failure/></testcase>
<testcase classname="tests.check.test_hostile" name="test_one_message_quickly[deep]"/>
</testsuite></testsuites>"""
TABLE = """# Page
| stage | pass |
|---|---|
| load | 12 |

## speed
| | s | ratio |
|---|---|---|
| ours, `fast` | **0.5** | 9.4 .. 11 |
| theirs | 1,500 (of 3) | 2 of 25 |
| nobody's | | |
"""


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.says[:40])
def test_proofs_exist(claim):
    assert claim.tests or claim.figures or claim.pages
    for proof in claim.tests:
        file, _, name = proof.partition("::")
        tree = ast.parse((ROOT / "tests" / file).read_text("utf-8"))
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert name in defined if name else any(each.startswith("test_") for each in defined)
    for name in claim.pages:
        assert (ROOT / name).is_file()
    for figure in claim.figures:
        assert values(figure)


def test_the_page_is_current():
    """Words, statuses and figures; `python -m tools.claims --page` writes it, `make claims` runs the proofs, too."""
    assert len({claim.says for claim in CLAIMS}) == len(CLAIMS)
    text = PAGE.read_text("utf-8")
    assert [claim.says for claim in CLAIMS if f"| {claim.says} | " not in text] == []
    assert text == page(CLAIMS, kept())


def test_statuses_are_those_of_the_run(tmp_path):
    (tmp_path / "run.xml").write_text(JUNIT)
    found = results(tmp_path / "run.xml")
    statuses = {claim.tests: status(claim, found) for claim in CLAIMS if claim.tests}
    assert statuses[("test_demo.py",)] == HOLDS
    assert statuses[("check/test_hostile.py",)] == FAILS
    assert statuses[("inertia/test_charts.py",)] == NOT_RUN
    assert "1 passed, 1 failure" in page(CLAIMS, found)
    demo = next(claim for claim in CLAIMS if claim.tests == ("test_demo.py",))
    assert measured(demo, found) == "held out 0.25 %"
    assert status(replace(demo, limits="only here"), found) == LIMITS
    assert status(replace(demo, short="not all", limits="only here"), found) == SHORT


def test_figures_decide_and_must_be_there(tmp_path):
    (tmp_path / "page.md").write_text(TABLE)
    fast = Figure("time", "speed", ("ours, fast",), "s", "ms", most=600, times=1e3, page=str(tmp_path / "page.md"))
    claim = Claim("speed", "quick", figures=(fast,))
    assert status(claim, {}) == HOLDS and measured(claim, {}) == "time 500 ms (at most 600)"
    assert status(replace(claim, figures=(replace(fast, most=400),)), {}) == FAILS
    assert status(replace(claim, figures=(replace(fast, most=400),), short="slow"), {}) == SHORT
    assert values(replace(fast, column="ratio", times=1)) == [9.4, 11]
    assert values(replace(fast, rows=("theirs",), column="ratio", times=1)) == [2]
    assert values(replace(fast, rows=("theirs",), times=1)) == [1500]
    assert values(replace(fast, heading="", rows=(), column="pass", times=1)) == [12]
    for gone in ({"heading": "size"}, {"rows": ("ours",)}, {"column": "m"}, {"rows": ("nobody's",)}):
        with pytest.raises(LookupError, match=r"page\.md"):
            values(replace(fast, **gone))


def test_figures_of_several_cases_are_a_range():
    outcome = Outcome()
    for value in (3.0, 1.0, 2.0):
        outcome.add("passed", [("error, %", value)])
    claim = Claim("speed", "quick", ("test_x.py",))
    assert measured(claim, {"test_x.py": outcome}) == "error 1 to 3 %" and outcome.states == {"passed": 3}
