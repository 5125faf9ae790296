"""Stamps that are not in seconds are refused with the option that says so; slow logs and poses one by one are not."""

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io

from steelyard.errors import LogError
from steelyard.log import Log, checks, read_log

UNITS = {"ms": 1e3, "us": 1e6, "ns": 1e9}


def found(log):
    return {finding.code: finding for finding in checks.check(log)}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("every", [1, 5])
def test_stamps_in_another_unit(motion, unit, every):
    """With velocities they are certain, without them likely, at 100 and 20 Hz and whatever the origin."""
    rng = np.random.default_rng(0)
    log = motion()[::every]
    log = log.replace(q=log.q + 2e-4 * rng.normal(size=log.q.shape), v=log.v + 0.02 * rng.normal(size=log.v.shape))
    wrong = log.replace(t=UNITS[unit] * log.t + 12345.0)
    for each, words in ((wrong, "v is dq/dt then"), (wrong.replace(v=None), f"look like {unit}")):
        fault = found(each)["time_unit"]
        assert (fault.severity, fault.options) == ("fatal", ("--unit", f"t={unit}")) and words in fault.message
        with pytest.raises(LogError, match=f"--unit t={unit}"):
            checks.require_usable(each)
        right = each.replace(t=each.t, units={"t": unit})
        assert "time_unit" not in found(right)


def test_coarse_encoders_do_not_hide_milliseconds(motion):
    log = motion()
    coarse = log.replace(t=1000 * log.t, q=np.round(log.q / 2e-3) * 2e-3, v=None)
    assert found(coarse)["time_unit"].severity == "fatal"


def test_a_file_in_milliseconds_reads_with_its_unit(motion, tmp_path):
    log = motion()
    np.savez(tmp_path / "run.npz", t=1000 * log.t, q=log.q, v=log.v, tau=log.tau)
    assert "time_unit" in found(read_log(tmp_path / "run.npz"))
    assert found(read_log(tmp_path / "run.npz", units={"t": "ms"})) == {}


def test_poses_one_by_one_and_slow_logs_are_no_milliseconds(motion):
    rng = np.random.default_rng(1)
    poses = rng.uniform(-1, 1, size=(80, 3))
    still = Log(t=np.arange(80.0) * 3, q=poses, tau=rng.normal(size=poses.shape))
    assert found(still)["time_unit"].severity == "warning"
    slow = motion(np.arange(0, 600, 0.4)).replace(v=None)
    assert "time_unit" not in found(slow)
    t = np.arange(0.0, 600.0)
    crawl = np.sin(0.06 * t[:, None] * [1.0, 0.7, 0.5])
    log = Log(t=t, q=crawl, tau=crawl + 0.01 * rng.normal(size=crawl.shape))
    assert found(log)["time_unit"].severity == "warning"
    told = log.replace(v=0.06 * np.cos(0.06 * t[:, None] * [1.0, 0.7, 0.5]) * [1.0, 0.7, 0.5])
    assert "time_unit" not in found(told)  # velocities say seconds


def test_speeds_in_millimetres_are_no_milliseconds(motion):
    log = motion()
    assert "time_unit" not in found(log.replace(v=1000 * log.v))


@pytest.mark.parametrize("suffix", ["csv", "npz", "h5", "mat", "parquet"])
def test_files_without_time_are_counted_at_the_step_that_is_stated(tmp_path, suffix):
    q = np.sin(np.outer(np.arange(300) / 40, [1.0, 1.7, 2.3]))
    path = tmp_path / f"run.{suffix}"
    if suffix == "csv":
        np.savetxt(path, q, delimiter=",", header="q_a,q_b,q_c", comments="")
    elif suffix == "npz":
        np.savez(path, qpos_of_arm=np.zeros(3), q=q)
    elif suffix == "mat":
        scipy.io.savemat(path, {"q": q})
    elif suffix == "h5":
        with h5py.File(path, "w") as file:
            file["observations/q"] = q
    else:
        pq.write_table(pa.table({f"q_{name}": q[:, j] for j, name in enumerate("abc")}), path)
    with pytest.raises(LogError, match=r"--unit t=0\.02 at 50 Hz"):
        read_log(path)
    with pytest.raises(LogError, match=r"--unit t=0\.02 at 50 Hz"):
        read_log(path, units={"t": "ms"})
    found = read_log(path, units={"t": "0.025"})
    np.testing.assert_allclose(found.t, np.arange(300) / 40)
    np.testing.assert_allclose(found.q, q)
    assert any("samples counted, 0.025 s each" in note for note in found.notes)
