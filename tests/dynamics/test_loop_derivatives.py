"""Derivatives of closed-loop torques by geometry, cut joints included: against differences of moved robots, MuJoCo's
bodies moved by hand, and automatic differentiation of a five-bar's own equations."""

import numpy as np
import pytest

import steelyard as sy
from mujoco_loops import hold_still, model_with_loops, motion_and_torque
from random_loops import moved, robot_closed_at, slope
from steelyard.dynamics.closed_loop import derivatives as module
from steelyard.errors import LoopError, OptionError
from steelyard.model import library
from steelyard.spatial import adjoint

TOLERANCE, SIZE = 1e-7, 0.5


def independent_states(robot, count, seed=0):
    rng = np.random.default_rng(seed)
    size = (count, len(robot.actuated))
    return rng.uniform(-SIZE, SIZE, size), 2 * rng.normal(size=size), 5 * rng.normal(size=size)


def numeric(robot, state, changes, actuated, external=None):
    """The same of the library's torques along changes (joints, placements, closures), at independent joints held."""

    def torque(step):
        other = moved(robot, *(step * x for x in changes))
        return sy.closed_loop.inverse_dynamics(other, *state, actuated=actuated, external=external)

    return slope(torque)


def random_changes(robot, rng):
    return [rng.normal(size=shape) for shape in ((robot.nj, 6), (robot.nj, 6), (len(robot.loops), 2, 6))]


def along(found, joints, placements, closures):
    return found.along(joints=joints, placements=placements, closures=closures)


def close(found, expected, tolerance=TOLERANCE):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max()))


def independent_joints(robot):
    return tuple(dict.fromkeys(name.split("[")[0] for name in sy.closed_loop.independent(robot)))


SPATIAL = (
    (16, "hinge"),
    (28, "cylinder"),
    (14, "connect"),
    (6, "slide"),
    (5, "cylinder"),
    (6, "hinge"),
    (8, "cylinder"),
)


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize(("seed", "kind"), SPATIAL)
def test_random_spatial_loops(seed, kind):
    """Trees of six links with prismatic, planar, free and mimic joints, closed by each kind of loop; no equation is
    redundant, so that every change of geometry can be followed."""
    robot, q = robot_closed_at(seed, kind)
    rng, names = np.random.default_rng(seed), independent_joints(robot)
    v, a = rng.normal(size=(2, 1, robot.nv))
    external = {robot.body_names[-1]: rng.normal(size=(1, 6))}
    found = sy.closed_loop.inverse_dynamics_derivatives(robot, q, v, a, actuated=names, external=external)
    changes = random_changes(robot, rng)
    changes[0][[joint.nv != 1 for joint in robot.joints]] = 0  # moved() turns axes of one degree
    for kept in ((0,), (1,), (2,), (0, 1, 2)):
        some = [x if k in kept else 0 * x for k, x in enumerate(changes)]
        close(along(found, *some), numeric(robot, (found.at.q, v, a), some, names, external))
    entries = [np.tensordot(x, c, c.ndim) for x, c in zip(parts(found), changes, strict=True)]
    close(sum(entries), along(found, *changes), 1e-12)
    weights = rng.normal(size=(1, len(sy.closed_loop.independent(robot, actuated=names))))
    pulled = found.vjp(weights)
    gradients = pulled.twist, pulled.placement, pulled.closure, pulled.cut
    for gradient, rows in zip(gradients, (*parts(found), found.dtau_dcut), strict=True):
        close(gradient, np.einsum("ni,ni...->n...", weights, rows), 1e-12)


def parts(found):
    return found.dtau_djoint, found.dtau_dplacement, found.dtau_dclosure


def wrong_without_closure(found, joints, placements, closures):
    """What the open tree's derivatives give on the motors."""
    tree = sy.inverse_dynamics_derivatives(found.robot, found.at.q, found.at.v, found.at.a)
    held = np.tensordot(tree.dtau_djoint, joints, 2) + np.tensordot(tree.dtau_dplacement, placements, 2)
    return np.einsum("nik,ni->nk", found.at.transmission.gamma, held)


