"""Limits of joints that follow others, and limits that mean none; followers are looked at by Pinocchio."""

import warnings

import numpy as np
import pinocchio as pin
import pytest

import steelyard as sy
from steelyard.errors import OptionError
from steelyard.excite import Limits, design
from steelyard.excite.limits import bounds_of
from steelyard.excite.thresholds import THRESHOLDS

LINK = (
    '<link name="{0}"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>'
    '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>'
)
JOINT = (
    '<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><origin xyz="0.3 0 0"/>'
    '<axis xyz="0 1 0"/>{3}</joint>'
)
LIMIT = '<limit lower="{}" upper="{}" velocity="{}" effort="100"/>'
MIMIC = '<mimic joint="{}" multiplier="{}" offset="{}"/>'


def chain(tmp_path, *joints):
    """A chain of links. joints: what stands in each <joint>, called j0, j1, ..."""
    links = "".join(LINK.format(f"l{i}") for i in range(len(joints) + 1))
    made = "".join(JOINT.format(f"j{i}", f"l{i}", f"l{i + 1}", inside) for i, inside in enumerate(joints))
    path = tmp_path / "chain.urdf"
    path.write_text(f'<robot name="chain">{links}{made}</robot>')
    return path


MASTER = LIMIT.format(-1.5, 1.5, 3)
# what stands in the followers of j0, and the range and speed that they leave it, worked out by hand
FOLLOWERS = {
    "straight": ([LIMIT.format(-0.5, 0.4, 9) + MIMIC.format("j0", 1, 0)], (-0.5, 0.4), 3),
    "negative with an offset": ([LIMIT.format(-0.5, 1.2, 9) + MIMIC.format("j0", -2, 0.2)], (-0.5, 0.35), 3),
    "chain": (
        [
            LIMIT.format(-1, 1, 9) + MIMIC.format("j0", 2, 0.1),
            LIMIT.format(-0.3, 0.6, 9) + MIMIC.format("j1", -0.5, 0),
        ],
        (-0.55, 0.25),  # j2 = -j0 - 0.05, j1 = 2 j0 + 0.1
        3,
    ),
    "speed": ([LIMIT.format(-9, 9, 1) + MIMIC.format("j0", -4, 0)], (-1.5, 1.5), 0.25),
    "fast enough": ([LIMIT.format(-9, 9, 4) + MIMIC.format("j0", 0.5, 0)], (-1.5, 1.5), 3),
    "held by its multiplier": ([LIMIT.format(-0.1, 0.1, 1) + MIMIC.format("j0", 0, 0.05)], (-1.5, 1.5), 3),
}


@pytest.mark.parametrize("name", FOLLOWERS)
def test_followers_bound_their_master(tmp_path, name):
    joints, (lower, upper), speed = FOLLOWERS[name]
    robot = sy.load(chain(tmp_path, MASTER, *joints))
    bounds = bounds_of(robot, Limits(margin=0.0))
    np.testing.assert_allclose([bounds.lower[0], bounds.upper[0]], [lower, upper], atol=1e-12)
    assert bounds.velocity[0] == pytest.approx(speed)
    assert bounds.acceleration[0] == pytest.approx(THRESHOLDS.acceleration * speed)
    inside = bounds_of(robot, Limits(margin=0.0, position=(-0.1, 9.0), velocity=2.0))
    np.testing.assert_allclose([inside.lower[0], inside.upper[0]], [-0.1, upper], atol=1e-12)
    assert inside.velocity[0] == pytest.approx(min(2.0, speed))


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ["negative with an offset", "chain", "speed"])
def test_a_designed_motion_keeps_the_limits_of_followers(tmp_path, name):
    path = chain(tmp_path, MASTER, *FOLLOWERS[name][0])
    made = design(sy.load(path), 4.0, harmonics=2, periods=1)
    q, v, _ = made.evaluate(np.linspace(0, 4, 2000))
    model = pin.buildModelFromUrdf(str(path), mimic=False)  # every joint with its own limits
    ratio, offset = np.ones(1), np.zeros(1)
    for inside in FOLLOWERS[name][0]:
        master, multiplier, shift = inside.split('"')[-6:-1:2]
        k = int(master[1:])
        ratio = np.append(ratio, float(multiplier) * ratio[k])
        offset = np.append(offset, float(multiplier) * offset[k] + float(shift))
    positions, speeds = q * ratio + offset, v * ratio
    assert (positions >= model.lowerPositionLimit).all()
    assert (positions <= model.upperPositionLimit).all()
    assert (np.abs(speeds) <= model.velocityLimit).all()
    # the follower comes near to one of its own limits: it is what bounds the motion
    room = np.minimum(positions - model.lowerPositionLimit, model.upperPositionLimit - positions)
    used = np.maximum(1 - 2 * room / np.ptp([model.lowerPositionLimit, model.upperPositionLimit], axis=0), 0)
    assert max(used[:, 1:].max(), (np.abs(speeds) / model.velocityLimit)[:, 1:].max()) > 0.9


