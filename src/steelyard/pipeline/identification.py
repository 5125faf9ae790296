"""The whole job: model and logs in; verified model, validation and files out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from pathlib import Path

import numpy as np

from steelyard.cards import Card
from steelyard.diagnose import Diagnosis, Fault, diagnose
from steelyard.diagnose.faults import ACCEPTABLE
from steelyard.errors import FitError, LogError, OptionError, choices
from steelyard.fit import Draws, Estimate, Uncertainty, Validation, drives_alone, uncertainty, validate
from steelyard.fit.friction_terms import nearest_plain
from steelyard.fit.gain_of_links import LinksGain, standing_links
from steelyard.fit.prediction_error import Generalization, generalization, ordinary_use
from steelyard.information import Information, accumulate, accumulate_blocks
from steelyard.job import LINKS, Job
from steelyard.log import Finding, Log, joined, split_blocks
from steelyard.log.smoothers import order_of
from steelyard.model import Robot
from steelyard.pipeline.inspection import Inspection, health
from steelyard.pipeline.job_run import Progress, Run, begin, require_motion, settled_logs
from steelyard.pipeline.recording_costs import costs, narrowing
from steelyard.pipeline.sums_of_logs import columns_for, contact_weights, weights_of
from steelyard.pipeline.tried_corrections import (
    FURTHER_FRICTION,
    LEFT_OUT,
    columns_of,
    friction_left_out,
    further_friction,
    judge,
    noticeable,
    tried,
)
from steelyard.prepare import Prepared
from steelyard.prepare.contact_checks import standing_faults
from steelyard.prepare.prepared import spectral_cutoff
from steelyard.terms import COULOMB_WIDTH, layout_of

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
        LEFT_OUT,
    }
)
HALF = 0.5  # of the error with links as given, more than which no friction that was left out makes


@dataclass(frozen=True, eq=False, repr=False)
class Result(Card):
    """Outcome of a run: Estimate and Uncertainty, torque errors on the held-out samples before and after, notices.

    findings: of the logs, and the faults of the diagnosis. health: of each log as it was recorded. narrowing: (r,)
    standard deviations of the base parameters after another motion as long, over those now; None where not known.
    torque_of: (r,) RMS torque of the logs that a unit of each base parameter makes, over that of all.
    free: intervals with no link kept as given, of which samples are drawn.
    robot: as model files have it. nearest: by attribute of a Robot (nv,), what its friction has beyond that of the
    estimate, as files have no place for friction near standstill and by load. forced: links identified as they were
    asked for, which would stand.
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
    free: Uncertainty
    nearest: Mapping[str, np.ndarray]
    forced: tuple[str, ...] = ()
    narrowing: np.ndarray | None = None

    @cached_property
    def samples(self) -> Draws | None:
        """Those of `draws.npz`; None where too few converge."""
        try:
            return self.draws()
        except FitError:
            return None

    def draws(self, count: int | None = None, *, seed: int = 0) -> Draws:
        """Samples of what the logs leave open, of all links, whether or not they are kept as given.

        Args:
            count: of samples; by default 256, of robots of more than 250 parameters 64.
            seed: of random numbers.

        Returns:
            The Draws.
        """
        drawn = self.free.sample(count, seed=seed)
        moved = {name: np.maximum(drawn.values[name] + x, 0.0) for name, x in self.nearest.items()}
        return replace(drawn, values={**drawn.values, **moved})

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
    begun = begin(job, robot, logs, lambda stage, share: report(stage, 0.05 + 0.5 * share), _refuse)
    read = begun.prepared()
    seen = tuple(finding for each in read for finding in each.remaining), tuple(health_of(each) for each in read)
    require_motion([each.raw for each in read], job)
    report("accumulating information", 0.65)
    fitted = _fitted(begun, read, report)
    report("looking for faults", 0.8)
    diagnosis = diagnose(fitted.estimate, fitted.entire)
    require_no_fatal(diagnosis.faults, job.accept)
    lost = () if any(fault.severity == "fatal" for fault in diagnosis.faults) else _losses(fitted)
    report("finding intervals", 0.85)
    intervals = uncertainty(fitted.estimate, fitted.blocks, weight=job.weight)
    report("validating", 0.95)
    judged = _judged(fitted, intervals, diagnosis)
    told = _further(fitted, judged, diagnosis)
    findings = (*seen[0], *(standing_faults(fitted.run.robot, fitted.train) if fitted.rows else ()))
    result = _concluded(fitted, judged, told, (findings, diagnosis, lost, seen[1]))
    report("done", 1.0)
    return result


