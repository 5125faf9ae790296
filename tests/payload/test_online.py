"""The online estimator: the same optimum as offline, a real body at every instant, changes found and dated."""

import numpy as np
import pytest
from evidence.bench.tray_experiment import LAYOUTS, recorded, test_object, wrist_motion

import twins.online
from payload_logs import MODERATE, THETA, static, swing
from steelyard.errors import FitError, OptionError
from steelyard.inertia import parameters, pseudo
from steelyard.payload import OnlineEstimator, Status, calibrate, errors, online
from steelyard.payload.methods import fitted_body
from steelyard.payload.tool_calibration import Tool
from steelyard.payload.wrench_problem import make_problem, mass_of
from steelyard.payload.wrench_sums import accumulate, eliminated, wrench_regressor

pytestmark = pytest.mark.claim("payload.stream", "pick, hold, swap and drop in one stream")

HAMMER, BARBELL = test_object("hammer"), test_object("barbell")
NOISE = (0.1, 0.005)


def stream(spans, *, duration=12.0, seed=0):
    """Log of a wrist that holds theta in each `(start, stop, theta)` span of seconds, and nothing else."""
    motion = wrist_motion(1.0, duration)
    held = np.zeros((len(motion), 10))
    for start, stop, theta in spans:
        held[round(100 * start) : round(100 * stop)] = theta
    noise = np.random.default_rng(seed).normal(size=(len(motion), 6)) * np.repeat(NOISE, 3)
    return motion.replace(wrench=np.einsum("nij,nj->ni", wrench_regressor(motion), held) + noise), held


def test_regressor_of_the_kernel():
    log = swing()[50:53]
    Y, expected = np.empty((6, 10)), wrench_regressor(log)
    for k in range(3):
        felt = twins.online.rows_of(
            np.array(log.rotation[k]), np.array(log.twist[k]), np.array(log.acceleration[k]), np.array(log.gravity), Y
        )
        np.testing.assert_allclose(Y, expected[k], atol=1e-12)
        np.testing.assert_allclose(felt, expected[k, :3, 0], atol=1e-12)


def test_the_core_and_python_agree(monkeypatch):
    """Every sample of a stream with a tool, a pick-up, a drift, a push and a drop, to rounding."""
    own, both = 0.3 * HAMMER.theta, 1.3 * HAMMER.theta
    log, _ = stream([(0.0, 1.0, own), (1.0, 3.0, both), (3.0, 4.0, own)], duration=4.0)
    wrench = log.wrench + 0.05 * log.t[:, None]
    wrench[240:246] += 0.7
    log = log.replace(wrench=wrench)
    tool = Tool(own, np.zeros(6), np.array([0, 0, -9.81]), np.array(NOISE))
    compiled, plain = (OnlineEstimator(shape=HAMMER.solid, memory=500, tool=tool) for _ in range(2))
    expected = compiled.update_many(log)
    monkeypatch.setattr(online, "require_core", lambda: twins.online)
    np.testing.assert_allclose(plain.update_many(log), expected, rtol=0, atol=1e-8)
    assert [each.kind for each in plain.changes] == [each.kind for each in compiled.changes] != []
    np.testing.assert_allclose(plain.covariance, compiled.covariance, rtol=1e-8, atol=1e-12)


def test_it_arrives_where_the_offline_fit_is():
    """Without shape, forgetting or change, the running optimum is the entropic fit to the same data and prior."""
    log = swing(THETA, noise=(*NOISE, 0.0, 0.0), speed=1.5, duration=4.0)
    estimator = OnlineEstimator(noise=NOISE, drift=(0, 0))
    estimator.update_many(log)
    problem = make_problem(log)
    T = eliminated(problem.information, NOISE)[:10]
    A, b = T[:, :10], T[:, 10]
    prior = parameters.from_com_inertia(mass_of(log), np.zeros(3), mass_of(log) * 2 / 3 * 0.1**2 * np.eye(3))
    expected, covariance, _ = fitted_body(A, b, prior, weight=0.1, regularizer="entropic")
    np.testing.assert_allclose(estimator.theta, expected, atol=2e-5)
    np.testing.assert_allclose(np.diag(estimator.covariance), np.diag(covariance), rtol=0.1)


