"""The gallery shows the files beside it, and these are what the commands give where their logs are here."""

import shutil

import gallery
import numpy as np
import pytest

import steelyard as sy
from steelyard.drives.held_out import WINDOW
from steelyard.report.schema import difference

MOST = 2_000_000  # bytes of all files


def test_the_page_is_that_of_the_files():
    assert gallery.PAGE.read_text("utf-8") == gallery.page(), "run `python tools/gallery.py`"


@pytest.mark.parametrize("name", gallery.EXHIBITS)
def test_files_are_those_of_one_result(name):
    """The summary is whole and names no folder; the model has its masses; samples are of the same robot."""
    folder, found = gallery.FILES / name, gallery.summary(name)
    assert not difference(found, found["kind"])
    assert found["provenance"]["folder"] == "." and not any(
        each["path"].startswith("/") for each in found["provenance"]["inputs"]
    )
    model = next(folder.glob("*_identified.urdf"), None)
    assert (model is not None) == gallery.EXHIBITS[name].shared
    if model is None:
        return
    robot = sy.load(model, lock=dict(each.split("=") for each in found["job"]["lock"]))
    masses = {each["name"]: each.get("mass") or each["identified"]["mass"] for each in found["bodies"]}
    for body, mass in zip(robot.body_names, robot.inertias[:, 0], strict=True):
        assert mass == pytest.approx(masses[body], rel=1e-4)
    if (folder / gallery.DRAWS).is_file():
        assert sy.fit.load_draws(folder).bodies == robot.body_names


def test_the_files_are_small_and_no_log_of_others_is_among_them():
    files = [path for path in gallery.FILES.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < MOST
    logs = {path.parent.name for path in files if path.suffix in (".parquet", ".csv") or path.name.endswith("Hz.npz")}
    assert logs == {"double_pendulum"} and (gallery.FILES / "double_pendulum" / "LICENSE").is_file()


def test_the_written_pendulum_moves_as_its_summary_says():
    """Of the files alone: windows of a recorded run, without and with what was identified."""
    folder = gallery.FILES / "double_pendulum"
    found = {each["name"]: each["windows"] for each in gallery.summary("double_pendulum")["motion"]}
    given, own = (sy.load(folder / f"double_pendulum{end}") for end in (".urdf", "_identified_simulated.xml"))
    log = sy.read_log(folder / "trajectory_03.parquet", own)
    errors = [
        np.sqrt(np.mean(sy.rollout(robot, log, drives=own.drives, window=WINDOW).error ** 2)) for robot in (given, own)
    ]
    assert errors[1] < 1.2 * found["identified"] and errors[1] < 0.7 * errors[0]


@pytest.mark.exhaustive
def test_the_pendulum_identified_again_gives_its_page(tmp_path, monkeypatch):
    kept = gallery.summary("double_pendulum")
    shutil.copytree(gallery.FILES / "double_pendulum", tmp_path / "double_pendulum")
    monkeypatch.setattr(gallery, "FILES", tmp_path)
    gallery.run("double_pendulum", [])
    found = gallery.summary("double_pendulum")
    assert found["verdict"]["level"] == kept["verdict"]["level"]
    assert [each["windows"] for each in found["motion"]] == pytest.approx(
        [each["windows"] for each in kept["motion"]], rel=0.05
    )