def _refuse(job: Job, robot: Robot) -> None:
    layout_of(robot, **job.columns)
    order_of(job.smoother, None)
    if job.links not in LINKS:
        raise OptionError(f"Unknown word '{job.links}' for links. Choose from {choices(LINKS)}.")
    require_acceptable(job.accept)


@dataclass(frozen=True, eq=False)
class _Fitted:
    """The fit to the training part of all logs.

    run: with the job as these logs are fitted. read: the logs. train: their training parts. columns: options of
    `accumulate` that say what is estimated; rows: those that contacts ask for. by_log: sums of blocks, by log.
    """

    run: Run
    read: list[Prepared]
    train: list[Log]
    columns: dict
    rows: dict
    by_log: dict[str, tuple[Information, ...]]
    estimate: Estimate
    notes: tuple[str, ...]

    @property
    def entire(self) -> list[Log]:
        return [each.log for each in self.read]

    @cached_property
    def blocks(self) -> list[Information]:
        return [block for own in self.by_log.values() for block in own]

    @cached_property
    def total(self) -> Information:
        return reduce(add, self.blocks)


def _fitted(begun: Run, read: list[Prepared], report: Progress) -> _Fitted:
    """Logs settled, summed and fitted."""
    job, left_out = columns_for(begun.job, [each.log for each in read])
    begun, robot = replace(begun, job=job), begun.robot
    read, settled_notes, _ = settled_logs(job, robot, read)
    train = [split_blocks(each.log, validation=job.validation)[0] for each in read]
    columns, chosen = columns_of(job, robot, train)
    weighed = weights_of(job, robot)
    notes = [*robot.notes, *begun.said, *(note for each in read for note in each.log.notes), *left_out]
    notes += [*settled_notes, *chosen]
    if weighed:
        notes.append(
            f"Samples where a joint nearly stands still (about {COULOMB_WIDTH} rad/s or m/s) count less, "
            f"{job.reversal_weight:g} at standstill: friction is least certain there."
        )
    report("fitting", 0.7)
    names = _distinct(job.logs)

    def summed(**rows) -> dict[str, tuple[Information, ...]]:
        options = columns | weighed | rows
        return {name: accumulate_blocks(robot, log, **options) for name, log in zip(names, train, strict=True)}

    def fit(sums: dict[str, tuple[Information, ...]]) -> Estimate:
        return begun.fit(reduce(add, [block for own in sums.values() for block in own]))

    rows = contact_weights(train, lambda: fit(summed()))
    if rows:
        notes.append(
            "Forces of contacts are those that suit motion and torques best, each row weighed by its noise. Faults of "
            "wiring are not looked for in such logs."
        )
    by_log = summed(**rows)
    return _Fitted(begun, read, train, columns, rows, by_log, fit(by_log), tuple(notes))


@dataclass(frozen=True, eq=False)
class _Judged:
    """A fit, judged by held-out samples.

    memory: s for which its errors stay alike. held: held-out parts of all logs; tested: their sums; use: those of
    ordinary motion. before, after: errors of the nominal and of the identified model.
    """

    memory: float
    held: Log
    before: Validation
    after: Validation
    intervals: Uncertainty
    use: Information | None
    reach: Generalization
    tested: Information


def _judged(fitted: _Fitted, intervals: Uncertainty, diagnosis: Diagnosis) -> _Judged:
    job, robot, rows = fitted.run.job, fitted.run.robot, fitted.rows
    memory = _correlation_time(diagnosis)
    test = [split_blocks(each.judged, validation=job.validation, gap=each.memory + memory)[1] for each in fitted.read]
    held = joined(test, name="held-out samples")
    before, after = validate(robot, held, rotors=job.rotors, **rows), validate(fitted.estimate, held)
    tested = reduce(add, [accumulate(robot, each, **fitted.columns, **rows) for each in test])  # all samples alike
    use = ordinary_use(robot, fitted.train, **fitted.columns)
    reach = generalization(fitted.estimate, fitted.by_log, tested, weight=job.weight, other_motion=use)
    return _Judged(memory, held, before, after, intervals, use, reach, tested)


def _further(
    fitted: _Fitted, judged: _Judged, diagnosis: Diagnosis
) -> tuple[tuple[Fault, ...], tuple[Fault, ...], tuple[str, ...]]:
    """Faults whose correction is worth making, friction that was left out; notes on other corrections."""
    job, robot = fitted.run.job, fitted.run.robot
    if left_out := friction_left_out(
        job, robot, fitted.entire, fitted.run.fit, columns=fitted.columns, rows=fitted.rows
    ):
        return tuple(each for each in diagnosis.faults if not each.options), left_out, ()
    left = max(judged.after.relative_error, judged.reach.fitted)
    tries = judge(robot, fitted.run.fit, validation=job.validation, columns=fitted.columns, rows=fitted.rows)
    worth, unworthy = tried(robot, fitted.entire, noticeable(diagnosis.faults, left), tries)
    return worth, further_friction(job, robot, fitted.train, judged.after.relative_error), unworthy