def test_one_by_one_or_in_chunks():
    log, _ = stream([(1.0, 3.0, HAMMER.theta)], duration=3.0)
    whole, pieces, single = (OnlineEstimator(shape=HAMMER.solid) for _ in range(3))
    expected = whole.update_many(log)
    np.testing.assert_array_equal(
        np.concatenate([pieces.update_many(log[:77]), pieces.update_many(log[77:])]), expected
    )
    for k in range(len(log)):
        found = single.update(log.t[k], log.rotation[k], log.wrench[k], log.twist[k], log.acceleration[k])
        np.testing.assert_array_equal(found, expected[k])
    assert single.changes == pieces.changes == whole.changes
    assert single.samples == len(log)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("shape", [HAMMER.solid, None], ids=["shape", "no shape"])
@pytest.mark.parametrize("seed", range(3))
def test_pick_hold_swap_drop(shape, seed):
    log, _ = stream([(2.0, 5.0, HAMMER.theta), (5.0, 9.0, BARBELL.theta)], seed=seed)
    estimator = OnlineEstimator(shape=shape, noise=NOISE)
    thetas = estimator.update_many(log)
    assert [change.kind for change in estimator.changes] == ["picked up", "swapped", "dropped"]
    np.testing.assert_allclose([change.time for change in estimator.changes], [2.0, 5.0, 9.0], atol=0.06)
    masses = [0.0, HAMMER.theta[0], BARBELL.theta[0], 0.0]
    for change, before, after in zip(estimator.changes, masses[:-1], masses[1:], strict=True):
        assert change.mass_before == pytest.approx(before, abs=0.02)
        assert change.mass_after == pytest.approx(after, abs=0.02)
    assert pseudo.smallest_eigenvalue(thetas).min() > 0  # at every instant
    assert not estimator.holding
    for second, thing in ((4.9, HAMMER), (8.9, BARBELL)):
        wrong = errors(thetas[round(100 * second)], thing.theta, thing.sides)
        assert wrong.mass < 0.5 and wrong.com < 1.5
        assert shape is None or wrong.inertia < 25


def test_states():
    log, _ = stream([(1.0, 2.0, HAMMER.theta)], duration=3.0)
    estimator, states = OnlineEstimator(shape=HAMMER.solid, noise=NOISE), []
    for k in range(len(log)):
        estimator.update(log.t[k], log.rotation[k], log.wrench[k], log.twist[k], log.acceleration[k])
        if not states or states[-1] != estimator.state:
            states.append(estimator.state)
    assert states == ["empty", "changing", "holding", "changing", "empty"]


def test_no_change_no_alarm():
    for seed in range(5):
        log, _ = stream([(0.0, 30.0, HAMMER.theta)], duration=30.0, seed=seed)
        estimator = OnlineEstimator(shape=HAMMER.solid, noise=NOISE)
        estimator.update_many(log)
        assert estimator.changes == []
        assert estimator.payload.mass == pytest.approx(HAMMER.theta[0], rel=2e-3)


STREAMS = [(layout, speed, seed) for seed in range(3) for speed in (2.0, 1.5, 1.0) for layout in LAYOUTS]


@pytest.mark.exhaustive(keep=8)
@pytest.mark.parametrize("layout, speed, seed", STREAMS)
def test_one_object_is_never_swapped(layout, speed, seed):
    """The noise of Table II, on accelerations and as a causal filter on poses leaves it: 72 streams of one object."""
    thing = test_object(layout)
    logs = (
        swing(thing.theta, speed=speed, duration=20.0, noise=MODERATE, seed=seed),
        recorded(layout, speed, 20.0, seed=seed),
    )
    for log in logs:
        for shape in (thing.solid, None):
            estimator = OnlineEstimator(shape=shape, noise=NOISE)
            estimator.update_many(log)
            assert estimator.changes == []
            wrong, found = errors(estimator.theta, thing.theta, thing.sides), estimator.payload
            assert wrong.com < 3 and wrong.mass < max(1.5, 200 * found.mass_deviation / found.mass)


