"""Limits, margins and balance worked out by hand, open limits and turned feet among them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.spatial.transform import Rotation

import steelyard as sy
from steelyard.errors import OptionError
from steelyard.excite import Limits
from steelyard.excite.design_goal import goal_of
from steelyard.excite.feasibility import _margin
from steelyard.excite.ground_support import support_of
from steelyard.excite.limits import bounds_of, random_states, require_strength
from steelyard.excite.motion_problem import MotionProblem
from steelyard.inertia.divergence import pullback_metric
from steelyard.motion_options import Aim

STANDING = """<robot name="standing">
  <link name="pelvis"><inertial><origin xyz="0.05 -0.02 0.6"/><mass value="4"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <link name="foot"><inertial><origin xyz="0.02 0.01 0"/><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>
    <collision><origin xyz="0.05 0 0" rpy="0 {pitch} 0"/><geometry><box size="0.3 0.2 0.02"/></geometry></collision>
  </link>
  <link name="arm"><inertial><origin xyz="0.2 0 0.1"/><mass value="2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
  <joint name="leg" type="revolute"><origin xyz="0.1 -0.05 0.1"/><parent link="pelvis"/><child link="foot"/>
    <axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="50" velocity="3"/></joint>
  <joint name="shoulder" type="revolute"><origin xyz="0 0 0.7"/><parent link="pelvis"/><child link="arm"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="2" effort="30" velocity="3"/></joint>
