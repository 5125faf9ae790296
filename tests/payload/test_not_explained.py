"""Logs that no rigid payload explains are no result: the mistake is named where undoing it explains them, and nothing
is exported. The wrenches are MuJoCo's or written out here, not the library's regressor."""

import numpy as np
import pytest
from evidence.bench.tray_experiment import SPEEDS, recorded, test_object
from scipy.spatial.transform import Rotation

from payload_logs import MODERATE, THETA, static, swing
from steelyard.errors import InertiaError, LogError
from steelyard.inertia import parameters
from steelyard.payload import Status, calibrate, diagnose, export, identify
from steelyard.payload.gravity_strength import Strength, strength_of
from steelyard.payload.wrench_problem import make_problem
from steelyard.payload.wrench_sums import wrench_regressor

NOISE = (0.05, 0.002, 0.01, 0.05)
THING = test_object("hammer")


def turned(log, R):
    """The wrench of a sensor whose axes are turned by R (3, 3)."""
    return log.replace(wrench=np.concatenate([log.wrench[:, :3] @ R, log.wrench[:, 3:] @ R], axis=1))


def about(axis, degrees):
    return Rotation.from_rotvec(np.radians(degrees) * np.eye(3)[axis]).as_matrix()


def refused(log, words, **options):
    """The finding is there, and the result is kept from every controller."""
    found = identify(log, **options)
    assert words in found.findings[0], found.findings
    assert found.status is Status.SUSPECT and not found.status.usable
    with pytest.raises(InertiaError, match="not exported"):
        export(found, "franka")


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("log", [swing(noise=NOISE), static(poses=30, sigma=(0.05, 0.002))], ids=["motion", "poses"])
@pytest.mark.parametrize("degrees", [10.0, 45.0, 90.0])
def test_gravity_that_leans(log, degrees):
    leaning = about(0, degrees) @ log.gravity
    words = f"gravity points {degrees:.0f} degrees away from what was given, at 9.8"
    if degrees > 10:
        refused(log.replace(gravity=leaning), words)
    (found,) = diagnose(log.replace(gravity=leaning))
    assert words in found
    numbers = [float(x) for x in found.split("gravity=(")[1].split(")")[0].split(", ")]
    np.testing.assert_allclose(numbers, [0, 0, -9.81], atol=0.2)  # its remedy is the truth


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("log", [swing(noise=NOISE), static(poses=30, sigma=(0.05, 0.002))], ids=["motion", "poses"])
@pytest.mark.parametrize(("axis", "degrees"), [(2, 90.0), (0, 180.0), (1, 30.0)])
def test_a_sensor_that_is_turned_on_its_flange(log, axis, degrees):
    refused(turned(log, about(axis, degrees)), f"axes are turned by {degrees:.0f} degrees about")


def under(log, strength):
    """What a sensor with THETA feels where gravity is of another strength (m/s^2), by Newton and Euler."""
    mass, com, inertia = parameters.to_com_inertia(THETA)
    twist, acceleration = log.motion
    w, alpha = twist[:, 3:], acceleration[:, 3:]
    center = log.origin_acceleration + np.cross(alpha, com) + np.cross(w, np.cross(w, com))
    force = mass * (center - log.rotation.transpose(0, 2, 1) @ [0.0, 0.0, -strength])
    torque = alpha @ inertia + np.cross(w, w @ inertia) + np.cross(com, force)
    noise = np.random.default_rng(0).normal(size=(len(log), 6)) * np.repeat(NOISE[:2], 3)
    return log.replace(wrench=np.concatenate([force, torque], axis=1) + noise)


def given(log, strength):
    return log.replace(gravity=np.array([0.0, 0.0, -strength]))


FAST = swing(speed=4.0, duration=4.0)
POSES = static(poses=20, sigma=(0.05, 0.002))
MOON = 1.62


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("strength", [MOON, 3.71, 24.8])
def test_gravity_of_another_planet_in_a_log_of_the_earth(strength):
    """Motion shows that it is wrong; of poses it has to be confirmed, and the mass is said to rest on it."""
    words = f"given as {strength:.3g} m/s^2, and the motion shows 9.81: the mass would be off by that factor. Pass "
    words += "gravity=(0, 0, -9.81)"
    refused(given(under(FAST, 9.81), strength), words)
    refused(given(swing(speed=4.0, duration=4.0, noise=MODERATE), strength), words, method="ols")
    refused(given(POSES, strength), f"on the Earth the mass is {strength / 9.81:.3g} times the one shown")
    confirmed = identify(given(POSES, strength), elsewhere=True)
    assert confirmed.status.usable and confirmed.findings == ()
    assert confirmed.mass == pytest.approx(0.7 * 9.81 / strength, rel=0.02)
    assert f"gravity of {strength:.4g} m/s^2 was taken as given" in confirmed.notes[-1]


