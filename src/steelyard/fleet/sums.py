"""What is known of a fleet once its logs are summed: runs, totals, failures."""

from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add

from steelyard.fleet import kept
from steelyard.fleet.evidence import Evidence
from steelyard.fleet.part import Part, Samples, together
from steelyard.fleet.runs import Run
from steelyard.information import Information
from steelyard.model import Robot
from steelyard.pipeline import Job


@dataclass(frozen=True)
class Failure:
    """A log, or rows of one, that is not in the sums. kind: "refused" for what the log is, "failed" for what happened
    (reading, a worker's death); attempts: how often it was tried."""

    run: Run
    rows: tuple[int, int] | None
    kind: str
    reason: str
    attempts: int


@dataclass(frozen=True, eq=False)
class RunSums:
    """What a fleet knows of a run: evidence of its base parameters in memory, its sums here or where they are kept."""

    run: Run
    samples: Samples
    evidence: Evidence
    unexplained: float
    inflation: float
    findings: tuple[str, ...]
    seconds: float
    parts: tuple[Part | str, ...]
    robot: Robot

    def load(self) -> tuple[Part, ...]:
        """Its parts, read where they are kept."""
        return tuple(kept.load_part(part, self.robot) if isinstance(part, str) else part for part in self.parts)

    @property
    def fitted(self) -> Information:
        """Information of the samples to fit."""
        return together([part.fitted for part in self.load()])

    @property
    def held(self) -> Information:
        """Information of the samples held out."""
        return together([part.held for part in self.load()])


@dataclass(frozen=True, eq=False)
class Accumulation:
    """Sums of a fleet.

    runs: those with samples in the sums, by robot and time. fitted, held: Information of all samples to fit, and of all
    held out. failures: every log, or part of one, that is not in the sums. computed, reused: partitions of this call
    and of earlier ones; bytes: of the files used; seconds: of work, of all workers together; where: who worked.
    """

    job: Job
    robot: Robot
    runs: tuple[RunSums, ...]
    fitted: Information
    held: Information
    failures: tuple[Failure, ...]
    computed: int
    reused: int
    bytes: int
    where: str

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
