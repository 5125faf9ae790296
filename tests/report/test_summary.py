"""The summary holds what the result holds, and the terminal shows what the summary holds."""

import json
import re

import numpy as np
import pytest
from rich.console import Console

from small_runs import JOINTS, motion, torques, write_case
from steelyard.app.identification import identify
from steelyard.fit.volumes import CAN_EXIST
from steelyard.numbers import number, percent, plus_minus
from steelyard.pipeline import Job
from steelyard.pipeline.identification import run
from steelyard.report.certificates import active_constraints
from steelyard.report.console import overview
from steelyard.report.identification_report import summary
from steelyard.report.links import spelled_out
from steelyard.report.provenance import inputs_of, provenance
from steelyard.report.schema import SCHEMA_VERSION


def text(renderable, width: int = 200) -> str:
    console = Console(width=width, record=True, file=None, quiet=False, force_terminal=False)
    with console.capture() as capture:
        console.print(renderable)
    return capture.get()


def test_it_is_strict_json_with_a_schema(found):
    again = json.loads(json.dumps(found, allow_nan=False))
    assert again == found and again["schema_version"] == SCHEMA_VERSION


def test_errors_are_those_of_the_raw_predictions(small, found):
    held = found["held_out"]
    for key, model in (("before", small.before), ("after", small.after)):
        error = small.after.measured - model.predicted
        assert held[f"relative_error_{key}"] == pytest.approx(
            np.sqrt(np.sum(error**2) / np.sum(small.after.measured**2))
        )
        for i, joint in enumerate(held["joints"]):
            assert joint[f"rms_{key}"] == pytest.approx(np.sqrt(np.mean(error[:, i] ** 2)))
            assert joint[f"relative_{key}"] == pytest.approx(joint[f"rms_{key}"] / joint["torque_rms"])
    assert [joint["unit"] for joint in held["joints"]] == ["N m", "N m", "N"]


def test_bodies_are_spelled_out(small, found):
    for i, body in enumerate(found["bodies"]):
        for key, theta in (("prior", small.prior.inertias[i]), ("identified", small.estimate.theta[i])):
            np.testing.assert_allclose(body[key]["theta"], theta)
            c = np.array(body[key]["com"])
            np.testing.assert_allclose(body[key]["mass"] * c, theta[1:4], atol=1e-14)
            # parallel axes, entry by entry
            origin = np.array(body[key]["inertia"]) + body[key]["mass"] * (c @ c * np.eye(3) - np.outer(c, c))
            np.testing.assert_allclose(origin[np.triu_indices(3)], theta[[4, 5, 7, 6, 8, 9]], atol=1e-12)
    assert [body["name"] for body in found["bodies"]] == ["upper", "forearm", "rod"]


def test_a_body_without_mass_has_no_centre():
    assert spelled_out(np.zeros(10))["com"] is None
    assert spelled_out([0, 1, 0, 0, 0, 0, 0, 0, 0, 0])["inertia"] is None


def test_base_parameters_and_friction_carry_their_deviation(small, found):
    names = [each["name"] for each in found["base_parameters"]]
    told = np.isin(small.estimate.basis.columns, small.estimate.layout.in_plain)
    assert names == list(np.array(small.estimate.base_names)[told]) and len(names) == found["fit"]["identifiable"]
    for each, value in zip(found["base_parameters"], small.estimate.base[told], strict=True):
        assert each["identified"] == pytest.approx(value)
        assert each["regroups"][0] == [1.0, each["name"]]
    slide = next(joint for joint in found["joints"] if joint["name"] == "slide")
    assert slide["viscous"]["unit"] == "N s/m"
    assert abs(slide["viscous"]["identified"] - 3.0) < 5 * slide["viscous"]["deviation"] + 1.5
    base = {each["name"]: each["deviation"] for each in found["base_parameters"]}
    assert slide["coulomb"]["deviation"] == base["slide.coulomb"]


