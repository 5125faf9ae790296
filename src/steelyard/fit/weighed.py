"""Data at a noise, beside a prior: the coordinates in which all unknowns are free of units and of order one."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.fit.prior import consistent_prior, model_parameters
from steelyard.fit.program import congruence
from steelyard.fit.whitening import Whitened, noise_floor, weigh_rows, whiten
from steelyard.information import Information

# Prior standard deviation of friction and armature, in RMS torques of the joint at unit speed or acceleration: wide
# enough to leave alone what the data shows, finite so that a joint that never moved keeps the model's values.
EFFECT_SPREAD = 10.0
FEW = 2.0  # independent equations an identifiable combination: below, least squares follows the noise of some joints
UNTOLD = 0.01  # noise that is then assumed first, relative to RMS torque; a fit with a prior finds what it is


@dataclass(frozen=True, eq=False)
class Weighed:
    """Whitened data of an Information, weighted by its noise.

    prior: (p,) its parameters. start: (p,) parameters where all unknowns are zero, the prior's or others. bodies:
    (nb, 10, 10) and effects: (e,) directions of the unknowns from there, of bodies as in `program.congruence`. columns:
    (k, p) of the whitened data for all parameters.
    """

    info: Information
    problem: Whitened
    prior: np.ndarray
    start: np.ndarray
    bodies: np.ndarray
    effects: np.ndarray
    columns: np.ndarray

    @cached_property
    def relative(self) -> tuple[np.ndarray, np.ndarray]:
        """Changes of second moments relative to the prior's, ten a body as in `Program`: constants (10 nb,), and what
        (10 nb, p) unknowns change."""
        count = 10 * len(self.bodies)
        if self.start is self.prior:
            return np.zeros(count), np.eye(count, len(self.start))
        constant, change = np.zeros(count), np.zeros((count, len(self.start)))
        for i, C in enumerate(congruence(self.prior[:count].reshape(-1, 10))):
            at = slice(10 * i, 10 * i + 10)
            change[at, at] = np.linalg.solve(C, self.bodies[i])
            constant[at] = np.linalg.solve(C, self.start[at] - self.prior[at])
        return constant, change

    @property
    def directions(self) -> np.ndarray:
        """(p, p) directions of all unknowns."""
        layout = self.info.layout
        directions = np.zeros((layout.size, layout.size))
        for i, block in enumerate(self.bodies):
            directions[layout.body(i), layout.body(i)] = block
        effects = np.arange(layout.inertial.stop, layout.size)
        directions[effects, effects] = self.effects
        return directions

    @property
    def turned(self) -> np.ndarray:
        """(k, p) `columns @ directions`."""
        stop = self.info.layout.inertial.stop
        bodies = (
            np.swapaxes(self.columns[:, :stop].reshape(len(self.columns), len(self.bodies), 10), 0, 1) @ self.bodies
        )
        return np.hstack(
            [np.swapaxes(bodies, 0, 1).reshape(len(self.columns), stop), self.columns[:, stop:] * self.effects]
        )


def weighed(info: Information, noise, theta0, weight: float, around=None) -> Weighed:
    """An Information at a noise (g,) of its row groups. theta0: (nb, 10) of the prior; weight: its own; around: (p,)
    parameters, of bodies that can exist, where unknowns are zero and which tell how large they are: the prior's."""
    info = info.base.weighted(info.independence / np.asarray(noise) ** 2)
    layout, problem = info.layout, whiten(info)
    prior = prior_parameters(info, theta0)
    start = prior if around is None else around
    columns = problem.R @ info.basis.regrouping
    seen = np.linalg.norm(columns[:, layout.inertial.stop :], axis=0)
    effects = 1.0 / np.hypot(seen, effect_pull(info, weight))
    bodies = congruence(start[layout.inertial].reshape(-1, 10))
    return Weighed(info, problem, prior, start, bodies, effects, columns)


def prior_parameters(info: Information, theta0) -> np.ndarray:
    """(p,) parameters of a prior theta0 (nb, 10), and the model's friction and armature."""
    start = np.zeros(info.layout.size) if info.robot is None else model_parameters(info.robot, info.layout)
    start[info.layout.inertial] = np.ravel(theta0)
    return start


def first_noise(info: Information) -> np.ndarray:
    """(g,) noise that unconstrained least squares leaves; a share UNTOLD of the torque where that would fit noise."""
    if info.counts.sum() * info.independence > FEW * info.basis.count and info.G.any():
        return weigh_rows(info)[1]
    return np.maximum(UNTOLD * np.sqrt(info.energy / np.maximum(info.counts, 1)), noise_floor(info))


def effect_pull(info: Information, weight: float) -> np.ndarray:
    """(e,) square root of the prior's precision for friction, armature and extras."""
    return np.sqrt(weight) / (EFFECT_SPREAD * torque_scale(info))


def prior_precision(info: Information, *, prior=None, weight: float = 1.0) -> np.ndarray:
    """(p, p) quadratic form, about its prior, of what `consistent` with the pullback regularizer adds to the residual.

    Arguments as there. Raises FitError without a usable prior.
    """
    layout = info.layout
    theta0, _ = consistent_prior(prior, info.robot, len(layout.bodies))
    precision = np.zeros((layout.size, layout.size))
    for i, theta in enumerate(theta0):
        inverse = np.linalg.inv(congruence(theta))
        precision[layout.body(i), layout.body(i)] = weight / 2 * inverse.T @ inverse
    effects = np.arange(layout.inertial.stop, layout.size)
    precision[effects, effects] = effect_pull(info, weight) ** 2
    return precision


def torque_scale(info: Information) -> np.ndarray:
    """RMS torque of the joint that each effect column acts on, (number of effects,)."""
    layout = info.layout
    if info.robot is None:
        rms = np.sqrt(info.energy / np.maximum(info.counts, 1))
        count = max([*layout.dofs, -1]) + 1
        per_dof = rms if len(rms) == count else np.full(count, rms.max(initial=0.0))  # a row group a degree, or unknown
    else:
        per_dof = info.degree_rms
    per_dof = np.maximum(per_dof, max(per_dof.max(initial=0.0) * 1e-3, np.finfo(float).tiny))
    extras = [per_dof[list(extra.dofs)].max() for extra in layout.extras]
    return np.concatenate([np.tile(per_dof[list(layout.dofs)], len(layout.terms)), extras])
