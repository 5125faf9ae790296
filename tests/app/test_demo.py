"""The demo: a wrong PUMA 560, corrected; its files repeat the run."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from steelyard.app import app
from steelyard.app.demo_job import demo, mistaken
from steelyard.fit.prior import model_parameters
from steelyard.inertia import pseudo
from steelyard.model import library, load
from steelyard.pipeline import Job
from steelyard.pipeline.identification import run

pytestmark = pytest.mark.claim(
    "pipeline.demo", "the demo repairs a wrong PUMA 560 model, says what it wrote, and ends near the truth"
)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "demo-out"
    return folder, CliRunner().invoke(app, ["demo", "--out", str(folder)], catch_exceptions=False)


def test_it_ends_well_and_says_so(done):
    folder, result = done
    assert result.exit_code == 0, result.output
    for words in ("true", "nominal", "identified", "Identifiable combinations", "Better: held-out torque error"):
        assert words in result.stdout
    written = {path.name for path in folder.iterdir()}
    assert written == {
        "puma560.urdf",
        "puma560_run.csv",
        "puma560_identified.urdf",
        "summary.json",
        "report.html",
        "report.md",
        "curves.npz",
        "draws.npz",
        "job.toml",
    }


def test_the_error_falls_to_a_fraction(done, record_property):
    held = json.loads((done[0] / "summary.json").read_text("utf-8"))["held_out"]
    assert held["relative_error_before"] > 0.2
    assert held["relative_error_after"] < 0.2 * held["relative_error_before"]
    for when in ("before", "after"):
        record_property(f"held-out error {when}, %", float(100 * held[f"relative_error_{when}"]))


def test_the_given_model_is_wrong_and_physical(done):
    truth, given = library.puma560(), load(done[0] / "puma560.urdf")
    change = np.abs(given.inertias[:, 0] / truth.inertias[:, 0] - 1)
    assert change.max() > 0.3 and np.median(change) > 0.03
    assert (np.linalg.eigvalsh(pseudo.to_matrix(given.inertias)) > 0).all()
    assert not np.array_equal(mistaken(truth, seed=1).inertias, mistaken(truth, seed=2).inertias)


def test_identified_combinations_come_close_to_the_truth(done):
    folder, _ = done
    result = run(Job(str(folder / "puma560.urdf"), (str(folder / "puma560_run.csv"),)))
    basis, layout = result.estimate.basis, result.estimate.layout
    true, given = (basis.regroup(model_parameters(robot, layout)) for robot in (library.puma560(), result.prior))
    deviation = np.sqrt(np.diag(result.estimate.covariance))
    known = deviation < 0.03 * np.abs(true)
    after, before = (np.abs(values[known] / true[known] - 1) for values in (result.estimate.base, given))
    assert known.sum() > 12 and np.median(after) < 0.02 < 0.2 < np.median(before)


def test_the_same_seed_gives_the_same_numbers(done, tmp_path):
    again = demo(tmp_path / "again").outcome.summary
    before = json.loads((done[0] / "summary.json").read_text("utf-8"))
    assert again["base_parameters"] == before["base_parameters"]


def test_a_folder_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "file")])
    assert result.exit_code == 2 and "is a file" in result.stderr
