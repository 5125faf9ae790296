"""Jacobians and motion of frames, and wrenches from outside, against Pinocchio, MuJoCo and complex steps."""

import jax
import mujoco
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given

import complex_step
import pinocchio_adapter as adapter
import steelyard as sy
from mujoco_models import inverse_forces, rigid_body_model
from properties import tried
from random_robots import seeds, urdf_text
from robots import random_state, urdf
from steelyard.dynamics import regressor
from steelyard.errors import ModelError, OptionError
from steelyard.model import from_mujoco, load
from steelyard.model.locking import locked
from steelyard.model.mujoco_state import force_from_mujoco, to_mujoco

WORLD = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
SITES = """<mujoco><worldbody><site name="ground"/><body name="trunk" pos="0 0 1"><freejoint/>
<inertial pos="0.1 0.2 0.3" mass="2" fullinertia="0.1 0.2 0.25 0.01 0.02 -0.03"/>
<body name="plate" pos="0.3 0 0.1" euler="10 40 -20"><geom size="0.1" mass="0.5"/><site name="bolt" pos="0.1 0.2 0.3"
euler="30 20 10"/><body name="arm" pos="0.2 0.1 -0.3" euler="20 30 40"><joint name="x" type="slide" axis="1 2 3"/>
<joint name="y" axis="0 1 1" pos="0.1 0 0.2"/><joint name="t" type="ball"/>
<inertial pos="-0.1 0.2 0.1" mass="1" fullinertia="0.1 0.12 0.15 0.01 -0.02 0.03"/><site name="tip" pos="0 0.1 0.4"
euler="90 10 30"/><site name="arm" pos="1 1 1"/></body></body></body></worldbody></mujoco>"""


def close(found, expected, tolerance=1e-9):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max(initial=0)))


def pinocchio_frames(model):
    return [each.name for each in model.frames if each.type == pin.FrameType.BODY and each.name != "universe"]


def of_pinocchio(model, robot, name, q, v):
    """Jacobian, twist and bias acceleration of a frame."""
    data, E = model.createData(), adapter.velocity_map(model, robot)
    at, index = adapter.configuration(model, robot, q), model.getFrameId(name)
    pin.forwardKinematics(model, data, at, E @ v, np.zeros(model.nv))
    pin.updateFramePlacements(model, data)
    bias = pin.getFrameClassicalAcceleration(model, data, index, WORLD).vector
    J = pin.computeFrameJacobian(model, data, at, index, WORLD)
    J = np.reshape(J, (6, model.nv)) @ E  # one column comes as a vector
    return J, J @ v, bias


def pinocchio_forces(model, robot, name, q, wrench):
    """External forces of each joint from a wrench in the axes of a frame."""
    forces = [pin.Force.Zero() for _ in range(model.njoints)]
    frame = model.frames[model.getFrameId(name)]
    forces[frame.parentJoint] = frame.placement.act(pin.Force(wrench))
    return forces


