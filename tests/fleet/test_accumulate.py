"""Sums of a fleet: the same on any workers, and what kills workers, clients or logs costs only that."""

import os
import signal
import subprocess
import sys
import time
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
import pytest

import steelyard as sy
from small_fleets import individuals, write_fleet
from steelyard.errors import FitError, OptionError
from steelyard.information import accumulate
from steelyard.pipeline import Job
from steelyard.prepare.prepared import with_motion

pytestmark = pytest.mark.claim(
    "scale.killed",
    "killed workers and clients lose nothing; results are those of one process",
    pages=("docs/fleet.md",),
    limits="3 GB of 1,000 runs were summed under load; efficiency was measured on a tenth of them",
)

KEPT = "parts/*/[!.]*.npz"  # finished: hidden files are still being written
SUMS = ("gram", "moment", "energy", "counts")


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fleet")
    model, table = write_fleet(folder, individuals(4, 3), samples=900)
    return model, table, sy.fleet.accumulate(model, table)


ROUNDING = 1e-12  # the kernel is used once an earlier run has compiled it, and adds in another order than NumPy


def assert_same(one, other, accuracy=1e-10):
    for part in ("fitted", "held"):
        for name in SUMS:
            expected = getattr(getattr(one, part), name)
            found = getattr(getattr(other, part), name)
            np.testing.assert_allclose(found, expected, rtol=0, atol=accuracy * np.abs(expected).max())


def test_sums_are_those_of_the_logs_one_by_one(case):
    model, table, found = case
    robot = sy.load(model)
    logs = [with_motion(sy.read_log(path, robot)) for path in sorted(table.parent.glob("*/*.parquet"))]
    parts = [sy.split_blocks(log, validation=Job.validation) for log in logs]
    weights = lambda log: sy.reversal_weights(robot, log)  # noqa: E731
    by_hand = [
        reduce(add, [accumulate(robot, p[i], armature=True, sample_weights=weights) for p in parts]) for i in (0, 1)
    ]
    for info, expected in zip((found.fitted, found.held), by_hand, strict=True):
        np.testing.assert_allclose(info.gram, expected.gram, rtol=1e-11, atol=1e-9)
    samples = found.samples
    assert samples.read == 12 * 900 and samples.fitted == sum(len(p[0]) for p in parts)
    assert (len(found.runs), found.failures, found.computed, found.reused) == (12, (), 12, 0)
    assert [len(runs) for runs in found.robots.values()] == [3] * 4


@pytest.mark.exhaustive
def test_dask_workers_that_are_killed_lose_nothing(case, tmp_path):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    model, table, expected = case
    killed = []
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="localhost:0") as cluster,
        distributed.Client(cluster) as client,
    ):

        def kill(stage, share):
            if "of 12" in stage and not killed:
                killed.extend(list(client.run(os.getpid).values())[:1])
                os.kill(killed[0], signal.SIGKILL)

        found = sy.fleet.accumulate(model, table, scheduler=client, progress=kill, keep=tmp_path)
        assert killed and found.failures == ()
        assert_same(found, expected)
        again = sy.fleet.accumulate(model, table, scheduler=cluster.scheduler_address, keep=tmp_path)
        assert (again.computed, again.reused) == (0, 12)
        assert_same(again, expected, accuracy=ROUNDING)


def test_client_that_is_killed_goes_on_where_it_was(case, tmp_path):
    model, table, expected = case
    program = f"import steelyard as sy; sy.fleet.accumulate({str(model)!r}, {str(table)!r}, keep={str(tmp_path)!r})"
    client = subprocess.Popen(
        [sys.executable, "-c", program], env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    )
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob(KEPT))) < 2 and time.monotonic() < deadline:
        time.sleep(0.002)
    os.kill(client.pid, signal.SIGKILL)
    client.wait()
    finished = {path: path.stat().st_mtime_ns for path in tmp_path.glob(KEPT)}
    assert 2 <= len(finished) < 12
    found = sy.fleet.accumulate(model, table, keep=tmp_path)
    assert (found.computed, found.reused) == (12 - len(finished), len(finished))
    assert all(path.stat().st_mtime_ns == when for path, when in finished.items())
    assert_same(found, expected, accuracy=ROUNDING)


def test_what_changed_is_computed_again(case, tmp_path):
    model, table, _ = case
    keep = tmp_path / "keep"
    logs = sorted(table.parent.glob("arm00/*.parquet"))
    first = sy.fleet.accumulate(model, logs, keep=keep)
    assert sy.fleet.accumulate(model, logs, keep=keep).computed == 0
    assert sy.fleet.accumulate(model, logs, keep=keep, cutoff=5.0).computed == 3
    assert sy.fleet.accumulate(model, logs, keep=keep, within="geometry").computed == 0  # of fits, not of sums
    other = tmp_path / "other.urdf"
    other.write_text(Path(model).read_text() + "<!-- edited -->\n")
    assert sy.fleet.accumulate(other, logs, keep=keep).computed == 3
    os.utime(logs[0], ns=(1, 1))
    again = sy.fleet.accumulate(model, logs, keep=keep)
    assert (again.computed, again.reused) == (1, 2)
    assert_same(again, first, accuracy=ROUNDING)


def test_sums_may_be_kept_at_a_url(case):
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    model, table, _ = case
    logs = sorted(table.parent.glob("arm00/*.parquet"))
    system = fsspec.filesystem("memory")
    for log in logs:
        system.pipe(f"/logs/{log.name}", log.read_bytes())
    local = sy.fleet.accumulate(model, logs)
    found = sy.fleet.accumulate(model, "memory://logs/*.parquet", keep="memory://keep")
    assert (found.computed, found.failures) == (3, ())
    assert_same(found, local, accuracy=ROUNDING)
    assert sy.fleet.accumulate(model, "memory://logs/*.parquet", keep="memory://keep").reused == 3
    expected = local.runs[0].held.gram
    np.testing.assert_allclose(found.runs[0].held.gram, expected, rtol=0, atol=ROUNDING * np.abs(expected).max())


def test_kept_sums_of_a_newer_version_are_refused_by_name(case, tmp_path, monkeypatch):
    model, table, _ = case
    log = sorted(table.parent.glob("arm00/*.parquet"))[:1]
    with monkeypatch.context() as patched:
        patched.setattr("steelyard.fleet.cache.FORMAT", "steelyard run 2.0")
        sy.fleet.accumulate(model, log, keep=tmp_path)
    with pytest.raises(FitError, match=r"'steelyard run 2\.0'; this version reads steelyard run up to version 1"):
        sy.fleet.accumulate(model, log, keep=tmp_path)


@pytest.mark.parametrize("options", [{"scheduler": "tcp://127.0.0.1:1"}, {"workers": 0}, {"colour": "red"}])
def test_options_that_do_not_fit_are_refused(case, options, monkeypatch):
    monkeypatch.setattr("steelyard.fleet.executor.ANSWER", 0.5)
    model, table, _ = case
    with pytest.raises(OptionError):
        sy.fleet.accumulate(model, table, **options)
