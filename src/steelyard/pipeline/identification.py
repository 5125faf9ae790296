"""The whole job: model and logs in; verified model, validation and files out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.cards import Card
from steelyard.decisions.fit_plan import Decision, FitPlan, together
from steelyard.decisions.rules import IDENTIFIED
from steelyard.diagnose import Diagnosis, Fault, diagnose
from steelyard.diagnose.diagnosis import imitated
from steelyard.diagnose.faults import ACCEPTABLE
from steelyard.diagnose.thresholds import OTHER
from steelyard.errors import FitError, LogError, OptionError, choices
from steelyard.fit import Draws, Estimate, Uncertainty, Validation, validate
from steelyard.fit.confidence import posterior_uncertainty
from steelyard.fit.estimate import ExpectedError
from steelyard.fit.posterior import nearest_plain
from steelyard.fit.prediction_error import Generalization, generalization, ordinary_use
from steelyard.information import Information, accumulate
from steelyard.job import Job
from steelyard.log import Finding, Log
from steelyard.log.smoothers import order_of
from steelyard.model import Robot
from steelyard.native import require_core
from steelyard.pipeline.inspection import Inspection, health
from steelyard.pipeline.job_run import JobRun, Progress, begin, job_of, require_motion, several
from steelyard.pipeline.posterior_of_logs import COUPLING, LEAVE_OUT, everything, posterior_of, tried
from steelyard.pipeline.recording_costs import costs, narrowing
from steelyard.prepare import Prepared
from steelyard.prepare.contact_checks import standing_faults
from steelyard.prepare.prepared import spectral_cutoff
from steelyard.terms import layout_of


@dataclass(frozen=True, eq=False, repr=False)
class Result(Card):
    """Outcome of a run: Estimate and Uncertainty, torque errors on the held-out samples before and after, notices.

    before, after: of the file's model, and of a posterior that has not seen the held-out samples; estimate: that of
    all.
    findings: of the logs, and the faults of the diagnosis. decided: between logs and fit. health: of each log as it was
    recorded. narrowing: (r,) standard deviations of the base parameters after another motion as long, over those now;
    None where not known. torque_of: (r,) RMS torque of the logs that a unit of each base parameter makes, over that of
    all.
    robot: as model files have it. nearest: by attribute of a Robot (nv,), what its friction has beyond that of the
    estimate, as files have no place for friction of any shape. expected: torque errors of the links of the file and of
    the written ones in ordinary use; None where there is none, as of closed loops.
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
    decided: tuple[Decision, ...]
    notes: tuple[str, ...]
    log_names: tuple[str, ...]
    health: tuple[Inspection, ...]
    torque_of: np.ndarray
    nearest: Mapping[str, np.ndarray]
    expected: tuple[ExpectedError, ExpectedError] | None = None
    narrowing: np.ndarray | None = None

    @cached_property
    def samples(self) -> Draws | None:
        """Those of `draws.npz`; None where too few converge."""
        try:
            return self.draws()
        except FitError:
            return None

    def draws(self, count: int | None = None, *, seed: int = 0) -> Draws:
        """Samples of what the logs leave open.

        Args:
            count: of samples; by default 256, of robots of more than 250 parameters 64.
            seed: of random numbers.

        Returns:
            The Draws.
        """
        drawn = self.uncertainty.sample(count, seed=seed)
        moved = {name: np.maximum(drawn.values[name] + x, 0.0) for name, x in self.nearest.items()}
        return replace(drawn, values={**drawn.values, **moved})

    @property
    def doubted(self) -> tuple[str, ...]:
        """Links that are other bodies than those of the file."""
        return tuple(name for name in self.prior.body_names if self.estimate.scales[name] < OTHER)

    @property
    def imitated(self) -> bool:
        """Whether all links, or gains of most joints, are others than those of the file."""
        return imitated(self.estimate, self.prior.body_names)

    def _title(self) -> str:
        return f"Identification of '{self.prior.name}' from {len(self.log_names)} log(s)"

    def _rows(self):
        before, after = (f"{100 * each.relative_error:.3g} %" for each in (self.before, self.after))
        return {
            "torque error on held-out samples": f"{after} (nominal model {before})",
            "links expected to err by": None
            if self.expected is None
            else f"{100 * self.expected[1].value:.3g} % (given ones {100 * self.expected[0].value:.3g} %)",
            "status": self.estimate.status.value,
            "masses, kg": self.estimate._rows()["masses, kg"],
            "mistakes of the logs": [name for name, each in self.estimate.nuisances.items() if each.certain] or None,
            "faults": [fault.code for fault in self.diagnosis.faults] or "none found",
            "findings in logs": [finding.code for finding in self.findings] or None,
            "notes": f"{len(self.notes)}, see .notes" if self.notes else None,
            "more": ".robot, .estimate, .uncertainty, .diagnosis; sy.save(result.robot, PATH)",
        }


