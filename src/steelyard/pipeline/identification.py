"""The whole job: model and logs in; verified model, validation and files out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.cards import Card
from steelyard.diagnose import ACCEPTABLE, Diagnosis, Fault, diagnose
from steelyard.drives import Drive
from steelyard.dynamics import with_motors
from steelyard.errors import LogError, OptionError, choices
from steelyard.fit import (
    OTHERS,
    WORDS,
    Estimate,
    Generalization,
    LinksGain,
    Tied,
    Uncertainty,
    Validation,
    consistent_within_geometry,
    drives_alone,
    fixed_from,
    generalization,
    masses_from,
    ordinary_use,
    standing_links,
    tied_from,
    uncertainty,
    validate,
)
from steelyard.information import Information, accumulate, accumulate_blocks, reversal_weights
from steelyard.job import Job
from steelyard.log import READERS, Finding, Log, checks, joined, order_of, split_blocks
from steelyard.model import MODEL_SUFFIXES, Known, Robot, load, locked, read_known, read_side, side_path
from steelyard.pipeline.further_friction import FURTHER_FRICTION, columns_of, further_friction
from steelyard.pipeline.inspection import Inspection, health
from steelyard.pipeline.recording_costs import costs, narrowing
from steelyard.pipeline.tried_corrections import judge, noticeable, tried
from steelyard.prepare import (
    Prepared,
    load_word,
    lock_words,
    locks_of,
    prepare,
    read_logs,
    settled,
    spectral_cutoff,
    standing_faults,
)
from steelyard.terms import COULOMB_WIDTH, TERMS, layout_of

# Faults that a fit puts into links, so that these are kept as given until the fault is undone.
IMITATED = frozenset(
    {
        "torque_scale",
        "position_offset",
        "saturation",
        "passing_load",
        "passing_force",
        "gravity_tilt",
        FURTHER_FRICTION,
    }
)
HALF = 0.5  # of the error with links as given, more than which no friction that was left out makes
LEAST_NOISE = 1e-3  # of the largest of a row, below which none is taken to be


def load_with_side(job: Job, robot: Robot | None = None) -> Robot:
    """The nominal robot, with the rotors and loops of its side file where the job uses it, and locked joints.

    robot: instead of that of the job's model file.
    """
    if robot is None:
        robot = load(job.model, floating=job.floating, gravity=job.gravity, folders=job.folders)
    side = side_of(job)
    robot = robot if side is None else read_side(side, robot)
    return locked(robot, lock_words(job.lock, robot))


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


Progress = Callable[[str, float], None]


@dataclass(frozen=True, eq=False, repr=False)
class Result(Card):
    """Outcome of a run: Estimate and Uncertainty, torque errors on the held-out samples before and after, notices.

    findings: of the logs, and the faults of the diagnosis. health: of each log as it was recorded. narrowing: (r,)
    standard deviations of the base parameters after another motion as long, over those now; None where not known.
    torque_of: (r,) RMS torque of the logs that a unit of each base parameter makes, over that of all.
    alone: torque errors of the links as given, with friction and drives fitted. everything: those of a fit of links,
    too, and links what it gains; of parts of the robot where it gains nothing for sure, links are `kept` as given.
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
    alone: Validation
    everything: Validation
    links: LinksGain
    kept: tuple[str, ...]
    torque_of: np.ndarray
    narrowing: np.ndarray | None = None

    @property
    def stand(self) -> bool:
        """Whether all links are kept as given."""
        return len(self.kept) == self.prior.nb

    def _title(self) -> str:
        return f"Identification of '{self.prior.name}' from {len(self.log_names)} log(s)"

    def _rows(self):
        before, after = (f"{100 * each.relative_error:.3g} %" for each in (self.before, self.after))
        return {
            "torque error on held-out samples": f"{after} (nominal model {before})",
            "links": "as given: none is better for sure" if self.stand else "identified",
            "links kept as given": None if self.stand else list(self.kept) or None,
            "status": self.estimate.status.value,
            "masses, kg": self.estimate._rows()["masses, kg"],
            "faults": [fault.code for fault in self.diagnosis.faults] or "none found",
            "findings in logs": [finding.code for finding in self.findings] or None,
            "notes": f"{len(self.notes)}, see .notes" if self.notes else None,
            "more": ".robot, .estimate, .uncertainty, .diagnosis; sy.save(result.robot, PATH)",
        }


