"""Reports of payload runs: the numbers of the payload, its signals, and the command that repeats it."""

import json
import shlex

import jsonschema
import numpy as np
import pytest
from evidence.bench.tray_experiment import test_object
from typer.testing import CliRunner

from payload_logs import swing
from steelyard import plot
from steelyard.app import app
from steelyard.numbers import plus_minus
from steelyard.report.record import read
from steelyard.report.schema import schema

THING = test_object("tee")


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("payload")
    log = swing(THING.theta, noise=(0.05, 0.002, 0.01, 0.05))
    keys = ("t", "wrench", "rotation", "twist", "acceleration")
    np.savez(folder / "held.npz", **{key: getattr(log, key) for key in keys})
    done = run("payload", folder / "held.npz", "--export", "ur,ros", "--out", folder / "out")
    assert done.exit_code == 0, done.output
    return folder / "out", done.stdout, log


def test_summary_is_valid_and_agrees_with_page_markdown_and_terminal(result):
    out, terminal, _ = result
    found = json.loads((out / "summary.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema("payload")).validate(found)
    payload = found["payload"]
    mass = plus_minus(payload["mass"], payload["mass_deviation"])
    page, text = (out / "report.html").read_text("utf-8"), (out / "report.md").read_text("utf-8")
    assert mass in page and mass.replace(".", "\\.") in text and mass in run("report", out).stdout
    assert mass in terminal  # the words of `steelyard payload`
    for name, words in found["export"].items():
        assert words in text and f"# {name}\n{words}" in terminal
    assert found["verdict"]["level"] == "good" and abs(payload["mass"] - THING.theta[0]) < 5 * payload["mass_deviation"]


def test_signals_are_explained_but_for_the_noise(result):
    out, _, log = result
    record = read(out)
    for i, channel in enumerate(record.summary["channels"]):
        assert channel["rms"] == pytest.approx(np.sqrt(np.mean(log.wrench[:, i] ** 2)))
        assert channel["rms_error"] == pytest.approx(0.05 if i < 3 else 0.002, rel=0.2)
        measured, explained = plot.wrench(record, channel["name"]).data
        np.testing.assert_allclose(measured.y, log.wrench[:, i], rtol=1e-6, atol=1e-6)
        assert np.sqrt(np.mean((measured.y - explained.y) ** 2)) == pytest.approx(channel["rms_error"], rel=1e-3)


def test_the_command_repeats_the_run(result, tmp_path):
    out = result[0]
    found = json.loads((out / "summary.json").read_text("utf-8"))
    words = shlex.split(found["command"])
    assert words[:2] == ["steelyard", "payload"]
    words[words.index("--out") + 1] = str(tmp_path / "again")
    assert run(*words[1:]).exit_code == 0
    again = json.loads((tmp_path / "again" / "summary.json").read_text("utf-8"))
    assert again["payload"] == found["payload"]
    same = run("report", out, tmp_path / "again", "--json")
    compared = json.loads(same.stdout)
    jsonschema.Draft202012Validator(schema("comparison")).validate(compared)
    assert compared["verdict"]["level"] == "good" and compared["ratio"] < 1e-6


def test_every_option_is_in_the_command(tmp_path):
    from pathlib import Path

    from steelyard.payload.payload_report import repeat_payload
    from steelyard.payload_request import Request

    request = Request(
        Path("-held.npz"),
        shape=Path("a b.stl"),
        shape_pose=(0, 0, 0.1, 0, 0, -1.5),
        bias=True,
        gravity=(0, 0, -9.8),
    )
    words = shlex.split(repeat_payload(request, ("ur",), "out"))
    assert words[2] == "./-held.npz" and words[words.index("--shape") + 1] == "a b.stl"
    assert words[words.index("--shape-pose") + 1 :][:6] == ["0.0", "0.0", "0.1", "0.0", "0.0", "-1.5"]
    assert "--bias" in words and "--negate" not in words and words[-2:] == ["--out", "out"]


def test_a_suspicious_log_is_not_recommended(tmp_path):
    log = swing(THING.theta, noise=(0.05, 0.002, 0.01, 0.05))
    motion = {key: getattr(log, key) for key in ("t", "rotation", "twist", "acceleration")}
    np.savez(tmp_path / "held.npz", wrench=-log.wrench, **motion)
    done = run("payload", tmp_path / "held.npz", "--out", tmp_path / "out")
    found = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    assert done.exit_code == 1 and found["verdict"]["level"] == "keep"
    assert found["verdict"]["answers"][0]["answer"] == "Not yet" and found["verdict"]["reasons"]
    assert found["verdict"]["reasons"][0] in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_joint_torques_are_explained_too(tmp_path):
    """An arm that carries a body: its own torque is taken off, the payload explains the rest."""
    import steelyard as sy
    from steelyard.payload.payload_job import identify_files
    from steelyard.payload_request import Request

    arm = sy.library.puma560().with_joint_properties(armature=np.zeros(6))
    t = np.arange(0, 10, 0.01)
    phase, w = np.arange(6), np.linspace(1, 2.5, 6)
    q, v, a = (f(t[:, None] * w + phase) * w**k * s for f, k, s in ((np.sin, 0, 1), (np.cos, 1, 1), (np.sin, 2, -1)))
    loaded = arm.inertias.copy()
    loaded[-1] += THING.theta
    from steelyard.dynamics.effects import friction_torque

    tau = sy.inverse_dynamics(arm.with_inertias(loaded), q, v, a) + friction_torque(arm, v)
    sy.save(arm, tmp_path / "arm.urdf")
    sy.write_npz(sy.Log(t=t, q=q, tau=tau, joint_names=arm.joint_names), tmp_path / "run.npz")
    found = identify_files(Request(tmp_path / "run.npz", torques=True, arm=tmp_path / "arm.urdf"))
    assert found.payload.mass == pytest.approx(THING.theta[0], rel=0.02)
    error, signal = (np.linalg.norm(x) for x in (found.signals.error, found.signals.measured))
    assert error < 0.05 * signal and found.signals.names == arm.dof_names