def decide(model: str | Path | Robot, logs: Any, **options) -> FitPlan:
    """What `identify` decides of logs before it fits them, without the fit.

    Args:
        model: path of a model file, or a Robot.
        logs: one or several, as of `identify`.
        options: of `identify`.

    Returns:
        The FitPlan, in `made` the decisions, each with reason, figures behind it and the option that decides otherwise.

    Raises:
        SteelyardError: for what cannot be used, with a remedy.

    Example:
        >>> import steelyard as sy
        >>> robot = sy.library.scara()
        >>> plan = sy.decide(robot, sy.simulate.record(robot, duration=3.0).log)
        >>> [each.code for each in plan.made]
        ['cutoff', 'standstill', 'shapes']
    """
    robot = model if isinstance(model, Robot) else None
    begun = begin(job_of(model, logs, **options), robot, several(logs), lambda stage, share: None, _refuse)
    return begun.plan(begun.prepared()).decided(IDENTIFIED)


def run(
    job: Job, *, robot: Robot | None = None, logs: Sequence | None = None, progress: Progress | None = None
) -> Result:
    """From files to a posterior, validated. Writes nothing. Raises SteelyardError with a remedy.

    robot, logs: in the place of the files that the job names.
    """
    require_core()  # of the posterior; said before logs are read
    report = progress or (lambda stage, share: None)
    report("reading the model", 0.0)
    begun = begin(job, robot, logs, lambda stage, share: report(stage, 0.05 + 0.5 * share), _refuse)
    read = begun.prepared()
    seen = tuple(finding for each in read for finding in each.remaining), tuple(health_of(each) for each in read)
    require_motion([each.raw for each in read], job)
    report("accumulating information", 0.65)
    plan = begun.plan(read).decided(IDENTIFIED)
    report("fitting", 0.7)
    fitted = _fitted(plan)
    report("looking for faults", 0.8)
    diagnosis = diagnose(fitted.estimate, fitted.plan.logs)
    require_no_fatal(diagnosis.faults, job.accept)
    fatal = any(fault.severity == "fatal" for fault in diagnosis.faults)
    lost = [] if fatal else [fault for each in fitted.plan.read for fault in costs(fitted.estimate, each)]
    report("trying corrections", 0.85)
    worth, unworthy = tried(diagnosis.faults, fitted.plan, fitted.estimate)
    fitted = _obeyed(fitted, worth)
    worth = tuple(each for each in worth if each.options[:1] != (COUPLING,))  # is in the fit
    report("validating", 0.95)
    standing = standing_faults(begun.robot, fitted.plan.train) if fitted.plan.rows else ()
    findings = (*seen[0], *standing, *lost, *worth)
    result = _judged(begun, fitted, diagnosis, findings, (*diagnosis.hints, *unworthy), seen[1])
    report("done", 1.0)
    return result


def _refuse(job: Job, robot: Robot) -> None:
    layout_of(robot, **job.columns)
    order_of(job.smoother, None)
    require_acceptable(job.accept)


@dataclass(frozen=True, eq=False)
class _Fitted:
    """The fit to the training part of all logs."""

    plan: FitPlan
    by_log: dict[str, tuple[Information, ...]]  # sums of blocks, by log
    estimate: Estimate

    @cached_property
    def total(self) -> Information:
        return reduce(add, [block for own in self.by_log.values() for block in own])


