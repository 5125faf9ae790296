"""Stribeck and load-dependent friction: found where they are, left out where they are not, refined as SciPy does."""

import numpy as np
import pytest
from scipy import optimize

import steelyard as sy
from arm_logs import recorded
from steelyard.errors import OptionError
from steelyard.fit.friction_terms import _Profile, nearest_plain
from steelyard.information import accumulate
from steelyard.terms import UserColumn

CUTOFF = 10.0
COLUMNS = {"armature": True}
STRIBECK, SPEED, LOAD = 3.0, 0.25, 0.15  # of the second and the third joint


def fading(v, speed):
    return np.tanh(v / 0.05) / (1 + (v / speed) ** 2)


@pytest.fixture(scope="module")
def logs():
    """A leg of three joints without and with the terms, 1 % torque noise."""
    robot = sy.library.cheetah3_leg().with_joint_properties(
        damping=np.full(3, 0.5), frictionloss=np.full(3, 0.8), armature=np.full(3, 0.05)
    )
    exact, _ = recorded(robot, duration=12.0)
    log = sy.filters.differentiate(exact, CUTOFF)
    rng = np.random.default_rng(0)
    log = log.replace(tau=log.tau + 0.01 * np.sqrt(np.mean(log.tau**2, axis=0)) * rng.normal(size=log.tau.shape))
    bodies = robot.with_joint_properties(armature=np.zeros(3))
    more = np.zeros_like(log.tau)
    more[:, 1] = STRIBECK * fading(log.v[:, 1], SPEED)
    more[:, 2] = LOAD * np.tanh(log.v[:, 2] / 0.05) * np.abs(sy.inverse_dynamics(bodies, log.q, log.v, log.a)[:, 2])
    return robot, log, log.replace(tau=log.tau + more)


@pytest.fixture(scope="module", params=["consistent", "least_squares"])
def found(request, logs):
    robot, _, log = logs
    return sy.fit.friction(robot, log, fit=request.param, **COLUMNS)


@pytest.mark.exhaustive(keep=1)
def test_terms_are_found_at_their_joints(found):
    joints = {joint.name: joint for joint in found.joints}
    assert joints["hip"].stribeck == pytest.approx(STRIBECK, rel=0.15)
    assert joints["hip"].stribeck_speed == pytest.approx(SPEED, rel=0.2)
    assert joints["knee"].load == pytest.approx(LOAD, rel=0.15)
    others = [(j.stribeck, j.load) for j in found.joints if j.name not in ("hip", "knee")]
    assert others == [(None, None)] and joints["hip"].load is None and joints["knee"].stribeck is None
    assert found.error < 0.5 * found.plain_error
    assert "knee" in found.summary() and "of the load" in found.summary()


def test_the_estimate_carries_and_predicts_them(found, logs):
    _, _, log = logs
    names = [extra.name.split()[0] for extra in found.estimate.layout.extras]
    assert sorted(names) == ["hip.stribeck", "knee.load"]
    assert sy.validate(found.estimate, log).relative_error < 0.02
    assert found.error == pytest.approx(sy.validate(found.estimate, log).relative_error, rel=0.1)


def test_plain_friction_comes_as_close_as_scipy_brings_it(found, logs):
    robot, _, log = logs
    info = accumulate(robot, log, extra=found.columns, **COLUMNS)
    estimate = sy.fit.least_squares(info)
    near = nearest_plain(estimate, info)
    for dof in range(robot.nv):
        columns = np.column_stack([log.v[:, dof], log.direction[:, dof]])
        whole = columns @ [estimate.friction["viscous"][dof], estimate.friction["coulomb"][dof]]
        for extra, value in zip(estimate.layout.extras, estimate.extras, strict=True):
            if extra.dofs == (dof,):
                whole = whole + value * extra.function(log.q, log.v, log.a)[:, dof]
        closest, _ = optimize.nnls(columns, whole)
        assert (near["damping"][dof], near["frictionloss"][dof]) == pytest.approx(closest, rel=1e-6, abs=1e-8)
    assert near["frictionloss"][1] > estimate.friction["coulomb"][1] + 0.1 * STRIBECK
    plain = accumulate(robot, log, **COLUMNS)
    assert nearest_plain(sy.fit.least_squares(plain), plain) == {}


