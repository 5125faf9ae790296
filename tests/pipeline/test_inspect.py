"""What is said of simulated logs, whose noise, steps and delays are known."""

import json
import re
from functools import lru_cache
from io import StringIO

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import steelyard as sy
from small_runs import write_case
from steelyard.app import app
from steelyard.errors import LogError
from steelyard.log import bandwidth, cutoff_for
from steelyard.log.automatic_cutoff import DISTORTS, SCATTER, WEAK, of_signal
from steelyard.log.smoothers import SMOOTHERS
from steelyard.pipeline import inspect
from steelyard.pipeline.inspection import quantum, white_noise
from steelyard.report.log_health import health_overview
from steelyard.simulate import Sensors, record


@lru_cache
def recorded(seed=0, step=2e-5, delay=0.0):
    """A recording of the PUMA 560 at 500 Hz, and its log with encoder noise of the size of a step."""
    recording = record(
        sy.library.puma560(), duration=10.0, seed=seed, sensors=Sensors(encoder_resolution=step, delay=delay)
    )
    log = recording.log
    noise = step * np.random.default_rng(seed).normal(size=log.q.shape)
    return recording, log.replace(q=log.q + noise, v=None)


def expected_error(recording, log, cutoff, smoother="butterworth"):
    """Squared error of a fit to the filtered log, from the truth that only the simulation knows: energies of lost
    motion and of noise, each relative to its joint's motion."""
    options = {"cutoff": cutoff, "drop": 300, "smoother": smoother}
    exact = sy.filters.differentiate(recording.truth.replace(v=None, a=None), **options)
    noisy = sy.filters.differentiate(log, **options)
    true = np.stack([np.interp(exact.t, recording.truth.t, column) for column in recording.truth.a.T], axis=1)
    motion = np.mean(true**2, axis=0)
    lost, noise = (np.mean(each**2, axis=0) / motion for each in (exact.a - true, noisy.a - exact.a))
    scatter = noise / (2 * cutoff * log.duration)
    attenuated, ends = WEAK * noise / (1 + WEAK * noise), SCATTER**2 / (log.duration - 2 / cutoff)
    return float(np.mean(DISTORTS**2 * (lost + scatter / (1 + scatter)) + attenuated**2 + ends))


@pytest.mark.claim("logs.cutoff")
@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(("seed", "step"), [(0, 2e-5), (1, 2e-4)])
def test_cutoff_has_the_least_expected_error(seed, step):
    recording, log = recorded(seed, step)
    found = bandwidth(log).cutoff
    candidates = np.geomspace(1.5, 12, 28)
    errors = [expected_error(recording, log, cutoff) for cutoff in candidates]
    best = candidates[int(np.argmin(errors))]
    assert abs(found / best - 1) < 0.1
    assert expected_error(recording, log, found) < 1.1 * min(errors)


@pytest.mark.claim("logs.cutoff")
@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("smoother", ["kalman", "savgol"])
def test_other_smoothers_have_their_own_best_cutoff(smoother):
    recording, log = recorded(1, 1e-3)
    found = bandwidth(log, smoother=smoother).cutoff
    errors = [expected_error(recording, log, c, smoother) for c in (found, *np.geomspace(1.7, 14, 11))]
    assert errors[0] < 1.1 * min(errors)
    assert found > 1.1 * bandwidth(log).cutoff  # they fall off earlier, so they need more


@pytest.mark.claim("logs.cutoff", "the automatic cutoff is within 10 % of the best", pages=("docs/logs.md",))
@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    "log", [("slow", 100, "white 2e-3"), ("quick", 100, "steps 1e-3"), ("quick", 100, "white 2e-4")]
)
@pytest.mark.parametrize("smoother", SMOOTHERS)
def test_identification_error_is_within_ten_percent_of_the_best_cutoffs(log, smoother, monkeypatch):
    """Of nine, for each smoother, over draws of the noise; the wrong ones cost several times as much."""
    from evidence.bench import cutoffs

    motion, rate, noise = log
    bench = cutoffs.bench("puma560")
    truth = cutoffs.moved(bench.truth, *cutoffs.MOTIONS[motion])
    logs = [cutoffs.sensed(truth, rate, noise, draw) for draw in range(3)]
    auto, nine = cutoffs.choice(bench, logs, smoother)
    assert auto < 1.1 * nine.min()
    assert nine.max() > 3 * auto


