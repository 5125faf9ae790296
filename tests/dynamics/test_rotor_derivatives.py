"""Derivatives of torques with spinning rotors, on trees and in loops, and chains from torque to meshes of a linkage."""

from dataclasses import replace

import jax
import mujoco
import numpy as np
import pytest
import trimesh

import steelyard as sy
from mujoco_loops import hold_still, model_with_loops, motion_and_torque
from random_loops import pose, slope
from random_trees import random_tree
from robots import random_state
from steelyard.dynamics.gradients import geometry_gradient, with_parts
from steelyard.errors import OptionError
from steelyard.inertia import Part, from_com_inertia
from steelyard.information import accumulate
from steelyard.model import library
from steelyard.model.rotor import Rotor


def close(found, expected, tolerance=1e-7):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max()))


def with_moved_rotor(robot, index, xi):
    rotor, (R, p) = robot.rotors[index], pose(xi)
    turned = rotor.rotation @ R
    changed = replace(
        rotor, rotation=turned, position=rotor.position + rotor.rotation @ p, axis=turned @ rotor.own_axis
    )
    return replace(robot, rotors=(*robot.rotors[:index], changed, *robot.rotors[index + 1 :]))


@pytest.mark.parametrize("seed", range(4))
def test_trees_with_rotors(seed):
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, multi=False)
    while not robot.rotors:
        robot = random_tree(rng, multi=False)
    rotors = tuple(
        replace(rotor, theta=from_com_inertia(np.array(1.2), rng.normal(size=3), np.diag([1.0, 1.2, 1.5])))
        for rotor in robot.rotors
    )
    robot = replace(robot, rotors=rotors)
    q, v, a = random_state(robot, rng, (2,))
    found = sy.inverse_dynamics_derivatives(robot, q, v, a, rotors=True)
    names = [joint.name for joint in found.robot.joints]
    for r, rotor in enumerate(robot.rotors):
        xi, j = rng.normal(size=6), names.index(rotor.name)
        expected = slope(lambda h, r=r, xi=xi: torque(with_moved_rotor(robot, r, h * xi), q, v, a))
        close(found.dtau_dplacement[..., j, :] @ xi, expected)
    close(found.tau, torque(robot, q, v, a), 1e-12)
    step = rng.normal(size=robot.nv)
    close(found.dtau_dq @ step, slope(lambda h: torque(robot, q + h * step, v, a)))
    close(found.dtau_dv @ step, slope(lambda h: torque(robot, q, v + h * step, a)))
    close(found.dtau_da @ step, torque(robot, q, v, a + step) - torque(robot, q, v, a), 1e-9)
    theta = found.robot.inertias.ravel()
    close(found.dtau_dtheta @ theta + robot.armature * a, torque(robot, q, v, a), 1e-9)
    without = sy.inverse_dynamics_derivatives(robot, q, v, a)
    assert np.abs(without.dtau_da - found.dtau_da).max() > 1e-3


def torque(robot, q, v, a):
    return sy.inverse_dynamics(robot, q, v, a, rotors=True)


@pytest.mark.exhaustive
def test_gradients_with_rotors_in_jax():
    robot = five_bar_with_motors()
    state, weights = random_state(robot, np.random.default_rng(3), (2,)), np.arange(8.0).reshape(2, 4)
    found = sy.inverse_dynamics_derivatives(robot, *state, rotors=True).vjp(weights)
    with jax.enable_x64(True):
        arrays = [jax.numpy.asarray(x) for x in state]
        value = lambda *x: (weights * sy.inverse_dynamics(robot, *x, rotors=True)).sum()  # noqa: E731
        for mine, theirs in zip((found.q, found.v, found.a), jax.grad(value, (0, 1, 2))(*arrays), strict=True):
            close(mine, np.asarray(theirs), 1e-9)
        pulled = sy.inverse_dynamics_derivatives(robot, *arrays, rotors=True).vjp(jax.numpy.asarray(weights))
        assert isinstance(pulled.theta, jax.Array)
        for name in ("twist", "placement", "theta"):
            close(np.asarray(getattr(pulled, name)), getattr(found, name), 1e-9)


