"""A quadruped that is not what its user's model says, in simulations that are not the fit's."""

import mujoco
import numpy as np
import pytest

import steelyard as sy
from steelyard.errors import OptionError
from steelyard.simulate import JointPD, Truth
from steelyard.spatial import rotation_from_quaternion

PER_JOINT = np.tile([0.2, 0.3, 0.5], 4)
HIDDEN = Truth(
    load=1.5,
    place=(0.1, 0.0, 0.1),
    armature=0.01,
    damping=0.2,
    frictionloss=PER_JOINT,
    gains=0.9,
    delay=0.01,
    friction=0.6,
    cone="pyramidal",
    integrator="implicitfast",
    step=5e-4,
)


@pytest.fixture(scope="module")
def walked():
    return sy.simulate.walk(duration=3.0, truth=HIDDEN, noise=sy.simulate.EXACT)


@pytest.mark.parametrize("truth", [HIDDEN, Truth(load=0.5, frictionloss=0.3, integrator="rk4")], ids=["fast", "rk4"])
def test_the_motion_obeys_the_equation_of_the_true_robot(truth):
    walk = sy.simulate.walk(duration=1.0, truth=truth)
    q, v, a, tau = walk.exact.require("q", "v", "a", "tau")
    found = sy.inverse_dynamics(walk.true, q, v, a, external=walk.exact.external)
    np.testing.assert_allclose(found, tau, atol=1e-3)
    assert np.abs(sy.inverse_dynamics(walk.nominal, q, v, a, external=walk.exact.external) - tau).max() > 3


def test_torques_are_those_of_late_goals_and_friction(walked):
    """Of the goals that the log has, two samples later, with the gains of the truth."""
    told, q, v = walked.log.command[:-2, 6:], walked.exact.q[2:, 7:], walked.exact.v[2:, 6:]
    kp, kd, friction = 0.9 * 150, 0.9 * 4, walked.exact.tau[2:, 6:]
    motor = np.clip(kp * (told - q) - kd * v, -45, 45)
    lost = motor - 0.2 * v - friction
    assert np.all(np.abs(lost) < PER_JOINT + 1e-6)  # of MuJoCo, which lets friction grow up to its bound
    fast = np.abs(v) > 1
    against = np.isclose(lost, np.sign(v) * PER_JOINT, atol=0.02)[fast]
    assert against.mean() > 0.95  # MuJoCo's friction is ahead of a joint that turns around
    early = np.clip(kp * (walked.log.command[2:, 6:] - q) - kd * v, -45, 45) - 0.2 * v - friction
    assert np.abs(early).max() > 2


def test_the_log_has_neither_speeds_nor_torques(walked):
    assert walked.log.v is None and walked.log.tau is None
    np.testing.assert_allclose(walked.log.q, walked.exact.q, atol=1e-12)
    assert walked.true.inertias[0, 0] - walked.nominal.inertias[0, 0] == pytest.approx(1.5)
    assert walked.nominal.drives["FL_hip_joint"].kp == 150
    np.testing.assert_allclose(walked.true.frictionloss[6:], PER_JOINT)


def test_the_inertial_sensor_feels_the_base(walked):
    """Its angular velocity turns the base as its pose turns, and its mean acceleration is that of positions."""
    frame = walked.true.frame("imu")
    rate, force = np.split(walked.log.imu["imu"], 2, axis=1)
    np.testing.assert_allclose(rate @ frame.rotation.T, walked.exact.v[:, 3:6], atol=1e-9)
    up = force @ frame.rotation.T
    assert abs(up[:, 2].mean() - 9.81) < 0.3


def test_the_file_is_what_a_user_has(walked, tmp_path):
    path = walked.file(tmp_path / "quadruped.xml")
    model, robot = mujoco.MjModel.from_xml_path(str(path)), sy.load(path)
    assert (model.nu, model.opt.timestep) == (12, 2e-3)
    assert [model.geom(i).name for i in range(model.ngeom)] == ["ground", *sorted(sy.simulate.FEET)]
    assert robot.floating and robot.drives == walked.nominal.drives
    np.testing.assert_allclose(robot.inertias, walked.nominal.inertias, atol=1e-6)  # MuJoCo writes six digits
    for name in ("imu", *sy.simulate.FEET):
        np.testing.assert_allclose(robot.frame(name).position, walked.nominal.frame(name).position)
        np.testing.assert_allclose(robot.frame(name).rotation, walked.nominal.frame(name).rotation, atol=1e-8)


