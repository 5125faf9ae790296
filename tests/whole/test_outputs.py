"""Output folders when runs are killed, meet a full disk or each other: whole results of one run, or none."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from steelyard.errors import OptionError
from steelyard.report import staged

pytestmark = pytest.mark.claim(
    "trust.stops",
    "after kills, full disks, plain locales or shared folders results are whole; bytes do not depend on threads",
    pages=("docs/evidence/robustness.md",),
)

NAMES = ("arm.urdf", "report.html", "summary.json")
KILLED = """
import os, signal, sys
from pathlib import Path
from steelyard.report import outputs
real = Path.replace
left = -1
def replace(self, target):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    return real(self, target)
Path.replace = replace
for word in sys.argv[2:]:
    child = os.fork()
    if child:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        continue
    left = int(word)
    with outputs.staged(Path(sys.argv[1]) / word) as stage:
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        for name in ("arm.urdf", "report.html", "summary.json"):
            (stage / name).write_text("new")
    os._exit(0)
"""


def fill(folder, content):
    for name in NAMES:
        (folder / name).write_text(content)


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def killed(folder, *moves) -> list[bool]:
    """Whether the process that writes `folder/N` and is killed before it moves file N came to that."""
    words = [sys.executable, "-c", KILLED, str(folder), *map(str, moves)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return [int(code) == -signal.SIGKILL for code in done.stdout.split()]


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_kill_between_any_two_files_leaves_no_mixed_result(tmp_path):
    moves = range(-1, 7)
    for move in moves:
        (tmp_path / str(move)).mkdir()
        fill(tmp_path / str(move), "old")
        (tmp_path / str(move) / "mine.txt").write_text("mine")
    assert killed(tmp_path, *moves) == [True] * 7 + [False]  # six moves
    for move in moves:
        found = contents(tmp_path / str(move))
        assert found.pop("mine.txt") == "mine"
        if "summary.json" in found:
            assert set(found) == set(NAMES) and len(set(found.values())) == 1
        assert found.get("summary.json") == {-1: "old", 0: "old", 6: "new"}.get(move)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_kill_before_the_first_result_leaves_no_folder_and_the_next_run_clears_up(tmp_path):
    out = tmp_path / "-1"
    assert killed(tmp_path, -1) == [True]
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".-1.")
    with staged(out) as stage:
        fill(stage, "first")
    assert left.exists()  # it could be the folder of a run that has just begun
    os.utime(left, (time.time() - 100,) * 2)
    with staged(out) as stage:
        fill(stage, "second")
    assert list(tmp_path.iterdir()) == [out] and set(contents(out).values()) == {"second"}


def test_a_run_that_goes_on_keeps_its_folder(tmp_path):
    with staged(tmp_path / "out") as slow:
        fill(slow, "slow")
        os.utime(slow, (time.time() - 100,) * 2)
        with staged(tmp_path / "out") as quick:
            fill(quick, "quick")
        assert set(contents(tmp_path / "out").values()) == {"quick"}
    assert set(contents(tmp_path / "out").values()) == {"slow"} and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("moves", range(6))
@pytest.mark.parametrize("error", [OSError(13, "Permission denied"), KeyboardInterrupt()])
def test_a_failure_between_two_files_brings_the_old_ones_back(tmp_path, monkeypatch, moves, error):
    out = tmp_path / "out"
    out.mkdir()
    fill(out, "old")
    real, count = Path.replace, [0]

    def replace(self, target):
        count[0] += 1
        if count[0] == moves + 1:
            raise error
        return real(self, target)

    with pytest.raises((OptionError, KeyboardInterrupt)), staged(out) as stage:
        fill(stage, "new")
        monkeypatch.setattr(Path, "replace", replace)
    monkeypatch.undo()
    assert contents(out) == dict.fromkeys(NAMES, "old") and list(tmp_path.iterdir()) == [out]


RACING = """
import sys
from pathlib import Path
from steelyard.report.outputs import staged
for turn in range(20):
    with staged(sys.argv[1]) as stage:
        for name in ("arm.urdf", "report.html", "summary.json"):
            (stage / name).write_text(f"{sys.argv[2]} {turn}")
"""


def test_runs_that_write_one_folder_take_turns(tmp_path):
    out = tmp_path / "new" / "out"
    runs = [subprocess.Popen([sys.executable, "-c", RACING, str(out), name]) for name in "ab"]
    assert [run.wait(60) for run in runs] == [0, 0]
    found = contents(out)
    assert set(found) == set(NAMES) and len(set(found.values())) == 1
    assert list(out.parent.iterdir()) == [out]
