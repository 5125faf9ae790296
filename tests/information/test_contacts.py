"""Sums of robots in contact against explicit solves for the forces, sample by sample."""

import jax
import mujoco
import numpy as np
import pinocchio as pin
import pytest
import scipy.linalg
from hypothesis import given

import pinocchio_adapter as adapter
import steelyard as sy
from properties import tried
from random_robots import seeds, urdf_text
from robots import random_state, urdf
from steelyard.errors import FitError, LogError, ModelError, OptionError
from steelyard.information import accumulate, accumulate_blocks
from steelyard.information.samples import residuals
from steelyard.model import from_mujoco, load
from steelyard.model.mujoco_state import force_from_mujoco

FEET = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")
COMPONENTS = {"point": [0, 1, 2], "line": [0, 1, 2, 4, 5], "flat": [0, 1, 2, 3, 4, 5]}


def jacobian_rows(robot, q, frame, kind):
    """Rows of the Jacobian that a contact pushes along; those of a line, in the axes of its frame, by Pinocchio."""
    J = sy.jacobian(robot, q, frame)
    if kind == "line":
        model = adapter.load(robot.source.path, robot.floating)
        data = model.createData()
        pin.framesForwardKinematics(model, data, adapter.configuration(model, robot, q))
        R = data.oMf[model.getFrameId(frame)].rotation
        J = np.concatenate([R.T @ J[:3], R.T @ J[3:]])
    return J[COMPONENTS[kind]]


def log_in_contact(robot, rng, n, frames, kinds, flags, noise=1.0):
    """Random motion, with random forces where it touches, and noise of the torques."""
    q, v, a = random_state(robot, rng, (n,))
    tau = sy.inverse_dynamics(robot, q, v, a) + noise * rng.normal(size=(n, robot.nv))
    for frame, kind, touches in zip(frames, kinds, np.transpose(flags), strict=True):
        if kind == "point":
            tau -= np.einsum(
                "nij,ni->nj", sy.jacobian(robot, q, frame)[:, :3], 10 * touches[:, None] * rng.normal(size=(n, 3))
            )
            continue
        for k in np.flatnonzero(touches):
            J = jacobian_rows(robot, q[k], frame, kind)
            tau[k] -= J.T @ (10 * rng.normal(size=len(J)))
    contacts = {frame: flags[:, i] for i, frame in enumerate(frames)}
    return sy.Log(t=np.arange(n) / 100.0, q=q, v=v, a=a, tau=tau, contacts=contacts, joint_names=robot.dof_names)


def explicit(robot, info, log, kinds, W, samples=None):
    """G, b, c and rows left, with forces removed from each sample by a null space of SciPy."""
    size = len(info.columns)
    G, b, c, left = np.zeros((size, size)), np.zeros(size), 0.0, 0.0
    rows = sy.regressor(robot, log.q, log.v, log.a)[:, :, info.columns]
    for k in range(len(log)):
        weight = W * (1 if samples is None else samples[k])
        root = np.diag(np.sqrt(weight))
        J = [
            jacobian_rows(robot, log.q[k], frame, kind)
            for (frame, flags), kind in zip(log.contacts.items(), kinds, strict=True)
            if flags[k]
        ]
        Z = scipy.linalg.null_space(np.concatenate(J) @ root, rcond=1e-9) if J else np.eye(robot.nv)
        y, t = Z.T @ root @ rows[k], Z.T @ root @ log.tau[k]
        G, b, c = G + y.T @ y, b + y.T @ t, c + t @ t
        left += Z.shape[1]
    return G, b, c, left


def close(found, expected, tolerance=1e-10):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max(initial=1e-300))


def cases(seed, folder):
    rng = np.random.default_rng(seed)
    path = folder / "robot.urdf"
    path.write_text(urdf_text(rng, links=int(rng.integers(3, 9))))
    robot = load(path, floating=bool(rng.integers(2)) or None)
    frames = list(rng.permutation(list(robot.frames))[: int(rng.integers(1, 4))])
    kinds = [str(rng.choice(["point", "line", "flat"])) for _ in frames]
    n = 12
    flags = rng.integers(2, size=(n, len(frames)))
    return rng, robot, frames, kinds, flags, log_in_contact(robot, rng, n, frames, kinds, flags)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("part", range(5))
