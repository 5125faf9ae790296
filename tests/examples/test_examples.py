"""Every example runs in a folder of its own without a complaint, the first from a plain command line."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from brief_search import search_briefly
from properties import EXHAUSTIVE

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
TESTED = {  # the same computations by default in a test of their own
    "01_identify_step_by_step": "test_the_first_runs_from_a_command_line",
    "11_realizability_figures": "test_realizability_figures.py",
    "21_locked_torso": "identifiability/test_examples.py",
    "31_online_payload": "test_payload_examples.py",
    "32_walking_quadruped": "test_walking_jobs.py",
    "33_adaptive_control": "test_adaptive_control.py",
    "34_adaptive_linkage": "test_adaptive_linkage.py",
    "35_online_sets": "test_online_sets.py",
    "41_calibrate_axes": "test_calibrate_axes.py",
    "43_design_five_bar": "test_design_five_bar.py",
    "50_excitation": "test_design.py",
}


BRIEF = {  # what makes an example short; `make exhaustive` runs it as its page says
    "31_paper_b_leg": ("--seeds", "1"),
}


def test_there_are_examples():
    assert EXAMPLES


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[pytest.mark.exhaustive] if path.stem in TESTED else []) for path in EXAMPLES],
    ids=lambda path: path.stem,
)
def test_example_runs(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    brief = ()
    if EXHAUSTIVE not in os.environ:
        brief = BRIEF.get(path.stem, ())
        search_briefly(monkeypatch)
    monkeypatch.setattr(sys, "argv", [str(path), *brief])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip(), "an example shows something"


def test_the_first_runs_from_a_command_line(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES[0])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
