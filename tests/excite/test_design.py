"""Designed motions: limits held in MuJoCo and by Pinocchio, promises kept by identified parameters."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

import steelyard as sy
from robots import EXAMPLE_ROBOTS
from steelyard.errors import OptionError
from steelyard.excite import Limits, design
from steelyard.excite.measured_rows import base_rows
from steelyard.information import accumulate
from steelyard.simulate import PERFECT, record, rich_motion

pytestmark = pytest.mark.claim(
    "excitation.safe",
    "designs for arms, a quadruped and a humanoid keep every limit in MuJoCo and beat random motions as safe",
    pages=("docs/excitation.md",),
    limits="random motions that may collide predict torques better on three of the four",
)

MARGIN = 0.05
UR10 = EXAMPLE_ROBOTS / "ur_description" / "urdf" / "ur10_robot.urdf"


@pytest.fixture(scope="module")
def robot():
    return sy.library.puma560()


@pytest.fixture(scope="module")
def made(robot):
    return design(robot, 6.0, rate=1000.0, seed=1)


@pytest.fixture(scope="module")
def truth(robot, made):
    return record(robot, made, sensors=PERFECT).truth


def test_mujoco_drives_it_inside_every_limit(robot, made, truth):
    np.testing.assert_allclose(truth.q, made.evaluate(truth.t)[0], atol=2e-3)
    middle, half = (robot.lower + robot.upper) / 2, (robot.upper - robot.lower) / 2
    assert (np.abs(truth.q - middle) < (1 - MARGIN) * half + 2e-3).all()
    assert (np.abs(truth.v) < robot.velocity_limits * (1 - MARGIN) + 5e-3).all()
    assert (np.abs(truth.tau) < robot.effort_limits).all()
    assert all(m.satisfied for m in made.margins)
    assert max(m.used for m in made.margins) > 0.95  # and it uses what there is


def test_margins_are_what_mujoco_measures(robot, made, truth):
    told = {(m.limit_name, m.where): m for m in made.margins}
    for i, name in enumerate(robot.joint_names):
        speed = told["velocity", name]
        assert abs(speed.value) == pytest.approx(np.abs(truth.v[:, i]).max(), rel=1e-2)
        assert speed.limit == pytest.approx((1 - MARGIN) * robot.velocity_limits[i])
        assert abs(told["effort", name].value) == pytest.approx(np.abs(truth.tau[:, i]).max(), rel=2e-2)


@pytest.mark.exhaustive
def test_the_same_seed_gives_the_same_motion():
    robot = sy.library.scara()
    one, same, other = (design(robot, 4.0, harmonics=3, periods=1, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.coefficients, same.coefficients)
    assert np.abs(one.coefficients - other.coefficients).max() > 1e-3


def _mahalanobis(robot, made, logs, draws=24):
    """Mean squared error of base parameters over its prediction, 1 when the prediction is right."""
    rng = np.random.default_rng(5)
    noise = made.noise
    expected = made.goal.basis.regroup(
        np.concatenate([robot.inertias.ravel(), robot.damping, robot.frictionloss, np.zeros(robot.nv)])
    )
    found = []
    for _ in range(draws):
        info = sum(
            accumulate(robot, replace(log, tau=log.tau + noise * rng.normal(size=log.tau.shape))) for log in logs
        )
        error = sy.fit.least_squares(info.weighted(1 / noise**2)).base - expected
        found.append(error @ np.linalg.solve(made.data_covariance, error) / len(error))
    return float(np.mean(found))


@pytest.mark.claim("excitation.predicted", "errors fall as predicted over a sequence of designs, within 20 %")
def test_errors_are_as_predicted_and_fall_as_predicted(robot, made, truth, record_property):
    first = _mahalanobis(robot, made, [truth])
    assert first == pytest.approx(1.0, rel=0.2)
    info = accumulate(robot, truth)
    after = design(robot, 6.0, rate=1000.0, seed=2, after=info, noise=made.noise)
    second = record(robot, after, sensors=PERFECT).truth
    both = _mahalanobis(robot, after, [truth, second])
    assert both == pytest.approx(1.0, rel=0.2)
    for ratio in (first, both):
        record_property("squared error over its prediction", float(ratio))
    assert (np.diag(after.data_covariance) < np.diag(made.data_covariance)).all()
    assert (np.diag(after.covariance) < np.diag(made.covariance)).all()
    twice = np.linalg.slogdet(made.goal.covariance(2 * made.gram))[1]
    assert np.linalg.slogdet(after.covariance)[1] < twice  # better than the first motion again


def test_it_shows_more_than_random_motions_and_sinusoids(robot, made):
    goal = made.goal
    t = np.linspace(0, made.duration, 600)

    def gram(q, v, a):
        rows = base_rows(robot, goal.layout, goal.basis, q.T, v.T, a.T, goal.coulomb_width)
        flat = (rows * np.sqrt(goal.rate * made.duration / len(t)) / goal.noise[:, None]).reshape(goal.basis.count, -1)
        return flat @ flat.T

    others = [gram(*rich_motion(robot, duration=made.duration, seed=seed).evaluate(t)) for seed in range(8)]
    rates = np.arange(1, robot.nv + 1) * 0.7
    reach = np.minimum(0.9 * robot.velocity_limits / rates, 0.9 * (robot.upper - robot.lower) / 2)
    angle = t[:, None] * rates
    middle = (robot.lower + robot.upper) / 2
    others.append(
        gram(middle + reach * np.sin(angle), reach * rates * np.cos(angle), -reach * rates**2 * np.sin(angle))
    )
    mine = goal.cost(made.gram)[0]
    assert mine < min(goal.cost(other)[0] for other in others) - 0.2
    assert goal.condition(made.gram) < min(goal.condition(other) for other in others)


@pytest.mark.exhaustive
def test_a_real_arm_with_meshes_stays_clear_by_pinocchio():
    robot = sy.load(UR10)
    made = design(robot, 8.0, criterion="condition", limits=Limits(floor=-0.3, clearance=0.01))
    assert made.condition < 12
    model = pin.buildModelFromUrdf(str(UR10))
    geometry = pin.buildGeomFromUrdf(
        model, str(UR10), pin.GeometryType.COLLISION, package_dirs=str(EXAMPLE_ROBOTS.parents[1])
    )
    geometry.addAllCollisionPairs()
    for pair in list(geometry.collisionPairs):
        joints = sorted(geometry.geometryObjects[k].parentJoint for k in (pair.first, pair.second))
        if joints[1] - joints[0] < 2:
            geometry.removeCollisionPair(pair)
    data, scene = model.createData(), geometry.createData()
    for q in made.evaluate(np.linspace(0, made.duration, 80))[0]:
        assert not pin.computeCollisions(model, data, geometry, scene, q, True), scene.collisionResults


def test_start_pose_locked_joint_speed_and_spline():
    robot = sy.library.scara()
    start = np.array([0.3, -0.2, -0.05, 0.1])
    made = design(
        robot,
        5.0,
        basis="spline",
        points=8,
        start=start,
        limits=Limits(cartesian_speed=0.8, speed=0.5),
        locked=[robot.joint_names[3]],
        rest=start,
    )
    q, v, a = made.evaluate(np.linspace(0, 5, 400))
    np.testing.assert_allclose(q[0], start, atol=1e-9)
    assert np.abs(v[[0, -1]]).max() < 1e-9 and np.abs(a[[0, -1]]).max() < 1e-8
    assert np.ptp(q[:, 3]) < 1e-9 and np.abs(v[:, 3]).max() < 1e-9
    assert (np.abs(v) <= 0.5 * 0.95 * robot.velocity_limits + 1e-9).all()
    assert max(m.used for m in made.margins if m.limit_name == "cartesian speed") <= 1
    assert "Motion: 5 s, quintic spline" in made.explain()


@pytest.mark.claim("excitation.words", "a missed target is explained in words, with the motion that it needs")
def test_a_missed_target_is_explained():
    made = design(sy.library.scara(), 4.0, harmonics=2, periods=1, limits=Limits(speed=0.2), target=1.01)
    assert "misses the target 1.01. At their bounds: velocity of" in made.notes[-1]


@pytest.mark.claim("excitation.refusals", "impossible experiments are refused with the remedy")
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"limits": Limits(position=(0.5, 0.2))}, "contradict each other: at least 0.5 and at most 0.2"),
        ({"limits": Limits(velocity=0.0)}, "velocity limit of joint '.*' is 0"),
        ({"start": np.full(4, 9.0)}, r"puts joint 'joint1' at 9; limits and margin allow"),
        ({"locked": ["nobody"]}, "no joint 'nobody'"),
        ({"basis": "steps"}, "'fourier' or 'spline'"),
        ({"duration": 1.0}, "Two ramps of 1.0 s do not fit"),
        ({"limits": Limits(effort=1e-3)}, "effort limit of joint 'joint3'.*does not hold"),
    ],
)
def test_what_cannot_be_is_refused_with_a_remedy(options, words):
    with pytest.raises(OptionError, match=words):
        design(sy.library.scara(), **options)


@pytest.mark.claim("excitation.refusals")
def test_a_joint_without_range_is_named():
    robot = sy.library.puma560()
    joint = robot.joints[2]
    stuck = type(joint)(**{**joint.__dict__, "lower": np.array([0.5]), "upper": np.array([0.5])})
    robot = replace(robot, joints=(*robot.joints[:2], stuck, *robot.joints[3:]))
    with pytest.raises(OptionError, match=r"Joint 'joint3' has the range \[0.5, 0.5\].*Lock it"):
        design(robot)


def test_closed_loops_are_refused():
    with pytest.raises(OptionError, match="loop"):
        design(sy.library.five_bar())


@pytest.mark.claim("excitation.refusals")
def test_a_start_in_collision_names_the_bodies():
    robot = sy.load(UR10)
    with pytest.raises(OptionError, match=r"In the start pose .*(arm|wrist).* and .* miss \d+ mm"):
        design(robot, start=[0.0, -1.0, 2.95, 0.0, 0.0, 0.0])


def test_a_warm_start_goes_on_where_the_design_ended_and_tells_its_progress():
    robot = sy.library.scara()
    one = design(robot, 4.0, harmonics=2, periods=1)
    seen = []
    again = design(robot, 4.0, warm=one, progress=lambda stage, share: seen.append((stage, share)))
    assert again.curve == one.curve
    assert again.goal.cost(again.gram)[0] < one.goal.cost(one.gram)[0] + 0.02
    assert seen[-1] == ("designed", 1.0) and [share for _, share in seen] == sorted(share for _, share in seen)
