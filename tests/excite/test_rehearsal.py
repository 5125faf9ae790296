"""Rehearsals: what they promise of a motion is what other seeds make of it."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import steelyard as sy
from servo_logs import on_stand
from steelyard.app import app
from steelyard.errors import OptionError, SteelyardError
from steelyard.excite.rehearsal import Rehearsal, course_of, rehearse
from steelyard.excite.rehearsal_report import as_json, rehearsal_view
from steelyard.excite.rehearsed_truths import Torques, drawn_truth
from steelyard.simulate import Sensors, rich_motion

SCARA = sy.library.scara()


@pytest.fixture(scope="module", autouse=True)
def one_part():
    """Of the shorter motions one is identified: others go the same way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Torques, "shares", (0.5,))
        yield


@pytest.fixture(scope="module")
def tried() -> Rehearsal:
    return rehearse(SCARA, rich_motion(SCARA, duration=4.0), trials=2)


def test_errors_of_other_seeds_are_those_that_were_promised(tried):
    other = rehearse(SCARA, rich_motion(SCARA, duration=4.0), trials=2, seed=100)
    assert other.names == tried.names
    assert tried.shown.mean() > 0.7  # of what is little, rotors and offsets, priors say more
    ratio = other.reached / (tried.promised / 1.96)
    assert 0.2 < np.sqrt(np.mean(ratio**2)) < 2.5  # an interval of noise that is not white is wider than its error
    assert (tried.covered + other.covered) / 2 > 0.85
    given, left = tried.errors
    assert left < 0.05 * given


def test_a_worse_experiment_promises_less_and_is_told(tried):
    slow = rich_motion(SCARA, duration=4.0)
    crawl = sy.simulate.trajectories.Trajectory(
        lambda t: tuple(x * 0.1**k for k, x in enumerate(slow.evaluate(0.1 * np.asarray(t)))), 4.0
    )
    noisy = rehearse(SCARA, crawl, trials=1, sensors=Sensors(torque_noise=0.1))
    assert not (noisy.shown & ~tried.shown).any() and noisy.shown.sum() < tried.shown.sum() / 2
    assert np.median(noisy.promised / tried.promised) > 5
    assert noisy.errors[1] > 10 * tried.errors[1]


def test_truths_can_exist_and_differ_as_asked():
    robot, motion = sy.library.puma560(), rich_motion(sy.library.puma560(), duration=2.0)
    truths = [drawn_truth(robot, motion, np.random.default_rng(k), 0.2) for k in range(20)]
    for truth in truths:
        mass, _, inertia = sy.inertia.to_com_inertia(truth.inertias)
        moments = np.linalg.eigvalsh(inertia)
        assert (mass[robot.inertias[:, 0] > 0] > 0).all() and (2 * moments.max(axis=1) <= moments.sum(axis=1)).all()
        assert (truth.damping > 0).all() and (truth.frictionloss > 0).all()
    heavy = robot.inertias[:, 0] > 0
    logs = np.log([truth.inertias[heavy, 0] / robot.inertias[heavy, 0] for truth in truths])
    assert 0.15 < logs.std() < 0.25
    same = drawn_truth(robot, motion, np.random.default_rng(0), 0.0)
    np.testing.assert_allclose(same.inertias[heavy], robot.inertias[heavy], atol=1e-9)


def test_a_file_of_a_motion_is_driven_as_it_was_designed(tmp_path):
    made = sy.excite.design(SCARA, 3.0, harmonics=1, limits=sy.excite.Limits(collisions=False), time_limit=2.0)
    sy.excite.write(made, tmp_path / "motion.csv")
    course = course_of(sy.read_log(tmp_path / "motion.csv", SCARA), SCARA)
    t = np.linspace(0.1, 2.9, 50)
    for found, expected, near in zip(course.evaluate(t), made.evaluate(t), (1e-6, 1e-4, 1e-1), strict=True):
        np.testing.assert_allclose(found, expected, atol=near * max(1.0, np.abs(expected).max()))


def test_the_verdict_follows_errors_and_intervals(tried):
    def level(**changes) -> str:
        trials = tuple(replace(each, **changes) for each in tried.trials)
        return rehearsal_view(replace(tried, trials=trials)).screen.level

    assert level() == "good"
    assert level(left=tried.errors[0]) == "keep"
    assert level(left=0.7 * tried.errors[0]) == "care"
    assert level(lower=tried.trials[0].upper) == "care"  # no truth in its interval
    told = as_json(
        replace(tried, trials=tuple(replace(each, shown=np.zeros_like(each.shown)) for each in tried.trials))
    )
    assert not any(each["shown"] for each in told["parameters"])


def test_the_shortest_that_does(tried):
    shorter = replace(tried, shorter=((0.3, None), (0.5, 0.05), (0.7, 0.011), (1.0, 0.01)))
    assert shorter.shortest == pytest.approx(0.7 * 4.0)
    assert replace(tried, shorter=((0.5, 0.05), (1.0, 0.01))).shortest is None
    lucky = replace(tried, shorter=((0.3, 0.01), (0.5, 0.05), (0.7, 0.011), (1.0, 0.01)))
    assert lucky.shortest == pytest.approx(0.7 * 4.0)


def test_command_and_page(tmp_path):
    model, page = tmp_path / "arm.urdf", tmp_path / "page.html"
    sy.save(SCARA, model)
    sy.write_csv(sy.simulate.record(SCARA, duration=6.0).log, tmp_path / "run.csv")
    run = CliRunner().invoke
    done = run(app, ["rehearse", str(model), str(tmp_path / "run.csv"), "--trials", "1", "--html", str(page), "--json"])
    found = json.loads(done.stdout)
    assert done.exit_code == 0 and found["verdict"]["level"] == "good" and found["truths"] == 1
    assert found["identified_error"] < 0.1 * found["model_error"] and len(found["parameters"]) > 10
    text = page.read_text()
    assert "Rehearsal of" in text and "link4" in text
    refused = run(app, ["rehearse", str(model), str(tmp_path / "run.csv"), "--trials", "1", "--html", str(model)])
    assert refused.exit_code == 2 and model.read_text().startswith("<?xml")


def test_commands_are_rehearsed_too():
    robot = on_stand(left=0.0)
    found = rehearse(robot, rich_motion(robot, duration=4.0), drive="position", sensors=Sensors(rate=50.0), trials=1)
    assert found.moved and found.errors[1] < 0.3 * found.errors[0]
    assert found.covered > 0.7


@pytest.mark.parametrize("wrong", [{"torque_noise": -1.0}, {"encoder_resolution": float("nan")}, {"rate": -500.0}])
def test_sensors_that_no_one_has_are_refused(wrong):
    with pytest.raises(OptionError, match="zero or positive"):
        Sensors(**wrong)


@pytest.mark.parametrize(
    ("robot", "options", "told"),
    [
        (sy.library.quadruped(), {}, "free base"),
        (SCARA, {"trials": 0}, "one truth or more"),
        (SCARA, {"drive": "voltage"}, "how a motion becomes commands"),
        (SCARA, {"friction": "sticky"}, "sticky"),
    ],
)
def test_refusals(robot, options, told):
    with pytest.raises(SteelyardError, match=told):
        rehearse(robot, rich_motion(SCARA, duration=2.0), **options)
