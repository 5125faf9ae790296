"""Words that undo a mistake of a log give the log without it; what cannot be read or does not fit is refused."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import steelyard as sy
from small_runs import JOINTS, motion, write_model
from steelyard.corrections import Corrections, corrections_from
from steelyard.errors import OptionError
from steelyard.log import checks
from steelyard.log.masks import saturated
from steelyard.pipeline import Job
from steelyard.prepare.undo import corrected
from steelyard.report.identification_report import repeat_command

pytestmark = pytest.mark.claim("logs.faults")


def log_of(**changes):
    t, q, v, _ = motion(600)
    tau = np.stack([np.sin(2 * t), np.cos(3 * t), np.sin(t) + 0.5], axis=1)
    return sy.Log(**{"t": t, "q": q, "v": v, "tau": tau, "joint_names": JOINTS} | changes)


def same(found, expected, *, atol=1e-12):
    for key in ("t", "q", "v", "tau"):
        np.testing.assert_allclose(getattr(found, key), getattr(expected, key), atol=atol)
    assert found.notes


def undone(log, **words):
    return corrected(None, log, corrections_from(words))


def test_each_word_undoes_its_mistake():
    log = log_of()
    turned = log.replace(q=log.q * [1, 1, -1], v=log.v * [1, 1, -1], tau=log.tau * [1, 1, -1])
    same(undone(turned, scale="slide=-1"), log)
    same(undone(turned, scale=["q:slide=-1", "tau:slide=-1"]), log)
    same(undone(log.replace(v=-log.v), scale="v:all=-1"), log)
    geared = log.replace(q=log.q * [50, 1, 1], v=log.v * [50, 1, 1], tau=log.tau / [50, 1, 1])
    same(undone(log.replace(t=2 * log.t), scale="t:all=0.5"), log)
    same(undone(geared, scale=["q:shoulder=0.02", "tau:shoulder=50"]), log)
    same(undone(log.replace(q=log.q - [0, 0.1, 0], v=log.v), offset="elbow=0.1"), log)
    late = log.replace(tau=np.stack([np.sin(2 * log.t), np.cos(3 * (log.t - 0.02)), log.tau[:, 2]], axis=1))
    same(undone(late, delay="elbow=0.02")[:-3], log[:-3], atol=1e-7)
    mixed = [1, 2, 0]  # the first column holds the elbow, ...
    names = ",".join(np.array(JOINTS)[mixed])
    moved = log.replace(q=log.q[:, mixed], v=log.v[:, mixed])
    same(undone(moved, order=f"q:{names}"), log)
    same(undone(moved.replace(tau=log.tau[:, mixed]), order=names), log)


def test_clipped_torques_are_still_told_once_they_were_shifted():
    """A spline between clipped samples would be anything but the limit."""
    t = np.arange(600) / 100
    tau = np.stack([3 * np.sin(2 * t), np.cos(3 * t), np.sin(t) + 0.5], axis=1)
    late = log_of(tau=np.stack([np.clip(tau[:, 0], -2, 2), np.cos(3 * (t - 0.017)), tau[:, 2]], axis=1))
    assert saturated(late)[:, 0].mean() > 0.4
    found = undone(late, delay=["shoulder=0.013", "elbow=0.017"])
    assert [f.code for f in sy.log.checks.check(found)] == ["saturation"]
    where, expected = saturated(found), np.interp(t + 0.013, t, saturated(late)[:, 0])
    assert (where[:, 0] >= (expected == 1)).all() and not where[expected == 0, 0].any() and not where[:, 1:].any()
    assert np.abs(found.tau[:, 0]).max() == 2.0
    np.testing.assert_allclose(found.tau[:-3, 1], tau[:-3, 1], atol=1e-7)
    np.testing.assert_array_equal(found.tau[:, 2], late.tau[:, 2])


def test_torques_that_do_not_count_move_with_a_delay():
    weights = np.ones((600, 3))
    weights[100:120] = 0.0
    found = undone(log_of(weights=weights), delay="elbow=0.055")
    assert np.flatnonzero(found.weights[:, 1] == 0).tolist() == list(range(94, 115))
    np.testing.assert_array_equal(found.weights[:, [0, 2]], weights[:, [0, 2]])


def test_stamps_that_wander():
    log, rng = log_of(), np.random.default_rng(0)
    found = undone(log.replace(t=log.t + 0.002 * rng.normal(size=len(log.t))), even_stamps=True)
    assert np.abs(found.t - log.t).max() < 4e-4
    (finding,) = [
        f for f in checks.check(log.replace(t=log.t + 0.001 * rng.normal(size=600), v=None)) if f.code == "stamp_jitter"
    ]
    assert finding.options == ("--even-stamps",)
    true = checks.check(log_of(t=log.t, v=None))
    assert "stamp_jitter" not in [f.code for f in true]


SERVO_LOGS = Path(__file__).parents[2] / ".." / "shared" / "data" / "xl330"


@pytest.mark.parametrize("name", ["up_and_down_kp800", "sin_sin_kp100", "lift_and_drop_kp800"])
def test_coarse_positions_and_other_rates_are_no_jitter(name):
    """A servo that creeps or rests by ticks of its encoder, and a logger that goes on at another rate."""
    if not (path := SERVO_LOGS / f"{name}.npz").exists():
        pytest.skip("the logs are not beside the checkout")
    found = checks.check(sy.read_log(path))
    assert "stamp_jitter" not in [f.code for f in found]


def test_irregular_samples_with_true_stamps_are_left_alone():
    rng = np.random.default_rng(1)
    t = np.sort(np.arange(600) / 100 + 0.003 * rng.uniform(-1, 1, size=600))
    q = np.stack([np.sin(2 * t), np.cos(t), 0.1 * np.sin(3 * t)], axis=1)
    log = sy.Log(t=t, q=q, tau=q + 0.01 * rng.normal(size=q.shape), joint_names=JOINTS)
    assert [f.code for f in checks.check(log)] == ["jitter"]


def test_gravity_of_the_given_model(tmp_path):
    path = write_model(tmp_path / "arm.urdf")
    robot, log = sy.load(path), log_of()
    m = pin.buildModelFromUrdf(str(path))
    d = m.createData()
    gravity = np.array([pin.computeGeneralizedGravity(m, d, q).copy() for q in log.q])
    found = corrected(robot, log.replace(tau=log.tau - gravity), Corrections(gravity_compensated=True))
    same(found, log, atol=1e-10)
    with pytest.raises(OptionError, match="takes the model"):
        corrected(None, log, Corrections(gravity_compensated=True))


def wrapped(log, column):
    """Positions of a joint that turns on and on, as an encoder of one turn has them; and as they are."""
    q = log.q.copy()
    q[:, column] += 3 * log.t
    jumping = q.copy()
    jumping[:, column] = (q[:, column] + np.pi) % (2 * np.pi) - np.pi
    return log.replace(q=jumping, v=log.v), q


@pytest.mark.parametrize("limits", ["", 'lower="-1e10" upper="1e10"'])
@pytest.mark.parametrize("floating", [False, True])
def test_turns_of_a_joint_without_limits_say_nothing(tmp_path, limits, floating):
    """They are taken out without a word; those of a joint with limits only if asked to."""
    path = write_model(tmp_path / "arm.urdf")
    kind = "revolute" if limits else "continuous"
    first, rest = path.read_text().split("<axis", 1)
    first = first[::-1].replace("revolute"[::-1], kind[::-1], 1)[::-1]
    rest = rest.replace('lower="-3" upper="3"', limits, 1)
    path.write_text(f"{first}<axis{rest}")
    log, q = wrapped(log_of(v=None), 0)
    if floating:
        base = np.tile([0, 0, 0, 0, 0, 0, 1.0], (len(log), 1))
        more = {"v": np.zeros((len(log), 9)), "tau": np.pad(log.tau, ((0, 0), (6, 0))), "joint_names": ()}
        log, q = log.replace(q=np.hstack([base, log.q]), **more), np.hstack([base, q])
    robot = sy.load(path, floating=floating)
    found = corrected(robot, log, Corrections())
    turns = np.round((found.q - q) / (2 * np.pi))
    np.testing.assert_allclose(found.q - 2 * np.pi * turns[0], q, atol=1e-12)
    assert "q of shoulder: jumps by full turns taken out" in found.notes
    log, _ = wrapped(log_of(v=None), 1)
    if not floating:
        np.testing.assert_array_equal(corrected(robot, log, Corrections()).q, log.q)


def test_turns_of_a_joint_with_limits_are_taken_out_by_a_word():
    log, q = wrapped(log_of(v=None), 1)
    (finding,) = [f for f in checks.check(log) if f.code == "wrapped_angle"]
    assert finding.options == ("--unwrap", "elbow") and finding.severity == "fatal"
    for words in ("elbow", "all"):
        found = undone(log, unwrap=words)
        np.testing.assert_allclose(found.q[:, 1] - found.q[0, 1], q[:, 1] - q[0, 1], atol=1e-12)
        assert "wrapped_angle" not in [f.code for f in checks.check(found)]
    with pytest.raises(OptionError, match="no joint 'wrist'"):
        undone(log, unwrap="wrist")


def test_a_slide_that_jumps_by_six_metres_is_not_unwrapped(tmp_path):
    robot = sy.load(write_model(tmp_path / "arm.urdf"))
    log, _ = wrapped(log_of(v=None), 2)
    np.testing.assert_array_equal(corrected(robot, log, Corrections()).q, log.q)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"scale": "slide"}, "write it as tau:joint3=-1"),
        ({"scale": "slide=0"}, "not zero"),
        ({"scale": "t:all=-1"}, "of stamps above it"),
        ({"scale": "hand=2"}, "no joint 'hand'; joints of the log are shoulder"),
        ({"offset": "slide=much"}, "'much' is not a number"),
        ({"delay": "slide=inf"}, "not a finite number"),
        ({"order": "slide,elbow"}, "each joint of the log once"),
        ({"sign": "slide"}, "no correction 'sign'"),
        ({"saturation": "yes"}, "expected true or false"),
        ({"gravity_model": ["a.urdf"]}, "expected a path"),
    ],
)
def test_words_that_say_nothing(words, message):
    with pytest.raises(OptionError, match=message):
        undone(log_of(), **words)


def test_the_command_repeats_corrections():
    told = corrections_from(
        {"unit": "q=deg", "scale": ["tau:a=-1", "b=2"], "delay": "auto", "gravity_model": "c.xml", "saturation": True}
    )
    job = Job("arm.urdf", ("run.csv",), corrections=told, drive_gains=True, loads=("hand=2:l.csv",))
    words = repeat_command(job)
    expected = "--unit q=deg --scale tau:a=-1 --scale b=2 --delay auto --gravity-model c.xml --saturation"
    assert (
        f"{expected} --drive-gains --load hand=2:l.csv" in words and told.units == {"q": "deg"} and told.automatic_delay
    )