@tried(40)
@given(seed=seeds)
def test_random_trees_agree_with_pinocchio(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    path = tmp_path_factory.mktemp("random") / "robot.urdf"
    path.write_text(urdf_text(rng, links=int(rng.integers(2, 10))))
    floating = bool(rng.integers(2))
    robot, model = load(path, floating=floating or None), adapter.load(path, floating)
    q, v, a = random_state(robot, rng)
    for name in pinocchio_frames(model):
        J, twist, bias = of_pinocchio(model, robot, name, q, v)
        close(sy.jacobian(robot, q, name), J)
        close(sy.frame_velocity(robot, q, v, name), twist)
        close(sy.bias_acceleration(robot, q, v, name), bias)
        wrench, E = rng.normal(size=6), adapter.velocity_map(model, robot)
        forces = pinocchio_forces(model, robot, name, q, wrench)
        at = adapter.configuration(model, robot, q)
        tau = E.T @ pin.rnea(model, model.createData(), at, E @ v, E @ a, forces)
        close(sy.inverse_dynamics(robot, q, v, a, external={name: wrench}), tau)


@pytest.mark.parametrize(("name", "floating"), [("go2", True), ("g1_29dof_rev_1_0", True), ("tiago", False)])
def test_derivatives_with_wrenches_agree_with_pinocchio(name, floating):
    model, robot = adapter.load(urdf(name), floating), load(urdf(name), floating=floating or None)
    rng = np.random.default_rng(0)
    q, v, a = random_state(robot, rng, (3,))
    frames = [pinocchio_frames(model)[k] for k in (-1, -7)]
    external = {frame: rng.normal(size=(3, 6)) for frame in frames}
    found = sy.inverse_dynamics_derivatives(robot, q, v, a, external=external)
    E, data = adapter.velocity_map(model, robot), model.createData()
    for k in range(3):
        forces = [pin.Force.Zero() for _ in range(model.njoints)]
        for frame, wrench in external.items():
            forces = [
                f + g for f, g in zip(forces, pinocchio_forces(model, robot, frame, q[k], wrench[k]), strict=True)
            ]
        pin.computeRNEADerivatives(model, data, adapter.configuration(model, robot, q[k]), E @ v[k], E @ a[k], forces)
        M = np.triu(data.M) + np.triu(data.M, 1).T
        for mine, theirs in ((found.dtau_dq, data.dtau_dq), (found.dtau_dv, data.dtau_dv), (found.dtau_da, M)):
            close(mine[k], E.T @ theirs @ E)
    weights = rng.normal(size=(3, robot.nv))
    pulled = found.vjp(weights)
    close(pulled.q, np.einsum("nij,ni->nj", found.dtau_dq, weights))
    close(pulled.twist, np.einsum("nijk,ni->njk", found.dtau_djoint, weights))
    close(pulled.placement, np.einsum("nijk,ni->njk", found.dtau_dplacement, weights))
    without = sy.inverse_dynamics_derivatives(robot, q, v, a)
    assert np.abs(found.dtau_dq - without.dtau_dq).max() > 0.1
    close(found.dtau_dtheta, regressor(robot, q, v, a))


@tried(15)
@given(seed=seeds)
def test_derivatives_by_twists_agree_with_complex_steps(tmp_path_factory, seed):
    """A wrench in the axes of its link enters the equations of paper D as less of the force of the link."""
    rng = np.random.default_rng(seed)
    path = tmp_path_factory.mktemp("random") / "robot.urdf"
    path.write_text(urdf_text(rng, links=int(rng.integers(3, 8))))
    robot = load(path, floating=bool(rng.integers(2)) or None)
    q, v, a = random_state(robot, rng)
    frame = robot.body_names[-1]
    wrench = rng.normal(size=6)
    found = sy.inverse_dynamics_derivatives(robot, q, v, a, external={frame: wrench})
    free, loaded = (
        complex_step.derivatives(robot, q, v, a),
        complex_step.derivatives(robot, q, v, a, pushed={int(robot.body_joints[-1]): wrench}),
    )
    for mine, name in (("dq", "dq"), ("dv", "v"), ("da", "a"), ("djoint", "eta"), ("dplacement", "before")):
        expected = loaded[name][0]
        close(getattr(found, f"dtau_{mine}"), np.moveaxis(expected, -1, 0))
    assert any(np.abs(loaded[name][0] - free[name][0]).max(initial=0) > 1e-6 for name in ("dq", "eta"))
    for kind, place in (("dV", 1), ("dA", 2), ("dF", 3)):
        theirs = loaded["eta"][place][..., robot.body_joints, :].reshape(-1, robot.nb, 6)
        close(getattr(found.links, kind)[..., found.links.twists], np.moveaxis(theirs, 0, -1))


@pytest.fixture(scope="module")
def with_sites(tmp_path_factory):
    path = tmp_path_factory.mktemp("sites") / "robot.xml"
    path.write_text(SITES)
    return load(path), rigid_body_model(path)


def test_sites_of_mjcf_agree_with_mujoco(with_sites):
    robot, m = with_sites
    rng = np.random.default_rng(3)
    q, v, a = random_state(robot, rng)
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:], d.qacc[:] = (x[0] for x in to_mujoco(m, robot, q[None], v[None], a[None]))
    mujoco.mj_inverse(m, d)
    plain = d.qfrc_inverse.copy()
    for name in ("bolt", "tip"):
        assert robot.frames[name].body == (1 if name == "tip" else 0)
        jacp, jacr, wrench = np.zeros((3, m.nv)), np.zeros((3, m.nv)), rng.normal(size=6)
        mujoco.mj_jacSite(m, d, jacp, jacr, m.site(name).id)
        J, R = np.concatenate([jacp, jacr]), d.site(name).xmat.reshape(3, 3)
        close(sy.frame_velocity(robot, q, v, name), J @ d.qvel)
        world = np.concatenate([R @ wrench[:3], R @ wrench[3:]])
        expected = force_from_mujoco(m, robot, d.qpos, plain - J.T @ world)
        close(sy.inverse_dynamics(robot, q, v, a, external={name: wrench}), expected)


