"""Drive gains from currents: known loads and known links, noise, and what fixes no scale."""

import numpy as np
import pytest

import steelyard as sy
from problems import random_log, true_base, with_friction
from robots import urdf
from steelyard.errors import FitError, OptionError
from steelyard.fit import Load, drive_gains
from steelyard.fit.drive_calibration import gains_by_model
from steelyard.inertia import from_com_inertia
from steelyard.information import accumulate

ALL = {"friction": ("viscous", "coulomb", "offset"), "armature": True}
LOAD = from_com_inertia(np.asarray(2.5), np.array([0.05, -0.03, 0.1]), np.diag([0.01, 0.012, 0.02]))


@pytest.fixture(scope="module")
def arm():
    rng = np.random.default_rng(0)
    robot = with_friction(sy.load(urdf("ur5_robot")), rng)
    return robot, rng.uniform(5.0, 120.0, robot.nv) * rng.choice([-1, 1], robot.nv)


def currents(robot, gains, seed, *, load=None, noise=0.0, samples=1500):
    """Information of currents of a robot, with a load on its last body."""
    if load is not None:
        robot = robot.with_inertias(robot.inertias + np.eye(robot.nb)[-1][:, None] * load)
    rng = np.random.default_rng(seed)
    log = random_log(
        robot,
        rng,
        samples=samples,
        noise=noise,
        torque=lambda *s: sy.inverse_dynamics(robot, *s) - robot.armature * s[2],
    )
    return accumulate(robot, log.replace(tau=log.tau / gains), **ALL)


@pytest.mark.parametrize("theta", [LOAD, float(LOAD[0])])
def test_a_load_fixes_gains_and_base_parameters(arm, theta):
    robot, gains = arm
    info, loaded = currents(robot, gains, 1), currents(robot, gains, 2, load=LOAD)
    found = drive_gains(info, loads=[Load(loaded, robot.body_names[-1], theta)])
    np.testing.assert_allclose(found.gains, gains, rtol=1e-8)
    assert found.joint_names == robot.joint_names
    assert found.information.n == (3000 if np.size(theta) == 10 else 1500)
    estimate = sy.fit.least_squares(found.information)
    truth = true_base(info, robot)
    np.testing.assert_allclose(estimate.base, truth, atol=1e-8 * np.abs(truth).max())
    masses = sy.fit.consistent(found.information)
    np.testing.assert_allclose(masses.base, truth, atol=1e-5 * np.abs(truth).max())


def test_a_known_link_fixes_the_scale(arm):
    robot, gains = arm
    body, index = robot.body_names[2], 2
    names = ("m", "hx", "hy", "hz")
    known = {f"{body}.{name}": robot.inertias[index, i] for i, name in enumerate(names)}
    with pytest.raises(FitError, match="cannot be told"):  # its mass alone could be the next link's
        drive_gains(currents(robot, gains, 3), known={f"{body}.m": robot.inertias[index, 0]})
    known |= {f"{other}.m": theta[0] for other, theta in zip(robot.body_names, robot.inertias, strict=True)}
    known |= {
        f"{other}.h{x}": theta[1 + i]
        for other, theta in zip(robot.body_names, robot.inertias, strict=True)
        for i, x in enumerate("xyz")
    }
    np.testing.assert_allclose(drive_gains(currents(robot, gains, 3), known=known).gains, gains, rtol=1e-8)


def test_noise_shows_in_the_deviation_and_not_as_a_bias(arm):
    robot, gains = arm
    errors = []
    for seed in range(8):
        info = currents(robot, gains, 10 + seed, noise=0.05)
        loaded = currents(robot, gains, 30 + seed, load=LOAD, noise=0.05)
        found = drive_gains(info, loads=[Load(loaded, robot.body_names[-1], LOAD)])
        errors.append((found.gains - gains) / found.deviation)
    errors = np.array(errors)
    assert 0.5 < np.sqrt(np.mean(errors**2)) < 1.6
    assert np.abs(errors).max() < 5


def test_what_fixes_no_scale_is_refused_with_the_remedy(arm):
    robot, gains = arm
    info = currents(robot, gains, 1, samples=300)
    with pytest.raises(FitError, match="only fixed by a known mass"):
        drive_gains(info)
    with pytest.raises(FitError, match="only fixed by a known mass"):
        drive_gains(info, known={f"{robot.joint_names[0]}.viscous": 0.0})
    with pytest.raises(OptionError, match=r"no 'wrist\.m'"):
        drive_gains(info, known={"wrist.m": 1.0})
    with pytest.raises(OptionError, match="fixed to body 'tool'"):
        drive_gains(info, loads=[Load(info, "tool", 1.0)])
    with pytest.raises(OptionError, match="ten inertial"):
        drive_gains(info, loads=[Load(info, robot.body_names[-1], np.ones(3))])
    rigid = accumulate(
        robot,
        random_log(robot, np.random.default_rng(1), samples=300, torque=lambda *s: sy.inverse_dynamics(robot, *s)),
    )
    with pytest.raises(FitError, match="armature values"):
        drive_gains(rigid)
    with pytest.raises(FitError, match="other columns"):
        drive_gains(info, loads=[Load(rigid, robot.body_names[-1], 1.0)])


def test_a_joint_that_rests_is_named(arm):
    robot, gains = arm
    still = []
    for load in (None, LOAD):
        moved = robot if load is None else robot.with_inertias(robot.inertias + np.eye(robot.nb)[-1][:, None] * load)
        log = random_log(
            moved,
            np.random.default_rng(5),
            samples=800,
            torque=lambda *s, m=moved: sy.inverse_dynamics(m, *s) - m.armature * s[2],
        )
        tau = log.tau / gains
        tau[:, 3] = 0.0  # unplugged
        still.append(accumulate(robot, log.replace(tau=tau), **ALL))
    with pytest.raises(FitError, match=robot.joint_names[3]):
        drive_gains(still[0], loads=[Load(still[1], robot.body_names[-1], LOAD)])


@pytest.mark.parametrize("wrong", [0.0, 0.15])
def test_gains_of_given_links_are_as_right_as_these(arm, wrong):
    robot, gains = arm
    rng = np.random.default_rng(3)
    truth = robot.with_inertias(robot.inertias * np.exp(wrong * rng.normal(size=(robot.nb, 1))))
    log = random_log(
        truth, rng, samples=1500, noise=0.02, torque=lambda *s: sy.inverse_dynamics(truth, *s) - truth.armature * s[2]
    )
    found = gains_by_model(accumulate(robot, log.replace(tau=log.tau / gains), **ALL))
    shown = np.isfinite(found.deviation)
    assert shown.sum() >= 4 and (np.sign(found.gains) == np.sign(gains))[shown].all()
    error = np.log(found.gains / gains)[shown]
    assert np.abs(error).max() < 3 * wrong + 0.02
    if not wrong:
        assert np.abs((found.gains - gains) / found.deviation)[shown].max() < 5
    assert found.information.n == 1500