def run(
    job: Job, *, robot: Robot | None = None, logs: Sequence | None = None, progress: Progress | None = None
) -> Result:
    """From files to a fit with intervals, validated. Writes nothing. Raises SteelyardError with a remedy.

    robot, logs: in the place of the files that the job names.
    """
    report = progress or (lambda stage, share: None)
    report("reading the model", 0.0)
    require_model_first(job)
    whole = with_motors(load_with_side(job, robot))
    knowledge_of(job, whole)  # refuses, as the next lines do, what the robot does not have before any log is read
    layout_of(whole, **job.columns)
    order_of(job.smoother, None)
    require_filtered(job)
    require_acceptable(job.accept)
    robot, job, found = recorded(job, whole, logs, progress=lambda stage, share: report(stage, 0.05 + 0.5 * share))
    known, said = knowledge_of(job, robot)
    read = [prepare(log, robot, **job.preparation) for log in found]
    findings = [finding for each in read for finding in each.remaining]
    looked = tuple(health_of(each) for each in read)
    require_motion([each.raw for each in read], job)
    job, left_out = without_constant_torques(job, read)
    read, more, _ = settled_logs(job, robot, read)
    notes = [*robot.notes, *said, *(note for each in read for note in each.log.notes), *left_out, *more]
    entire = [each.log for each in read]
    train = [split_blocks(each.log, validation=job.validation)[0] for each in read]
    report("accumulating information", 0.65)
    columns, chosen = columns_of(job, robot, train)
    weighed = weights_of(job, robot)
    options, notes = columns | weighed, [*notes, *chosen]
    if weighed:
        notes.append(
            f"Samples where a joint nearly stands still (about {COULOMB_WIDTH} rad/s or m/s) count less, "
            f"{job.reversal_weight:g} at standstill: friction is least certain there."
        )

    def fitted(options: dict) -> tuple[dict[str, tuple[Information, ...]], Estimate]:
        """Sums of blocks by log, and the fit to them."""
        sums = {
            name: accumulate_blocks(robot, log, **options) for name, log in zip(_distinct(job.logs), train, strict=True)
        }
        total = reduce(add, [block for own in sums.values() for block in own])
        return sums, consistent_within_geometry(total, weight=job.weight, regularizer=job.regularizer, **known)

    report("fitting", 0.7)
    by_log, estimate = fitted(options)
    contacts: dict[str, Any] = {}
    if any(log.contacts for log in train):
        contacts = {"row_weights": 1 / np.maximum(estimate.noise, LEAST_NOISE * estimate.noise.max()) ** 2}
        by_log, estimate = fitted(options | contacts)
        notes.append(
            "Forces of contacts are those that suit motion and torques best, each row weighed by its noise. Faults of "
            "wiring are not looked for in such logs."
        )
        findings += standing_faults(robot, train)
    blocks = [block for own in by_log.values() for block in own]
    report("looking for faults", 0.8)
    diagnosis = diagnose(estimate, entire)
    require_no_fatal(diagnosis.faults, job.accept)
    lost = () if any(fault.severity == "fatal" for fault in diagnosis.faults) else _losses(estimate, read)
    report("finding intervals", 0.85)
    intervals = uncertainty(estimate, blocks, weight=job.weight)
    report("validating", 0.95)
    apart = _correlation_time(diagnosis)
    test = [split_blocks(each.judged, validation=job.validation, gap=each.memory + apart)[1] for each in read]
    held = joined(test, name="held-out samples")
    before, after = validate(robot, held, rotors=job.rotors, **contacts), validate(estimate, held, **contacts)

    tested = reduce(add, [accumulate(robot, each, **columns, **contacts) for each in test])  # alike, as above
    use = ordinary_use(robot, train, **columns)
    reach = generalization(estimate, by_log, tested, weight=job.weight, other_motion=use)
    again = partial(consistent_within_geometry, weight=job.weight, regularizer=job.regularizer, **known)
    judged = judge(robot, again, validation=job.validation, columns=columns, rows=contacts)
    worth, unworthy = tried(
        robot, entire, noticeable(diagnosis.faults, max(after.relative_error, reach.fitted)), judged
    )
    rubs = further_friction(job, robot, train, after.relative_error)
    total = reduce(add, blocks)
    given = drives_alone(total)
    everything, alone = after, validate(given, held, **contacts)
    elsewhere = None if contacts else use  # what stands on the ground does not show itself in flight
    doubted = rubs if everything.relative_error > HALF * alone.relative_error else ()  # else links explain too much
    accused = {getattr(each, "joint", None) for each in (*findings, *doubted, *worth) if each.code in IMITATED}
    if job.drive_gains and not job.loads:  # gains come from these links, and errors of either go into the other
        accused.add(None)
    kept, gained = standing_links(given, intervals, elsewhere, alone, everything, memory=apart, accused=accused)
    kept = () if _told_of_links(known) else kept
    stand = len(kept) == robot.nb
    if kept:
        estimate = given if stand else again(total, fixed=known["fixed"] | dict.fromkeys(kept, "all"))
        after, intervals = validate(estimate, held, **contacts), uncertainty(estimate, blocks, weight=job.weight)
        reach = generalization(estimate, by_log, tested, weight=job.weight, other_motion=None if stand else use)
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
        findings=(*findings, *lost, *rubs, *worth),
        notes=(*notes, *intervals.explain(), *diagnosis.hints, *unworthy),
        narrowing=narrowing(robot, intervals, sum(log.effective_samples for log in train), columns),
        log_names=tuple(Path(path).name for path in job.logs),
        health=looked,
        alone=alone,
        everything=everything,
        links=gained,
        kept=kept,
        torque_of=np.sqrt(np.diag(total.base.squares.weighted(np.ones(len(total.energy)))) / total.energy.sum()),
    )
    report("done", 1.0)
    return result


