"""Sums of a fleet: Informations of its logs, on one process or many, resumable, with a table of what failed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add

import numpy as np

from steelyard import storage
from steelyard.cards import Card
from steelyard.drives.drive import drives_of
from steelyard.dynamics.closed_loop.projection import with_motors
from steelyard.errors import LogError, OptionError, SteelyardError, choices
from steelyard.fleet import cache
from steelyard.fleet.evidence import Evidence
from steelyard.fleet.executor import WorkerPool
from steelyard.fleet.partitions import PIECE, FleetPart, Head, Partition, Samples, partition_sums, partitions, total_of
from steelyard.fleet.runs import Run, runs_of
from steelyard.information import Information
from steelyard.job import Job
from steelyard.model import Robot
from steelyard.pipeline import Progress
from steelyard.pipeline.job_run import job_of, load_with_side
from steelyard.terms import layout_of

REFUSED, FAILED = "refused", "failed"


@dataclass(frozen=True)
class Failure:
    """A log, or rows of one, that is not in the sums."""

    robot: str  # and `log`: as of its `Run`
    log: str
    rows: tuple[int, int] | None
    kind: str  # "refused" for what the log is, "failed" for what happened (reading, a worker's death)
    reason: str
    attempts: int  # how often it was tried


@dataclass(frozen=True, eq=False, repr=False)
class RunSums(Card):
    """What a fleet knows of a run: evidence of its base parameters in memory, its sums here or where they are cache."""

    run: Run
    samples: Samples
    evidence: Evidence
    unexplained: float
    inflation: float
    findings: tuple[str, ...]
    seconds: float
    parts: tuple[FleetPart | str, ...]
    robot: Robot

    def load(self) -> tuple[FleetPart, ...]:
        """Its parts, read where they are cache."""
        return tuple(cache.load_part(part, self.robot) if isinstance(part, str) else part for part in self.parts)

    @property
    def fitted(self) -> Information:
        """Information of the samples to fit."""
        return total_of([part.fitted for part in self.load()])

    @property
    def held(self) -> Information:
        """Information of the samples held out."""
        return total_of([part.held for part in self.load()])


@dataclass(frozen=True, eq=False, repr=False)
class Accumulation(Card):
    """Sums of a fleet."""

    job: Job
    robot: Robot
    runs: tuple[RunSums, ...]  # those with samples in the sums, by robot and time
    fitted: Information  # and `held`: Information of all samples to fit, and of all held out
    held: Information
    failures: tuple[Failure, ...]  # every log, or part of one, that is not in the sums
    computed: int  # and `reused`: partitions of this call and of earlier ones
    reused: int
    bytes: int  # of the files used; seconds: of work, of all workers together
    where: str  # who worked

    @cached_property
    def samples(self) -> Samples:
        """Samples read, fitted and held out, over all runs."""
        return reduce(add, (run.samples for run in self.runs))

    @property
    def seconds(self) -> float:
        """Seconds of work on logs, over all workers and calls."""
        return sum(run.seconds for run in self.runs)

    @cached_property
    def robots(self) -> dict[str, tuple[RunSums, ...]]:
        """Runs of each robot, in order of time."""
        found: dict[str, list[RunSums]] = {}
        for each in self.runs:
            found.setdefault(each.run.robot, []).append(each)
        return {name: tuple(runs) for name, runs in found.items()}


def accumulate(
    model,
    logs,
    *,
    keep=None,
    scheduler=None,
    workers: int | None = None,
    retries: int = 2,
    piece: int = PIECE,
    progress: Progress | None = None,
    **options,
) -> Accumulation:
    """Informations of all logs of a fleet, or of one robot with more logs than one process should read.

    model: path of the model file that all robots share, or a Job, which says how its logs are read, too. logs: see
    `runs_of`: a folder, a table, a pattern, a list. keep: folder or URL for finished partitions, each under the
    fingerprint of its log, model, options and version: a run that was killed goes on where it was. scheduler, workers:
    see `WorkerPool`; None works in this process, on the same path. retries: of what is not the log's own fault. piece:
    rows from which a Parquet log is cut in pieces, which bounds memory whatever its length. progress: called with a
    stage and the share done. options: of a `Job` that concern logs (cutoff, friction, armature, coupling, rotors, side,
    floating, gravity, validation, channels).

    The sums are the same to rounding on any workers. A log that cannot be used is in `failures`, never fatal. Raises
    OptionError for options that do not fit, LogError when not one log could be used.
    """
    job, runs = model if isinstance(model, Job) else job_of(model, **options), runs_of(logs)
    report = progress or (lambda stage, share: None)
    if job.drive_gains or job.corrections.automatic_delay:
        raise OptionError(
            "Drive gains and unknown delays take a fit of whole logs before sums can be made: find them with "
            "`identify` on a few logs, and give what it says as --scale and --delay."
        )
    if job.friction is not None and job.shaped_friction:
        raise OptionError(
            f"--friction {','.join(job.shaped_friction)} takes a posterior of each robot's logs, and fleets compare "
            "plain friction. Leave it out, or use `identify` on a few logs."
        )
    report("reading the model", 0.0)
    robot = with_motors(load_with_side(job))
    _require_gains(job, robot)
    layout_of(robot, **job.columns)  # refuses what the robot does not have before any log is read
    report("looking for logs", 0.0)
    work = partitions(runs, job, robot, piece=piece)
    with WorkerPool(scheduler, workers) as pool:
        done, failures, computed = _computed(pool, job, robot, work, keep, retries, report)
        if not done:
            raise LogError(f"Not one of {len(work)} logs could be used. The first: {failures[0].reason}")
        report("adding up", 0.95)
        fitted, held = _totals(robot, [done[partition][1] for partition in work if partition in done])
    kept_runs = _runs(robot, work, done)
    report("done", 1.0)
    return Accumulation(
        job=job,
        robot=robot,
        runs=kept_runs,
        fitted=fitted,
        held=held,
        failures=tuple(failures),
        computed=computed,
        reused=len(done) + len(failures) - computed,
        bytes=sum(partition.bytes for partition in done),
        where=pool.where,
    )


def _require_gains(job: Job, robot: Robot):
    """Raise OptionError for drives of logs of commands whose torque is not known: units would not add up."""
    drives = drives_of(robot, job.drive) if job.drive else {}
    if unknown := [name for name, drive in drives.items() if drive.torque_per_unit is None]:
        raise OptionError(
            f"The gain of the drives of {choices(unknown)} is not known, so that sums of their logs have no unit. Find "
            "it with `identify` on logs of one robot, and state it in [drives] of the side file."
        )


def _computed(pool: WorkerPool, job: Job, robot: Robot, work: list[Partition], keep, retries: int, report: Callable):
    """Head and part (or where it is kept) of each partition that has sums; failures; how many were computed."""
    done: dict[Partition, tuple[Head, FleetPart | str]] = {}
    failures: dict[Partition, Failure] = {}
    left = []
    for k, partition in enumerate(work):
        if not _from_cache(partition, robot, keep, done, failures):
            left.append(partition)
        report("looking for finished work", 0.05 * (k + 1) / len(work))
    tasks = [(job, robot, partition, keep) for partition in left]
    for count, (place, result, attempts) in enumerate(pool.results(sum_partition, tasks, retries=retries)):
        partition = left[place]
        if isinstance(result, BaseException):
            failures[partition] = _failure(partition, result, attempts)
            if keep is not None and isinstance(result, SteelyardError):
                cache.save_refusal(cache.refusal_path(keep, partition.key), REFUSED, failures[partition].reason)
        else:
            done[partition] = result
        report(f"{len(done)} of {len(work)} logs, {len(failures)} failed", 0.05 + 0.9 * (count + 1) / len(left))
    ordered = [failures[partition] for partition in work if partition in failures]
    return done, ordered, len(left)


def _from_cache(partition: Partition, robot: Robot, keep, done, failures) -> bool:
    """Whether earlier work on a partition was found where it is cache."""
    if keep is None:
        return False
    path, refused = cache.part_path(keep, partition.key), cache.refusal_path(keep, partition.key)
    if storage.exists(path):
        done[partition] = cache.load_part(path, robot).head, path
    elif storage.exists(refused):
        kind, reason = cache.load_refusal(refused)
        failures[partition] = Failure(*partition.place, kind, reason, 0)
    else:
        return False
    return True


def sum_partition(job: Job, robot: Robot, partition: Partition, keep) -> tuple[Head, FleetPart | str]:
    """The work of a partition on whatever worker; its sums are written where they are kept, or returned."""
    part = partition_sums(job, robot, partition)
    if keep is None:
        return part.head, part
    path = cache.part_path(keep, partition.key)
    cache.save_part(part, path)
    return part.head, path


def _failure(partition: Partition, error: BaseException, attempts: int) -> Failure:
    refused = isinstance(error, SteelyardError)
    reason = str(error) if refused else f"{type(error).__name__}: {str(error)[:300]}"
    return Failure(*partition.place, REFUSED if refused else FAILED, reason, attempts)


def _totals(robot: Robot, parts: Sequence[FleetPart | str]) -> tuple[Information, Information]:
    """Information of all fitted and of all held-out samples; of parts that are cache, one is in memory at a time."""
    loaded = (cache.load_part(part, robot) if isinstance(part, str) else part for part in parts)
    first = next(loaded)
    fitted, held = first.fitted, first.held
    for part in loaded:
        fitted, held = fitted + part.fitted, held + part.held
    return fitted, held


def _runs(robot: Robot, work: list[Partition], done) -> tuple[RunSums, ...]:
    by_run: dict[Run, list[tuple[Head, FleetPart | str]]] = {}
    for partition in work:
        if partition in done:
            by_run.setdefault(partition.run, []).append(done[partition])
    return tuple(_run(robot, run, parts) for run, parts in by_run.items())


def _run(robot: Robot, run: Run, parts: list[tuple[Head, FleetPart | str]]) -> RunSums:
    heads = [head for head, _ in parts]
    share = np.array([head.samples.fitted for head in heads], dtype=float)
    return RunSums(
        run=run,
        samples=reduce(add, (head.samples for head in heads)),
        evidence=reduce(add, (head.evidence for head in heads)),
        unexplained=float(np.average([head.fitness.unexplained for head in heads], weights=share)),
        inflation=float(np.average([head.fitness.inflation for head in heads], weights=share)),
        findings=tuple(dict.fromkeys(finding for head in heads for finding in head.findings)),
        seconds=sum(head.seconds for head in heads),
        parts=tuple(part for _, part in parts),
        robot=robot,
    )
