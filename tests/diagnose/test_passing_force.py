"""Loads and forces that act for part of a log, by Pinocchio: found with link, size and times; healthy logs: none."""

import numpy as np
import pinocchio as pin
import pytest
from evidence.draws import stranger_logs as logs
from evidence.draws import stranger_robots as robots

import steelyard as sy
from steelyard.corrections import Corrections
from steelyard.errors import OptionError
from steelyard.prepare import prepare
from steelyard.prepare.undo import corrected

CELL = 1 / 24  # of a log: within which times are to be right


def job(base):
    return logs.drawn(base, robot="arm")


def found(job, motion, load, tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(job.robot.text)
    log = sy.Log(**logs.recorded(job, motion, load + logs.drives(job, motion, load)))
    return sy.identify(path, log)


def no_worse(result, one, motion):
    """Whether links that are written err no more than those of the file, or than is promised of them."""
    still, own = np.zeros(one.robot.n), logs.links(one, motion)
    given, written = (
        sy.inverse_dynamics(
            robot.with_joint_properties(damping=still, frictionloss=still, armature=still), motion.q, motion.v, motion.a
        )
        for robot in (result.prior, result.robot)
    )
    error = [np.linalg.norm(each - own) / np.linalg.norm(own) for each in (given, written)]
    return error[1] <= max(error[0], result.expected[1].upper)


def named(result):
    return {each.code: each for each in result.diagnosis.faults}


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("base", [3, 11, 17])
def test_a_load_that_comes_and_goes(base, tmp_path):
    one = job(base)
    motion, last = one.usual, one.robot.n
    mass = 0.15 * sum(body.mass for body in one.robot.true.inertias[1:])
    carried = robots.loaded(one.robot.true, last, mass, robots.tip(one.robot.true, last))
    begin, end = 0.4 * motion.t[-1], 0.7 * motion.t[-1]
    held = ((motion.t > begin) & (motion.t < end))[:, None]
    result = found(one, motion, np.where(held, logs.links(one, motion, carried), logs.links(one, motion)), tmp_path)
    fault = named(result)["passing_load"]
    assert fault.evidence["mass_kg"] == pytest.approx(mass, rel=0.2)
    assert fault.evidence["begin_s"] == pytest.approx(begin, abs=CELL * motion.t[-1])
    assert fault.evidence["end_s"] == pytest.approx(end, abs=CELL * motion.t[-1])
    assert fault.options[0] == "--leave-out"
    assert no_worse(result, one, motion)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(("base", "behind"), [(3, 0), (11, 0), (17, 0), (3, 2)])
def test_a_push(base, behind, tmp_path):
    """On the last link, or two before it: named are the link or one before it that feels the same, and joints up to
    the one pushed alone."""
    one = job(base)
    motion, model = one.usual, one.robot.true
    load, data = logs.links(one, motion), model.createData()
    link = one.robot.n - behind
    force = 0.6 * one.robot.lever.max() * np.array([0.4, -0.5, 0.7])
    at = np.flatnonzero((motion.t > 0.55 * motion.t[-1]) & (motion.t < 0.7 * motion.t[-1]))
    for k in at:
        moved = pin.computeJointJacobian(model, data, motion.q[k], link)
        load[k] -= moved[:3].T @ data.oMi[link].rotation.T @ force
    result = found(one, motion, load, tmp_path)
    (fault,) = [each for code, each in named(result).items() if code in ("passing_force", "passing_load")]
    assert fault.evidence["begin_s"] == pytest.approx(motion.t[at[0]], abs=CELL * motion.t[-1])
    assert fault.evidence["end_s"] == pytest.approx(motion.t[at[-1]], abs=CELL * motion.t[-1])
    assert no_worse(result, one, motion)
    if fault.code == "passing_force":
        robot = result.robot
        places = [robot.body_names.index(name) for name in robot.body_names if f" {name} or what it" in fault.message]
        assert len(places) == 1 and link - 3 <= places[0] <= link - 1, fault.message
        for name in robot.dof_names[link:]:
            assert f"at {name}" not in fault.message


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("base", [3, 11, 17])
@pytest.mark.parametrize("kind", ["sines", "pick and place"])
def test_healthy_logs_have_none(base, kind, tmp_path):
    one = job(base)
    motion = one.usual if kind == "sines" else logs.pick_and_place(one, one.rng(3))
    assert not {"passing_load", "passing_force"} & set(named(found(one, motion, logs.links(one, motion), tmp_path)))


def arm_log():
    one = job(3)
    return one, sy.Log(**logs.recorded(one, one.usual, logs.links(one, one.usual)), name="run2")


def test_what_is_left_out_does_not_count(tmp_path):
    one, log = arm_log()
    path = tmp_path / "arm.urdf"
    path.write_text(one.robot.text)
    ready = prepare(log, sy.load(path), corrections=Corrections(leave_out=("3:5", "run2=7:8", "other=1:2"))).log
    t = ready.t
    assert not ((t >= 3) & (t <= 5)).any() and not ((t >= 7) & (t <= 8)).any() and ((t > 1) & (t < 2)).any()


@pytest.mark.parametrize("word", ["3-5", "a:5", "300:500", "run2=300:500"])
def test_words_that_leave_nothing_out_are_refused(word):
    with pytest.raises(OptionError):
        corrected(None, arm_log()[1], Corrections(leave_out=(word,)))
