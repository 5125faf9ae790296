"""Rows of momentum of a stream: against the filter of SciPy, torques of Pinocchio and of MuJoCo with closed loops."""

import numpy as np
import pinocchio as pin
import pytest
import scipy.signal

import mujoco_loops
import pinocchio_adapter as adapter
import steelyard as sy
from robots import urdf
from steelyard.errors import LogError, OptionError
from steelyard.information import accumulate, row_kinds
from steelyard.information.accumulation import Columns, specified
from steelyard.information.row_kinds import RowFilter

POLE = 20.0  # rad/s


def motion(t, count):
    """q, v, a (n, count) of sines."""
    k = np.arange(count)
    size, rate = 0.4 / (1 + 0.3 * k), 2.0 + 1.7 * k
    phase = t[:, None] * rate + k
    return size * np.sin(phase), size * rate * np.cos(phase), -size * rate**2 * np.sin(phase)


@pytest.fixture(scope="module", params=["ur5_robot", "five_bar"])
def case(request):
    """A robot, and a function of stamps that gives q, v of all joints and torques by another engine."""
    if request.param == "five_bar":
        still = np.zeros(4)
        robot = sy.library.five_bar().with_joint_properties(damping=still, frictionloss=still)
        m = mujoco_loops.hold_still(mujoco_loops.model_with_loops(robot).compile())

        def recorded(t):
            states = motion(t, 2)
            q, v, _ = sy.closed_loop.tree_state(robot, *states)
            found = [mujoco_loops.motion_and_torque(m, *each, [0, 3])[2] for each in zip(q, *states[1:], strict=True)]
            tau = np.zeros((len(t), 4))
            tau[:, [0, 3]] = found
            return q, v, tau

        return robot, recorded
    robot = sy.load(urdf(request.param))
    still = np.zeros(robot.nv)
    robot = robot.with_joint_properties(armature=still, damping=still, frictionloss=still)
    model = adapter.load(robot.source.path, False)
    data = model.createData()

    def recorded(t):
        q, v, a = motion(t, robot.nv)
        return q, v, np.array([pin.rnea(model, data, *each) for each in zip(q, v, a, strict=True)])

    return robot, recorded


def rows(robot, t, q, v, tau, stream=None):
    """Torques that the model predicts, and targets, (n, groups)."""
    spec = specified(robot, [], Columns(rows="momentum", columns="all", friction=()))
    predicted, targets = {}, {}
    for group, places, y, target in (stream or RowFilter(POLE)).rows(spec, "momentum", t, (q, v, None, tau, None)):
        predicted.setdefault(group, []).append(y.T @ robot.inertias.ravel()[places])
        targets.setdefault(group, []).append(target)
    return tuple(np.stack([np.concatenate(each) for each in found.values()], axis=1) for found in (predicted, targets))


def test_torques_pass_the_filter_and_the_model_predicts_them(case, monkeypatch):
    """To second order in the step; gravity and Coriolis forces of the other sign do not."""
    robot, recorded = case
    errors = []
    for count in (251, 501):
        t = np.linspace(0.0, 1.0, count)
        q, v, tau = recorded(t)
        predicted, target = rows(robot, t, q, v, tau)
        motors = np.abs(tau).max(axis=0) > 0
        _, expected, _ = scipy.signal.lsim(([POLE], [1.0, POLE]), tau[:, motors][:, 0], t)
        np.testing.assert_allclose(target[:, 0], expected, atol=1e-9 * np.abs(tau).max())
        errors.append(np.abs(predicted - target).max() / np.abs(target).max())
    assert errors[1] < 2e-4 and errors[0] / errors[1] == pytest.approx(4.0, rel=0.15)
    true_blocks = row_kinds.momentum_blocks

    def negated(*given):
        momentum, drift = true_blocks(*given)
        return momentum, [-each for each in drift]

    monkeypatch.setattr(row_kinds, "momentum_blocks", negated)
    predicted, target = rows(robot, t, q, v, tau)
    assert np.abs(predicted - target).max() > 0.1 * np.abs(target).max()


def test_a_stream_in_pieces_is_the_whole(case):
    """At uneven stamps; a pause starts the filter anew."""
    robot, recorded = case
    t = np.cumsum(np.random.default_rng(0).uniform(0.001, 0.006, 90))
    t[60:] += 0.5
    q, v, tau = recorded(t)
    whole, stream, parts = rows(robot, t[:60], q[:60], v[:60], tau[:60]), RowFilter(POLE), []
    for at in (slice(0, 1), slice(1, 2), slice(2, 40), slice(40, 60)):
        parts.append(rows(robot, t[at], q[at], v[at], tau[at], stream))
    for found, expected in zip(zip(*parts, strict=True), whole, strict=True):
        np.testing.assert_allclose(np.concatenate(found), expected, atol=1e-10 * np.abs(expected).max())
    later = slice(60, 90)
    again = rows(robot, t[later], q[later], v[later], tau[later], stream)
    for found, expected in zip(again, rows(robot, t[later], q[later], v[later], tau[later]), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)
    with pytest.raises(LogError, match="increase"):
        rows(robot, t[later], q[later], v[later], tau[later], stream)


def test_noise_passes_as_the_share_says():
    rng, robot = np.random.default_rng(1), sy.library.scara()
    t = 0.002 * np.arange(40_000)
    still, stream = np.zeros((len(t), 4)), RowFilter(POLE)
    _, target = rows(robot, t, still, still, rng.normal(size=still.shape), stream)
    assert np.mean(target[2000:] ** 2) == pytest.approx(stream.share, rel=0.05)


def test_windows_of_momentum_of_a_linkage(monkeypatch):
    """Rows of `accumulate`; without the rate of Gamma they are far off."""
    still = np.zeros(4)
    robot = sy.library.five_bar().with_joint_properties(damping=still, frictionloss=still)
    t = np.linspace(0.0, 4.0, 2001)
    states = motion(t, 2)
    tau = sy.closed_loop.inverse_dynamics(robot, *states)
    log = sy.Log(t=t, q=states[0], v=states[1], tau=tau, joint_names=robot.actuated)

    def left():
        info = accumulate(robot, log, rows="momentum", friction=(), columns="all")
        assert info.group_names == ("momentum(joint1)", "momentum(joint4)")
        return np.sqrt(info.residual_energy(robot.inertias.ravel()) / info.energy).max()

    assert left() < 1e-4
    monkeypatch.setattr(row_kinds, "gamma_rate", lambda robot, at: 0 * at.transmission.gamma)
    assert left() > 1e-2
    with pytest.raises(OptionError, match="closed loops"):
        accumulate(robot, log, rows="base", friction=())
