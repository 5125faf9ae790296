"""Whole runs in rough places: killed, on a full disk, under other locales and names, with other numbers of threads."""

import json
import os
import resource
import signal
import subprocess
import sys

import pytest

import steelyard as sy
from small_runs import write_case, write_model
from steelyard.errors import SteelyardError

pytestmark = pytest.mark.claim("trust.stops")

RUN = """
import sys, steelyard as sy
try:
    sy.identify(sys.argv[1], sys.argv[2], out=sys.argv[3])
except sy.errors.SteelyardError as error:
    sys.exit(f"refused: {error}")
"""


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    return write_case(tmp_path_factory.mktemp("case"))


def started(case, out, **options):
    options = {"env": {**os.environ, "OPENBLAS_NUM_THREADS": "1"}, "text": True, **options}
    words = [sys.executable, "-c", RUN, *map(str, (*case, out))]
    return subprocess.Popen(words, stderr=subprocess.PIPE, **options)


STAGES = ("reading the model", "fitting", "save", "page")
KILLED = """
import os, signal, sys
import steelyard as sy
import importlib
modules = [importlib.import_module(f"steelyard.{name}") for name in ("app.identification", "report.record")]
model, log, folder, *stages = sys.argv[1:]
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
def progress(stage, share):
    if stage == wanted:
        die()
for wanted in stages:
    child = os.fork()
    if child:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        continue
    for module in modules:
        if hasattr(module, wanted):
            setattr(module, wanted, die)
    modules[0].identify(model, log, out=os.path.join(folder, wanted), progress=progress)
    os._exit(0)
"""


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_run_killed_at_any_stage_leaves_no_result(case, tmp_path):
    words = [sys.executable, "-c", KILLED, *map(str, (*case, tmp_path)), *STAGES]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert [int(code) for code in done.stdout.split()] == [-signal.SIGKILL] * len(STAGES)
    assert all(left.name.startswith(".") for left in tmp_path.iterdir())  # cleared up by the next run


@pytest.mark.exhaustive(keep=1)
@pytest.mark.skipif(sys.platform == "win32", reason="no limits")
@pytest.mark.parametrize("size", [0, 2_000, 60_000])
def test_a_full_disk_is_a_message_and_leaves_nothing(case, tmp_path, size):
    """Files end at a limit, as on a disk that fills up: at the first byte, in the model, in the summary."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        with pytest.raises(SteelyardError, match="cannot be written") as caught:
            sy.identify(*case, out=tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "\n" not in str(caught.value) and list(tmp_path.iterdir()) == []


def test_names_beyond_ascii_under_a_plain_locale(tmp_path):
    """Python reads names as UTF-8 under such a locale by itself; where told not to, they are no text, but names."""
    folder = tmp_path / "Größe 机械臂 ñ"
    _, log = write_case(folder)
    case = write_model(folder / "Ärm.urdf", mass=5.5, upper="Oberarm Ø"), log.rename(folder / "läufe.csv")
    env = {key: value for key, value in os.environ.items() if not key.startswith(("LC_", "LANG", "PYTHONUTF8"))}
    run = started(case, folder / "ausgäbe", env={**env, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
    assert run.communicate()[1] == "" and run.returncode == 0
    found = json.loads((folder / "ausgäbe" / "summary.json").read_text("utf-8"))
    assert os.fsencode(found["files"][0]) == b"\xc3\x84rm_identified.urdf"
    assert found["bodies"][0]["name"] == "Oberarm Ø"
