"""Closed loops: what torques of the motors alone reveal, against a regressor that MuJoCo's bodies give."""

from dataclasses import replace
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

import steelyard as sy
from mujoco_loops import hold_still, model_with_loops, motion_and_torque, set_inertias
from steelyard.errors import OptionError
from steelyard.identifiable import excitation
from steelyard.inertia import from_com_inertia
from steelyard.information import accumulate
from steelyard.model import library
from steelyard.model.rotor import Rotor
from steelyard.terms import COULOMB_WIDTH

pytestmark = pytest.mark.claim("loops.four_bar", "a four-bar leg from its two motors")

SAMPLES, SIZE = 40, 0.6
ROBOTS = {"five_bar": library.five_bar, "four_bar_leg": library.four_bar_leg}


def mujoco_torques(robot, m, q, v, a):
    """Torques (n, ni) by MuJoCo's bodies; its null space of the constraint does the elimination."""
    driven = [robot.joint_names.index(name) for name in robot.actuated]
    rows = zip(q, v[:, driven], a[:, driven], strict=True)
    return np.array([motion_and_torque(m, *row, driven)[2] for row in rows])


@pytest.fixture(scope="module", params=ROBOTS)
def measured(request):
    """A robot and its regressor (n ni, 10 nb) at random states, from differences of parameters in MuJoCo."""
    robot = ROBOTS[request.param]()
    m = hold_still(model_with_loops(robot).compile())
    rng = np.random.default_rng(0)
    size = (SAMPLES, len(robot.actuated))
    state = rng.uniform(-SIZE, SIZE, size), 2 * rng.normal(size=size), 4 * rng.normal(size=size)
    state = sy.closed_loop.tree_state(robot, *state)
    plain = from_com_inertia(5.0, np.array([0.02, 0.03, -0.01]), np.diag([0.3, 0.35, 0.4]))
    start = np.tile(plain, (robot.nb, 1))
    set_inertias(m, robot, start)
    still = mujoco_torques(robot, m, *state)
    columns = []
    for k in range(10 * robot.nb):
        changed = start.ravel().copy()
        changed[k] += 0.05  # torques are linear in the parameters, so any size will do
        set_inertias(m, robot, changed.reshape(-1, 10))
        columns.append((mujoco_torques(robot, m, *state) - still).ravel() / 0.05)
    return robot, np.stack(columns, axis=1), state


@pytest.mark.exhaustive(keep=1)
def test_regressor_is_mujocos(measured):
    robot, Y, state = measured
    ours = sy.closed_loop.regressor(robot, *state).reshape(Y.shape)
    np.testing.assert_allclose(ours, Y, atol=1e-6 * np.abs(Y).max())


def test_null_space_is_that_of_the_independent_regressor(measured):
    robot, Y, _ = measured
    idn = sy.identifiability(robot)
    assert idn.method == "numeric, closed loops" and "closed loops" in repr(idn)
    sizes = np.linalg.norm(Y, axis=0)
    sizes[sizes < 1e-8 * sizes.max()] = 1.0
    singular = np.linalg.svd(Y / sizes, compute_uv=False)
    assert singular[idn.count - 1] > 1e-4 * singular[0] and singular[idn.count] < 1e-6 * singular[0]
    N = idn.null_space
    assert np.abs(Y @ N).max() < 1e-6 * np.abs(Y).max() * np.abs(N).max()
    assert idn.count + N.shape[1] == 10 * robot.nb
    by_name = sy.identifiability(robot, sensors=robot.actuated)
    assert by_name.count == idn.count


