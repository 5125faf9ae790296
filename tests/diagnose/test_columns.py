"""Added columns against plain least squares of the whole regression."""

from dataclasses import replace

import numpy as np
import pytest

import steelyard as sy
from recordings_of_arms import arm, fitted, recorded
from steelyard.diagnose.added_columns import add_columns, widened
from steelyard.diagnose.case import case_of, gain
from steelyard.errors import FitError
from steelyard.information import accumulate


@pytest.fixture(scope="module")
def case():
    done = fitted(arm("puma560"), recorded("puma560"))
    return case_of(done.estimate, (done.log,))


def test_information_is_that_of_accumulate(case):
    done = fitted(arm("puma560"), recorded("puma560"))
    step = round(len(done.log) / len(case))
    info = accumulate(arm("puma560"), done.log[::step], armature=True)
    np.testing.assert_allclose(case.information.gram, info.gram, rtol=1e-9, atol=1e-9 * np.abs(info.gram).max())
    np.testing.assert_allclose(case.information.moment, info.moment, rtol=1e-9, atol=1e-9 * np.abs(info.moment).max())
    np.testing.assert_allclose(case.information.energy, info.energy, rtol=1e-9)


def test_added_columns_are_least_squares_of_everything_together(case):
    rng = np.random.default_rng(0)
    columns, companions = rng.normal(size=(2, 6, len(case), 2)) * 0.01
    found = add_columns(case, columns, space=widened(case, companions))
    noise = case.free[1][:, None, None]
    whole = np.concatenate([case.regression.rows, companions, columns], axis=2) / noise
    whole = whole.reshape(-1, whole.shape[2])
    size = np.linalg.norm(whole, axis=0)
    target = (case.target / noise[:, :, 0]).ravel()
    solution, *_ = np.linalg.lstsq(whole / size, target, rcond=1e-9)
    np.testing.assert_allclose(found.coefficients, solution[-2:] / size[-2:], rtol=1e-5)
    left = ((target - whole / size @ solution) ** 2).reshape(6, -1).sum(axis=1)
    np.testing.assert_allclose(found.after, left, rtol=1e-6)
    assert found.before.sum() > found.after.sum()


def test_a_column_that_the_fit_has_already_adds_nothing(case):
    found = add_columns(case, case.regression.rows[:, :, 3:5])
    np.testing.assert_array_equal(found.coefficients, 0.0)
    assert gain(found.before, found.after) == pytest.approx(0.0, abs=1e-9)


def test_the_space_is_orthonormal_and_holds_every_row(case):
    space = case.space
    np.testing.assert_allclose(space.T @ space, np.eye(space.shape[1]), atol=1e-8)
    rows = case.weighted(case.regression.rows)
    np.testing.assert_allclose(space @ (space.T @ rows), rows, atol=1e-6 * np.abs(rows).max())


@pytest.mark.parametrize("options", [{}, {"springs": sy.library.puma560().joint_names[2:3]}, {"rotors": True}])
def test_torque_that_positions_decide(options):
    """Its change with a position is that of the whole regression; what does not change with it need not be there."""
    robot, log = arm("puma560"), recorded("puma560")
    log = fitted(robot, log).log
    case = case_of(sy.fit.least_squares(accumulate(robot, log, **options)), (log,))
    here, moved = case.regression, case.regression.q.copy()
    moved[:, 2] += 0.1
    there, base = replace(here, q=moved), case.free[0]
    expected = np.einsum("gni,i->gn", there.rows - here.rows, base)
    found = there.of_position(base) - here.of_position(base)
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())
    assert np.abs(expected[1:]).max() > 0.1


def test_thinning_keeps_what_matters_and_bounds_the_work(case):
    assert 300 < len(case) < 1500 and case.independence < 0.6
    long = recorded("puma560")
    done = fitted(arm("puma560"), long)
    assert len(case_of(done.estimate, (done.log.replace(bandwidth=None),) * 3)) <= 1500


def test_a_raw_regression_has_no_robot_to_diagnose():
    rng = np.random.default_rng(0)
    estimate = sy.fit.least_squares(sy.Information.from_arrays(rng.normal(size=(50, 3)), rng.normal(size=50)))
    with pytest.raises(FitError, match="robot"):
        sy.diagnose.diagnose(estimate, recorded("puma560"))