def _told_of_links(known: dict) -> bool:
    """Whether something is known of links that those of the model may not have."""
    return bool(known["masses"] or known["tied"])


def _distinct(paths: Sequence[str]) -> list[str]:
    """File names of logs, with the folders of those that share a name."""
    names = [Path(path).name for path in paths]
    return [path if names.count(name) > 1 else name for path, name in zip(paths, names, strict=True)]


def recorded(
    job: Job, robot: Robot, logs: Sequence | None = None, progress: Progress | None = None
) -> tuple[Robot, Job, list[Log]]:
    """The robot as the logs of a job show it, the job that says so in words, and the logs as they were read.

    logs: in the place of the files that the job names.
    """
    sources = job.logs if logs is None else logs
    robot, read = read_logs(sources, robot, channels=job.channels, corrections=job.corrections, progress=progress)
    kept = _once(read)
    for k, log in enumerate(read):
        first = next(i for i in kept if _same(read[i], log))
        if first != k:
            note = f"{job.logs[k]} is the same recording as {job.logs[first]} and is not counted again"
            read[first] = read[first].noted(note)
    job = replace(job, lock=locks_of(robot), logs=tuple(job.logs[k] for k in kept))
    return robot, job, [read[k] for k in kept]


def _once(logs: list[Log]) -> list[int]:
    """Numbers of logs that repeat none before them."""
    kept: list[int] = []
    for k, log in enumerate(logs):
        if not any(_same(logs[i], log) for i in kept):
            kept.append(k)
    return kept


