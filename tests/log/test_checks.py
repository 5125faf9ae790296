import dataclasses
from dataclasses import replace

import numpy as np
import pytest

from steelyard.corrections import Corrections
from steelyard.drives.drive import Drive
from steelyard.errors import LogError
from steelyard.log import Log, checks, read_log
from steelyard.model import library
from steelyard.prepare import prepare
from steelyard.prepare.undo import corrected

pytestmark = pytest.mark.claim("pipeline.refusals")

LIMITS = {"lower": np.full(3, -2.0), "upper": np.full(3, 2.0)}


def codes(log, robot=None):
    return [finding.code for finding in checks.check(log, robot)]


def message(log, code, robot=None):
    return next(finding.message for finding in checks.check(log, robot) if finding.code == code)


def put(array, index, value):
    array = array.copy()
    array[index] = value
    return array


def test_a_clean_log_has_no_findings(motion, fake_robot):
    for log in (motion(), motion(v=None, a=None)):
        assert checks.check(log) == checks.require_usable(log, fake_robot(**LIMITS)) == ()
    rng = np.random.default_rng(0)
    steps = 2 * np.pi / 65536  # encoder
    log = motion()
    noisy = log.replace(
        q=np.round(log.q / steps) * steps,
        v=log.v + 0.01 * rng.standard_normal(log.v.shape),
        tau=log.tau + 0.1 * rng.standard_normal(log.tau.shape),
    )
    assert codes(noisy, fake_robot(**LIMITS)) == []