def test_what_identify_takes():
    recording, log = recorded(1, 2e-4)
    assert cutoff_for(log) == bandwidth(log).cutoff == cutoff_for(log.replace(q=log.q.copy()))  # to the last digit
    assert cutoff_for(log) == pytest.approx(cutoff_for(log.replace(t=log.t + 1024.0)), rel=1e-10)
    assert cutoff_for(log) == pytest.approx(cutoff_for(log.replace(t=log.t + 1.7e9)), rel=1e-4)  # stamps of 0.2 us
    assert cutoff_for(log, 7.0) == 7.0
    assert cutoff_for(log[:50]) == 10.0 and cutoff_for(log[:500:10]) == pytest.approx(50 / 6)
    exact = recording.truth.replace(v=None)
    assert bandwidth(exact).cutoff > 10 and cutoff_for(exact) == 10.0
    rough = log.replace(v=np.gradient(log.q, log.t, axis=0))
    assert bandwidth(rough).cutoff == pytest.approx(bandwidth(log).cutoff, rel=0.1)
    quick = exact.replace(v=recording.truth.v + 1.0 * np.random.default_rng(0).normal(size=exact.q.shape))
    assert bandwidth(quick).cutoff == bandwidth(exact).cutoff > 2 * bandwidth(quick.replace(q=rough.q)).cutoff


def test_noise_level_of_a_spectrum():
    rng = np.random.default_rng(0)
    t = np.arange(4000) * 2e-3
    x = np.sin(2 * np.pi * t)[:, None] * [1.0, 5.0] + rng.normal(size=(4000, 2)) * [1e-4, 3e-3]
    assert of_signal(x, t).noise == pytest.approx([1e-4, 3e-3], rel=0.05)
    assert white_noise(x[:, 0]) == pytest.approx(1e-4, rel=0.05)
    with pytest.raises(LogError, match="too few"):
        of_signal(x[:20], t[:20])


def test_quantum():
    x = np.sin(np.linspace(0, 6, 3000))
    assert quantum(np.round(x / 1e-3) * 1e-3) == pytest.approx(1e-3, rel=1e-6)
    assert quantum(x) is None and quantum(x + 1e-3 * np.random.default_rng(0).normal(size=3000)) is None
    assert quantum(np.zeros(10)) is None


def test_delays_against_the_model():
    robot = sy.library.puma560()
    late = inspect(recorded(delay=0.008)[1], robot)
    assert list(late.delays) == list(robot.joint_names)
    screen = Console(width=200, record=True, file=StringIO())
    screen.print(health_overview(late))
    assert len(re.findall(r"[78]\.\d+ ± 0\.\d+", screen.export_text())) == 1 + 6  # the finding, and a column
    told, deviation = np.array(list(late.delays.values())).T
    assert (np.abs(told - 0.008) < 3.5 * deviation).all() and deviation.max() < 1e-4
    assert [fault.code for fault in late.faults] == ["delay"]


def test_a_fault_of_the_model_alone_has_the_exit_status_of_findings(tmp_path):
    def flipped(t, q, tau):
        return t, q, tau * [1, -1, 1]

    for change, status, codes in ((None, 0, []), (flipped, 1, ["torque_sign"])):
        model, log = write_case(tmp_path, change=change)
        done = CliRunner().invoke(app, ["inspect", str(log), "--model", str(model), "--json"])
        found = json.loads(done.output)
        assert (done.exit_code, found["findings"]) == (status, [])
        assert [fault["code"] for fault in found["faults"]] == codes