def _concluded(fitted: _Fitted, judged: _Judged, told: tuple, seen: tuple) -> Result:
    """The links that are better for sure, and everything that is said of them."""
    (findings, diagnosis, lost, looked), (worth, rubs, unworthy) = seen, told
    job, robot, estimate, intervals = fitted.run.job, fitted.run.robot, fitted.estimate, judged.intervals
    given, everything, reach = drives_alone(fitted.total), judged.after, judged.reach
    alone, after = validate(given, judged.held), judged.after
    elsewhere = None  # what stands on the ground does not show itself in flight
    if not fitted.rows:  # that nothing was learnt of the friction of resting joints is no reason against other links
        elsewhere = ordinary_use(robot, fitted.train, resting=True, **fitted.columns)
    much = everything.relative_error <= HALF * alone.relative_error  # more than any friction that was left out
    doubted = () if much else rubs
    accused = {getattr(each, "joint", None) for each in (*findings, *doubted, *worth) if each.code in IMITATED}
    if job.drive_gains and not job.loads:  # gains come from these links, and errors of either go into the other
        accused.add(None)
    kept, gained = standing_links(
        given, intervals, elsewhere, alone, everything, info=fitted.total, memory=judged.memory, accused=accused
    )
    forced: tuple[str, ...] = ()
    if job.links == "identified":
        kept, forced = (), kept
    elif job.links == "given":
        kept = robot.body_names
    elif _told_of_links(fitted.run.known):
        kept = ()
    if kept:
        stand = len(kept) == robot.nb
        fixed = fitted.run.known["fixed"] | dict.fromkeys(kept, "all")
        estimate = given if stand else fitted.run.fit(fitted.total, fixed=fixed)
        after, intervals = validate(estimate, judged.held), uncertainty(estimate, fitted.blocks, weight=job.weight)
        use = None if stand else judged.use
        reach = generalization(estimate, fitted.by_log, judged.tested, weight=job.weight, other_motion=use)
    whole, written = (nearest_plain(each, fitted.total) for each in (fitted.estimate, estimate))
    total, samples = fitted.total, sum(log.effective_samples for log in fitted.train)
    return Result(
        job=job,
        prior=robot,
        robot=estimate.require_robot().with_joint_properties(**written),
        estimate=estimate,
        uncertainty=intervals,
        before=judged.before,
        after=after,
        held_out=judged.held,
        diagnosis=diagnosis,
        generalization=reach,
        findings=(*findings, *lost, *rubs, *worth),
        notes=(*fitted.notes, *intervals.explain(), *diagnosis.hints, *unworthy),
        narrowing=narrowing(robot, intervals, samples, fitted.columns),
        log_names=tuple(Path(path).name for path in job.logs),
        health=looked,
        alone=alone,
        everything=everything,
        links=gained,
        kept=kept,
        free=judged.intervals,
        forced=forced,
        nearest={name: x - getattr(fitted.estimate.require_robot(), name) for name, x in whole.items()},
        torque_of=np.sqrt(np.diag(total.base.squares.weighted(np.ones(len(total.energy)))) / total.energy.sum()),
    )


def _told_of_links(known: dict) -> bool:
    """Whether something is known of links that those of the model may not have."""
    return bool(known["masses"] or known["tied"])


def _distinct(paths: Sequence[str]) -> list[str]:
    """File names of logs, with the folders of those that share a name."""
    names = [Path(path).name for path in paths]
    return [path if names.count(name) > 1 else name for path, name in zip(paths, names, strict=True)]


def health_of(log: Prepared) -> Inspection:
    """How a log is as it was recorded."""
    own = spectral_cutoff(log.raw, log.findings)
    return health(log.raw, findings=log.findings, ready=log.filtered, cutoff=own)


def _correlation_time(diagnosis: Diagnosis) -> float:
    """s after which the residual of no joint is like itself any more: twice its integrated autocorrelation."""
    return max((2 * each.time_constant for each in diagnosis.residuals), default=0.0)


def _losses(fitted: _Fitted) -> tuple[Fault, ...]:
    """What logs lack for good, and how to record again."""
    return tuple(fault for each in fitted.read for fault in costs(fitted.estimate, each))


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