def test_a_log_of_the_moon():
    """Fast motion tells the Earth's gravity from the Moon's, either way; the right one need not be confirmed there."""
    log = under(FAST, MOON)
    found = identify(log)
    shown = float(found.findings[0].split("the motion shows ")[1].split(":")[0])
    assert found.status is Status.SUSPECT and shown == pytest.approx(MOON, rel=0.1)
    right = identify(given(log, MOON))
    assert right.findings == () and right.mass == pytest.approx(0.7, abs=4 * right.mass_deviation)
    assert not any("taken as given" in note for note in right.notes)
    slow = under(swing(speed=0.05, duration=2.0), MOON)
    assert "gravity of 9.81 m/s^2 was taken as given" in identify(slow).notes[-1]  # its mass is a sixth of the truth
    assert "which is not the Earth's, and this log cannot tell" in identify(given(slow, MOON)).findings[0]


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("method", ["auto", "ols"])
def test_noise_of_accelerations_is_no_other_gravity(method):
    """It makes the push look smaller and weight larger; a log without gravity has no strength to tell."""
    for seed in range(5):
        log = swing(noise=MODERATE, speed=0.2 + seed, seed=seed)
        assert identify(log, method).findings == ()
    assert strength_of(log.replace(gravity=np.zeros(3))) is None


@pytest.mark.parametrize("bias", [False, True])
def test_likelihood_of_gravity_is_that_of_the_best_payload(bias):
    """Against weighted least squares at several strengths, rows written out; the noise remembers ten samples."""
    log = under(FAST, 9.81)
    drift = np.cumsum(np.random.default_rng(1).normal(size=(len(log) + 10, 6)), axis=0)
    log = log.replace(wrench=log.wrench + (drift[10:] - drift[:-10]) * np.repeat(NOISE[:2], 3))
    stated = 4 * np.array(NOISE[:2])  # the residual has sqrt(11) times that of one sample, and does not contradict it
    memory = make_problem(log, noise=stated, bias=bias).memory
    assert (memory > 5.0).all()
    noise = np.repeat(stated * np.sqrt(memory), 3)
    strength = strength_of(log, bias=bias, noise=stated)

    def squares(g):
        rows = wrench_regressor(given(log, g))
        if bias:
            rows = np.concatenate([rows, np.broadcast_to(np.eye(6), (len(log), 6, 6))], axis=2)
        A, b = (rows / noise[:, None]).reshape(-1, rows.shape[2]), (log.wrench / noise).ravel()
        return np.sum((A @ np.linalg.lstsq(A, b)[0] - b) ** 2)

    for g in (*strength.strengths[[40, 60, 80]], strength.given):
        assert strength.cost_of(g) == pytest.approx(squares(g) - squares(strength.best), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("cost", "certain"), [(15.0, False), (17.0, True)])
def test_gravity_is_refuted_at_four_deviations(cost, certain):
    strengths = np.array([MOON, 9.80665])
    told = Strength(MOON, strengths, np.array([cost, 0.0]))
    assert (told.right, told.doubtful, told.checked) == (9.81 if certain else None, True, False)
    told = Strength(9.80665, strengths, np.array([0.0, cost]))
    assert (told.right, told.doubtful) == (MOON if certain else None, False)
    told = Strength(MOON, strengths, np.array([0.0, cost]))
    assert (told.right, told.doubtful) == (None, not certain)


def pushed(log, first, last, force):
    wrench = log.wrench.copy()
    wrench[first:last, :3] += force
    return log.replace(wrench=wrench)


def test_contact_is_dated():
    log = swing(noise=NOISE, duration=4.0)
    bumped = pushed(log, 120, 180, np.array([0.0, 6.0, 3.0]))
    refused(bumped, "in 15 % of the samples (t = 1.2 to 1.79 s) the wrench is not this payload's; did something touch")
    light = diagnose(pushed(log, 120, 124, np.array([0.0, 6.0, 3.0])))
    assert "1.2 to 1.23 s" in light[0]
    twice = diagnose(pushed(pushed(log, 40, 60, [5.0, 0, 0]), 300, 340, [0, 5.0, 0]))
    assert "0.4 to 0.59 s, 3 to 3.39 s" in twice[0]


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("at", [250, 330])
def test_a_dropped_object_is_dated(at):
    log = swing(noise=NOISE, duration=4.0)
    wrench = log.wrench.copy()
    wrench[at:] = 0.05 * np.random.default_rng(1).normal(size=(400 - at, 6)) * [1, 1, 1, 0.04, 0.04, 0.04]
    refused(log.replace(wrench=wrench), f"nothing is held there from {log.t[at]:.4g} to 3.99 s. Split the log there")


