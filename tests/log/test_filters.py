import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import signal

from properties import tried
from steelyard.errors import LogError, OptionError
from steelyard.log import Log, filters, read_log
from steelyard.log.smoothers import SMOOTHERS

pytestmark = pytest.mark.claim(
    "logs.filters", "filters have the response they state; irregular data against a dense truth"
)


def relative(found, expected):
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


def single_pass(cutoff, rate, order):
    """Cutoff of one pass when two of them are to be 3 dB down: each 1.5 dB, with the bilinear transform's warp."""
    return rate / np.pi * np.arctan(np.tan(np.pi * cutoff / rate) / (np.sqrt(2) - 1) ** (1 / (2 * order)))


def gain(rate, frequency, cutoff, order=4):
    """Amplitude the filter leaves of a sine, far from the ends."""
    t = np.arange(0, 60 / cutoff, 1 / rate)
    inner = slice(len(t) // 4, -len(t) // 4)
    wave = np.exp(2j * np.pi * frequency * t)
    y = filters.lowpass(np.column_stack([wave.real, wave.imag]), t, cutoff, order=order)
    return np.mean((y[inner, 0] + 1j * y[inner, 1]) / wave[inner])


@tried(25)
@given(rate=st.floats(20, 5000), fraction=st.floats(0.01, 0.45), order=st.integers(2, 6))
def test_cutoff_is_3_db_in_hertz_at_any_rate(rate, fraction, order):
    cutoff = fraction * rate
    response = gain(rate, cutoff, cutoff, order)
    assert abs(response) == pytest.approx(np.sqrt(0.5), rel=1e-3)
    assert abs(np.angle(response)) < 1e-6  # zero phase


@pytest.mark.parametrize("order", [2, 4])
def test_response_is_that_of_a_two_pass_butterworth(order):
    rate, cutoff = 4000.0, 10.0
    b, a = signal.butter(order, single_pass(cutoff, rate, order), fs=rate)
    for frequency in (2.0, 5.0, 8.0, 12.0, 20.0, 30.0):
        _, h = signal.freqz(b, a, worN=[frequency], fs=rate)
        assert abs(gain(rate, frequency, cutoff, order)) == pytest.approx(abs(h[0]) ** 2, abs=1e-4)


def test_agrees_with_filtfilt_on_regular_noise():
    rng = np.random.default_rng(0)
    x, rate, cutoff = rng.standard_normal((4000, 2)), 500.0, 8.0
    expected = signal.sosfiltfilt(signal.butter(4, single_pass(cutoff, rate, 4), fs=rate, output="sos"), x, axis=0)
    found = filters.lowpass(x, rate, cutoff)
    inner = slice(500, -500)
    assert relative(found[inner], expected[inner]) < 2e-3
    wrong = filters.lowpass(x, rate, cutoff / 0.9)  # the usual slip: a cutoff that is not corrected for two passes
    assert relative(wrong[inner], expected[inner]) > 0.05
    np.testing.assert_allclose(filters.lowpass(x[:, 0], rate, cutoff), found[:, 0], atol=1e-12)


@pytest.mark.parametrize("epoch", [0.0, 1.7e9])
@pytest.mark.parametrize("spread", [0.0, 0.3, "bunched"])
def test_derivatives_at_irregular_stamps(motion, spread, epoch):
    """Against the analytic motion (all of it below 1.5 Hz): 0.3 moves each stamp by up to 30 % of a step; bunched
    stamps come in pairs a microsecond apart."""
    rng = np.random.default_rng(2)
    t = np.arange(0, 10, 0.01)
    if spread == "bunched":
        t = np.sort(np.concatenate([t, t[::7] + 1e-6]))
    else:
        t = t + 0.01 * spread * rng.uniform(-1, 1, len(t))
    truth = motion(t)
    log = filters.differentiate(truth.replace(t=t + epoch, v=None, a=None), cutoff=12.0)
    kept = np.isin(t + epoch, log.t)
    tolerance = 1 if epoch == 0 else 30  # stamps of today hold 0.2 us
    for key, bound in (("q", 1e-6), ("v", 3e-6), ("a", 5e-5)):
        assert relative(getattr(log, key), getattr(truth, key)[kept]) < bound * tolerance, key
    if spread == 0.3:  # the known-wrong way
        regular = truth.replace(t=np.linspace(t[0], t[-1], len(t)), v=None, a=None)
        assert relative(filters.differentiate(regular, cutoff=12.0).v, truth.v[kept]) > 1e-3


def test_measured_velocity_is_used_and_everything_sees_one_filter(motion):
    log = motion()
    rng = np.random.default_rng(3)
    noisy = log.replace(q=log.q + 1e-3 * rng.standard_normal(log.q.shape))
    result = filters.differentiate(noisy, cutoff=5.0)
    kept = np.isin(log.t, result.t)
    assert relative(result.a, log.a[kept]) < 1e-3  # the noise in q does not reach it
    for key in ("q", "v", "tau"):
        expected = filters.lowpass(getattr(noisy, key), log.t, 5.0)[kept]
        np.testing.assert_allclose(getattr(result, key), expected, atol=1e-9)
    assert "v: filtered measurement" in result.notes
    assert "a: derivative of v; the logged acceleration was not used" in result.notes
    raw = filters.differentiate(noisy, cutoff=5.0, filter_torque=False)
    np.testing.assert_array_equal(raw.tau, log.tau[kept])
    assert raw.joint_names == log.joint_names


def test_late_velocities_are_taken_from_positions(motion):
    """Those of a driver that filters differences come late; noise and early ones are no reason to leave them."""
    log = motion()
    late, early = (log.replace(v=filters.lowpass(log.v, log.t, 20.0)[_at(log.t, by)]) for by in (-0.02, 0.02))
    found = filters.differentiate(late, cutoff=5.0)
    kept = np.isin(log.t, found.t)
    assert relative(found.v, log.v[kept]) < 1e-3 and relative(found.a, log.a[kept]) < 1e-3
    assert any(
        re.match(r"v: derivative of the filtered q, as that of the log comes 1[5-9] ms late", x) for x in found.notes
    )
    noise = np.random.default_rng(2).standard_normal(log.v.shape)
    for other in (early, log.replace(v=log.v + 0.05 * noise)):
        assert "v: filtered measurement" in filters.differentiate(other, cutoff=5.0).notes


def _at(t, by):
    """Of the samples that lie so much later."""
    return np.clip(np.searchsorted(t, t + by), 0, len(t) - 1)


def test_filtering_keeps_a_linear_law():
    """tau = 2 a + 3 v holds after filtering both sides, noise-free, even for motion above the cutoff."""
    t = np.arange(0, 20, 0.005)
    q = np.sin(9 * t) + np.sin(40 * t)
    tau = 2 * (-81 * np.sin(9 * t) - 1600 * np.sin(40 * t)) + 3 * (9 * np.cos(9 * t) + 40 * np.cos(40 * t))
    log = filters.differentiate(Log(t=t, q=q, tau=tau), cutoff=4.0, drop=200)
    assert relative(2 * log.a + 3 * log.v, log.tau) < 3e-4
    half = filters.differentiate(Log(t=t, q=q, tau=tau), cutoff=4.0, drop=200, filter_torque=False)
    assert relative(2 * half.a + 3 * half.v, half.tau) > 0.1


def test_the_default_drop_leaves_out_the_ends_transient(motion):
    truth = motion()
    log = truth.replace(v=None, a=None)
    error = [
        np.abs(filters.differentiate(log, drop=drop).a - truth.a[drop : len(log) - drop]).max() for drop in (0, 10)
    ]
    assert len(filters.differentiate(log)) == len(log) - 20
    assert error[0] > 30 * error[1] and error[1] < 2e-3 * np.abs(truth.a).max()


def test_gaps_are_not_bridged(motion):
    t = np.arange(0, 10, 0.01)
    t = np.concatenate([t[t < 4], t[t > 4.3] + 1e-3, [12.0]])
    truth = motion(t)
    log = filters.differentiate(truth.replace(v=None, a=None), cutoff=10.0)
    assert len(log) == len(t) - 1 - 40
    assert not np.any((log.t > 3.9) & (log.t < 4.39)) and log.t[-1] < 10
    assert relative(log.v, truth.v[np.isin(t, log.t)]) < 1e-4
    assert "(10 at each end of 2 stretches); 1 stretches between gaps were too short" in log.notes[0]
    jump = np.where(t < 4.1, 0.0, 1e3)[:, None]  # whatever lies beyond the gap does not matter
    other = filters.differentiate(truth.replace(q=truth.q + jump, v=None, a=None), cutoff=10.0)
    np.testing.assert_allclose(other.v, log.v, atol=1e-5)


def test_order_and_cutoff_have_bounds(motion):
    log = motion()
    for cutoff in (50.1, 80.0, 0.0, -1.0, np.nan):
        with pytest.raises(LogError, match="at a sampling rate of 100 Hz it must lie above 0 and below 50 Hz"):
            filters.differentiate(log, cutoff=cutoff)
    for order in (0, 7):
        with pytest.raises(OptionError, match="expected 1 to 6"):
            filters.differentiate(log, order=order)
    for order in SMOOTHERS["butterworth"].orders:
        assert np.isfinite(filters.differentiate(log, order=order).a).all()
    with pytest.raises(OptionError, match="drop=-1"):
        filters.differentiate(log, drop=-1)
    with pytest.raises(LogError, match=r"has 1000 samples; filtering at 0.1 Hz needs more than 2000"):
        filters.differentiate(log, cutoff=0.1)


def test_bad_logs_are_refused(motion):
    log = motion()
    bad = log.q.copy()
    bad[3, 1] = np.nan
    for wrong, message in (
        (log.replace(q=bad), "q of elbow is nan at sample 3"),
        (log.replace(t=log.t[::-1]), "Time goes back"),
        (log[:1], "It has 1 samples"),
        (
            log.replace(q=np.ones((len(log), 4)), v=None),
            "holds quaternions, whose derivative is not a velocity. Give v",
        ),
    ):
        with pytest.raises(LogError, match=message):
            filters.differentiate(wrong)
    with pytest.raises(LogError, match="t must increase"):
        filters.lowpass([1.0, 2, 3], [0.0, 0, 1], 0.1)
    with pytest.raises(LogError, match="only 2 samples between gaps"):
        filters.lowpass(np.ones(102), [*np.arange(100), 500, 501], 0.1)


def test_quaternions_with_velocity(motion):
    log = motion()
    wide = log.replace(q=np.ones((len(log), 4)), a=None)
    result = filters.differentiate(wide)
    np.testing.assert_array_equal(result.q, wide.q[10:-10])
    assert relative(result.a, log.a[10:-10]) < 1e-3


def test_restamp_undoes_a_zero_order_hold(motion):
    source = motion(np.arange(0, 10, 1 / 70), a=None, joint_names=())
    t = np.arange(0, 9.99, 0.01)
    rows = np.searchsorted(source.t, t, side="right") - 1
    held = Log(t=t, q=source.q[rows], tau=source.tau[rows])
    truth = source.v[np.unique(rows)]

    restamped = filters.restamp(held)
    assert len(restamped) == len(truth)
    result = filters.differentiate(restamped, cutoff=8.0, drop=9)
    assert relative(result.v, truth[9:-9]) < 5e-3
    before = filters.differentiate(held, cutoff=8.0)
    assert relative(before.v, source.v[rows][np.isin(t, before.t)]) > 0.03
    assert "dropped" in restamped.notes[-1]
    assert filters.restamp(source) is source


def test_panda_velocity(measured):
    """The measured velocity agrees with the derivative of the measured position once held samples are undone."""
    log = read_log(measured("panda_unisa_30Hz.npz"))
    errors = []
    for candidate in (log, filters.restamp(log)):
        from_q = filters.differentiate(candidate.replace(v=None), cutoff=5.0)
        errors.append(relative(from_q.v, filters.differentiate(candidate, cutoff=5.0).v))
    assert errors[1] < 0.015 < 0.08 < errors[0]


@pytest.mark.parametrize(("name", "bound_v", "bound_a"), [("ur10_unisa_125Hz", 4e-3, 0.04), ("tx40_100Hz", 5e-4, 5e-3)])
def test_other_measured_velocities(measured, name, bound_v, bound_a):
    log = read_log(measured(f"{name}.npz"))
    found, expected = (filters.differentiate(x, cutoff=8.0) for x in (log.replace(v=None), log))
    assert relative(found.v, expected.v) < bound_v and relative(found.a, expected.a) < bound_a


def test_reading_needs_no_scipy():
    code = "import sys, steelyard.log; assert not any(m.split('.')[0] == 'scipy' for m in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_torques_may_have_a_cutoff_of_their_own():
    """Torque at the third harmonic of slow motion, tau = sin(3 q'): a cutoff just above the motion loses it."""
    t = np.arange(0, 20, 0.01)
    q = 0.5 * np.sin(2 * np.pi * 0.5 * t)
    log, left = Log(t=t, q=q, tau=np.sin(6 * q)), {}
    for torque_cutoff in (None, 2.0, 10.0):
        found = filters.differentiate(log, 2.0, torque_cutoff=torque_cutoff, drop=200)
        left[torque_cutoff] = relative(found.tau, np.sin(6 * found.q))
    assert left[None] == left[2.0] > 0.05 and left[10.0] < 2e-3
    assert "(10 Hz for torques)" in found.notes[0]
    np.testing.assert_array_equal(found.tau, filters.differentiate(log, 10.0, drop=200).tau)
    np.testing.assert_array_equal(found.a, filters.differentiate(log, 2.0, drop=200).a)
    with pytest.raises(LogError, match="cutoff 60 Hz"):
        filters.differentiate(log, 2.0, torque_cutoff=60.0)


def test_torques_keep_their_harmonics_where_the_log_chooses_the_cutoff():
    rng = np.random.default_rng(0)
    t = np.arange(0, 20, 0.01)
    q = 0.5 * np.sin(2 * np.pi * 0.5 * t) + 1e-3 * rng.normal(size=len(t))
    log = Log(t=t, q=q, tau=np.sin(6 * q))
    chosen = filters.cutoff_for(log)
    assert chosen < 5.0 and filters.torque_cutoff_for(log) == 10.0
    assert filters.torque_cutoff_for(log[::4]) == pytest.approx(25 / 6)
    assert filters.torque_cutoff_for(log, 3.0) == 3.0 and filters.torque_cutoff_for(log, None, 7.0) == 7.0
    found = filters.differentiate(log)
    asked = filters.differentiate(log, chosen, torque_cutoff=10.0)
    np.testing.assert_array_equal(found.tau, asked.tau)
    np.testing.assert_array_equal(found.a, asked.a)
    assert found.notes[0] == asked.notes[0] and "(10 Hz for torques)" in found.notes[0]
    assert "for torques" not in filters.differentiate(log, chosen).notes[0]


@pytest.mark.parametrize("order", [2, 4])
def test_samples_count_by_the_time_they_stand_for(order):
    """The penalty is blind to polynomials below its order, so what is left of the samples has no share of any, each
    sample weighed with its part of the time.
    """
    rng = np.random.default_rng(5)
    t = np.cumsum(rng.uniform(0.002, 0.03, 200))
    x = np.sin(7 * t) + 0.1 * rng.normal(size=200)
    left = x - filters.lowpass(x[:, None], t, 4.0, order=order)[:, 0]
    powers = np.vander(t / t[-1], order)
    time = np.gradient(t)
    assert np.abs(powers.T @ (time * left)).max() < 1e-9 * (time @ np.abs(left))
    assert np.abs(powers.T @ left).max() > 1e-3 * np.sum(np.abs(left))  # alike they would not