def test_wrenches_agree_with_applied_forces_of_mujoco(with_sites):
    robot, m = with_sites
    rng = np.random.default_rng(4)
    q, v, a = random_state(robot, rng, (4,))
    wrench = rng.normal(size=(4, 6))
    found = sy.inverse_dynamics(robot, q, v, a, external={"arm": wrench})
    qpos, qvel, qacc = to_mujoco(m, robot, q, v, a)
    free, d = inverse_forces(m, qpos, qvel, qacc), mujoco.MjData(m)
    for k in range(4):
        d.qpos[:], d.qvel[:], d.qacc[:] = qpos[k], qvel[k], qacc[k]
        mujoco.mj_kinematics(m, d)
        R, p = d.body("arm").xmat.reshape(3, 3), d.body("arm").xpos
        mujoco.mj_comPos(m, d)
        pushed = np.zeros(m.nv)
        mujoco.mj_applyFT(m, d, R @ wrench[k, :3], R @ wrench[k, 3:], p, m.body("arm").id, pushed)
        close(found[k], force_from_mujoco(m, robot, qpos[k], free[k] - pushed))
    back = from_mujoco(m, robot, qpos, qvel, qacc)
    close(back[0], q)


def test_named_places(with_sites):
    robot, _ = with_sites
    assert set(robot.frames) == {"world", "trunk", "plate", "arm", "ground", "bolt", "tip"}
    np.testing.assert_array_equal(robot.frames["arm"].position, 0)  # the body, not the site of its name
    q = random_state(robot, np.random.default_rng(0), (2,))[0]
    assert not sy.jacobian(robot, q, "ground").any()
    np.testing.assert_array_equal(sy.bias_acceleration(robot, q, np.ones((2, robot.nv)), "ground"), 0)
    with pytest.raises(ModelError, match=r"no link or frame 'foot'.*arm, bolt, ground"):
        sy.jacobian(robot, q, "foot")


def test_frames_beyond_locked_joints_stay_where_they_are():
    robot = load(urdf("panda"))
    q, v, _ = random_state(robot, np.random.default_rng(1))
    still = {"panda_joint6": float(np.clip(q[5], -0.01, 1)), "panda_finger_joint1": 0.02}
    q[5], v[5] = still["panda_joint6"], 0
    less = locked(robot, still)
    keep = [i for i, name in enumerate(robot.joint_names) if name in less.joint_names]
    q[[i for i in range(robot.nq) if i not in keep and i != 5]] = 0.02
    for name in ("panda_hand", "panda_link6", "panda_leftfinger"):
        close(sy.jacobian(less, q[keep], name), sy.jacobian(robot, q, name)[:, keep])


def pin_rotation(robot, q, name):
    model = adapter.load(urdf("solo12"), floating=True)
    data = model.createData()
    pin.framesForwardKinematics(model, data, adapter.configuration(model, robot, q))
    return data.oMf[model.getFrameId(name)].rotation


