"""CPU seconds of whole jobs in fresh processes, defaults only, beside the least that does something alike.

The log is that of `steelyard demo`: an arm of six joints, 10,000 samples. The bare script reads, filters, loops over
Pinocchio's regressor and calls `lstsq`; it has no constraints, intervals, checks or report. The row in process is
the second call of `sy.identify` for the measured log of a TX40 (890 samples), where that file is at hand.
"""

import json
import runpy
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from evidence.bench.real_logs import DATA
from evidence.bench.timing import of_process

REPEATS = 5
IN_PROCESS = """
import json, sys, time, steelyard as sy
job = lambda **out: sy.identify(sys.argv[1], sys.argv[2], armature=True, coupling=("joint5+joint6",), **out)
times = []
for k in range(4):
    start = time.process_time()
    job(**({"out": f"{sys.argv[3]}/{k}"} if k > 1 else {}))
    times.append(time.process_time() - start)
print(json.dumps([times[1], times[3]]))
"""


ROOT = Path(__file__).parents[2]


def run() -> dict:
    """`{job: {quantity: value}}`."""
    with tempfile.TemporaryDirectory() as folder:
        return _rows(Path(folder))


def _rows(folder: Path) -> dict:
    demo = folder / "demo"
    of_process("-m", "steelyard", "demo", "--out", str(demo), cwd=ROOT)
    out = str(folder / "out")
    files = [str(demo / "puma560.urdf"), str(demo / "puma560_run.csv")]
    programs = {
        "start Python with NumPy": ["-c", "import numpy"],
        "check of one URDF": ["-m", "steelyard", "check", files[0]],
        "bare script, demo log": ["-m", "evidence.bench.peer_code.bare_script", *files],
        "identify, demo log": ["-m", "steelyard", "identify", *files, "--armature", "-o", out],
    }
    taken: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(REPEATS):  # in turn: a machine that slows down slows all down
        for name, arguments in programs.items():
            taken[name].append(of_process(*arguments, cwd=ROOT)[1])
    found = {name: {"CPU seconds": statistics.median(times)} for name, times in taken.items()}
    found |= dict(zip(("identify in process, TX40 log", "the same with all files"), _in_process(folder), strict=True))
    return found


def _in_process(folder: Path) -> list[dict]:
    log, table = DATA / "tx40_100Hz.npz", DATA / "models.json"
    if not log.exists():
        return [{"CPU seconds": None}] * 2
    model = folder / "tx40.urdf"
    model.write_text(runpy.run_path(str(ROOT / "examples" / "02_models_from_dh.py"))["urdf_from_table"](table, "tx40"))
    runs = []
    for k in range(REPEATS):
        (folder / str(k)).mkdir()
        arguments = [str(model), str(log), str(folder / str(k))]
        done = subprocess.run(
            [sys.executable, "-c", IN_PROCESS, *arguments], capture_output=True, text=True, check=True
        )
        runs.append(json.loads(done.stdout))
    return [{"CPU seconds": statistics.median(column)} for column in zip(*runs, strict=True)]
