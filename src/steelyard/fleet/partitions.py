"""Pieces of work: a log, or rows of a Parquet log too long for memory; each with the fingerprint of its result."""

import hashlib
import itertools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from steelyard import storage
from steelyard.errors import SteelyardError
from steelyard.fleet.runs import Run
from steelyard.log import length
from steelyard.model import Robot, fingerprint
from steelyard.pipeline import Job, side_of

FORMAT = "steelyard run 1.0"
PIECE = 2**18  # rows of a piece: a few hundred megabytes while an arm's log is filtered and summed
MARGIN = 2048  # rows beside a piece that the filter looks at; 20 periods of 10 Hz at 1 kHz
PARQUET = (".parquet", ".pq")
# of a Job, what decides the sums of a log; the rest concerns fits
OPTIONS = (
    *("floating", "gravity", "cutoff", "torque_cutoff", "smoother", "friction", "armature", "coupling", "rotors"),
    *("validation", "reversal_weight", "channels", "corrections", "accept"),
)


@dataclass(frozen=True)
class Partition:
    """run: whose log; rows: first and the one after the last, None for the whole log; key: fingerprint of the result;
    bytes: of this part of the file."""

    run: Run
    rows: tuple[int, int] | None
    key: str
    bytes: int


def partitions(runs: Iterable[Run], job: Job, robot: Robot, *, piece: int = PIECE) -> list[Partition]:
    """Work of a fleet, in order. A log that cannot be looked at is a partition, too: its work will say why."""
    common = _common(job, robot)
    found = []
    for run in runs:
        try:
            size, stamp = storage.size_and_version(run.log)
        except OSError:
            size, stamp = 0, "missing"
        cuts = _cuts(run.log, piece)
        for rows in cuts:
            identity = [common, _name(run.log), size, stamp, rows]
            key = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
            found.append(Partition(run, rows, key, size // len(cuts)))
    return found


def _cuts(log: str, piece: int) -> list[tuple[int, int] | None]:
    if storage.is_url(log) or Path(log).suffix.lower() not in PARQUET:
        return [None]
    try:
        rows = length(Path(log))
    except SteelyardError:
        return [None]
    if rows <= piece:
        return [None]
    count = -(-rows // piece)
    edges = [round(i * rows / count) for i in range(count + 1)]
    return list(itertools.pairwise(edges))


def _name(log: str) -> str:
    return log if storage.is_url(log) else str(Path(log).absolute())


def _common(job: Job, robot: Robot) -> str:
    """Fingerprint of everything but the log: this version, model, side file and options."""
    files = (job.model, side_of(job), job.corrections.gravity_model)
    parts = [
        *(FORMAT, installed_version(), fingerprint(robot, rotors=job.rotors)),
        *(hashlib.sha256(storage.read_bytes(path)).hexdigest() for path in files if path is not None),
        {name: value for name, value in job.as_json().items() if name in OPTIONS},
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def installed_version() -> str | None:
    try:
        return version("steelyard")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return None
