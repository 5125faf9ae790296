"""Rows beside joint torques: what each says of the truth, what it reveals, and mixtures."""

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import steelyard as sy
from problems import random_log, true_base, with_friction
from robots import random_state, urdf
from steelyard.dynamics.effects import extra_torque, friction_torque
from steelyard.errors import LogError, OptionError
from steelyard.fit.prior import model_parameters
from steelyard.information import accumulate
from steelyard.information.row_kinds import HALF, KNOT, STRIDE, parts
from steelyard.terms import UserColumn

TERMS = ("viscous", "coulomb", "offset")


def smooth_log(robot, *, rate=1000.0, duration=4.0, seed=0, jitter=0.0):
    """A log of a smooth motion with exact derivatives, torques of the robot with its friction and armature."""
    t = np.arange(round(duration * rate)) / rate
    t += jitter / rate * np.random.default_rng(seed).uniform(-1, 1, size=len(t))
    q, v, a = sy.simulate.rich_motion(robot, duration=duration, seed=seed, harmonics=3).evaluate(t)
    tau = sy.inverse_dynamics(robot, q, v, a) + friction_torque(robot, v)
    return sy.Log(t=t, q=q, v=v, a=a, tau=tau)


@pytest.fixture(scope="module")
def arm():
    return with_friction(sy.load(urdf("ur5_robot")), np.random.default_rng(0))


@pytest.fixture(scope="module")
def log(arm):
    return smooth_log(arm)


def misfit(info, robot):
    """Residual of the true parameters, relative."""
    x = info.basis.regroup(model_parameters(robot, info.layout))
    return np.sqrt(info.residual_energy(x).sum() / info.energy.sum())


@pytest.mark.parametrize(
    ("rows", "allowed"), [("joints", 1e-12), ("power", 1e-12), ("momentum", 1e-9), ("energy", 1e-9)]
)
@pytest.mark.parametrize("estimated", [False, True], ids=["known", "estimated"])
def test_true_parameters_satisfy_every_balance(arm, log, rows, allowed, estimated):
    """With friction and armature as columns and as known torques."""
    options = {"friction": TERMS, "armature": True} if estimated else {"friction": ()}
    info = accumulate(arm, log, rows=rows, sums="qr", **options)
    assert misfit(info, arm) < allowed
    assert misfit(info, arm.with_joint_properties(damping=2 * arm.damping)) > 1e-3 or not estimated


def test_momentum_needs_no_acceleration(arm):
    """Exact for even stamps, but for aliasing; for uneven ones second order in the step, as interpolation is."""
    options = {"rows": "momentum", "friction": (), "sums": "qr"}
    assert misfit(accumulate(arm, smooth_log(arm, rate=250.0).replace(a=None), **options), arm) < 1e-10
    errors = []
    for rate in (250.0, 500.0, 1000.0):
        log = smooth_log(arm, rate=rate, jitter=0.3).replace(a=None)
        errors.append(misfit(accumulate(arm, log, **options), arm))
    assert errors[0] > 3 * errors[1] > 9 * errors[2]
    assert errors[2] < 1e-4
    with pytest.raises(LogError, match="has no a"):
        accumulate(arm, log, rows=("momentum", "joints"))
    with pytest.raises(LogError, match="has no a"):
        accumulate(arm, log, rows="momentum", extra=[UserColumn("cube", lambda q, v, a: v**3)])


