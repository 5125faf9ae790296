"""Free fall as a log has it, an IMU on the base: rows without torque, joints whose drives outweigh their links."""

import numpy as np
import pytest
from evidence.draws import flights

import steelyard as sy
from steelyard.diagnose.case import case_of
from steelyard.diagnose.misreadings import misreading
from steelyard.information import accumulate
from steelyard.job import FRICTION


@pytest.fixture(scope="module")
def fallen(tmp_path_factory):
    """Function of a seed: the model of a robot that falls, wrong by tens of percent, and the log."""

    def made(seed):
        rng = np.random.default_rng([seed, 22])
        robot = flights.drawn(rng)
        path = tmp_path_factory.mktemp("fallen") / "robot.xml"
        path.write_text(flights.mjcf(flights.mistaken(robot, rng), friction=True), encoding="utf-8")
        model = sy.load(path)
        log = flights.free_fall(robot, model, rng, flights.compiled(robot), seconds=1.5)
        return model, sy.Log(**log, joint_names=model.dof_names)

    return made


def test_a_noisy_flight_settles(fallen):
    """A fit at the noise that was found is that fit: it went round in circles, to masses that differ by half."""
    model, log = fallen(8)
    info = accumulate(model, log, engine="numpy")
    estimate = sy.fit.consistent(info)
    again = sy.fit.consistent(info, noise=estimate.noise)
    squares = info.base.squares
    change = np.sqrt(squares.forms(again.base - estimate.base).sum() / squares.forms(estimate.base).sum())
    assert change < 0.02
    np.testing.assert_allclose(again.theta[:, 0], estimate.theta[:, 0], rtol=0.1)


def unit_of(model, log):
    info = accumulate(model, log, engine="numpy", armature=True, friction=FRICTION)
    return misreading(case_of(sy.fit.consistent(info), [log]))


def test_torques_of_a_flight_are_in_no_other_unit(fallen):
    """They were 1e-6 times what the model needs: zero on the base, and drives alone explain most of the joints'."""
    assert unit_of(*fallen(58)) is None


def test_a_unit_of_torque_shows_in_flight_too(fallen):
    """Links that are wrong by tens of percent do not hide a thousand."""
    model, log = fallen(28)
    found = unit_of(model, log.replace(tau=1000 * log.tau))
    assert found.fault.options == ("--unit", "tau=mNm")
    assert found.fault.evidence["factor"] == pytest.approx(1000, rel=0.2)
