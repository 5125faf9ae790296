"""Truths beside rehearsals move by MuJoCo's equations, and their page has rows of any kind."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import steelyard as sy
from evidence import rehearsals, runner
from steelyard.simulate import rich_motion

SCARA = sy.library.scara()
MOTION = rich_motion(SCARA, duration=2.0)


@pytest.mark.parametrize("kind", ["alike", "rough"])
def test_a_truth_moves_by_its_own_numbers(kind):
    truth = rehearsals.drawn(SCARA, MOTION, 3, kind)
    log = rehearsals.played(truth, MOTION, None, 3)
    q, v, a, tau = log.require("q", "v", "a", "tau")
    rest = tau - sy.inverse_dynamics(truth.robot, q, v, a)
    borne = sy.inverse_dynamics(truth.robot, q, v, np.zeros_like(a))
    np.testing.assert_allclose(rest, truth.friction.torque(v, borne), atol=1e-3 * np.abs(tau).max())
    reference = MOTION.evaluate(log.t)[0]
    assert np.abs(q - reference).max() < 0.05 * np.ptp(reference, axis=0).max()


def test_truths_are_bodies_and_are_not_those_of_a_rehearsal():
    truths = [rehearsals.drawn(SCARA, MOTION, seed, "alike").robot for seed in range(5)]
    for truth in truths:
        least = np.linalg.eigvalsh(sy.inertia.pseudo.to_matrix(truth.inertias)).min(axis=1)
        assert (least > -1e-12).all()
    assert np.std([truth.inertias[0, 0] for truth in truths]) > 0.05 * SCARA.inertias[0, 0]


def test_servos_hold_commands_and_are_late():
    truth = replace(rehearsals.drawn(SCARA, MOTION, 1, "alike"), kp=np.full(4, 10.0), delay=np.full(4, 0.011))
    motors, still = rehearsals.commanded(truth, MOTION), SimpleNamespace(qpos=np.zeros(4))
    at = [motors(t, still, None) for t in (0.0, 0.05, 0.07, 0.0711)]
    sent = 10 * MOTION.evaluate(np.array([0.0, 0.02, 0.04, 0.06]))[0]
    np.testing.assert_allclose(at, sent[[0, 1, 2, 3]])
    log = rehearsals.played(truth, MOTION, rehearsals.HOBBY, 1)
    assert log.tau is None and log.v is None and len(log) == 100
    np.testing.assert_allclose(log.command, MOTION.evaluate(log.t)[0])


def test_the_page_has_rows_of_any_kind():
    one = {
        "left": 0.02,
        "left by shortest": 0.022,
        "compared": 3,
        "over promised": 0.4,
        "in promised": 0.9,
        "in own": 1,
    }
    row = {"case": "SCARA", "names": 5, "decided": 3, "model": 0.5, "left": 0.018, "held": 0.95, "shortest": 5.0}
    row |= {"moved": False, "alike": [one, one | {"left": 0.03}], "rough": [one]}
    page = rehearsals.page([row, {"case": "Panda", "raised": "FitError", "message": "none"}])
    assert "| SCARA | 50 % | 1.8 % | 2 to 3 % | 2 % | 5 |" in page and "Panda: FitError" in page
    assert "Not run" in rehearsals.page([])


def test_the_page_is_that_of_the_stored_rows():
    page = (runner.PAGES / "rehearsals.md").read_text("utf-8")
    assert page == rehearsals.page(list(runner.read("rehearsals").values()))
