"""What a payload costs an arm, against engines in which the body is welded to a link."""

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import steelyard as sy
from payload_logs import THETA, static, swing
from robots import urdf
from steelyard.errors import InertiaError, OptionError
from steelyard.inertia import parameters
from steelyard.payload import carried_log, identify, joint_torques, predicted_wrench

COM = np.array([0.03, -0.02, 0.08])
ABOUT = np.array([[4e-3, 3e-4, -2e-4], [3e-4, 5e-3, 1e-4], [-2e-4, 1e-4, 3e-3]])
HELD = parameters.from_com_inertia(1.5, COM, ABOUT)
BODY = (
    f'<inertial mass="1.5" pos="{" ".join(map(str, COM))}" '
    f'fullinertia="{" ".join(str(ABOUT[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))}"/>'
)
ARM = """<mujoco><compiler angle="radian"/><worldbody>
<body name="a"><joint name="a" axis="0 0 1"/><inertial mass="2" pos="0.1 0 0" diaginertia="0.02 0.03 0.03"/>
<body name="b" pos="0.3 0 0.1" euler="0.3 0 0"><joint name="b" axis="0 1 0"/>
<inertial mass="1" pos="0.1 0 0" diaginertia="0.01 0.02 0.02"/>
<body name="c" pos="0.2 0 0" euler="0 0.5 0"><joint name="c" axis="1 0 0"/>
<inertial mass="0.5" pos="0 0 0.02" diaginertia="0.001 0.001 0.001"/>
<body name="flange" pos="0.05 0 0.1" euler="0.2 0.4 -0.3"><site name="s"/>{held}</body></body></body></body></worldbody>
<sensor><force site="s"/><torque site="s"/></sensor></mujoco>"""
FRAME = "ee_link"  # fixed to the last body and turned against it


@pytest.fixture(scope="module")
def states():
    robot = sy.load(urdf("ur5_robot"))
    rng = np.random.default_rng(3)
    return robot, *(rng.uniform(-1, 1, (20, robot.nv)) for _ in range(3))


def test_torques_are_those_of_pinocchio(states):
    robot, q, v, a = states
    empty = pin.buildModelFromUrdf(str(urdf("ur5_robot")))
    held = empty.copy()
    frame = held.frames[held.getFrameId(FRAME)]
    held.inertias[frame.parentJoint] += frame.placement.act(pin.Inertia(1.5, COM, ABOUT))
    order = [robot.dof_names.index(name) for name in list(empty.names)[1:]]
    expected = [
        pin.rnea(held, held.createData(), *(x[order] for x in state))
        - pin.rnea(empty, empty.createData(), *(x[order] for x in state))
        for state in zip(q, v, a, strict=True)
    ]
    found = joint_torques(robot, HELD, q, v, a, frame=FRAME)[:, order]
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert np.abs(joint_torques(robot, HELD, q, v, a, frame="wrist_3_link")[:, order] - expected).max() > 1e-3


def test_torques_and_wrench_are_those_of_mujoco(states, tmp_path):
    """The same three axes with and without the body; a force and a torque sensor at the flange feel it alone."""
    _, q, v, a = states
    models = [mujoco.MjModel.from_xml_string(ARM.format(held=held)) for held in ("", f"<body>{BODY}</body>")]
    (tmp_path / "arm.xml").write_text(ARM.format(held=""))
    robot = sy.load(tmp_path / "arm.xml")
    torques, felt = [], []
    for model in models:
        data, rows = mujoco.MjData(model), []
        for state in zip(q[:, :3], v[:, :3], a[:, :3], strict=True):
            data.qpos, data.qvel, data.qacc = state
            mujoco.mj_inverse(model, data)
            rows.append(data.qfrc_inverse.copy())
            felt.append(data.sensordata.copy())
        torques.append(rows)
    expected = np.array(torques[1]) - np.array(torques[0])
    found = joint_torques(robot, HELD, q[:, :3], v[:, :3], a[:, :3], frame="flange")
    np.testing.assert_allclose(found, expected, atol=1e-9)
    log = carried_log(
        robot, t=np.arange(20.0), q=q[:, :3], v=v[:, :3], a=a[:, :3], wrench=np.zeros((20, 6)), frame="flange"
    )
    np.testing.assert_allclose(predicted_wrench(HELD, log), felt[20:], atol=1e-9)


def test_wrench_of_a_payload_is_what_the_log_shows():
    log = swing()
    np.testing.assert_allclose(predicted_wrench(THETA, log), log.wrench, atol=1e-12)
    np.testing.assert_allclose(predicted_wrench(identify(log, "ols"), log), log.wrench, atol=1e-6)
    rest = static()
    pull = -THETA[0] * np.einsum("nji,j->ni", rest.rotation, [0, 0, -9.81])
    np.testing.assert_allclose(predicted_wrench(THETA, rest)[:, :3], pull, atol=1e-12)


def test_refusals(states):
    robot, q, v, a = states
    with pytest.raises(InertiaError, match="ten parameters"):
        predicted_wrench(np.zeros(4), swing())
    with pytest.raises(OptionError, match="one row a sample"):
        joint_torques(robot, HELD, q, v[:, :2], a)
    with pytest.raises(OptionError, match="has no link"):
        joint_torques(robot, HELD, q, v, a, frame="elbow")