def test_one_bad_pose_of_many():
    log = pushed(static(poses=40, sigma=(0.02, 0.001)), 17, 18, np.array([3.0, 0, 0]))
    assert "(t = 17 to 17 s)" in diagnose(log)[0]


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("noise", [(0.0,) * 4, NOISE])
@pytest.mark.parametrize("speed", [1.0, 4.0])
def test_accelerations_that_contain_gravity(speed, noise):
    """Of an IMU; already without the velocity's turning; with the sign turned; without a velocity."""
    log = swing(speed=speed, noise=noise)
    origin, g, rest = log.origin_acceleration, log.gravity_in_sensor, log.acceleration[:, 3:]
    cases = {
        "contains gravity, as accelerometers (IMUs) measure it": (origin - g, log.twist),
        "contains gravity: add": (log.acceleration[:, :3] - g, log.twist),
        "contains gravity with the sign turned": (origin + g, log.twist),
        "contains gravity, as accelerometers": (origin - g, log.twist * [0, 0, 0, 1, 1, 1]),
    }
    for words, (linear, twist) in cases.items():
        refused(log.replace(acceleration=np.concatenate([linear, rest], axis=1), twist=twist), words)


def test_motion_signals_that_do_not_belong_together():
    log = swing(noise=NOISE)
    twist, acceleration = np.array(log.twist), np.array(log.acceleration)
    degrees = np.repeat([1.0, 180 / np.pi], 3)
    cases = {
        "angular velocity is not that of the rotations": {"twist": 0 * twist, "acceleration": 0 * acceleration},
        "angular velocity is in degrees": {"twist": twist * degrees},
        "angular acceleration is in degrees": {"acceleration": acceleration * degrees},
        "angular velocity has its sign turned": {"twist": twist * np.repeat([1.0, -1.0], 3)},
        "linear acceleration has its sign turned": {"acceleration": acceleration * np.repeat([-1.0, 1.0], 3)},
    }
    for words, changes in cases.items():
        assert any(words in text for text in diagnose(log.replace(**changes))), words


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("smooth", [False, True])
def test_motion_filters_are_not_accused(smooth):
    """Twist and acceleration of causal filters lag behind each other; of smoothers they do not."""
    for speed in SPEEDS:
        assert diagnose(recorded("hammer", speed, 2.0, noise="high", smooth=smooth)) == ()


def test_an_untared_sensor():
    offset = np.array([2.0, -3.0, 1.0, 0.05, -0.1, 0.02])
    log = swing(noise=NOISE, bias=offset, speed=3.0, duration=4.0)
    refused(log, "the sensor was not tared: it shows (2")
    right = identify(log, bias=True)
    assert right.findings == () and right.mass == pytest.approx(0.7, abs=4 * right.mass_deviation)
    lifted = swing(speed=3.0, duration=4.0, noise=NOISE)
    tared_while_holding = lifted.replace(wrench=lifted.wrench - lifted.wrench[0])
    assert "not tared" in diagnose(tared_while_holding)[0]


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("fault", ["mirrored", "hose"])
def test_what_no_known_mistake_explains(fault):
    log = swing(speed=3.0, duration=4.0, noise=NOISE)
    if fault == "mirrored":
        wrong = log.replace(wrench=log.wrench * [1, -1, 1, 1, 1, 1])
    else:
        sway = 8.0 * np.sin(np.outer(log.t, [3.0, 5.0, 7.0]))
        wrong = log.replace(wrench=log.wrench + np.concatenate([sway, np.zeros((len(log), 3))], axis=1))
    found = identify(wrong, shape=THING.solid)
    assert found.status is Status.NOT_EXPLAINED and not found.status.usable
    assert "and no known mistake does" in found.findings[0]
    with pytest.raises(InertiaError, match="do not use these numbers"):
        export(found, "ur")


def test_noise_is_no_misfit():
    """A light object under a coarse sensor: from sample to sample its noise is a third of the wrench."""
    light = 0.03 * THETA
    found = identify(swing(light, noise=(0.1, 0.005, 0.0, 0.0), duration=8.0))
    assert found.findings == () and found.status.usable
    for seed in range(5):
        poses = static(light, poses=40, sigma=(0.1, 0.005), seed=seed)
        found = identify(poses)
        assert found.findings == () and abs(found.mass - 0.021) < 3.5 * found.mass_deviation
    few = poses[:8]  # cannot tell
    assert identify(few).status is Status.NOT_EXPLAINED and "--noise" in identify(few).findings[0]
    assert identify(few, noise=(0.1, 0.005)).findings == ()