@pytest.mark.parametrize("rows", ["momentum", "energy"])
def test_couplings_springs_and_user_columns_in_windows(arm, rows):
    names = arm.joint_names
    values = np.array([0.5, 1.5, 0.8, 20.0, 0.7])
    extra = [UserColumn("cube", lambda q, v, a: v**3)]
    options = {"coupling": (names[-2:],), "springs": names[:1], "extra": extra}
    log = smooth_log(arm)
    layout = accumulate(arm, log[:100], friction=(), **options).layout
    log = log.replace(tau=log.tau + extra_torque(arm, layout, values, log.q, log.v, log.a))
    info = accumulate(arm, log, rows=rows, friction=(), sums="qr", **options)
    full = model_parameters(arm, layout)
    full[layout.extra] = values
    x = info.basis.regroup(full)
    assert np.sqrt(info.residual_energy(x).sum() / info.energy.sum()) < 1e-9
    full[layout.extra] = 0.0
    assert np.sqrt(info.residual_energy(info.basis.regroup(full)).sum() / info.energy.sum()) > 1e-2


@pytest.mark.parametrize("armature", [0.0, 3.0], ids=["bare", "armature of the base"])
@pytest.mark.parametrize(("rows", "allowed"), [("joints", 1e-12), ("momentum", 1e-4), ("energy", 1e-4)])
def test_floating_base(rows, allowed, armature):
    """A quadruped whose trunk turns steadily while it is carried around, legs in sines: derivatives are exact."""
    robot = sy.load(urdf("solo12"), floating=True)
    robot = robot.with_joint_properties(armature=np.r_[np.full(6, armature), np.zeros(12)])
    t = np.arange(1500) / 500.0
    rng = np.random.default_rng(2)
    phase, speed = rng.uniform(0, 6, size=12), rng.uniform(2, 5, size=12)
    legs = [np.sin(speed * t[:, None] + phase), speed * np.cos(speed * t[:, None] + phase)]
    legs.append(-(speed**2) * np.sin(speed * t[:, None] + phase))
    spin = np.array([0.6, -0.4, 0.9])
    angle, axis = np.linalg.norm(spin) * t, spin / np.linalg.norm(spin)
    quaternion = np.column_stack([np.sin(angle / 2)[:, None] * axis, np.cos(angle / 2)])
    R = Rotation.from_quat(quaternion)
    place, move, push = (
        f(np.outer(t, [1.0, 1.3, 0.7])) * s
        for f, s in ((np.sin, 1), (np.cos, [1, 1.3, 0.7]), (np.sin, [-1, -1.69, -0.49]))
    )
    v_body = R.inv().apply(move)
    a_body = R.inv().apply(push) - np.cross(spin, v_body)
    still = np.zeros_like(v_body)
    q = np.concatenate([place, quaternion, legs[0]], axis=1)
    v = np.concatenate([v_body, np.broadcast_to(spin, still.shape), legs[1]], axis=1)
    a = np.concatenate([a_body, still, legs[2]], axis=1)
    log = sy.Log(t=t, q=q, v=v, a=a, tau=sy.inverse_dynamics(robot, q, v, a))
    info = accumulate(robot, log, rows=rows, friction=(), sums="qr")
    assert rows == "energy" or "floating_base[0]" in info.group_names[0]
    assert misfit(info, robot) < allowed


def test_windows_of_irregular_stamps_with_a_gap():
    """Means of constants and rates of straight lines are exact; no window reaches across the gap."""
    rng = np.random.default_rng(3)
    t = np.cumsum(rng.uniform(0.5, 1.5, size=3000)) * 1e-3
    t[1700:] += 1.0
    cutoff, total = 8.0, 0
    open_windows = np.zeros((3, 0))
    for part in parts(t, cutoff, chunk=100):
        x = t[part.samples]
        sums = np.stack([np.ones_like(x) @ part.mean, np.ones_like(x) @ part.rate, x @ part.rate])
        sums[:, : open_windows.shape[1]] += open_windows
        open_windows = sums[:, part.done :]
        np.testing.assert_allclose(
            sums[:, : part.done], np.array([[1.0], [0.0], [1.0]]) * np.ones(part.done), atol=1e-9
        )
        total += part.done
    h = KNOT / cutoff
    room = [t[1699] - t[0], t[2999] - t[1700]]
    assert total == sum(int((r - 2 * HALF * h) / (STRIDE * h)) + 1 for r in room)