def test_a_follower_that_leaves_nothing_is_named(tmp_path):
    joints = LIMIT.format(0.1, 0.8, 2) + MIMIC.format("j0", -1, 0)
    robot = sy.load(chain(tmp_path, LIMIT.format(0, 0.8, 2), joints))
    with pytest.raises(OptionError, match=r"'j1' follows 'j0' as -1 times .* keep 'j0' within \[-0.8, -0.1\]"):
        bounds_of(robot, Limits())


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("most", ["9999", "1e308", "inf"])
def test_limits_beyond_any_joint_are_none(tmp_path, most):
    endless = f'<limit lower="-{most}" upper="{most}" velocity="{most}" effort="{most}"/>'
    robot = sy.load(chain(tmp_path, endless, endless.replace("9999", "1e9")))
    limited = np.isfinite([robot.lower, robot.upper, robot.velocity_limits])
    assert not limited.any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bounds = bounds_of(robot, Limits(margin=0.0))
        made = design(robot, 3.0, harmonics=2, periods=1)
    np.testing.assert_array_equal(bounds.upper, THRESHOLDS.position["revolute"])
    np.testing.assert_array_equal(bounds.velocity, THRESHOLDS.velocity["revolute"])
    np.testing.assert_array_equal(bounds.acceleration, THRESHOLDS.acceleration * THRESHOLDS.velocity["revolute"])
    assert np.abs(made.evaluate(np.linspace(0, 3, 500))[0]).max() <= np.pi


def test_large_limits_of_real_joints_stay(tmp_path):
    """A winch of 100 turns, a spindle of 9,000 rpm, an excavator."""
    robot = sy.load(chain(tmp_path, '<limit lower="0" upper="630" velocity="940" effort="9e5"/>', MASTER))
    assert (robot.lower[0], robot.upper[0], robot.velocity_limits[0], robot.effort_limits[0]) == (0, 630, 940, 9e5)


@pytest.mark.parametrize("name", ["position", "velocity", "acceleration", "effort"])
def test_endless_limits_that_are_asked_for_are_none(tmp_path, name):
    robot = sy.load(chain(tmp_path, '<limit effort="0" velocity="0"/>'))
    given = (-1e300, 1e300) if name == "position" else 1e300
    found, usual = bounds_of(robot, Limits(**{name: given})), bounds_of(robot, Limits())
    for each in ("lower", "upper", "velocity"):
        np.testing.assert_array_equal(getattr(found, each), getattr(usual, each))
    assert np.isinf(found.acceleration).all() == (name == "acceleration")


def test_one_sided_ranges_stay_on_their_side(tmp_path):
    robot = sy.load(chain(tmp_path, LIMIT.format(-1e10, 0.5, 2), LIMIT.format(-0.5, 1e10, 2)))
    bounds = bounds_of(robot, Limits(margin=0.0))
    np.testing.assert_allclose(bounds.upper, [0.5, -0.5 + 2 * np.pi])
    np.testing.assert_allclose(bounds.lower, [0.5 - 2 * np.pi, -0.5])
