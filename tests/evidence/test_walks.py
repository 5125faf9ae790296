"""Truths of walks without torques, and what judges models of them."""

import numpy as np
import pytest
from evidence.draws import marches
from evidence.draws.replays import errors

import steelyard as sy
from evidence import walks
from steelyard.simulate import EXACT, FEET, Truth
from steelyard.simulate.truth import SimulatedGround, on_ground


def test_a_model_is_judged_as_it_moves():
    """The true robot in the settings of the truth makes no error, and each thing that differs makes one."""
    truth = Truth(load=1.0, frictionloss=0.3, delay=0.006, friction=0.6, integrator="implicitfast", cone="pyramidal")
    walk = sy.simulate.walk(duration=1.5, truth=truth, noise=EXACT)
    spec = on_ground(walk.true, FEET, ("imu",), SimulatedGround(0.6, 0.02), walks.BALL)
    spec.option.timestep, spec.option.cone = truth.step, 0
    for actuator in spec.actuators:
        actuator.delay, actuator.nsample = truth.delay, 8
    own = errors(spec.to_xml(), walk.log, walk.exact)
    assert max(own.joints, own.place, own.tilt) < 1e-2
    for actuator in spec.actuators:
        actuator.delay = 0.0
    assert errors(spec.to_xml(), walk.log, walk.exact).joints > 1
    given, true = (errors(text, walk.log, walk.exact) for text in (walk.mjcf, walks.true_model(walk, truth)))
    assert own.joints < true.joints < given.joints


def test_a_humanoid_marches():
    truth = Truth(load=1.0, frictionloss=0.2, delay=0.004, step=5e-4)
    walk = marches.march(duration=2.5, truth=truth, noise=EXACT)
    q, v, a, tau = walk.exact.require("q", "v", "a", "tau")
    found = sy.inverse_dynamics(walk.true, q, v, a, external=walk.exact.external)
    np.testing.assert_allclose(found, tau, atol=1e-2)
    assert q[:, 2].min() > 0.65 and walk.log.command.shape == (500, 35)
    lifted = [np.mean(flag == 0) for flag in walk.log.contacts.values()]
    assert len(lifted) == 2 and min(lifted) > 0.2
    assert np.ptp(q[:, 7:], axis=0).min() > 0.02  # every joint moves


def test_truths_differ_and_repeat():
    one, same, other = (walks.truth_of(seed, 12) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.armature, same.armature)
    assert one.load == same.load != other.load and one.integrator != other.integrator
    assert np.all(np.asarray(one.frictionloss) > 0.05) and len(one.frictionloss) == 12


@pytest.mark.parametrize("case", [walks.cases()[0], walks.cases()[20], walks.cases()[-1]])
def test_cases_are_robots_with_numbers(case):
    kind, seed = walks._case(case)
    assert kind in walks.DURATION and 0 <= seed < walks.QUADRUPEDS


def test_the_page_has_rows_of_any_kind():
    good = {
        "case": "quadruped 00",
        "robot": "quadruped",
        "what": "quadruped",
        "spent": 1.0,
        "findings": [],
        **{name: {"joints": 1.0, "place": 2.0, "tilt": 3.0} for name in ("given", "identified", "true")},
        "trunk": [1.0, 0.1],
        "centre": [2.0, 1.0],
        "total": [1.0, 0.1],
        "counts": {"delay": [11, 12, 0.01, 0.004]},
    }
    given = {"joints": 9.0, "place": 2.0, "tilt": 3.0}
    bad = {"case": "slip of 1 s, 0", "robot": "quadruped", "what": "slip of 1 s", "given": given, "refused": "LogError"}
    page = walks.page([good, bad | {"true": given}])
    assert "92%" in page and "LogError" in page and "slip of 1 s" in page and walks.FRICTION not in page


def test_friction_is_compared_between_cones_alike():
    """Truths of odd seeds have cones, as files have; of pyramids the page says how much of their edge was found."""
    rows = [
        {
            **{name: {"joints": 1.0, "place": 2.0, "tilt": 3.0} for name in ("given", "identified", "true")},
            "case": f"quadruped 0{seed}",
            "robot": "quadruped",
            "what": "quadruped",
            "spent": 1.0,
            "trunk": [1.0, 0.1],
            "centre": [2.0, 1.0],
            walks.FRICTION: [0.6, 0.75],
            "counts": {walks.FRICTION: [seed, 1, 0.1, 0.15]},
        }
        for seed in (0, 1)
    ]
    assert walks.truth_of(0, 12).cone == "pyramidal" and walks.truth_of(1, 12).cone == "elliptic"
    page = walks.page(rows)
    assert "found 0.80 times that edge" in page and f"| quadruped, {walks.FRICTION} | 1 | 100% |" in page