def _same(one: Log, other: Log) -> bool:
    """Whether two logs are one recording: the same samples at the same times after their start."""
    if one is other:
        return True
    pairs = ((one.t - one.t[:1], other.t - other.t[:1]), (one.q, other.q), (one.tau, other.tau))
    return all(a is b or (a is not None and b is not None and np.array_equal(a, b)) for a, b in pairs)


def prepared_file(job: Job, robot: Robot, path) -> Prepared:
    """A log file of a job, as the job uses it. Raises LogError for one that cannot be used."""
    _, (log,) = read_logs([path], robot, channels=job.channels, corrections=job.corrections)
    return prepare(log, robot, **job.preparation)


def health_of(log: Prepared) -> Inspection:
    """How a log is as it was recorded."""
    own = spectral_cutoff(log.raw, log.findings)
    return health(log.raw, findings=log.findings, ready=log.filtered, cutoff=own)


def without_constant_torques(job: Job, read: Sequence[Prepared]) -> tuple[Job, tuple[str, ...]]:
    """The job as robots in contact are fitted, and a note. Joints of legs hardly turn, so constant torques pass for
    weights: with them, the total mass of simulated walks came out 3 % too heavy, and its interval did not say so."""
    if job.friction != Job.friction or not any(each.log.contacts for each in read):
        return job, ()
    kept = tuple(term for term in job.friction if term != "offset")
    words = (
        "Constant torques are left out of friction, as those of legs on the ground pass for weights. To fit them, "
        f"give --friction {','.join(job.friction)}."
    )
    return replace(job, friction=kept), (words,)


def weights_of(job: Job, robot: Robot) -> dict:
    """The option of `accumulate` that says how much samples near standstill count, empty where all count alike."""
    if not any(TERMS[term].directed for term in job.friction if term in TERMS) or job.reversal_weight == 1:
        return {}
    return {"sample_weights": partial(reversal_weights, robot, weight=job.reversal_weight)}


def settled_logs(
    job: Job, robot: Robot, read: list[Prepared], drives: Mapping[str, Drive] | None = None
) -> tuple[list[Prepared], tuple[str, ...], np.ndarray]:
    """Logs with what takes a fit to be undone, notes on it, and (nv,) the gains found, 1 where torques are known.

    drives: by joint, of logs of commands; those without a known gain are in units of their drive.
    """
    unknown = np.full(robot.nv, job.drive_gains)
    if drives:
        unknown |= [name in drives and drives[name].torque_per_unit is None for name in robot.dof_names]
    if job.loads and not unknown.any():
        raise OptionError("Logs with a known load fix drive gains: give --drive-gains with --load.")
    return settled(
        robot,
        read,
        corrections=job.corrections,
        unknown=unknown,
        loads=[(link, mass, prepared_file(job, robot, path).log) for link, mass, path in map(load_word, job.loads)],
        guess=bool(drives),
        validation=job.validation,
        smoother=job.smoother,
        columns=job.columns,
        weights=weights_of(job, robot),
    )


def _correlation_time(diagnosis: Diagnosis) -> float:
    """s after which the residual of no joint is like itself any more: twice its integrated autocorrelation."""
    return max((2 * each.time_constant for each in diagnosis.residuals), default=0.0)


def _losses(estimate: Estimate, read: list[Prepared]) -> tuple[Fault, ...]:
    """What logs lack for good, and how to record again."""
    return tuple(fault for each in read for fault in costs(estimate, each))


def require_model_first(job: Job) -> None:
    """Raise OptionError where there is no log, or model and log are the wrong way round."""
    if not job.logs:
        raise OptionError("At least one log is needed.")
    models = [path for path in job.logs if Path(path).suffix.lower() in MODEL_SUFFIXES]
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
