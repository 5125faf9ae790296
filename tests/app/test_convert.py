"""`steelyard convert`: the other format is the same robot in MuJoCo's eyes, or nothing is written."""

import json

import mujoco
import numpy as np
import pytest
from typer.testing import CliRunner

import steelyard as sy
from robots import urdf
from steelyard.app import app

LOOP = """<mujoco model="fourbar"><worldbody>
<body name="a"><joint name="ja" axis="0 1 0"/><geom type="capsule" size="1" fromto="0 0 0 0 0 1" mass="1"/>
<body name="b" pos="0 0 1"><joint name="jb" axis="0 1 0"/><geom type="capsule" size="1" fromto="0 0 0 1 0 0" mass="1"/>
</body></body>
<body name="c" pos="1 0 0"><joint name="jc" axis="0 1 0"/><geom type="capsule" size="1" fromto="0 0 0 0 0 1" mass="1"/>
</body></worldbody><equality><connect body1="b" body2="c" anchor="1 0 0"/></equality></mujoco>"""
BALL = '<mujoco><worldbody><body name="a"><joint name="hip" type="ball"/><geom size=".1"/></body></worldbody></mujoco>'


def convert(*words):
    return CliRunner().invoke(app, ["convert", *map(str, words)])


def mujoco_torque(path, q, v, a):
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:], d.qacc[:] = q, v, a
    mujoco.mj_inverse(m, d)
    return d.qfrc_inverse


def test_an_arm_to_mjcf_and_back(tmp_path):
    given, mjcf, back = urdf("ur10_robot"), tmp_path / "new" / "ur10.xml", tmp_path / "back.urdf"
    done = convert(given, mjcf)
    assert (
        done.exit_code == 0
        and "6 bodies, 6 degrees of freedom" in done.output
        and "ur10.steelyard.toml has what ur10.xml has no place for: velocity limit." in done.output
    )
    rng = np.random.default_rng(0)
    q, v, a = rng.uniform(-1, 1, (3, 6))
    expected = sy.inverse_dynamics(sy.load(given), q, v, a)
    np.testing.assert_allclose(mujoco_torque(mjcf, q, v, a), expected, rtol=1e-8, atol=1e-8)
    assert convert(mjcf, back, "--quiet").output == ""
    np.testing.assert_allclose(sy.inverse_dynamics(sy.load(back), q, v, a), expected, rtol=1e-8, atol=1e-8)


def test_a_quadruped_on_a_free_base(tmp_path):
    done = convert(urdf("go2"), tmp_path / "go2.xml", "--floating", "--json")
    found = json.loads(done.output)
    assert found["files"][-2:] == [str(tmp_path / name) for name in ("go2.steelyard.toml", "go2.xml")]
    m = mujoco.MjModel.from_xml_path(str(tmp_path / "go2.xml"))
    assert m.nv == 18 and m.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE


def test_a_loop_goes_to_the_side_file_and_back(tmp_path):
    (tmp_path / "loop.xml").write_text(LOOP)
    done = convert(tmp_path / "loop.xml", tmp_path / "loop.urdf")
    assert done.exit_code == 0 and "loop.urdf has no place for: closed loops" in done.output
    assert "[[loop]]" in (tmp_path / "loop.steelyard.toml").read_text()
    done = convert(tmp_path / "loop.urdf", tmp_path / "back.xml")
    assert done.exit_code == 0 and "1 closed loops" in done.output
    models = [mujoco.MjModel.from_xml_path(str(tmp_path / name)) for name in ("loop.xml", "back.xml")]
    np.testing.assert_allclose(models[1].eq_data[:, :6], models[0].eq_data[:, :6], atol=1e-12)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("ball.xml", "ball.urdf"), "'hip' is a ball joint, which URDF cannot say"),
        (("ball.xml", "ball.xml"), "input files are never changed"),
        (("ball.xml", "ball.stl"), "written as .urdf, MJCF .xml, .sdf or USD"),
        (("ball.xml", "other.xml", "--floating"), "a copy of the file, which keeps its base"),
        (("gone.xml", "other.xml"), "gone.xml"),
    ],
)
def test_what_cannot_be_is_one_message_and_no_file(tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ball.xml").write_text(BALL)
    done = convert(*words)
    assert done.exit_code == 2 and message in done.stderr and done.stderr.count("\n") == 1
    assert [each.name for each in tmp_path.iterdir()] == ["ball.xml"] and (tmp_path / "ball.xml").read_text() == BALL
