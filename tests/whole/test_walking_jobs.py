"""Whole jobs of a quadruped that walks: from a wrong model and a log with flags of contact to a better one."""

from functools import cache

import numpy as np
import pytest

import steelyard as sy
import walks
from steelyard.diagnose import search
from steelyard.inertia import is_consistent
from steelyard.prepare import prepare
from steelyard.report.identification_report import summary


@cache
def identified(walk, log=None):
    return sy.identify(walk.nominal, walk.log if log is None else log, floating=True, contacts=walks.FEET)


def mass_error(walk, robot):
    """Of the total mass, relative."""
    true = walk.true.inertias[:, 0].sum()
    return abs(robot.inertias[:, 0].sum() / true - 1)


def torque_error(robot, walk):
    """On the exact motion and wrenches of a walk, whose forces are known: nothing is eliminated."""
    q, v, a, tau = walk.exact.require("q", "v", "a", "tau")
    return np.linalg.norm(sy.inverse_dynamics(robot, q, v, a, external=walk.exact.external) - tau)


@pytest.fixture(scope="module")
def others():
    """Another gait, and another ground."""
    options = {"duration": 6.0, "seed": 3}
    return walks.walk("walk", **options), walks.walk("bound", slope=0.15, friction=0.6, **options)


@pytest.fixture(scope="module")
def trot():
    return walks.walk("trot", duration=12.0, seed=0)


@pytest.fixture(scope="module")
def found(trot):
    return identified(trot)


def test_a_walk_gives_a_better_model(trot, found, others):
    """Of held-out torques, of other gaits on other grounds, and of the total mass; forces of feet are no torques."""
    assert found.after.relative_error < 0.2 * found.before.relative_error
    assert mass_error(trot, found.robot) < 0.01 < 0.1 < mass_error(trot, trot.nominal)
    assert is_consistent(found.estimate.theta).all()
    for other in others:
        assert torque_error(found.robot, other) < 0.15 * torque_error(trot.nominal, other)
    assert found.diagnosis.faults == found.findings == ()
    assert {"contact_forces", "constant_torques"} < {each.code for each in found.decided}
    assert "offset" not in found.estimate.friction
    verdict = summary(found)["verdict"]
    assert verdict["level"] == "good" and "nan" not in str(verdict)


def test_without_its_flags_the_log_is_no_good(trot, monkeypatch):
    """What the same torques say where forces of the feet are taken for those of masses. The verdict follows from the
    errors: causes, whose search takes far longer than all else, are not looked for."""
    monkeypatch.setattr(search, "ROUNDS", 0)
    wrong = sy.identify(trot.nominal, trot.log[:800].replace(contacts={}), floating=True, friction=())
    assert summary(wrong)["verdict"]["level"] == "keep" and wrong.after.relative_error > 0.5


def test_standing_does_not_tell_the_total_mass(others):
    """It says so; the torques of the same feet are found all the same, and a walk in a second log tells."""
    stance = walks.walk("stance", duration=10.0, seed=1)
    found = identified(stance)
    assert [finding.code for finding in found.findings] == ["contact_always"]
    assert "--mass all=KG" in found.findings[0].message and summary(found)["verdict"]["level"] == "care"
    assert found.after.relative_error < 0.2 * found.before.relative_error
    masses = [i for i, name in enumerate(found.uncertainty.parameters.names) if name.endswith(".m")]
    assert all(found.uncertainty.parameters.labels[i] != "data-determined" for i in masses)
    both = identified(stance, (stance.log, others[0].log))
    assert both.findings == () and mass_error(stance, both.robot) < 0.01


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    ("gait", "ground", "codes"),
    [
        ("walk", {"friction": 0.1}, {"contact_slip"}),
        ("trot", {"softness": 0.1}, {"contact_soft", "contact_slip"}),
        ("trot", {"friction": 0.1}, {"contact_slip"}),
        ("walk", {"softness": 0.1}, {"contact_soft", "contact_slip"}),
    ],
)
def test_slip_and_soft_ground_are_named_and_cost_little(others, gait, ground, codes):
    walk = walks.walk(gait, duration=12.0, seed=1, **ground)
    found = identified(walk)
    told = {finding.code for finding in found.findings}
    assert codes <= told <= codes | {"contact_always"} and summary(found)["verdict"]["level"] == "care"
    assert found.after.relative_error < 0.4 * found.before.relative_error and mass_error(walk, found.robot) < 0.01
    assert all(torque_error(found.robot, each) < 0.25 * torque_error(walk.nominal, each) for each in others)


LESS = pytest.mark.xfail(reason="intervals of posteriors of walks hold less, or are fewer", strict=True)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    ("gait", "seconds"),
    [pytest.param("walk", 25.0, marks=LESS), pytest.param("trot", 25.0, marks=LESS), ("bound", 15.0), ("bound", 25.0)],
)
def test_intervals_hold_the_truth(gait, seconds):
    """Base parameters that the data determines, of two walks: about 36, of which 95 % are to be inside."""
    inside = []
    for seed in (0, 1):
        walk = walks.walk(gait, duration=seconds, seed=seed)
        found = identified(walk)
        layout, base = found.estimate.layout, found.uncertainty.base
        truth = np.zeros(layout.size)
        truth[layout.inertial] = walk.true.inertias.ravel()
        for word, value in (("armature", walks.ARMATURE), ("viscous", walks.VISCOUS), ("coulomb", walks.COULOMB)):
            truth[[name.endswith(f"_joint.{word}") for name in layout.names]] = value
        data = [label == "data-determined" for label in base.labels]
        inside += list(base.covers(found.estimate.basis.regroup(truth))[data])
    assert len(inside) > 20 and np.mean(inside) >= 0.88


def test_without_an_inertial_sensor_the_fit_says_what_is_lost(trot):
    found = identified(trot, trot.log.replace(imu={}))
    assert [finding.code for finding in found.findings] == ["imu_missing"]
    assert found.after.relative_error < 0.4 * found.before.relative_error


def test_a_payload_on_the_trunk_is_found_from_two_walks(found):
    """On forces of feet that nobody measured, and a model identified without it."""
    walk = walks.walk("walk", duration=15.0, seed=3, payload=2.0)
    log = prepare(walk.log, found.robot).log
    truth = walk.true.inertias[0] - sy.library.quadruped().inertias[0]
    carried = sy.payload.identify_from_torques(found.robot, log, frame="base")
    assert carried.mass == pytest.approx(2.0, rel=0.02)
    np.testing.assert_allclose(carried.com, truth[1:4] / 2.0, atol=0.005)
