"""Samples of the posterior: of bodies that can exist, as wide as the truth is far off, and together as it is."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from scipy.stats import chi2, kstest

import steelyard as sy
from noisy_torques import Repetitions
from robots import random_state, urdf
from steelyard import fit
from steelyard.app.demo_job import mistaken
from steelyard.errors import FitError, ModelError, OptionError
from steelyard.fit.joint_normal import JointNormal
from steelyard.fit.prior import model_parameters
from steelyard.inertia import pseudo
from steelyard.information import accumulate
from steelyard.information.files import npz_bytes
from steelyard.model import library
from steelyard.model.drive import Drive
from steelyard.model.robot import ContactParameters
from steelyard.payload import Payload, Status

TRUTHS, COUNT = 24, 256


def can_exist(inertias):
    """(...) whether mass and principal moments about the centre of mass are positive and obey A + B > C, strictly."""
    m, h = inertias[..., 0], inertias[..., 1:4]
    I = inertias[..., [4, 5, 7, 5, 6, 8, 7, 8, 9]].reshape(*inertias.shape[:-1], 3, 3)
    square = np.einsum("...i,...i->...", h, h)[..., None, None] * np.eye(3)
    about = I - (square - h[..., :, None] * h[..., None, :]) / m[..., None, None]
    moments = np.linalg.eigvalsh(about)
    return (m > 0) & (moments[..., 0] > 0) & (moments[..., 0] + moments[..., 1] > moments[..., 2])


def base_of(draws, layout, basis):
    """(n, r) base parameters of samples."""
    stated = {"viscous": "damping", "coulomb": "frictionloss", "armature": "armature", "offset": "offset"}
    effects = [draws.values[stated[term]][:, layout.dofs] for term in layout.terms]
    return basis.regroup(np.concatenate([draws.inertias.reshape(len(draws), -1), *effects], axis=1))


@pytest.fixture(scope="module")
def scara():
    truth = library.scara()
    truth = truth.with_joint_properties(armature=np.full(truth.nv, 0.05))  # zero lies on a bound: no range holds it
    return Repetitions(truth, mistaken(truth, seed=1))


@pytest.fixture(scope="module")
def repeated(scara):
    """Of every truth its base parameters, samples, and the fit that they are of."""
    rng, found = np.random.default_rng(5), []
    for k in range(TRUTHS):
        truth = mistaken(scara.robot, seed=100 + k) if k else scara.robot
        base = scara.blocks[0].basis.regroup(model_parameters(truth, scara.blocks[0].layout))
        other = np.einsum("gnr,r->ng", scara.rows, base - scara.base)
        blocks = scara.with_errors(other + scara.errors(rng, 0.9 * (k % 2)))
        estimate = fit.consistent(sum(blocks))
        found.append((base, fit.uncertainty(estimate, blocks).sample(COUNT, seed=k), estimate))
    return found


def test_the_truth_is_one_of_the_samples(scara, repeated):
    distances, inside = [], []
    for truth, draws, estimate in repeated:
        base = base_of(draws, estimate.layout, estimate.basis)
        low, high = np.quantile(base, [0.05, 0.95], axis=0)
        inside.append((low <= truth) & (truth <= high))
        away, n, r = truth - base.mean(axis=0), *base.shape
        squared = away @ np.linalg.solve(np.cov(base.T), away)
        distances.append(squared * (n - r - 2) / (n - 1))  # of a covariance that is itself of n samples
    assert 0.86 <= np.mean(inside) <= 0.94
    assert kstest(distances, chi2(len(scara.base)).cdf).pvalue > 0.01
    assert kstest(4 * np.array(distances), chi2(len(scara.base)).cdf).pvalue < 1e-3  # half as wide is noticed
    alone = [  # and without what ties parameters together
        np.sum((truth - base.mean(axis=0)) ** 2 / base.var(axis=0))
        for truth, base in ((truth, base_of(draws, e.layout, e.basis)) for truth, draws, e in repeated)
    ]
    assert np.std(alone) > 1.2 * np.std(distances)


def test_every_body_can_exist_and_friction_brakes(scara, repeated):
    for _, draws, _ in repeated:
        assert can_exist(draws.inertias).all()
        assert all((draws.values[name] >= 0).all() for name in ("damping", "frictionloss", "armature"))
        assert len(np.unique(draws.inertias[:, 0, 0])) == COUNT


def test_mujoco_with_samples_brackets_the_torques(scara, repeated, tmp_path):
    _, draws, _ = repeated[0]
    log, torques = scara.log, []
    at = np.arange(0, len(log), 250)
    for i in range(40):
        sy.save(replace(draws.robot(i, scara.prior), source=None), tmp_path / "one.xml")
        m = mujoco.MjModel.from_xml_path(str(tmp_path / "one.xml"))
        d, found = mujoco.MjData(m), []
        for k in at:
            d.qpos[:], d.qvel[:], d.qacc[:] = log.q[k], log.v[k], log.a[k]
            mujoco.mj_inverse(m, d)
            friction = draws.values["frictionloss"][i] * np.tanh(log.v[k] / 0.05) + draws.values["offset"][i]
            found.append(d.qfrc_inverse + d.qfrc_constraint + friction)
        torques.append(found)
    torques = np.array(torques)
    spread = torques.std(axis=0)
    off = np.abs(log.tau[at] - torques.mean(axis=0)) / spread
    assert np.quantile(off, 0.95) < 3.5 and (off < 1).mean() > 0.4
    assert (spread < 0.03 * np.abs(log.tau).max(axis=0)).all()  # and tightly: what is open does not move torques


def test_scalars_that_are_open_are_spread_as_the_cut_off_normal():
    """Mass of a body that nothing shows, friction that cannot be negative."""
    body = np.array([[1.0, 0, 0, 0, 0.02, 0, 0.02, 0, 0, 0.02]])
    joint = JointNormal(np.append(body, 1.0), np.diag([*np.full(10, 1e-9), np.sqrt(2)]), body)
    lower = np.append(np.full(10, -np.inf), 0.0)
    found = joint.samples(4000, lower, np.random.default_rng(0))[:, 10]
    rng = np.random.default_rng(1)
    cut = 1 + np.sqrt(2) * rng.normal(size=40000)
    cut = cut[cut > 0]
    for share in (0.05, 0.5, 0.95):
        assert np.quantile(found, share) == pytest.approx(np.quantile(cut, share), abs=0.35)
    assert (found > 0).all()


def test_what_is_known_holds_in_every_sample(scara):
    blocks = scara.with_errors(scara.errors(np.random.default_rng(7)))
    known = {"masses": {"all": 7.0}, "fixed": {"link4": "mass"}}
    estimate = fit.consistent(sum(blocks), **known)
    for draws in (estimate.draws(50), fit.uncertainty(estimate, blocks).sample(50)):
        np.testing.assert_allclose(draws.inertias[:, :, 0].sum(axis=1), 7.0, rtol=1e-9)
        np.testing.assert_allclose(draws.inertias[:, 3, 0], scara.prior.inertias[3, 0], rtol=1e-9)
        assert can_exist(draws.inertias).all() and np.ptp(draws.inertias[:, 1, 0]) > 1e-3
    with pytest.raises(FitError, match="no prior"):
        fit.least_squares(sum(blocks)).draws()


def test_mass_stays_inside_the_ellipsoids_that_hold_it(scara):
    """The integral of `1 - (x - c)^T E (x - c)` over the mass is not negative."""
    blocks = scara.with_errors(scara.errors(np.random.default_rng(8)))
    center, squares = np.array([0.0, 0.0, 0.05]), np.array([0.005, 0.005, 0.01])
    within = dict.fromkeys(("link3", "link4"), sy.inertia.Ellipsoid(center, np.diag(squares)))
    shares = []
    for known in ({}, within):
        draws = fit.uncertainty(fit.consistent(sum(blocks), within=known), blocks).sample(100)
        J = pseudo.to_matrix(draws.inertias[:, 2:])
        h, m = J[..., :3, 3], J[..., 3, 3]
        about = np.diagonal(J, axis1=-2, axis2=-1)[..., :3] - 2 * h * center + m[..., None] * center**2
        shares.append(1 - np.sum(about / squares, axis=-1) / m)
        assert can_exist(draws.inertias).all()
    assert (shares[0] < -0.1).any() and (shares[1] > -0.01).all()


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("name", ["panda", "go2", "talos_reduced", "allegro_right_hand", "so101", "z1"])
def test_samples_of_published_robots_can_exist(name, floating):
    """Of few samples of a noisy log, so that most is open; inertias of the files may be as thin as they are."""
    robot, rng = sy.load(urdf(name), floating=floating), np.random.default_rng(0)
    q, v, a = random_state(robot, rng, (200,))
    tau = sy.inverse_dynamics(robot, q, v, a)
    tau += 0.05 * tau.std(axis=0) * rng.normal(size=tau.shape)
    log = sy.Log(t=np.arange(200) * 0.01, q=q, v=v, a=a, tau=tau, joint_names=robot.dof_names)
    estimate = fit.consistent(accumulate(robot, log, friction=("viscous", "coulomb"), armature=True))
    draws = estimate.draws(8)
    assert can_exist(draws.inertias).all() and (draws.values["frictionloss"] >= 0).all()
    base, r = base_of(draws, estimate.layout, estimate.basis), estimate.basis.count
    deviation = np.sqrt(np.diag(estimate.covariance))
    assert np.median(np.abs(base.mean(axis=0) - estimate.base) / deviation) < 2 and base.shape == (8, r)


def test_a_payload_has_samples():
    theta = np.array([1.2, 0.06, 0, 0.12, 0.02, 0, 0.022, -0.006, 0, 0.01])
    covariance = np.diag(np.array([0.01, 0.002, 0.002, 0.003, *np.full(6, 1e-3)]) ** 2)
    payload = Payload(theta, covariance, "ols", Status.OK, np.ones(2), 100)
    draws = payload.draws(400)
    assert can_exist(draws.inertias).all() and draws.bodies == ("payload",)
    assert draws.inertias[:, 0, 0].std() == pytest.approx(0.01, rel=0.15)


def test_files_hold_them_and_damage_is_refused(scara, repeated, tmp_path):
    _, draws, _ = repeated[0]
    path = fit.save_draws(draws, tmp_path / "draws.npz")
    back = fit.load_draws(tmp_path)
    np.testing.assert_array_equal(back.inertias, draws.inertias)
    assert back.bodies == draws.bodies and back.joints == draws.joints and set(back.values) == set(draws.values)
    arrays = {"body_names": np.array(draws.bodies), "joint_names": np.array(draws.joints), "inertias": draws.inertias}
    for changed, message in (
        ({"inertias": -draws.inertias}, "cannot exist"),
        ({"damping": -draws.values["damping"]}, "negative"),
        ({"damping": draws.values["damping"][:, :1]}, "shape"),
        ({"volume": draws.values["damping"]}, "not known"),
    ):
        path.write_bytes(npz_bytes({"format": "steelyard draws 1.0"}, arrays | changed))
        with pytest.raises(FitError, match=message):
            fit.load_draws(path)
    path.write_bytes(b"no archive")
    with pytest.raises(FitError, match="is not a file of samples"):
        fit.load_draws(path)


def test_rows_are_of_their_own_robot(scara, repeated):
    _, draws, _ = repeated[0]
    robot = draws.robot(3, scara.prior)
    np.testing.assert_array_equal(robot.inertias, draws.inertias[3])
    np.testing.assert_array_equal(robot.damping, draws.values["damping"][3])
    with pytest.raises(ModelError, match="other bodies"):
        draws.robot(0, library.puma560())
    with pytest.raises(OptionError, match="Row 999"):
        draws.robot(999, scara.prior)


@pytest.mark.parametrize("solref", [(0.02, 1.0), (-2e3, -80.0)], ids=["time constant", "stiffness"])
def test_the_ground_of_a_row(tmp_path, solref):
    """MuJoCo's damping ratio, (damping / 2)^2 / stiffness where these are stated, stays."""
    robot = replace(library.scara(), floor=ContactParameters((0.8, 0.01, 0.0), solref, (0.9, 0.95, 0.001, 0.5, 2.0), 3))
    ground = np.array([[0.5, 0.01], [1.2, 0.04]])
    inertias = np.repeat(robot.inertias[None], 2, axis=0)
    own = fit.Draws(robot.body_names, robot.dof_names, inertias, ground=ground)
    draws = fit.load_draws(fit.save_draws(own, tmp_path / "draws.npz"))
    for index, (friction, constant) in enumerate(ground):
        floor = draws.robot(index, robot).floor
        assert floor.friction == (friction, 0.01, 0.0) and floor.time_constant == pytest.approx(constant)
        ratio = [each[1] ** 2 / each[0] if each[0] < 0 else each[1] for each in (solref, floor.solref)]
        assert ratio[1] == pytest.approx(ratio[0])
    assert draws.robot(0, replace(robot, floor=None)).floor is None
    with pytest.raises(FitError, match="not positive"):
        fit.load_draws(fit.save_draws(replace(own, ground=-ground), tmp_path / "wrong.npz"))


def test_drives_of_a_row():
    robot = replace(library.scara(), drives={"joint1": Drive("position", kp=50.0, kd=1.0, limit=9.0, delay=0.01)})
    n = robot.nv
    values = {"gain": np.full((1, n), 40.0), "limit": np.full((1, n), np.inf), "delay": np.full((1, n), 0.02)}
    draws = fit.Draws(robot.body_names, robot.dof_names, robot.inertias[None], values)
    assert draws.robot(0, robot).drives["joint1"] == Drive("position", kp=40.0, kd=1.0, delay=0.02)
