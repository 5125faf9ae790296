"""One Parquet log after the other, each longer, through `sy.fleet.accumulate`: memory does not grow with the length.

`python -m evidence.bench.fleet_memory ROWS...`; each length has a process of its own, whose peak is over that after a
log of a single piece.
"""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import steelyard as sy
from steelyard.fleet.partitions import PIECE

LENGTHS = (PIECE // 2, PIECE, 4 * PIECE)  # rows
GROUP = 2**16


def write_log(folder: Path, rows: int) -> tuple[Path, Path]:
    """A PUMA 560 and a log at 1 kHz, written row group by row group. Returns their paths."""
    import pyarrow as pa
    from pyarrow import parquet

    robot = sy.load(sy.save(sy.library.puma560(), folder / "puma.urdf").path)
    w = np.linspace(1.0, 6.0, robot.nv)
    names = ["t", *(f"{key}_{name}" for key in ("q", "v", "tau") for name in robot.joint_names)]
    writer, path = None, folder / "long.parquet"
    for start in range(0, rows, GROUP):
        t = 1e-3 * np.arange(start, min(start + GROUP, rows))
        phase = np.outer(t, w)
        q, v, a = 0.5 * np.sin(phase), 0.5 * w * np.cos(phase), -0.5 * w**2 * np.sin(phase)
        q, v, a = (x + y for x, y in zip((q, v, a), slow(t, robot.nv), strict=True))
        tau = sy.inverse_dynamics(robot, q, v, a) + 0.5 * v
        tau += 0.1 * np.random.default_rng(start).normal(size=tau.shape)
        table = pa.table(dict(zip(names, np.column_stack([t, q, v, tau]).T, strict=True)))
        writer = writer or parquet.ParquetWriter(path, table.schema, compression="none", use_dictionary=False)
        writer.write_table(table)
    writer.close()
    return folder / "puma.urdf", path


def slow(t, nv: int):
    """A second motion at another frequency for each joint, so that parameters can be told apart."""
    w = np.linspace(0.4, 1.3, nv)[::-1]
    phase = np.outer(t, w)
    return 0.8 * np.sin(phase), 0.8 * w * np.cos(phase), -0.8 * w**2 * np.sin(phase)


def run(lengths=LENGTHS) -> dict:
    """Size in MB, seconds and peak memory in MB of each length."""
    rows = {}
    for length in lengths:
        with tempfile.TemporaryDirectory() as name:
            model, log = write_log(Path(name), length)
            told = subprocess.run(
                [sys.executable, "-m", "evidence.bench.fleet_memory", "peak", str(model), str(log)],
                capture_output=True, text=True, check=True,
            ).stdout.split()  # fmt: skip
            rows[f"{length} rows"] = {
                "MB of log": log.stat().st_size / 1e6,
                "pieces": int(told[0]),
                "s of work": float(told[1]),
                "MB at most": float(told[2]),
            }
    return rows


def peak(model: str, log: str):
    """Print pieces, seconds and peak memory of one process."""
    found = sy.fleet.accumulate(model, [log])
    print(found.computed, found.seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


if __name__ == "__main__":
    if sys.argv[1:2] == ["peak"]:
        peak(*sys.argv[2:])
    else:
        for name, row in run(tuple(map(int, sys.argv[1:])) or LENGTHS).items():
            print(name, row)
