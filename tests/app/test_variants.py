"""`steelyard convert RESULT OUT --draws N`: the user's file with the values of rows of draws.npz, and nothing else."""

import json
import runpy
import shutil
from dataclasses import replace

import mujoco
import numpy as np
import pytest
from typer.testing import CliRunner

import steelyard as sy
from small_runs import write_case
from steelyard import fit
from steelyard.app import app
from steelyard.errors import FitError, OptionError
from steelyard.inertia import is_consistent
from steelyard.model.drive import Drive
from steelyard.model.side import read_side, side_path
from steelyard.model.side_write import write_side


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("case")
    model, log = write_case(folder)
    sy.identify(model, log, friction=("viscous", "coulomb"), out=folder / "out")
    return folder / "out"


def test_variants_are_the_users_file_with_other_values(result, tmp_path):
    done = CliRunner().invoke(app, ["convert", str(result), str(tmp_path / "variants"), "--draws", "12", "--json"])
    paths = sorted((tmp_path / "variants").iterdir())
    found = json.loads(done.output)
    assert done.exit_code == 0 and found["files"] == [str(path) for path in paths]
    assert "no place for armature" in found["notes"][0]  # nor has the result's own URDF
    assert [path.name for path in paths[:2]] == ["arm_identified_00.urdf", "arm_identified_01.urdf"]
    draws, own = fit.load_draws(result), (result / "arm_identified.urdf").read_text()
    for i, path in enumerate(paths):
        robot = sy.load(path)
        np.testing.assert_allclose(robot.inertias, draws.inertias[i], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(robot.damping, draws.values["damping"][i], rtol=1e-6, atol=1e-12)
        assert is_consistent(robot.inertias).all()
        assert len(path.read_text().splitlines()) == len(own.splitlines())  # edited, not written anew
        m = mujoco.MjModel.from_xml_path(str(path))  # which refuses inertias that cannot be
        assert m.nv == robot.nv


def test_ranges_of_the_summary_are_of_the_samples(result):
    summary, draws = json.loads((result / "summary.json").read_text()), fit.load_draws(result)
    robot = sy.load(result / "arm_identified.urdf")
    found = {(each["group"], each["name"]): each for each in summary["randomisation"]}
    for i, name in enumerate(robot.body_names):
        own = found["mass_scale", name]
        scale = draws.inertias[:, i, 0] / robot.inertias[i, 0]
        assert np.mean((own["lower"] <= scale) & (scale <= own["upper"])) >= 0.89 and own["lower"] <= 1 <= own["upper"]
    labels = {each["name"]: each["label"] for each in summary["parameters"]}
    for i, name in enumerate(robot.dof_names):
        own = found["damping", name]
        low, high = np.quantile(draws.values["damping"][:, i], [0.05, 0.95])
        assert own["lower"] <= low <= high <= own["upper"]
        assert (own["source"] == "identified") == (labels[f"{name}.viscous"] in ("data-determined", "model-dependent"))
    open_ = [name for (group, name), own in found.items() if group == "mass_scale" and own["source"] == "prior"]
    text = (result / "report.md").read_text()
    assert open_ and "rest on the prior about the given model" in text.replace("\\", "")


def test_configurations_take_the_numbers_of_the_result(result, tmp_path):
    """Its summary counts: the URDF has no place for armature, and does not say what the logs determine."""
    done = CliRunner().invoke(app, ["convert", str(result), str(tmp_path / "n.py"), "--as", "newton", "--json"])
    left_out, summary = json.loads(done.output)["left_out"], json.loads((result / "summary.json").read_text())
    joints = runpy.run_path(str(tmp_path / "n.py"))["JOINTS"]
    names = {"viscous": ("joint_damping", "damping"), "coulomb": ("joint_friction", "frictionloss")}
    for own in summary["joints"]:
        for term, (array, key) in (names | {"armature": ("joint_armature", "armature")}).items():
            determined = own[term]["label"] in ("data-determined", "model-dependent")
            missing = any(text.startswith(f"Left out: {key} of ") and own["name"] in text for text in left_out)
            assert missing != determined
            if determined:
                assert joints[own["name"]][array] == pytest.approx(own[term]["identified"], rel=1e-8)
            else:
                assert array not in joints[own["name"]]


def test_drives_go_into_the_files(tmp_path):
    """Actuators of MJCF; the side file beside a URDF."""
    robot = replace(sy.library.scara(), drives={"joint1": Drive("position", kp=50.0, kd=1.0, limit=9.0, delay=0.01)})
    values = {"gain": np.array([[40.0] * 4, [60.0] * 4]), "delay": np.array([[0.004] * 4, [0.02] * 4])}
    draws = fit.Draws(robot.body_names, robot.dof_names, np.stack([robot.inertias] * 2), values)
    for suffix in (".xml", ".urdf"):
        folder = tmp_path / suffix[1:]
        folder.mkdir()
        path = folder / f"scara{suffix}"
        sy.save(robot, path)
        write_side(robot, side_path(path))
        fit.save_draws(draws, folder / "draws.npz")
        shutil.copy(summary_of(folder, path.name), folder / "summary.json")
        for i, each in enumerate(sy.variants(folder, folder / "out", 2)):
            found = read_side(side_path(each), sy.load(each)).drives["joint1"]
            assert (found.kp, found.kd, found.limit) == pytest.approx((40.0 + 20 * i, 1.0, 9.0))
            assert found.delay == pytest.approx(values["delay"][i, 0])


def summary_of(folder, model):
    """A summary that names a model, as short as one can be."""
    path = folder / "given.json"
    path.write_text(json.dumps(SUMMARY | {"files": [model]}))
    return path


SUMMARY = {
    "schema_version": 1,
    "kind": "drives",
    "verdict": {"level": "good", "headline": "", "advice": "", "reasons": [], "answers": []},
    "robot": {"name": "scara", "joints": [], "bodies": []},
    "drives": {},
    "scale": {"lines": ["stated"], "open": []},
    "motion": [{"name": "identified", "windows": 0.1, "whole": 0.1, "joints": []}],
    "proven": {"beyond": True, "joints": [], "motion": [{"name": "identified", "windows": 0.1, "whole": 0.1}]},
    "bodies": [],
    "held_out": {"samples": 1, "window": 0.5, "step": 0.002},
    "findings": [],
    "notes": [],
    "job": {"model": "m", "logs": ["l"], "floating": None, "gravity": None, "side": None, "rotors": False},
    "command": "",
    "out": None,
    "provenance": {"created": "", "python": "", "platform": "", "packages": {}, "folder": "", "inputs": []},
}


def test_refusals_write_nothing(result, tmp_path):
    with pytest.raises(OptionError, match="has 256 samples"):
        sy.variants(result, tmp_path / "out", 1000)
    (tmp_path / "old").mkdir()
    for name in ("summary.json", "arm_identified.urdf"):
        shutil.copy(result / name, tmp_path / "old" / name)
    with pytest.raises(FitError, match="no samples were written there"):  # of an earlier program
        sy.variants(tmp_path / "old", tmp_path / "out", 3)
    with pytest.raises(OptionError, match="holds no result"):
        sy.variants(tmp_path, tmp_path / "out", 3)
    assert not (tmp_path / "out").exists()


def test_nothing_is_exported_of_a_result_that_is_not_to_be_used(result, tmp_path):
    """Three quarters of the torque is friction that was left out: the verdict is to keep the given model."""
    robot = sy.library.scara()
    rubbing = robot.with_joint_properties(damping=5 * robot.damping, frictionloss=5 * robot.frictionloss)
    log = sy.simulate.record(rubbing, duration=4.0).log
    kept = tmp_path / "kept"
    sy.identify(robot.with_inertias(1.15 * robot.inertias), log, friction=(), out=kept)
    assert json.loads((kept / "summary.json").read_text())["verdict"]["level"] == "keep"
    assert "these ranges are of a fit that is not to be used" in (kept / "report.md").read_text()
    model = next(kept.glob("*_identified.urdf"))
    for source in (kept, model):
        for words in (["m.py", "--as", "newton"], ["variants", "--draws", "2"]):
            out = tmp_path / words[0]
            done = CliRunner().invoke(app, ["convert", str(source), str(out), *words[1:]])
            told = " ".join(done.stderr.split())
            assert done.exit_code == 2 and "is not to be used until you know why" in told and not out.exists()
    assert "these ranges are of" not in (result / "report.md").read_text()