def test_motors_of_closed_loops_are_bodies_of_mujoco():
    """With `motors=True`: MuJoCo has the rotors as bodies on hinges that equations couple to their joints."""
    gears, places, axis = (-7.0, 11.0), ((0.1, 0.0, 0.2), (0.05, -0.02, 0.03)), np.array([0.0, 0.6, 0.8])
    robot, names = library.five_bar(), ("rotor(joint1)", "rotor(joint4)")
    theta = from_com_inertia(0.4, 0.01 * axis, 1e-3 * (2 * np.eye(3) + np.outer(axis, axis)))
    rotors = tuple(
        Rotor(joint, gear, carrier, axis, np.eye(3), np.array(place), theta)
        for joint, gear, carrier, place in zip(robot.actuated, gears, (None, "link1"), places, strict=True)
    )
    robot = replace(robot, rotors=rotors)
    spec = model_with_loops(robot)
    for rotor in rotors:
        carrier = spec.worldbody if rotor.carrier is None else spec.body(rotor.carrier)
        body = carrier.add_body(name=rotor.name, pos=rotor.position, mass=1.0, inertia=[1, 1, 1], explicitinertial=True)
        body.add_joint(name=rotor.name, axis=axis)
        equality = spec.add_equality(name=rotor.name, type=mujoco.mjtEq.mjEQ_JOINT)
        equality.objtype, equality.name1, equality.name2 = mujoco.mjtObj.mjOBJ_JOINT, rotor.name, rotor.joint
        equality.data[:2] = 0.0, rotor.gear_ratio
    m = hold_still(spec.compile())
    at = [[m.joint(name).dofadr[0] for name in each] for each in (robot.joint_names, names, robot.actuated)]
    rng = np.random.default_rng(2)
    narrow = rng.uniform(-SIZE, SIZE, (SAMPLES, 2)), 2 * rng.normal(size=(SAMPLES, 2)), rng.normal(size=(SAMPLES, 2))
    q = np.zeros((SAMPLES, m.nv))
    q[:, at[0]], q[:, at[1]] = sy.closed_loop.tree_state(robot, *narrow)[0], narrow[0] * gears

    def torques(bodies):
        set_inertias(m, SimpleNamespace(body_names=(*robot.body_names, *names)), bodies)
        return np.array([motion_and_torque(m, *row, at[2])[2] for row in zip(q, *narrow[1:], strict=True)])

    idn = sy.identifiability(robot, motors=True)
    assert idn.method == "numeric, closed loops" and idn.size == 48 and "rotor(joint4).Im" in idn.names
    plain = np.tile(from_com_inertia(5.0, np.zeros(3), np.diag([0.3, 0.35, 0.4])), (6, 1))
    shifts = np.zeros((48, 60))
    shifts[:40, :40] = np.eye(40)
    for k, rotor in enumerate(rotors):
        shifts[40 + 4 * k : 44 + 4 * k, 40 + 10 * k : 50 + 10 * k] = rotor.content.T
    still = torques(plain)
    Y = np.stack([(torques(plain + 0.02 * shift.reshape(6, 10)) - still).ravel() / 0.02 for shift in shifts], axis=1)
    sizes = np.linalg.norm(Y, axis=0)
    sizes[sizes < 1e-8 * sizes.max()] = 1.0
    singular = np.linalg.svd(Y / sizes, compute_uv=False)
    assert singular[idn.count - 1] > 1e-4 * singular[0] and singular[idn.count] < 1e-6 * singular[0]
    assert np.abs(Y @ idn.null_space).max() < 1e-6 * np.abs(Y).max() * np.abs(idn.null_space).max()
    assert idn.count > sy.identifiability(robot).count


def test_motors_reveal_less_than_all_joints_of_the_open_tree(measured):
    robot, _, state = measured
    tree = sy.identifiability(replace(robot, loops=()))
    closed = sy.identifiability(robot)
    assert closed.count < tree.count
    # the motors' torques are combinations of the tree's, so what the tree hides the closed loops hide, too
    assert np.abs(sy.closed_loop.regressor(robot, *state) @ tree.null_space).max() < 1e-9
    one = sy.identifiability(robot, sensors=robot.actuated[:1])
    still = sy.identifiability(robot, motion="static")
    assert still.count < one.count < closed.count


