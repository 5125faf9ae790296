"""Help and completion answer at once: what a subcommand needs is loaded when it runs."""

import subprocess
import sys

from threadpoolctl import threadpool_info, threadpool_limits

import steelyard as sy
from steelyard.fit.volumes import CONSISTENT, WORDS
from steelyard.job import Job
from steelyard.job_options import options_of
from steelyard.log.smoothers import BUTTERWORTH, SMOOTHERS
from steelyard.native import one_blas_thread

HEAVY = (
    "numpy",
    "scipy",
    "mujoco",
    "rich",
    "lxml",
    "steelyard.pipeline.identification",
    "steelyard.prepare.undo",
    "steelyard.model",
)
PROGRAM = """
import sys
from steelyard.app import main
sys.argv[0] = "steelyard"
try:
    main()
finally:
    print("loaded:", *(name for name in HEAVY if name in sys.modules), file=sys.stderr)
"""


def asked(*words, heavy=HEAVY):
    done = subprocess.run(
        [sys.executable, "-c", f"HEAVY = {heavy}{PROGRAM}", *words], capture_output=True, text=True, check=False
    )
    return done.stdout, done.stderr


def test_help_loads_nothing_heavy():
    shown, loaded = asked("--help")
    assert "identify" in shown and loaded == "loaded:\n"
    _, loaded = asked("--help", heavy=("steelyard.job", "steelyard.app.options", "tomllib"))
    assert loaded == "loaded:\n"  # no subcommand is needed to list them
    shown, loaded = asked("identify", "--help")
    assert "--coupling" in shown and loaded == "loaded:\n"
    shown, loaded = asked("identify", "--help-all")
    assert "--coupling" in shown and "0.3" in shown and loaded == "loaded:\n"


def test_completion_loads_nothing_heavy(monkeypatch):
    monkeypatch.setenv("_STEELYARD_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "steelyard identify --co")
    monkeypatch.setenv("COMP_CWORD", "2")
    shown, loaded = asked()
    assert set(shown.split()) == {"--coupling", "--config", "--contacts"} and loaded == "loaded:\n"
    monkeypatch.setenv("COMP_WORDS", "steelyard in")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert asked()[0].split() == ["inspect"]


def test_a_command_that_runs_does_load():
    _, loaded = asked("analyze", "nowhere.urdf")
    assert "numpy" in loaded and "steelyard.model" in loaded


def test_defaults_are_words_that_their_users_know():
    assert (Job.within, Job.smoother) == (CONSISTENT, BUTTERWORTH)
    choices = {name: how.choices for name, (_, how) in options_of(Job).items() if how.choices}
    assert set(choices["smoother"]) == set(SMOOTHERS) and set(choices["within"]) == set(WORDS)


HEAVIEST = (  # a tenth of a second or more each, which a plain job has no use for
    *("scipy.interpolate", "scipy.ndimage", "scipy.optimize", "scipy.signal", "scipy.stats"),
    *("h5py", "mujoco", "rosbags", "sqlite3", "trimesh", "urllib.request"),
    *("steelyard.log.lerobot", "steelyard.log.ros"),
)


def test_identify_and_check_leave_libraries_that_they_do_not_need(tmp_path):
    robot = sy.library.scara()
    model, log = tmp_path / "scara.urdf", tmp_path / "run.csv"
    sy.save(robot, model)
    sy.write_csv(sy.simulate.record(robot, duration=3.0).log, log)
    for words in (("check", str(model)), ("identify", str(model), str(log), "--out", str(tmp_path / "out"))):
        _, loaded = asked(*words, heavy=HEAVIEST)
        assert loaded.splitlines()[-1] == "loaded:", words
    assert (tmp_path / "out" / "report.html").exists()


IDLE = (  # of a check of one URDF without meshes
    *("scipy", "rich", "numpy.f2py", "numpy.ma", "numpy.random", "numpy.testing"),
    *("steelyard.dynamics", "steelyard.log", "steelyard.fit", "steelyard.report", "steelyard.check.repaired_copy"),
    *(
        "steelyard.model.mjcf",
        "steelyard.model.sketch_mjcf",
        "steelyard.model.mjcf_write",
        "steelyard.model.urdf_write",
    ),
)


def test_a_check_of_one_urdf_loads_what_it_uses(tmp_path):
    sy.save(sy.library.puma560(), tmp_path / "arm.urdf")
    shown, loaded = asked("check", str(tmp_path / "arm.urdf"), heavy=IDLE)
    assert "1 model checked" in shown and loaded == "loaded:\n"


SUMS = """
import sys
import numpy as np
import steelyard as sy
from steelyard.information import accumulate
robot = sy.library.puma560()
q, v, a, tau = np.random.default_rng(0).normal(size=(4, 600, robot.nv))
accumulate(robot, sy.Log(t=np.arange(600) * 1e-3, q=q, v=v, a=a, tau=tau), friction=())
print("loaded:", *(name for name in HEAVY if name in sys.modules))
"""


def test_first_sums_load_what_they_use():
    """Tables and sentences about what can be known, readers of logs, and masked arrays are none of it."""
    idle = (
        *("scipy", "numpy.ma", "numpy.f2py", "steelyard.log.csv", "steelyard.log.ros", "steelyard.log.write"),
        *("steelyard.identifiable.structural", "steelyard.identifiable.analysis_report", "steelyard.model.mjcf"),
    )
    done = subprocess.run([sys.executable, "-c", f"HEAVY = {idle}{SUMS}"], capture_output=True, text=True, check=True)
    assert done.stdout == "loaded:\n"


def test_an_identification_has_one_thread_of_blas(monkeypatch):
    """They wait for each other over small matrices; afterwards the caller has them back."""
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)

    def most():
        return max(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")

    with threadpool_limits(2, user_api="blas"):
        with one_blas_thread():
            assert most() == 1
        assert most() == 2