def test_a_damaged_log_is_described_and_not_refused(tmp_path):
    log = recorded()[1]
    t = log.t.copy()
    t[3000:] += 0.5
    found = inspect(log.replace(t=t))
    assert found.gaps == ((pytest.approx(t[2999]), pytest.approx(0.502)),) and found.cutoff
    assert [finding.code for finding in found.findings] == ["gap"]
    t[10] = t[9]
    found = inspect(log.replace(t=t))
    assert "time_duplicate" in [finding.code for finding in found.findings] and found.cutoff is None


def stored(how, log):
    """Time stamps of a log as programs spoil them."""
    t, some = log.t + 1.6e9, slice(100, 103)
    if how in ("nan", "inf", "-inf"):
        t[some] = float(how)
    return {
        "whole seconds": np.floor(t),
        "tenths": np.round(log.t, 1),
        "float32": t.astype(np.float32),
        "equal": np.full_like(t, 3.0),
        "all nan": np.full_like(t, np.nan),
        "pairs": np.repeat(t[::2], 2)[: len(t)],
    }.get(how, t)


STEADY = ("whole seconds", "tenths", "pairs")
BAD = dict.fromkeys((*STEADY, "float32", "equal"), "time_duplicate")
BAD |= dict.fromkeys(("nan", "inf", "-inf", "all nan"), "not_finite")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("how", "code"), BAD.items())
def test_stamps_that_are_none_are_found_and_nothing_fails(tmp_path, how, code):
    log = recorded()[1][:4000]
    spoilt = log.replace(t=stored(how, log))
    assert code in [each.code for each in inspect(spoilt, sy.library.puma560()).findings]
    path = sy.write_npz(spoilt, tmp_path / "run.npz")
    done = CliRunner().invoke(app, ["inspect", str(path), "--html", str(tmp_path / "a.html")], catch_exceptions=False)
    assert done.exit_code == 1 and "cannot be used as it is" in done.output
    said = " ".join(done.output.split())
    assert ("stored too coarsely" in said) == (code == "time_duplicate")
    assert ("come at 500 Hz: --even-stamps" in said) == (how in STEADY)
    if how in STEADY:
        done = CliRunner().invoke(app, ["inspect", str(path), "--even-stamps", "--json"], catch_exceptions=False)
        found = json.loads(done.output)
        assert (done.exit_code, found["findings"]) == (0, []) and found["rate"] == pytest.approx(500, rel=2e-3)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", [0, 1])
def test_a_log_without_torque_is_not_compared_with_the_model(tmp_path, seed):
    model, path = write_case(tmp_path, change=lambda t, q, tau: (t, q, 0 * tau), seed=seed)
    command = ["inspect", str(path), "--model", str(model), "--json"]
    done = CliRunner().invoke(app, command, catch_exceptions=False)
    found = json.loads(done.output)
    assert done.exit_code == 1 and found["faults"] == []
    assert "zero_torque" in [each["code"] for each in found["findings"]]


def test_command(tmp_path):
    log = recorded()[1]
    path = sy.write_npz(log, tmp_path / "run.npz")
    done = CliRunner().invoke(app, ["inspect", str(path)])
    assert done.exit_code == 0 and "Nothing is wrong" in done.output and ", cutoff" in done.output
    assert all(name in done.output for name in log.joint_names)
    coarse = log.replace(q=np.round(log.q, 2))
    path = sy.write_npz(coarse, tmp_path / "coarse.npz")
    done = CliRunner().invoke(app, ["inspect", str(path), "--json"])
    found = json.loads(done.output)
    assert done.exit_code == 1 and {finding["code"] for finding in found["findings"]} >= {"coarse_position"}
    assert found["signals"][0]["quantum"] == pytest.approx(0.01)
    assert CliRunner().invoke(app, ["inspect", str(tmp_path / "none.npz")]).exit_code == 2
