"""Rows that measure no torque: flight, an undriven joint, dead sensors; lost scale; noise that is known."""

import numpy as np
import pytest
from evidence.draws.fit_problems import draw

import pinocchio_adapter as adapter
import steelyard as sy
from problems import random_log, scattered, true_base
from robots import random_state
from steelyard import fit
from steelyard.fit import ratios, validate
from steelyard.fit.homogeneous import ratios_about
from steelyard.fit.prior import consistent_prior, prior_parameters
from steelyard.fit.whitening import weigh_rows
from steelyard.information import accumulate

SAMPLES = 600


def frictionless(robot):
    return robot.with_joint_properties(**{key: np.zeros(robot.nv) for key in ("armature", "damping", "frictionloss")})


def torques_by_pinocchio(robot, folder):
    """Function of q, v, a (n, ...) that gives the torques (n, nv) of a robot's own inertias."""
    path = folder / f"{robot.name}.urdf"
    sy.save(robot, path)
    model = adapter.load(path, robot.joints[0].kind == "free")
    data = model.createData()

    def torques(q, v, a):
        return np.array([adapter.inverse_dynamics(model, data, robot, *state) for state in zip(q, v, a, strict=True)])

    return torques


def without_torque(torques, dofs, q, v, a):
    """Accelerations at which the torques of some degrees are zero: these are linear in the acceleration."""
    a = a.copy()
    a[:, dofs] = 0.0
    left = torques(q, v, a)[:, dofs]
    units = np.eye(a.shape[1])[dofs]
    mass = np.stack([torques(q, v, a + unit)[:, dofs] - left for unit in units], axis=-1)
    a[:, dofs] = -np.linalg.solve(mass, left[..., None])[..., 0]
    return a


def rms(x):
    return np.sqrt(np.mean(x**2, axis=0))


def disturbed(x, error, rng):
    return x + error * rms(x) * rng.normal(size=x.shape)


def log_of(robot, q, v, a, tau):
    return sy.Log(t=np.arange(len(q)) * 0.01, q=q, v=v, a=a, tau=tau, joint_names=robot.dof_names)


@pytest.fixture(scope="module")
def leg(tmp_path_factory):
    """A leg with a free torso, one whose inertias differ, torques of the latter, its flight, and fresh motion of it."""
    model = frictionless(sy.library.cheetah3_leg(floating=True))
    rng = np.random.default_rng(0)
    truth = model.with_inertias(scattered(consistent_prior(None, model, model.nb)[0], rng))
    torques = torques_by_pinocchio(truth, tmp_path_factory.mktemp("leg"))
    q, v, a = random_state(truth, rng, (SAMPLES,))
    a = without_torque(torques, np.arange(6), q, v, a)
    tau = torques(q, v, a)
    assert np.abs(tau[:, :6]).max() < 1e-9
    tau[:, :6] = 0.0
    fresh = random_state(truth, rng, (200,))
    return model, truth, log_of(truth, q, v, a, tau), log_of(truth, *fresh, torques(*fresh))


def flight(leg, *, motion=0.0, torque=0.01, seed=1):
    """Information of a flight whose motion and torques err by shares of their RMS."""
    model, _, log, _ = leg
    rng = np.random.default_rng(seed)
    v, a, tau = disturbed(log.v, motion, rng), disturbed(log.a, motion, rng), disturbed(log.tau, torque, rng)
    return accumulate(model, log.replace(v=v, a=a, tau=tau), friction=(), engine="numpy")


def mass_of(robot_or_estimate):
    theta = robot_or_estimate.inertias if hasattr(robot_or_estimate, "inertias") else robot_or_estimate.theta
    return float(theta[:, 0].sum())


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("motion", [0.0, 1e-4, 1e-3])
def test_flight_tells_ratios_and_joints_the_scale(leg, motion):
    model, truth, _, fresh = leg
    estimate = fit.consistent(flight(leg, motion=motion))
    assert estimate.status is fit.Status.OK
    total = estimate.base_names.index("torso.m")
    error = estimate.base[total] - mass_of(truth)
    assert abs(error) < 0.03 * mass_of(truth)
    assert abs(error) < 3 * np.sqrt(estimate.covariance[total, total])
    assert validate(estimate, fresh).relative_error < 0.03 < 0.2 < validate(model, fresh).relative_error


