"""Help and completion answer at once: what a subcommand needs is loaded when it runs."""

import subprocess
import sys

from steelyard.fit.prior import REGULARIZERS
from steelyard.fit.volumes import GEOMETRY, WORDS
from steelyard.job import Job
from steelyard.job_options import options_of
from steelyard.log import BUTTERWORTH
from steelyard.log.smoothers import SMOOTHERS

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
PROGRAM = f"""
import sys
from steelyard.app import main
sys.argv[0] = "steelyard"
try:
    main()
finally:
    print("loaded:", *(name for name in {HEAVY} if name in sys.modules), file=sys.stderr)
"""


def asked(*words):
    done = subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, check=False)
    return done.stdout, done.stderr


def test_help_loads_nothing_heavy():
    shown, loaded = asked("--help")
    assert "identify" in shown and loaded == "loaded:\n"
    shown, loaded = asked("identify", "--help")
    assert "--coupling" in shown and "0.1" in shown and loaded == "loaded:\n"


def test_completion_loads_nothing_heavy(monkeypatch):
    monkeypatch.setenv("_STEELYARD_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "steelyard identify --co")
    monkeypatch.setenv("COMP_CWORD", "2")
    shown, loaded = asked()
    assert shown.split() == ["--coupling"] and loaded == "loaded:\n"
    monkeypatch.setenv("COMP_WORDS", "steelyard in")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert asked()[0].split() == ["inspect"]


def test_a_command_that_runs_does_load():
    _, loaded = asked("analyze", "nowhere.urdf")
    assert "numpy" in loaded and "steelyard.model" in loaded


def test_defaults_are_words_that_their_users_know():
    assert (Job.within, Job.smoother) == (GEOMETRY, BUTTERWORTH)
    choices = {name: how.choices for name, (_, how) in options_of(Job).items() if how.choices}
    assert set(choices["smoother"]) == set(SMOOTHERS) and set(choices["within"]) == set(WORDS)
    assert set(choices["regularizer"]) == set(REGULARIZERS)
