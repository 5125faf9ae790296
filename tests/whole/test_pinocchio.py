"""Regressor and inverse dynamics against Pinocchio, on every URDF of example-robot-data that it loads."""

import numpy as np
import pinocchio as pin
import pytest

import pinocchio_adapter as adapter
from robots import EXAMPLE_ROBOTS, URDFS, random_state
from steelyard.dynamics import inverse_dynamics, regressor
from steelyard.errors import ModelError
from steelyard.model import load

pytestmark = pytest.mark.claim(
    "pipeline.engines",
    "regressors and torques agree with Pinocchio to 1e-10 (URDF) and MuJoCo to 1e-9 (MJCF, every joint, armature)",
    pages=("docs/evidence/conformance.md",),
)

NAMES = [str(path.relative_to(EXAMPLE_ROBOTS)) for path in URDFS]


def test_all_of_example_robot_data_is_there():
    assert len(NAMES) > 60


@pytest.mark.exhaustive(keep=23)
@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_pinocchio(name, floating, record_property):
    path = EXAMPLE_ROBOTS / name
    try:
        model = adapter.load(path, floating)
    except ValueError:
        with pytest.raises(ModelError):  # what Pinocchio refuses, we refuse by name
            load(path, floating=floating)
        return
    if model.nv == 0:
        with pytest.raises(ModelError, match="no movable joint"):
            load(path, floating=floating)
        return
    robot = load(path, floating=True if floating else None)
    data = model.createData()
    q, v, a = random_state(robot, np.random.default_rng(0), (4,))
    Y, tau = regressor(robot, q, v, a), inverse_dynamics(robot, q, v, a)
    for k in range(4):
        expected = adapter.regressor(model, data, robot, q[k], v[k], a[k])
        difference = np.abs(Y[k] - expected).max() / np.abs(expected).max()
        record_property("difference from Pinocchio", float(difference))
        assert difference <= 1e-10
        torque = adapter.inverse_dynamics(model, data, robot, q[k], v[k], a[k])
        assert np.abs(tau[k] - torque).max() <= 1e-10 * np.abs(torque).max()
    # attachments are lumped into the same bodies
    for i, joint in enumerate(robot.body_joints):
        index = model.getJointId(adapter._pin_name(robot.joints[joint].name))
        theirs = np.asarray(model.inertias[index].toDynamicParameters())
        assert np.abs(robot.inertias[i] - theirs).max() <= 1e-10 * max(np.abs(theirs).max(), 1e-3)


def test_a_wrong_gravity_is_seen():
    path = next(p for p in URDFS if p.stem == "panda")
    model = adapter.load(path, False)
    robot = load(path, gravity=(0, 0, -9.80))
    q, v, a = random_state(robot, np.random.default_rng(1))
    torque = adapter.inverse_dynamics(model, model.createData(), robot, q, v, a)
    assert np.abs(inverse_dynamics(robot, q, v, a) - torque).max() > 1e-4
    assert pin.__version__
