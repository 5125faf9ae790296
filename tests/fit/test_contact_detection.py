"""Contacts by the observer of an identified arm: against pushes in MuJoCo, whose friction the model does not have."""

from dataclasses import replace

import numpy as np
import pytest
from evidence.bench import contacts as bench
from evidence.draws.pushes import Push
from scipy.signal import lfilter

import steelyard as sy
from steelyard.errors import LogError, OptionError
from steelyard.fit import contact_detection
from steelyard.fit.confidence import posterior_uncertainty

FORCE, BEGIN, END = np.array([30.0, -20.0, 25.0]), 1.5, 2.2


@pytest.fixture(scope="module")
def arm():
    robot, found, quiet = bench.identified(15.0)
    return robot, sy.fit.ContactDetector(found, quiet)


@pytest.fixture(scope="module")
def pushed(arm):
    push = Push("wrist_1_link", np.array([0.0, 0.05, 0.1]), FORCE, BEGIN, END)
    return bench.recorded(arm[0], 50, 4.0, (push,))


def test_no_contact_no_alarm(arm):
    robot, detector = arm
    log, _ = bench.recorded(robot, 60, 6.0)
    assert detector(log).contacts == ()


def test_a_push_is_found_where_and_when_it_is(arm, pushed):
    log, outside = pushed
    found = arm[1](log)
    (contact,) = found.contacts
    assert BEGIN <= contact.begin < BEGIN + 0.05 and END <= contact.end < END + 0.15
    assert contact.links == ("wrist_1_link",) and set(contact.joints) <= set(found.robot.dof_names[:4])
    late = (log.t > BEGIN + 0.2) & (log.t < END)
    miss = np.abs(found.torque - outside)[late]
    assert (miss < 4 * found.deviation[late]).mean() > 0.95 and (miss.max(axis=0) < 0.3 * np.abs(outside).max()).all()
    assert "wrist_1_link or beyond" in repr(found)


def test_the_wrench_of_a_known_place(arm, pushed):
    """A force at the link pushed; one joint carries the first link, so that a wrench there stays open."""
    log, _ = pushed
    found = arm[1](log)
    late = (log.t > BEGIN + 0.2) & (log.t < END)
    robot = found.robot
    site = replace(robot.frame("wrist_1_link"), name="place", position=np.array([0.0, 0.05, 0.1]))
    found = replace(found, robot=replace(robot, sites=(*robot.sites, site)))
    force, deviation = found.wrench("place", "point")
    np.testing.assert_allclose(force[late].mean(axis=0), FORCE, atol=6.0)
    assert np.isfinite(deviation).all()
    opened, _ = found.wrench("shoulder_link")
    assert np.isnan(opened[:, :5]).all() and np.isfinite(opened[:, 5]).all()


def test_the_residual_is_the_observer_of_the_identified_robot(arm, pushed, monkeypatch):
    """In whole and in short pieces; offsets are of the estimate alone."""
    (_, detector), (log, _) = arm, pushed
    torque, parameter, _ = detector._residual(log)
    estimate = detector.uncertainty.estimate
    expected = sy.momentum_observer(estimate.robot, log.t, log.q, log.v, log.tau, gain=detector.gain)
    expected = expected + estimate.friction["offset"] * -np.expm1(-detector.gain * log.t[:, None])
    np.testing.assert_allclose(torque, expected, atol=1e-7 * np.abs(log.tau).max())
    monkeypatch.setattr(contact_detection, "CHUNK", 300)
    for one, other in zip(detector._residual(log)[:2], (torque, parameter), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-8 * np.abs(other).max())


def test_uncertain_parameters_are_those_of_the_torque_band(arm):
    """At rest, where the filter has settled."""
    robot, detector = arm
    q = np.tile(np.linspace(-1, 1, 6), (600, 1))
    log = sy.Log(t=0.001 * np.arange(600), q=q, v=0 * q, tau=0 * q, joint_names=robot.joint_names)
    band = sy.fit.TorquePredictor(detector.uncertainty)(q[-1], 0 * q[-1], 0 * q[-1])
    np.testing.assert_allclose(detector._residual(log)[1][-1], band.parameter, rtol=1e-6)
    assert (detector(log).deviation[-1] > band.parameter).all()


