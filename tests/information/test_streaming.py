"""Streams: constant memory, what an interruption leaves, counts."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from evidence.bench import streaming

import steelyard as sy
from robots import random_state, urdf
from steelyard.errors import FitError, LogError, StreamInterrupted
from steelyard.information import accumulate

pytestmark = [
    pytest.mark.claim(
        "information.memory",
        "a million samples of an arm in the memory of the inputs and 50 MB",
        pages=("docs/information.md",),
    ),
    pytest.mark.claim("information.refusals"),
]

SAMPLES = 500
MODULE = sys.modules[accumulate.__module__]


@pytest.fixture(scope="module")
def robot():
    return sy.load(urdf("ur5_robot"))


def stream(robot, count, *, seed=0, before=lambda k: None):
    """Generated logs, made as they are asked for."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        before(k)
        q, v, a = random_state(robot, rng, (SAMPLES,))
        yield sy.Log(
            t=np.arange(SAMPLES) * 0.01, q=q, v=v, a=a, tau=sy.inverse_dynamics(robot, q, v, a), name=f"log {k}"
        )


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    "options",
    [{}, {"engine": "native"}, {"sums": "qr"}, {"rows": "momentum"}],
    ids=["gram", "native", "qr", "momentum"],
)
def test_memory_does_not_grow_with_the_stream(robot, options):
    """9 MB of logs after the first 3 MB raise the peak of the process by less than 4 MB."""
    resource = pytest.importorskip("resource", reason="peak memory is measured on Unix")
    unit = 1 if sys.platform == "darwin" else 1024
    peaks = []

    def note(k):
        if k in (30, 119):
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)

    info = accumulate(robot, stream(robot, 120, before=note), **({"engine": "numpy"} | options))
    assert info.counts[0] == 120 * SAMPLES or "rows" in options
    assert peaks[1] - peaks[0] < 4e6


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc")
@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("samples, copied", [(300_000, 60), (1_000_000, 200)])
def test_a_million_samples_of_an_arm(samples, copied):
    """Beside their inputs they take less than 50 MB, which a copy of the log exceeds: of fewer samples, too."""
    inputs, growth = streaming.megabytes("panda", "native", samples=samples)
    assert inputs == pytest.approx(256e-6 * samples) and growth < streaming.LIMIT
    last = "accumulate(robot, log, engine=engine)"
    copying = streaming.PROGRAM.replace(last, f"kept = {{name: x.copy() for name, x in channels.items()}}; {last}")
    assert streaming.megabytes("panda", "native", copying, samples)[1] > copied


@pytest.mark.parametrize("sums", ["gram", "qr"])
@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), OSError("disk gone"), MemoryError()], ids=lambda e: type(e).__name__
)
def test_interrupted_stream_keeps_complete_logs(robot, error, sums):
    def stop(k):
        if k == 3:
            raise error

    with pytest.raises(StreamInterrupted, match="after 3 of them") as caught:
        accumulate(robot, stream(robot, 5, before=stop), sums=sums)
    assert caught.value.__cause__ is error
    partial, whole = caught.value.partial, accumulate(robot, stream(robot, 3), sums=sums)
    np.testing.assert_array_equal(partial.gram, whole.gram)
    assert partial.n == 3 * SAMPLES
    rest = accumulate(robot, list(stream(robot, 5))[3:], sums=sums)
    everything = accumulate(robot, stream(robot, 5), sums=sums)
    np.testing.assert_allclose((partial + rest).gram, everything.gram, atol=1e-12 * everything.gram.max())


def test_a_bad_log_is_named_and_leaves_the_others(robot):
    logs = list(stream(robot, 3))
    tau = logs[2].tau.copy()
    tau[40, 1] = np.nan
    logs[2] = logs[2].replace(tau=tau)
    with pytest.raises(StreamInterrupted, match=r"'log 2': tau of column 1 is not finite at t = 0\.4 s") as caught:
        accumulate(robot, logs)
    assert caught.value.partial.n == 2 * SAMPLES
    with pytest.raises(LogError) as single:
        accumulate(robot, logs[2])
    assert not isinstance(single.value, StreamInterrupted)


def longer(log):
    """Three chunks of samples."""
    repeated = {name: np.tile(getattr(log, name), (3, 1)) for name in ("q", "v", "a", "tau")}
    return log.replace(t=np.arange(3 * SAMPLES) * 0.01, **repeated)


def test_interruption_within_a_log(robot, monkeypatch):
    """Half a log is in the sums: what was set aside before it is returned, or nothing."""
    calls = iter(range(1000))

    def column(q, v, a):
        if len(q) > 100 and next(calls) == 7:
            raise KeyboardInterrupt
        return v**3

    options = {"extra": [sy.UserColumn("cube", column)], "engine": "numpy"}
    logs = [longer(log) for log in stream(robot, 6)]
    with pytest.raises(StreamInterrupted, match="nothing complete") as caught:
        accumulate(robot, logs, **options)
    assert caught.value.partial is None
    calls = iter(range(1000))
    monkeypatch.setattr(MODULE, "CHECKPOINT", 1000)
    with pytest.raises(StreamInterrupted, match="after 2 of them") as caught:
        accumulate(robot, logs, **options)
    assert caught.value.partial.n == 2 * 3 * SAMPLES


def test_checkpoints_change_nothing(robot, monkeypatch):
    whole = accumulate(robot, stream(robot, 4))
    monkeypatch.setattr(MODULE, "CHECKPOINT", 1)
    parts = accumulate(robot, stream(robot, 4))
    np.testing.assert_allclose(parts.gram, whole.gram, rtol=0, atol=1e-13 * whole.gram.max())
    assert parts.n == whole.n


def test_empty_streams(robot):
    with pytest.raises(LogError, match="empty"):
        accumulate(robot, iter(()))


def test_counts(robot):
    info = accumulate(robot, stream(robot, 1))
    np.testing.assert_array_equal(info.counts, SAMPLES)
    half = info.discounted(0.5)
    assert (half + half).n == SAMPLES
    many = replace(info, counts=np.full(6, 2**53 - SAMPLES))
    with pytest.raises(FitError, match=r"2\^53.*discounted"):
        _ = many + info
    assert (replace(info, counts=np.full(6, 2**53 - SAMPLES - 1)) + info).n == 2**53 - 1


def test_sums_beyond_the_range_of_numbers(robot):
    (log,) = stream(robot, 1)
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(LogError, match="beyond the range"):
        accumulate(robot, log.replace(tau=log.tau * 1e200))