@pytest.mark.parametrize("kind", ["heavier", "moved"])
@pytest.mark.parametrize("layout", ["hammer", "uniform"])
def test_real_swaps_are_named_within_a_quarter_of_a_second(kind, layout):
    thing = test_object(layout)
    other = {
        "heavier": 1.1 * thing.theta,
        "moved": parameters.transform(thing.theta, np.eye(3), np.array([0, 0.01, 0])),
    }[kind]
    for speed in (1.0, 2.0):
        before, after = (swing(x, speed=speed, duration=10.0, noise=MODERATE, seed=1) for x in (thing.theta, other))
        wrench = np.where(before.t[:, None] < 8.0, before.wrench, after.wrench)
        estimator = OnlineEstimator(shape=thing.solid, noise=NOISE)
        estimator.update_many(before.replace(wrench=wrench)[:825])
        (change,) = estimator.changes
        assert change.kind == "swapped" and change.time == pytest.approx(8.0, abs=0.06)
        assert change.mass_after == pytest.approx(other[0], rel=0.03)


def test_a_drifting_bias_is_no_payload():
    """0.05 N/s: errors within 1 % and covered by the intervals; without bias states they are many times as large."""
    inside, worst = [], dict.fromkeys((None, (0, 0)), 0.0)
    for seed in range(9):
        axis = seed % 3
        thing = test_object(("hammer", "uniform")[seed % 2])
        clean = swing(thing.theta, speed=1.0, duration=30.0, noise=(*NOISE, 0, 0), seed=seed)
        wrench = np.array(clean.wrench)
        wrench[:, axis] += 0.05 * clean.t
        for drift in worst:
            options = {} if drift is None else {"drift": drift}
            estimator = OnlineEstimator(shape=thing.solid, noise=NOISE, **options)
            for start in range(0, 3000, 500):
                estimator.update_many(clean.replace(wrench=wrench)[start : start + 500])
                wrong, found = errors(estimator.theta, thing.theta, thing.sides), estimator.payload
                worst[drift] = max(worst[drift], wrong.mass, wrong.com)
                off = np.array([found.mass - thing.theta[0], *(found.com - thing.theta[1:4] / thing.theta[0])])
                if drift is None:
                    inside.append(np.abs(off) < 1.96 * np.array([found.mass_deviation, *found.com_deviation]))
            if drift is None:
                assert estimator.changes == [] and estimator.bias[axis] == pytest.approx(1.5, abs=0.06)
    assert worst[None] < 1 and worst[0, 0] > 12
    assert np.mean(inside) > 0.92


def test_the_bias_is_learnt_while_nothing_is_held():
    """It has drifted by a newton when something is picked up, and goes on after it."""
    log, _ = stream([(20.0, 30.0, HAMMER.theta)], duration=30.0)
    wrench = np.array(log.wrench)
    wrench[:, 2] += 0.05 * log.t
    estimator = OnlineEstimator(shape=HAMMER.solid, noise=NOISE)
    estimator.update_many(log.replace(wrench=wrench))
    (change,) = estimator.changes
    assert change.kind == "picked up" and change.mass_after == pytest.approx(HAMMER.theta[0], rel=0.03)
    assert estimator.theta[0] == pytest.approx(HAMMER.theta[0], rel=0.005)


@pytest.mark.parametrize("memory", [None, 50.0])
def test_at_rest_hardly_anything_is_forgotten(memory):
    """A bias that drifts and a payload are one thing where nothing turns: what was known of them before stays."""
    rest, rng = static(THETA, poses=1), np.random.default_rng(0)
    estimator = OnlineEstimator(noise=NOISE, memory=memory)
    for k in range(3000):
        estimator.update(0.01 * k, rest.rotation[0], rest.wrench[0] + rng.normal(size=6) * np.repeat(NOISE, 3))
    assert estimator.theta[0] == pytest.approx(THETA[0], rel=0.015) and estimator.changes == []