@tried(12)
@given(seed=seeds)
def test_random_trees_agree_with_an_explicit_projection(tmp_path_factory, part, seed):
    rng, robot, frames, kinds, _, log = cases([part, seed], tmp_path_factory.mktemp("random"))
    W = rng.uniform(0.1, 10, size=robot.nv)
    options = {"friction": (), "contacts": dict(zip(frames, kinds, strict=True)), "row_weights": W}
    info = accumulate(robot, log, **options)
    bare = robot.with_joint_properties(**dict.fromkeys(("damping", "frictionloss"), np.zeros(robot.nv)))
    G, b, c, left = explicit(bare, info, log, kinds, W)
    close(info.G, G)
    close(info.b, b)
    close(info.c, c)
    np.testing.assert_allclose(info.counts.sum(), left, rtol=1e-9)
    triangular = accumulate(robot, log, **options, sums="qr")
    close(triangular.G, G)
    close(triangular.counts, info.counts)
    for engine in ("numpy", "native"):
        close(accumulate(robot, log, **options, engine=engine).G, G)


def quadruped(n=120, seed=0, noise=1.0, every=20):
    """Solo12 in a trot without flight, and its log."""
    robot, rng = load(urdf("solo12"), floating=True), np.random.default_rng(seed)
    phase = (np.arange(n) // every) % 3
    flags = np.stack([phase != 1, phase != 2, phase != 2, phase != 1], axis=1)
    return robot, log_in_contact(robot, rng, n, FEET, ("point",) * 4, flags, noise)


def test_parameters_are_those_of_a_fit_of_parameters_and_forces_together():
    robot, log = quadruped()
    W = np.random.default_rng(1).uniform(0.1, 10, size=robot.nv)
    info = accumulate(robot, log, friction=(), row_weights=W)
    found = np.linalg.solve(info.G, info.b)
    rows = sy.regressor(robot, log.q, log.v, log.a)[:, :, info.columns]
    root = np.sqrt(W)[:, None]
    blocks = []
    for k in range(len(log)):
        J = np.concatenate([sy.jacobian(robot, log.q[k], foot)[:3] for foot in FEET if log.contacts[foot][k]])
        blocks.append(-root * J.T)
    both = np.concatenate([(root * rows).reshape(-1, rows.shape[2]), scipy.linalg.block_diag(*blocks)], axis=1)
    solved, *_ = np.linalg.lstsq(both, (root[:, 0] * log.tau).ravel(), rcond=None)
    close(found, solved[: len(found)], 1e-8)
    left = both @ solved - (root[:, 0] * log.tau).ravel()
    np.testing.assert_allclose(info.weights @ info.residual_energy(found), left @ left, rtol=1e-8)
    own = residuals(info, log, found)
    close(own, -left.reshape(len(log), -1) / root[:, 0], 1e-7)
    np.testing.assert_allclose(np.sum(own**2, axis=0), info.residual_energy(found), rtol=1e-7)


def test_true_parameters_leave_nothing_and_wrong_projections_do():
    robot, log = quadruped(noise=0.0)
    info = accumulate(robot, log, friction=(), columns="all")
    truth = robot.inertias.ravel()
    assert np.all(info.residual_energy(truth) < 1e-12 * np.sum(log.tau**2))
    assert np.abs(residuals(info, log, info.basis.regrouping @ truth)).max() < 1e-9
    for wrong in (
        log.replace(contacts={}),
        log.replace(contacts={"FL_LOWER_LEG": log.contacts["FL_FOOT"]} | {f: log.contacts[f] for f in FEET[1:]}),
        log.replace(contacts={f: 1 - log.contacts[f] for f in FEET}),
        log.replace(
            contacts={f: log.contacts[g] for f, g in zip(FEET, FEET[::-1], strict=True)}
            | {"FL_FOOT": log.contacts["FR_FOOT"]}
        ),
    ):
        energy = accumulate(robot, wrong, friction=(), columns="all").residual_energy(truth)
        assert energy.sum() > 1e-3 * np.sum(log.tau**2)


HOPPER = """<mujoco><option timestep="0.002" tolerance="1e-14" iterations="200"/><worldbody>
<geom type="plane" size="5 5 1" friction="0.9"/><body name="trunk" pos="0 0 0.45"><freejoint name="free"/>
<inertial pos="0.01 0.02 0.03" mass="4" fullinertia="0.05 0.06 0.07 0.001 0.002 -0.003"/>
<body name="left" pos="0 0.2 0"><joint name="l1" axis="0 1 0"/><joint name="l2" axis="1 0 0"/>
<inertial pos="0 0 -0.1" mass="0.5" diaginertia="0.003 0.003 0.001"/><geom size="0.03" pos="0 0 -0.4" mass="0"/>
<site name="left_foot" pos="0 0 -0.43"/></body>
<body name="right" pos="0 -0.2 0"><joint name="r1" axis="0 1 0"/><joint name="r2" axis="1 0 0"/>
<inertial pos="0 0 -0.1" mass="0.5" diaginertia="0.003 0.003 0.001"/><geom size="0.03" pos="0 0 -0.4" mass="0"/>
<site name="right_foot" pos="0 0 -0.43"/></body></body></worldbody></mujoco>"""


def test_falling_and_landing_in_mujoco_leaves_nothing(tmp_path):
    path = tmp_path / "hopper.xml"
    path.write_text(HOPPER)
    robot, m = load(path), mujoco.MjModel.from_xml_path(str(path))
    d, rng, rows, touching = mujoco.MjData(m), np.random.default_rng(0), [], []
    for _ in range(300):
        d.qfrc_applied[6:] = 3 * rng.normal(size=m.nv - 6) - 20 * d.qpos[7:] - 0.5 * d.qvel[6:]
        mujoco.mj_forward(m, d)
        rows.append([x.copy() for x in (d.qpos, d.qvel, d.qacc, d.qfrc_applied)])
        pairs = {m.body(m.geom_bodyid[geom]).name for contact in d.contact for geom in contact.geom}
        touching.append([name in pairs for name in ("left", "right")])
        mujoco.mj_step(m, d)
    qpos, qvel, qacc, applied = (np.array(each) for each in zip(*rows, strict=True))
    q, v, a = from_mujoco(m, robot, qpos, qvel, qacc)
    left, right = np.transpose(touching)
    assert np.sum(left & right) > 10 and np.sum(~left & ~right) > 10
    contacts = {"left_foot": left, "right_foot": right}
    log = sy.Log(t=d.time + 0.002 * np.arange(300), q=q, v=v, a=a, tau=force_from_mujoco(m, robot, qpos, applied))
    log, options = log.replace(contacts=contacts), {"friction": (), "columns": "all"}
    truth, scale = robot.inertias.ravel(), np.sum(sy.inverse_dynamics(robot, q, v, a) ** 2)
    flat = accumulate(robot, log, **options, contacts="flat")
    assert flat.residual_energy(truth).sum() < 1e-12 * scale
    assert np.abs(residuals(flat, log, flat.basis.regrouping @ truth)).max() < 1e-5
    wrong = log.replace(contacts={"left_foot": right, "right_foot": left})
    assert accumulate(robot, wrong, **options, contacts="flat").residual_energy(truth).sum() > 1e-4 * scale
    assert accumulate(robot, log.replace(contacts={}), **options).residual_energy(truth).sum() > 1e-2 * scale


def test_weights_matter_where_rows_are_mixed():
    robot, log = quadruped()
    W = np.random.default_rng(1).uniform(0.1, 10, size=robot.nv)
    weighed = accumulate(robot, log, friction=(), row_weights=W)
    after = accumulate(robot, log, friction=()).weighted(W)
    assert np.abs(weighed.G - after.G).max() > 1e-3 * np.abs(weighed.G).max()
    np.testing.assert_array_equal(weighed.projection, W)
    np.testing.assert_array_equal(weighed.weights, W)


def test_noise_of_each_group_is_told_from_its_own_count():
    robot, log = quadruped(n=6000, noise=0.0)
    rng, sigma = np.random.default_rng(2), np.random.default_rng(3).uniform(0.5, 2, size=18)
    noisy = log.replace(tau=log.tau + sigma * rng.normal(size=log.tau.shape))
    info = accumulate(robot, noisy, friction=(), row_weights=1 / sigma**2)
    truth = info.basis.regrouping @ robot.inertias.ravel()
    found = np.sqrt(info.residual_energy(truth) / info.counts)
    np.testing.assert_allclose(found, sigma, rtol=0.1)
    np.testing.assert_allclose(found.mean() / sigma.mean(), 1, rtol=0.02)


def test_sample_weights_count_and_mix():
    robot, log = quadruped()
    rng = np.random.default_rng(5)
    samples = rng.uniform(0, 2, size=(len(log), robot.nv))
    samples[::3, 7] = 0
    W = rng.uniform(0.1, 10, size=robot.nv)
    info = accumulate(robot, log, friction=(), row_weights=W, sample_weights=samples)
    G, b, c, _ = explicit(robot, info, log, ("point",) * 4, W, samples)
    close(info.G, G)
    close(info.b, b)
    close(info.c, c)
    assert (info.counts < samples.sum(axis=0)).all()


def test_two_contacts_of_one_link_have_the_rank_that_they_have():
    robot, rng = load(urdf("solo12"), floating=True), np.random.default_rng(7)
    frames, kinds = ("FL_FOOT", "FL_LOWER_LEG", "FL_UPPER_LEG"), ("point", "point", "flat")
    flags = np.ones((40, 3), dtype=bool)
    flags[20:, 2] = False
    log = log_in_contact(robot, rng, 40, frames, kinds, flags)
    info = accumulate(robot, log, friction=(), contacts=dict(zip(frames, kinds, strict=True)))
    G, b, _, left = explicit(robot, info, log, kinds, np.ones(robot.nv))
    close(info.G, G)
    close(info.b, b)
    assert left == 20 * (18 - 5) + 20 * (
        18 - 7
    )  # two points of a link: 5; with the link before it held: 6, and the knee
    np.testing.assert_allclose(info.counts.sum(), left, rtol=1e-9)


def test_sums_add_whatever_their_row_weights(tmp_path):
    robot, log = quadruped()
    whole = accumulate(robot, log)
    halves = accumulate(robot, log[:50]) + accumulate(robot, log[50:])
    close(halves.G, whole.G)
    close(halves.counts, whole.counts)
    np.testing.assert_array_equal(halves.projection, np.ones(robot.nv))
    together = sum(accumulate_blocks(robot, log, count=5))
    close(together.G, whole.G)
    free = accumulate(robot, log.replace(contacts={}))
    assert free.projection is None and (free + whole).projection is not None
    other = accumulate(robot, log, row_weights=np.full(robot.nv, 2.0))
    close((whole + other).squares.dense, whole.squares.dense + other.squares.dense)
    with pytest.raises(FitError, match="can no longer be scaled alone"):
        whole.rescaled(np.ones(robot.nv))
    soles = accumulate(robot, log, contacts={"FL_FOOT": "flat"})
    with pytest.raises(FitError, match="with the same contacts"):
        whole + soles
    assert sy.load_information(sy.save_information(soles, tmp_path / "soles.npz"), robot).contacts == {
        "FL_FOOT": "flat"
    }
    back = sy.load_information(sy.save_information(other, tmp_path / "sums.npz"), robot)
    np.testing.assert_array_equal(back.projection, other.projection)


def test_sums_by_unlike_row_weights_are_of_the_same_parameters():
    robot, log = quadruped(noise=0.0)
    W = np.random.default_rng(2).uniform(0.1, 10, size=robot.nv)
    added = accumulate(robot, log[:60], friction=()) + accumulate(robot, log[60:], friction=(), row_weights=W)
    found = np.linalg.lstsq(added.G, added.b)[0]
    truth = added.basis.regroup(robot.inertias.ravel())
    assert (truth - found) @ added.G @ (truth - found) < 1e-12 * added.c
    assert added.residual_energy(truth).sum() < 1e-12 * added.energy.sum()


def test_armature_springs_and_masks_go_along():
    robot, log = quadruped(n=60)
    for options in ({"armature": True}, {"springs": (robot.joint_names[3],)}):
        info = accumulate(robot, log, **options)
        joined = accumulate(robot, log[:20], **options) + accumulate(robot, log[20:], **options)
        close(info.G, joined.G)
    masked = log.replace(weights=np.ones((60, robot.nv)))
    close(accumulate(robot, masked).G, accumulate(robot, log).G)


@pytest.mark.parametrize("sums", ["gram", "qr"])
def test_rotors_go_along(sums):
    robot, rng = sy.library.puma560(), np.random.default_rng(0)
    robot = robot.with_joint_properties(**dict.fromkeys(("armature", "damping", "frictionloss"), np.zeros(6)))
    q, v, a = random_state(robot, rng, (50,))
    hand = robot.body_names[-1]
    tau = sy.inverse_dynamics(robot, q, v, a, rotors=True)
    tau -= np.einsum("nij,ni->nj", sy.jacobian(robot, q, hand)[:, :3], rng.normal(size=(50, 3)))
    flags = np.arange(50) % 3 > 0
    tau[~flags] = sy.inverse_dynamics(robot, q, v, a, rotors=True)[~flags]
    log = sy.Log(t=np.arange(50) / 100, q=q, v=v, a=a, tau=tau, contacts={hand: flags})
    info = accumulate(robot, log, friction=(), rotors=True, columns="all", sums=sums)
    truth = np.concatenate([robot.inertias.ravel(), *(rotor.theta for rotor in robot.rotors)])
    assert info.residual_energy(truth).sum() < 1e-13 * np.sum(tau**2)


def test_known_wrenches_move_to_the_torques():
    robot, log = quadruped(n=40, noise=0.0)
    wrench = np.random.default_rng(3).normal(size=(40, 6))
    tau = sy.inverse_dynamics(robot, log.q, log.v, log.a, external={"FR_FOOT": wrench})
    known = log.replace(tau=tau, contacts={}, external={"FR_FOOT": wrench})
    truth = robot.inertias.ravel()
    for options in ({}, {"engine": "numpy"}, {"sums": "qr"}, {"rows": "power"}):
        info = accumulate(robot, known, friction=(), columns="all", **options)
        assert info.residual_energy(truth).sum() < 1e-13 * np.sum(tau**2)
    info = accumulate(robot, known, friction=())
    assert np.abs(residuals(info, known, info.basis.regrouping @ truth)).max() < 1e-9
    against = known.replace(external={"FR_FOOT": -wrench})
    assert accumulate(robot, against, friction=(), columns="all").residual_energy(truth).sum() > 1


def test_validation_gives_contacts_the_forces_that_suit_best():
    robot, log = quadruped(n=60, noise=0.0)
    robot = robot.with_joint_properties(**dict.fromkeys(("damping", "frictionloss"), np.zeros(robot.nv)))
    wrench = np.random.default_rng(3).normal(size=(60, 6))
    pushed = sy.inverse_dynamics(robot, log.q, log.v, log.a, external={"base_link": wrench})
    tau = log.tau + pushed - sy.inverse_dynamics(robot, log.q, log.v, log.a)
    log = log.replace(tau=tau, external={"base_link": wrench})
    assert sy.validate(robot, log).relative_error < 1e-9
    assert sy.validate(robot, log.replace(contacts={})).relative_error > 0.1
    assert sy.validate(robot, log.replace(external={})).relative_error > 1e-3
    wrong = robot.with_inertias(1.3 * robot.inertias)
    W = np.random.default_rng(1).uniform(0.1, 10, size=robot.nv)
    found = sy.validate(wrong, log, row_weights=W)
    info = accumulate(robot, log, friction=(), row_weights=W)
    np.testing.assert_allclose(
        np.sum(found.error**2, axis=0), info.residual_energy(info.basis.regrouping @ wrong.inertias.ravel()), rtol=1e-6
    )


def test_jax_logs_in_contact_are_summed_to_the_same():
    robot, log = quadruped(n=30)
    with jax.enable_x64(True):
        arrays = {name: jax.numpy.asarray(getattr(log, name)) for name in ("q", "v", "a", "tau")}
        info = accumulate(robot, log.replace(**arrays, external={"base_link": np.ones((30, 6))}))
    same = accumulate(robot, log.replace(external={"base_link": np.ones((30, 6))}))
    close(info.G, same.G)
    close(info.b, same.b)


def test_what_does_not_go_together_is_refused():
    robot, log = quadruped(n=30)
    with pytest.raises(OptionError, match="contacts are any of"):
        accumulate(robot, log, contacts="foot")
    with pytest.raises(OptionError, match="18 finite, positive numbers"):
        accumulate(robot, log, row_weights=np.zeros(18))
    with pytest.raises(ModelError, match="no link or frame 'FL_foot'"):
        accumulate(robot, log.replace(contacts={"FL_foot": np.ones(30)}))
    with pytest.raises(LogError, match="unknown forces are in rows of momentum"):
        accumulate(robot, log, rows="momentum")
    with pytest.raises(LogError, match="is not finite at t"):
        accumulate(robot, log.replace(contacts={}, external={"FL_FOOT": np.full((30, 6), np.nan)}))
    with pytest.raises(LogError, match="contacts of 'FL_FOOT' are 30 flags"):
        log.replace(contacts={"FL_FOOT": np.ones(4)})
