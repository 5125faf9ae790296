"""Friction of any shape: found by the posterior, and brought to the two terms of model files as SciPy brings it."""

import numpy as np
import pytest
from scipy import optimize

import steelyard as sy
from arm_logs import recorded
from steelyard.dynamics.effects import extra_torque
from steelyard.errors import OptionError
from steelyard.fit.posterior import nearest_plain
from steelyard.information import accumulate
from steelyard.terms import UserColumn

CUTOFF = 10.0
COLUMNS = {"armature": True}
SHAPED = {"friction": ("viscous", "coulomb", "offset", "curve", "load"), **COLUMNS}
STRIBECK, SPEED, LOAD = 3.0, 0.25, 0.15  # of the second and the third joint


@pytest.fixture(scope="module")
def logs():
    """A leg of three joints without and with friction that fades with speed and that follows load, 1 % torque noise."""
    robot = sy.library.cheetah3_leg().with_joint_properties(
        damping=np.full(3, 0.5), frictionloss=np.full(3, 0.8), armature=np.full(3, 0.05)
    )
    exact, _ = recorded(robot, duration=12.0)
    log = sy.filters.differentiate(exact, CUTOFF)
    rng = np.random.default_rng(0)
    log = log.replace(tau=log.tau + 0.01 * np.sqrt(np.mean(log.tau**2, axis=0)) * rng.normal(size=log.tau.shape))
    return robot, log, log.replace(tau=log.tau + shaped(robot, log))


def shaped(robot, log):
    bodies = robot.with_joint_properties(armature=np.zeros(3))
    more = np.zeros_like(log.tau)
    more[:, 1] = STRIBECK * np.tanh(log.v[:, 1] / 0.05) / (1 + (log.v[:, 1] / SPEED) ** 2)
    more[:, 2] = LOAD * np.tanh(log.v[:, 2] / 0.05) * np.abs(sy.inverse_dynamics(bodies, log.q, log.v, log.a)[:, 2])
    return more


@pytest.fixture(scope="module")
def found(logs):
    robot, _, log = logs
    info = accumulate(robot, log, **SHAPED)
    return info, sy.fit.posterior(info)


def test_friction_of_any_shape_is_found_at_its_joints(found, logs):
    """Its torque, beside that of links, is that of the truth; plain friction leaves several times the error."""
    robot, _, log = logs
    _, estimate = found
    whole = sy.inverse_dynamics(robot, log.q, log.v, log.a) + 0.5 * log.v + 0.8 * log.direction + shaped(robot, log)
    predicted = log.tau - sy.validate(estimate, log).error
    assert np.linalg.norm(predicted - whole) < 0.01 * np.linalg.norm(whole)
    plain = sy.fit.posterior(accumulate(robot, log, **COLUMNS))
    assert sy.validate(estimate, log).relative_error < 0.5 * sy.validate(plain, log).relative_error
    loads = estimate.parameters[estimate.layout.of_kind("load")]
    assert loads[2] == pytest.approx(LOAD, rel=0.15) and np.abs(loads[:2]).max() < 0.2 * LOAD


def test_friction_goes_on_beyond_the_recorded_speeds():
    """Dry gears, whose friction is there at once and fades (Stribeck): of slow motion, judged at five times that."""
    robot, rng, t = sy.library.cheetah3_leg(), np.random.default_rng(3), np.arange(0, 20, 0.004)
    pace, phase = rng.uniform(0.3, 1.2, (2, 3, 3)), rng.uniform(0, 6, (3, 3))

    def log(speed):
        """Of sines whose joints never go faster than 0.3 times speed."""
        angle = speed * pace[0] * t[:, None, None] + phase
        q, v, a = (
            0.1 / pace[0] * f
            for f in (np.sin(angle), speed * pace[0] * np.cos(angle), -((speed * pace[0]) ** 2) * np.sin(angle))
        )
        q, v, a = (x.sum(axis=-1) for x in (q, v, a))
        friction = np.sign(v) * (1.0 + 1.5 * np.exp(-(np.abs(v / 0.07) ** 1.5))) + 0.6 * v
        tau = sy.inverse_dynamics(robot, q, v, a) + friction + 0.02 * rng.normal(size=q.shape)
        return sy.filters.differentiate(sy.Log(t=t, q=q, tau=tau, joint_names=robot.joint_names), CUTOFF)

    slow, fast = log(1.0), log(5.0)
    estimate = sy.fit.posterior(accumulate(robot, slow, sample_weights=sy.reversal_weights(robot, slow), **SHAPED))
    moving = (np.abs(fast.v) > 0.2).all(axis=1)
    left = sy.validate(estimate, fast[moving]).error
    assert np.sqrt(np.mean(left**2, axis=0)).max() < 0.3  # N m, of friction up to 2.5; without a step 0.66


def test_no_friction_is_found_that_is_not_there(logs):
    robot, log, _ = logs
    estimate = sy.fit.posterior(accumulate(robot, log, **SHAPED))
    assert np.abs(estimate.parameters[estimate.layout.of_kind("load")]).max() < 0.1 * LOAD
    plain = sy.fit.posterior(accumulate(robot, log, **COLUMNS))
    assert sy.validate(estimate, log).relative_error == pytest.approx(sy.validate(plain, log).relative_error, rel=0.05)
    assert estimate.friction["coulomb"] == pytest.approx(np.full(3, 0.8), rel=0.1)


def test_plain_friction_comes_as_close_as_scipy_brings_it(found, logs):
    robot, _, log = logs
    info, estimate = found
    near = nearest_plain(estimate, info)
    for dof in range(robot.nv):
        columns = np.column_stack([log.v[:, dof], log.direction[:, dof]])
        whole = columns @ [estimate.friction["viscous"][dof], estimate.friction["coulomb"][dof]]
        further = [
            (value if extra.kind in ("curve", "load") else 0.0)
            for extra, value in zip(estimate.layout.extras, estimate.extras, strict=True)
        ]
        torque = extra_torque(robot, estimate.layout, further, log.q, log.v, log.a)
        closest, _ = optimize.nnls(columns, whole + torque[:, dof])
        assert (near["damping"][dof], near["frictionloss"][dof]) == pytest.approx(closest, rel=1e-6, abs=1e-8)
    plain = accumulate(robot, log, **COLUMNS)
    assert nearest_plain(sy.fit.least_squares(plain), plain) == {}


def test_columns_of_one_joint(logs):
    """A user column limited to a joint is the same as one with zeros elsewhere, and fits keep its bound."""
    robot, log, _ = logs

    def column(q, v, a):
        return np.where(np.arange(3) == 1, -v * np.abs(v), 0.0)

    infos = [
        accumulate(robot, log, extra=[UserColumn("drag", column, joints=joints, nonnegative=True)], **COLUMNS)
        for joints in (None, ("hip",))
    ]
    np.testing.assert_allclose(infos[1].gram, infos[0].gram, atol=1e-12 * infos[0].gram.max())
    assert infos[1].layout.extras[0].dofs == (1,)
    assert sy.fit.consistent(infos[1]).extras[0] >= 0.0 and sy.fit.posterior(infos[1]).extras[0] >= 0.0
    with pytest.raises(OptionError, match="no driven joint 'elbow'"):
        accumulate(robot, log, extra=[UserColumn("drag", column, joints=("elbow",))])


def test_an_unknown_kind_of_friction_is_refused(logs):
    robot, log, _ = logs
    with pytest.raises(OptionError, match="curve"):
        accumulate(robot, log, friction=("viscous", "stribeck"))