def test_a_gap_begins_anew(arm, pushed):
    _, detector = arm
    log, _ = pushed
    cut = log[np.r_[0:1000, 3000:4000]]
    np.testing.assert_allclose(detector._residual(cut)[0][1000:], detector._residual(log[3000:4000])[0], atol=1e-8)


@pytest.mark.parametrize("pole", [0.7, 0.95])
def test_alarms_of_noise_are_as_many_as_asked_for(pole):
    """A minute of noise gives the level that some hours exceed at the rate asked for, and half of it too often."""
    rng, memory, wanted = np.random.default_rng(0), 0.1, 20
    noise = lfilter([1.0], [1.0, -pole], rng.normal(size=720_000 + 6000))
    noise = np.abs(noise / noise.std())
    t = 0.01 * np.arange(len(noise))
    level = contact_detection._level(t[:6000], noise[:6000], memory, wanted / 60)
    counts = [len(contact_detection._merged(t, noise > each, memory)) / 2 for each in (level, 0.5 * level)]
    assert wanted / 5 < counts[0] < 5 * wanted and counts[1] > 50 * wanted


PUMA, SHARP = sy.library.puma560(), 0.01  # rad/s, half-width of the sign of a friction sharper than the columns


def sharp(seed, pace=1.0, outside=0.0):
    """A minute of sines at a pace, whose reversals are slow where it is."""
    rng, t = np.random.default_rng(seed), np.arange(0.0, 60.0, 0.004)
    size, speed = rng.uniform(0.1, 0.5, (3, 6)), 2 * np.pi * pace * rng.uniform(0.08, 0.45, (3, 6))
    phase = speed * t[:, None, None] + rng.uniform(0, 2 * np.pi, (3, 6))
    q, v = (size * np.sin(phase)).sum(axis=1), (size * speed * np.cos(phase)).sum(axis=1)
    a = -(size * speed**2 * np.sin(phase)).sum(axis=1)
    tau = sy.inverse_dynamics(PUMA, q, v, a) + PUMA.damping * v + PUMA.frictionloss * np.tanh(v / SHARP)
    tau += 0.01 * PUMA.frictionloss * rng.normal(size=tau.shape)
    tau[2500:2650] -= outside
    v += 0.001 * rng.normal(size=v.shape)
    return sy.Log(t=t, q=q, v=v, a=a, tau=tau, joint_names=PUMA.joint_names)


def test_friction_sharper_than_the_columns_is_no_contact():
    """Slow reversals included, of which the log without contacts had none; what touches is found at once."""
    quiet = sharp(7)
    found = posterior_uncertainty(sy.fit.posterior(sy.accumulate(PUMA, quiet)))
    detector = sy.fit.ContactDetector(found, quiet)
    alarms = [len(detector(sharp(100 + seed, pace)).contacts) for seed in range(4) for pace in (1.0, 0.15)]
    assert sum(alarms) < 8  # in eight minutes 4, all at the slow pace; 174 where noise is alike at all speeds
    torque = np.array([0.0, 0.0, 0.0, 0.0, 0.2, 0.0])
    first = next(each for each in detector(sharp(200, outside=torque)).contacts if each.end > 10.0)
    assert 10.0 <= first.begin < 10.05 and first.joints == ("joint5",)


def test_branches_are_told_apart():
    robot = sy.library.quadruped()
    legs = [name for name in robot.dof_names if "calf" in name or "knee" in name][:2]
    dofs = [robot.dof_names.index(name) for name in legs]
    links = contact_detection.touched(robot, dofs)
    assert len(links) == 2 and contact_detection.touched(robot, dofs[:1]) == links[:1]
    assert contact_detection.touched(robot, [0, dofs[0]]) == links[:1]


def test_what_cannot_be_observed_is_refused(arm, pushed):
    detector, log = arm[1], pushed[0]
    with pytest.raises(LogError, match=r"not known.*Leave the flags out"):
        detector(log.replace(contacts={"tool0": np.ones(len(log))}))
    with pytest.raises(LogError, match="tau"):
        detector(log.replace(tau=None))
    with pytest.raises(OptionError, match="rate in 1/h"):
        sy.fit.ContactDetector(detector.uncertainty, log, false_alarms=0.0)
    with pytest.raises(OptionError, match="gain is positive"):
        sy.fit.ContactDetector(detector.uncertainty, log, gain=0.0)
    with pytest.raises(LogError, match="without contact"):
        sy.fit.ContactDetector(detector.uncertainty, log[:1])(log)
