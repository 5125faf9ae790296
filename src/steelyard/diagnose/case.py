"""Logs as a small regression, and the same logs with one mistake undone.

Low-pass filtered signals change slowly, so a few hundred samples hold what a whole log says about a fault. Every
hypothesis is a `Case` made from another: its fit is compared with the fit of the case before.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.diagnose.regression import Regression
from steelyard.diagnose.thresholds import RANK
from steelyard.diagnose.torque_curves import Curves
from steelyard.dynamics.effects import leaned
from steelyard.errors import FitError
from steelyard.fit import Estimate, weigh_by_noise
from steelyard.fit.cone_program import consistent_parameters
from steelyard.fit.whitening import whiten
from steelyard.information import Information
from steelyard.information.regression_rows import direction_of
from steelyard.log import Log, joined
from steelyard.log.log import independence_of
from steelyard.model import Robot
from steelyard.terms import ParameterLayout

SAMPLES = 1500  # at most, of all logs together
NUMBERS = 1_500_000  # in the regression at most: fewer samples for a humanoid
FEWEST = 250  # samples all the same
OVERSAMPLING = 2.0  # samples kept for each independent one


@dataclass(frozen=True, eq=False)
class Case:
    """Samples of logs, and the regression that should explain them.

    measured: torques of joints as curves over time. delay: (nv,) s by which they come late; added: (n, nv) torque to
    add after that.
    independence: share of the samples that is independent of its neighbours. interval: s between them. stamps: name
    of each log and times of its samples, s. repairs: codes of the mistakes undone.
    """

    regression: Regression
    measured: Curves
    delay: np.ndarray
    independence: float
    interval: float
    stamps: tuple[tuple[str, np.ndarray], ...]
    added: np.ndarray | float = 0.0
    repairs: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.regression)

    @property
    def robot(self) -> Robot:
        return self.regression.robot

    @property
    def layout(self) -> ParameterLayout:
        return self.regression.layout

    @property
    def dofs(self) -> tuple[int, ...]:
        """Degrees that a motor drives: those of a free base have no torque of their own to be wrong."""
        return self.layout.dofs

    def undone(self, code: str, *, delay=None, mixed=None, added=None, **changes) -> "Case":
        """The same samples with one mistake undone. mixed: (nv, nv) that makes torques of joints of those that are
        there. changes: of the regression (robot, layout, motion)."""
        own = self.added if added is None else added
        return replace(
            self,
            regression=replace(self.regression, **changes) if changes else self.regression,
            measured=self.measured if mixed is None else self.measured.mixed(mixed),
            delay=self.delay if delay is None else delay,
            added=own @ mixed.T if mixed is not None and isinstance(own, np.ndarray) else own,
            repairs=(*self.repairs, code),
        )

    def every(self, step: int) -> "Case":
        """The same of every `step`-th sample."""
        if step < 2:
            return self
        own, n = self.regression, len(self)
        motion = {key: getattr(own, key)[::step] for key in ("q", "v", "a", "direction")}
        believed = own.believed[:, ::step] if own.believed.shape[1] == n else own.believed
        return replace(
            self,
            regression=replace(own, **motion, believed=believed),
            measured=self.measured.every(step),
            independence=min(1.0, self.independence * step),
            interval=self.interval * step,
            added=self.added[::step] if isinstance(self.added, np.ndarray) else self.added,
        )

    @cached_property
    def tau(self) -> np.ndarray:
        """(n, nv) torque of joints, delays undone."""
        return self.measured.at(self.delay) + self.added

    @cached_property
    def tau_rate(self) -> np.ndarray:
        """(n, nv) its rate of change, N m/s."""
        return self.measured.at(self.delay, derivative=1)

    @cached_property
    def target(self) -> np.ndarray:
        """(nv, n) torque that the columns are to explain; 0 where it is not to be believed."""
        return (self.tau - self.regression.known).T * self.regression.believed

    @cached_property
    def energy(self) -> np.ndarray:
        """(nv,) sum of squares of what the columns are to explain."""
        return np.sum(self.target**2, axis=1)

    @cached_property
    def information(self) -> Information:
        return Information(
            squares=self.regression.squares,
            moment=self.regression.moment(self.target),
            energy=self.energy,
            counts=np.broadcast_to(np.sum(self.regression.believed * np.ones((1, len(self))), axis=1), self.robot.nv),
            weights=np.ones(self.robot.nv),
            columns=self.regression.basis.columns,
            group_names=self.robot.dof_names,
            layout=self.layout,
            basis=self.regression.basis,
            robot=self.robot,
            coulomb_width=self.regression.coulomb_width,
            independence=self.independence,
        )

    @cached_property
    def free(self) -> tuple[np.ndarray, np.ndarray]:
        """Base parameters (r,) of the best fit without physical constraints, and noise (nv,)."""
        weighted, noise = weigh_by_noise(self.information)
        return whiten(weighted).solve(), noise

    @cached_property
    def free_energy(self) -> np.ndarray:
        """(nv,) sum of squared residuals of the free fit."""
        return self._energy(self.free[0])

    @cached_property
    def physical(self) -> np.ndarray | None:
        """(p,) parameters of the physically consistent fit; None where none is found, as of wrong hypotheses."""
        try:
            return consistent_parameters(self.information)
        except FitError:
            return None

    @property
    def physical_base(self) -> np.ndarray:
        """(r,) base parameters of the physically consistent fit."""
        return self.regression.basis.regroup(self.physical)

    @cached_property
    def physical_energy(self) -> np.ndarray:
        """(nv,) sum of squared residuals of the physically consistent fit; infinite where there is none."""
        return np.full(self.robot.nv, np.inf) if self.physical is None else self._energy(self.physical_base)

    def _energy(self, base) -> np.ndarray:
        energy = self.information.energy
        least = 1e-14 * np.maximum(energy, 1e-14 * max(energy.max(initial=0.0), 1e-300))  # what rounding leaves
        return np.maximum(self.information.residual_energy(base), least)

    @property
    def relative(self) -> np.ndarray:
        """(nv,) residual of the physical fit over the torque of each degree; 0 where there is no torque."""
        return self.shares(self.physical_energy)

    @property
    def relative_error(self) -> float:
        """The same of all degrees together."""
        return self.share(self.physical_energy)

    def shares(self, left) -> np.ndarray:
        """(nv,) what a fit leaves, energies (nv,), over the torque of each degree; 0 where there is no torque."""
        return np.sqrt(np.divide(left, self.energy, out=np.zeros_like(self.energy), where=self.energy > 0))

    def share(self, left) -> float:
        """What a fit leaves, energies (nv,), over the torque of all degrees that measure any."""
        energy = self.information.energy
        return float(np.sqrt(left[energy > 0].sum() / energy.sum()))

    @property
    def gap(self) -> float:
        """Log-likelihood per independent sample that physical consistency costs, beyond what noise alone explains.

        A free parameter wins half a nat by fitting noise. With more of them than independent samples a free fit follows
        the noise at will, and that is taken off; with fewer, the bodies of a right model are all possible, it costs
        nothing, and taking it off would hide mistakes of light links.
        """
        count, samples = self.information.basis.count, len(self) * self.independence
        noise = count / (2 * samples) if count > samples else 0.0
        return gain(self.physical_energy, self.free_energy) - noise

    @property
    def error(self) -> np.ndarray:
        """(n, nv) torque that the physical fit leaves."""
        base = self.free[0] if self.physical is None else self.physical_base
        return (self.target - self.regression.predicted(base)).T

    @property
    def free_error(self) -> np.ndarray:
        """(n, nv) torque that the fit without physical constraints leaves."""
        return (self.target - self.regression.predicted(self.free[0])).T

    @cached_property
    def space(self) -> np.ndarray:
        """(nv n, k) orthonormal basis of what the free fit can explain, rows weighted by the noise of their degree.

        Each degree has few of the columns: its rows are first reduced to a triangle of their own.
        """
        r, noise = self.regression.basis.count, self.free[1]
        rows = [y / deviation for (_, y), deviation in zip(self.regression.own, noise, strict=True)]
        places = [each for each, _ in self.regression.own]
        size = np.zeros(r)
        for at, y in zip(places, rows, strict=True):
            size[at] += np.sum(y**2, axis=0)
        scale = 1 / np.sqrt(np.where(size > 0, size, 1.0))
        triangles = []
        for at, y in zip(places, rows, strict=True):
            small = np.linalg.qr(y * scale[at], mode="r")
            triangles.append(np.zeros((len(small), r)))
            triangles[-1][:, at] = small
        _, s, axes = np.linalg.svd(np.linalg.qr(np.concatenate(triangles), mode="r"), full_matrices=False)
        kept = s > RANK * s[0]
        explained = scale[:, None] * axes[kept].T / s[kept]
        return np.concatenate([y @ explained[at] for at, y in zip(places, rows, strict=True)])

    def explained(self, space=None) -> np.ndarray:
        """(k,) weighted torque in the coordinates of a space, by default that of the free fit."""
        return self._explained if space is None else space.T @ self.weighted(self.target)

    @cached_property
    def _explained(self) -> np.ndarray:
        return self.space.T @ self.weighted(self.target)

    def weighted(self, torque) -> np.ndarray:
        """(nv n,) or (nv n, m) rows over their noise. torque: (nv, n) or (nv, n, m)."""
        noise = self.free[1].reshape(-1, *[1] * (torque.ndim - 1))
        believed = self.regression.believed
        believed = believed.reshape(*believed.shape, *[1] * (torque.ndim - 2))
        return (torque * believed / noise).reshape(-1, *torque.shape[2:])


def gain(before, after) -> float:
    """Log-likelihood won per independent sample: `1/2 sum_j log(before_j / after_j)` of residual energies (nv,)."""
    if not np.isfinite(after).all():
        return -np.inf
    if not np.isfinite(before).all():
        return np.inf
    felt = np.asarray(before) > 0  # a base in flight feels nothing
    return 0.5 * float(np.sum(np.log(before[felt]) - np.log(np.maximum(after[felt], np.finfo(float).tiny))))


def case_of(estimate: Estimate, logs: Sequence[Log]) -> Case:
    """Case of an estimate and of logs with q, v, a and tau; where a posterior has found that the base leans, it does.

    Raises FitError for an estimate without a robot.
    """
    robot = estimate.prior
    if robot is None:
        raise FitError("A diagnosis needs a robot; this estimate comes from a raw regression without one.")
    found = {} if estimate.weighed is None else estimate.nuisances
    lean = [found[name].value for name in ("lean.x", "lean.y") if name in found]
    if lean:
        robot = replace(robot, gravity=leaned(robot.gravity, *lean))
    step = thinning(estimate, logs)
    few = thinned(logs, step)
    q, v, a = few.require("q", "v", "a")
    width = estimate.coulomb_width
    return Case(
        regression=Regression(
            *(robot, estimate.layout.plain, width, q, v, a, direction_of(few, width, estimate.layout)),
            believed=np.ones((1, 1)) if few.weights is None else (few.weights.T > 0).astype(float),
        ),
        measured=Curves(logs, step),
        delay=np.zeros(robot.nv),
        independence=min(1.0, independence_of(logs) * step),
        interval=1 / few.rate,
        stamps=tuple((log.name, log.t[::step]) for log in logs),
    )


def thinning(estimate: Estimate, logs: Sequence[Log]) -> int:
    """Every how many samples one is enough."""
    numbers = len(estimate.group_names) * estimate.layout.plain.size
    most = min(SAMPLES, max(FEWEST, NUMBERS // numbers))
    total = sum(len(log) for log in logs)
    return max(1, int(1 / (OVERSAMPLING * independence_of(logs))), -(-total // most))


def thinned(logs: Sequence[Log], step: int) -> Log:
    """Every `step`-th sample of all logs."""
    return joined([log[::step] for log in logs])
