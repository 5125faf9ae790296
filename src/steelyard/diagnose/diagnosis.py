"""The whole diagnosis of a run: faults by name, and the residuals."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.cards import Card
from steelyard.diagnose.case import Case, case_of, thinned, thinning
from steelyard.diagnose.faults import Fault, fault
from steelyard.diagnose.hypotheses import gravity_compensated, gravity_law, model_torque, nominal_model
from steelyard.diagnose.joint_residuals import JointResidual, analyse
from steelyard.diagnose.misreadings import likely
from steelyard.diagnose.search import LEFT, MATTERS, explained, search_faults, unphysical
from steelyard.diagnose.thresholds import OTHER, POOR
from steelyard.diagnose.torque_contributions import Contributions, contributions
from steelyard.fit import Estimate, validate
from steelyard.log import Log

LARGE = {"x": 0.2, "y": 0.2, "zero": 0.2, "gain": 0.5, "spring": np.inf}  # of mistakes, too much for a derivative
ALL_OTHER = 2.0  # lambda of all links together, below which they are hardly the file's: 2.9 and more on healthy logs


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(Card):
    """faults: by name, in the order of what they explain. residuals: of each degree, once these are undone.

    contributions: to the torque that the estimate predicts. Both are those of up to 1500 samples, spread over all logs.
    """

    faults: tuple[Fault, ...]
    residuals: tuple[JointResidual, ...]
    contributions: Contributions

    def _title(self) -> str:
        return f"Diagnosis({len(self.faults)} faults)" if self.faults else "Diagnosis(no faults found)"

    def _rows(self):
        return {fault.code: fault.message for fault in self.faults} | {"hints": self.hints or None}

    @property
    def hints(self) -> tuple[str, ...]:
        """What residuals depend on, in words, the worst joint first."""
        return tuple(hint for each in sorted(self.residuals, key=lambda r: -r.relative) for hint in each.hints)


def diagnose(estimate: Estimate, logs: Log | Sequence[Log], *, case: Case | None = None) -> Diagnosis:
    """Name what is wrong with a model or with logs.

    logs: with q, v, a and tau, filtered alike (`filters.differentiate`); those that were fitted, held-out parts
    included; how many samples are looked at follows from their `effective_samples`. case: of just these, where it was
    made already. Of robots with closed loops, and of logs with contacts or wrenches from outside, only contributions
    are found; faults are not looked for. Raises FitError for an estimate without a robot, LogError for missing
    channels.
    """
    logs = (logs,) if isinstance(logs, Log) else tuple(logs)
    if estimate.require_robot().loops or any(log.contacts or log.external for log in logs):
        few = thinned(logs, thinning(estimate, logs))
        return Diagnosis((), (), contributions(estimate, few))
    case = case_of(estimate, logs) if case is None else case
    few = thinned(logs, thinning(estimate, logs))
    near = likely(case) if estimate.weighed is None else _explained(estimate, few)
    named, undone, doubted = _named(case, gross=not near)
    left, error = _left(estimate, few, undone)
    driven = not any(each.code == gravity_law.CODE for each in named)
    lacking = _model_class(undone, left, error, doubted) if driven else ()
    return Diagnosis((*named, *lacking), left, contributions(estimate, few))


def _left(estimate: Estimate, few: Log, undone: Case) -> tuple[tuple[JointResidual, ...], float]:
    """Residuals and their share of the torque: of the estimate, or of a fit with mistakes undone, where there are."""
    if undone.repairs or estimate.weighed is None:
        motion = undone.regression.q, undone.regression.v, undone.regression.a
        return analyse(undone.robot, motion, undone.tau, undone.error, undone.interval), undone.relative_error
    found = validate(estimate, few)
    motion = few.require("q", "v", "a")
    error = found.error if found.weights is None else found.error * (found.weights > 0)
    return analyse(estimate.require_robot(), motion, found.measured, error, undone.interval), found.relative_error


def _explained(estimate: Estimate, few: Log) -> bool:
    """Whether a posterior explains the torques by links that are near those of the file: a gross mistake of a log
    leaves more, or makes links other bodies."""
    scales = [estimate.scales[name] for name in estimate.layout.bodies]
    if min(scales) < OTHER or np.mean(np.log(scales)) < np.log(ALL_OTHER):
        return False
    if any(abs(each.value) > LARGE[name.split(".")[-1]] for name, each in estimate.nuisances.items()):
        return False
    return validate(estimate, few).relative_error < POOR


def imitated(estimate: Estimate, bodies: Sequence[str]) -> bool:
    """Whether links, or gains of most joints, imitate something else: most are other than those of the file."""
    scales = [estimate.scales[name] for name in bodies]
    gains = [abs(each.value) for name, each in estimate.nuisances.items() if name.endswith(".gain")]
    return bool(np.median(scales) < OTHER or (gains and np.median(gains) > LARGE["gain"]))


def _named(case: Case, *, gross: bool = True) -> tuple[tuple[Fault, ...], Case, Fault | None]:
    """Faults that have a name, the case with all but loads undone, and a cause that explains too little to be named."""
    if (law := gravity_law.find(case)) is not None:
        return (law,), case, None
    searched = search_faults(case, gross=gross)
    named, undone = gravity_compensated.explained(case, searched.faults, searched.case)
    return (*named, *nominal_model.load(undone), *model_torque.found(undone)), undone, searched.doubted


def _model_class(
    case: Case, left: Sequence[JointResidual], error: float, doubted: Fault | None = None
) -> Iterator[Fault]:
    """Faults of the whole model class. left: residuals of the posterior, whose share of the torque is `error`; doubted:
    a cause that explains too little to be named."""
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
