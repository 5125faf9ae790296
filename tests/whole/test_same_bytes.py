"""The same input gives the same bytes, whatever the threads, hash seeds, folders and kept kernels."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import steelyard as sy
from payload_logs import swing
from problems import random_log
from small_fleets import individuals, write_fleet
from small_runs import write_case
from steelyard import native
from steelyard.information import accumulate

pytestmark = pytest.mark.claim("trust.stops")

WORK = """
import json, sys
from pathlib import Path
import numpy as np
import steelyard as sy
from steelyard.calibration import calibrate
from steelyard.app import app
from typer.testing import CliRunner
case, words = Path(sys.argv[1]), [
    "identify {}/arm.urdf {}/run.csv --validation 0.9 -q -o identify",
    "payload {}/held.npz -o payload",
    "excite {}/arm.urdf --duration 3 --harmonics 1 --no-geometry -q -o motion.csv",
    "fleet {}/arm.urdf {}/fleet/robots.csv -q -o fleet",
    "inspect {}/run.csv --html health.html",
    "view {}/arm.urdf --no-open -q -o view.html",
    "check {}/arm.urdf --fix fixed.urdf",
]
for each in words:
    done = CliRunner().invoke(app, each.format(case, case).split(), catch_exceptions=False)
    assert done.exit_code != 2, done.stderr
robot = sy.load(case / "arm.urdf")
log = sy.log.filters.differentiate(sy.read_log(case / "run.csv", robot)[:600], cutoff=8.0)
found = calibrate(robot, log, tilt=np.radians(2), shift=0.0, iterations=2)
np.save("calibration.npy", np.concatenate([found.values, found.estimate.parameters]))
"""
WAYS = {
    "one thread": {"OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "1"},
    "two threads": {"OPENBLAS_NUM_THREADS": "2", "PYTHONHASHSEED": "2"},
    "four threads": {"OPENBLAS_NUM_THREADS": "4", "PYTHONHASHSEED": "3"},
    "one thread again": {"OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "4"},
}
TOLD = ("provenance", "out", "command", "created", "work")  # when, where and for how long
ROUNDING = 1e-9  # share of the largest number of a calibration


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Folder of each way; held-out samples are more than the 10 000 numbers from which BLAS adds in threads."""
    case = tmp_path_factory.mktemp("case")
    write_case(case, samples=4500)
    write_fleet(case / "fleet", individuals(2, 1), samples=200)
    held = swing(duration=6.0)
    np.savez(
        case / "held.npz", **{key: getattr(held, key) for key in ("t", "wrench", "rotation", "twist", "acceleration")}
    )
    folders = {}
    for name, way in WAYS.items():
        folders[name] = tmp_path_factory.mktemp("way")
        env = {**os.environ, **way}
        subprocess.run([sys.executable, "-W", "ignore", "-c", WORK, str(case)], cwd=folders[name], env=env, check=True)
    return folders


def stable(path: Path) -> bytes:
    """Content of a file without what says when, where and for how long a run was."""
    if path.suffix != ".json":
        return path.read_bytes()
    return json.dumps(
        {key: value for key, value in json.loads(path.read_text("utf-8")).items() if key not in TOLD}
    ).encode()


FILES = (
    "identify/summary.json",
    "identify/arm_identified.urdf",
    "identify/curves.npz",
    "identify/draws.npz",
    "payload/summary.json",
    "payload/curves.npz",
    "payload/draws.npz",
    "motion.csv",
    "fleet/fleet.json",
    "fleet/information.npz",
    "health.html",
    "view.html",
    "fixed.urdf",
)


@pytest.mark.exhaustive
@pytest.mark.parametrize("file", FILES)
def test_files_are_the_same_bytes(made, file):
    first, *others = [stable(folder / file) for folder in made.values()]
    assert len(first) > 100 and all(other == first for other in others)


@pytest.mark.exhaustive
def test_sums_of_the_core_are_the_same_bits_on_any_number_of_threads(monkeypatch):
    robot = sy.library.puma560()
    log = random_log(
        robot, np.random.default_rng(0), samples=9000, torque=lambda *state: sy.inverse_dynamics(robot, *state)
    )
    found = []
    for threads in (1, 3, 2):
        monkeypatch.setattr(native, "threads", lambda threads=threads: threads)
        found.append(accumulate(robot, log, engine="native"))
    assert all(np.array_equal(found[0].gram, other.gram) for other in found[1:])
    plain = accumulate(robot, log, engine="numpy")
    np.testing.assert_allclose(found[0].gram, plain.gram, rtol=1e-12, atol=1e-12 * np.abs(plain.gram).max())


@pytest.mark.exhaustive
def test_a_calibration_is_the_same_to_rounding(made):
    """Its sums are matrix products of BLAS, whose order of adding is that of its threads: the same bytes for the same
    number of them, digits of rounding between numbers."""
    found = {name: np.load(folder / "calibration.npy") for name, folder in made.items()}
    first = found["one thread"]
    np.testing.assert_array_equal(found["one thread again"], first)
    for other in found.values():
        np.testing.assert_allclose(other, first, rtol=0, atol=ROUNDING * np.abs(first).max())