def test_cutoff_is_minus_three_decibels():
    t = np.arange(4000) / 1000.0
    wave = np.exp(2j * np.pi * 5.0 * t)
    part = next(iter(parts(t, 5.0, chunk=4000)))
    np.testing.assert_allclose(np.abs(wave @ part.mean), np.sqrt(0.5), rtol=2e-4)
    np.testing.assert_allclose(np.abs(wave @ part.rate), np.sqrt(0.5) * 2 * np.pi * 5.0, rtol=4e-4)


WORLD = """<mujoco><compiler angle="radian"/><worldbody><body name="stand"><geom size=".1" mass="1"/>
<site name="under"/><body name="upper" pos="0 0 .4"><joint name="a" axis="0 0 1"/><joint name="b" axis="0 1 0"/>
<geom pos=".2 .1 0" size=".1" mass="2"/><body name="lower" pos=".5 0 0" euler="1 0 0"><site name="wrist"/>
<joint name="c" axis="0 1 0"/><geom pos="0 .1 .3" type="box" size=".1 .2 .05" mass="3"/></body></body></body>
</worldbody><sensor><force site="wrist"/><torque site="wrist"/></sensor></mujoco>"""


def test_wrench_is_a_six_axis_sensor_of_mujoco(tmp_path):
    path = tmp_path / "arm.xml"
    path.write_text(WORLD)
    robot = sy.load(path)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    q, v, a = random_state(robot, np.random.default_rng(4), (50,))
    measured = np.empty((50, 6))
    for k in range(50):
        data.qpos, data.qvel, data.qacc = q[k], v[k], a[k]
        mujoco.mj_inverse(model, data)
        mujoco.mj_rnePostConstraint(model, data)
        mujoco.mj_sensorAcc(model, data)
        measured[k] = data.sensordata
    log = sy.Log(t=np.arange(50) * 0.1, q=q, v=v, a=a, wrenches={"lower": measured})
    info = accumulate(robot, log, rows="wrench:lower", friction=())
    x = info.basis.regroup(robot.inertias.ravel())
    assert np.sqrt(info.residual_energy(x).sum() / info.energy.sum()) < 1e-7
    assert info.basis.count == 10
    assert info.group_names == tuple(f"wrench:lower.{axis}" for axis in ("fx", "fy", "fz", "nx", "ny", "nz"))


def with_wrenches(robot, log, links):
    theta = robot.inertias.ravel()
    own = {link: sy.wrench_regressor(robot, log.q, log.v, log.a, link) @ theta for link in links}
    return log.replace(wrenches=own | {"base": sy.base_wrench_regressor(robot, log.q, log.v, log.a) @ theta})


@pytest.mark.parametrize(
    ("rows", "sensors"),
    [
        ("base", ("base",)),
        (("joints", "base"), ("joints", "base")),
        (("momentum", "base"), ("joints", "base")),
        ("wrench:forearm_link", ("wrench:forearm_link",)),
        (("wrench:ee_link", "power"), ("joints", "wrench:wrist_3_link")),
    ],
)
def test_basis_is_that_of_the_sensors_together(arm, rows, sensors):
    log = random_log(arm, np.random.default_rng(5), samples=600, torque=lambda *s: sy.inverse_dynamics(arm, *s))
    log = with_wrenches(arm, log, ("forearm_link", "ee_link"))
    full, base = (accumulate(arm, log, rows=rows, friction=TERMS, armature=True, columns=c) for c in ("all", "base"))
    idn = sy.identifiability(arm, sensors=sensors, friction=TERMS, armature=True)
    assert base.basis.count == idn.count
    K = base.basis.regrouping
    np.testing.assert_allclose(K.T @ base.G @ K, full.G, rtol=0, atol=1e-9 * np.abs(full.G).max())
    if "momentum" not in rows:  # random states are no motion
        size = np.sqrt(np.diag(base.G))
        assert np.linalg.eigvalsh(base.G / np.outer(size, size))[0] > 1e-13


