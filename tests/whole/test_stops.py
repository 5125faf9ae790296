"""Every subcommand that writes, stopped before the changes it makes to files: what was there, or what is to be there.

What a killed process leaves is what lies there before one of its changes; a Ctrl-C and a SIGTERM clear up.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import trimesh

import steelyard as sy
from payload_logs import swing
from small_fleets import individuals, write_fleet
from small_runs import write_case

COMMANDS = {
    "payload": "payload {case}/held.npz -o {out}/old",
    "fleet": "fleet {case}/arm.urdf {case}/fleet/robots.csv -q -o {out}/new/fleet",
    "fleet again": "fleet {case}/arm.urdf {case}/fleet/robots.csv -q -o {out}/old",
    "report": "report {case}/result -q -o {out}/new",
    "comparison": "report {case}/result {case}/later -q -o {out}/old",
    "excite": "excite {case}/arm.urdf --duration 3 --harmonics 1 --time 0.1 --no-geometry -q -o {out}/m.csv "
    "--preview {out}/new/m.html",
    "inspect": "inspect {case}/run.csv --html {out}/old/page.html",
    "view": "view {case}/arm.urdf --no-open -q -o {out}/new/page.html",
    "check": "check {case}/bad.urdf --fix {out}/old/bad.urdf",
}
OLD = ("fleet.json", "fleet.html", "summary.json", "report.html", "report.md", "curves.npz", "page.html", "bad.urdf")
SEALS = ("summary.json", "fleet.json")

pytestmark = [pytest.mark.skipif(sys.platform == "win32", reason="needs fork"), pytest.mark.claim("trust.stops")]


@pytest.fixture(scope="module")
def runs(request, tmp_path_factory):
    """Runs of each command that a test asks for: the whole one first."""
    here = [each for each in request.session.items if each.path == request.path and "runs" in each.fixturenames]
    asked = sorted({each.callspec.params["name"] for each in here})
    case, out = (tmp_path_factory.mktemp(name) for name in ("case", "out"))
    model, log = write_case(case, samples=400)
    write_fleet(case / "fleet", individuals(2, 1), samples=200)
    held = swing(duration=0.5)
    np.savez(
        case / "held.npz", **{key: getattr(held, key) for key in ("t", "wrench", "rotation", "twist", "acceleration")}
    )
    sy.identify(model, log, out=case / "result")
    shutil.copytree(case / "result", case / "later")
    (case / "bad.urdf").write_text(model.read_text().replace('ixx="0.008"', 'ixx="8"'))
    trimesh.creation.box((0.1, 0.2, 0.3)).export(case / "box.stl")
    (out / "old").mkdir()
    for name in OLD:
        (out / "old" / name).write_text("old")
    words = [COMMANDS[name].format(case=case, out=out).split() for name in asked]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "stopped"],
        input=json.dumps({"folder": str(out), "commands": words}),
        capture_output=True,
        text=True,
        check=True,
        env={
            **os.environ,
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1] / "make"), os.environ.get("PYTHONPATH", "")]),
        },
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {name: [run for run in found if run["command"] == each] for name, each in zip(asked, words, strict=True)}


def hidden(path: str) -> bool:
    return any(part.startswith(".") for part in Path(path).parts)


def mixed(files, old, new) -> bool:
    """Whether files are of neither, or of both beside a summary."""
    if any(digest not in (old.get(name), new.get(name)) for name, digest in files.items()):
        return True
    changed = {name for name in files if old.get(name) != new.get(name)}
    seals = [name for name in files if Path(name).name in SEALS and name in changed]
    return any(len({files[name] == new[name] for name in changed} | {files[seal] == new[seal]}) > 1 for seal in seals)


@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_is_killed_leaves_the_old_files_or_the_new(runs, name):
    whole, *_ = runs[name]
    assert whole["code"] in (0, 1) and whole["said"] == "" and whole["trail"]
    old, new = whole["trail"][0][2], whole["visible"]
    assert old != new and not any(map(hidden, whole["all"]))
    for event, path, files in whole["trail"]:
        assert event != "open" or hidden(path), path  # no file is written where it can be seen
        assert not mixed(files, old, new), (event, path)


@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_is_told_to_stop_clears_up_and_says_so(runs, name):
    whole, *stopped = runs[name]
    old, new = whole["trail"][0][2], whole["visible"]
    assert {run["signal"] for run in stopped} == {signal.SIGINT, signal.SIGTERM}
    for run in stopped:
        assert run["code"] == 128 + run["signal"] and run["said"] == "steelyard: stopped before the end.\n"
        # another second may be stamped on a new file; that it is whole, the test above says
        kept = {path: digest if digest == old.get(path) else new[path] for path, digest in run["visible"].items()}
        assert not mixed(kept, old, new)
        assert not any(map(hidden, run["all"])) or run["at"] == len(whole["trail"]) - 1
    assert stopped[0]["visible"] == old


def test_files_of_two_runs_would_show():
    old, new = {"out/a": "1", "out/summary.json": "1"}, {"out/a": "2", "out/summary.json": "2"}
    assert not mixed(old, old, new) and not mixed(new, old, new) and not mixed({"out/a": "2"}, old, new)
    assert mixed(old | {"out/a": "2"}, old, new) and mixed({"out/a": "3"}, old, new)