def _fitted(plan: FitPlan, near: Estimate | None = None) -> _Fitted:
    estimate, blocks = posterior_of(plan.robot, plan.train, plan.fit, plan.options, near)
    return _Fitted(plan, dict(zip(_distinct(plan.job.logs), blocks, strict=True)), estimate)


def _obeyed(fitted: _Fitted, faults: Sequence[Fault]) -> _Fitted:
    """The fit with motors that joints share, and without stretches in which something else was carried or pushed, which
    links would take in: held-out samples ask for both."""
    plan, near = fitted.plan, fitted.estimate
    if shared := [each for each in faults if each.options[:1] == (COUPLING,)]:
        words = tuple(each.options[1] for each in shared)
        what = f"Friction and inertia of a motor of {' and of '.join(words)} stand beside those of each joint."
        made = Decision("coupling", what, " ".join(each.message for each in shared))
        job = replace(plan.job, coupling=(*plan.job.coupling, *words))
        plan, near = replace(plan, job=job, made=(*plan.made, made)), None
    if words := [each.options[1] for each in faults if each.options[:1] == (LEAVE_OUT,)]:
        made = Decision("left_out", f"Left out: {', '.join(words)} s.", "Something else was carried or pushed there.")
        plan = replace(plan.corrected(leave_out=words), made=(*plan.made, made))
    return fitted if plan is fitted.plan else _fitted(plan, near)


def _judged(
    begun: JobRun, fitted: _Fitted, diagnosis: Diagnosis, findings: tuple, notes: tuple, looked: tuple
) -> Result:
    """A posterior judged by held-out samples, that of all samples, and everything that is said of them."""
    plan, estimate = fitted.plan, fitted.estimate
    job, robot, rows = plan.job, plan.robot, plan.rows
    # twice the integrated autocorrelation, after which the residual of no joint is like itself any more, s
    memory = max((2 * each.time_constant for each in diagnosis.residuals), default=0.0)
    gaps = [each.memory + memory for each in plan.read]
    test = plan.held_out.judging([each.judged for each in plan.read], gaps)
    held = together(test)
    about = robot.with_inertias(estimate.theta)  # columns of nuisances are derivatives there
    tested = reduce(add, [accumulate(about, each, **plan.columns, **rows) for each in test])  # all samples alike
    after, reach = validate(estimate, held), generalization(estimate, fitted.by_log, tested)
    estimate = everything(robot, estimate, fitted.total, test, plan.fit, plan.options)
    intervals = posterior_uncertainty(estimate)
    scaled = job.drive_gains and not job.loads  # by the links of the file, whose errors no sample shows
    use = None if scaled else ordinary_use(robot, plan.train)
    expected = None
    if use is not None:
        expected = estimate.expected_error("given", use), estimate.expected_error("written", use)
    total, samples = fitted.total, sum(log.effective_samples for log in plan.train)
    written = nearest_plain(estimate, total)
    return Result(
        job=job,
        prior=robot,
        robot=estimate.require_robot().with_joint_properties(**written),
        estimate=estimate,
        uncertainty=intervals,
        before=validate(robot, held, rotors=job.rotors, **rows),
        after=after,
        held_out=held,
        diagnosis=diagnosis,
        generalization=reach,
        findings=findings,
        decided=plan.made,
        notes=(*robot.notes, *begun.said, *(note for each in plan.read for note in each.log.notes), *notes),
        narrowing=narrowing(robot, intervals, samples, plan.columns),
        log_names=tuple(Path(path).name for path in job.logs),
        health=looked,
        expected=expected,
        nearest={name: x - getattr(estimate.require_robot(), name) for name, x in written.items()},
        torque_of=np.sqrt(np.diag(total.base.squares.weighted(np.ones(len(total.energy)))) / total.energy.sum()),
    )


def _distinct(paths: Sequence[str]) -> list[str]:
    """File names of logs, with the folders of those that share a name."""
    names = [Path(path).name for path in paths]
    return [path if names.count(name) > 1 else name for path, name in zip(paths, names, strict=True)]


def health_of(log: Prepared) -> Inspection:
    """How a log is as it was recorded."""
    own = spectral_cutoff(log.raw, log.findings)
    return health(log.raw, findings=log.findings, ready=log.filtered, cutoff=own)


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
