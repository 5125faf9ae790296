"""Step by step as by `identify`: filtered logs whose contacts change are made ready first."""

import numpy as np
import pytest

import steelyard as sy
import walks
from steelyard.errors import LogError
from steelyard.information import accumulate
from steelyard.prepare import prepare


@pytest.fixture(scope="module")
def trot():
    return walks.walk("trot", duration=8.0)


def test_smeared_impacts_are_refused_with_what_to_do(trot):
    with pytest.raises(LogError, match=r"smear impacts.*prepare\(log, robot\)"):
        accumulate(trot.nominal, sy.filters.differentiate(trot.log))


def test_step_by_step_is_as_right_as_the_whole_job(trot):
    robot = sy.fit.consistent(accumulate(trot.nominal, prepare(trot.log, trot.nominal).log)).require_robot()
    true, found = trot.true.inertias[:, 0].sum(), robot.inertias[:, 0].sum()
    assert abs(found / true - 1) < 0.01 < abs(trot.nominal.inertias[:, 0].sum() / true - 1)


def test_exact_motion_needs_no_filter(trot):
    exact = trot.exact.replace(contacts=trot.log.contacts) if len(trot.exact) == len(trot.log) else trot.exact
    assert np.isfinite(accumulate(trot.nominal, exact).energy).all()
