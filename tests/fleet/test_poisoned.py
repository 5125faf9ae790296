"""Bad logs among good ones: in the table with a reason, never fatal, never in the sums."""

from pathlib import Path

import numpy as np
import pytest

import steelyard as sy
from small_fleets import Truth, exit_or_not, write_run, write_table
from small_runs import JOINTS, motion, write_model
from steelyard.errors import LogError, OptionError
from steelyard.fleet.executor import WorkerPool

pytestmark = pytest.mark.claim("scale.poisoned", "poisoned inputs end in a table of reasons")


def poison(folder):
    """A folder of bad logs, each with a word that its reason must have."""
    folder.mkdir()
    t, q, v, _ = motion(samples=600)
    rng = np.random.default_rng(0)
    good = write_run(folder / "cut.parquet", Truth(), seed=3, samples=600)
    good.write_bytes(good.read_bytes()[:-2000])
    (folder / "empty.csv").write_text("")
    (folder / "header.csv").write_text("t," + ",".join(f"{key}_{j}" for key in ("q", "tau") for j in JOINTS) + "\n")
    (folder / "noise.parquet").write_bytes(rng.bytes(5000))
    write_table(folder / "other_joints.parquet", t, q, 10 * q, ("j1", "j2", "j3"))
    write_table(folder / "other_robot.parquet", t, q, rng.normal(size=q.shape))
    spoiled = q.copy()
    spoiled[300, 1] = np.nan
    write_table(folder / "nan.parquet", t, spoiled, 10 * v)
    write_table(folder / "no_torque.csv", t, q, q).write_text("t,q_shoulder,q_elbow,q_slide\n0,0,0,0\n0.01,0,0,0\n")
    return {
        "cut.parquet": "not a whole Parquet file",
        "empty.csv": "empty",
        "header.csv": "",
        "noise.parquet": "not a whole Parquet file",
        "other_joints.parquet": "shoulder",
        "other_robot.parquet": "another robot",
        "nan.parquet": "nan",
        "no_torque.csv": "torque",
        "missing.parquet": "no log at",
    }


def test_bad_logs_end_in_the_table_with_reasons(tmp_path):
    reasons = poison(tmp_path / "bad")
    model = write_model(tmp_path / "arm.urdf", mass=5.0)
    good = [write_run(tmp_path / f"{k}.parquet", Truth(), seed=k, samples=600) for k in range(3)]
    bad = [tmp_path / "bad" / name for name in reasons]
    keep = tmp_path / "keep"
    found = sy.fleet.accumulate(model, [*bad, *good], keep=keep)
    alone = sy.fleet.accumulate(model, good)
    assert len(found.runs) == 3 and found.samples == alone.samples
    np.testing.assert_allclose(
        found.fitted.gram, alone.fitted.gram, rtol=0, atol=1e-12 * np.abs(alone.fitted.gram).max()
    )
    told = {Path(failure.log).name: failure for failure in found.failures}
    assert set(told) == set(reasons)
    for name, word in reasons.items():
        assert word in told[name].reason.lower() or word in told[name].reason, told[name].reason
        assert (told[name].kind, told[name].attempts) == ("refused", 1)
    again = sy.fleet.accumulate(model, [*bad, *good], keep=keep)
    assert again.computed == 0 and {failure.reason for failure in again.failures} == {f.reason for f in found.failures}


def test_not_one_usable_log_is_an_error(tmp_path):
    poison(tmp_path / "bad")
    with pytest.raises(LogError, match="Not one of 8 logs could be used"):
        sy.fleet.accumulate(write_model(tmp_path / "arm.urdf"), tmp_path / "bad")


def test_work_that_kills_its_worker_takes_no_other_along():
    with WorkerPool("processes", 2) as pool:
        tasks = [(0.0,), (0.0,), ("fatal",), *((0.0,),) * 5]
        found = {place: (result, attempts) for place, result, attempts in pool.results(exit_or_not, tasks, retries=2)}
    assert sorted(found) == list(range(8))
    assert isinstance(found[2][0], BaseException) and found[2][1] == 3
    assert all(found[place][0] == 1.0 for place in found if place != 2)


def test_table_of_runs(tmp_path):
    (tmp_path / "runs.csv").write_text(
        "robot,time,log\nb,2026-03-02,x.npz\nb,2026-03-01T00:00:00+00:00,y.npz\na,7,z.npz\n"
    )
    runs = sy.fleet.runs_of(tmp_path / "runs.csv")
    assert [(run.robot, run.log) for run in runs] == [
        (robot, str(tmp_path / log)) for robot, log in (("a", "z.npz"), ("b", "y.npz"), ("b", "x.npz"))
    ]
    assert runs[2].time - runs[1].time == 86400.0
    (tmp_path / "runs.toml").write_text('[[run]]\nrobot = "a"\ntime = 2026-03-01T00:00:00Z\nlog = "z.npz"\n')
    (toml,) = sy.fleet.runs_of(tmp_path / "runs.toml")
    assert toml.time == runs[1].time
    for content in ("robot,time,log\na,soon,x.npz\n", "robot,colour,log\na,red,x.npz\n", "log\nx.npz\nx.npz\n"):
        (tmp_path / "bad.csv").write_text(content)
        with pytest.raises(OptionError):
            sy.fleet.runs_of(tmp_path / "bad.csv")