</robot>"""
REST = np.array([0.7, 0.0])  # the foot stands turned


@pytest.fixture(scope="module")
def standing(tmp_path_factory):
    path = tmp_path_factory.mktemp("standing") / "standing.urdf"
    path.write_text(STANDING.format(pitch=0.005))  # 1.5 mm from heel to toe: it touches all the same
    robot = sy.load(path)
    return robot, bounds_of(robot, Limits(), locked=("leg",), rest=REST)


def ground(robot, q, v, a):
    """(6, n) wrench on the moving bodies in world axes at the origin."""
    return np.einsum("nij,j->in", sy.base_wrench_regressor(robot, q, v, a), robot.inertias.ravel())


def test_the_zero_moment_point_at_rest_is_below_the_centre_of_mass(standing):
    robot, bounds = standing
    support = support_of(robot, bounds, "foot", margin=0.01)
    q = np.array([[0.7, 0.4]])
    point, down = support.points(ground(robot, q, 0 * q, 0 * q))
    turn = Rotation.from_euler("z", 0.7).as_matrix()
    foot = np.array([0.1, -0.05, 0.1]) + turn @ [0.02, 0.01, 0]
    arm = np.array([0, 0, 0.7]) + Rotation.from_euler("y", 0.4).as_matrix() @ [0.2, 0, 0.1]
    center = (4 * np.array([0.05, -0.02, 0.6]) + foot + 2 * arm) / 7
    np.testing.assert_allclose(point[:, 0], center[:2], atol=1e-9)
    assert (down[0], support.weight) == pytest.approx((7 * 9.81, 7 * 9.81))


def test_about_the_zero_moment_point_the_ground_only_twists(standing):
    """While the arm swings: no moment along the ground, at the height of the sole."""
    robot, bounds = standing
    support = support_of(robot, bounds, ("foot",), margin=0.01)
    assert support.height == pytest.approx(0.1 - 0.01 * np.cos(0.005) - 0.15 * np.sin(0.005), abs=1e-9)
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 5, 2)) * [0, 3.0]
    q[:, 0] = 0.7
    wrench = ground(robot, q, v, a)
    point, _ = support.points(wrench)
    whole = wrench + support.held[:, None]
    assert np.abs(whole[0]).max() > 1 and whole[2].min() > 20  # it pushes along the ground, and does not jump
    for k in range(5):
        at = np.append(point[:, k], support.height)
        moment = whole[3:, k] - np.cross(at, whole[:3, k])
        np.testing.assert_allclose(moment[:2], 0, atol=1e-9)


def test_the_support_is_the_turned_sole_less_its_margin(standing):
    robot, bounds = standing
    support = support_of(robot, bounds, ("foot",), margin=0.01)
    turn = Rotation.from_euler("z", 0.7).as_matrix()[:2, :2]
    center = np.array([0.1, -0.05]) + turn @ [0.05, 0]
    np.testing.assert_allclose(support.centre, center, atol=1e-4)
    for normal, room in zip(support.normals, support.room, strict=True):
        along = np.abs(turn.T @ normal)
        assert room == pytest.approx(along @ [0.15, 0.1] - 0.01, abs=1e-4) and along.max() == pytest.approx(1)
    with pytest.raises(OptionError, match="100 mm from its centre"):
        support_of(robot, bounds, ("foot",), margin=0.11)


def test_the_gradient_of_reach_holds_for_a_robot_that_nearly_flies(standing):
    robot, bounds = standing
    support = support_of(robot, bounds, ("foot",), margin=0.01)
    rng = np.random.default_rng(1)
    wrench = rng.normal(size=(6, 4)) * 5
    wrench[2] = np.array([0.5, 0.01, 0.3, -0.6]) * support.weight - support.held[2]  # two press on the ground, two not
    force, way, step = rng.normal(size=(len(support.room), 4)), rng.normal(size=(6, 4)), 1e-6
    ends = [np.sum(force * support.reach(wrench + s * step * way)) for s in (1, -1)]
    assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(
        np.sum(support.reach_gradient(wrench, force) * way), rel=1e-5
    )


def limited(robot, name, **changes):
    joints = tuple(
        replace(j, **{k: np.array([v]) for k, v in changes.items()}) if j.name == name else j for j in robot.joints
    )
    return replace(robot, joints=joints)


@pytest.mark.parametrize(
    "lower, upper, expected",
    [
        (-np.inf, np.inf, (-np.pi, np.pi)),
        (-0.5, np.inf, (-0.5, 2 * np.pi - 0.5)),
        (-np.inf, 0.5, (0.5 - 2 * np.pi, 0.5)),
        (-0.5, 1.5, (-0.5, 1.5)),
    ],
)
def test_open_limits_leave_a_turn(standing, lower, upper, expected):
    robot = limited(standing[0], "shoulder", lower=lower, upper=upper)
    low, high = np.array(expected)
    found = bounds_of(robot, Limits(margin=0.1))
    assert (found.lower[1], found.upper[1]) == pytest.approx((low + 0.05 * (high - low), high - 0.05 * (high - low)))
    asked = bounds_of(robot, Limits(margin=0.0, position=(-9.0, 0.2)))
    assert (asked.lower[1], asked.upper[1]) == pytest.approx((max(-9.0, lower), 0.2))
    asked = bounds_of(robot, Limits(margin=0.0, position=(-0.2, 9.0)))
    assert (asked.lower[1], asked.upper[1]) == pytest.approx((-0.2, min(9.0, upper)))


def test_rates_are_those_of_the_model_or_less(standing):
    robot = standing[0]
    usual = bounds_of(robot, Limits(margin=0.1, speed=0.5))
    assert usual.velocity[1] == pytest.approx(0.9 * 0.5 * 3)
    assert usual.acceleration[1] == pytest.approx(0.9 * 5 * 3)
    assert usual.effort[1] == pytest.approx(0.9 * 30) and np.isinf(usual.jerk[1])
    asked = bounds_of(robot, Limits(margin=0.1, velocity=7.0, acceleration=4.0, jerk=50.0, effort=8.0))
    assert [getattr(asked, key)[1] for key in ("velocity", "acceleration", "jerk", "effort")] == pytest.approx(
        [0.9 * 3, 0.9 * 4, 0.9 * 50, 0.9 * 8]
    )
    assert bounds_of(robot, Limits(margin=0.0, velocity=2.0)).velocity[1] == 2.0


def test_random_states_stay_within_bounds_and_fill_them(standing):
    robot, bounds = standing
    q, v, a, tau = random_states(robot, bounds)
    assert (q[0] == 0.7).all() and (v[0] == 0).all()
    for x, low, high in ((q, bounds.lower, bounds.upper), (v, -bounds.velocity, bounds.velocity)):
        assert low[1] <= x[1].min() < low[1] + 0.05 * (high - low)[1]
        assert high[1] >= x[1].max() > high[1] - 0.05 * (high - low)[1]
    np.testing.assert_allclose(tau.T, sy.inverse_dynamics(robot, q.T, v.T, a.T), atol=1e-9)


def test_one_pose_that_can_be_held_is_enough(standing):
    """The arm needs 3.9 N m stretched out and 1.9 N m where it nearly hangs."""
    robot, bounds = standing
    q = np.array([[0.7, 0.7], [0.0, 1.6]])
    needed = np.abs(sy.inverse_dynamics(robot, q.T, 0 * q.T, 0 * q.T)[:, 1])
    between = replace(bounds, effort=np.full(2, needed.mean()))
    assert np.ptp(needed) > 1
    require_strength(robot, between, q)
    with pytest.raises(OptionError, match=f"at best {needed.min():.3g} is needed"):
        require_strength(robot, replace(bounds, effort=np.full(2, 0.5 * needed.min())), q)


def test_margins_name_the_limit_that_is_near(standing):
    robot, bounds = standing
    problem = MotionProblem(robot, None, None, bounds)
    half, middle = bounds.half[1], bounds.middle[1]
    low = _margin(problem, "position", 1, -0.9 * half, 1.0)
    assert low.limit == bounds.lower[1] and low.value == pytest.approx(middle - 0.9 * half)
    assert low.used == pytest.approx(0.9) and low.unit == "rad" and low.satisfied
    high = _margin(problem, "position", 1, 1.1 * half, 1.0)
    assert high.limit == bounds.upper[1] and not high.satisfied
    assert _margin(problem, "velocity", 1, -1.0, 0.0).used == pytest.approx(1 / bounds.velocity[1])


@pytest.mark.parametrize("focus, unknown", [(("link2", "link3"), slice(0, 40)), ("payload", slice(30, 40))])
def test_what_is_left_of_each_parameter_by_its_name(focus, unknown):
    """Of the Gaussian of all unknown parameters before and after, by the prior's covariance of each body."""
    robot = sy.library.scara()
    goal = goal_of(robot, random_states(robot, bounds_of(robot, Limits())), Aim(friction=(), focus=focus))
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, goal.basis.count)) * np.geomspace(0.1, 10, goal.basis.count)
    gram, shown = rows.T @ rows, goal.basis.regrouping[:, unknown]
    prior = block_diag(*(pullback_metric(theta) / 2 for theta in robot.inertias))[unknown, unknown]
    after = np.linalg.inv(prior + shown.T @ gram @ shown)
    ratio = np.sqrt(np.diag(after) / np.diag(np.linalg.inv(prior)))
    np.testing.assert_allclose(goal.deviation_ratios(gram), ratio[goal.wanted - unknown.start], rtol=1e-6)
    assert ratio.min() < 0.6 < 0.99 < ratio.max()


def test_noise_grows_with_the_rms_of_what_is_measured():
    robot = sy.library.scara()
    goal = goal_of(robot, random_states(robot, bounds_of(robot, Limits())), Aim(noise=0.2, noise_share=0.1))
    forces = np.random.default_rng(1).normal(size=(len(goal.noise), 500)) * 7
    expected = np.sqrt(0.04 + 0.01 * np.mean(forces**2, axis=1))
    np.testing.assert_allclose(goal.noise_along(forces), expected, rtol=1e-12)