def test_wrench_under_the_robot_adds_what_joints_do_not_show(arm):
    rigid = arm.with_joint_properties(armature=np.zeros(6), damping=np.zeros(6), frictionloss=np.zeros(6))
    log = with_wrenches(rigid, smooth_log(rigid), ())
    both = accumulate(rigid, log, rows=("joints", "base"), friction=())
    assert both.basis.count > accumulate(rigid, log, friction=()).basis.count
    assert len(both.counts) == 12 and both.group_names[-1] == "base.nz"
    estimate = sy.fit.least_squares(both)
    np.testing.assert_allclose(both.basis.regroup(estimate.parameters), true_base(both, rigid), atol=1e-5)
    np.testing.assert_allclose(both.degree_rms, np.sqrt(np.mean(log.tau**2, axis=0)))
    filtered = sy.filters.differentiate(log.replace(v=None, a=None), 20.0)
    again = accumulate(rigid, filtered, rows=("joints", "base"), friction=())
    assert misfit(again, rigid) < 1e-2
    late = log.replace(wrenches={"base": np.roll(log.wrenches["base"], 40, axis=0)})
    assert misfit(accumulate(rigid, late, rows=("joints", "base"), friction=()), rigid) > 1e-2


def test_wrenches_in_logs(arm, log, tmp_path):
    whole = with_wrenches(arm, log, ("ee_link",))
    assert set(whole.wrenches) == {"ee_link", "base"}
    np.testing.assert_array_equal(whole[10:20].wrenches["base"], whole.wrenches["base"][10:20])
    back = sy.read_log(sy.write_npz(whole, tmp_path / "log.npz"), arm)
    np.testing.assert_array_equal(back.wrenches["ee_link"], whole.wrenches["ee_link"])
    back = sy.read_log(sy.write_csv(whole, tmp_path / "log.csv"), arm)
    np.testing.assert_allclose(back.wrenches["base"], whole.wrenches["base"], rtol=1e-12)
    with pytest.raises(LogError, match=r"wrench of base has shape \(4000, 3\)"):
        log.replace(wrenches={"base": np.zeros((4000, 3))})
    bad = whole.wrenches["base"].copy()
    bad[7, 2] = np.inf
    with pytest.raises(LogError, match=r"wrench of base of column 2 is not finite at t = 0\.007 s"):
        accumulate(arm, whole.replace(wrenches={"base": bad}), rows="base")


def test_refusals(arm, log):
    for rows in ("torques", (), ("joints", "wrench")):
        with pytest.raises(OptionError, match=r"joints, momentum, power, energy, base and wrench:LINK"):
            accumulate(arm, log, rows=rows)
    with pytest.raises(OptionError, match="no moving link 'hand'"):
        accumulate(arm, log, rows="wrench:hand")
    with pytest.raises(LogError, match="no wrench of 'base'"):
        accumulate(arm, log, rows="base")
    with pytest.raises(OptionError, match="go with rows of joints"):
        accumulate(arm, log, rows=("joints", "base"), springs=arm.joint_names[:1])
    with pytest.raises(OptionError, match="Gram matrices of joint torques only"):
        accumulate(arm, log, rows="power", engine="native")
    with pytest.raises(LogError, match="has no tau"):
        accumulate(arm, log.replace(tau=None), rows="power")
    with pytest.raises(LogError, match="higher cutoff or a longer log"):
        accumulate(arm, log[:100], rows="momentum")
    with pytest.raises(LogError, match=r"not above 186\.\d Hz"):
        accumulate(arm, log, rows="momentum", cutoff=200.0)
    one, other = (accumulate(arm, log, rows=rows) for rows in ("joints", "momentum"))
    with pytest.raises(sy.errors.FitError, match="different rows"):
        _ = one + other