def test_rows_as_they_are_would_draw_everything_to_nothing(leg):
    """The test above has teeth: the same rows weighed by their residuals alone."""
    info = flight(leg, motion=1e-3)
    weighted, _ = weigh_rows(info, iterations=20)
    base = np.linalg.lstsq(weighted.G, weighted.b)[0]
    assert abs(base[0]) < 0.02 * mass_of(leg[1])
    found, _ = fit.weigh_by_noise(info)
    assert np.linalg.lstsq(found.G, found.b)[0][0] == pytest.approx(mass_of(leg[1]), rel=0.03)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("motion", [0.005, 0.02, 0.05])
def test_a_noisy_flight_loses_the_scale_and_says_so(leg, motion):
    """The torso keeps its prior; its mass is what is missing, and once given the fit is right."""
    model, truth, _, fresh = leg
    info = flight(leg, motion=motion)
    estimate = fit.consistent(info)
    assert estimate.status is fit.Status.LOST_SCALE
    assert "--mass all=KG" in estimate.summary()
    assert "measured no torque" in estimate.summary()
    assert estimate.theta[0, 0] == pytest.approx(model.inertias[0, 0], rel=0.01)
    known = fit.consistent(info, masses={"all": mass_of(truth)})
    assert known.status is not fit.Status.LOST_SCALE
    assert validate(known, fresh).relative_error < 0.1 < validate(estimate, fresh).relative_error


@pytest.mark.parametrize("factor", [0.1, 10.0])
def test_a_prior_far_off_is_overcome(leg, factor):
    model, truth, log, _ = leg
    theta = model.inertias.copy()
    theta[0] *= factor
    info = accumulate(model.with_inertias(theta), log, friction=(), engine="numpy")
    assert mass_of(fit.consistent(info)) == pytest.approx(mass_of(truth), rel=0.01)


def test_ratios_are_blind_to_scale_and_exact_at_the_reference(leg):
    """What the rows say of a multiple of the reference, against the quotient that they are the first order of."""
    info = flight(leg, motion=1e-3).base
    x = true_base(info, leg[1])
    silent = ratios(info).groups
    assert silent.tolist() == [True] * 6 + [False] * 3
    found = ratios_about(info, x)
    seen = found.of(info)
    for factor in (0.0, 0.5, 3.0):
        energy = seen.residual_energy(factor * x)[silent]
        np.testing.assert_allclose(energy, (found.share * info.residual_energy(x))[silent], rtol=1e-4)
    np.testing.assert_array_equal(seen.residual_energy(2 * x)[~silent], info.residual_energy(2 * x)[~silent])
    # away from it: the residual over the scale, to first order in the step
    step = 1e-4 * np.random.default_rng(0).normal(size=len(x)) * np.abs(x)
    slope = (seen.residual_energy(x + step) - seen.residual_energy(x - step)) / 2
    G = info.gram
    columns = info.basis.columns // 10
    D = G * (columns[:, None] == columns)
    size = np.einsum("gij,i,j->g", D, x, x)
    expected = 2 * (
        np.einsum("gij,i,j->g", G, x, step) - info.residual_energy(x) * np.einsum("gij,i,j->g", D, x, step) / size
    )
    np.testing.assert_allclose((slope / found.share)[silent], expected[silent], rtol=1e-6)


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    model = frictionless(sy.library.puma560())
    rng = np.random.default_rng(5)
    truth = model.with_inertias(scattered(consistent_prior(None, model, model.nb)[0], rng))
    return model, truth, torques_by_pinocchio(truth, tmp_path_factory.mktemp("arm"))


def test_a_joint_that_nothing_drives_tells_ratios(arm):
    """Its torque is zero and that is true: the fit is as good as with the torque of a sensor."""
    model, truth, torques = arm
    rng = np.random.default_rng(2)
    q, v, a = random_state(truth, rng, (SAMPLES,))
    a = without_torque(torques, np.array([4]), q, v, a)
    tau = torques(q, v, a)
    tau[:, 4] = 0.0
    log = log_of(truth, q, disturbed(v, 1e-3, rng), disturbed(a, 1e-3, rng), disturbed(tau, 0.01, rng))
    estimate = fit.consistent(accumulate(model, log, friction=(), engine="numpy"))
    fresh = random_state(truth, rng, (200,))
    assert estimate.status is fit.Status.OK
    assert validate(estimate, log_of(truth, *fresh, torques(*fresh))).relative[4] < 0.05


