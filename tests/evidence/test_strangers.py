"""A few of the strangers' jobs whose outcome is essential: an arm of three joints or limbs. `make adversary
SUITES=strangers` runs all."""

import pytest
from evidence.strangers import MOST, NAMES, SAME, wrong_better, wrong_good, wrong_remedy

from evidence import strangers as suite

BASE = 1


def job(name):
    """Outcome of a class on the arm."""
    return suite.row(NAMES.index(name) * suite.EACH + BASE)


def assert_harmless(row):
    assert not wrong_good(row)
    assert not wrong_better(row)
    assert not wrong_remedy(row)


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("name", suite.HEALTHY)
def test_healthy_logs_are_accused_of_nothing(name):
    row = job(name)
    assert not suite.false_alarm(row)
    assert_harmless(row)


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize(
    "name",
    [
        "no gravity in torques",
        "torques in kN m",
        "torque of one joint negated",
        "position of one joint negated",
        "limbs in a vendor's order",
        "limbs breadth first",
        "two neighbours exchanged",
        "joints in reversed order",
        "late torques",
    ],
)
def test_causes_are_named_with_the_remedy(name):
    row = job(name)
    assert row["named"] and not row["misnamed"]
    assert row["obeyed"]["links"] <= SAME + MOST * row["honest"]
    assert_harmless(row)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    "name",
    [
        "torques in amperes",
        "torques ten times",
        "torques per mille of rated ones",
        "zero of one joint",
        "one joint in degrees",
        "stretches that repeat",
        "clipped torques",
        "a payload part of the time",
        "contact part of the time",
        "robot on a slope or a wall",
        "torques of the controller's model",
        "friction that grows with load",
        "Stribeck friction at low speed",
        "slow log",
        "short log",
        "few joints move",
        "two logs, a load in one",
    ],
)
def test_links_said_to_be_better_are(name):
    assert_harmless(job(name))
