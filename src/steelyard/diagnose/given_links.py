"""The torque that the links of the given model leave when only friction and armature of the drives may be fitted.

A fit of all parameters imitates mistakes of a log: links of half their mass take the place of gravity that a controller
subtracted. The given links cannot, so a mistake whose correction makes them fit is believed, however well other links
fit the log as it is. Constant torques are left out: about one pose they take the place of gravity.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.diagnose.case import Case
from steelyard.fit.linear import RANK, nonnegative_least_squares
from steelyard.terms import TERMS

LEAST = 1e-14  # of a joint's energy: rounding
POOR = 0.4  # share of the torque that the given links leave, above which mistakes are more likely than wrong links
FAIR, FAIR_JOINT = 0.08, 0.2  # the same, of all and of the worst joint, above which gravity of others is looked for
SPOILS = 1.25  # times as much, and MORE of the torque: what no correction of a mistake does to links that fit
MORE = 0.01


@dataclass(frozen=True, eq=False)
class GivenLinks:
    """What the links of a case's robot leave. regression and target are those of the case."""

    case: Case

    @cached_property
    def torque(self) -> np.ndarray:
        """(nv, n) of the links, 0 where torque is not to be believed."""
        return self.case.regression.torque(self.case.robot).T * self.case.regression.believed

    @cached_property
    def gravity(self) -> np.ndarray:
        """(nv, n) the part of it at rest."""
        return self.case.regression.still.torque(self.case.robot).T * self.case.regression.believed

    @cached_property
    def drives(self) -> np.ndarray:
        """(nv, n, k) torque per unit of the terms that cannot be negative, 0 for degrees without a motor."""
        case = self.case
        terms = [name for name, term in TERMS.items() if term.nonnegative and name in case.layout.terms]
        columns = np.zeros((case.robot.nv, len(case), len(terms)))
        for place, name in enumerate(terms):
            own = case.regression.effect(name).T * case.regression.believed
            columns[list(case.dofs), :, place] = own[list(case.dofs)]
        return columns

    @cached_property
    def energy(self) -> np.ndarray:
        """(nv,) sum of squared residuals."""
        whole = self.case.energy
        _, left = nonnegative_least_squares(self.drives, self.case.target - self.torque)
        return np.maximum(left, LEAST * np.maximum(whole, LEAST * max(whole.max(initial=0.0), 1e-300)))

    @cached_property
    def relative(self) -> np.ndarray:
        """(nv,) residual over the torque of each degree; 0 where there is no torque."""
        return self.case.shares(self.energy)

    @property
    def relative_error(self) -> float:
        """The same of all degrees that measure torque together."""
        return self.case.share(self.energy)

    @cached_property
    def any_factor(self) -> tuple[np.ndarray, np.ndarray]:
        """(nv,) factor of each joint's torque at which its links leave least, of any sign, and what is then left."""
        factor, left = np.ones(self.case.robot.nv), self.case.energy.copy()
        for dof in self.case.dofs:
            columns = np.column_stack([self.torque[dof], self.drives[dof]])
            found = np.linalg.lstsq(columns, self.case.target[dof], rcond=RANK)[0]
            left[dof], factor[dof] = np.sum((self.case.target[dof] - columns @ found) ** 2), found[0]
        return factor, np.maximum(left, LEAST * max(self.case.energy.max(initial=0.0), 1e-300))

    @property
    def fair(self) -> bool:
        """Whether they fit so well that no gross mistake can be in the log."""
        return self.relative_error < FAIR and self.relative.max(initial=0.0) < FAIR_JOINT

    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """(nv,) by which the log's torques exceed those of the links, joint by joint, and standard deviations.

        Gravity says it, as inertia may be of a drive. NaN where a joint does not feel gravity. Samples count for as
        many as are independent.
        """
        case = self.case
        factor, deviation = np.full((2, case.robot.nv), np.nan)
        for dof in case.dofs:
            moved = self.torque[dof] - self.gravity[dof]
            columns = np.column_stack([self.gravity[dof], moved, self.drives[dof]])
            size = np.linalg.norm(columns, axis=0)
            if size[0] <= RANK * size.max(initial=0.0) or not case.energy[dof]:
                continue
            kept = size > 0
            unit = columns[:, kept] / size[kept]
            found, _, rank, _ = np.linalg.lstsq(unit, case.target[dof], rcond=RANK)
            if rank < unit.shape[1]:
                continue
            left = case.target[dof] - unit @ found
            freedom = max(1.0, len(case) * case.independence - unit.shape[1])
            spread = np.linalg.inv(unit.T @ unit)[0, 0] * (left @ left) / freedom
            factor[dof], deviation[dof] = found[0] / size[0], np.sqrt(spread) / size[0]
        return factor, deviation


def spoils(case: Case, changed: Case) -> bool:
    """Whether a correction of what a fit calls a mistake makes the given links fit worse. Where they fit well enough to
    be asked, it then is friction or a lacking model that other links take for the mistake."""
    before = GivenLinks(case).relative_error
    return before < POOR and GivenLinks(changed).relative_error > SPOILS * before + MORE