def test_nothing_is_kept_that_is_not_there(logs):
    robot, log, _ = logs
    plain = sy.fit.friction(robot, log, fit="least_squares", **COLUMNS)
    assert all(joint.stribeck is None and joint.load is None for joint in plain.joints)
    assert plain.error == plain.plain_error
    given = sy.fit.least_squares(accumulate(robot, log, **COLUMNS))
    np.testing.assert_allclose(plain.estimate.base, given.base, rtol=1e-8, atol=1e-10)
    for joint, coulomb, offset in zip(plain.joints, given.friction["coulomb"], given.friction["offset"], strict=True):
        assert (joint.forward, joint.backward) == pytest.approx((coulomb + offset, coulomb - offset))


def test_the_speed_is_the_minimum_of_the_projected_cost(logs):
    """SciPy's bounded search over the speed, a pass over the log each time."""
    robot, _, log = logs

    def cost(speed):
        def column(q, v, a):
            torque = np.zeros_like(v)
            torque[:, 1] = fading(v[:, 1], speed)
            return torque

        info = accumulate(robot, log, extra=[UserColumn("fading", column, joints=("hip",))], **COLUMNS)
        estimate = sy.fit.least_squares(info)
        return float(np.log(info.residual_energy(estimate.base)[1]))

    best = optimize.minimize_scalar(cost, bounds=(0.1, 0.8), method="bounded", options={"xatol": 0.01}).x
    fit = sy.fit.friction(robot, log, terms=("stribeck",), fit="least_squares", **COLUMNS)
    speed = next(joint.stribeck_speed for joint in fit.joints if joint.name == "hip")
    assert abs(np.log(speed / best)) < np.log(2) / 4
    assert all(joint.load is None for joint in fit.joints)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ["least_squares", "consistent"])
def test_a_term_that_would_drive_the_joint_is_refused(logs, name):
    robot, log, more = logs
    less = log.replace(tau=2 * log.tau - more.tau)
    fit = sy.fit.friction(robot, less, fit=name, **COLUMNS)
    assert all((joint.stribeck or 0) >= 0 and (joint.load or 0) >= 0 for joint in fit.joints)


def test_columns_of_one_joint(logs):
    """A user column limited to a joint is the same as one with zeros elsewhere, and consistent keeps its bound."""
    robot, log, _ = logs

    def column(q, v, a):
        return np.where(np.arange(3) == 1, -v * np.abs(v), 0.0)

    infos = [
        accumulate(robot, log, extra=[UserColumn("drag", column, joints=joints, nonnegative=True)], **COLUMNS)
        for joints in (None, ("hip",))
    ]
    np.testing.assert_allclose(infos[1].gram, infos[0].gram, atol=1e-12 * infos[0].gram.max())
    assert infos[1].layout.extras[0].dofs == (1,)
    assert sy.fit.consistent(infos[1]).extras[0] >= 0.0
    with pytest.raises(OptionError, match="no driven joint 'elbow'"):
        accumulate(robot, log, extra=[UserColumn("drag", column, joints=("elbow",))])


def test_refusals(logs):
    robot, log, _ = logs
    with pytest.raises(OptionError, match="stribeck, load"):
        sy.fit.friction(robot, log, terms=("sticky",))
    with pytest.raises(OptionError, match="least_squares, consistent"):
        sy.fit.friction(robot, log, fit="entropic")


def test_a_term_that_costs_any_block_is_not_kept():
    """Squared held-out errors of three blocks and one joint: nothing, and three terms."""
    energies = {
        frozenset(): [1.0, 1.0, 1.0],
        frozenset(["steady"]): [0.9, 0.9, 0.9],
        frozenset(["uneven"]): [0.5, 0.5, 1.05],
        frozenset(["tiny"]): [0.998, 0.998, 0.998],
    }
    profile = object.__new__(_Profile)
    profile._energies = lambda chosen: np.array(energies[frozenset(chosen)])[:, None]
    assert profile._best((), [(), ["uneven"], ["steady"]]) == ["steady"]
    assert profile._best((), [(), ["uneven"]]) == ()
    assert profile._best((), [(), ["tiny"]]) == ()  # less than a term must save
