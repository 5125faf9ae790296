"""`steelyard validate`: models and results on logs that they were not made from."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import steelyard as sy
from small_runs import write_case, write_log, write_model
from steelyard.app import app
from steelyard.errors import DONE, FINDINGS, REFUSED, OptionError
from steelyard.report.model_validation import validate_models


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a result, and the Result itself; a log of another day."""
    folder = tmp_path_factory.mktemp("judged")
    model, log = write_case(folder)
    result = sy.identify(model, log, out=folder / "result")
    return folder, result, write_log(folder / "other.csv", folder / "truth.urdf", seed=5)


def run(*words):
    return CliRunner().invoke(app, ["validate", *map(str, words)], catch_exceptions=False)


def test_a_result_counts_with_all_that_was_identified(made):
    """The same numbers as the estimate itself gives; the model file alone lacks offset and armature."""
    folder, result, other = made
    found = validate_models(folder / "result", [other], cutoff=8.0)
    log = sy.filters.differentiate(sy.read_log(other, result.robot), cutoff=8.0)
    expected = sy.validate(result.estimate, log)
    np.testing.assert_allclose(found.models[0][1].predicted, expected.predicted, atol=1e-6)
    assert found.as_json()["models"][0]["relative_error"] == pytest.approx(expected.relative_error, rel=1e-6)
    alone = validate_models(folder / "result" / "arm_identified.urdf", [other], cutoff=8.0).models[0][1]
    offset = result.estimate.friction["offset"]
    assert np.abs(alone.predicted - expected.predicted).max() > 0.5 * np.abs(offset).max() > 0


def test_the_truth_meets_its_own_log(made, tmp_path):
    """Pinocchio made it: the model that it was made from leaves noise and friction, which that file does not state."""
    found = validate_models(write_model(tmp_path / "same.urdf"), [made[2]], against=made[0] / "arm.urdf")
    own, other = (each.relative_error for _, each in found.models)
    assert found.good and own < 0.1 and own < other


def test_which_is_better_decides_the_exit_status(made):
    folder, _, other = made
    better, worse = run(folder / "result", other, "--against", folder / "arm.urdf"), None
    shown = " ".join(better.stdout.split())
    assert better.exit_code == DONE and "times smaller" in shown and "shoulder" in shown
    worse = run(folder / "arm.urdf", other, "--against", folder / "result", "--json")
    found = json.loads(worse.stdout)
    assert worse.exit_code == FINDINGS and not found["good"] and "times larger" in found["headline"]
    own, against = found["models"]
    assert own["relative_error"] > against["relative_error"]
    assert [each["name"] for each in own["joints"]] == ["shoulder", "elbow", "slide"]
    assert [each["unit"] for each in own["joints"]] == ["N m", "N m", "N"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nowhere", "other.csv"), "suffix ''"),
        (("result", "nowhere.csv"), "no log at"),
        (("result", "other.csv", "--delay", "auto"), "--delay auto takes a fit"),
        ((".", "other.csv"), "holds no result"),
    ],
)
def test_refused(made, words, message):
    done = run(*(made[0] / word if not word.startswith("-") and word != "auto" else word for word in words))
    assert done.exit_code == REFUSED and message in done.stderr and done.stdout == ""


def test_two_robots_are_not_compared(made, tmp_path):
    text = (made[0] / "arm.urdf").read_text().replace("elbow", "knee")
    (tmp_path / "other.urdf").write_text(text)
    with pytest.raises(OptionError, match="has other joints than"):
        validate_models(made[0] / "arm.urdf", [made[2]], against=tmp_path / "other.urdf")
