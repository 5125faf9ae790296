"""The whole job for a robot with closed loops, from a log of its motors alone."""

import json
import shutil

import numpy as np
import pytest

import loop_logs
import steelyard as sy
from mujoco_loops import model_with_loops
from steelyard.errors import LogError, LoopError
from steelyard.information import accumulate
from steelyard.log import write_csv
from steelyard.model import library
from steelyard.model.side import read_side, side_path

pytestmark = pytest.mark.claim("loops.four_bar")


@pytest.fixture(scope="module")
def log():
    t = np.arange(0, 10, 0.01)
    w, phase = np.array([[1.1, 3.7, 6.1], [1.7, 2.9, 7.3]]), np.arange(6).reshape(2, 3)
    size = np.array([[0.25, 0.12, 0.05], [0.2, 0.12, 0.06]])
    angle = t[:, None, None] * w + phase
    q, v, a = ((f(angle) * size * w**k).sum(-1) * s for f, k, s in ((np.sin, 0, 1), (np.cos, 1, 1), (np.sin, 2, -1)))
    return loop_logs.motors_log(library.four_bar_leg(), t, q, v, a)


@pytest.fixture(scope="module")
def case(log, tmp_path_factory):
    folder = tmp_path_factory.mktemp("leg")
    truth = library.four_bar_leg()
    write_csv(log, folder / "run.csv")
    text = truth.source.path.read_text().replace('<mass value="1.8"/>', '<mass value="2.6"/>')
    (folder / "leg.urdf").write_text(text)
    shutil.copy(side_path(truth.source.path), folder / "leg.steelyard.toml")
    return folder


def test_identify_reads_and_writes_loops(case):
    out = case / "out"
    result = sy.identify(case / "leg.urdf", case / "run.csv", out=out, armature=False)
    summary = json.loads((out / "summary.json").read_text())
    assert result.after.joint_names == ("hip", "crank") and result.after.relative_error < 0.02
    assert result.before.relative_error > 3 * result.after.relative_error
    assert [joint["name"] for joint in summary["held_out"]["joints"]] == ["hip", "crank"]
    assert any("knee, rod follow from the others through closed loops" in note for note in summary["notes"])
    assert {"leg_identified.urdf", "leg_identified.steelyard.toml"} <= set(summary["files"])
    written = read_side(out / "leg_identified.steelyard.toml", sy.load(out / "leg_identified.urdf"))
    assert written.loop_names == ("shank_pin",) and written.actuated == ("hip", "crank")
    np.testing.assert_allclose(written.inertias, result.robot.inertias, rtol=1e-6, atol=1e-9)


def test_identify_takes_loops_and_motors_from_mjcf(case):
    model = case / "linkage.xml"
    model.write_text(model_with_loops(library.four_bar_leg()).to_xml())
    result = sy.identify(model, case / "run.csv", armature=False, out=case / "mjcf")
    assert result.after.relative_error < 0.02
    assert not (case / "mjcf" / "linkage_identified.steelyard.toml").exists(), "the MJCF has its loops itself"
    assert sy.load(case / "mjcf" / "linkage_identified.xml").loop_names == ("shank_pin0", "shank_pin1")


def test_logs_that_do_not_fit_say_where(case, log):
    robot = read_side(case / "leg.steelyard.toml", sy.load(case / "leg.urdf"))
    with pytest.raises(LogError, match=r"of joints crank .*is not in the log|crank"):
        sy.read_log(_csv(case, log.replace(joint_names=("hip", "other"))), robot)
    log = sy.filters.differentiate(log, cutoff=10.0)[:150]
    driven = robot.with_actuated(["hip", "knee"])
    far = log.replace(q=log.q * np.array([1, 6.0]), v=log.v, a=log.a, joint_names=("hip", "knee"))
    with pytest.raises(LoopError, match=r"Log '.*', [\d.]+ to [\d.]+ s: .*cannot reach sample"):
        accumulate(driven, far)


def _csv(folder, log):
    path = folder / "other.csv"
    write_csv(log, path)
    return path
