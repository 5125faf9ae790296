"""Locked joints: torques against Pinocchio on the whole robot, and the way back into the file."""

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinocchio_adapter
import steelyard as sy
from properties import tried
from random_robots import seeds, urdf_text
from robots import random_state, urdf
from steelyard.errors import ModelError

FINGER = "panda_finger_joint1"


def whole_state(whole, robot, stands, state):
    """State of the whole robot from that of one with locked joints."""
    found = []
    for values, rest, where in zip(state, (whole.neutral, np.zeros(whole.nv), np.zeros(whole.nv)), "qvv", strict=True):
        out = rest.copy()
        slices = dict(
            zip([j.name for j in whole.joints], whole.q_slices if where == "q" else whole.v_slices, strict=True)
        )
        own = robot.q_slices if where == "q" else robot.v_slices
        for joint, at in zip(robot.joints, own, strict=True):
            out[slices[joint.name]] = values[at]
        if where == "q":
            for name, position in stands.items():
                out[slices[name]] = position
        found.append(out)
    return found


@tried(40)
@given(seed=seeds, links=st.integers(3, 12), floating=st.booleans())
def test_torques_are_those_of_the_whole_robot_that_stands_still_there(tmp_path_factory, seed, links, floating):
    rng = np.random.default_rng(seed)
    path = tmp_path_factory.mktemp("tree") / "tree.urdf"
    path.write_text(urdf_text(rng, links=links))
    whole = sy.load(path, floating=floating or None)
    places = dict(zip([joint.name for joint in whole.joints], whole.q_slices, strict=True))
    chosen = [name for name in whole.joint_names if rng.uniform() < 0.5][: len(whole.free_joints) - 1]
    q, _, _ = random_state(whole, rng)
    stands = {name: np.clip(q[places[name]], -3, 3) for name in chosen}
    robot = sy.load(path, floating=floating or None, lock=stands)
    state = random_state(robot, rng)
    model = pinocchio_adapter.load(path, whole.floating and floating)
    theirs = pinocchio_adapter.inverse_dynamics(
        model, model.createData(), whole, *whole_state(whole, robot, stands, state)
    )
    left = [i for i, dof in enumerate(whole.dof_names) if dof in robot.dof_names]
    assert sy.inverse_dynamics(robot, *state) == pytest.approx(theirs[left], abs=1e-10 * (1 + np.abs(theirs).max()))


def test_a_changed_hand_is_written_to_the_link_that_carries_it(tmp_path):
    robot = sy.load(urdf("panda"), lock={FINGER: 0.02})
    theta = robot.inertias.copy()
    theta[-1] *= 1.1
    report = sy.save(robot.with_inertias(theta), tmp_path / "panda.urdf")
    again = sy.load(report.path, lock={FINGER: 0.02})
    assert report.changed == ("link 'panda_link7': inertial",)
    assert again.inertias == pytest.approx(theta, rel=1e-9, abs=1e-12)
    fingers, before = (
        np.array([link.theta for link in sy.load(path).links if "finger" in link.name])
        for path in (report.path, urdf("panda"))
    )
    assert fingers.shape == (2, 10)
    assert np.array_equal(fingers, before)


def test_what_cannot_be_locked_is_said():
    for lock, said in (
        ({"panda_joint9": 0.0}, "no joint 'panda_joint9' to lock"),
        ({"panda_finger_joint2": 0.0}, "follows 'panda_finger_joint1'"),
        ({FINGER: 0.3}, "outside its range 0 .. 0.04"),
        ({FINGER: float("nan")}, "outside its range"),
        (dict.fromkeys(sy.load(urdf("panda")).joint_names, -1.0) | {FINGER: 0.0, "panda_joint6": 1.0}, "no joint left"),
    ):
        with pytest.raises(ModelError, match=said):
            sy.load(urdf("panda"), lock=lock)
    with pytest.raises(ModelError, match="free: 7 numbers say where it stands, not 1"):
        sy.load(urdf("panda"), floating=True, lock={"floating_base": 0.0})


def test_frames_of_closures_and_rotors_move_with_their_bodies(tmp_path):
    """The closure of a loop keeps holding: both frames agree where they agreed before."""
    path = tmp_path / "loop.xml"
    path.write_text(
        '<mujoco><worldbody><body name="a" pos="0 0 .1"><joint name="ja" axis="0 1 0"/><geom size=".1"/>'
        '<body name="b" pos=".3 0 0"><joint name="jb" axis="0 1 0"/><geom size=".1"/>'
        '<body name="c" pos=".3 0 0" euler="0 30 0"><joint name="jc" axis="1 0 0"/><geom size=".1"/>'
        "</body></body></body>"
        '<body name="d" pos="1 0 0"><joint name="jd" axis="0 1 0"/><geom size=".1"/></body></worldbody>'
        '<equality><connect name="closing" body1="c" body2="d" anchor=".1 0 .2"/></equality></mujoco>'
    )
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    data.qpos[:] = 0.3, 0.4, -0.2, 0.7
    mujoco.mj_kinematics(model, data)
    whole = sy.load(path, lock={"jb": 0.4}).loops[0]
    held = sy.load(path, lock={"jb": 0.4, "jc": -0.2}).loops[0]
    assert (whole.bodies, held.bodies) == (("c", "d"), ("a", "d"))

    def in_world(body, position):
        return data.body(body).xpos + data.body(body).xmat.reshape(3, 3) @ position

    assert in_world("a", held.positions[0]) == pytest.approx(in_world("c", whole.positions[0]), abs=1e-12)
    assert np.abs(held.positions[0] - whole.positions[0]).max() > 0.1