def test_what_is_left_out_shows(monkeypatch):
    """Neither the closure's own motion nor the work of its forces may be dropped."""
    robot, q = robot_closed_at(16, "hinge")
    rng, names = np.random.default_rng(1), independent_joints(robot)
    v, a = rng.normal(size=(2, 1, robot.nv))
    changes = random_changes(robot, rng)
    changes[0][[joint.nv != 1 for joint in robot.joints]] = 0
    found = sy.closed_loop.inverse_dynamics_derivatives(robot, q, v, a, actuated=names)
    expected = numeric(robot, (found.at.q, v, a), changes, names)
    close(along(found, *changes), expected)
    size = np.abs(expected).max()
    assert np.abs(wrong_without_closure(found, *changes) - expected).max() > 1e-2 * size
    monkeypatch.setattr(module, "constraint_power", lambda *_: 0.0)
    forceless = sy.closed_loop.inverse_dynamics_derivatives(robot, q, v, a, actuated=names)
    assert np.abs(along(forceless, *changes) - expected).max() > 1e-2 * size


def _kept(axis, name):
    """(6, 6) keeps turns about the common point of the spherical five-bar, or motions in the plane across an axis."""
    along, out = np.outer(axis, axis), np.zeros((6, 6))
    out[:3, :3], out[3:, 3:] = (np.zeros((3, 3)), np.eye(3)) if name == "five_bar" else (np.eye(3) - along, along)
    return out


@pytest.mark.parametrize("name", ["five_bar", "four_bar_leg"])
def test_linkages_with_redundant_equations(name):
    """What a spherical and a planar linkage can follow is right, and what opens them is NaN and refused."""
    robot, rng = getattr(library, name)(), np.random.default_rng(0)
    state = independent_states(robot, 2)
    found = sy.closed_loop.inverse_dynamics_derivatives(robot, *state)
    axis, along_z = robot.joints[0].subspace[3:, 0], np.array([0.0, 0.0, 1.0])
    can, closure_can = (_kept(x, name) for x in (axis, along_z))
    changes = [x @ each for x, each in zip(random_changes(robot, rng), (can, can, closure_can), strict=True)]
    state = (found.at.q, *state[1:])
    close(along(found, *changes), numeric(robot, state, changes, None))
    cut = rng.normal(size=(len(robot.loops), 6)) @ closure_can
    both = [0 * changes[0], 0 * changes[1], np.repeat(cut[:, None], 2, axis=1)]
    close(found.along(cut=cut), numeric(robot, state, both, None))
    followed = (np.abs(closure_can).sum(axis=0) > 0).tolist()
    closures = np.isfinite(found.dtau_dclosure)
    assert closures[..., followed].all()
    close(np.where(np.isfinite(found.dtau_dcut), found.dtau_dcut, 0) @ cut[0], found.along(cut=cut)[..., None], 1e-9)
    assert np.isnan(found.dtau_dclosure).any() and np.isnan(found.dtau_dplacement).any()
    opens = rng.normal(size=(len(robot.loops), 2, 6))
    with pytest.raises(LoopError, match="redundant equations"):
        found.along(closures=opens)


def test_moving_the_whole_linkage_is_followed_though_no_joint_alone_is():
    """A tilt of the ground: both joints on it in one, each of which would open the loop."""
    robot = library.four_bar_leg()
    on_ground = np.flatnonzero(robot.parents < 0)
    state = independent_states(robot, 2)
    found = sy.closed_loop.inverse_dynamics_derivatives(robot, *state)
    tilt, placements = np.array([0.3, -0.2, 0.1, 0.5, 0.4, -0.7]), np.zeros((robot.nj, 6))
    for j in on_ground:
        joint = robot.joints[j]
        placements[j] = np.linalg.inv(adjoint(joint.rotation, joint.position)) @ tilt
    gravity = np.cross(tilt[3:], robot.gravity)  # seen from the ground, gravity turns the other way
    close(found.along(placements=placements), -found.dtau_dgravity @ gravity, 1e-9)