@pytest.mark.parametrize("key", ["t", "q", "v", "a", "tau"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_finite(motion, key, value):
    log = motion()
    index = 7 if key == "t" else (7, 1)
    log = log.replace(**{key: put(getattr(log, key), index, value)})
    said = message(log, "not_finite")
    assert f"is {value} at sample 7" in said and said.startswith(key)
    if key != "t":
        assert "elbow" in said and "t = 0.07 s" in said
    with pytest.raises(LogError, match="cannot be used"):
        checks.require_usable(log)
    remedy = said.split("log[")[1].split("].")[0]
    assert "not_finite" not in codes(log[eval(remedy, {"numpy": np, "log": log})])


def test_time_order_and_duplicates(motion):
    log = motion()
    said = message(log.replace(t=put(log.t, 5, 0.035)), "time_order")
    assert "from sample 4 (t = 0.04 s) to sample 5 (t = 0.035 s)" in said
    log = log.replace(t=put(log.t, 5, log.t[4]))
    assert "stands still 1 times, first from sample 4" in message(log, "time_duplicate")
    with pytest.raises(LogError, match="Keep one sample"):
        checks.require_usable(log)


def test_few_samples(motion):
    with pytest.raises(LogError, match="It has 19 samples; at least 20"):
        checks.require_usable(motion()[:19])
    assert codes(motion()[:0]) == ["few_samples"]
    assert [f.code for f in checks.check(motion()[:19], minimum=5)] != ["few_samples"]


def test_torque(motion):
    log = motion()
    assert codes(log.replace(tau=None)) == ["no_torque"]
    assert codes(log.replace(tau=np.zeros_like(log.tau))) == ["zero_torque"]
    one = log.replace(tau=log.tau * [1, 0, 1])
    assert codes(one) == ["zero_torque_joint"] and "elbow" in message(one, "zero_torque_joint")
    low = np.quantile(log.tau[:, 0], 0.03)
    clipped = log.replace(tau=np.maximum(log.tau, [low, -np.inf, -np.inf]))
    assert codes(clipped) == ["saturation"] and "shoulder is exactly" in message(clipped, "saturation")


def test_a_torque_that_stands_still_is_left_out(motion):
    """At one value but for noise, while its joint moves to and fro; that of a joint that turns one way may."""
    log, rng = motion(), np.random.default_rng(0)
    tau = log.tau.copy()
    tau[:, 1] = -2.1 + 0.02 * rng.normal(size=len(log))
    stuck = log.replace(tau=tau)
    assert codes(stuck) == ["hanging_torque"] and "elbow stands still at -2.1" in message(stuck, "hanging_torque")
    assert not np.any(prepare(stuck).log.weights[:, 1]) and np.all(prepare(stuck).log.weights[:, [0, 2]])
    turning = stuck.replace(q=log.q * [1, 0, 1] + np.outer(log.t, [0, 1, 0]), v=None, a=None)
    assert codes(turning) == []


@pytest.mark.parametrize(("size", "left_out"), [(0.6, True), (0.9, True), (3.0, False)])
def test_a_torque_that_is_mostly_rounding_is_left_out(motion, size, left_out):
    """A joint whose torque is `size` steps of 0.01 N m; drives that are switched between three values are others."""
    log = motion()
    small = np.round(size * (1 + 0.2 * np.sin(9 * log.t)) * np.sign(np.cos(3 * log.t))) * 0.01
    fine = log.replace(tau=np.stack([log.tau[:, 0], small, log.tau[:, 2]], axis=1))
    assert ("coarse_torque" in codes(fine)) == left_out
    weights = prepare(fine).log.weights
    assert (weights is not None and not weights[:, 1].any() and bool(weights[:, [0, 2]].all())) == left_out
    switched = log.replace(tau=np.sign(np.round(log.tau / np.std(log.tau, axis=0))))
    assert "coarse_torque" not in codes(switched)
    still = log.replace(tau=np.stack([100 * log.tau[:, 0], np.full(len(log), 0.01), log.tau[:, 2]], axis=1))
    assert "coarse_torque" not in codes(still)


def test_a_free_base_in_flight_has_no_wrench():
    """Zeros of the base are what flight is; those of a joint, or of all joints, are not."""
    rng, n = np.random.default_rng(0), 400
    t = np.arange(n) / 100
    tau = np.concatenate([np.zeros((n, 6)), rng.normal(size=(n, 3))], axis=1)
    robot = library.cheetah3_leg(floating=True)
    v = np.cumsum(rng.normal(size=(n, 9)), axis=0) / 100
    q = np.concatenate([np.cumsum(v[:, :3], axis=0) / 100, np.tile([0, 0, 0, 1.0], (n, 1)), v[:, 6:]], axis=1)
    log = Log(t=t, q=q, v=v, tau=tau)
    assert not any("zero_torque" in code for code in codes(log, robot))
    assert codes(log).count("zero_torque_joint") == 6
    idle = log.replace(tau=tau * ([1] * 8 + [0]))
    assert "column 9 is zero" in message(idle, "zero_torque_joint", robot)
    held = log.replace(tau=np.concatenate([tau[:, 6:], tau[:, 6:], tau[:, :3]], axis=1))
    assert "zero_torque" in codes(held, robot)


def test_still_joint(motion):
    log = motion()
    log = log.replace(q=log.q * [1, 1, 1e-5], v=log.v * [1, 1, 1e-5])
    assert codes(log) == ["still_joint"] and message(log, "still_joint").startswith("wrist never moves")


def test_stamps(motion):
    t = np.arange(0, 10, 0.01)
    rng = np.random.default_rng(1)
    jittered = t + 0.002 * rng.uniform(-1, 1, len(t))
    assert codes(motion(jittered)) == ["jitter"]
    holed = np.delete(t, slice(300, 340))
    assert codes(motion(holed)) == ["gap"]
    assert "the longest 0.41 s after t = 2.99 s" in message(motion(holed), "gap")
    log = motion()
    assert "time_unit" in codes(log.replace(t=log.t * 1000, v=None))


def test_velocity_against_position(motion):
    log = motion()
    assert codes(log.replace(v=log.v * [1, -1, 1])) == ["velocity_sign"]
    assert codes(log.replace(v=np.degrees(log.v))) == ["velocity_degrees"] * 3
    assert codes(log.replace(v=log.v * [1, 1, 3])) == ["velocity_scale"]
    assert codes(log.replace(v=log.v[:, [1, 0, 2]])) == ["velocity_mismatch"] * 2
    assert "wrist is 2.999 times dq/dt" in message(log.replace(v=log.v * [1, 1, 3]), "velocity_scale")


def test_degrees(motion, fake_robot):
    log, robot = motion(), fake_robot(**LIMITS)
    turned = log.replace(q=np.degrees(log.q))
    assert codes(turned) == ["degrees"] * 3  # v in rad/s gives it away
    assert "degrees" in codes(turned.replace(v=None), robot)
    assert "degrees" in codes(turned.replace(v=np.degrees(log.v)), robot)
    with pytest.raises(LogError, match=r'q looks like degrees; say units=\{"q": "deg"\}'):
        checks.require_usable(turned.replace(v=None), robot)
    both = turned.replace(v=np.degrees(log.v))
    (found,) = [each for each in checks.check(both, robot) if each.code == "degrees"]
    assert found.options == ("--unit", "q=deg", "--unit", "v=deg/s")  # obeyed at once, not one after the other
    cured = log.replace(q=np.degrees(log.q), units={"q": "deg"})
    assert codes(cured, robot) == []
    assert codes(turned.replace(v=None)) == ["degrees_suspected"]
    assert codes(turned.replace(v=np.degrees(log.v))) == ["degrees_suspected"]


def test_a_joint_of_many_turns_is_not_degrees(motion, fake_robot):
    log = motion()
    spin = np.array([0.0, 0.0, 15.0])  # rad/s: 150 rad in ten seconds
    log = log.replace(q=log.q + spin * log.t[:, None], v=log.v + spin)
    free = fake_robot(lower=np.array([-2.0, -2.0, -np.inf]), upper=np.array([2.0, 2.0, np.inf]))
    for robot in (None, free, fake_robot()):
        assert codes(log, robot) == codes(log.replace(v=None), robot) == []
    wheels = motion()
    wheels = wheels.replace(q=wheels.q + 10 * wheels.t[:, None], v=wheels.v + 10)
    assert codes(wheels) == []  # all joints spin, and the velocity is one a wheel has


def test_limits(motion, fake_robot):
    log = motion()
    said = message(log.replace(q=log.q + np.array([2, 0, 0])), "limits", fake_robot(**LIMITS))
    assert said.startswith("q of shoulder runs from") and "limits -2 to 2" in said


def test_wrapped_angle(motion):
    log = motion()
    q = log.q + np.array([0, 0, 3.0]) * log.t[:, None]
    wrapped = log.replace(q=(q + np.pi) % (2 * np.pi) - np.pi, v=None)
    assert codes(wrapped) == ["wrapped_angle"] and "wrist jumps by a full turn" in message(wrapped, "wrapped_angle")
    assert codes(wrapped.replace(q=np.unwrap(wrapped.q, axis=0))) == []


def test_repeated_samples(motion):
    """A robot that reports at 70 Hz, polled at 100 Hz by a logger that holds the last sample."""
    source = motion(np.arange(0, 10, 1 / 70))
    t = np.arange(0, 9.9, 0.01)
    held = source[np.unique(np.searchsorted(source.t, t, side="right") - 1)]
    rows = np.searchsorted(source.t, t, side="right") - 1
    log = Log(t=t, q=held.q[rows], v=held.v[rows], tau=held.tau[rows])
    assert codes(log) == ["repeated_sample"]
    at_rest = motion().replace(q=np.vstack([np.repeat(log.q[:1], 500, axis=0), motion().q[500:]]), v=None)
    assert "repeated_sample" not in codes(at_rest)


def test_quaternions_are_left_alone(motion):
    log = motion()
    wide = log.replace(q=np.hstack([log.q, np.ones((len(log), 1))]))
    assert codes(wide) == []
    assert "q of column 4 is nan" in message(wide.replace(q=put(wide.q, (3, 3), np.nan)), "not_finite")


def test_findings_are_frozen_and_fatal_ones_come_first(motion):
    log = motion()
    found = checks.check(log.replace(tau=None, v=-log.v))
    assert [f.severity for f in found] == ["fatal"] + ["warning"] * 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        found[0].code = "x"


@pytest.mark.parametrize("name", ["tx40_100Hz", "ur10_unisa_125Hz", "kuka_kr300_A"])
def test_measured_logs_are_clean(measured, name):
    assert checks.check(read_log(measured(f"{name}.npz"))) == ()


def test_the_panda_log_was_resampled(measured):
    log = read_log(measured("panda_unisa_30Hz.npz"))
    assert codes(log) == ["repeated_sample"]
    assert message(log, "repeated_sample").startswith("14 samples repeat")


def test_slow_logs_are_told_how_long_to_record():
    """As many samples as 20 s at 500 Hz have."""
    t = np.arange(300) / 20
    log = Log(t=t, q=np.sin(t)[:, None], tau=np.cos(t)[:, None] + 0.01 * np.sin(9 * t)[:, None])
    assert codes(log) == ["slow_logging"]
    assert "Record at 500 Hz, or move slowly for 500 s: 300 samples" in message(log, "slow_logging")
    t = np.arange(10_000) / 20
    long = Log(t=t, q=np.sin(t)[:, None], tau=np.cos(t)[:, None] + 0.01 * np.sin(9 * t)[:, None])
    assert message(long, "slow_logging").endswith("Record at 500 Hz, or move slowly.")


def limited(fake_robot, reach=(3.0, 2.0, 1.8), names=("shoulder", "elbow", "wrist")):
    reach = np.array(reach)
    return fake_robot(joint_names=names, lower=-reach, upper=reach)


def found(log, robot, code):
    return [finding for finding in checks.check(log, robot) if finding.code == code]


@pytest.mark.parametrize("speeds", ["deg/s", "rad/s", None])
def test_one_joint_in_degrees_is_answered_for_that_joint(motion, fake_robot, speeds, tmp_path):
    log, robot = motion(), limited(fake_robot)
    in_degrees = np.array([1, 180 / np.pi, 1])
    v = None if speeds is None else log.v * in_degrees if speeds == "deg/s" else log.v
    arrays = {"t": log.t, "q": log.q * in_degrees, "tau": log.tau, "joint_names": np.array(robot.joint_names)}
    arrays |= {} if v is None else {"v": v}
    first = found(read_log(arrays, robot), robot, "degrees")[0]
    words = first.options[1::2]
    assert set(first.options[::2]) == {"--unit"}
    assert set(words) == {"q:elbow=deg"} | ({"v:elbow=deg/s"} if speeds == "deg/s" else set())
    assert all(word in first.message for word in words)
    mended = read_log(arrays, robot, units=dict(word.split("=") for word in words))
    assert np.allclose(mended.q, log.q) and (speeds is None or np.allclose(mended.v, log.v))
    assert not [finding for finding in checks.check(mended, robot) if finding.severity == "fatal"]


def test_all_joints_in_degrees_are_answered_for_all_where_one_hardly_moved(motion, fake_robot):
    log = motion()
    q = np.degrees(log.q * np.array([1, 1, 0.02]))
    first = found(log.replace(q=q, v=None), limited(fake_robot), "degrees")[0]
    assert first.options == ("--unit", "q=deg")


def test_columns_of_other_joints_are_no_degrees(motion, fake_robot):
    """A calf at -1.5 rad in the column of a hip that turns by half a radian."""
    log, robot = motion(), limited(fake_robot, (0.5, 3.0, 2.8))
    q = np.stack([log.q[:, 0] * 0.4 - 1.5, log.q[:, 1], log.q[:, 2] * 0.3], axis=1)
    assert not found(log.replace(q=q, v=None), robot, "degrees")
    assert found(log.replace(q=q, v=None), robot, "limits")


@pytest.mark.parametrize(("lower", "upper"), [(0.0, 0.04), (-0.17, 1.75)])
@pytest.mark.parametrize("scale", [1.0, 180 / np.pi], ids=["rad", "degrees"])
def test_a_gripper_in_per_cent_is_named(motion, fake_robot, lower, upper, scale):
    names = ("shoulder", "elbow", "gripper")
    robot = fake_robot(joint_names=names, lower=np.array([-3, -2, lower]), upper=np.array([3, 2, upper]))
    log = motion(joint_names=names)
    share = (log.q[:, 2] - log.q[:, 2].min()) / np.ptp(log.q[:, 2])
    log = log.replace(q=np.column_stack([scale * log.q[:, :2], 100 * share]), v=None, a=None)
    (named,) = found(log, robot, "percent")
    assert named.severity == "fatal" and "gripper" in named.message
    remedies = Corrections(scale=(named.options[1],), offset=tuple(named.options[3:]))
    mended = corrected(None, log, remedies)
    assert np.allclose(mended.q[:, 2], lower + share * (upper - lower), rtol=1e-4)
    told = log.replace(command=np.roll(log.q, 2, axis=0))
    for words in (remedies, replace(remedies, offset=(f"command:gripper={lower}",))):
        servos = corrected(None, told, words, dict.fromkeys(names, Drive("position")))
        assert np.allclose(servos.command[:, 2], lower + np.roll(share, 2) * (upper - lower), rtol=1e-4, atol=1e-12)
        assert np.allclose(servos.command[:, :2], told.command[:, :2])
    degrees = found(log, robot, "degrees")
    assert len(degrees) == (scale > 1)
    if degrees:
        assert degrees[0].options == ("--unit", "q:shoulder=deg", "--unit", "q:elbow=deg")


def test_a_drive_that_is_told_torques_keeps_them_where_positions_are_scaled(motion):
    log = motion()
    told = log.replace(command=np.roll(log.tau, 2, axis=0))
    assert np.array_equal(corrected(None, told, Corrections(scale=("q:all=0.0175",))).command, told.command)
    flipped = corrected(None, log.replace(command=-log.q), Corrections(scale=("q:all=-1",)))
    assert np.array_equal(flipped.q, flipped.command)


def test_episodes_in_degrees_are_no_turns(motion, fake_robot):
    """Each begins 6.2 degrees from where the last one ended, after a pause that is not the recording's."""
    one = motion()
    q = np.degrees(np.vstack([one.q, one.q[::-1] + np.radians(6.2)]))
    row = np.repeat([0, 1], len(one))
    arrays = {"t": np.tile(one.t, 2), "q": q, "tau": np.vstack([one.tau] * 2), "episode_index": row}
    log = read_log(arrays)
    told = codes(log, limited(fake_robot, (3.0, 3.0, 3.0)))
    assert told.count("degrees") == 1 and not {"gap", "wrapped_angle"} & set(told)
    later = log.replace(t=np.where(row == 1, log.t + 0.5, log.t))
    assert "gap" in codes(later)


def test_one_wrapped_joint_in_degrees(motion):
    log = motion()
    turning = np.degrees(np.linspace(0, 20, len(log)))
    q = np.column_stack([log.q[:, :2], (turning + 180) % 360 - 180])
    (named,) = found(log.replace(q=q, v=None, a=None), None, "wrapped_angle")
    assert named.options == ("--unit", "q:wrist=deg", "--unwrap", "wrist")
    arrays = {"t": log.t, "q": q, "command": np.roll(q, 2, axis=0), "joint_names": np.array(log.joint_names)}
    read = read_log(arrays, units={"q:wrist": "deg"})
    whole = corrected(None, read, Corrections(unwrap=("wrist",)))
    assert np.allclose(whole.q[:, 2], np.radians(turning))
    assert np.abs(whole.command - whole.q)[10:].max() < 0.5
