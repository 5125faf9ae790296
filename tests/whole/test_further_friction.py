"""Friction that Coulomb and viscous terms lack: fitted where it helps, a finding where an option left it out."""

import numpy as np
import pytest

import steelyard as sy
from steelyard.errors import OptionError
from steelyard.report.record import read
from steelyard.terms import CHOSEN_FRICTION

FRICTION = ("viscous", "coulomb", "offset")


@pytest.fixture(scope="module")
def case():
    """A robot whose file has links of other masses, and a slow log of it."""
    robot = sy.library.puma560()
    log = sy.simulate.record(robot, duration=12.0).log
    rng = np.random.default_rng(0)
    return robot.with_inertias(robot.inertias * np.exp(0.15 * rng.normal(size=(robot.nb, 1)))), robot, log


def rubbing(robot, log, kind):
    """The log with friction of one kind on top."""
    tau, level = log.tau, 0.1 * np.sqrt(np.mean(log.tau**2, axis=0))
    weight = sy.inverse_dynamics(robot, log.q, 0 * log.q, 0 * log.q)
    v = log.v if log.v is not None else np.gradient(log.q, log.t, axis=0)
    more = {
        "near standstill": lambda: 3 * level * np.tanh(v / 0.02) / (1 + (v / 0.2) ** 2),
        "by load": lambda: 0.4 * np.abs(weight) * np.tanh(v / 0.02),
    }[kind]()
    return log.replace(tau=tau + more)


@pytest.mark.parametrize("kind", ["near standstill", "by load"])
def test_fitted_by_default_and_named_where_an_option_left_it_out(case, kind, tmp_path):
    given, robot, log = case
    log = rubbing(robot, log, kind)
    result = sy.identify(given, log, friction=FRICTION)
    (found,) = (each for each in result.findings if each.code == "further_friction")
    assert kind in found.message
    assert found.options == ("--friction", ",".join((*FRICTION, *CHOSEN_FRICTION)))
    again = sy.identify(given, log, out=tmp_path / "out")
    told = sy.identify(given, log, friction=found.options[1].split(","))
    assert told.after.relative_error == again.after.relative_error
    judged = [sy.validate(each, log).relative_error for each in (again, tmp_path / "out")]
    assert judged[1] == pytest.approx(judged[0], rel=0.1)  # by load of the links found last
    assert again.after.relative_error < 0.85 * result.after.relative_error
    assert "further_friction" not in [each.code for each in again.findings]
    assert any("by cross-validation" in note for note in again.notes)

    def apart(one):
        fast = 2 * np.random.default_rng(1).normal(size=(3, 400, robot.nv))
        true = sy.inverse_dynamics(robot, *fast)
        return np.linalg.norm(
            sy.inverse_dynamics(one.robot.with_joint_properties(armature=robot.armature), *fast) - true
        )

    assert apart(again) <= 1.02 * apart(result)


@pytest.mark.parametrize("kind", ["near standstill", "by load"])
def test_files_have_the_plain_friction_that_comes_closest(case, kind, tmp_path):
    given, robot, log = case
    log = rubbing(robot, log, kind)
    plain, result = (sy.identify(given, log, friction=own) for own in (FRICTION, (*FRICTION, *CHOSEN_FRICTION)))
    sy.save(result.robot, tmp_path / "written.urdf")
    written = sy.validate(sy.load(tmp_path / "written.urdf"), result.held_out).relative_error
    best = sy.validate(plain.robot, result.held_out).relative_error
    assert result.after.relative_error < 0.85 * best  # the summary has all friction
    assert written < 1.05 * best
    offsets = result.samples.values["offset"]
    assert np.allclose(offsets, result.free.sample().values["offset"]) and (offsets < 0).any()
    drawn = result.samples.values["frictionloss"]
    assert np.all(np.abs(drawn.mean(axis=0) - result.robot.frictionloss) < 3 * drawn.std(axis=0) + 0.02)


def test_plain_friction_stays_plain(case):
    given, _, log = case
    result = sy.identify(given, log)
    assert not result.nearest and not result.estimate.layout.extras
    assert "further_friction" not in [each.code for each in result.findings]


