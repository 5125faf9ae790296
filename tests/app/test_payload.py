"""`steelyard payload`: files in, words, JSON and controller settings out."""

import json

import numpy as np
import pytest
import trimesh
from evidence.bench.tray_experiment import test_object
from typer.testing import CliRunner

from payload_logs import static, swing
from steelyard.app import app
from steelyard.inertia import parameters

THING = test_object("tee")
HAND = parameters.from_com_inertia(0.4, np.array([0.0, 0.01, 0.03]), 4e-4 * np.eye(3))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("payload")
    log = swing(THING.theta, noise=(0.05, 0.002, 0.01, 0.05))
    keys = ("t", "wrench", "rotation", "twist", "acceleration")
    np.savez(folder / "held.npz", **{key: getattr(log, key) for key in keys})
    both = swing(THING.theta + HAND, bias=0.3)
    np.savez(folder / "both.npz", **{key: getattr(both, key) for key in keys})
    empty = static(HAND, poses=12, bias=0.3)
    np.savez(folder / "empty.npz", t=empty.t, wrench=empty.wrench, rotation=empty.rotation)
    box = trimesh.creation.box(1000 * THING.sides)
    box.apply_translation(500 * (THING.solid.lower + THING.solid.upper))
    box.export(folder / "tray.stl")
    return folder


def run(*words):
    return CliRunner().invoke(app, ["payload", *map(str, words)], catch_exceptions=False)


def test_shape_and_exports(folder):
    done = run(
        folder / "held.npz",
        "--shape",
        folder / "tray.stl",
        "--scale",
        0.001,
        "--export",
        "franka,ur,kuka,ros,urdf,mjcf",
    )
    assert done.exit_code == 0, done.output
    assert "method density: the shape is known" in done.output
    for words in ("setLoad(", "set_target_payload(", "LOAD_DATA", "ixx:", "<inertial>", "fullinertia"):
        assert words in done.output


def test_a_shape_in_its_own_frame(folder):
    box = trimesh.creation.box(THING.sides)
    box.export(folder / "centered.ply")
    middle = 0.5 * (THING.solid.lower + THING.solid.upper)
    done = run(folder / "held.npz", "--shape", folder / "centered.ply", "--shape-pose", *middle, 0, 0, 0, "--json")
    found = json.loads(done.stdout)
    assert done.exit_code == 0 and found["findings"] == []
    np.testing.assert_allclose(found["com"], THING.theta[1:4] / THING.theta[0], atol=2e-3)


def test_json(folder):
    done = run(folder / "held.npz", "--json", "--export", "ur")
    found = json.loads(done.stdout)
    assert found["method"] == "geo" and found["why"].startswith("no shape was given")
    assert found["mass"] == pytest.approx(THING.theta[0], rel=2e-3)
    assert "set_target_payload" in found["export"]


def test_an_empty_hand_is_taken_off(folder):
    done = run(folder / "both.npz", "--hand", folder / "empty.npz", "--method", "ols", "--json")
    found = json.loads(done.stdout)
    assert found["mass"] == pytest.approx(THING.theta[0], rel=1e-6)
    np.testing.assert_allclose(found["com"], THING.theta[1:4] / THING.theta[0], atol=1e-6)


def test_findings_have_their_own_exit_status(folder):
    done = run(folder / "held.npz", "--negate")
    assert done.exit_code == 1 and "pass -wrench" in done.output and "negative mass" in done.output


def test_a_usable_result_with_a_finding_is_not_simply_done(folder):
    """Exit status 1 asks to look at the finding; the settings are printed all the same."""
    with np.load(folder / "held.npz") as stored:
        arrays = dict(stored)
    np.savez(folder / "jumps.npz", **{key: np.delete(array, slice(80, 110), axis=0) for key, array in arrays.items()})
    done = run(folder / "jumps.npz", "--export", "ur")
    assert done.exit_code == 1 and "! time jumps 1 times" in done.output and "set_target_payload" in done.output
    assert run(folder / "held.npz", "--export", "ur").exit_code == 0


def test_a_gravity_that_is_not_the_earths_is_confirmed(folder):
    moon = (folder / "poses.npz", "--gravity", 0, 0, -1.62, "--export", "ur")
    poses = static(THING.theta, poses=12, gravity=(0.0, 0.0, -1.62))
    np.savez(folder / "poses.npz", t=poses.t, wrench=poses.wrench, rotation=poses.rotation)
    done = run(*moon)
    assert done.exit_code == 1 and "(--elsewhere)" in done.output and "set_target_payload" not in done.output
    done = run(*moon, "--elsewhere")
    assert done.exit_code == 0 and "set_target_payload" in done.output
    assert "gravity of 1.62 m/s^2 was taken as given" in done.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("missing.npz",), "no wrench log"),
        (("held.npz", "--method", "magic"), "Choose from auto"),
        (("held.npz", "--export", "fanuc"), "--export has no fanuc"),
        (("held.npz", "--frame", "hand"), "give --arm MODEL"),
        (("held.npz", "--torques"), "needs --arm"),
        (("held.npz", "--shape", "tray.stl"), "millimetres"),
    ],
)
def test_refused(folder, words, message, monkeypatch):
    monkeypatch.chdir(folder)
    done = run(*words)
    assert done.exit_code == 2 and message in done.stderr


def test_joint_torques(tmp_path):
    """A two-link arm in a vertical plane that holds 0.5 kg: the same command without a sensor."""
    import steelyard as sy
    from small_runs import write_case
    from steelyard import simulate

    path, _ = write_case(tmp_path)
    arm = sy.load(path)
    theta = parameters.from_com_inertia(0.5, np.array([0.05, 0.02, 0.03]), 5e-4 * np.eye(3))
    inertias = arm.inertias.copy()
    inertias[-1] += theta
    log = simulate.record(arm.with_inertias(inertias), duration=6.0, sensors=simulate.Sensors(rate=200.0)).log
    sy.write_npz(log, tmp_path / "joints.npz")
    done = run(tmp_path / "joints.npz", "--torques", "--arm", path, "--json")
    found = json.loads(done.stdout)
    assert found["mass"] == pytest.approx(0.5, rel=0.1) and found["method"] == "geo"
    assert run(tmp_path / "joints.npz", "--torques", "--arm", path, "--method", "pmd").exit_code == 2


def test_numbers_of_no_body_are_shown_and_not_exported(folder):
    done = run(folder / "held.npz", "--negate", "--export", "ur")
    assert done.exit_code == 1 and "! not exported" in done.output and "set_target_payload" not in done.output


def test_a_shape_elsewhere_gives_no_controller_a_wrong_load(folder):
    words = ("--shape", folder / "tray.stl", "--scale", 0.001, "--shape-pose", 0.5, 0, 0, 0, 0, 0, "--export", "ur")
    done = run(folder / "held.npz", *words)
    assert done.exit_code == 1 and "! not exported: the log does not fit a rigid payload" in done.output
    assert "(--shape-pose)" in done.output and "set_target_payload" not in done.output


def test_an_unknown_controller_is_refused_before_anything_is_read(folder):
    done = run(folder / "missing.npz", "--export", "ab")
    assert done.exit_code == 2 and "--export has no ab" in done.stderr
