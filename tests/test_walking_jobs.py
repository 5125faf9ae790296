"""Whole jobs of a quadruped that walks: from a wrong model and a log with flags of contact to a better one."""

import numpy as np
import pytest

import steelyard as sy
import walks
from steelyard.inertia import is_consistent
from steelyard.report import summary


@pytest.fixture(scope="module")
def trot(tmp_path_factory):
    return walks.walked(tmp_path_factory.mktemp("trot"), "trot", duration=25.0)


@pytest.fixture(scope="module")
def found(trot):
    return sy.identify(trot.nominal, trot.log, floating=True, contacts=walks.FEET)


def test_a_walk_gives_a_better_model(trot, found):
    """Of held-out torques and of the total mass; forces of feet are nobody's torque."""
    assert found.after.relative_error < 0.6 * found.before.relative_error
    true, given = trot.true.inertias[:, 0].sum(), trot.nominal.inertias[:, 0].sum()
    mass = found.estimate.theta[:, 0].sum()
    assert abs(mass - true) < 0.02 * true < 0.2 * abs(given - true)
    assert is_consistent(found.estimate.theta).all()
    assert found.diagnosis.faults == () and any("Forces of contacts" in note for note in found.notes)
    assert "offset" not in found.estimate.friction and any("Constant torques are left out" in n for n in found.notes)


def test_it_predicts_another_gait_better(trot, found, tmp_path):
    """With exact motion and wrenches of another walk, whose forces are known: nothing is eliminated."""
    other = walks.walked(tmp_path, "walk", duration=6.0, seed=3).exact
    q, v, a, tau = other.require("q", "v", "a", "tau")
    errors = [
        np.linalg.norm(sy.inverse_dynamics(robot, q, v, a, external=other.external) - tau)
        for robot in (found.robot, trot.nominal)
    ]
    assert errors[0] < 0.5 * errors[1]


def test_without_its_flags_the_log_is_no_good(trot):
    """What the same torques say where forces of the feet are taken for those of masses."""
    wrong = sy.identify(trot.nominal, trot.log[:2000].replace(contacts={}), floating=True, friction=())
    assert summary(wrong)["verdict"]["level"] == "keep" and wrong.after.relative_error > 0.5