@pytest.mark.parametrize("named, missing", [((), "viscous, coulomb"), (("coulomb", "offset"), "viscous")])
def test_friction_that_an_option_left_out_is_tried_before_other_causes(case, named, missing):
    _, robot, log = case
    level = 0.1 * np.sqrt(np.mean(log.tau**2, axis=0))
    v = np.gradient(log.q, log.t, axis=0)
    rough = log.replace(tau=log.tau + level * np.tanh(v / 0.05) + 0.5 * level * v)
    result = sy.identify(robot, rough, friction=named)
    (found,) = (each for each in result.findings if each.code == "friction_left_out")
    assert f"({missing})" in found.message and found.options[0] == "--friction"
    others = [each.code for each in result.findings if each.code in ("delay", "torque_scale", "position_offset")]
    assert not others, others
    again = sy.identify(robot, rough, friction=found.options[1].split(","))
    assert again.after.relative_error < 0.3 * result.after.relative_error
    assert "friction_left_out" not in [each.code for each in again.findings]


def test_a_simulation_without_friction_may_leave_it_out():
    robot = sy.library.scara()
    smooth = robot.with_joint_properties(damping=np.zeros(robot.nv), frictionloss=np.zeros(robot.nv))
    log = sy.simulate.record(smooth, duration=6.0).log
    result = sy.identify(smooth.with_inertias(1.2 * robot.inertias), log, friction=())
    assert "friction_left_out" not in [each.code for each in result.findings]
    assert result.after.relative_error < 0.02


def test_a_spring_is_found_and_told(case, tmp_path):
    _, robot, log = case
    stiffness, rest = 8.0, -1.0
    tau = log.tau.copy()
    tau[:, 2] += stiffness * (log.q[:, 2] - rest)
    sprung = log.replace(tau=tau)
    result = sy.identify(robot, sprung, springs="joint3", out=tmp_path / "out")
    judged = sy.validate(tmp_path / "out", sprung)
    assert judged.relative_error == pytest.approx(sy.validate(result, sprung).relative_error, rel=1e-6)
    told = sy.load(tmp_path / "out" / f"{robot.name}_identified.urdf")
    assert told.dof_names == robot.dof_names
    assert result.estimate.extras[0] == pytest.approx(stiffness, rel=0.02)
    assert result.after.relative_error < 0.02


def test_where_it_cannot_be_had(case, tmp_path):
    given, _, log = case
    with pytest.raises(OptionError, match="are for logs with torques; leave them out with --drive"):
        sy.identify(given, log, friction=("coulomb", "load"), drive="position")
    with pytest.raises(OptionError, match="takes fits of whole logs"):
        sy.fleet.accumulate(sy.save(given, tmp_path / "arm.urdf").path, [tmp_path], friction=("coulomb", "stribeck"))
    with pytest.raises(OptionError, match="Unknown friction term 'striebeck'"):
        sy.identify(given, log, friction=("coulomb", "striebeck"))


def test_links_that_are_not_proven_are_written_when_asked_for(case, tmp_path):
    _, robot, log = case
    log = rubbing(robot, log, "by load")
    rng = np.random.default_rng(0)
    given = robot.with_inertias(robot.inertias * np.exp(0.2 * rng.normal(size=(robot.nb, 1))))
    judged, asked, kept = (
        sy.identify(given, log, links=which, out=tmp_path / which) for which in ("judged", "identified", "given")
    )
    assert judged.stand and kept.stand and not asked.kept
    assert not np.allclose(asked.robot.inertias, given.inertias, rtol=0.01)
    assert asked.after.relative_error == judged.everything.relative_error < judged.after.relative_error
    told = {which: read(tmp_path / which).summary["verdict"] for which in ("judged", "identified", "given")}
    assert told["identified"]["level"] == "care" and told["given"] == told["judged"]
    assert any("Identified links were asked for" in reason for reason in told["identified"]["reasons"])
    assert any("--links identified" in reason for reason in told["judged"]["reasons"])
    with pytest.raises(OptionError, match="--links is for logs with torques"):
        sy.identify(given, log, links="identified", drive="position")
    with pytest.raises(OptionError, match="identified"):
        sy.identify(given, log, links="identifed")