def test_the_minimum_is_reached_at_the_border():
    """Noisy accelerations draw the body to the border of what can exist within the first samples; Newton's steps alone
    end there, sixteen per cent off in the centre of mass."""
    log = swing(HAMMER.theta, speed=1.5, duration=5.0, noise=MODERATE)
    estimator = OnlineEstimator(noise=NOISE, drift=(0, 0))
    for count in (30, 100, 500):
        estimator.update_many(log[estimator.samples : count])
        T = eliminated(make_problem(log[:count]).information, NOISE)[:10]
        prior = parameters.from_com_inertia(
            mass_of(log[:count]), np.zeros(3), mass_of(log[:count]) * 2 / 300 * np.eye(3)
        )
        expected, _, _ = fitted_body(T[:, :10], T[:, 10], prior, weight=0.1, regularizer="entropic")
        np.testing.assert_allclose(estimator.theta, expected, rtol=1e-3, atol=2e-4)


def test_poor_motion_signals_are_learnt():
    """With motion from a causal filter on noisy poses, residuals are above the sensor's noise and have memory: there is
    no false alarm, and a drop is still seen."""
    log = recorded("hammer", 1.5, 20.0)
    dropped = wrench_regressor(log[1500:]) @ HAMMER.theta
    wrench = np.array(log.wrench)
    wrench[1500:] -= dropped
    estimator = OnlineEstimator(shape=HAMMER.solid, noise=NOISE)
    estimator.update_many(log.replace(wrench=wrench))
    assert [change.kind for change in estimator.changes] == ["dropped"]
    assert estimator.changes[0].time == pytest.approx(log.t[1500], abs=0.1)


def test_a_wild_sample_is_no_change():
    log, _ = stream([(0.0, 5.0, HAMMER.theta)], duration=5.0)
    wrench = np.array(log.wrench)
    wrench[300] += 50.0
    estimator = OnlineEstimator(shape=HAMMER.solid, noise=NOISE)
    estimator.update_many(log.replace(wrench=wrench))
    assert estimator.changes == []


def test_forgetting_follows_what_changes_slowly():
    motion = wrist_motion(1.0, 10.0)
    growing = np.linspace(1.0, 1.1, len(motion))[:, None] * HAMMER.theta  # a bottle being filled
    wrench = np.einsum("nij,nj->ni", wrench_regressor(motion), growing)
    noise = np.random.default_rng(0).normal(size=wrench.shape) * np.repeat(NOISE, 3)
    finals = {}
    for memory in (None, 50.0):
        estimator = OnlineEstimator(shape=HAMMER.solid, noise=NOISE, memory=memory)
        estimator.update_many(motion.replace(wrench=wrench + noise))
        finals[memory] = abs(estimator.theta[0] - 1.1 * HAMMER.theta[0])
    assert finals[50.0] < 0.5 * finals[None]


def test_forgetting_is_the_fit_of_discounted_sums():
    """Each sample counts exp(-age / memory): in the estimate, in its spread and in the number of samples."""
    log = swing(THETA, noise=(*NOISE, 0.0, 0.0), speed=1.5, duration=3.0)
    estimator = OnlineEstimator(noise=NOISE, memory=40.0, drift=(0, 0))
    estimator.update_many(log)
    factor = np.exp(-1 / 40) ** np.arange(len(log))[::-1]
    T = eliminated(accumulate(log, weights=np.sqrt(factor)), NOISE)[:10]
    A, b = T[:, :10], T[:, 10]
    felt = log.origin_acceleration - log.gravity_in_sensor
    mass = np.sum(factor[:, None] * felt * log.wrench[:, :3]) / np.sum(factor[:, None] * felt**2)
    prior = parameters.from_com_inertia(mass, np.zeros(3), mass * 2 / 3 * 0.1**2 * np.eye(3))
    expected, covariance, _ = fitted_body(A, b, prior, weight=0.1, regularizer="entropic")
    np.testing.assert_allclose(estimator.theta, expected, rtol=1e-3, atol=2e-4)
    np.testing.assert_allclose(np.diag(estimator.covariance), np.diag(covariance), rtol=0.15)
    assert estimator.payload.samples == int(factor.sum()) == 40
    assert estimator.samples == len(log)


