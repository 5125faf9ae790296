"""Pieces of work: a log, or rows of a Parquet log too long for memory; the fingerprint and the sums of each."""

import hashlib
import itertools
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from pathlib import Path

import numpy as np

from steelyard import storage
from steelyard.decisions.fit_plan import HeldOut
from steelyard.decisions.rules import weights_of
from steelyard.errors import LogError, SteelyardError
from steelyard.fleet.evidence import Evidence, Fitness, evidence_of
from steelyard.fleet.runs import Run
from steelyard.information import Information, accumulate, accumulate_blocks
from steelyard.job import Job
from steelyard.log.parquet import length
from steelyard.model import Robot
from steelyard.model.compare import fingerprint
from steelyard.pipeline.job_run import side_of
from steelyard.prepare import prepare
from steelyard.prepare.reading import log_side_path, read_undone
from steelyard.report.provenance import installed_version

FORMAT = "steelyard run 1.0"
PIECE = 2**18  # rows of a piece: a few hundred megabytes while an arm's log is filtered and summed
MARGIN = 2048  # rows beside a piece that the filter looks at; 20 periods of 10 Hz at 1 kHz
PARQUET = (".parquet", ".pq")
BLOCKS = 16  # of a partition, that tell how much correlation in time inflates variances: more cost more than they tell
UNEXPLAINED = 0.7  # share of the torque's RMS that least squares leaves, above which a log is of another robot


@dataclass(frozen=True)
class Partition:
    """run: whose log; rows: first and the one after the last, None for the whole log; key: fingerprint of the result;
    bytes: of this part of the file."""

    run: Run
    rows: tuple[int, int] | None
    key: str
    bytes: int

    @property
    def place(self) -> tuple[str, str, tuple[int, int] | None]:
        """Robot, log and rows."""
        return self.run.robot, self.run.log, self.rows


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
        name = run.log if storage.is_url(run.log) else str(Path(run.log).absolute())
        for rows in cuts:
            identity = [common, name, size, stamp, rows, _beside(run.log)]
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


def _beside(log: str) -> str | None:
    """What decides how a log of this machine is read, and lies beside it."""
    path = None if storage.is_url(log) else log_side_path(log)
    return path.read_text("utf-8", errors="replace") if path is not None and path.is_file() else None


def _common(job: Job, robot: Robot) -> str:
    """Fingerprint of everything but the log: this version, model, side file and options."""
    files = (job.model, side_of(job), job.corrections.gravity_model)
    parts = [
        *(FORMAT, installed_version(), fingerprint(robot, rotors=job.rotors)),
        *(hashlib.sha256(storage.read_bytes(path)).hexdigest() for path in files if path is not None),
        job.of_logs(),
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Samples:
    """read: in the file; fitted and held: of those, for the fit and for its validation; the filter used the rest."""

    read: int = 0
    fitted: int = 0
    held: int = 0

    def __add__(self, other: "Samples") -> "Samples":
        return Samples(self.read + other.read, self.fitted + other.fitted, self.held + other.held)


@dataclass(frozen=True, eq=False)
class Head:
    """All that a fleet keeps in memory of a part. seconds: its work took; findings: warnings of the checks."""

    samples: Samples
    evidence: Evidence
    fitness: Fitness
    findings: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, eq=False)
class FleetPart:
    """Sums of a partition: fitted and held-out samples."""

    head: Head
    fitted: Information
    held: Information


def partition_sums(job: Job, robot: Robot, partition: Partition) -> FleetPart:
    """Sums of a partition. Raises SteelyardError for a log that cannot be used, OSError where reading fails."""
    start = time.perf_counter()
    log, findings, read = _usable(job, robot, partition)
    options = job.columns | weights_of(job, robot)
    kept, held = HeldOut(job.validation).parts(log)
    blocks = accumulate_blocks(robot, kept, count=BLOCKS, **options)
    total = reduce(add, blocks)
    evidence, fitness = evidence_of(blocks, total)
    if fitness.unexplained > UNEXPLAINED:
        raise LogError(
            f"log {log.name!r}: no parameters of robot '{robot.name}' explain its torques, {fitness.unexplained:.0%} "
            "is left. Is it the log of another robot, or are channels mixed up?"
        )
    head = Head(
        Samples(read, len(kept), len(held)),
        evidence,
        fitness,
        tuple(finding.message for finding in findings),
        time.perf_counter() - start,
    )
    return FleetPart(head, total, accumulate(robot, held, **options))


def _usable(job: Job, robot: Robot, partition: Partition):
    """The log of a partition, ready to be summed; findings, samples read."""
    reading = partial(read_undone, channels=job.channels, corrections=job.corrections)
    with storage.local_copy(partition.run.log) as path:
        if partition.rows is None:
            log = reading(path, robot)
            ready = prepare(log, robot, **job.preparation)
            return ready.log, ready.findings, len(log)
        first, end = partition.rows
        margin = min(first, MARGIN)
        log = reading(path, robot, rows=(first - margin, end + MARGIN))
    own = log.t[margin : margin + end - first]
    ready = prepare(log, robot, **job.preparation)
    log = ready.log
    inside = np.flatnonzero((log.t >= own[0]) & (log.t <= own[-1]))
    if not len(inside):
        raise LogError(f"log {log.name!r}: rows {first} to {end} hold no stretch long enough to be filtered.")
    return log[inside[0] : inside[-1] + 1], ready.findings, end - first


def total_of(informations: Sequence[Information]) -> Information:
    """The sum, by pairs: the same for the same order, whoever sums, and with less rounding than one after the other."""
    level = list(informations)
    while len(level) > 1:
        level = [level[i] + level[i + 1] if i + 1 < len(level) else level[i] for i in range(0, len(level), 2)]
    return level[0]
