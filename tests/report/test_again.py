"""`steelyard report`: one result drawn again, several compared."""

import json

import jsonschema
import numpy as np
import pytest
from typer.testing import CliRunner

from small_runs import write_case, write_log
from steelyard import plot
from steelyard.app import app
from steelyard.app.identification import identify
from steelyard.errors import OptionError
from steelyard.report.record import read
from steelyard.report.schema import schema


def run(*words):
    return CliRunner().invoke(app, ["report", *map(str, words)], catch_exceptions=False)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Three results of one robot; the third with half of the elbow's friction added."""
    folder = tmp_path_factory.mktemp("results")
    model, log = write_case(folder)

    def stiffer(t, q, tau):
        tau = tau.copy()
        tau[:, 1] += 0.8 * np.tanh(np.gradient(q[:, 1], t) / 0.05)
        return t, q, tau

    write_log(folder / "b.csv", folder / "truth.urdf", seed=3)
    write_log(folder / "c.csv", folder / "truth.urdf", seed=4, change=stiffer)
    for name, recorded in (("march", log), ("april", folder / "b.csv"), ("may", folder / "c.csv")):
        identify(model, recorded, out=folder / name)
    return [folder / name for name in ("march", "april", "may")]


def test_a_result_is_drawn_again_as_it_was(results, tmp_path):
    done = run(results[0], "--out", tmp_path / "again")
    assert done.exit_code == 0 and "Better: held-out torque error" in done.stdout
    for name in ("report.html", "report.md"):
        assert (tmp_path / "again" / name).read_text("utf-8") == (results[0] / name).read_text("utf-8")
    before = (results[0] / "report.html").read_bytes()
    (results[0] / "report.html").unlink()
    assert run(results[0], "--quiet").stdout == "" and (results[0] / "report.html").read_bytes() == before


def test_the_3d_view_is_left_out_where_the_model_is_another(results, tmp_path):
    view = "data-steelyard-view role"
    assert view in (results[0] / "report.html").read_text("utf-8")
    found = json.loads((results[0] / "summary.json").read_text("utf-8"))
    found["provenance"]["inputs"][0]["sha256"] = "0" * 64
    (tmp_path / "summary.json").write_text(json.dumps(found))
    assert run(tmp_path).exit_code == 0
    assert view not in (tmp_path / "report.html").read_text("utf-8")


def test_figures_of_a_folder_are_those_of_its_result(results):
    assert plot.torque(results[0], 1) == plot.torque(read(results[0]), "elbow")


def test_runs_of_one_robot_agree(results):
    found = json.loads(run(*results[:2], "--json").stdout)
    assert found["verdict"]["level"] == "good" and found["ratio"] < 1.5
    assert [each["name"] for each in found["runs"]] == ["march", "april"]
    assert not any(each["differs"] for each in found["values"])


def test_a_change_is_found_and_named(results, tmp_path):
    done = run(*results, "--out", tmp_path / "drift")
    assert done.exit_code == 0 and "They differ" in done.stdout and "elbow.coulomb" in done.stdout
    found = json.loads((tmp_path / "drift" / "summary.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema("comparison")).validate(found)
    worst = min(found["values"], key=lambda each: each["probability"])
    assert worst["name"] == "elbow.coulomb" and worst["outlier"] == "may" and worst["differs"]
    assert worst["estimates"][2] - worst["estimates"][0] == pytest.approx(0.8, abs=0.1)
    summaries = [json.loads((each / "summary.json").read_text("utf-8")) for each in results]
    for joint, errors in zip(summaries[0]["held_out"]["joints"], found["joints"], strict=True):
        assert errors["relative_errors"][0] == joint["relative_after"]
    page = (tmp_path / "drift" / "report.html").read_text("utf-8")
    assert "elbow.coulomb differs between runs" in page and (tmp_path / "drift" / "report.md").exists()


def test_folders_without_result_are_refused(results, tmp_path):
    done = run(tmp_path)
    assert done.exit_code == 2 and "holds no result" in done.stderr
    (tmp_path / "summary.json").write_text("{")
    assert "is no JSON" in run(tmp_path).stderr
    (tmp_path / "summary.json").write_text('{"schema_version": 99}')
    assert "schema version 99" in run(tmp_path).stderr
    assert "given twice" in run(results[0], results[0]).stderr
    with pytest.raises(OptionError, match="curves"):
        (tmp_path / "summary.json").write_text((results[0] / "summary.json").read_text())
        plot.torque(tmp_path, 0)
    (tmp_path / "curves.npz").write_bytes(b"no archive")
    assert "holds no curves" in run(tmp_path).stderr
