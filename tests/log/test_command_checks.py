"""Faults of commands and currents: each put into a simulated log and named there, none named on the log as it is."""

import numpy as np
import pytest

from steelyard.log import Log, checks, read_log

CODES = ("unsigned_current", "command_is_measured", "command_constant", "sleeping_joint", "staggered_readout")
CODES += ("hit_end_stop", "disabled_stretch")
NAMES = tuple("abcdef")


def servos(*, stop=None, seed=0, t=None):
    """Servos with friction that follow smooth goals, at 50 Hz, by steps of 1 ms, each of its own stiffness. stop:
    position that the first joint cannot go beyond, rad."""
    rng, dt = np.random.default_rng(seed), 1e-3
    t = np.arange(0, 24, 0.02)
    w = rng.uniform(1, 5, (3, 6))
    phase = rng.uniform(0, 6, (3, 6))
    goal = 0.25 * np.sin(t[:, None, None] * w + phase).sum(axis=1)
    kp, inertia, viscous, coulomb = rng.uniform(15, 30, 6), 0.02, 0.8, 0.4
    q, v, found, current = goal[0].copy(), np.zeros(6), [], []
    for k in range(len(t)):
        for _ in range(20):
            u = kp * (goal[k] - q)
            v = (v * inertia / dt + u) / (inertia / dt + viscous)
            v = np.sign(v) * np.maximum(np.abs(v) - coulomb / (inertia / dt + viscous), 0)  # friction, implicitly
            q = q + dt * v
            if stop is not None and q[0] > stop:
                q[0], v[0] = stop, 0.0
        found.append(q.copy())
        current.append(kp * (goal[k] - q) / 1.7)
    noise = rng.normal(0, 2e-4, (len(t), 6)) if stop is None else 0.0
    return Log(t=t, q=np.array(found) + noise, command=goal, current=np.array(current), joint_names=NAMES)


@pytest.fixture(scope="module")
def log():
    return servos()


def named(log, robot=None):
    return [each.code for each in checks.check(log, robot) if each.code in CODES]


def test_nothing_is_named_on_healthy_logs(log):
    assert named(log) == []
    for seed in range(1, 5):
        assert named(servos(seed=seed).replace(enable=np.ones((1200, 6)))) == []


def test_currents_without_a_sign(log):
    assert named(log.replace(current=np.abs(log.current))) == ["unsigned_current"]
    held = log.replace(current=log.current + 2 * np.abs(log.current).max())  # a load that always pulls one way
    assert named(held) == []


@pytest.mark.parametrize("late", [0, 1, 4])
def test_commands_that_are_what_was_measured(log, late):
    copied = np.roll(log.q, late, axis=0)
    assert named(log.replace(command=copied)) == ["command_is_measured"]


def test_a_joint_that_was_not_told_and_one_that_did_not_move(log):
    still = log.command.copy()
    still[:, 2] = 0.1
    assert named(log.replace(command=still)) == ["command_constant"]
    asleep = log.q.copy()
    asleep[:, 3] = 0.2
    assert named(log.replace(q=asleep)) == ["sleeping_joint"]


def test_joints_read_one_after_another(log):
    """Alike servos, of which each is read 3 ms after the one before; lags of unlike servos are no line."""
    goal = np.tile(log.command[:, :1], (1, 6))
    read = np.stack([np.interp(log.t + 0.003 * j - 0.06, log.t, goal[:, j]) for j in range(6)], axis=1)
    assert named(log.replace(q=read, command=goal, current=None)) == ["staggered_readout"]
    alike = np.stack([np.interp(log.t - 0.06, log.t, goal[:, j]) for j in range(6)], axis=1)
    assert named(log.replace(q=alike, command=goal, current=None)) == []


def test_an_end_stop():
    reach = servos().q[:, 0].max()
    assert named(servos(stop=0.4 * reach)) == ["hit_end_stop"]


def test_a_drive_that_is_switched_off(log):
    enable = np.ones((len(log), 6))
    enable[300:500, 1] = 0
    (finding,) = [each for each in checks.check(log.replace(enable=enable)) if each.code in CODES]
    assert finding.code == "disabled_stretch" and "drive of b" in finding.message and "t = 6 s" in finding.message


def test_measured_logs(measured):
    one = read_log(measured("so101.npz"), channels={"log": "multisine"})
    assert named(one) == ["unsigned_current"]
    elbow = read_log(measured("so101.npz"), channels={"log": "single_joint_elbow"})
    assert "command_constant" in named(elbow) and "unsigned_current" in named(elbow)
    assert named(read_log(measured("go2_air.npz"))) == []
    assert "disabled_stretch" in named(read_log(measured("xl330") / "lift_and_drop_kp100.npz"))
