"""A generated fleet in Parquet, summed by one process and by Dask workers, then killed with its workers and resumed.

`python -m evidence.bench.fleet` takes 200 robots with 5 runs each, 3 GB in a temporary folder that it removes (robots,
runs and samples may be given); the suite takes a tenth. Torques are this library's own: the subject is throughput, and
sums that are the same whoever makes them.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import steelyard as sy

RATE = 500.0  # Hz
FULL, USUAL = (200, 5, 20_000), (20, 5, 20_000)  # robots, runs, samples


def write_fleet(folder: Path, robots: int, runs: int, samples: int) -> tuple[Path, float]:
    """Logs of copies of a PUMA 560 that differ by 3 %, with friction and 2 % noise. Returns the model and GB."""
    import pyarrow as pa
    from pyarrow import parquet

    nominal = sy.library.puma560()
    model = sy.save(nominal, folder / "puma.urdf").path
    nominal = sy.load(model)
    t = np.arange(samples) / RATE
    size = 0
    for r in range(robots):
        rng = np.random.default_rng(r)
        robot = nominal.with_inertias(nominal.inertias * (1 + 0.03 * rng.normal(size=(nominal.nb, 1))))
        (folder / "logs" / f"arm{r:03d}").mkdir(parents=True)
        for k in range(runs):
            w = 2 * np.pi * rng.uniform(0.1, 1.2, size=(nominal.nv, 4))
            width = rng.uniform(0.1, 0.4, size=w.shape)
            angle = t[:, None, None] * w + rng.uniform(0, 6, size=w.shape)
            q, v = np.einsum("nij,ij->ni", np.sin(angle), width), np.einsum("nij,ij->ni", np.cos(angle), width * w)
            a = -np.einsum("nij,ij->ni", np.sin(angle), width * w**2)
            tau = sy.inverse_dynamics(robot, q, v, a) + 1.5 * v + 2.0 * np.tanh(v / 0.05)
            tau += 0.02 * tau.std(axis=0) * rng.normal(size=tau.shape)
            names = robot.joint_names
            columns = {"t": t} | {
                f"{key}_{n}": x[:, i] for key, x in (("q", q), ("v", v), ("tau", tau)) for i, n in enumerate(names)
            }
            path = folder / "logs" / f"arm{r:03d}" / f"{k}.parquet"
            parquet.write_table(pa.table(columns), path, compression="none", use_dictionary=False)
            size += path.stat().st_size
    return model, size / 1e9


def run(robots: int = USUAL[0], runs: int = USUAL[1], samples: int = USUAL[2], note=lambda rows: None) -> dict:
    """Seconds by workers, largest relative difference of sums, what a resumed run computed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model, gigabytes = write_fleet(folder, robots, runs, samples)
        source = (str(model), str(folder / "logs"))
        logs = sorted((folder / "logs" / "arm000").glob("*"))
        sy.fleet.accumulate(model, logs)  # what is loaded once is loaded now
        seconds, alone = timed(*source)
        rows = {"this process": {"s": seconds, "GB/s": gigabytes / seconds, "samples/s": alone.samples.read / seconds}}
        note(rows)
        for workers in (2, 1):
            with cluster(workers) as client:
                load = [client.submit(sy.fleet.accumulate, model, logs, pure=False) for _ in range(2 * workers)]
                client.gather(load)  # on the workers, too
                seconds, found = timed(*source, scheduler=client, keep=folder / f"keep{workers}")
            rows[f"Dask, {workers} worker" + "s" * (workers > 1)] = {
                "s": seconds,
                "GB/s": gigabytes / seconds,
                "samples/s": found.samples.read / seconds,
                "difference": difference(found, alone),
            }
            note(rows)
            if workers == 2:
                rows["killed and resumed"] = killed(source, folder / "killed", alone)
                note(rows)
        one, two = rows["Dask, 1 worker"], rows["Dask, 2 workers"]
        two["efficiency"] = one["s"] / two["s"] / 2
        return rows


def timed(*source, **options):
    start = time.perf_counter()
    found = sy.fleet.accumulate(*source, **options)
    return time.perf_counter() - start, found


def cluster(workers: int):
    from distributed import Client

    return Client(n_workers=workers, threads_per_worker=1, dashboard_address="localhost:0")


def difference(found, expected) -> float:
    """Largest difference of any sum, relative to the largest of its kind."""
    pairs = [
        (getattr(x, k), getattr(y, k))
        for x, y in ((found.fitted, expected.fitted), (found.held, expected.held))
        for k in ("gram", "moment", "energy")
    ]
    return max(float(np.abs(x - y).max() / np.abs(y).max()) for x, y in pairs)


def killed(source, keep: Path, alone) -> dict:
    """Kill a client with its workers at a third of the work, then resume while a worker is killed."""
    total = len(alone.runs)
    call = f"sy.fleet.accumulate({source[0]!r}, {source[1]!r}, keep={str(keep)!r}, scheduler='local', workers=2)"
    program = f"import steelyard as sy\nif __name__ == '__main__':\n    {call}\n"
    script = keep.with_suffix(".py")
    script.write_text(program)
    client = subprocess.Popen([sys.executable, str(script)], start_new_session=True, stderr=subprocess.DEVNULL)
    while count(keep) < total // 3 and client.poll() is None:
        time.sleep(0.05)
    family = children(client.pid)
    for pid in (client.pid, *family):
        os.kill(pid, signal.SIGKILL)
    client.wait()
    done, victims = count(keep), []
    with cluster(2) as again:

        def kill(stage, share):
            if " of " in stage and not victims:
                victims.append(next(iter(again.run(os.getpid).values())))
                os.kill(victims[0], signal.SIGKILL)

        seconds, found = timed(*source, keep=keep, scheduler=again, progress=kill)
    assert not found.failures and found.reused == done and found.computed == total - done, (found.reused, done)
    return {"s": seconds, "kept": done, "computed": found.computed, "difference": difference(found, alone)}


def count(keep: Path) -> int:
    return len(list(keep.glob("parts/*/*.npz")))


def children(pid: int) -> list[int]:
    import psutil

    return [child.pid for child in psutil.Process(pid).children(recursive=True)]


if __name__ == "__main__":
    sizes = tuple(map(int, sys.argv[1:])) if len(sys.argv) > 1 else FULL
    for name, row in run(*sizes, note=lambda rows: print(list(rows.items())[-1], flush=True)).items():
        print(name, row)
