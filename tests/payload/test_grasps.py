"""Grasps of a payload ranked along a motion of a UR5: torques by Pinocchio, in whose model the payload is welded to the
hand; bounds and probabilities by samples of our own."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

import steelyard as sy
from robots import urdf
from steelyard.errors import InertiaError, OptionError
from steelyard.payload import Payload, Status, rank_grasps
from steelyard.spatial import rotation_from_vector

FRAME, DAMPING = "tool0", np.array([2.0, 2.0, 1.0, 0.5, 0.5, 0.5])
THETA = sy.inertia.from_com_inertia(2.5, np.array([0.15, -0.03, 0.08]), np.diag([4e-3, 3e-2, 2.8e-2]))
GRASPS = {
    "end": (np.eye(3), np.zeros(3)),
    "middle": (rotation_from_vector(np.array([0.4, 0.9, -0.3])), np.array([0.14, 0.0, 0.05])),
    "beyond": (rotation_from_vector(np.array([0.0, 0.0, 1.6])), np.array([0.3, 0.02, 0.0])),
    "turned": (rotation_from_vector(np.array([0.0, 0.05, 0.0])), np.zeros(3)),
}


@pytest.fixture(scope="module")
def arm():
    robot = sy.load(urdf("ur5_robot"))
    return robot.with_joint_properties(damping=DAMPING, frictionloss=np.zeros(6))


@pytest.fixture(scope="module")
def motion():
    t = np.cumsum(np.random.default_rng(1).uniform(0.01, 0.03, size=80))  # uneven steps
    rate, phase = np.array([2.0, 1.4, 1.9, 3.0, 2.2, 2.6]), np.arange(6)
    angle = t[:, None] * rate + phase
    return {
        "t": t,
        "q": 0.7 * np.sin(angle) - np.array([0, 1.2, -1, 0, 0, 0]),
        "v": 0.7 * rate * np.cos(angle),
        "a": -0.7 * rate**2 * np.sin(angle),
    }


def welded(motion, pose, theta, k=None):
    """Torques (n, 6) of Pinocchio's UR5 with a payload held in a grasp."""
    model = pin.buildModelFromUrdf(str(urdf("ur5_robot")))
    hand = model.frames[model.getFrameId(FRAME)]
    held = hand.placement * pin.SE3(*pose).inverse()
    model.appendBodyToJoint(hand.parentJoint, pin.Inertia.FromDynamicParameters(theta), held)
    data = model.createData()
    states = zip(*(motion[x] if motion[x].ndim == 2 else motion[x][k] for x in "qva"), strict=True)
    return np.array([pin.rnea(model, data, *state) + DAMPING * state[1] for state in states])


def costs(arm, motion, tau):
    """Effort and peak of torques (n, 6)."""
    shares = tau / arm.effort_limits
    return np.trapezoid(np.sum(shares**2, axis=1), motion["t"]), np.abs(shares).max()


@pytest.mark.parametrize("measure", ["effort", "peak"])
def test_torques_are_those_of_the_welded_payload(arm, motion, measure):
    found = rank_grasps(arm, THETA, GRASPS, **motion, frame=FRAME, measure=measure)
    expected = {name: costs(arm, motion, welded(motion, pose, THETA)) for name, pose in GRASPS.items()}
    for i, name in enumerate(found.names):
        assert (found.effort[i], found.peak[i]) == pytest.approx(expected[name], rel=1e-9)
        shares = np.abs(welded(motion, GRASPS[name], THETA)) / arm.effort_limits
        sample, joint = np.unravel_index(np.argmax(shares), shares.shape)
        assert (found.joint[i], found.time[i]) == (arm.joint_names[joint], motion["t"][sample])
    values = [expected[name][measure == "peak"] for name in found.names]
    assert values == sorted(values) and found.best == found.names[0] and found.alike == ()
    np.testing.assert_array_equal(getattr(found, f"{measure}_upper"), getattr(found, measure))
    wrong = {name: (R.T, -R.T @ p) for name, (R, p) in GRASPS.items()}
    other = rank_grasps(arm, THETA, wrong, **motion, frame=FRAME, measure=measure)
    assert other.effort[other.names.index("beyond")] != pytest.approx(expected["beyond"][0], rel=0.05)


def test_a_motion_for_each_grasp(arm, motion):
    own = {x: np.stack([motion[x] * scale for scale in (1.0, 0.5, 0.2, 0.1)]) for x in "qva"} | {"t": motion["t"]}
    found = rank_grasps(arm, THETA, list(GRASPS.values()), **own, frame=FRAME)
    for k, pose in enumerate(GRASPS.values()):
        expected = costs(arm, motion, welded(own, pose, THETA, k))
        i = found.names.index(f"grasp {k}")
        assert (found.effort[i], found.peak[i]) == pytest.approx(expected, rel=1e-9)


def uncertain(scale):
    """A payload whose deviations are `scale` times a kilogram, a decimetre and their products."""
    rng = np.random.default_rng(2)
    root = scale * np.r_[1, [0.1] * 3, [0.01] * 6][:, None] * rng.normal(size=(10, 10)) / np.sqrt(10)
    return Payload(THETA, root @ root.T, "geo", Status.OK, np.ones(2), 100)


