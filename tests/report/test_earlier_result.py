"""A result that an earlier program wrote is read by everything that reads results, or refused in one sentence.

`earlier_result` is the output folder of `steelyard identify` on `small_runs.write_case(samples=300)` with the program
of commit edfe7cc, which knew neither cutoffs of torques nor predictions of other motion. Only its folder and platform
were replaced.
"""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from small_runs import write_case
from steelyard import plot
from steelyard.app import app
from steelyard.report.record import read

EARLIER = Path(__file__).with_name("earlier_result")
SUMMARY = json.loads((EARLIER / "summary.json").read_text("utf-8"))


def steelyard(*words):
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """The model that the result was made from, a longer log, and a result of this program."""
    folder = tmp_path_factory.mktemp("now")
    model, log = write_case(folder)
    assert steelyard("identify", model, log, "--out", folder / "result", "--quiet").exit_code == 0
    return model, log, folder / "result"


def test_it_is_drawn_again(tmp_path):
    done = steelyard("report", EARLIER, "--out", tmp_path)
    assert done.exit_code == 0 and SUMMARY["verdict"]["headline"] in done.stdout
    page = (tmp_path / "report.html").read_text("utf-8")
    figures = {name for name, *_ in read(EARLIER).curves}
    assert figures >= {"torque", "friction"} and page.count('class="figure"') >= 3 * len(SUMMARY["held_out"]["joints"])
    assert plot.torque(EARLIER, "elbow").data and "forearm" in (tmp_path / "report.md").read_text("utf-8")


def test_it_is_compared_with_a_result_of_today(case, tmp_path):
    done = steelyard("report", EARLIER, case[2], "--json")
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert [each["name"] for each in found["runs"]] == ["earlier_result", "result"] and len(found["values"]) > 5


def test_it_is_validated_against_its_model(case):
    model, log, _ = case
    done = steelyard("validate", EARLIER, log, "--against", model, "--json")
    assert done.exit_code == 0
    errors = [each["relative_error"] for each in json.loads(done.stdout)["models"]]
    assert errors[0] < 0.01 < errors[1]


def test_its_masses_are_drawn_beside_the_model(case, tmp_path):
    page = tmp_path / "view.html"
    done = steelyard("view", case[0], "--estimate", EARLIER, "--no-open", "--out", page)
    assert done.exit_code == 0 and page.stat().st_size > 10_000


def without_bodies(found: dict) -> dict:
    return {key: value for key, value in found.items() if key != "bodies"}


def of_another_version(found: dict) -> dict:
    return found | {"schema_version": 0}


@pytest.mark.parametrize(
    ("command", "spoil"),
    [
        *((command, without_bodies) for command in ("report", "compare", "validate", "view")),
        *((command, of_another_version) for command in ("report", "compare", "validate")),
    ],
)
def test_what_no_reader_knows_is_refused_in_one_sentence(case, tmp_path, command, spoil):
    model, log, today = case
    (tmp_path / "summary.json").write_text(json.dumps(spoil(SUMMARY)), "utf-8")
    (tmp_path / "arm_identified.urdf").write_bytes((EARLIER / "arm_identified.urdf").read_bytes())
    words = {
        "report": ("report", tmp_path),
        "compare": ("report", today, tmp_path),
        "validate": ("validate", tmp_path, log),
        "view": ("view", model, "--estimate", tmp_path, "--no-open", "--out", tmp_path / "view.html"),
    }
    done = steelyard(*words[command])
    assert done.exit_code == 2 and done.stderr.startswith("steelyard: ")
    assert done.stderr.count("\n") == 1 and "summary.json" in done.stderr and "Traceback" not in done.output
