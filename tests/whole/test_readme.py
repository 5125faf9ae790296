"""What README and the command-line page promise runs as written."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command

import steelyard as sy
from small_runs import JOINTS, motion, torques, write_case
from steelyard.app import app
from steelyard.pipeline import Job
from steelyard.pipeline.identification import run
from steelyard.report.identification_report import summary

pytestmark = pytest.mark.claim("report.commands", "commands of README and pages run")

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
PAGE = (ROOT / "docs" / "command_line.md").read_text("utf-8")
FILES = (ROOT / "docs" / "files.md").read_text("utf-8")
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("readme")
    _, log = write_case(folder)
    shutil.copy(log.rename(folder / "run1.csv"), folder / "run.csv")
    t, q, v, a = motion(seed=7)
    tau = torques(folder / "truth.urdf", q, v, a)
    np.savez(folder / "run2.npz", t=t, q=q, tau=tau, joint_names=JOINTS)
    return folder


def test_the_python_example_runs(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    namespace = {}
    (block,) = BLOCK.findall(README)
    assert block.count("\n") <= 5
    exec(block, namespace)
    assert namespace["result"].after.relative_error < 0.2 * namespace["result"].before.relative_error
    assert (folder / "result" / "report.html").exists()
    assert "->" in capsys.readouterr().out


def test_the_example_step_by_step_predicts_as_identify_does(folder, monkeypatch):
    monkeypatch.chdir(folder)
    namespace: dict = {"sy": sy}
    exec(BLOCK.findall(TUTORIAL)[1], namespace)
    assert (folder / "arm_identified.urdf").exists()
    job = sy.identify("arm.urdf", "run.csv")
    found = sy.validate(namespace["estimate"], job.held_out)
    assert found.relative_error < 1.1 * job.after.relative_error
    assert np.linalg.norm(found.predicted - job.after.predicted) < np.linalg.norm(job.after.error)


def test_every_option_and_every_key_is_documented(folder):
    options = {
        name
        for command in get_command(app).commands.values()  # type: ignore[attr-defined]
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
        if name.startswith("--") and name != "--armature"
    }
    assert {"--out", "--channels", "--no-armature", "--fixed", "--json"} <= options
    assert [name for name in options if f"`{name}" not in PAGE] == []
    found = summary(run(Job(str(folder / "arm.urdf"), (str(folder / "run1.csv"),))))
    table = FILES.split("## `summary.json`")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", table, flags=re.MULTILINE)
    assert {key for row in rows for key in re.findall(r"`(\w+)`", row)} == set(found)
