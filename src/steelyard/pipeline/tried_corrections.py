"""What would make a fit better: corrections and further friction, tried before they are recommended.

Each correction that a diagnosis asks for is made, the model is fitted again to the training part of the logs, and its
torque error on the held-out part is compared with that of the logs as they are; the same with links as given, which
imitate no mistake. A correction that takes little off both is no advice, however certain its figure: residuals of
simulations show delays of half a time step.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from steelyard.corrections import Corrections, corrections_from
from steelyard.diagnose import Fault
from steelyard.diagnose.faults import fault
from steelyard.errors import FitError, OptionError, SteelyardError, choices
from steelyard.fit import Estimate, Validation, drives_alone, friction, validate
from steelyard.fit.friction_terms import FrictionFit
from steelyard.information import Information, accumulate
from steelyard.job import FRICTION, Job
from steelyard.log import Log, joined, split_blocks
from steelyard.model import Robot
from steelyard.prepare.undo import corrected
from steelyard.terms import CHOSEN_FRICTION, TERMS, friction_terms

FURTHER_FRICTION, LEFT_OUT = "further_friction", "friction_left_out"
SAVES = 0.9  # held-out error with these terms over that without, below which they are worth a finding
NOTICEABLE = 0.01  # held-out error over torque, below which no friction is looked for
LARGEST = 12  # degrees of freedom, up to which looking takes about as long as a fit


def columns_of(job: Job, robot: Robot, logs: Sequence[Log]) -> tuple[dict, tuple[str, ...]]:
    """The options of `accumulate` that say what is estimated, with friction that these logs show, and notes on that."""
    by_default = job.friction is None
    if not job.chosen_friction or (by_default and not _may_be_looked_for(robot, logs)):
        return job.columns, ()
    if any(log.contacts for log in logs):
        raise OptionError(
            f"--friction {','.join(job.chosen_friction)} is for robots that touch nothing. Leave it out where feet do."
        )
    try:
        found = _found(job, robot, logs, job.chosen_friction, least=NOTICEABLE if by_default else 0.0)
    except FitError:
        if by_default:
            return job.columns, ()
        raise
    if by_default and found.error > SAVES * found.plain_error:
        return job.columns, ()
    error = f"held-out error {found.error:.2%}, {found.plain_error:.2%} without"
    kept = f"beyond Coulomb and viscous: {_where(found)}" if found.columns else "no joint has more than was fitted"
    return job.columns | {"extra": found.columns}, (f"Friction by cross-validation, {kept}; {error}.",)


def further_friction(job: Job, robot: Robot, logs: Sequence[Log], error: float) -> tuple[Fault, ...]:
    """That friction near standstill or by load, which an option left out, predicts held-out torques better.

    logs: as fitted. error: held-out, over torque.
    """
    if job.chosen_friction or error < NOTICEABLE or not job.plain_friction or not _may_be_looked_for(robot, logs):
        return ()
    try:
        found = _found(job, robot, logs, CHOSEN_FRICTION)
    except FitError:
        return ()
    if found.error > SAVES * found.plain_error:
        return ()
    said = (
        f"Friction is more than Coulomb and viscous, at {_where(found)}: with it, held-out torques are predicted to "
        f"{found.error:.2%} instead of {found.plain_error:.2%}, and links get no blame for it."
    )
    return (fault(FURTHER_FRICTION, said, options=["--friction", ",".join((*job.plain_friction, *CHOSEN_FRICTION))]),)


def friction_left_out(
    job: Job,
    robot: Robot,
    logs: Sequence[Log],
    fit: Callable[[Information], Estimate],
    columns: Mapping[str, Any],
    rows: Mapping[str, Any],
) -> tuple[Fault, ...]:
    """That friction which is fitted by default, and was not, predicts held-out torques better: tried before corrections
    that may imitate it.

    logs: that were fitted, filtered. fit, columns, rows: as of `judge`.
    """
    fitted = job.plain_friction
    missing = [term for term in FRICTION if term not in fitted and TERMS[term].odd]  # constants imitate gravity
    if not missing:
        return ()
    terms = tuple(term for term in friction_terms() if term in (*fitted, *FRICTION))
    judges = (
        judge(robot, fit, validation=job.validation, columns=each, rows=rows)
        for each in (columns, {**columns, "friction": terms})
    )
    try:
        before, after = (judged(logs)[0].relative_error for judged in judges)
    except SteelyardError:  # no fit with it: nothing can be said of it
        return ()
    if after > SAVES * before:
        return ()
    said = (
        f"Friction was left out ({choices(missing)}): with it, held-out torques are predicted to {after:.2%} instead "
        f"of {before:.2%}. Until it is fitted, no other cause that residuals suggest can be believed."
    )
    return (fault(LEFT_OUT, said, options=["--friction", ",".join((*terms, *job.chosen_friction))]),)


def _may_be_looked_for(robot: Robot, logs: Sequence[Log]) -> bool:
    """Whether further friction takes no longer to find than a fit, and nothing else passes for it."""
    return robot.nv <= LARGEST and not robot.floating and not any(log.contacts for log in logs)


def _found(job: Job, robot: Robot, logs: Sequence[Log], terms: Sequence[str], **options) -> FrictionFit:
    return friction(robot, logs, terms=terms, fit="least_squares", **job.columns, **options)


def _where(found: FrictionFit) -> str:
    """Joints with terms that were kept."""
    names = {
        "near standstill": [each.name for each in found.joints if each.stribeck is not None],
        "by load": [each.name for each in found.joints if each.load is not None],
    }
    return "; ".join(f"{choices(joints)} ({how})" for how, joints in names.items() if joints)


TRIED = (
    "delay",
    "offset",
    "scale",
    "leave_out",
)  # corrections of a log that is read already; others change robot or columns
VISIBLE = 0.005  # torque error over torque below which no drive tells: logs of simulations show mistakes below it
REAL = 0.05  # share of the held-out torque error, of the joint or of all, that a correction must take off
REAL_OF_GIVEN = 0.3  # the same of links as given, whose errors are of many causes
Judge = Callable[[Sequence[Log]], tuple[Validation, Validation]]


def judge(
    robot: Robot,
    fit: Callable[[Information], Estimate],
    *,
    validation: float = Job.validation,
    columns: Mapping[str, Any],
    rows: Mapping[str, Any] = MappingProxyType({}),
) -> Judge:
    """A judge of logs. validation: share of each log that is held out. columns, rows: options of `accumulate`, and
    further ones that `validate` shares."""

    def judged(logs: Sequence[Log]) -> tuple[Validation, Validation]:
        halves = [split_blocks(log, validation=validation) for log in logs]
        sums = accumulate(robot, [half for half, _ in halves], **columns, **rows)
        rest = joined([other for _, other in halves], name="held-out samples")
        return validate(fit(sums), rest, **rows), validate(drives_alone(sums, constants=False), rest, **rows)

    return judged


def noticeable(faults: Sequence[Fault], left: float) -> tuple[Fault, ...]:
    """Faults whose undoing a user would notice: options that mend a log take no more off than it leaves. left: torque
    error over torque. The others are in the diagnosis."""
    return tuple(fault for fault in faults if left > VISIBLE or fault.severity == "fatal" or not fault.options)


def tried(
    robot: Robot, logs: Sequence[Log], faults: Sequence[Fault], judged: Judge
) -> tuple[tuple[Fault, ...], tuple[str, ...]]:
    """Faults whose correction is worth making, and notes on those whose is not.

    robot: as fitted. logs: that were fitted, filtered. judged: fits to the training part of such logs and validates on
    the rest: everything, and friction and drives beside links as given, without constant torques. Corrections that are
    worth making stay for the next to be tried.
    """
    kept, notes, before, now = [], [], None, list(logs)
    for named in faults:
        correction = _correction(named)
        if correction is None:
            kept.append(named)
            continue
        before = judged(now) if before is None else before
        try:
            mended = [corrected(robot, log, correction) for log in now]
            after = judged(mended)
        except SteelyardError:  # no such correction can be made: the figure is none of a mistake
            notes.append(f"Not recommended: {' '.join(named.options)}, which cannot be tried on this log.")
            continue
        (old, new), (rigid, better) = (_errors(*pair, named) for pair in zip(before, after, strict=True))
        said = f"{' '.join(named.options)} takes the torque error on held-out samples from"
        if new > (1 - REAL) * old and better > (1 - REAL_OF_GIVEN) * rigid:
            notes.append(f"Not recommended: {said} {old:.2%} to {new:.2%}.")
            continue
        told = f"{old:.2%} to {new:.2%}" if new <= (1 - REAL) * old else f"{rigid:.2%} to {better:.2%}, links as given"
        kept.append(replace(named, message=f"{named.message} Tried: {said} {told}."))
        before, now = after, mended
    return tuple(kept), tuple(notes)


def _correction(fault: Fault) -> Corrections | None:
    """What the options of a fault undo, None for what is not tried here."""
    option, *words = fault.options or ("",)
    name = option.removeprefix("--").replace("-", "_")
    return corrections_from({name: words}) if name in TRIED and fault.severity != "fatal" else None


def _errors(before: Validation, after: Validation, fault: Fault) -> tuple[float, float]:
    """Relative torque errors before and after, of all joints or of the fault's, whichever fell more."""
    pairs = [(before.relative_error, after.relative_error)]
    if fault.joint in before.joint_names:
        own = before.joint_names.index(fault.joint)
        pairs.append((float(before.relative[own]), float(after.relative[own])))
    return min(pairs, key=lambda pair: pair[1] / pair[0])
