"""Packages around the core are add-ons: without their folders the main job runs."""

import subprocess
import sys

import pytest

import steelyard as sy

ADD_ONS = ("calibration", "check", "codegen", "excite", "fleet", "payload")
WITHOUT = """
import sys

class Deleted:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[1:2] and name.split(".")[1] in {missing!r} and name.startswith("steelyard."):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Deleted())
sys.argv = ["steelyard", *{words!r}]
from steelyard.app import main
main()
"""


def run(missing, words):
    script = WITHOUT.format(missing=missing, words=words)
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)


@pytest.fixture
def job(tmp_path):
    robot = sy.library.scara()
    sy.write_csv(sy.simulate.record(robot, duration=3.0).log, tmp_path / "run.csv")
    sy.save(robot, tmp_path / "scara.urdf")
    return tmp_path / "scara.urdf", tmp_path / "run.csv", tmp_path / "out"


def test_the_main_job_needs_no_add_on(job):
    model, log, out = map(str, job)
    done = run(ADD_ONS, ["identify", model, log, "--out", out])
    assert done.returncode in (0, 1), done.stderr
    assert (job[2] / "report.html").exists()


def test_what_a_job_needs_is_missed(job):
    done = run(("report",), ["identify", *map(str, job[:2]), "--out", str(job[2])])
    assert "steelyard.report" in done.stderr and not job[2].exists()