def test_poses_whose_residuals_go_with_the_pose_are_not_explained():
    """The same light object; what is wrong is as large as the noise that is believed above."""
    poses = static(0.03 * THETA, poses=40, sigma=(0.03, 0.002))
    found = identify(poses.replace(wrench=poses.wrench * [1, -1, 1, 1, 1, 1]))
    assert found.status is Status.NOT_EXPLAINED and "no known mistake does" in found.findings[0]


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("seconds", [0.4, -0.25])
def test_a_wrench_of_another_clock(seconds):
    log = swing(speed=3.0, duration=4.0, noise=NOISE)
    k = round(100 * abs(seconds))
    early = log[:-k].replace(wrench=log.wrench[k:])
    late = log[k:].replace(wrench=log.wrench[:-k])
    refused(early if seconds > 0 else late, f"the wrench is {abs(seconds):.3g} s {'early' if seconds > 0 else 'late'}")


def test_a_light_push_within_the_noise_adds_up():
    """Each sample of it is noise; its stretch is dated, and with what it does to the mass it is no result."""
    light = 0.03 * THETA
    log = swing(light, noise=(0.1, 0.005, 0.0, 0.0), duration=8.0)
    light_push = pushed(log, 300, 400, np.array([0.0, 0.12, 0.06]))
    refused(light_push, "did something touch it")  # the mass moves by 4 %
    found = diagnose(light_push)
    first, last = map(float, found[0].split("(t = ")[1].split(" s)")[0].split(" to "))
    assert abs(first - 3.0) < 0.15 and abs(last - 4.0) < 0.15 and "did something touch" in found[0]
    weight = wrench_regressor(log) @ light
    weight[:600] = 0.0
    refused(log.replace(wrench=log.wrench - weight), "nothing is held there")


def test_nothing_held_is_faint():
    for seed in range(4):
        found = identify(swing(0 * THETA, noise=(0.1, 0.005, 0.0, 0.0), seed=seed))
        assert found.status is Status.FAINT and not found.status.usable


def test_a_sensor_that_turns_is_not_at_rest():
    log = swing(noise=NOISE, duration=4.0)
    bare = log.replace(twist=None, acceleration=None, position=None)
    for use in (identify, calibrate):
        with pytest.raises(LogError, match=r"the sensor turns at up to .* rad/s, and the log has no twist"):
            use(bare)
    posed = identify(log.replace(twist=None, acceleration=None))  # its positions tell the motion
    assert posed.mass == pytest.approx(0.7, rel=0.02) and posed.status is not Status.STATIC
    rotation, wrench = np.array(log.rotation), np.array(log.wrench)
    stops = [static(poses=8, seed=3).rotation[k] for k in range(8)]
    for k, R in enumerate(stops):  # stop and go: half a second at rest every second
        part = slice(50 * k, 50 * k + 30)
        rotation[part] = R
        wrench[part] = static(poses=8, seed=3).wrench[k] + 0.02 * np.random.default_rng(k).normal(size=(30, 6))
    stop_and_go = identify(bare.replace(rotation=rotation, wrench=wrench))
    assert stop_and_go.mass == pytest.approx(0.7, rel=0.02) and "samples left out" in " ".join(stop_and_go.notes)


@pytest.mark.parametrize("shape", [None, THING.solid], ids=["alone", "shape"])
@pytest.mark.parametrize("orientations", [1, 2])
def test_few_samples_of_few_orientations_determine_nothing(shape, orientations):
    """Four samples, one orientation: whatever is stated, it is not called determined."""
    poses = static(THING.theta, poses=4, sigma=(0.3, 0.02))
    few = poses.replace(rotation=poses.rotation[[k % orientations for k in range(4)]])
    few = few.replace(wrench=poses.wrench[[k % orientations for k in range(4)]])
    assert identify(few, shape=shape).status not in (Status.OK, Status.WEAK)
    moving = swing(THING.theta, speed=1.0, noise=MODERATE)[50:54]
    assert identify(moving, shape=shape).status is not Status.OK


def test_status_is_the_relative_deviation():
    """What is called determined has deviations within a tenth; what is not, has not."""
    seen = set()
    for speed, duration in ((0.3, 1.0), (1.0, 2.0), (2.0, 4.0), (4.0, 12.0)):
        for shape in (None, THING.solid):
            found = identify(swing(THING.theta, speed=speed, duration=duration, noise=MODERATE), shape=shape)
            relative = found.inertia_deviation.max() / np.linalg.eigvalsh(found.inertia)[-1]
            assert (found.status is Status.OK) == (relative <= 0.1)
            seen.add(found.status)
    assert {Status.OK, Status.WEAK} <= seen
