"""Deliberate mistakes through `steelyard identify`: named on the terminal, in summary.json and in the report."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import steelyard as sy
from recordings_of_arms import arm, recorded, scaled
from steelyard.app import app
from steelyard.model import save

LATE = 0.015


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "arm.urdf"
    save(arm("puma560"), path)
    return path


def identify(folder, model, log, *options):
    sy.write_npz(log, folder / "run.npz")
    done = CliRunner().invoke(
        app, ["identify", str(model), str(folder / "run.npz"), "-o", str(folder / "out"), *options]
    )
    return done.exit_code, re.sub(r"\s+", " ", done.output)


def cases():
    log = recorded("puma560")[:6000]
    accepted = ("--gravity", "0", "0", "9.81", "--accept", "gravity")
    yield "gravity", log, accepted, "Gravity has the wrong sign", None
    late = recorded("puma560", delay=LATE)[:6000]
    yield "delay", late, (), "Torques come 15.", None
    yield (
        "torque_sign",
        scaled(log, tau={2: -1.0}),
        ("--accept", "torque_sign"),
        "The torque of joint3 has the wrong sign",
        "joint3",
    )
    yield "torque_scale", scaled(log, tau={1: 3.0}), (), "The torque of joint2 is ", "joint2"
    yield "payload", recorded("puma560", payload=True)[:6000], (), "link6 came out 2 kg heavier", "joint6"


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("case", range(5), ids=["gravity", "delay", "sign", "scale", "payload"])
def test_mistakes_are_named_everywhere(case, model, tmp_path):
    code, log, options, words, joint = list(cases())[case]
    status, output = identify(tmp_path, model, log, *options)
    assert status == 1 and words in output
    found = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    (fault,) = [each for each in found["findings"] if each["code"] in found["diagnosis"]["faults"]]
    assert (fault["code"], fault["joint"]) == (code, joint) and words in fault["message"]
    assert fault["evidence"] and fault["remedy"] in fault["message"]
    assert words in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_degrees_are_refused_by_name(model, tmp_path):
    log = recorded("puma560")[:6000]
    status, output = identify(tmp_path, model, log.replace(q=np.degrees(log.q)))
    assert status == 2 and "q looks like degrees" in output and not (tmp_path / "out").exists()


def test_nothing_is_named_when_only_the_masses_are_wrong(tmp_path):
    robot = arm("puma560")
    model = tmp_path / "heavy.urdf"
    save(robot.with_inertias(robot.inertias * np.linspace(0.8, 1.3, robot.nb)[:, None]), model)
    status, _ = identify(tmp_path, model, recorded("puma560")[:6000])
    found = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    assert status == 0 and found["findings"] == [] and found["diagnosis"]["faults"] == []
    shares = [sum(joint["contributions"].values()) for joint in found["diagnosis"]["joints"]]
    np.testing.assert_allclose(shares, 1.0)
