"""Models of MuJoCo in memory: the same robots as of their files."""

from pathlib import Path

import dm_control.suite
import mujoco
import numpy as np
import pytest

import steelyard as sy
from steelyard.errors import ModelError, SteelyardError

SUITE = Path(dm_control.suite.__file__).parent
MODELS = ("cartpole", "finger", "humanoid", "walker", "ball_in_cup")
ARRAYS = ("inertias", "armature", "damping", "frictionloss", "gravity", "lower", "upper", "parents")


def same(one, other):
    assert one.joint_names == other.joint_names and one.body_names == other.body_names
    assert one.loop_names == other.loop_names and set(one.drives) == set(other.drives)
    for name in ARRAYS:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12, atol=1e-15)
    rng = np.random.default_rng(0)
    q, (v, a) = rng.normal(size=one.nq), rng.normal(size=(2, one.nv))
    for where in one.quaternions:
        q[where] /= np.linalg.norm(q[where])
    found = [sy.inverse_dynamics(robot, q, v, a) for robot in (one, other)]
    np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_objects_are_the_robots_of_their_files(name):
    path = SUITE / f"{name}.xml"
    robot, spec = sy.load(path), mujoco.MjSpec.from_file(str(path))
    before = spec.to_xml()
    same(robot, sy.load(spec))
    assert spec.to_xml() == before
    same(robot, sy.load(mujoco.MjModel.from_xml_path(str(path))))


def test_changes_of_a_spec_count_and_options_do_too():
    spec = mujoco.MjSpec.from_file(str(SUITE / "cartpole.xml"))
    spec.option.gravity = (0, 0, -3)
    assert sy.load(spec).gravity[2] == -3
    assert sy.load(spec, gravity=(0, 0, -1)).gravity[2] == -1
    still = sy.load(spec, lock={"slider": 0.0})
    assert still.joint_names == ("hinge_1",) and sy.load(spec, floating=True).nv == 8


def test_they_are_identified_and_written_anew(tmp_path):
    m = mujoco.MjModel.from_xml_path(str(SUITE / "cartpole.xml"))
    robot = sy.load(m)
    log = sy.simulate.record(robot, duration=4.0).log
    done = sy.identify(m, log, out=tmp_path / "out")
    assert done.robot.joint_names == robot.joint_names
    assert (tmp_path / "out/cart-pole_identified.urdf").is_file() or any((tmp_path / "out").glob("*_identified.urdf"))
    sy.save(robot, tmp_path / "new.xml")
    np.testing.assert_allclose(sy.load(tmp_path / "new.xml").inertias, robot.inertias, rtol=1e-9, atol=1e-15)


def test_what_is_no_model_is_refused():
    m = mujoco.MjModel.from_xml_string("<mujoco><worldbody/></mujoco>")
    with pytest.raises(ModelError, match="MjModel or MjSpec; found an MjData"):
        sy.load(mujoco.MjData(m))
    spec = mujoco.MjSpec()
    spec.worldbody.add_body(name="a").add_joint(name="j")
    with pytest.raises(SteelyardError, match="MuJoCo cannot compile the MjSpec"):
        sy.load(spec)
