"""Faults of the model class, once every mistake with a name is undone: sticking joints, missing physics."""

from collections.abc import Iterator, Sequence

from steelyard.diagnose.case import Case
from steelyard.diagnose.faults import Fault, fault
from steelyard.diagnose.joint_residuals import JointResidual
from steelyard.diagnose.search import LEFT, explained, unphysical

STICKING = 3.0  # RMS error near reversals over that elsewhere
STICKING_MATTERS = 0.05  # error over torque of a joint, below which the same is no harm


def model_class_faults(case: Case, left: Sequence[JointResidual], doubted: Fault | None = None) -> Iterator[Fault]:
    """Faults of friction, and of the whole model class. left: residuals of the case's physical fit; doubted: a cause
    that explains too little to be named."""
    yield from _sticking(left)
    error = case.relative_error
    free = case.share(case.free_energy)
    if error > LEFT and not explained(case):
        longest = max(each.time_constant for each in left)
        yield fault(
            "model_class",
            f"Not explained: rigid links with this friction leave {error:.0%} of the torque, {free:.0%} even without "
            f"physical constraints, and the residual is no noise (it stays correlated for up to {longest:.2g} s)."
            f"{_doubt(doubted)}{_hint(left)}",
            relative_error=error,
            relative_error_free=free,
            time_constant_s=longest,
        )
    elif unphysical(case):
        yield fault(
            "not_physical",
            f"Least squares leaves {free:.1%} of the torque, physical links {error:.1%}: the data wants links that "
            f"cannot exist, such as negative masses.{_doubt(doubted)}{_hint(left)}",
            relative_error=error,
            relative_error_free=free,
            gap=case.gap,
        )


def _doubt(cause: Fault | None) -> str:
    if cause is None:
        return ""
    what = cause.code.replace("_", " ") + ("" if cause.joint is None else f" of {cause.joint}")
    return f" Of the causes with a name, {what} explains most, but too little to be the cause."


def _hint(left: Sequence[JointResidual]) -> str:
    hints = max(left, key=lambda each: each.relative).hints
    return f" {hints[0]}" if hints else ""


def _sticking(left: Sequence[JointResidual]) -> Iterator[Fault]:
    """Joints whose friction at standstill is another than smoothed Coulomb friction."""
    for each in left:
        if each.reversal is not None and each.reversal > STICKING and each.relative > STICKING_MATTERS:
            yield fault(
                "reversal_friction",
                f"The torque error of {each.joint} is {each.reversal:.1f} times larger at standstill and reversals "
                "than elsewhere: stiction, backlash or a noisy speed.",
                joint=each.joint,
                ratio=each.reversal,
                relative_error=each.relative,
            )