def test_mujocos_bodies_moved_by_hand():
    """Places of joints and of the closure in the plane, inertias with them, in MuJoCo's own model."""
    robot = library.four_bar_leg()
    (q,), (v,), (a,) = independent_states(robot, 1)
    found = sy.closed_loop.inverse_dynamics_derivatives(robot, q, v, a)
    driven = [robot.joint_names.index(name) for name in robot.actuated]
    axis = robot.joints[0].subspace[3:, 0]
    rng = np.random.default_rng(2)
    shifts = rng.normal(size=(robot.nj, 3)) @ (np.eye(3) - np.outer(axis, axis))
    anchor = rng.normal(size=3) @ (np.eye(3) - np.outer(axis, axis))
    placements, closures = np.zeros((robot.nj, 6)), np.zeros((1, 2, 6))
    placements[:, :3] = shifts
    closures[0, 0, :3] = robot.loops[0].rotations[0].T @ anchor

    def torque(step):
        spec = model_with_loops(robot)
        m = hold_still(spec.compile())
        for i, name in enumerate(robot.body_names):
            body = m.body(name).id
            m.body_pos[body] += step * robot.joints[robot.body_joints[i]].rotation @ shifts[robot.body_joints[i]]
        for i in range(m.neq):
            m.eq_data[i, :3] += step * anchor
        other = moved(robot, np.zeros((robot.nj, 6)), step * placements, step * closures)
        closed = sy.closed_loop.tree_state(other, found.at.q[0], v, a)[0]
        return motion_and_torque(m, closed, v, a, driven)[2]

    expected = slope(torque)
    close(found.along(placements=placements, closures=closures), expected, 1e-6)


@pytest.mark.parametrize("batch", [(), (1,), (3, 1, 2)])
def test_batch_shapes(batch):
    robot = library.five_bar()
    q, v, a = (x.reshape(*batch, -1) for x in independent_states(robot, int(np.prod(batch))))
    found = sy.closed_loop.inverse_dynamics_derivatives(robot, q, v, a)
    ni, nj, nv = len(robot.actuated), robot.nj, robot.nv
    assert found.dtau_dq.shape == (*batch, ni, ni) and found.dtau_dgravity.shape == (*batch, ni, 3)
    assert found.dtau_djoint.shape == (*batch, ni, nj, 6) and found.dtau_dtwist.shape == (*batch, ni, nv, 6)
    assert found.dtau_dclosure.shape == (*batch, ni, 1, 2, 6) and found.dtau_dcut.shape == (*batch, ni, 1, 6)
    assert found.along(cut=np.zeros((5, 1, 6))).shape == (*batch, ni, 5)
    close(found.tau, sy.closed_loop.inverse_dynamics(robot, q, v, a), 1e-12)
    pulled = found.vjp(np.ones((*batch, ni)))
    assert pulled.theta.shape == (*batch, robot.nb, 10) and pulled.closure.shape == (*batch, 1, 2, 6)
    close(pulled.theta.reshape(*batch, -1), sy.closed_loop.regressor(robot, q, v, a).sum(axis=-2), 1e-12)
    first = tuple(x[(0,) * len(batch)] for x in (q, v, a))
    alone = sy.closed_loop.inverse_dynamics_derivatives(robot, *first).dtau_dclosure
    np.testing.assert_allclose(found.dtau_dclosure[(0,) * len(batch)], alone, atol=1e-12)


def test_refusals():
    robot = library.five_bar()
    found = sy.closed_loop.inverse_dynamics_derivatives(robot, *independent_states(robot, 2))
    for given in ({}, {"cut": np.zeros(6)}, {"cut": np.zeros((1, 6)), "closures": np.zeros((2, 1, 2, 6))}):
        with pytest.raises(OptionError):
            found.along(**given)
    with pytest.raises(OptionError, match="one a torque"):
        found.vjp(np.ones(3))
