"""Gradients of regressor sums against Pinocchio's derivatives of inverse dynamics and against differences."""

import numpy as np
import pinocchio as pin
import pytest

import steelyard as sy
from steelyard.dynamics.kinematics import motion
from steelyard.excite.adjoint import body_twists, twist_gradient
from steelyard.excite.measured_rows import regression_of
from steelyard.identifiable import regression_basis
from steelyard.information import accumulate
from steelyard.information.row_kinds import sensors_of
from steelyard.terms import COULOMB_WIDTH, layout_of

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


def _regression(robot, kinds=("joints",)):
    layout = layout_of(robot, friction=("viscous", "coulomb", "offset"), armature=True)
    basis = regression_basis(robot, layout, sensors_of(robot, kinds))
    return regression_of(robot, layout, basis, COULOMB_WIDTH, kinds)


@pytest.mark.parametrize("kinds", [("joints",), ("joints", "base"), ("base", "wrench:{}")])
@pytest.mark.parametrize("which", ["puma", "mimic and slide"])
def test_the_gradient_is_that_of_differences(which, kinds, hand):
    robot = sy.library.puma560() if which == "puma" else hand
    plan = _regression(robot, tuple(kind.format(robot.body_names[1]) for kind in kinds))
    rng = np.random.default_rng(1)
    q, v, a, dq, dv, da = rng.normal(size=(6, robot.nv, 4))
    F = rng.normal(size=(plan.basis.count, plan.basis.count))
    F, weights, pull = F + F.T, rng.uniform(1, 2, plan.axes.rows), rng.normal(size=(plan.axes.rows, 4))

    def total(*state):
        rows = plan.at(*state)
        return np.sum(F * rows.gram(weights)) + np.sum(pull * rows.forces)

    rows = plan.at(q, v, a)
    found = rows.gradient(rows.gram_gradient(F, weights), pull)
    step = 1e-5
    for direction, slope in (((dq, 0, 0), found.q * dq), ((0, dv, 0), found.v * dv), ((0, 0, da), found.a * da)):
        ends = [total(*(x + s * d for x, d in zip((q, v, a), direction, strict=True))) for s in (step, -step)]
        assert slope.sum() == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-6)


@pytest.mark.parametrize("kinds", [("joints",), ("joints", "base"), ("base", "wrench:c")])
def test_rows_are_those_that_information_adds(kinds, hand):
    plan = _regression(hand, kinds)
    rng = np.random.default_rng(4)
    q, v, a = rng.normal(size=(3, hand.nv, 50))
    rows = plan.at(q, v, a)
    wrenches = {"base": np.zeros((50, 6)), "c": np.zeros((50, 6))}
    log = sy.Log(t=np.arange(50.0), q=q.T, v=v.T, a=a.T, tau=0 * q.T, joint_names=hand.joint_names, wrenches=wrenches)
    info = accumulate(hand, log, rows=kinds, armature=True)
    np.testing.assert_array_equal(info.columns, plan.basis.columns)
    np.testing.assert_allclose(rows.gram(np.ones(plan.axes.rows)), info.G, atol=1e-9 * np.abs(info.G).max())
    flat = rows.dense().reshape(plan.basis.count, -1)
    np.testing.assert_allclose(flat @ flat.T, info.G, atol=1e-9 * np.abs(info.G).max())


def test_with_weights_of_one_model_it_is_pinocchios_derivative_of_inverse_dynamics():
    robot = sy.library.puma560().with_joint_properties(
        armature=np.zeros(6), damping=np.zeros(6), frictionloss=np.zeros(6)
    )
    model = pin.buildModelFromUrdf(str(robot.source.path))
    data = model.createData()
    rng = np.random.default_rng(3)
    q, v, a, pull = rng.normal(size=(4, robot.nv, 5))
    plan = _regression(robot)
    rows = plan.at(q, v, a)
    found = rows.gradient(rows.gram_gradient(np.zeros((plan.basis.count,) * 2), np.ones(robot.nv)), pull)
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
