"""Friction beyond Coulomb and viscous: columns of a job that asks for it, and a finding where a job had better ask."""

from collections.abc import Sequence

from steelyard.diagnose import Fault, fault
from steelyard.errors import FitError, OptionError, choices
from steelyard.fit import FrictionFit, friction
from steelyard.job import Job
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.terms import CHOSEN_FRICTION

FURTHER_FRICTION = "further_friction"
SAVES = 0.9  # held-out error with these terms over that without, below which they are worth a finding
NOTICEABLE = 0.01  # held-out error over torque, below which no friction is looked for
LARGEST = 12  # degrees of freedom, up to which looking takes about as long as a fit


def columns_of(job: Job, robot: Robot, logs: Sequence[Log]) -> tuple[dict, tuple[str, ...]]:
    """The options of `accumulate` that say what is estimated, with friction that these logs show, and notes on that."""
    if not job.chosen_friction:
        return job.columns, ()
    if any(log.contacts for log in logs):
        raise OptionError(
            f"--friction {','.join(job.chosen_friction)} is for robots that touch nothing. Leave it out where feet do."
        )
    found = _found(job, robot, logs, job.chosen_friction)
    error = f"held-out error {found.error:.2%}, {found.plain_error:.2%} without"
    kept = f"beyond Coulomb and viscous: {_where(found)}" if found.columns else "no joint has more than was fitted"
    return job.columns | {"extra": found.columns}, (f"Friction by cross-validation, {kept}; {error}.",)


def further_friction(job: Job, robot: Robot, logs: Sequence[Log], error: float) -> tuple[Fault, ...]:
    """That friction near standstill or by load predicts held-out torques better, where it was tried and does.

    logs: as fitted. error: held-out, over torque.
    """
    if job.chosen_friction or error < NOTICEABLE or robot.nv > LARGEST or robot.floating or not job.friction:
        return ()
    if any(log.contacts for log in logs):
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
    return (fault(FURTHER_FRICTION, said, options=["--friction", ",".join((*job.friction, *CHOSEN_FRICTION))]),)


def _found(job: Job, robot: Robot, logs: Sequence[Log], terms: Sequence[str]) -> FrictionFit:
    return friction(robot, logs, terms=terms, fit="least_squares", **job.columns)


def _where(found: FrictionFit) -> str:
    """Joints with terms that were kept."""
    names = {
        "near standstill": [each.name for each in found.joints if each.stribeck is not None],
        "by load": [each.name for each in found.joints if each.load is not None],
    }
    return "; ".join(f"{choices(joints)} ({how})" for how, joints in names.items() if joints)
