"""The runner on a tiny suite: what is raised is an outcome, rows are kept as they come, and pages are made of them."""

import json
import sys

import pytest

from evidence import __main__ as command
from evidence import runner

TINY = '''
"""A suite of four cases."""
import os, time
LIMIT, WHOLE, BY_NAME = 0.2, True, (9,)

def cases():
    return range(4)

def row(case):
    if case == 1:
        raise ValueError("of this case")
    if case == 3 and os.environ.get("TINY_ENDS"):
        os._exit(7)
    while case == 2:
        pass
    return {"square": case**2}

def failed(row):
    return row.get("square") == 9

def page(rows):
    return f"{len(rows)} cases\\n"
'''


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """The suite, its rows and its page in folders of their own."""
    (tmp_path / "tiny.py").write_text(TINY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(runner, "FOLDER", tmp_path / "rows")
    monkeypatch.setattr(runner, "PAGES", tmp_path)
    monkeypatch.delitem(sys.modules, "tiny", raising=False)
    import tiny

    return tiny


def called(monkeypatch, tiny, *words):
    """Exit status of the command on the suite."""
    monkeypatch.setitem(sys.modules, "evidence.tiny", tiny)
    monkeypatch.setattr(command, "SUITES", ("tiny",))
    monkeypatch.setattr(sys, "argv", ["evidence", "tiny", "--workers", "1", *words])
    return command.main()


def test_errors_and_endless_cases_are_rows(tiny):
    found = [runner.outcome(tiny, case, tiny.LIMIT) for case in range(4)]
    assert [row.get("square") for row in found] == [0, None, None, 9]
    assert [row.get("raised") for row in found] == [None, "ValueError", "TimeoutError", None]
    assert found[1]["message"] == "of this case" and "raise ValueError" in found[1]["where"]
    assert 0.1 <= found[2]["seconds"] < 5.0  # the timer counts whole ticks, which may be early by several


def test_processes_that_end_or_hang_on_the_clock_are_replaced(tiny, monkeypatch):
    monkeypatch.setenv("TINY_ENDS", "1")
    found = {row["case"]: row for row in runner.run("tiny", [3, 0], workers=1)}
    assert found[0]["square"] == 0 and found[3]["message"] == "the process ended with code 7"
    assert found[0]["commit"] and "Python" in found[0]["machine"]
    monkeypatch.setattr(tiny, "LIMIT", 60.0)  # of processor time; on the clock it is over sooner
    monkeypatch.setattr(runner, "BUSY", 0.0)
    monkeypatch.setattr(runner, "SLACK", 0.1)
    (row,) = runner.run("tiny", [2], workers=1)
    assert row["raised"] == "TimeoutError" and "on the clock" in row["message"]


def test_a_stopped_run_goes_on_where_it_was(tiny, monkeypatch, capsys):
    ran = []

    def run(module, cases, *, workers):
        for case in cases:
            ran.append(case)
            yield {"case": case, "seconds": 0.0, "square": case**2}

    monkeypatch.setattr(runner, "run", run)
    page = runner.PAGES / "tiny.md"
    assert called(monkeypatch, tiny, "0") == 0  # named: printed, and not all are there
    assert ran == [0] and "1 cases" in capsys.readouterr().out and not page.exists()
    path = runner.FOLDER / "tiny.jsonl"
    path.write_text(path.read_text() + '\n{"case": 1, "sec')  # killed while it wrote
    assert called(monkeypatch, tiny, "1", "2") == 0
    assert called(monkeypatch, tiny) == 1  # the last one fails, and the one by name does not run
    assert ran == [0, 1, 2, 3] and list(runner.read("tiny")) == [0, 1, 2, 3]
    page.unlink()
    assert called(monkeypatch, tiny, "--page") == 0 and ran == [0, 1, 2, 3]
    assert page.read_text() == "4 cases\n"
    assert called(monkeypatch, tiny, "--anew") == 1 and ran[4:] == [0, 1, 2, 3]
    assert called(monkeypatch, tiny, "9") == 0 and page.read_text() == "5 cases\n"
    assert called(monkeypatch, tiny, "1") == 0 and ran[8:] == [9, 1]  # as a whole: again
    monkeypatch.setattr(tiny, "cases", lambda: ["model/arm", "model/leg"])
    runner.add("tiny", {"case": "model/arm"})
    assert command.chosen(tiny, ["model"], runner.read("tiny")) == ["model/leg"]
    assert command.chosen(tiny, ["model"], ()) == ["model/arm", "model/leg"]
    with pytest.raises(SystemExit, match="named 'x'"):
        called(monkeypatch, tiny, "x")


def test_the_last_row_of_a_case_counts_and_old_cases_stay(tiny, monkeypatch):
    for case, seconds in ((3, 1.0), ("gone", 1.0), (3, 2.0), (0, 1.0), (1, 1.0), (2, 1.0)):
        runner.add("tiny", {"case": case, "seconds": seconds})
    assert called(monkeypatch, tiny, "--page") == 0
    lines = (runner.FOLDER / "tiny.jsonl").read_text().splitlines()
    assert [json.loads(line)["case"] for line in lines] == [0, 1, 2, 3, "gone"]
    assert json.loads(lines[3])["seconds"] == 2.0


@pytest.mark.parametrize("name", command.SUITES)
def test_pages_are_those_of_the_rows(name):
    """`python -m evidence NAME --page` writes one; nothing runs."""
    suite = command.import_module(f"evidence.{name}")
    rows, cases = runner.read(name), command.all_of(suite)
    assert cases and len(cases) == len(set(cases))
    if not rows or (getattr(suite, "WHOLE", False) and not rows.keys() >= set(suite.cases())):
        pytest.skip("no whole run of this suite was stored")
    ordered = [rows[case] for case in cases if case in rows] + [rows[case] for case in rows if case not in cases]
    page = runner.PAGES / f"{getattr(suite, 'PAGE', name)}.md"
    assert page.read_text("utf-8") == suite.page(ordered), f"run `python -m evidence {name} --page`"