def test_statuses_are_those_of_recorded_logs():
    """Nothing held, then what slow motion does not show, then all of it, then what no payload explains."""
    estimator = OnlineEstimator(shape=HAMMER.solid, noise=NOISE)
    estimator.update_many(stream([], duration=1.0)[0])
    assert estimator.payload.status is Status.FAINT and not estimator.payload.status.usable
    slow, _ = stream([(0.0, 2.0, HAMMER.theta)], duration=2.0)
    estimator = OnlineEstimator(shape=HAMMER.solid, noise=NOISE)
    estimator.update_many(slow)
    assert estimator.payload.status is Status.WEAK
    assert estimator.payload.inertia_deviation.max() > 0.1 * np.linalg.eigvalsh(estimator.payload.inertia)[-1]
    estimator = OnlineEstimator(shape=HAMMER.solid, noise=NOISE)
    estimator.update_many(swing(HAMMER.theta, speed=4.0, duration=12.0, noise=(*NOISE, 0, 0)))
    assert estimator.payload.status is Status.OK
    assert estimator.share_left < 0.02


@pytest.mark.parametrize("leaning", [45.0, 90.0])
def test_gravity_that_leans_is_not_explained_online(leaning):
    log, _ = stream([(0.0, 6.0, HAMMER.theta)], duration=6.0)
    a = np.radians(leaning)
    estimator = OnlineEstimator(
        shape=HAMMER.solid, noise=NOISE, memory=300, gravity=9.81 * np.array([np.sin(a), 0, -np.cos(a)])
    )
    estimator.update_many(log)
    found = estimator.payload
    assert not found.status.usable
    assert leaning == 90.0 or estimator.share_left == pytest.approx(np.sin(a), abs=0.25)


def test_intervals_online_hold_a_core():
    """All of the mass in one place of the shape: the inertia is wrong, and its interval says so."""
    center = HAMMER.solid.homogeneous[1:4]
    core = parameters.from_com_inertia(0.5, center, 1e-5 * np.eye(3))
    log, _ = stream([(0.0, 3.0, core)], duration=3.0)
    estimator = OnlineEstimator(shape=HAMMER.solid, noise=NOISE)
    estimator.update_many(log)
    found = estimator.payload
    off = np.abs(found.inertia - 1e-5 * np.eye(3))
    assert off.max() > 5e-4 and (off < 2.5 * found.inertia_deviation).all()
    assert found.status is Status.WEAK


def test_a_change_is_named_after_twenty_samples():
    log, _ = stream([(1.0, 2.0, HAMMER.theta)], duration=2.0)
    estimator = OnlineEstimator(shape=HAMMER.solid, noise=NOISE)
    estimator.update_many(log[:118])
    assert estimator.changes == [] and estimator.state == "changing"
    estimator.update_many(log[118:125])
    (change,) = estimator.changes
    assert change.kind == "picked up" and change.time == pytest.approx(1.0, abs=0.02)
    assert estimator.state == "holding" and estimator.payload.notes == ("picked up at 1.00 s",)


def test_the_hand_is_taken_off():
    hand = parameters.from_com_inertia(0.4, np.array([0.0, 0.01, 0.03]), 4e-4 * np.eye(3))
    tool = calibrate(static(hand, poses=12, bias=0.2))
    log = swing(hand + HAMMER.theta, noise=(*NOISE, 0, 0), speed=0.5, bias=0.2)
    estimator = OnlineEstimator(shape=HAMMER.solid, noise=NOISE, tool=tool)
    estimator.update_many(log)
    assert estimator.theta[0] == pytest.approx(HAMMER.theta[0], rel=0.01)


def test_options_and_first_words():
    with pytest.raises(FitError, match="no sample has been fed"):
        _ = OnlineEstimator().payload
    for arguments in ({"noise": (1.0,)}, {"memory": 2.0}, {"empty": 0.0}, {"drift": (0.1, -1.0)}, {"drift": 0.1}):
        with pytest.raises(OptionError):
            OnlineEstimator(**arguments)
    estimator = OnlineEstimator()
    rest = static(HAMMER.theta)
    estimator.update(0.0, rest.rotation[0], rest.wrench[0])
    assert estimator.payload.consistent and "mass" in estimator.payload.summary()