def identified(robot, m, noise=0.0):
    """Log of the motors alone, torques by MuJoCo with friction in the motors, as in a recording."""
    t = np.arange(0, 12, 0.02)
    w, phase = np.array([[1.1, 3.7, 6.1], [1.7, 2.9, 7.3]]), np.arange(6).reshape(2, 3)
    size = np.array([[0.25, 0.12, 0.05], [0.2, 0.12, 0.06]])
    angle = t[:, None, None] * w + phase
    q, v, a = ((f(angle) * size * w**k).sum(-1) * s for f, k, s in ((np.sin, 0, 1), (np.cos, 1, 1), (np.sin, 2, -1)))
    tau = mujoco_torques(robot, m, *sy.closed_loop.tree_state(robot, q, v, a))
    tau = tau + np.array([0.3, 0.2]) * v + np.array([0.15, 0.1]) * np.tanh(v / COULOMB_WIDTH)
    tau = tau + noise * tau.std(axis=0) * np.random.default_rng(5).normal(size=tau.shape)
    return sy.Log(t=t, q=q, v=v, a=a, tau=tau, joint_names=robot.actuated)


def test_a_four_bar_leg_from_the_torques_of_its_two_motors():
    truth = library.four_bar_leg()
    truth = truth.with_joint_properties(damping=0 * truth.damping, frictionloss=0 * truth.frictionloss)
    m = hold_still(model_with_loops(truth).compile())
    log = identified(truth, m)
    given = truth.with_inertias(truth.inertias * np.array([1.4, 0.7, 1.2, 1.5])[:, None])
    info = accumulate(given, log)
    assert info.group_names == ("hip", "crank") and info.layout.dof_names == ("hip", "crank")
    idn = sy.identifiability(given, friction=("viscous", "coulomb", "offset"))
    assert info.basis.count == idn.count and np.array_equal(info.basis.columns, idn.columns)
    assert excitation(info).agrees and excitation(log, given).rank == idn.count
    est = sy.fit.least_squares(info)
    found, true = (sy.identifiability(given).regroup(x.ravel()) for x in (est.theta, truth.inertias))
    np.testing.assert_allclose(found, true, atol=1e-6 * np.abs(true).max())
    np.testing.assert_allclose(est.friction["viscous"], [0.3, 0.2], atol=1e-6)
    np.testing.assert_allclose(est.friction["coulomb"], [0.15, 0.1], atol=1e-6)
    assert sy.validate(est, log).relative_error < 1e-8 and sy.validate(given, log).relative_error > 0.1
    physical = sy.fit.consistent(accumulate(given, identified(truth, m, noise=0.01)))
    assert physical.physical and sy.validate(physical, log).relative_error < 0.005
    assert sy.validate(physical, log).joint_names == ("hip", "crank")


def test_full_logs_narrow_logs_and_other_rows_agree():
    robot = library.four_bar_leg()
    rng = np.random.default_rng(3)
    t = np.arange(300) * 0.01
    w = np.array([2.0, 3.3])
    q, v, a = 0.4 * np.sin(t[:, None] * w), 0.4 * w * np.cos(t[:, None] * w), -0.4 * w**2 * np.sin(t[:, None] * w)
    full = sy.closed_loop.tree_state(robot, q, v, a)
    tau = rng.normal(size=q.shape)
    passive_too = np.zeros((300, 4))
    passive_too[:, [0, 2]] = tau
    narrow = sy.Log(t=t, q=q, v=v, a=a, tau=tau, joint_names=("hip", "crank"))
    turned = sy.Log(t=t, q=q[:, ::-1], v=v[:, ::-1], a=a[:, ::-1], tau=tau[:, ::-1], joint_names=("crank", "hip"))
    wide = sy.Log(t=t, q=full[0], v=full[1], a=full[2], tau=passive_too, joint_names=robot.joint_names)
    encoders = sy.Log(t=t, q=full[0], v=v, a=a, tau=tau, joint_names=("hip", "crank"))
    infos = [accumulate(robot, log) for log in (narrow, turned, wide, encoders)]
    for info in infos[1:]:
        np.testing.assert_allclose(info.gram, infos[0].gram, rtol=1e-7, atol=1e-8 * np.abs(infos[0].gram).max())
        np.testing.assert_allclose(info.moment, infos[0].moment, rtol=1e-6, atol=1e-8 * np.abs(infos[0].moment).max())
    together = accumulate(robot, [narrow[:150], narrow[150:]])
    np.testing.assert_allclose(together.G, infos[0].G, rtol=1e-7, atol=1e-8 * np.abs(infos[0].G).max())
    factors = accumulate(robot, narrow, sums="qr")
    np.testing.assert_allclose(factors.G, infos[0].G, rtol=1e-7, atol=1e-8 * np.abs(infos[0].G).max())