def five_bar_with_motors():
    """One motor on the ground, and one inside the loop: it rides on the first link and drives its passive joint."""
    robot, tilted = library.five_bar(), np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    tilted = tilted * np.linalg.det(tilted)
    rotors = []
    for name, carrier, gear, R in (("joint4", None, 6.0, np.eye(3)), ("joint2", "link1", -9.0, tilted)):
        axis = robot.joints[robot.joint_names.index(name)].subspace[3:, 0]
        theta = from_com_inertia(np.array(0.4), R.T @ (0.1 * axis), np.diag([3e-4, 4e-4, 5e-4]))
        rotors.append(Rotor(name, gear, carrier, axis, R, np.array([0.02, 0.05, 0.1]), theta, symmetric=False))
    return replace(robot, rotors=tuple(rotors))


def test_motors_inside_a_loop_are_identified():
    """Sums, counts and fits with rotors as bodies: torques of a record are explained only with them, to rounding."""
    robot, still = five_bar_with_motors(), np.zeros(4)
    robot = robot.with_joint_properties(armature=still, damping=still, frictionloss=still)
    symmetric = replace(robot, rotors=tuple(replace(rotor, symmetric=True) for rotor in robot.rotors))
    for each, more in ((robot, 1), (symmetric, 1)):
        whole, links = (sy.identifiability(each, motors=motors).count for motors in (True, False))
        assert whole >= links + more
        layout = sy.terms.layout_of(each, rotors=True)
        assert sy.identifiable.regression_basis(each, layout).count == whole
    q, v, a = states(robot, 300, seed=1)
    tau = sy.closed_loop.inverse_dynamics(robot, q, v, a, rotors=True)
    log = sy.Log(t=0.01 * np.arange(300), q=q, v=v, a=a, tau=tau, joint_names=robot.actuated)
    options = {"friction": (), "armature": False}
    for columns in ("base", "all"):
        info = accumulate(robot, log, rotors=True, columns=columns, **options)
        theta = np.concatenate([robot.inertias.ravel(), *(rotor.theta for rotor in robot.rotors)])
        true = theta if columns == "all" else info.basis.regroup(theta)
        assert (info.residual_energy(true) <= 1e-13 * info.energy).all()
    found = sy.fit.consistent(accumulate(robot, log, rotors=True, **options))
    assert sy.validate(found, log).relative_error < 1e-6
    without = sy.fit.consistent(accumulate(robot, log, **options))
    assert sy.validate(without, log).relative_error > 1e-3


def states(robot, count, seed=0):
    rng = np.random.default_rng(seed)
    size = (count, len(robot.actuated))
    return rng.uniform(-0.4, 0.4, size), 2 * rng.normal(size=size), 5 * rng.normal(size=size)


