"""Faults of the model class, once every mistake with a name is undone: missing physics."""

from collections.abc import Iterator, Sequence

from steelyard.diagnose.case import Case
from steelyard.diagnose.faults import Fault, fault
from steelyard.diagnose.joint_residuals import JointResidual
from steelyard.diagnose.search import LEFT, MATTERS, explained, unphysical


def model_class_faults(
    case: Case, left: Sequence[JointResidual], error: float, doubted: Fault | None = None
) -> Iterator[Fault]:
    """Faults of the whole model class. left: residuals of the posterior, whose share of the torque is `error`; doubted:
    a     cause that explains too little to be named."""
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
    elif error > MATTERS and unphysical(case):
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