def test_without_hidden_truth_mujoco_moves_the_file_as_the_log_moved(tmp_path):
    """Replayed from the exact state with the goals of the log, in the settings of the truth."""
    walk = sy.simulate.walk(duration=1.0, truth=Truth(integrator="implicitfast"))
    m = mujoco.MjModel.from_xml_path(str(walk.file(tmp_path / "quadruped.xml")))
    m.opt.timestep = 1e-3
    d = mujoco.MjData(m)
    q, v, start, n = walk.exact.q, walk.exact.v, 100, 40
    d.qpos[:] = np.r_[q[start, :3], np.roll(q[start, 3:7], 1), q[start, 7:]]
    R = rotation_from_quaternion(q[start, 3:7])
    d.qvel[:] = np.r_[R @ v[start, :3], v[start, 3:]]
    for k in range(n):
        d.ctrl[:] = walk.log.command[start + k, 6:]
        mujoco.mj_step(m, d, 5)
    np.testing.assert_allclose(d.qpos[7:], q[start + n, 7:], atol=1e-4)
    np.testing.assert_allclose(d.qpos[:3], q[start + n, :3], atol=1e-4)


def test_slip_ledge_and_pace():
    plain, slip, ledge, fast = (
        sy.simulate.walk(duration=3.0, truth=Truth(**what), pace=pace)
        for what, pace in (({}, 1), ({"slip": (1.0, 2.0, 0.1)}, 1), ({"ledge": 0.02}, 2), ({}, 2))
    )
    here = plain.exact.t <= 1.0
    np.testing.assert_array_equal(slip.exact.q[here], plain.exact.q[here])
    push = slip.exact.external["FL_foot"][(slip.exact.t > 1.0) & (slip.exact.t < 2.0)]
    assert len(push) and np.abs(slip.exact.q[-1] - plain.exact.q[-1]).max() > 0.01
    assert ledge.exact.q[-1, 2] - fast.exact.q[-1, 2] > 0.01
    assert fast.exact.q[-1, 0] > 1.5 * plain.exact.q[-1, 0]


def test_softer_servos():
    walk = sy.simulate.walk(duration=1.0, truth=Truth(), controller=JointPD(60.0, 2.0))
    assert walk.nominal.drives["RR_calf_joint"].kp == 60 and walk.nominal.drives["RR_calf_joint"].kd == 2


@pytest.mark.parametrize(
    "wrong", [{"cone": "round"}, {"integrator": "leapfrog"}, {"step": 2e-3}, {"delay": -1.0}, {"delay": np.nan}]
)
def test_odd_truths_are_refused(wrong):
    with pytest.raises(OptionError, match=next(iter(wrong))):
        Truth(**wrong)


def test_a_load_is_stated_once():
    with pytest.raises(OptionError, match="load"):
        sy.simulate.walk(payload=1.0, truth=Truth())


@pytest.mark.parametrize("kept", ["all", "joints of commands", "joints alone"])
def test_the_log_is_read_from_a_file_with_or_without_columns_of_the_base(walked, tmp_path, kept):
    robot, log, joints = sy.load(walked.file(tmp_path / "quadruped.xml")), walked.log, slice(6, None)
    command = log.command if kept == "all" else log.command[:, joints]
    q = log.q[:, 7:] if kept == "joints alone" else log.q
    np.savez(tmp_path / "walk.npz", t=log.t, q=q, command=command, imu_imu=log.imu["imu"])
    found = sy.read_log(tmp_path / "walk.npz", robot)
    np.testing.assert_array_equal(found.command, log.command)
    np.testing.assert_array_equal(found.q[:, 7:], log.q[:, 7:])
    assert np.isnan(found.q[:, :7]).all() == (kept == "joints alone")
