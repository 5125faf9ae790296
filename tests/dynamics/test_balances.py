"""Energy, momentum, power and base wrench: against Pinocchio, automatic differentiation and the torque regressor."""

import jax
import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

import pinocchio_adapter as adapter
import steelyard as sy
from robots import random_state, urdf
from steelyard.errors import OptionError

pytestmark = pytest.mark.claim("information.engines")


@pytest.fixture(scope="module", params=["ur5_robot", "anymal"])
def robot(request):
    return sy.load(urdf(request.param), floating=True if request.param == "anymal" else None)


@pytest.mark.parametrize("batch", [(), (1,), (3, 1, 2)])
def test_batch_shapes(robot, batch):
    q, v, a = random_state(robot, np.random.default_rng(0), batch)
    assert sy.energy_regressor(robot, q, v).shape == (*batch, 10 * robot.nb)
    assert sy.power_regressor(robot, q, v, a).shape == (*batch, 10 * robot.nb)
    assert sy.momentum_regressor(robot, q, v).shape == (*batch, robot.nv, 10 * robot.nb)
    assert sy.base_wrench_regressor(robot, q, v, a).shape == (*batch, 6, 10 * robot.nb)


def test_energies_and_momentum_of_pinocchio():
    path = urdf("ur5_robot")
    robot, model = sy.load(path), adapter.load(path, False)
    data = model.createData()
    q, v, _ = random_state(robot, np.random.default_rng(1))
    theta = robot.inertias.ravel()
    assert robot.joint_names == tuple(model.names)[1:]
    kinetic = sy.energy_regressor(robot, q, v, kind="kinetic") @ theta
    assert kinetic == pytest.approx(pin.computeKineticEnergy(model, data, q, v), rel=1e-12)
    potential = sy.energy_regressor(robot, q, v, kind="potential") @ theta
    assert potential == pytest.approx(pin.computePotentialEnergy(model, data, q), rel=1e-12)
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    np.testing.assert_allclose(sy.momentum_regressor(robot, q, v) @ theta, M @ v, atol=1e-12)


@pytest.mark.exhaustive
def test_energy_gives_momentum_and_torque_by_differentiation():
    """p = dT/dv, the drift dL/dq, and tau = d/dt p - dL/dq along the motion (Lagrange)."""
    robot = sy.load(urdf("ur5_robot"))
    q, v, a = random_state(robot, np.random.default_rng(2))
    with jax.enable_x64(True):
        q, v, a = (jax.numpy.asarray(x) for x in (q, v, a))

        def lagrangian(q, v):
            kinetic, potential = (sy.energy_regressor(robot, q, v, kind=kind) for kind in ("kinetic", "potential"))
            return kinetic - potential

        momentum = jax.jacobian(lagrangian, argnums=1)(q, v)
        np.testing.assert_allclose(np.asarray(momentum).T, sy.momentum_regressor(robot, q, v), atol=1e-12)
        rate = jax.jvp(lambda q, v: sy.momentum_regressor(robot, q, v), (q, v), (v, a))[1]
        drift = np.asarray(jax.jacobian(lagrangian)(q, v)).T
        np.testing.assert_allclose(drift, sy.momentum_drift_regressor(robot, *map(np.asarray, (q, v))), atol=1e-11)
        torque = np.asarray(rate) - drift
        np.testing.assert_allclose(torque, sy.regressor(robot, q, v, a), atol=1e-11)


def test_power_is_the_rate_of_energy():
    robot = sy.load(urdf("ur5_robot"))
    q, v, a = random_state(robot, np.random.default_rng(3))
    h = 1e-5
    ahead, behind = (sy.energy_regressor(robot, q + s * v * h + a * h * h / 2, v + s * a * h) for s in (1, -1))
    np.testing.assert_allclose(sy.power_regressor(robot, q, v, a), (ahead - behind) / (2 * h), atol=1e-6)


def test_base_wrench_is_the_force_on_a_free_base():
    """The rows of a free joint are the base wrench, in the base's axes at its origin."""
    robot = sy.load(urdf("anymal"), floating=True)
    q, v, a = random_state(robot, np.random.default_rng(4))
    wrench = sy.base_wrench_regressor(robot, q, v, a)
    x, y, z, w = q[3:7]
    R = np.array(pin.Quaternion(w, x, y, z).toRotationMatrix())
    force, moment = wrench[:3], wrench[3:] - np.cross(q[:3], wrench[:3], axisb=0, axisc=0)
    np.testing.assert_allclose(sy.regressor(robot, q, v, a)[:6], np.concatenate([R.T @ force, R.T @ moment]), atol=1e-9)


def test_unknown_energy(robot):
    q, v, _ = random_state(robot, np.random.default_rng(5))
    with pytest.raises(OptionError, match="kinetic, potential, total"):
        sy.energy_regressor(robot, q, v, kind="free")


FIXED = """<robot name="held"><link name="base"/>
  <link name="arm"><inertial><origin xyz="0.3 0.1 0.2"/><mass value="2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <link name="sensor"/>
  <joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="9" velocity="9"/></joint>
  <joint name="f" type="fixed"><origin xyz="0.5 -0.1 0.2" rpy="0.4 0.2 1.2"/><parent link="arm"/><child link="sensor"/>
  </joint></robot>"""


def test_a_sensor_that_is_turned_and_moved_on_its_body(tmp_path):
    """At rest it holds the weight: in its axes, about its origin."""
    path = tmp_path / "held.urdf"
    path.write_text(FIXED)
    robot = sy.load(path)
    still = np.zeros(1)
    found = sy.wrench_regressor(robot, np.array([0.6]), still, still, "sensor") @ robot.inertias.ravel()
    arm, own = Rotation.from_euler("y", 0.6), Rotation.from_euler("xyz", [0.4, 0.2, 1.2])
    force = (arm * own).inv().apply([0, 0, 2 * 9.81])
    lever = own.inv().apply(np.array([0.3, 0.1, 0.2]) - [0.5, -0.1, 0.2])
    np.testing.assert_allclose(found, [*force, *np.cross(lever, force)], atol=1e-9)
