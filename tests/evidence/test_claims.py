"""Claims are markers of tests; their rows hold what the markers say, and their page what the rows hold."""

from pathlib import Path

from evidence.claims import BY_HAND, FAILS, HOLDS, LIMITS, NOT_RUN, SHORT, cases, claim_of, claims_of, page

from evidence import claims, runner

ROOT = Path(__file__).parents[2]
PASSED = {"test": "", "claims": ["fit.quick"], "states": {"passed": 2}, "measured": {}, "pages": []}


def claim(about=None, **proof):
    """The only claim of a row of one proof."""
    said = {"fit.quick": {"says": "quick", **(about or {})}}
    (found,) = claims_of([{"case": "fit/test_x.py", "claims": said, "proofs": [PASSED | proof]}])
    return found


def test_statuses():
    assert claim().status == HOLDS
    assert claim({"limits": "only here"}).status == LIMITS
    assert claim({"limits": "only here", "short": "not all"}).status == SHORT
    assert claim(states={"skipped": 2}).status == NOT_RUN
    assert claim({"short": "not all"}, states={"passed": 1, "failed": 1}).status == FAILS


def test_figures_are_ranges_with_unit_and_promise():
    measured = {"error, %": [1.0, 3.0], "gap": [2.0, 2.0], "time, a day; s; (at most 5,000)": [4000.0, 4000.0]}
    assert claim(measured=measured).measured == "error 1 to 3 %; gap 2; time, a day 4,000 s (at most 5,000)"


def test_the_page_has_every_proof():
    other = {"case": "test_y.py", "claims": {}, "proofs": [PASSED | {"test": "test_z", "pages": ["docs/fitting.md"]}]}
    row = {"case": "fit/test_x.py", "claims": {"fit.quick": {"says": "quick", "short": "slow"}}, "proofs": [PASSED]}
    text = page([other, row])
    proofs = "[test_z](../../tests/test_y.py), [fit/test_x.py](../../tests/fit/test_x.py), [fitting.md](../fitting.md)"
    assert f"| quick | falls short |  | 4 passed | {proofs} | slow |" in text
    assert "| fit | quick | falls short |  | slow |" in text


def test_markers_of_this_session_are_those_of_the_rows(request):
    """`make claims` stores them; `python -m evidence claims FILE` those of one file."""
    rows = runner.read("claims")
    for item in request.session.items:
        case = item.path.relative_to(ROOT / "tests").as_posix()
        for node, mark in item.iter_markers_with_node("claim"):
            name, about = claim_of(mark)
            test = "" if node is not item else item.originalname
            assert case in rows, f"run `python -m evidence claims {case}`"
            assert any(name in proof["claims"] and proof["test"] == test for proof in rows[case]["proofs"]), item.nodeid
            if about:
                stored = rows[case]["claims"][name]
                assert {key: list(x) if key == "pages" else x for key, x in about.items()} == stored


def test_every_claim_has_a_sentence_and_its_pages():
    assert set(runner.read("claims")) == set(cases())
    every = claims_of([*runner.read("claims").values(), BY_HAND])
    assert len({each.says for each in every}) == len(every) >= 80
    for each in every:
        assert each.says and bool(each.proofs) != (each.name in BY_HAND["claims"]), each.name
        assert all((ROOT / name).is_file() for name in each.pages)


TESTS = """
import pytest

claim = pytest.mark.claim

@claim("fit.quick", "quick", limits="here")
@pytest.mark.parametrize("x", [1, 3])
def test_a(x, record_property):
    record_property("time, s", float(x))

@claim("fit.quick")
def test_b():
    assert False

def test_of_no_claim():
    assert False
"""
CONFTEST = """
def pytest_addoption(parser):
    parser.addoption("--exhaustive", action="store_true")
"""


def test_outcomes_are_taken_down(tmp_path, monkeypatch):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_made.py").write_text(TESTS)
    (tmp_path / "tests" / "conftest.py").write_text(CONFTEST)
    monkeypatch.setattr(claims, "ROOT", tmp_path)
    row = claims.row("test_made.py")
    assert row["claims"] == {"fit.quick": {"says": "quick", "limits": "here"}}
    first, second = row["proofs"]
    assert (first["test"], first["states"], first["measured"]) == ("test_a", {"passed": 2}, {"time, s": [1.0, 3.0]})
    assert (second["test"], second["states"]) == ("test_b", {"failed": 1})
    assert claims.failed(row)
