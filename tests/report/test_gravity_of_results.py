"""What a result knows beside its model file comes along: gravity, friction and armature."""

import re

import numpy as np
import pytest
from typer.testing import CliRunner

import steelyard as sy
from steelyard.app import app


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


@pytest.fixture(scope="module")
def tilted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tilted")
    robot = sy.library.puma560()
    sy.save(robot, folder / "arm.urdf")
    gravity = 9.81 * np.array([np.sin(0.4), 0.0, -np.cos(0.4)])
    truth = sy.load(folder / "arm.urdf", gravity=gravity).with_joint_properties(
        armature=np.full(6, 0.4), damping=np.full(6, 2.0)
    )
    for name, seed in (("run", 0), ("next", 1)):
        sy.write_csv(sy.simulate.record(truth, duration=10.0, seed=seed).log, folder / f"{name}.csv")
    return folder, " ".join(f"{x:.6f}" for x in gravity)


def test_gravity_and_armature_of_a_result(tilted):
    folder, gravity = tilted
    done = run("identify", folder / "arm.urdf", folder / "run.csv", "--gravity", *gravity.split(), "-o", folder / "out")
    assert done.exit_code == 0, done.output
    error = sy.validate(folder / "out", folder / "next.csv").relative_error
    assert error < 0.02 < sy.validate(folder / "out" / "arm_identified.urdf", folder / "next.csv").relative_error
    assert run("convert", folder / "out", folder / "arm.py").exit_code == 0
    code = (folder / "arm.py").read_text()
    armature = re.search(r"ARMATURE = .*?\[(.*?)\]", code)[1]
    np.testing.assert_allclose(np.fromstring(armature, sep=","), 0.4, rtol=0.2)
