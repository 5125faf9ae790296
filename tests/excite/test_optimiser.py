"""Noise that grows with torque, predictions, several starts, time limits, targets, motions to start from."""

from dataclasses import replace

import numpy as np
import pytest

import steelyard as sy
from brief_search import search_briefly
from steelyard.errors import OptionError
from steelyard.excite import Limits, design, write
from steelyard.excite.design_goal import goal_of
from steelyard.excite.limits import bounds_of, random_states
from steelyard.excite.measured_rows import base_rows
from steelyard.excite.motion_curves import Fourier
from steelyard.excite.motion_problem import MotionProblem
from steelyard.motion_options import Aim

pytestmark = pytest.mark.claim("excitation.safe")

SCARA = sy.library.scara()
SHORT = {"harmonics": 2, "periods": 1, "limits": Limits(collisions=False)}


@pytest.fixture(scope="module")
def made():
    return design(SCARA, 4.0, **SHORT)


def _problem(robot, **options) -> MotionProblem:
    bounds = bounds_of(robot, Limits())
    return MotionProblem(robot, goal_of(robot, random_states(robot, bounds), Aim(**options)), Fourier(5.0, 3), bounds)


@pytest.mark.parametrize("friction", [("viscous", "coulomb", "offset"), ()])
@pytest.mark.parametrize("criterion", ["D", "prediction"])
def test_the_gradient_is_that_of_differences_where_noise_grows_with_torque(criterion, friction):
    robot = replace(sy.library.puma560())
    problem = _problem(robot, criterion=criterion, noise=0.2, noise_share=0.05, friction=friction)
    rng = np.random.default_rng(0)
    z = 0.15 * rng.normal(size=problem.curve.size * robot.nv)
    way, step = rng.normal(size=z.shape), 1e-6
    ends = [problem.cost(z + s * step * way, {}, 30.0, {})[0] for s in (1, -1)]
    assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(problem.cost(z, {}, 30.0, {})[1] @ way, rel=2e-3)


def test_noise_that_grows_with_torque_is_what_the_design_promises(made, monkeypatch):
    search_briefly(monkeypatch)
    loud = design(SCARA, 4.0, noise=made.goal.noise, noise_share=0.1, **SHORT)
    t = (np.arange(loud.curve.samples) + 0.5) * 4.0 / loud.curve.samples
    tau = sy.inverse_dynamics(SCARA, *loud.evaluate(t))
    tau += SCARA.damping * loud.evaluate(t)[1] + SCARA.frictionloss * np.tanh(loud.evaluate(t)[1] / 0.01)
    expected = np.sqrt(made.goal.noise**2 + 0.01 * np.mean(tau**2, axis=0))
    np.testing.assert_allclose(loud.noise, expected, rtol=2e-2)
    np.testing.assert_array_equal(made.noise, made.goal.noise)
    assert np.all(loud.noise > made.noise)


def test_prediction_is_the_mean_variance_of_torques_in_random_motions():
    problem = _problem(SCARA, criterion="prediction")
    goal, probe = problem.goal, random_states(SCARA, problem.bounds)
    gram = problem.gram(problem.coefficients(0.1 * np.ones(problem.curve.size * SCARA.nv)))
    tempo = np.linspace(0, 1, probe[0].shape[1])
    rows = base_rows(
        SCARA, goal.layout, goal.basis, probe[0], tempo * probe[1], tempo**2 * probe[2], goal.coulomb_width
    )
    variance = np.einsum("rin,rs,sin->in", rows, goal.covariance(gram), rows, optimize=True)
    typical = np.sqrt(np.mean(probe[3] ** 2, axis=1))
    assert np.exp(goal.cost(gram)[0]) == pytest.approx(np.mean(variance / typical[:, None] ** 2), rel=1e-6)


@pytest.mark.exhaustive
def test_more_starts_are_no_worse_and_processes_change_nothing():
    one, two, at_once = (design(SCARA, 4.0, starts=n, workers=w, **SHORT) for n, w in ((1, 1), (2, 1), (2, 2)))
    assert two.goal.cost(two.gram)[0] <= one.goal.cost(one.gram)[0]
    np.testing.assert_allclose(at_once.coefficients, two.coefficients, rtol=1e-6, atol=1e-9)


def test_a_time_limit_returns_a_motion_that_keeps_every_limit(made):
    hasty = design(SCARA, 4.0, time_limit=1e-3, **SHORT)
    assert all(m.satisfied for m in hasty.margins) and len(hasty.history) < len(made.history)
    assert hasty.goal.cost(hasty.gram)[0] > made.goal.cost(made.gram)[0]
    assert "time limit of 0.001 s" in hasty.notes[-1]
    assert made.notes == ()


def test_a_target_that_one_criterion_misses_is_reached_by_another(made):
    target = design(SCARA, 4.0, criterion="condition", **SHORT).condition * 1.05
    assert made.condition > target
    aimed = design(SCARA, 4.0, target=target, **SHORT)
    assert aimed.condition <= target and aimed.notes[-1].startswith("Designed on for the condition number alone")
    assert aimed.goal.criterion == "D" and all(m.satisfied for m in aimed.margins)


def test_a_log_is_a_motion_to_start_from(made, tmp_path):
    log = sy.read_log(write(made, tmp_path / "old.csv", rate=200.0), SCARA)
    again = design(SCARA, 4.0, warm=log, time_limit=1e-3, **SHORT)
    assert again.condition_before == pytest.approx(made.condition, rel=1e-6)
    assert again.goal.cost(again.gram)[0] < made.goal.cost(made.gram)[0] + 1e-9
    with pytest.raises(OptionError, match="moves 4 joints, this robot has 6"):
        design(sy.library.puma560(), 4.0, warm=log)
    with pytest.raises(OptionError, match="3 samples, fewer than a motion's 5"):
        design(SCARA, 4.0, warm=log[:3], **SHORT)


@pytest.mark.parametrize("options", [{"starts": 0}, {"workers": 0}, {"time_limit": 0.0}, {"noise_share": -0.1}])
def test_options_without_sense_are_refused(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        design(SCARA, 4.0, **options)