def test_a_dead_sensor_does_not_make_its_link_weightless(arm):
    model, truth, torques = arm
    rng = np.random.default_rng(3)
    q, v, a = random_state(truth, rng, (SAMPLES,))
    tau = disturbed(torques(q, v, a), 0.01, rng)
    dead = tau.copy()
    dead[:, 4] = 0.0
    fresh = random_state(truth, rng, (200,))
    test = log_of(truth, *fresh, torques(*fresh))
    whole, part = (
        fit.consistent(accumulate(model, log_of(truth, q, v, a, each), friction=(), engine="numpy"))
        for each in (tau, dead)
    )
    assert f"{truth.dof_names[4]} measured no torque" in part.summary()
    assert validate(part, test).relative_error < 2 * validate(whole, test).relative_error
    assert (part.theta[4:, 0] > 0.3 * model.inertias[4:, 0]).all()


def test_a_dead_wrench_sensor_under_a_hanging_arm_is_left_out(arm):
    model, truth, torques = arm
    rng = np.random.default_rng(4)
    log = random_log(truth, rng, samples=SAMPLES, noise=0.01, torque=torques)
    log = log.replace(wrenches={"base": np.zeros((SAMPLES, 6))})
    estimate = fit.consistent(accumulate(model, log, rows=("joints", "base"), friction=(), engine="numpy"))
    assert "measured no torque" in estimate.summary()
    assert estimate.status is not fit.Status.OK
    assert mass_of(estimate) > 0.5 * mass_of(model)


def test_intervals_of_a_flight_know_that_its_base_tells_no_scale(leg):
    """Half the joints' noise halves the interval of the total mass: rows of the base alone would leave it as it is."""
    model, truth, log, _ = leg
    rng = np.random.default_rng(8)
    shape = rng.normal(size=log.tau.shape)
    width = []
    for torque in (0.05, 0.1):
        noisy = log.replace(tau=log.tau + torque * rms(log.tau) * shape)
        blocks = sy.information.accumulate_blocks(model, noisy, friction=(), engine="numpy")
        estimate = fit.consistent(sum(blocks[1:], blocks[0]))
        found = fit.uncertainty(estimate, blocks)
        total = estimate.base_names.index("torso.m")
        assert found.base.lower[total] < mass_of(truth) < found.base.upper[total]
        width.append(found.base.upper[total] - found.base.lower[total])
    assert width[1] == pytest.approx(2 * width[0], rel=0.1)


def test_a_log_without_any_torque_keeps_the_prior(leg):
    """Nothing tells a scale: ratios and the prior do, and the fit says so."""
    model, _, log, _ = leg
    tau = np.zeros_like(log.tau)
    estimate = fit.consistent(accumulate(model, log.replace(tau=tau), friction=(), engine="numpy"))
    assert estimate.status is fit.Status.LOST_SCALE
    assert 0.3 < mass_of(estimate) / mass_of(model) < 3


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_silence_is_judged_by_the_prior_of_the_fit(arm, factor):
    """A model whose numbers are far off beside a prior that is right, and a prior that is too heavy everywhere."""
    model, truth, torques = arm
    log = random_log(truth, np.random.default_rng(6), samples=SAMPLES, noise=0.01, torque=torques)
    info = accumulate(model.with_inertias(model.inertias * factor), log, friction=(), engine="numpy")
    estimate = fit.consistent(info, prior=consistent_prior(None, model, model.nb)[0])
    assert estimate.status is not fit.Status.LOST_SCALE
    assert not ratios(info).groups.any()
    np.testing.assert_allclose(estimate.base, true_base(info, truth), rtol=0.1, atol=0.1)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("seed", [66, 194])
def test_torques_of_light_bodies_are_not_silent_beside_a_prior_that_is_too_heavy_for_some(seed):
    """Joints whose bodies the prior makes a hundred times too heavy, with 0.1 % of noise: the other joints see these
    bodies, too, and tell that the torques are measured."""
    problem = draw(seed)
    assert ratios(problem.info, prior_parameters(problem.info, problem.options["prior"])).groups.any()
    found = fit.consistent(problem.info, **problem.options)
    assert found.status is not fit.Status.LOST_SCALE


def test_friction_that_a_file_states_makes_no_joint_silent():
    """Vendors state any; a joint whose torque is nothing beside it still measures what bodies ask for."""
    robot = sy.library.puma560()
    log = sy.simulate.record(robot, duration=4.0, seed=1).log
    vendor = robot.with_joint_properties(damping=np.full(robot.nv, 1e4), frictionloss=np.full(robot.nv, 1e4))
    assert not ratios(sy.accumulate(vendor, log)).groups.any()
    still = log.replace(tau=log.tau * (np.arange(robot.nv) < robot.nv - 1))
    assert ratios(sy.accumulate(vendor, still)).groups.tolist() == [False] * (robot.nv - 1) + [True]