def test_power_and_energy_of_closed_loops_need_no_passive_torques():
    robot = library.four_bar_leg()
    robot = robot.with_joint_properties(damping=0 * robot.damping, frictionloss=0 * robot.frictionloss)
    t = np.arange(2000) * 0.005
    w = np.array([2.0, 3.3])
    q, v, a = 0.4 * np.sin(t[:, None] * w), 0.4 * w * np.cos(t[:, None] * w), -0.4 * w**2 * np.sin(t[:, None] * w)
    tau = sy.closed_loop.inverse_dynamics(robot, q, v, a)
    log = sy.Log(t=t, q=q, v=v, a=a, tau=tau, joint_names=robot.actuated)
    for kind, close in (("power", 1e-7), ("energy", 1e-2)):
        info = accumulate(robot, log, rows=kind, friction=(), columns="all")
        left = info.residual_energy(robot.inertias.ravel())
        assert (left <= close**2 * info.energy).all(), kind


def test_what_closed_loops_do_not_have_is_refused_by_name():
    robot = library.four_bar_leg()
    for options, what in (
        ({"base": "floating"}, "base"),
        ({"locked": ("hip",)}, "locked"),
    ):
        with pytest.raises(OptionError, match=rf"{what}: robot 'four_bar_leg' has closed loops \(shank_pin\)"):
            sy.identifiability(robot, **options)
    with pytest.raises(OptionError, match=r"'joints' for all, or some of hip, crank; got knee"):
        sy.identifiability(robot, sensors=["knee"])
    log = sy.Log(t=np.arange(30.0), q=np.zeros((30, 2)), v=np.zeros((30, 2)), a=np.zeros((30, 2)), tau=np.ones((30, 2)))
    for options, message in (
        ({"rows": "base"}, "joints, momentum, power, energy can be used, and not base"),
        ({"engine": "native"}, "engine 'native' is for trees"),
    ):
        with pytest.raises(OptionError, match=message):
            accumulate(robot, log, **options)
    with pytest.raises(sy.errors.LogError, match=r"needs those of its independent joints, hip, crank, or of all"):
        accumulate(
            robot, log.replace(q=np.zeros((30, 3)), v=np.zeros((30, 3)), a=np.zeros((30, 3)), tau=np.ones((30, 3)))
        )
    moving = log.replace(q=0.1 * np.sin(log.t[:, None] * [1.0, 1.3]))
    with pytest.raises(OptionError, match=r"closed loops \(shank_pin\), which this does not cover"):
        sy.fit.robust(robot, moving)
    with pytest.raises(OptionError, match=r"Products of logs: robot 'four_bar_leg' has closed loops"):
        sy.fit.instrumental(robot, moving, moving)
    with pytest.raises(sy.errors.ModelError, match="this simulation would leave open"):
        sy.simulate.record(robot)
    words = sy.identifiability(robot).explain("shank")
    assert "found numerically" in words and "No other base" in words
