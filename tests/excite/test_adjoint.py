"""Gradients of regressor sums against Pinocchio's derivatives of inverse dynamics and against differences."""

import numpy as np
import pinocchio as pin
import pytest

import steelyard as sy
from steelyard.dynamics.kinematics import motion
from steelyard.dynamics.regressor import regressor_rows
from steelyard.excite.adjoint import body_twists, regressor_gradient, twist_gradient

MIMIC = """<robot name="hand"><link name="world"/>
{links}
<joint name="slide" type="prismatic"><parent link="world"/><child link="a"/><axis xyz="0.6 0 0.8"/>
  <origin xyz="0.1 0.2 0.3" rpy="0.3 -0.2 0.5"/><limit lower="-1" upper="1" effort="10" velocity="1"/></joint>
<joint name="turn" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/><origin xyz="0.2 0 0.1"/>
  <limit lower="-1" upper="1" effort="10" velocity="1"/></joint>
<joint name="follow" type="revolute"><parent link="b"/><child link="c"/><axis xyz="1 0 0"/><origin xyz="0 0.3 0"/>
  <mimic joint="turn" multiplier="-0.7" offset="0.2"/><limit lower="-1" upper="1" effort="10" velocity="1"/></joint>
</robot>"""


@pytest.fixture
def hand(tmp_path):
    inertia = '<inertia ixx="0.02" iyy="0.03" izz="0.02" ixy="0.001" ixz="0" iyz="0.002"/>'
    link = '<link name="{}"><inertial><mass value="1.5"/><origin xyz="0.05 0.02 0.1"/>' + inertia + "</inertial></link>"
    path = tmp_path / "hand.urdf"
    path.write_text(MIMIC.format(links="".join(link.format(name) for name in "abc")))
    return sy.load(path)


@pytest.mark.parametrize("which", ["puma", "mimic and slide"])
def test_the_gradient_is_that_of_differences(which, hand):
    robot = sy.library.puma560() if which == "puma" else hand
    rng = np.random.default_rng(1)
    q, v, a, dq, dv, da = rng.normal(size=(6, robot.nv, 4))
    Z = rng.normal(size=(robot.nv, 10 * robot.nb, 4))
    found = regressor_gradient(robot, q, v, a, Z)
    step = 1e-5
    for direction, slope in (((dq, 0, 0), found.q * dq), ((0, dv, 0), found.v * dv), ((0, 0, da), found.a * da)):
        ends = [
            np.sum(
                Z * regressor_rows(robot, *(x + s * d for x, d in zip((q, v, a), direction, strict=True))), axis=(0, 1)
            )
            for s in (step, -step)
        ]
        np.testing.assert_allclose(slope.sum(axis=0), (ends[0] - ends[1]) / (2 * step), rtol=1e-6, atol=1e-6)


def test_with_weights_of_one_model_it_is_pinocchios_derivative_of_inverse_dynamics():
    robot = sy.library.puma560()
    model = pin.buildModelFromUrdf(str(robot.source.path))
    data = model.createData()
    rng = np.random.default_rng(3)
    q, v, a, pull = rng.normal(size=(4, robot.nv, 5))
    found = regressor_gradient(robot, q, v, a, pull[:, None] * robot.inertias.ravel()[:, None])
    for k in range(5):
        by_q, by_v, by_a = pin.computeRNEADerivatives(model, data, q[:, k], v[:, k], a[:, k])
        inertia = np.triu(by_a) + np.triu(by_a, 1).T - np.diag(model.armature)
        np.testing.assert_allclose(found.q[:, k], pull[:, k] @ by_q, atol=1e-9)
        np.testing.assert_allclose(found.v[:, k], pull[:, k] @ by_v, atol=1e-9)
        np.testing.assert_allclose(found.a[:, k], pull[:, k] @ inertia, atol=1e-9)
        assert np.abs(found.q[:, k] - by_q @ pull[:, k]).max() > 1e-3  # the transpose is another thing


def test_twists_of_bodies_have_the_same_gradient_as_differences_along_the_motion():
    robot = sy.library.puma560()
    rng = np.random.default_rng(2)
    q, v = rng.normal(size=(2, robot.nv, 3))
    pull = rng.normal(size=(6, robot.nb, 3))
    still = np.zeros_like(q)

    def total(q, v):
        return np.sum(pull * body_twists(motion(robot, q, v, still)))

    by_q, by_v = twist_gradient(robot, motion(robot, q, v, still), pull)
    dq, dv = rng.normal(size=(2, robot.nv, 3))
    step = 1e-6
    slope = (total(q + step * dq, v + step * dv) - total(q - step * dq, v - step * dv)) / (2 * step)
    assert slope == pytest.approx(np.sum(by_q * dq) + np.sum(by_v * dv), rel=1e-7)