def test_motors_inside_a_loop_are_mujocos_geared_bodies():
    robot = five_bar_with_motors()
    spec = model_with_loops(robot)
    for rotor in robot.rotors:
        parent = spec.worldbody if rotor.carrier is None else spec.body(rotor.carrier)
        mass, com, inertia = sy.inertia.to_com_inertia(rotor.theta)
        quat = np.empty(4)
        mujoco.mju_mat2Quat(quat, rotor.rotation.ravel())
        full = [inertia[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
        body = parent.add_body(name=rotor.name, pos=rotor.position, quat=quat)
        body.mass, body.ipos, body.fullinertia, body.explicitinertial = mass, com, full, True
        body.add_joint(name=rotor.name, type=mujoco.mjtJoint.mjJNT_HINGE, axis=rotor.own_axis)
        gear = spec.add_equality(name=rotor.name, type=mujoco.mjtEq.mjEQ_JOINT)
        gear.name1, gear.name2, gear.objtype = rotor.name, rotor.joint, mujoco.mjtObj.mjOBJ_JOINT
        gear.data[:2] = 0.0, rotor.gear_ratio
    m = hold_still(spec.compile())
    q, v, a = states(robot, 3)
    tau = sy.closed_loop.inverse_dynamics(robot, q, v, a, rotors=True)
    full = sy.closed_loop.tree_state(robot, q, v, a)[0]
    place = {m.joint(i).name: i for i in range(m.njnt)}
    driven = [place[name] for name in robot.actuated]
    for k in range(3):
        everything = np.zeros(m.nq)
        for name, value in zip(robot.joint_names, full[k], strict=True):
            everything[place[name]] = value
        for rotor in robot.rotors:
            everything[place[rotor.name]] = rotor.gear_ratio * everything[place[rotor.joint]]
        close(tau[k], motion_and_torque(m, everything, v[k], a[k], driven)[2])
    assert np.abs(tau - sy.closed_loop.inverse_dynamics(robot, q, v, a)).max() > 0.1


def test_derivatives_with_motors_inside_a_loop():
    robot, rng = five_bar_with_motors(), np.random.default_rng(1)
    state = states(robot, 2)
    found = sy.closed_loop.inverse_dynamics_derivatives(robot, *state, rotors=True)
    whole, weights = found.robot, rng.normal(size=(2, 2))

    def value(other, *changed):
        return sy.closed_loop.inverse_dynamics(other, *(changed or state), rotors=True)

    names = [joint.name for joint in whole.joints]
    for r, rotor in enumerate(robot.rotors):
        xi = rng.normal(size=6)
        rows = found.dtau_dplacement[..., names.index(rotor.name), :] @ xi
        close(rows, slope(lambda h, r=r, xi=xi: value(with_moved_rotor(robot, r, h * xi))))
    step = rng.normal(size=2)
    for i, rows in enumerate((found.dtau_dq, found.dtau_dv, found.dtau_da)):
        moved = lambda h, i=i: [x + (k == i) * h * step for k, x in enumerate(state)]  # noqa: E731
        close(rows @ step, slope(lambda h, at=moved: value(robot, *at(h))))
    pulled = found.vjp(weights)
    rotor = whole.body_index(robot.rotors[1].name)
    change = rng.normal(size=10)
    heavier = [
        replace(robot, rotors=(robot.rotors[0], replace(robot.rotors[1], theta=robot.rotors[1].theta + s * change)))
        for s in (1, -1)
    ]
    expected = np.sum(weights * (value(heavier[0]) - value(heavier[1])), axis=1) / 2
    close(pulled.theta[:, rotor] @ change, expected, 1e-9)


def test_from_torque_to_the_mesh_of_a_linkage():
    robot, rng = library.five_bar(), np.random.default_rng(2)
    shape = trimesh.creation.box([0.3, 0.04, 0.05])
    part = Part(np.array(shape.vertices), np.array(shape.faces), 2700.0, origin=np.array([0.05, 0.02, 0.1]))
    state, weights = states(robot, 3), rng.normal(size=(3, 2))

    def value(piece):
        made = with_parts(robot, {"link3": (piece,)})
        return np.sum(weights * sy.closed_loop.inverse_dynamics(made, *state))

    parts = {"link3": (part,)}
    made = with_parts(robot, parts)
    pulled = sy.closed_loop.inverse_dynamics_derivatives(made, *state).vjp(weights)
    found = geometry_gradient(made, parts, pulled).parts["link3"][0]
    direction = rng.normal(size=part.vertices.shape)
    expected = slope(lambda h: value(replace(part, vertices=part.vertices + h * direction)))
    close(np.sum(found.vertices * direction), expected)
    close(found.density, slope(lambda h: value(replace(part, density=part.density + 1e3 * h))) / 1e3)
    shift = rng.normal(size=3)
    close(found.pose[:3] @ shift, slope(lambda h: value(replace(part, origin=part.origin + h * shift))))


def test_refusals():
    robot = five_bar_with_motors()
    external, state = {"link1": np.zeros(6)}, np.zeros((3, 2))
    with pytest.raises(OptionError, match="rotors=True"):
        sy.closed_loop.inverse_dynamics_derivatives(robot, *state, rotors=True, external=external)
    with pytest.raises(OptionError, match="rotors=True"):
        sy.inverse_dynamics_derivatives(robot, *np.zeros((3, 4)), rotors=True, external=external)
