"""The adversary's runner: rows are kept as they come, and what is raised is an outcome."""

import sys
from types import SimpleNamespace

import pytest
from adversary.suite import Suite

from adversary import __main__ as command
from adversary import pool, rows


def case(seed):
    if seed == 1:
        raise ValueError("of this seed")
    while seed == 2:
        pass
    return {"square": seed**2}


SUITE = Suite("drawn", 4, case, lambda found: f"{len(found)} cases\n", limit=0.2)


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """The suite, its rows and its page in a folder of their own."""
    monkeypatch.setitem(sys.modules, "adversary.drawn", SimpleNamespace(SUITE=SUITE))
    monkeypatch.setattr(rows, "FOLDER", tmp_path / "rows")
    monkeypatch.setattr(command, "PAGES", tmp_path / "docs" / "evidence" / "adversary")
    (tmp_path / "docs" / "evidence" / "adversary").mkdir(parents=True)
    return SUITE


@pytest.fixture
def alarmed():
    """The alarm of a worker, and the one that was there before."""
    import signal

    before = signal.getsignal(signal.SIGPROF)
    pool._start()
    yield
    signal.signal(signal.SIGPROF, before)


def test_errors_and_endless_cases_are_rows(drawn, alarmed):
    found = [pool._row(("drawn", seed)) for seed in range(4)]
    assert [row.get("square") for row in found] == [0, None, None, 9]
    assert [row.get("raised") for row in found] == [None, "ValueError", "TimeoutError", None]
    assert found[1]["message"] == "of this seed" and "raise ValueError" in found[1]["where"]
    assert 0.1 <= found[2]["seconds"] < 5.0  # the timer counts whole ticks, which may be early by several


def test_a_stopped_run_goes_on_where_it_was(drawn, monkeypatch, capsys):
    ran = []

    def run(name, seeds, *, workers):
        for seed in seeds:
            ran.append(seed)
            yield {"seed": seed, "seconds": 0.0}

    monkeypatch.setattr(command, "run", run)
    command._all(drawn, 2, 1)
    assert ran == [0, 1] and "2 cases" in capsys.readouterr().out
    path = rows.FOLDER / "drawn.jsonl"
    path.write_text(path.read_text() + '\n{"seed": 2, "sec')  # killed while it wrote
    command._all(drawn, 4, 1)
    assert ran == [0, 1, 2, 3]
    assert (command.PAGES / "drawn.md").read_text() == "4 cases\n"
    assert sorted(rows.read(drawn)) == [0, 1, 2, 3]
    rows.forget(drawn)
    assert rows.read(drawn) == {}


def test_the_last_row_of_a_seed_counts(drawn):
    for seconds in (1.0, 2.0):
        rows.add(drawn, {"seed": 7, "seconds": seconds})
    assert rows.read(drawn) == {7: {"seed": 7, "seconds": 2.0}}