def test_wrong_signs_and_axes_are_seen():
    robot = load(urdf("solo12"), floating=True)
    rng = np.random.default_rng(5)
    q, v, a = random_state(robot, rng)
    wrench = rng.normal(size=6)
    right = sy.inverse_dynamics(robot, q, v, a) - sy.inverse_dynamics(robot, q, v, a, external={"FL_FOOT": wrench})
    J = sy.jacobian(robot, q, "FL_FOOT")
    assert np.abs(right - J.T @ wrench).max() > 0.1  # taken as one in world axes
    R = pin_rotation(robot, q, "FL_FOOT")
    close(right, J.T @ np.concatenate([R @ wrench[:3], R @ wrench[3:]]))


@pytest.mark.parametrize("batch", [(), (1,), (3, 1, 2), (700,)])
def test_leading_axes(batch):
    robot = load(urdf("solo12"), floating=True)
    q, v, a = random_state(robot, np.random.default_rng(0), batch)
    one = np.random.default_rng(1).normal(size=6)
    external = {"FL_FOOT": np.broadcast_to(one, (*batch, 6)), "base_link": one}
    assert sy.jacobian(robot, q, "FL_FOOT").shape == (*batch, 6, robot.nv)
    assert sy.frame_velocity(robot, q, v, "FL_FOOT").shape == (*batch, 6)
    whole = sy.inverse_dynamics(robot, q, v, a, external=external)
    derivative = sy.inverse_dynamics_derivatives(robot, q, v, a, external=external).dtau_dq
    assert whole.shape == (*batch, robot.nv) and derivative.shape == (*batch, robot.nv, robot.nv)
    first = tuple(0 for _ in batch)
    close(whole[first], sy.inverse_dynamics(robot, q[first], v[first], a[first], external=dict.fromkeys(external, one)))


def test_jax_runs_the_same_source():
    robot = sy.library.cheetah3_leg()
    foot = robot.body_names[-1]
    q, v, a = random_state(robot, np.random.default_rng(2), (2,))
    wrench = np.random.default_rng(1).normal(size=(2, 6))

    def torques(v, q, a, f):
        return sy.inverse_dynamics(robot, q, v, a, external={foot: f})

    def motion(q, v):
        return sy.jacobian(robot, q, foot), sy.bias_acceleration(robot, q, v, foot)

    with jax.enable_x64(True):
        arrays = [jax.numpy.asarray(x) for x in (v, q, a, wrench)]
        tau, by_v = jax.jit(lambda *x: (torques(*x), jax.vmap(jax.jacfwd(torques))(*x)))(*arrays)
        J, bias = jax.jit(motion)(arrays[1], arrays[0])
    assert isinstance(tau, jax.Array)
    close(np.asarray(J), sy.jacobian(robot, q, foot))
    close(np.asarray(bias), sy.bias_acceleration(robot, q, v, foot))
    close(np.asarray(tau), sy.inverse_dynamics(robot, q, v, a, external={foot: wrench}))
    found = sy.inverse_dynamics_derivatives(robot, q, v, a, external={foot: wrench})
    close(np.asarray(by_v), found.dtau_dv)


def test_wrenches_of_other_shapes_are_refused():
    robot = load(urdf("solo12"), floating=True)
    q, v, a = random_state(robot, np.random.default_rng(0), (5,))
    for wrong in (np.zeros(3), np.zeros((4, 6)), np.zeros((2, 5, 6))):
        with pytest.raises(OptionError, match="external wrench on 'FL_FOOT' has shape"):
            sy.inverse_dynamics(robot, q, v, a, external={"FL_FOOT": wrong})
    with pytest.raises(ModelError, match="'FL_foot'"):
        sy.inverse_dynamics_derivatives(robot, q, v, a, external={"FL_foot": np.zeros(6)})
    with pytest.raises(OptionError, match="without wrenches from outside"):
        sy.inverse_dynamics_derivatives(robot, q, v, a, external={"FL_FOOT": np.zeros(6)}, engine="native")


def test_rotors_leave_wrenches_where_they_are():
    robot = load(urdf("solo12"), floating=True)
    q, v, a = random_state(robot, np.random.default_rng(0), (5,))
    external = {"FL_FOOT": np.ones(6)}
    close(
        sy.inverse_dynamics(robot, q, v, a, external=external, rotors=True),
        sy.inverse_dynamics(robot, q, v, a, external=external),
    )
