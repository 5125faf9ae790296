"""States of walking bases: against dense least squares, and against the truth of simulated and of geometric walks."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import steelyard as sy
import walks
from robots import EXAMPLE_ROBOTS
from steelyard.errors import LogError, OptionError
from steelyard.prepare import base_smoother, prepare
from steelyard.prepare import base_states as base_states_module
from steelyard.prepare.base_smoother import Feet, InertialReadings, Path, Poses, WalkEvidence, covariances, improved
from steelyard.prepare.base_states import base_states
from steelyard.simulate import Truth
from stepping import stepping

SECONDS = 4.0


def walked(gait="trot", **options):
    return walks.walk(gait, duration=SECONDS, **options)


def without_pose(log):
    q, v = log.q.copy(), None if log.v is None else log.v.copy()
    q[:, :7] = np.nan
    if v is not None:
        v[:, :6] = np.nan
    return log.replace(q=q, v=v)


def late(log, samples, source):
    """The log with a source that comes some samples late."""
    at = np.clip(np.arange(len(log)) - samples, 0, len(log) - 1)
    if source == "imu":
        return log.replace(imu={name: x[at] for name, x in log.imu.items()})
    q = log.q.copy()
    q[:, :7] = q[at, :7]
    return log.replace(q=q, v=log.v)


def errors(states, q, v, slope=0.0):
    """(n, 9) of height over ground, less the foot's own place in it, of tilt about the axes of the base, and of twist;
    and their stated deviations."""
    R, found = (Rotation.from_quat(each[:, 3:7]).as_matrix() for each in (q, states.q))
    height = states.q[:, 2] - states.ground - (q[:, 2] - slope * q[:, 0])
    tilt = np.cross(found[:, 2], R[:, 2])
    vertical = np.einsum("ni,nij,nj->n", found[:, 2], states.covariance[:, :3, :3], found[:, 2])
    spread = np.column_stack([np.sqrt(vertical), states.spread[:, 3:5], states.spread[:, 6:]])
    return np.column_stack([height - height.mean(), tilt[:, :2], states.v[:, :6] - v[:, :6]]), spread


def of_walk(walk, log=None, **options):
    """States, errors and their deviations of a simulated walk; velocities of steps of Euler are half a step late."""
    states = base_states(walk.nominal, walk.log if log is None else log, **options)
    return states, *errors(states, walk.exact.q, walk.exact.v + 0.5e-3 * walk.exact.a)


def rms(x):
    return np.sqrt(np.mean(x**2, axis=0))


def small_problem(rng, posed):
    """Ten samples of anything, with every factor, and a path near them."""
    n, f = 10, 3
    t = np.cumsum(rng.uniform(0.004, 0.006, n))
    turn = Rotation.from_rotvec(np.cumsum(0.01 * rng.normal(size=(n, 3)), axis=0))
    R, p, v = turn.as_matrix(), np.cumsum(0.01 * rng.normal(size=(n, 3)), axis=0), rng.normal(size=(n, 3))
    points = rng.normal(size=(f, n, 3))
    weigh = lambda *shape: rng.uniform(0.5, 2.0, shape) * 10 ** rng.uniform(0, 3, shape)  # noqa: E731
    evidence = WalkEvidence(
        t=t,
        feet=Feet(points, rng.uniform(0.5, 2, f), rng.normal(size=(f, n - 1, 3)), weigh(f, n - 1, 3), weigh(f, n)),
        inertial=InertialReadings(rng.normal(size=(n, 3)), rng.normal(size=(n, 3)), rng.normal(size=3), 0.1, 0.2),
        poses=Poses(p + 0.1, R, weigh(n, 2)) if posed else None,
        gravity=np.array([0.3, -0.2, -9.81]),
        jitter=rng.uniform(0.1, 1.0, (n - 1, 12)),
        flat=0.3,
    )
    w, feet = rng.normal(size=(n, 3)), p + rng.normal(size=(f, n, 3))
    return evidence, Path(p, R, v, w, feet, np.array([0.1, 0.2, -0.1]), rng.normal(size=(1, 6)))


def residuals(evidence, start, x):
    """Every weighted residual at a path x away from another: the model in the words of its documentation."""
    n, f = len(start.p), len(start.feet)
    d, border = x[: n * (12 + 3 * f)].reshape(n, -1), x[n * (12 + 3 * f) :]
    p, v, w = start.p + d[:, :3], start.v + d[:, 6:9], start.w + d[:, 9:12]
    R = Rotation.from_rotvec(d[:, 3:6]).as_matrix() @ start.R
    feet = start.feet + d[:, 12:].reshape(n, f, 3).swapaxes(0, 1)
    plane, bias = start.plane + border[:3], start.biases[0] + border[3:]
    sensor, step, out = evidence.inertial, np.diff(evidence.t)[:, None], []
    at_sensor = v + np.cross(w, R @ sensor.lever)
    felt = np.einsum("nij,nj->ni", R, sensor.acceleration - bias[3:]) + evidence.gravity
    turned = Rotation.from_matrix(R[1:] @ R[:-1].mT).as_rotvec()
    for k, rest in enumerate(
        (
            np.diff(p, axis=0) - step * (v[1:] + v[:-1]) / 2,
            turned - step * (w[1:] + w[:-1]) / 2,
            np.diff(at_sensor, axis=0) - step * (felt[1:] + felt[:-1]) / 2,
            np.diff(w, axis=0),
        )
    ):
        out.append(rest / evidence.jitter[:, 3 * k : 3 * k + 3])
    out.append((np.einsum("nji,nj->ni", R, w) + bias[:3] - sensor.gyro) / sensor.gyro_noise)
    of, weights = evidence.feet, np.sqrt(evidence.feet.stays)
    out.append((feet - p - np.einsum("nij,fnj->fni", R, of.points)) / of.noise[:, None, None])
    out.append((np.diff(feet, axis=1) - of.rolled) * weights)
    out.append((feet[..., 2] - plane[0] - feet[..., :2] @ plane[1:]) * np.sqrt(of.ground))
    out.append((feet - start.feet) * np.sqrt(base_smoother.LOOSE))
    if evidence.poses is not None:
        own = np.sqrt(evidence.poses.weights)
        out.append((p - evidence.poses.position) * own[:, :1])
        out.append(Rotation.from_matrix(R @ evidence.poses.rotation.mT).as_rotvec() * own[:, 1:])
    else:
        out.append(np.r_[d[0, [0, 1, 5]], plane[0]] / base_smoother.TIED)
    out += [plane[1:] / evidence.flat, bias / base_smoother.BIAS]
    return np.concatenate([each.ravel() for each in out])


@pytest.mark.parametrize("posed", [True, False])
def test_a_step_and_its_covariance_are_those_of_dense_least_squares(posed):
    evidence, path = small_problem(np.random.default_rng(3), posed)
    count = 10 * (12 + 9) + 9
    here, h = residuals(evidence, path, np.zeros(count)), 1e-6
    J = np.stack(
        [(residuals(evidence, path, x) - residuals(evidence, path, -x)) / (2 * h) for x in h * np.eye(count)], axis=1
    )
    step = np.linalg.lstsq(J, -here, rcond=None)[0]
    after, _, found = improved(evidence, path)
    d = step[:-9].reshape(10, -1)
    np.testing.assert_allclose(after.p - path.p, d[:, :3], atol=1e-5 * np.abs(d).max())
    np.testing.assert_allclose(after.v - path.v, d[:, 6:9], atol=1e-5 * np.abs(d).max())
    np.testing.assert_allclose(after.plane - path.plane, step[-9:-6], atol=1e-5)
    np.testing.assert_allclose(after.biases[0] - path.biases[0], step[-6:], atol=1e-5)
    inverse = np.linalg.inv(J.T @ J)
    own = covariances(found)
    np.testing.assert_allclose(found.common, inverse[-9:, -9:], atol=1e-4 * np.abs(found.common).max())
    for k in range(10):
        block = inverse[21 * k : 21 * k + 12, 21 * k : 21 * k + 12]
        np.testing.assert_allclose(own[k], block, atol=1e-4 * np.abs(block).max())


LIMITS = np.array([0.9e-3, 0.5e-3, 0.5e-3, 3e-3, 3e-3, 4.5e-3, 4e-3, 4e-3, 4e-3])  # m, rad, m/s, rad/s
LEANING = np.where(np.isin(np.arange(9), (1, 2)), 0.012, LIMITS)  # what a bias of the accelerometer feigns


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("gait", ["trot", "walk", "bound"])
def test_states_and_their_deviations_with_recorded_poses(gait):
    states, error, spread = of_walk(walked(gait))
    assert np.all(rms(error) < LIMITS)
    off = np.abs(error / spread)
    assert np.all(np.mean(off < 1, axis=0) > 0.3) and np.all(np.mean(off < 1.96, axis=0) > 0.7)
    assert np.all(np.mean(off[:, 3:] < 1, axis=0) > 0.6) and np.all(np.mean(off[:, 3:] < 1.96, axis=0) > 0.9)
    assert np.all(rms(spread) < 3 * LIMITS) and not states.delays


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("flags", [True, False])
@pytest.mark.parametrize("gait", ["trot", "walk"])
def test_states_from_sensor_and_legs_alone(gait, flags):
    walk = walked(gait)
    log = without_pose(walk.log) if flags else without_pose(walk.log).replace(contacts={})
    states, error, spread = of_walk(walk, log)
    assert np.all(rms(error) < LEANING)
    off = np.abs(error / spread)
    assert np.all(np.mean(off[:, 3:] < 1.96, axis=0) > 0.9) and np.all(rms(off)[:3] < 2)
    assert states.covariance[-1, 0, 0] > 4 * states.covariance[10, 0, 0]  # where it walked, it does not know
    for foot, flag in walk.log.contacts.items():
        assert np.mean((states.contacts[foot] > 0.5) == (flag > 0)) > (0.999 if flags else 0.85)
    again = states.q[:, :2] - states.q[0, :2]
    length = np.linalg.norm(walk.exact.q[-1, :2] - walk.exact.q[0, :2])
    assert np.linalg.norm(again[-1]) == pytest.approx(length, abs=0.01)


def test_states_without_a_sensor():
    walk = walked()
    for log in (walk.log.replace(imu={}), walk.log.replace(imu={}, contacts={})):
        states, error, spread = of_walk(walk, log)
        assert np.all(rms(error) < [2e-3, 1e-3, 1e-3, 0.02, 0.02, 0.035, 0.05, 0.05, 0.05]) and states.imu_bias is None
        assert np.all(np.mean(np.abs(error / spread)[:, 1:] < 1.96, axis=0) > 0.9)
    with pytest.raises(LogError, match="neither poses of the base nor an inertial sensor"):
        base_states(walk.nominal, without_pose(walk.log).replace(imu={}))


def test_wrong_gravity_and_a_forgotten_lever_show(monkeypatch):
    walk = walked()
    log = without_pose(walk.log)
    inertial, found = base_smoother.InertialReadings, base_states_module.sources_of
    monkeypatch.setattr(
        "steelyard.prepare.base_sources.InertialReadings",
        lambda gyro, a, lever, *noise: inertial(gyro, a, 0 * lever, *noise),
    )
    assert np.any(rms(of_walk(walk, log)[1]) > 1.5 * LEANING)
    monkeypatch.undo()
    turned = lambda *a: (s := found(*a)) and replace(s, gravity=-s.gravity)  # noqa: E731
    monkeypatch.setattr(base_states_module, "sources_of", turned)
    try:
        assert np.any(rms(of_walk(walk, log)[1]) > 5 * LEANING)
    except LogError as error:
        assert "not determined" in str(error)


@pytest.mark.parametrize(("source", "samples"), [("imu", 2), ("pose", 3)])
def test_late_sources_are_found_and_undone(source, samples):
    walk = walked()
    log = late(walk.log, samples, source)
    states, error, _ = of_walk(walk, log if source == "pose" else without_pose(log))
    assert states.delays == {source: pytest.approx(samples / 200, abs=1e-3)}
    assert [each.code for each in states.findings] == ["base_late"] and np.all(rms(error) < 1.4 * LEANING)
    assert not of_walk(walk)[0].findings


def test_feet_that_slip_are_left_out():
    walk = walked(friction=0.3)
    states, error, _ = of_walk(walk, without_pose(walk.log))
    assert np.all(rms(error) < LEANING)
    v = walk.exact.v + 0.5e-3 * walk.exact.a
    hits, sure = [], []
    for foot, flag in walk.log.contacts.items():
        speed = np.linalg.norm(sy.frame_velocity(walk.true, walk.exact.q, v, foot)[:, :2], axis=1)
        hits.append(np.mean(states.slips[foot][(speed > 0.2) & (flag > 0)]))
        sure.append(np.mean(states.slips[foot][(speed < 0.05) & (flag > 0)]))
    assert min(hits) > 0.9 and max(sure) < 0.05
    assert [each.code for each in states.findings] == ["contact_slip"]


def test_sloped_ground_and_rolling_feet():
    walk = walked(slope=0.1)
    states = base_states(walk.nominal, without_pose(walk.log))
    error, _ = errors(states, walk.exact.q, walk.exact.v + 0.5e-3 * walk.exact.a)
    assert np.all(rms(error[:, 3:]) < 1.3 * LEANING[3:]) and np.all(rms(error[:, 1:3]) < 0.012)
    assert np.linalg.norm(states.slope) == pytest.approx(0.1, abs=0.02)
    walk = walked(radius=0.022)
    rolled, plain = (of_walk(walk, without_pose(walk.log), radius=r)[1] for r in (0.022, 0.0))
    assert np.all(rms(rolled) < LEANING) and rms(plain)[3] > 2 * rms(rolled)[3]


def test_feet_that_creep_make_no_slope_of_a_floor():
    """Pyramids of friction let feet slide under load: they feigned slopes of 0.03 to 0.06, and biases to match."""
    walk = walks.walk("trot", duration=10.0, seed=4, truth=Truth(1.8, friction=0.52, softness=0.012, cone="pyramidal"))
    states = base_states(walk.nominal, without_pose(walk.log), radius=0.022)
    error, _ = errors(states, walk.exact.q, walk.exact.v)
    assert np.linalg.norm(states.slope) < 0.02 and np.all(rms(error[:, 1:3]) < 0.015)
    assert np.all(np.abs(states.imu_bias[3:]) < 0.2)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    ("stem", "feet", "flat", "uneven", "bent"),
    [
        ("solo12", ("FL_FOOT", "FR_FOOT", "HR_FOOT", "HL_FOOT"), False, 0.005, {"HFE": 0.7, "KFE": -1.4}),
        (
            "talos_reduced",
            ("left_sole_link", "right_sole_link"),
            True,
            0.0,
            {f"leg_left_{joint}_joint": x for joint, x in ((3, -0.45), (4, 0.9), (5, -0.45))}
            | {f"leg_right_{joint}_joint": x for joint, x in ((3, -0.45), (4, 0.9), (5, -0.45))},
        ),
    ],
)
def test_other_robots_on_points_and_on_soles(stem, feet, flat, uneven, bent):
    robot = sy.load(next(EXAMPLE_ROBOTS.rglob(f"{stem}.urdf")), floating=True)
    start = robot.neutral.copy()
    for name, place in zip(robot.dof_names, range(1, robot.nq), strict=False):
        ahead = -1 if name.startswith("H") else 1
        for end, angle in bent.items():
            start[place] = ahead * angle if name.endswith(end) else start[place]
    steps = stepping(robot, start, feet, "base_link", flat=flat, uneven=uneven, duration=2.0)
    for log in (steps.log,) if flat else (steps.log, steps.log.replace(contacts={})):
        states = base_states(robot, log, contacts=dict.fromkeys(feet, "flat" if flat else "point"))
        error, spread = errors(states, steps.q, steps.v)
        assert np.all(rms(error)[:8] < LEANING[:8]) and np.all(rms(error)[3:6] < 2e-3)
        assert rms(error)[8] < 6e-3  # two soles tell little of the bias about the vertical
        assert np.all(np.mean(np.abs(error / spread)[:, 3:] < 1.96, axis=0) > 0.85)


def test_a_gap_parts_a_walk():
    walk = walked()
    keep = np.ones(len(walk.log), dtype=bool)
    keep[400:500] = False
    states = base_states(walk.nominal, walk.log[keep])
    error, _ = errors(states, walk.exact.q[keep], (walk.exact.v + 0.5e-3 * walk.exact.a)[keep])
    assert np.all(rms(error) < 1.5 * LIMITS)


def test_logs_without_a_base_are_read_and_fitted():
    walk = walked()
    log, free = walk.log, walk.nominal.dof_names[6:]
    table = {"t": log.t} | {f"contact_{foot}": flag for foot, flag in log.contacts.items()}
    for k, name in reversed(list(enumerate(free))):
        table |= {f"q_{name}": log.q[:, 7 + k], f"v_{name}": log.v[:, 6 + k], f"tau_{name}": log.tau[:, 6 + k]}
    table |= {f"imu_imu_{part}": log.imu["imu"][:, k] for k, part in enumerate(("wx", "wy", "wz", "ax", "ay", "az"))}
    read = sy.read_log(table, walk.nominal)
    np.testing.assert_array_equal(read.q[:, 7:], log.q[:, 7:])
    assert np.isnan(read.q[:, :7]).all() and not read.tau[:, :6].any()
    assert any("base: not recorded" in note for note in read.notes)
    ready = prepare(read, walk.nominal)
    assert any("smoothed from the inertial sensor imu, 4 feet" in note for note in ready.log.notes)
    rows = np.searchsorted(walk.exact.t, ready.log.t - 1e-9)
    assert np.all(rms(ready.log.v[:, :3] - walk.exact.v[rows, :3]) < 0.02)
    lacking = {key: x for key, x in table.items() if not key.startswith("imu")}
    with pytest.raises(LogError, match="--fixed"):
        sy.read_log(lacking, walk.nominal)
    with pytest.raises(OptionError, match="fixed base"):
        base_states(sy.library.quadruped(floating=False), read)
    broken = log.q.copy()
    broken[3, 9] = np.nan
    with pytest.raises(LogError, match="q of joints holds NaN"):
        base_states(walk.nominal, log.replace(q=broken))


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("posed", [False, True])
def test_pieces_of_a_long_log_go_on_in_each_other(monkeypatch, posed):
    walk = walked()
    log = walk.log if posed else without_pose(walk.log)
    whole = base_states(walk.nominal, log)
    monkeypatch.setattr(base_states_module, "PIECE", 500)
    monkeypatch.setattr(base_states_module, "SHARED", 0.5)
    states, error, _ = of_walk(walk, log)
    assert "in pieces that begin at" in states.notes[-1] and len(states) == len(log)
    assert np.all(rms(error) < 1.3 * LEANING)
    step = np.abs(np.diff(states.q, axis=0)).max(axis=0)
    assert np.all(step[:7] < np.abs(np.diff(whole.q, axis=0)).max(axis=0)[:7] + 2e-3)
    assert np.abs(states.q[:, :2] - whole.q[:, :2]).max() < 0.01
