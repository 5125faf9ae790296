"""Delays of all joints together: recovered, with honest deviations, and named as soon as they are certain."""

import numpy as np
import pytest

from recordings_of_arms import arm, diagnosis_of, fitted, late, recorded
from steelyard.app.demo_job import mistaken
from steelyard.corrections import corrections_from
from steelyard.diagnose import delays
from steelyard.diagnose.case import case_of
from steelyard.diagnose.hypotheses import delay
from steelyard.prepare.undo import corrected
from steelyard.terms import COULOMB_WIDTH

pytestmark = pytest.mark.claim("logs.faults")

OWN = np.array([0.002, 0.017, 0.005, 0.03, 0.001, 0.011, 0.024])  # s


def case_for(name, log):
    done = fitted(mistaken(arm(name)), log)
    return case_of(done.estimate, (done.log,))


def lagging(log, joint, delay, *, coulomb):
    """Coulomb friction of a joint comes late, other torques do not."""
    v = np.gradient(log.q[:, joint], log.t)
    v = np.convolve(v, np.ones(25) / 25, mode="same")  # encoder steps
    friction = np.tanh(v / COULOMB_WIDTH)
    tau = log.tau.copy()
    tau[:, joint] += coulomb * (np.interp(log.t - delay, log.t, friction) - friction)
    return log.replace(tau=tau)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(("seed", "joint", "ms"), [(0, 1, 1.0), (1, 3, -1.0), (0, 6, 1.0)])
def test_a_millisecond_of_one_joint_is_named(seed, joint, ms):
    robot, log = arm("panda"), late(recorded("panda", seed=seed), joint, 1e-3 * ms)
    (fault,) = diagnosis_of(mistaken(robot), log).faults
    told, deviation = fault.evidence["delay_ms"], fault.evidence["deviation_ms"]
    assert (fault.code, fault.joint) == ("delay", robot.dof_names[joint])
    assert abs(told - ms) < 3 * deviation < 0.75 and f"{abs(told):.2f} ± {deviation:.2g} ms" in fault.message


def test_a_joint_that_does_not_tell_a_millisecond():
    """A shoulder whose gravity the motion hardly changes, with much friction: 3 ms are named and 1 ms are not."""
    log = recorded("ur10")
    assert delays(case_for("ur10", log)).deviation[1] > 2e-4
    assert diagnosis_of(mistaken(arm("ur10")), late(log, 1, 5e-4)).faults == ()
    (fault,) = diagnosis_of(mistaken(arm("ur10")), late(log, 1, 3e-3)).faults
    assert (fault.code, fault.joint) == ("delay", arm("ur10").dof_names[1])


def test_every_joint_with_a_delay_of_its_own():
    robot, log = arm("panda"), recorded("panda")
    own = log.replace(
        tau=np.stack([np.interp(log.t - x, log.t, tau) for x, tau in zip(OWN, log.tau.T, strict=True)], 1)
    )
    faults = diagnosis_of(mistaken(robot), own).faults
    assert {(fault.code, fault.joint) for fault in faults} == {("delay", name) for name in robot.dof_names}
    for fault in faults:
        expected = 1000 * OWN[robot.dof_names.index(fault.joint)]
        assert abs(fault.evidence["delay_ms"] - expected) < 3.5 * fault.evidence["deviation_ms"] + 0.1
    words = [fault.options[1] for fault in faults]
    assert diagnosis_of(mistaken(robot), corrected(robot, own, corrections_from({"delay": words}))).faults == ()


def test_deviations_are_those_of_repeated_draws():
    """Of the noise: estimates over their deviations have unit variance, and no bias that shows."""
    log, rng = recorded("panda"), np.random.default_rng(0)
    level = 0.01 * np.sqrt(np.mean(log.tau**2, axis=0))
    found = [
        delays(case_for("panda", log.replace(tau=log.tau + level * rng.normal(size=log.tau.shape)))) for _ in "abcdef"
    ]
    own = delays(case_for("panda", log)).value  # of the noise that all have
    sigmas = np.array([(each.value - own) / each.deviation * np.sqrt(2) for each in found])
    assert 0.75 < np.sqrt(np.mean(sigmas**2)) < 1.3 and np.abs(sigmas).max() < 3.5
    assert np.abs(own).max() < 3e-4


def test_what_was_undone_before_is_part_of_what_is_told():
    log = late(recorded("panda"), 2, 0.01)
    case = case_for("panda", log)
    known = 0.008 * np.eye(7)[2]
    (found,) = delay.hypotheses(case.undone("delay", delay=known))
    assert found.fault.evidence["delay_ms"] == pytest.approx(10, abs=0.2)
    np.testing.assert_allclose(found.case.delay, 0.01 * np.eye(7)[2], atol=2e-4)


def test_friction_that_lags_is_no_delay(monkeypatch):
    """Where gravity shows it: without the rate of the Coulomb column beside it, the elbow's torque looks late."""
    log = lagging(recorded("ur10"), 2, 0.01, coulomb=3.0)
    case = case_for("ur10", log)
    found = delays(case)
    assert np.abs(found.value / found.deviation).max() < 3.5
    assert diagnosis_of(mistaken(arm("ur10")), log).faults == ()
    monkeypatch.setattr(delay, "widened", lambda case, columns: case.space)
    wrong = delays(case)
    assert wrong.value[2] > 5 * wrong.deviation[2]


def test_a_delay_must_win_what_its_deviation_promises():
    """Noise of positions differentiated at 10 Hz makes columns wrong and delays look certain: undoing them wins
    nothing, and nothing is said."""
    log, rng = recorded("ur10", seed=0), np.random.default_rng(2)
    rough = log.replace(q=log.q + 2e-3 * rng.normal(size=log.q.shape))
    assert [f for f in diagnosis_of(mistaken(arm("ur10")), rough).faults if f.code == "delay"] == []
