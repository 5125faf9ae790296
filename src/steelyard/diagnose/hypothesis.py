"""A mistake that may have been made, and the same data with it undone."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.diagnose.added_columns import persistence
from steelyard.diagnose.case import Case, gain
from steelyard.diagnose.faults import Fault
from steelyard.diagnose.thresholds import EVIDENCE


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """fault: what to say if it is true. case: the mistake undone. before, after: (nv,) residual energies of a fit with
    the mistake and without; left: (n, nv) what the latter leaves.

    more: further faults undone with it. surprise: nats that figures of such a size cost before any data is looked at.
    given: whether it makes links those of the given model.
    """

    fault: Fault
    case: Case
    before: np.ndarray
    after: np.ndarray
    left: np.ndarray
    more: tuple[Fault, ...] = ()
    surprise: float = 0.0
    given: bool = False

    @cached_property
    def gain(self) -> float:
        """Log-likelihood won per independent sample."""
        return gain(self.before, self.after)

    @cached_property
    def evidence(self) -> float:
        """Log-likelihood won in all, nats, less the surprise. Where what is left of a joint lasts longer than noise, it
        is something that the model still lacks, and samples count for as many as are independent of it."""
        if not (np.isfinite(self.before).all() and np.isfinite(self.after).all()):
            return self.gain
        counts = len(self.case) * self.case.independence / persistence(self.case, self.left.T)
        return 0.5 * float(counts @ (np.log(self.before) - np.log(self.after))) - self.surprise

    def wins(self, least: float) -> bool:
        """Whether it wins so many nats an independent sample, and evidence that noise alone does not."""
        return self.gain > least and self.evidence > EVIDENCE

    @property
    def own_share(self) -> float:
        """Share of its joint's unexplained energy that remains, by the fits that judge it."""
        dof = self.case.robot.dof_names.index(self.fault.joint)
        return float(self.after[dof] / self.before[dof])


def free_hypothesis(case: Case, changed: Case, told: Fault, **options) -> Hypothesis:
    """A hypothesis judged by fits free of physics. options: of `Hypothesis`."""
    return Hypothesis(told, changed, case.free_energy, changed.free_energy, changed.free_error, **options)


def surprise(figures, usual: float) -> float:
    """Nats that figures (m,) cost before any data: of a normal distribution with a usual size, beside its centre."""
    return 0.5 * float(np.sum((np.asarray(figures) / usual) ** 2))


def remaining_share(cause: Fault, case: Case, undone: Case) -> float:
    """Share of what physical links leave unexplained that remains once a cause is undone: of its joint, or of all.

    Of all in N m, or as shares of each joint's own torque: exchanged wrists hide in the noise of a shoulder.
    """
    if cause.joint is not None:
        dof = case.robot.dof_names.index(cause.joint)
        return float((undone.relative[dof] / case.relative[dof]) ** 2)
    shares = np.linalg.norm(undone.relative) / np.linalg.norm(case.relative)
    return float(min(shares, undone.relative_error / case.relative_error) ** 2)
