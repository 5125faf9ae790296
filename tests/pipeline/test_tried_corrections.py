"""Corrections are recommended where undoing a mistake takes a real share off held-out torque errors, and only there."""

import mujoco
import numpy as np
import pytest

import steelyard as sy
from steelyard.decisions.fit_plan import FitPlan
from steelyard.diagnose.faults import fault
from steelyard.job import Job
from steelyard.model import mjcf_text
from steelyard.pipeline import inspect
from steelyard.pipeline.posterior_of_logs import tried
from steelyard.prepare import Prepared
from steelyard.simulate import Sensors, record, rich_motion

PUMA = sy.library.puma560()


def stepped_log(step: float):
    """A log as a MuJoCo user saves it, torques and state after each step: noise-free, torques half a step late."""
    m = mujoco.MjSpec.from_string(mjcf_text(PUMA)).compile()
    m.opt.timestep, m.dof_frictionloss[:] = step, 0.0
    d, M = mujoco.MjData(m), np.zeros((m.nv, m.nv))
    t = np.arange(round(10 / step)) * step
    q, v, a = rich_motion(PUMA, duration=10, seed=1).evaluate(t)
    d.qpos[:], d.qvel[:], rows = q[0], v[0], []
    for k in range(len(t)):
        mujoco.mj_forward(m, d)
        mujoco.mj_fullM(m, d, M)
        wanted = a[k] + 400 * (q[k] - d.qpos) + 40 * (v[k] - d.qvel)
        d.qfrc_applied[:] = M @ wanted + d.qfrc_bias - d.qfrc_passive
        mujoco.mj_step(m, d)
        rows.append((d.time, *d.qpos, *d.qvel, *d.qfrc_applied))
    t, *signals = np.split(np.array(rows), [1, 7, 13], axis=1)
    return sy.Log(t=t[:, 0], **dict(zip("qv", signals, strict=False)), tau=signals[2], joint_names=PUMA.dof_names)


def recommended(found) -> list[str]:
    return [word for finding in found for word in finding.options]


def test_half_a_time_step_of_a_simulation_is_no_advice():
    log = stepped_log(2e-3)
    result = sy.identify(PUMA, log)
    late = [fault.evidence["delay_ms"] for fault in result.diagnosis.faults if fault.code == "delay"]
    assert late == [pytest.approx(1.0, abs=0.2)]  # the diagnosis sees it
    assert not recommended(result.findings)
    assert not recommended(inspect(log, PUMA).faults)


@pytest.mark.exhaustive
def test_a_real_delay_is_recommended_with_what_it_won_on_held_out_samples():
    log = record(PUMA, duration=10.0, seed=1, sensors=Sensors(delay=0.012, torque_noise=0.01)).log
    for found in (sy.identify(PUMA, log).findings, inspect(log, PUMA).faults):
        (late,) = [each for each in found if each.code == "delay"]
        assert late.options[1] == f"all={late.evidence['delay_ms'] / 1000:.5f}"
        assert late.evidence["delay_ms"] == pytest.approx(12, abs=0.5) and "on held-out samples from" in late.message


@pytest.fixture(scope="module")
def noisy():
    log = record(PUMA, duration=10.0, seed=2, sensors=Sensors(torque_noise=1.0)).log
    return sy.filters.differentiate(log, cutoff=10.0)


def state(log):
    return FitPlan(Job("", ()), PUMA, (Prepared(log, log, log, (), None, None),), sy.fit.posterior)


@pytest.mark.parametrize(
    ("code", "options", "said"),
    [
        ("delay", ["--delay", "all=0.00100"], " takes the torque error"),
        ("delay", ["--delay", "joint9=0.01"], ", which cannot be made"),
        ("coupled_joints", ["--coupling", "joint4+joint5"], " takes the torque error"),
    ],
)
def test_a_figure_that_mends_nothing_is_left_out_and_said(noisy, code, options, said):
    told = fault(code, "It is so.", options=options, joint="joint2")
    kept, notes = tried([told], state(noisy))
    assert kept == () and notes[0].startswith(f"Not recommended: {' '.join(options)}{said}")


def test_a_correction_that_mends_the_log_stays(noisy):
    step = np.median(np.diff(noisy.t))
    late = noisy.replace(tau=np.roll(noisy.tau, round(0.02 / step), axis=0))[20:-20]
    right, wrong = (fault("delay", "It is so.", options=["--delay", f"all={sign}0.02"]) for sign in ("", "-"))
    kept, _ = tried([right], state(late))
    assert [each.options[1] for each in kept] == ["all=0.02"] and "Tried: --delay all=0.02" in kept[0].message
    kept, notes = tried([wrong], state(late))
    assert not kept and "--delay all=-0.02" in notes[0]


def test_delays_of_all_joints_are_tried_together(noisy):
    late = noisy.replace(tau=np.roll(noisy.tau, round(0.02 / np.median(np.diff(noisy.t))), axis=0))[20:-20]
    told = [fault("delay", "It is so.", options=["--delay", f"{name}=0.02"], joint=name) for name in PUMA.dof_names]
    kept, _ = tried(told, state(late))
    assert len(kept) == PUMA.nv and all("--delay joint6=0.02 takes" in each.message for each in kept)