def test_deviations_cover_the_truth_of_repeated_logs(tmp_path):
    """Scatter of a parameter over many noises against its stated deviation: a wrong factor would show."""
    model, _ = write_case(tmp_path, samples=100)
    t, q, v, a = motion(samples=500, rate=50.0)
    log, values, stated = tmp_path / "run.npz", [], []
    for seed in range(8):
        tau = torques(tmp_path / "truth.urdf", q, v, a, noise=0.05, seed=seed)
        np.savez(log, t=t, q=q, v=v, a=a, tau=tau, joint_names=JOINTS)
        found = summary(run(Job(str(model), (str(log),), cutoff=0.0)))
        base = {each["name"]: each for each in found["base_parameters"]}["upper.hx"]
        values.append(base["identified"])
        stated.append(base["deviation"])
    assert 0.4 < np.std(values) / np.mean(stated) < 2.0


def test_terminal_shows_the_numbers_of_the_summary(found):
    shown = text(overview(found))
    assert found["verdict"]["headline"] in " ".join(shown.split())
    for joint in found["held_out"]["joints"]:
        assert number(joint["rms_after"]) in shown and percent(joint["relative_before"]) in shown
    for body in found["bodies"]:
        row = next(line for line in shown.splitlines() if line.startswith(f"{body['name']} "))
        assert number(body["prior"]["mass"]) in row
        mass = next(each for each in found["parameters"] if each["name"] == f"{body['name']}.m")
        expected = {
            "data": plus_minus(mass["identified"], mass["deviation"]),
            "combination": f"{number(mass['identified'])}*",
            "model": f"{number(mass['identified'])}†",
        }
        assert expected[body["knowledge"][0]] in row
    for joint in found["joints"]:
        each = joint["viscous"]
        assert plus_minus(each["identified"], each["deviation"]) in shown
    assert "summary.json" in shown
    assert "mass [kg]" in shown and "com x [mm]" in shown  # brackets are units here, not markup


def renamed(found: dict, before: str, after: str) -> dict:
    """A summary whose links and joints have longer names."""
    names = "|".join(each["name"] for each in (*found["bodies"], *found["held_out"]["joints"]))
    return json.loads(re.sub(rf'"({names})(?=["\.])(?!":)', rf'"{before}\1{after}', json.dumps(found)))


def test_names_stay_whole_on_a_narrow_terminal(found):
    long = renamed(found, "shoulder_lift_", "")
    lines = text(overview(long), width=80).splitlines()
    assert max(map(len, lines)) <= 80
    for each in (*long["bodies"], *long["held_out"]["joints"]):
        assert any(each["name"] in line for line in lines)


def test_active_constraints_are_named(found):
    bodies = [f"link{k} {CAN_EXIST}" for k in range(8)]
    held = {**found, "fit": {**found["fit"], "binding": [*bodies, "joint1.armature at least 0 kg m^2"]}}
    assert active_constraints(held) == (
        "9 active constraints (the unconstrained fit violates them): physical consistency of link0, link1, link2, "
        "link3, link4, link5 and 2 more; joint1.armature at least 0 kg m^2."
    )


def test_markup_in_names_is_shown_and_not_obeyed(found):
    hostile = renamed(found, "[red]", "[/nonsense]")
    hostile["notes"] = ["[bold]note[/x]"]
    shown = text(overview(hostile))
    assert "[red]upper[/nonsense]" in shown and "[red]slide[/nonsense]" in shown and "[bold]note[/x]" in shown


def test_a_log_that_is_a_folder_is_hashed_with_all_its_files(tmp_path):
    (tmp_path / "bag").mkdir()
    (tmp_path / "bag" / "metadata.yaml").write_bytes(b"12")
    (tmp_path / "bag" / "run_0.db3").write_bytes(b"345")
    (tmp_path / "arm.urdf").write_bytes(b"12345")
    model, bag = provenance(inputs_of(Job(str(tmp_path / "arm.urdf"), (str(tmp_path / "bag"),))))["inputs"]
    assert bag["bytes"] == 5 and bag["sha256"] == model["sha256"]


def test_relative_paths_are_kept_and_their_folder_named(tmp_path, monkeypatch):
    write_case(tmp_path)
    monkeypatch.chdir(tmp_path)
    identify("arm.urdf", "run.csv", out="out")
    found = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    assert found["command"] == "steelyard identify arm.urdf run.csv --out out"
    assert found["provenance"]["folder"] == str(tmp_path) and found["out"] == "out"
