"""Help that fits one screen, and jobs as files: written beside results, read by `--config`."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import steelyard as sy
from small_runs import write_case
from steelyard.app import app
from steelyard.app.commands import COMMANDS
from steelyard.app.job_file import NAME, job_text
from steelyard.corrections import Corrections
from steelyard.job import Job

LINES = 42
NAMES = list(COMMANDS)


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False, terminal_width=80)


@pytest.mark.parametrize("name", NAMES)
def test_help_fits_one_screen(name):
    text = run(name, "--help").stdout
    assert len(text.splitlines()) <= LINES and max(map(len, text.splitlines())) <= 80
    whole = run(name, "--help-all").stdout if "--help-all" in text else text
    shown = [line.split()[0] for line in text.splitlines() if line.startswith("  -")]
    assert len(shown) <= 18
    assert all(word in whole for word in shown)
    assert len(whole) > len(text) or "--help-all" not in text


def test_rare_options_are_in_the_whole_help_and_work_as_before():
    assert "--validation" not in run("identify", "--help").stdout
    assert "--validation" in run("identify", "--help-all").stdout


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    folder = tmp_path_factory.mktemp("case")
    write_case(folder, samples=900)
    options = ("--cutoff", 12, "--mass", "all=9.5", "--no-armature", "--friction", "viscous,coulomb", "--unit", "q=rad")
    done = run("identify", folder / "arm.urdf", folder / "run.csv", *options, "-q", "-o", folder / "first")
    assert done.exit_code != 2, done.output
    return folder


def test_a_result_is_made_again_from_its_job(case, tmp_path, monkeypatch):
    """From another folder, with the same numbers; what is given beside the file counts more."""
    monkeypatch.chdir(tmp_path)
    stored = tomllib.loads((case / "first" / NAME).read_text())
    assert stored["cutoff"] == 12 and stored["armature"] is False and stored["model"] == "../arm.urdf"
    run("identify", "--config", case / "first" / NAME, "-q", "-o", "again")
    first, again = (json.loads((folder / "summary.json").read_text()) for folder in (case / "first", Path("again")))
    assert again["parameters"] == first["parameters"]
    assert NAME in again["files"]
    run("identify", "--config", case / "first" / NAME, "--cutoff", 9, "-q", "-o", "other")
    assert json.loads(Path("other/summary.json").read_text())["job"]["cutoff"] == 9
    named = run("identify", case / "arm.urdf", case / "run.csv", "--config", case / "first" / NAME, "-o", "named", "-q")
    assert named.exit_code != 2 and json.loads(Path("named/summary.json").read_text())["job"]["cutoff"] == 12


def test_other_commands_read_the_same_file(case, tmp_path):
    (tmp_path / "options.toml").write_text('cutoff = 7.5\nunit = ["q=rad"]\n')
    words = ("validate", case / "arm.urdf", case / "run.csv", "--config", tmp_path / "options.toml", "--json")
    typed = run(*words[:3], "--cutoff", 7.5, "--unit", "q=rad", "--json")
    assert json.loads(run(*words).stdout) == json.loads(typed.stdout)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cutof = 3", "no option 'cutof' here; did you mean 'cutoff'?"),
        ("help = true", "no option 'help'"),
        ("cutoff = [1, 2]", "cutoff = [1, 2]; expected one value"),
        ("mass = [[1]]", "expected a list of words"),
        ('armature = "no"', "expected true or false"),
        ("cutoff = ", "Expected TOML with lines such as"),
        ("cutoff = 1e999\nvalidation = 3", ""),
        (None, "cannot be read"),
    ],
)
def test_files_that_cannot_be_used(case, tmp_path, text, said):
    path = tmp_path / "job.toml"
    if text is not None:
        path.write_text(text)
    done = run("identify", case / "arm.urdf", case / "run.csv", "--config", path)
    assert done.exit_code == 2 and said in done.stderr
    assert not said or str(path) in done.stderr


words = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12)


@given(mass=st.lists(words, max_size=3), cutoff=st.floats(0, 1e6), share=st.floats(0, 1), channel=words)
def test_any_job_is_read_back(mass, cutoff, share, channel):
    job = Job("arm.urdf", ("run.csv",), masses=tuple(mass), cutoff=cutoff, validation=share, channels={"t": channel})
    job = replace(job, corrections=Corrections(scale=(channel,), even_stamps=True))
    stored = tomllib.loads(job_text(job, Path("out")))
    assert stored.get("mass", []) == mass and stored["cutoff"] == cutoff and stored.get("validation", 0.3) == share
    assert json.loads(stored["channels"]) == {"t": channel} and stored["scale"] == [channel] and stored["even-stamps"]
    assert stored["model"] == "../arm.urdf" and stored["logs"] == ["../run.csv"]


def test_jobs_of_memory_have_no_file(tmp_path):
    robot = sy.library.scara()
    log = sy.simulate.record(robot, duration=3.0).log
    sy.identify(robot, log, out=tmp_path / "out")
    assert not (tmp_path / "out" / NAME).exists()
    assert np.isfinite(json.loads((tmp_path / "out" / "summary.json").read_text())["job"]["validation"])


def test_the_folder_of_a_result_is_a_model(case, tmp_path):
    """In every command that takes a model."""
    stored = next((case / "first").glob("*_identified.urdf"))
    for words in (("analyze", "--json"), ("convert", tmp_path / "arm.xml", "--json"), ("check", "--json")):
        of_folder, of_file = (run(words[0], model, *words[1:]).stdout for model in (case / "first", stored))
        assert of_folder == of_file, words
    looked = run("inspect", case / "run.csv", "--model", case / "first", "--json")
    assert json.loads(looked.stdout)["verdict"]["level"] == ("good" if looked.exit_code == 0 else "care")
    (tmp_path / "summary.json").write_text("[]")
    refused = run("analyze", tmp_path)
    assert refused.exit_code == 2 and "is no result with a model in it" in refused.stderr


def test_a_pattern_of_tables_names_logs(case, tmp_path):
    (tmp_path / "logs").mkdir()
    for name in ("a.csv", "b.csv"):
        (tmp_path / "logs" / name).write_bytes((case / "run.csv").read_bytes())
    done = run("identify", case / "arm.urdf", "--logs", tmp_path / "logs" / "*.csv", "--unit", "q=rad", "--json")
    assert done.exit_code != 2 and json.loads(done.stdout)["runs"] == 2
