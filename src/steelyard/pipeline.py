"""The whole job: model and logs in; verified model, validation and files out."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from steelyard.errors import LogError, OptionError
from steelyard.fit import Estimate, consistent
from steelyard.information import accumulate
from steelyard.log import Finding, Log, checks, filters, read_log, split
from steelyard.model import Robot, load
from steelyard.parameters import FRICTION
from steelyard.validate import Validation, validate

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Job:
    """Everything that decides a run; stored in `summary.json`, so that the run can be repeated.

    cutoff: low-pass cutoff of the differentiation, Hz; None when the logs carry v and a to be used as they are.
    validation: share of the samples held out, in blocks. weight: of the prior, see `fit.consistent`.
    """

    model: str
    logs: tuple[str, ...]
    floating: bool | None = None
    gravity: tuple[float, float, float] | None = None
    cutoff: float | None = 10.0
    friction: tuple[str, ...] = FRICTION
    armature: bool = True
    validation: float = 0.3
    weight: float = 1.0
    channels: dict | None = None

    def as_json(self) -> dict:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Result:
    """Outcome of a run: the fitted Estimate, torque errors on held-out samples before and after, and what was noticed."""

    job: Job
    prior: Robot
    robot: Robot
    estimate: Estimate
    before: Validation
    after: Validation
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    log_names: tuple[str, ...]


def run(job: Job, *, progress: Progress | None = None) -> Result:
    """Read, check, differentiate, accumulate, fit and validate. Writes nothing. Raises SteelyardError with a remedy."""
    report = progress or (lambda stage, share: None)
    if not job.logs:
        raise OptionError("At least one log is needed.")
    report("reading the model", 0.0)
    robot = load(job.model, floating=job.floating, gravity=job.gravity)
    train, test, findings, notes = [], [], [], list(robot.notes)
    for k, path in enumerate(job.logs):
        report(f"reading {Path(path).name}", (k + 0.2) / len(job.logs) * 0.6)
        log = read_log(path, robot, channels=job.channels)
        if log.tau is None:
            raise LogError(f"{path} has no joint torques; identification needs them (columns tau_JOINT).")
        findings += checks.require_usable(log, robot)
        notes += log.notes
        log = prepared(log, job.cutoff)
        kept, held = split.split_blocks(log, validation=job.validation)
        train.append(kept)
        test.append(held)
    report("accumulating information", 0.65)
    info = accumulate(robot, train, friction=job.friction, armature=job.armature)
    report("fitting", 0.75)
    estimate = consistent(info, weight=job.weight)
    report("validating", 0.9)
    held = joined(test)
    result = Result(
        job=job,
        prior=robot,
        robot=estimate.robot,
        estimate=estimate,
        before=validate(robot, held),
        after=validate(estimate, held),
        findings=tuple(findings),
        notes=tuple(notes),
        log_names=tuple(Path(path).name for path in job.logs),
    )
    report("done", 1.0)
    return result


def prepared(log: Log, cutoff: float | None) -> Log:
    """A log with v and a: differentiated and filtered, or as recorded when no cutoff is wanted."""
    if cutoff is not None:
        return filters.differentiate(log, cutoff=cutoff)
    if log.v is None or log.a is None:
        raise LogError(f"Log '{log.name}' has no velocity or no acceleration; give a cutoff in Hz to differentiate positions.")
    return log
