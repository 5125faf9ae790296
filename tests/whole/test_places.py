"""Subcommands in rough places: folders that cannot be written, full disks, odd names, terminals of any kind."""

import json
import os
import re
import shutil
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import steelyard as sy
from forked import commands
from payload_logs import swing
from small_fleets import individuals, write_fleet
from small_runs import write_case
from steelyard.app import app

WRITERS = {
    "payload": "payload {case}/held.npz -o {out}/result",
    "view": "view {case}/arm.urdf --no-open -q -o {out}/page.html",
    "check": "check {case}/arm.urdf --fix {out}/fixed.urdf",
}
SLOW = {  # tried only where they refuse a place before their work
    "identify": "identify {case}/arm.urdf {case}/run.csv -o {out}/result",
    "fleet": "fleet {case}/arm.urdf {case}/fleet/robots.csv -o {out}/result",
    "excite": "excite {case}/arm.urdf --no-geometry -o {out}/motion.csv",
    "demo": "demo -o {out}/result",
    "report": "report {case}/result -o {out}/result",
}
ODD = ("-o Größe 机械臂\n[bold]%s".encode(), b"not\xffutf-8")

pytestmark = [pytest.mark.skipif(sys.platform == "win32", reason="needs fork"), pytest.mark.claim("trust.stops")]


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    folder = tmp_path_factory.mktemp("case")
    sy.identify(*write_case(folder, samples=400), out=folder / "result")
    write_fleet(folder / "fleet", individuals(1, 1), samples=100)
    held = swing(duration=0.5)
    np.savez(
        folder / "held.npz", **{key: getattr(held, key) for key in ("t", "wrench", "rotation", "twist", "acceleration")}
    )
    return folder


@pytest.fixture(scope="module")
def run():
    with commands() as run:
        yield run


def words_of(text: str, case, out) -> list[str]:
    return [word.format(case=case, out=out) for word in text.split()]


def refused(done, *names) -> bool:
    """One readable line and status 2."""
    said = done.said.decode()
    assert done.code == 2, said
    assert said.startswith("steelyard: ") and said.count("\n") == 1 and all(str(name) in said for name in names), said
    return True


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("name", [*WRITERS, *SLOW])
def test_a_folder_that_cannot_be_written_is_named_and_stays_as_it_was(case, run, tmp_path, name):
    text = (WRITERS | SLOW)[name]
    (tmp_path / "file").write_text("mine")
    assert refused(run(*words_of(text, case, tmp_path / "file")), tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    for out in (locked, locked / "new"):
        assert refused(run(*words_of(text, case, out), privileges=False), locked)
    assert list(locked.iterdir()) == [] and sorted(path.name for path in tmp_path.iterdir()) == ["file", "locked"]


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_nothing(case, run, tmp_path, name):
    assert refused(run(*words_of(WRITERS[name], case, tmp_path / "new"), size=1000), "cannot be written", "large")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", WRITERS)
def test_names_that_are_too_long_are_refused(case, run, tmp_path, name):
    for out in (tmp_path / ("x" * 300), tmp_path.joinpath(*["deep" * 40] * 30)):
        assert refused(run(*words_of(WRITERS[name], case, out)), "too long")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("odd", ODD)
def test_odd_names_of_inputs_and_outputs(case, run, tmp_path, odd):
    folder = tmp_path / os.fsdecode(odd)
    shutil.copytree(case, folder / "in", ignore=shutil.ignore_patterns("fleet"))
    inside = f"./{folder.name}"
    for text in WRITERS.values():
        words = [word.format(case=f"{inside}/in", out=f"{inside}/out") for word in text.split()]
        done = run(*words, folder=str(tmp_path))
        assert done.code in (0, 1) and done.said == b"", done.said.decode()
    assert {path.name for path in (folder / "out").iterdir()} == {"result", "page.html", "fixed.urdf"}


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ["check", "report"])
def test_standard_output_that_takes_no_more(case, run, tmp_path, name):
    words = words_of((WRITERS | SLOW)[name], case, tmp_path)
    closed, full, none = (run(*words, stdout=where) for where in ("closed", "/dev/full", "none"))
    assert (closed.code, closed.said) == (141, b"")
    assert full.code == 2 and full.said == b"steelyard: standard output cannot be written: No space left on device.\n"
    assert none.code == 0 and none.said == b""
    assert list(tmp_path.iterdir())  # files were written before


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("terminal", ["xterm-256color", "dumb"])
def test_a_narrow_terminal(case, run, tmp_path, terminal):
    env = {"TERM": terminal, "NO_COLOR": "1", "COLUMNS": "40"}
    done = run(*words_of(SLOW["report"], case, tmp_path), terminal=True, env=env)
    text = done.out.decode()
    assert done.code == 0 and "Better" in text and "Traceback" not in text
    assert not re.search("\x1b\\[[0-9;]*[34][0-9]", text)  # no colour
    widest = max(len(re.sub("\x1b\\[[0-9;]*m", "", line)) for line in text.splitlines())
    assert widest <= 80 and ("\x1b" in text) == (terminal != "dumb")


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    "env",
    [{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONIOENCODING": "cp1252"}],
    ids=["plain", "windows"],
)
def test_characters_that_a_terminal_lacks(case, tmp_path, env):
    with commands(**env) as run:
        done = run(*words_of(SLOW["report"], case, tmp_path))
        assert done.code == 0 and done.said == b"" and b"Better" in done.out
        found = json.loads(run("report", case / "result", "--json").out.decode(env.get("PYTHONIOENCODING", "utf-8")))
    assert found == json.loads((case / "result" / "summary.json").read_text("utf-8"))


def test_a_log_with_decimal_commas(case, tmp_path):
    text = (case / "run.csv").read_text().replace(",", ";").replace(".", ",")
    (tmp_path / "run.csv").write_text(text)
    told = [CliRunner().invoke(app, ["inspect", str(folder / "run.csv"), "--json"]) for folder in (case, tmp_path)]
    found = [json.loads(each.stdout) for each in told]
    assert found[0]["signals"] == found[1]["signals"]
