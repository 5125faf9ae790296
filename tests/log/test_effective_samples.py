"""Logs remember their filters: how many samples have noise of their own."""

import numpy as np
import pytest

import steelyard as sy
from steelyard.errors import LogError
from steelyard.information import accumulate, accumulate_blocks
from steelyard.log import Log, filters, joined, read_log, smoothers, split_blocks, write_csv, write_npz
from steelyard.log.log import independence_of

RATE, N = 500.0, 6000
T = np.arange(N) / RATE


def impulse(**filled):
    """Torque of one sample in the middle, which a filter turns into its impulse response."""
    tau = np.zeros((N, 1))
    tau[N // 2] = 1.0
    return Log(t=T, q=np.sin(T), tau=tau, **filled)


def share_of(response):
    """Independent share of white noise behind a filter, by Parseval: its variance over its density at 0 Hz."""
    return np.sum(response**2) / np.sum(response) ** 2


@pytest.mark.parametrize("smoother", smoothers.SMOOTHERS)
@pytest.mark.parametrize("cutoff", [3.0, 10.0, 40.0])
def test_a_filter_leaves_the_samples_that_its_response_says(smoother, cutoff):
    log = filters.differentiate(impulse(), cutoff=5.0, torque_cutoff=cutoff, smoother=smoother)
    assert log.bandwidth == cutoff
    assert log.effective_samples == pytest.approx(2 * cutoff / RATE * len(log))
    assert log.effective_samples / len(log) == pytest.approx(share_of(log.tau), rel=0.15)


@pytest.mark.parametrize("factor", [2, 5, 20])
def test_decimation_leaves_nearly_all(factor):
    response = sum(np.sum(filters.decimate(impulse()[k:], factor).tau ** 2) for k in range(factor))
    fewer = filters.decimate(impulse(), factor)
    assert fewer.effective_samples / len(fewer) == pytest.approx(factor * response, rel=0.05)
    twice = filters.decimate(filters.differentiate(impulse(), cutoff=2.0), factor)
    assert twice.bandwidth == 2.0  # what an earlier filter took does not come back


def test_parts_keep_it_and_recorded_logs_have_all():
    raw = impulse()
    assert raw.bandwidth is None and raw.effective_samples == N
    log = filters.differentiate(raw, cutoff=10.0)
    train, test = split_blocks(log, 0.3, blocks=4)
    for part in (log[100:900], train, test, log.replace(t=log.t + 5), log[::2], joined([train, test])):
        assert part.effective_samples == pytest.approx(len(part) * 20 / part.rate)
    assert log[::50].effective_samples == len(log[::50])  # 100 ms apart: each on its own
    assert log[:1].effective_samples == 1
    assert filters.differentiate(raw, cutoff=10.0, filter_torque=False).bandwidth is None
    assert independence_of([log, raw]) == pytest.approx((log.effective_samples + N) / (len(log) + N))
    with pytest.raises(LogError, match="bandwidth is a frequency"):
        log.replace(bandwidth=0.0)


def test_files_keep_it(tmp_path):
    log = filters.differentiate(impulse(), cutoff=7.0)
    assert read_log(write_npz(log, tmp_path / "log.npz")).bandwidth == 7.0
    for bandwidth in (7.0, 1 / 3, 1e5 / 7, None):
        written = write_csv(log.replace(bandwidth=bandwidth), tmp_path / "log.csv")
        assert read_log(written).bandwidth == bandwidth
    written.write_text("# bandwidth wide Hz\n" + written.read_text())
    assert read_log(written).bandwidth is None
    arrays = {"t": T, "q": np.sin(T), "tau": np.cos(T)}
    for strange in (np.nan, -1.0, np.array([1.0, 2.0]), "wide", np.zeros(0)):
        np.savez(tmp_path / "other.npz", **arrays, bandwidth=strange)
        found = read_log(tmp_path / "other.npz")
        assert found.bandwidth is None and any("bandwidth" in note for note in found.notes)


def test_information_counts_them():
    robot = sy.library.scara()
    rng = np.random.default_rng(0)
    q = np.cumsum(rng.normal(size=(N, robot.nq)), axis=0) * 1e-3
    raw = Log(t=T, q=q, tau=rng.normal(size=(N, robot.nv)), joint_names=robot.dof_names)
    slow, fast = (filters.differentiate(raw, cutoff=cutoff) for cutoff in (5.0, 25.0))
    for log, share in ((slow, 0.02), (fast, 0.1)):
        assert accumulate(robot, log).independence == pytest.approx(share)
        assert sum(accumulate_blocks(robot, log[:40], count=40)).independence == pytest.approx(share)
        told = log.replace(bandwidth=0.25 * log.rate)  # what a controller did beside
        assert accumulate(robot, told).independence == pytest.approx(0.5)
    both = accumulate(robot, [slow, fast])
    apart = accumulate(robot, slow) + accumulate(robot, fast)
    assert both.independence == pytest.approx(apart.independence) == pytest.approx(independence_of([slow, fast]))
