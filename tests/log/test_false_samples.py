"""Samples that lie: each kind is named with joint, count and time and harms no mass; healthy logs are left alone."""

from functools import lru_cache

import numpy as np
import pytest

import steelyard as sy
from odd_logs import odd_log
from steelyard.information import accumulate
from steelyard.log.false_samples import believable
from steelyard.log.stamps import restamp
from steelyard.prepare import prepare

ROBOTS = ("puma560", "cheetah3_leg")
NEAR = 0.02  # of the masses of the clean log


@lru_cache
def robot_of(name: str) -> sy.Robot:
    robot = getattr(sy.library, name)()
    return robot.with_joint_properties(damping=np.full(robot.nv, 0.5), armature=np.full(robot.nv, 0.05))


@lru_cache
def clean(name: str) -> sy.Log:
    return sy.simulate.record(robot_of(name), duration=12.0, seed=1).log.replace(v=None, a=None)


@lru_cache
def right(name: str) -> np.ndarray:
    return masses(name, clean(name))


def masses(name: str, log: sy.Log) -> np.ndarray:
    robot = robot_of(name)
    info = accumulate(robot, prepare(log, robot).log, armature=True)
    return sy.fit.consistent(info).require_robot().inertias[:, 0]


def lone(log: sy.Log, share: float) -> np.ndarray:
    return np.random.default_rng(3).uniform(size=len(log)) < share


def frozen(log, j):
    q, tau = log.q.copy(), log.tau.copy()
    start, stop = (len(log) * 2) // 5, (len(log) * 2) // 5 + round(0.25 * log.rate)
    q[start:stop], tau[start:stop] = q[start], tau[start]
    return log.replace(q=q, tau=tau)


def changed(channel: str, j, rows, change):
    def made(log, own):
        x = getattr(log, channel).copy()
        at = np.ix_(rows(log), np.arange(x.shape[1]) if j is None else [own])
        x[at] = change(x[at])
        return log.replace(**{channel: x})

    return made


KINDS = {
    "frozen": ("frozen_stretch", frozen),
    "no torques": ("zero_dropout", changed("tau", None, lambda log: lone(log, 0.01), np.zeros_like)),
    "no torque of a joint": ("zero_dropout", changed("tau", 1, lambda log: lone(log, 0.01), np.zeros_like)),
    "no positions": ("zero_dropout", changed("q", None, lambda log: lone(log, 0.01), np.zeros_like)),
    "one huge torque": ("spike", changed("tau", 1, lambda log: np.arange(len(log)) == 1234, lambda x: 0 * x + 1e12)),
    "spikes": ("spike", changed("tau", 1, lambda log: lone(log, 0.004), lambda x: -3 * x)),
    "torques missing": ("missing_torque", changed("tau", 1, lambda log: lone(log, 0.01), lambda x: np.nan * x)),
    "a stretch missing": (
        "missing_torque",
        changed("tau", 1, lambda log: np.abs(log.t - 5.0) < 0.25, lambda x: np.nan * x),
    ),
}


@pytest.mark.exhaustive(keep=9)
@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("kind", KINDS)
def test_false_samples_are_named_and_harm_no_mass(name, kind):
    code, made = KINDS[kind]
    log = made(clean(name), 1)
    found = [each for each in prepare(log, robot_of(name)).remaining if each.code == code]
    assert len(found) == 1 and "the first at t = " in found[0].message and f" of {len(log)} samples" in found[0].message
    if kind.endswith("of a joint") or "missing" in kind:
        assert f" of {log.labels[1]} has " in found[0].message
    np.testing.assert_allclose(masses(name, log), right(name), rtol=NEAR)


@pytest.mark.parametrize("name", ROBOTS)
def test_one_frozen_stretch_does_not_stamp_the_whole_log_anew(name):
    log, _ = believable(frozen(clean(name), 1))
    assert np.isin(log.t, clean(name).t).all() and restamp(log) is log


def quantised(log):
    return log.replace(q=np.round(log.q / 2e-3) * 2e-3, tau=np.round(log.tau / 0.5) * 0.5)


def held(log):
    rows = np.arange(len(log)) // 12 * 12
    return log.replace(q=log.q[rows], tau=log.tau[rows])


def standing(log):
    rows = np.minimum(np.arange(len(log)), len(log) // 2)
    return log.replace(q=log.q[rows], tau=log.tau + 0)


def stepping(log):
    """A joint stands, then moves on from rest; its torque jumps and is zero between."""
    tau = np.where((np.arange(len(log)) // 40 % 2 == 0)[:, None], log.tau, 0.0)
    return log.replace(tau=tau)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("made", [lambda log: log, quantised, held, standing, stepping, lambda log: log[::10]])
def test_healthy_logs_are_left_alone(name, made):
    log = made(clean(name))
    assert believable(log) == (log, ())


def test_odd_but_healthy_log_is_left_alone():
    assert believable(odd_log())[1] == ()


def test_a_joint_without_any_torque_is_refused_in_words_that_help():
    log = clean("puma560")
    tau = log.tau.copy()
    tau[:, 2] = np.nan
    with pytest.raises(sy.SteelyardError, match=f"No sample is without. Record tau of {log.labels[2]}"):
        prepare(log.replace(tau=tau), robot_of("puma560"))
