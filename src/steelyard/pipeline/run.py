"""The whole job: model and logs in; verified model, validation and files out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from pathlib import Path

import numpy as np

from steelyard.diagnose import ACCEPTABLE, Diagnosis, Fault, diagnose
from steelyard.dynamics import with_motors
from steelyard.errors import LogError, OptionError, choices
from steelyard.fit import (
    OTHERS,
    WORDS,
    Estimate,
    Generalization,
    Tied,
    Uncertainty,
    Validation,
    consistent_within_geometry,
    fixed_from,
    generalization,
    masses_from,
    ordinary_use,
    tied_from,
    uncertainty,
    validate,
)
from steelyard.identifiable import on_tree
from steelyard.information import accumulate, accumulate_blocks, reversal_weights
from steelyard.log import (
    BUTTERWORTH,
    READERS,
    Finding,
    Log,
    checks,
    cutoff_for,
    filters,
    joined,
    masked,
    order_of,
    read_log,
    saturated,
    split_blocks,
    torque_cutoff_for,
)
from steelyard.model import Known, Robot, load, read_known, read_side, side_path
from steelyard.pipeline.cutoff_costs import costs
from steelyard.pipeline.inspect import Inspection, cutoff_of, health
from steelyard.pipeline.job import Job
from steelyard.prepare import Clipped, corrected, in_torques, load_word, synchronised, unclipped
from steelyard.terms import COULOMB_WIDTH, TERMS, layout_of

Progress = Callable[[str, float], None]


@dataclass(frozen=True, eq=False)
class Result:
    """Outcome of a run: Estimate and Uncertainty, torque errors on the held-out samples before and after, notices.

    findings: of the logs, and the faults of the diagnosis. health: of each log as it was recorded.
    """

    job: Job
    prior: Robot
    robot: Robot
    estimate: Estimate
    uncertainty: Uncertainty
    before: Validation
    after: Validation
    held_out: Log
    diagnosis: Diagnosis
    generalization: Generalization
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    log_names: tuple[str, ...]
    health: tuple[Inspection, ...]


def run(job: Job, *, progress: Progress | None = None) -> Result:
    """From files to a fit with intervals, validated. Writes nothing. Raises SteelyardError with a remedy."""
    report = progress or (lambda stage, share: None)
    report("reading the model", 0.0)
    require_model_first(job)
    robot = with_motors(load_with_side(job))
    known, said = knowledge_of(job, robot)
    options = job.columns
    layout_of(robot, **options)  # refuses what the robot does not have before any log is read
    order_of(job.smoother, None)
    require_filtered(job)
    require_acceptable(job.accept)
    read = []
    for k, path in enumerate(job.logs):
        report(f"reading {Path(path).name}", (k + 0.2) / len(job.logs) * 0.6)
        read.append(read_and_prepared(job, robot, path))
    findings = [finding for each in read for finding in each.findings]
    looked = tuple(health_of(each) for each in read)
    require_motion([each.raw for each in read], job)
    read, more = second_look(job, robot, read, options)
    notes = [*robot.notes, *said, *(note for each in read for note in each.log.notes), *more]
    whole = [each.log for each in read]
    train = [split_blocks(each.log, validation=job.validation)[0] for each in read]
    report("accumulating information", 0.65)
    if "sample_weights" in (weighed := weights_of(job, robot)):
        options |= weighed
        notes.append(
            f"Samples where a joint nearly stands still (about {COULOMB_WIDTH} rad/s or m/s) count less, "
            f"{job.reversal_weight:g} at standstill: friction is least certain there."
        )
    by_log = {
        name: accumulate_blocks(robot, log, **options) for name, log in zip(_distinct(job.logs), train, strict=True)
    }
    blocks = [block for own in by_log.values() for block in own]
    report("fitting", 0.75)
    estimate = consistent_within_geometry(reduce(add, blocks), weight=job.weight, regularizer=job.regularizer, **known)
    report("looking for faults", 0.8)
    diagnosis = diagnose(estimate, whole)
    require_no_fatal(diagnosis.faults, job.accept)
    lost = () if any(fault.severity == "fatal" for fault in diagnosis.faults) else _losses(estimate, read)
    report("finding intervals", 0.85)
    intervals = uncertainty(estimate, blocks, weight=job.weight)
    report("validating", 0.95)
    apart = _correlation_time(diagnosis)
    test = [
        split_blocks(each.unfilled or each.log, validation=job.validation, gap=each.memory + apart)[1] for each in read
    ]
    held = joined(test, name="held-out samples")
    before, after = validate(robot, held, rotors=job.rotors), validate(estimate, held)
    reach = generalization(
        estimate,
        by_log,
        reduce(add, [accumulate(robot, each, **job.columns) for each in test]),  # samples alike, as the error above
        weight=job.weight,
        other_motion=ordinary_use(robot, train, **job.columns),
    )
    result = Result(
        job=job,
        prior=robot,
        robot=estimate.require_robot(),
        estimate=estimate,
        uncertainty=intervals,
        before=before,
        after=after,
        held_out=held,
        diagnosis=diagnosis,
        generalization=reach,
        findings=(*findings, *lost, *diagnosis.faults),
        notes=(*notes, *intervals.explain(), *diagnosis.hints),
        log_names=tuple(Path(path).name for path in job.logs),
        health=looked,
    )
    report("done", 1.0)
    return result


def _distinct(paths: Sequence[str]) -> list[str]:
    """File names of logs, with the folders of those that share a name."""
    names = [Path(path).name for path in paths]
    return [path if names.count(name) > 1 else name for path, name in zip(paths, names, strict=True)]


@dataclass(frozen=True, eq=False)
class Ready:
    """A log as a job uses it. raw: as recorded, corrected and restamped; filtered: with v and a; log: the same on the
    tree of a robot with loops, away from clipped torques if asked. findings: of the checks; cutoff: of positions, Hz;
    filtering: the filter that made `filtered`. unfilled: what to judge a model by where `log` has torques that a fit
    filled in."""

    raw: Log
    filtered: Log
    log: Log
    findings: tuple[Finding, ...]
    cutoff: float
    filtering: Callable[[Log], Log]
    unfilled: Log | None = None

    @property
    def memory(self) -> float:
        """s over which the filters of positions and torques carry a sample: the period at the lower cutoff."""
        cutoffs = [each for each in (self.cutoff, self.log.bandwidth) if each]
        return 1 / min(cutoffs) if cutoffs else 0.0


def read_and_prepared(job: Job, robot: Robot, path) -> Ready:
    """A log file of a job, as the job uses it. Raises LogError for one that cannot be used."""
    return readied(job, robot, read_log(path, robot, channels=job.channels, units=job.corrections.units))


def readied(job: Job, robot: Robot, log: Log) -> Ready:
    """Correct, check, filter and differentiate a log. Raises LogError for one that cannot be used."""
    if log.tau is None:
        raise LogError(f"Log '{log.name}' has no joint torques (tau); {checks.no_torque(log)}")
    raw = corrected(robot, log, job.corrections)
    found = checks.require_usable(raw, robot, accept=job.accept)
    if any(finding.code == "repeated_sample" for finding in found):
        raw = filters.restamp(raw)
    cutoff = cutoff_for(raw, job.cutoff, smoother=job.smoother)
    band = torque_cutoff_for(raw, job.cutoff, job.torque_cutoff)
    filtering = partial(prepared, cutoff=cutoff, torque_cutoff=band, smoother=job.smoother, coupling=job.coupling)
    filtered = filtering(raw)
    log = (
        masked(filtered, raw, saturated(raw), band, name="clipped torques") if job.corrections.saturation else filtered
    )
    log = on_tree(robot, log) if robot.loops else log
    return Ready(raw, filtered, log, found, cutoff, filtering)


def health_of(log: Ready) -> Inspection:
    """How a log is as it was recorded."""
    return health(log.raw, findings=log.findings, ready=log.filtered, cutoff=cutoff_of(log.raw, log.findings))


def weights_of(job: Job, robot: Robot) -> dict:
    """The option of `accumulate` that says how much samples near standstill count, empty where all count alike."""
    if not any(TERMS[term].directed for term in job.friction if term in TERMS) or job.reversal_weight == 1:
        return {}
    return {"sample_weights": partial(reversal_weights, robot, weight=job.reversal_weight)}


def second_look(job: Job, robot: Robot, read: list[Ready], options: dict) -> tuple[list[Ready], tuple[str, ...]]:
    """What takes a fit to be undone, drive gains, unknown delays and clipped torques; and notes."""
    if job.loads and not job.drive_gains:
        raise OptionError("Logs with a known load fix drive gains: give --drive-gains with --load.")
    notes: tuple[str, ...] = ()
    if job.drive_gains:
        loads = [
            (link, mass, read_and_prepared(job, robot, path).log) for link, mass, path in map(load_word, job.loads)
        ]
        logs, notes = in_torques(robot, [each.log for each in read], loads, options)
        read = [replace(each, log=log) for each, log in zip(read, logs, strict=True)]
    if job.corrections.automatic_delay:
        logs, late = synchronised(robot, [each.log for each in read], options=options)
        read = [replace(each, log=log) for each, log in zip(read, logs, strict=True)]
        notes = (*notes, late)
    if job.corrections.saturation and _fillable(job, robot, read):
        logs = unclipped(
            robot,
            [_clipped(job, each) for each in read],
            validation=job.validation,
            options=options | weights_of(job, robot),
        )
        read = [replace(each, log=log, unfilled=each.log) for each, log in zip(read, logs, strict=True)]
        notes = (*notes, "Clipped torques were filled with what a fit to the others says, for the filter's sake.")
    return read, notes


def _fillable(job: Job, robot: Robot, read: list[Ready]) -> bool:
    """Whether torques are clipped, filtered, and all that a fit needs to fill them in is known by now."""
    settled = not (job.drive_gains or job.corrections.automatic_delay or robot.loops)
    return settled and all(each.cutoff for each in read) and any(saturated(each.raw).any() for each in read)


def _clipped(job: Job, each: Ready) -> Clipped:
    motion = filters.differentiate(each.raw, cutoff=each.cutoff, smoother=job.smoother, drop=0)
    return Clipped(each.raw, each.log, motion, each.filtering)


def _correlation_time(diagnosis: Diagnosis) -> float:
    """s after which the residual of no joint is like itself any more: twice its integrated autocorrelation."""
    return max((2 * each.time_constant for each in diagnosis.residuals), default=0.0)


def _losses(estimate: Estimate, read: list[Ready]) -> tuple[Fault, ...]:
    """What logs lack for good, and how to record again."""
    return tuple(fault for each in read for fault in costs(estimate, each.raw, each.filtered, each.findings))


def require_model_first(job: Job) -> None:
    """Raise OptionError where there is no log, or model and log are the wrong way round."""
    if not job.logs:
        raise OptionError("At least one log is needed.")
    models = [path for path in job.logs if Path(path).suffix.lower() in (".urdf", ".xml")]
    if models and Path(job.model).suffix.lower() in READERS:
        raise OptionError(f"{job.model} is a log and {models[0]} a model: the model comes first, then the logs.")


def require_filtered(job: Job) -> None:
    """Raise OptionError where torques are to be filtered and positions not."""
    if job.cutoff == 0 and job.torque_cutoff is not None:
        raise OptionError("With cutoff 0 nothing is filtered, torques neither: leave out the cutoff of torques.")


def require_motion(logs: list[Log], job: Job) -> None:
    """Raise LogError where no joint moves in any of the logs, nor from one to another."""
    q = np.concatenate([log.q for log in logs])
    if np.ptp(q, axis=0).max() < checks.STILL:
        raise LogError(
            f"No joint moves in {choices(Path(path).name for path in job.logs)}: a robot at rest in one pose shows one "
            "torque a joint, which any model can be made to meet. Record a motion, such as one that `steelyard excite` "
            "designs, or poses in several logs. If it did move, choose the columns of measured positions: --channels."
        )


def require_acceptable(codes: tuple[str, ...]) -> None:
    """Raise OptionError for codes of findings that cannot be accepted."""
    known = sorted(ACCEPTABLE)
    for code in codes:
        if code not in known:
            raise OptionError(f"There is no finding {code!r} to accept; choose from {choices(known)}.")


def require_no_fatal(faults: tuple[Fault, ...], accept: tuple[str, ...]) -> None:
    """Raise LogError for fatal faults that are not accepted."""
    fatal = [fault for fault in faults if fault.severity == "fatal" and fault.code not in accept]
    if fatal:
        words = " ".join(f"--accept {code}" for code in dict.fromkeys(fault.code for fault in fatal))
        raise LogError(f"{' '.join(fault.message for fault in fatal)}\nTo go on all the same, give {words}.")


def load_with_side(job: Job) -> Robot:
    """The given model, with the rotors and loops of its side file where the job uses it."""
    robot = load(job.model, floating=job.floating, gravity=job.gravity, folders=job.folders)
    side = side_of(job)
    return robot if side is None else read_side(side, robot)


def side_of(job: Job) -> Path | None:
    """The side file that a job reads: the one it names, else the one beside the model where there is one."""
    if job.side is not None:
        return Path(job.side)
    beside = side_path(job.model)
    return beside if job.rotors or beside.is_file() else None


def knowledge_of(job: Job, robot: Robot) -> tuple[dict, tuple[str, ...]]:
    """What a job and its side file say about the bodies, as arguments of `fit.consistent`; and notes on the latter.

    What the job says of a link counts more than what the file says of it. Raises SteelyardError for mistakes in either.
    """
    side = side_of(job)
    known = Known() if side is None else read_known(side, robot)
    if job.within not in WORDS:
        raise OptionError(f"within is {job.within!r}. Choose from {choices(WORDS)}.")
    told = {
        "within": {OTHERS: job.within} | known.ellipsoids,
        "masses": known.masses | masses_from(job.masses),
        "fixed": known.fixed | fixed_from(job.fixed),
        "tied": (*(Tied(*tie) for tie in known.tied), *tied_from(job.tied)),
    }
    return told, tuple(f"{side.name}: {text}" for text in known.words()) if side is not None else ()


def prepared(
    log: Log,
    cutoff: float | None = None,
    *,
    torque_cutoff: float | None = None,
    smoother: str = BUTTERWORTH,
    coupling=(),
) -> Log:
    """A log with v and a: filtered and differentiated as by `filters.differentiate`, or as recorded for cutoff 0."""
    if cutoff == 0:
        if log.v is None or log.a is None:
            raise LogError(f"Log '{log.name}' has no recorded v or a; give a cutoff in Hz to differentiate positions.")
        return log
    return filters.differentiate(log, cutoff=cutoff, torque_cutoff=torque_cutoff, smoother=smoother, coupling=coupling)
