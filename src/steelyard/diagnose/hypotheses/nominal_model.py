"""Something mounted on a link, or missing: named where it explains nearly all of what the nominal model gets wrong."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from steelyard.diagnose.case import Case
from steelyard.diagnose.faults import Fault, fault
from steelyard.fit import ratios
from steelyard.fit.prior import model_parameters
from steelyard.inertia import pseudo

TRUST = 0.05  # relative error of the nominal model's torque that is taken for granted when joints are weighed
EXPLAINED = 0.8  # share of the nominal model's excess error that one link must explain
AHEAD = 3.0  # times as much of the error as the last link of a chain that every other link must leave
AHEAD_INSIDE = 10.0  # the same for a link that carries others, where a nominal model is more often just wrong
NOTICEABLE = 0.03  # share of the torque that the load must make up
LIGHTEST = 0.05  # kg
TINY = 1e-24  # of the largest squared column: a column smaller than this is rounding
SINGULAR = 1e-10  # of the largest eigenvalue at unit diagonal: nothing that the motion shows is smaller
KNOWN = 0.2  # standard deviation of the load's mass over it, above which the motion does not weigh it
HOLLOW = 0.05  # negative eigenvalue of a load's pseudo-inertia, over its largest, that noise may leave


class _LoadProblem:
    """Least squares for departures from the nominal links, by rows that measure torque. Rotors, friction, armature and
    extras are always free."""

    def __init__(self, case: Case):
        self.layout = layout = case.layout
        info = case.information
        self.nominal = model_parameters(case.robot, layout)
        self.nominal[layout.links.stop :] = 0.0
        rms = np.sqrt(info.energy / len(case))
        weight = 1 / (case.free[1] ** 2 + (TRUST * np.maximum(rms, 1e-9 * rms.max())) ** 2)
        weight = np.where(ratios(info).groups, 0.0, weight)  # rows without torque fit best at a factor of nothing
        self.regrouping = info.basis.regrouping
        G, b = info.squares.weighted(weight), weight @ info.moment
        base = self.regrouping @ self.nominal
        self.G, self.b, self.torque = G, b - G @ base, base
        self.start = float(weight @ info.energy - 2 * b @ base + base @ G @ base)
        self.whole = float(weight @ info.energy)
        self.effects = np.arange(layout.links.stop, layout.size)

    @cached_property
    def everything(self) -> float:
        """Energy left when all base parameters may move."""
        return self.left(np.eye(len(self.b)))[0]

    @cached_property
    def nothing(self) -> float:
        """Energy left when only effects may."""
        return self.left(self.regrouping[:, self.effects])[0]

    def of_body(self, body: int) -> np.ndarray:
        """(r, 10 + effects) directions in which one body alone departs, and friction."""
        return self.regrouping[:, np.r_[self.layout.body(body), self.effects]]

    def left(self, directions) -> tuple[float, np.ndarray]:
        """Energy left when the base parameters may move along directions (r, m), and by how much."""
        eigenvalues, axes = self._spectrum(directions)
        b = directions.T @ self.b
        step = axes @ ((axes.T @ b) / eigenvalues)
        return max(self.start - 2 * b @ step + step @ directions.T @ self.G @ directions @ step, 0.0), step

    def deviations(self, directions) -> np.ndarray:
        """(m,) standard deviations of such a step: huge for what the motion does not show."""
        eigenvalues, axes = self._spectrum(directions)
        return np.sqrt(axes**2 @ (1 / eigenvalues))

    def _spectrum(self, directions):
        """Eigenvalues of the Gram matrix along directions, at unit diagonal and above rounding; axes in their units."""
        G = directions.T @ self.G @ directions
        diagonal = np.diag(G)
        scale = 1 / np.sqrt(np.where(diagonal > TINY * diagonal.max(initial=0.0), diagonal, np.inf))
        eigenvalues, axes = np.linalg.eigh(scale[:, None] * G * scale)
        return np.maximum(eigenvalues, SINGULAR * max([*eigenvalues[-1:], SINGULAR])), scale[:, None] * axes


def load(case: Case) -> Iterator[Fault]:
    """A load on one link, or a part that is missing."""
    problem = _LoadProblem(case)
    excess = problem.nothing - problem.everything
    if excess < NOTICEABLE**2 * problem.whole or problem.nothing < 4 * problem.everything:
        return
    left, change = zip(*(problem.left(problem.of_body(i)) for i in range(case.robot.nb)), strict=True)
    best = int(np.argmin(left))
    next_best = min((each for i, each in enumerate(left) if i != best), default=np.inf)
    explained = (problem.nothing - left[best]) / excess
    last = case.robot.body_joints[best] not in case.robot.parents
    if explained < EXPLAINED or next_best < (AHEAD if last else AHEAD_INSIDE) * left[best]:
        return
    mass, moment = change[best][0], change[best][1:4]
    name, nominal = case.robot.body_names[best], case.robot.inertias[best, 0]
    known = problem.deviations(problem.of_body(best))[0] < KNOWN * abs(mass)
    if abs(mass) < max(LIGHTEST, 0.02 * nominal) or not known or not _possible(case, best, change[best][:10]):
        return
    centre = moment / mass
    heavier = f"{abs(mass):.3g} kg {'heavier' if mass > 0 else 'lighter'}"
    where = f"around ({', '.join(f'{x:.3f}' for x in centre)}) m in its frame"
    yield fault(
        "payload" if mass > 0 else "missing_mass",
        f"{name} came out {heavier} than the model ({nominal:.3g} kg), {where}; this alone explains {explained:.0%} "
        "of what the nominal model gets wrong.",
        joint=case.robot.joints[case.robot.body_joints[best]].name,
        mass_kg=mass,
        x_m=centre[0],
        y_m=centre[1],
        z_m=centre[2],
        share_explained=explained,
        share_of_next_link=(problem.nothing - next_best) / excess,
    )


def _possible(case: Case, body: int, change) -> bool:
    """Whether what is there too much, or missing, is a body, and leaves one."""
    spreads = np.linalg.eigvalsh(
        pseudo.to_matrix(np.stack([np.sign(change[0]) * change, case.robot.inertias[body] + change]))
    )
    return bool((spreads[:, 0] > -HOLLOW * spreads[:, -1]).all() and case.robot.inertias[body, 0] + change[0] > 0)
