"""Gross mistakes that a fit imitates, and that the links of the given model show: under friction, mirrored, scaled."""

import numpy as np
import pytest

import steelyard as sy
from recordings_of_arms import arm, diagnosis_of, recorded, scaled
from steelyard.diagnose.case import case_of
from steelyard.diagnose.given_links import GivenLinks
from steelyard.diagnose.orders import limb_orders
from steelyard.information import accumulate
from steelyard.prepare.prepared import with_motion
from steelyard.simulate import Sensors, record, rich_motion


def given(robot, seed=0):
    """Masses of each link 10 % off."""
    factors = np.exp(np.random.default_rng(seed).normal(0, 0.1, size=(robot.nb, 1)))
    return robot.with_inertias(robot.inertias * factors)


def sticky(name: str, coulomb: float) -> sy.Robot:
    """An arm whose friction is a good part of its torque."""
    robot = arm(name)
    size = np.sqrt(np.mean(recorded(name).tau ** 2, axis=0))
    return robot.with_joint_properties(frictionloss=coulomb * size, damping=coulomb * size)


@pytest.mark.parametrize("name", ["panda"])
def test_gravity_taken_off_under_friction(name):
    """The fit leaves little: friction makes up the torque, and light links do for the rest."""
    truth = sticky(name, 1.0)
    log = record(truth, duration=20.0, seed=4, sensors=Sensors()).log
    still = np.zeros_like(log.q)
    taken = log.replace(tau=log.tau - sy.inverse_dynamics(truth, log.q, still, still))
    codes = [each.code for each in diagnosis_of(given(truth), taken).faults]
    assert codes[0] == "gravity_compensated"
    assert "gravity_compensated" not in [each.code for each in diagnosis_of(given(truth), log).faults]


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("factor", [2.2, 0.1, 0.4])
def test_one_factor_of_all_torques(factor):
    log = recorded("panda", seed=3)
    (fault, *_) = diagnosis_of(given(arm("panda")), log.replace(tau=factor * log.tau)).faults
    assert fault.code == "torque_unit" and fault.severity == "fatal"


def test_factor_and_deviation_of_each_joint():
    robot, log = arm("panda"), with_motion(scaled(recorded("panda"), tau={3: 1.5}))
    case = case_of(sy.fit.consistent(accumulate(robot, log, armature=True)), [log])
    factor, deviation = GivenLinks(case).factors()
    assert factor[1] == pytest.approx(1.0, abs=0.05) and factor[3] == pytest.approx(1.5, abs=0.1)
    assert deviation[1] < 0.02 and GivenLinks(case).relative[3] > 3 * GivenLinks(case).relative[1]


def legs() -> sy.Robot:
    """The bundled quadruped held by its trunk."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "legs.urdf"
        sy.save(sy.library.quadruped(), path)
        return sy.load(path, floating=False)


def test_orders_of_limbs():
    robot = legs()
    orders = {tuple(order) for order in limb_orders(robot)}
    blocks = np.arange(12).reshape(4, 3)
    assert tuple(blocks[[1, 0, 3, 2]].ravel()) in orders  # FR FL RR RL of FL FR RL RR
    assert tuple(blocks.T.ravel()) in orders  # all hips, all thighs, all calves
    assert tuple(range(12)) not in orders and len(orders) == 2 * 24 - 1
    assert limb_orders(sy.library.puma560()) == []


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("breadth_first", [False, True])
def test_limbs_in_another_order(breadth_first):
    truth = legs().with_joint_properties(damping=np.full(12, 0.1), frictionloss=np.full(12, 0.2))
    log = record(truth, rich_motion(truth, duration=12.0, seed=1), seed=1, sensors=Sensors()).log
    blocks = np.arange(12).reshape(4, 3)
    order = blocks.T.ravel() if breadth_first else blocks[[1, 0, 3, 2]].ravel()
    mixed = log.replace(q=log.q[:, order], tau=log.tau[:, order], v=None if log.v is None else log.v[:, order])
    (fault, *_) = diagnosis_of(given(truth), mixed).faults
    assert fault.code == "joint_order" and fault.severity == "fatal"