def test_bounds_and_probabilities(arm, motion):
    """Against torques that are linear in theta (Pinocchio at ten unit payloads), for samples of our own."""
    payload = uncertain(0.05)
    found = rank_grasps(arm, payload, GRASPS, **motion, frame=FRAME, draws=4000)
    theta = np.random.default_rng(3).multivariate_normal(THETA, payload.covariance, 4000)
    effort, peak = {}, {}
    for name, pose in GRASPS.items():
        full = welded(motion, pose, THETA)
        per_unit = np.stack([welded(motion, pose, THETA + step) - full for step in np.eye(10)], axis=-1)
        empty = full - per_unit @ THETA
        np.testing.assert_allclose(empty + per_unit @ (0.4 * THETA), welded(motion, pose, 0.4 * THETA), atol=1e-9)
        shares = (empty[..., None] + per_unit @ theta.T) / arm.effort_limits[:, None]
        effort[name], peak[name] = (
            np.trapezoid((shares**2).sum(axis=1), motion["t"], axis=0),
            np.abs(shares).max((0, 1)),
        )
    for i, name in enumerate(found.names):
        spread = effort[name].std(), peak[name].std()
        assert found.effort_upper[i] == pytest.approx(np.quantile(effort[name], 0.95), abs=0.15 * spread[0])
        assert found.peak_upper[i] == pytest.approx(np.quantile(peak[name], 0.95), abs=0.15 * spread[1])
        less = [np.mean(effort[name] < effort[other]) for other in found.names]
        np.testing.assert_allclose(found.surely[i], less, atol=0.04)
    assert list(found.effort_upper) == sorted(found.effort_upper)
    assert (found.effort_upper > found.effort).all()


def test_grasps_that_the_payload_leaves_alike(arm, motion):
    """Two grasps on either side of the best place along a bar: the covariance decides whether they differ."""
    turn, along = GRASPS["middle"][0], np.array([0.0, 0.1, 0.2])
    places = {x: (turn, np.array([x, 0.0, 0.05])) for x in along}
    tried = rank_grasps(arm, THETA, places, **motion, frame=FRAME)
    bend, slope, _ = np.polyfit([float(name) for name in tried.names], tried.effort, 2)
    best = -slope / (2 * bend)
    pair = {side: (turn, np.array([best + x, 0.0, 0.05])) for side, x in (("left", -0.02), ("right", 0.0205))}
    sure, unsure = (rank_grasps(arm, uncertain(x), pair, **motion, frame=FRAME) for x in (1e-4, 0.3))
    assert sure.alike == () and "told apart" not in sure.summary() and sure.surely[0, 1] > 0.95
    assert unsure.alike == unsure.names[1:] and 0.05 < unsure.surely[0, 1] < 0.95
    assert f"{unsure.best} cannot be told apart from {unsure.names[1]} (5 %)" in unsure.summary()
    assert sure.names == rank_grasps(arm, THETA, pair, **motion, frame=FRAME).names and sure.best in repr(sure)


def test_grasps_beyond_the_limits_come_last(arm, motion):
    free = rank_grasps(arm, THETA, GRASPS, **motion, frame=FRAME)
    limits = arm.effort_limits * (free.peak[0] + free.peak[1]) / 2
    found = rank_grasps(arm, THETA, GRASPS, **motion, frame=FRAME, limits=limits)
    assert found.within_limits.tolist() == sorted(found.within_limits, reverse=True)
    assert 0 < found.within_limits.sum() < len(GRASPS)
    none = rank_grasps(arm, THETA, GRASPS, **motion, frame=FRAME, limits=0.1 * arm.effort_limits)
    assert none.best is None and none.alike == () and "No grasp keeps the limits" in none.summary()


def test_nothing_held_costs_the_same_everywhere(arm, motion):
    found = rank_grasps(arm, np.zeros(10), GRASPS, **motion, frame=FRAME)
    np.testing.assert_allclose(found.effort, found.effort[0], rtol=1e-12)
    assert set(found.alike) == set(found.names[1:])


def test_refusals(arm, motion):
    def refused(match, error=OptionError, robot=arm, payload=THETA, grasps=GRASPS, **changed):
        with pytest.raises(error, match=match):
            rank_grasps(robot, payload, grasps, **({"frame": FRAME} | motion | changed))

    refused("has no grasp", grasps={})
    refused("has no grasp", grasps=None)
    refused("'up' is", grasps={"up": np.eye(4)})
    refused("'up' is", grasps={"up": (np.diag([1.0, 1, -1]), np.zeros(3))})
    refused("'grasp 0' is", grasps=[(np.eye(3), np.array([0, 0, np.nan]))])
    refused("measure is one of", measure="torque")
    refused("increasing times", t=motion["t"][::-1])
    refused("v of", v=motion["v"][:-1])
    refused("a of", a=np.full_like(motion["a"], np.nan))
    refused("limits has shape", limits=np.ones(5))
    refused("no torque limit for elbow_joint", limits=np.where(np.arange(6) == 2, np.inf, 10.0))
    refused("no link 'hand'", frame="hand")
    refused("closed loops", robot=sy.library.five_bar(), frame=None)
    refused("floating base", robot=sy.load(urdf("ur5_robot"), floating=True))
    refused("no body has the parameters", InertiaError, payload=THETA * np.r_[-1, np.ones(9)])
    refused("no body has the parameters", InertiaError, payload=np.full(10, np.nan))
    refused("do not use these numbers", InertiaError, payload=replace(uncertain(0.1), status=Status.NOT_EXPLAINED))
    refused("draws is", draws=0, payload=uncertain(0.1))
    refused("increasing times", t=motion["t"][:1])
    found = rank_grasps(arm, THETA, {"end": GRASPS["end"]}, **motion, frame=FRAME)
    assert found.names == ("end",) and found.alike == () and found.summary().count("\n") == 1
