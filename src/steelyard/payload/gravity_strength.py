"""How strong gravity is, as the wrench tells it: weight goes with gravity, the push of an acceleration does not.

At rest or in slow motion another gravity shows as another mass. Where the motion pushes the payload hard enough, the
likelihood of each strength tells them apart; where it does not, a mass is only as right as the gravity that was given.
"""

from dataclasses import dataclass

import numpy as np

from steelyard.log import Finding
from steelyard.log.findings import fatal
from steelyard.payload.thresholds import LOOKED_AT, THRESHOLDS
from steelyard.payload.wrench_log import WrenchLog
from steelyard.payload.wrench_problem import make_problem, solve
from steelyard.payload.wrench_sums import triangle, wrench_regressor
from steelyard.spatial import GRAVITY

EARTH = -GRAVITY[2]  # m/s^2
PLACES = (9.76, 9.84)  # m/s^2, from Mount Huascaran to the Arctic Ocean
STRENGTHS = np.geomspace(0.01, 30.0, 86)  # m/s^2, of places; a step is 10 %
APART = 1.5  # factor from the strength that fits best, below which errors of motion may be why
OTHER = 6.0  # factor between the Earth's gravity and the Moon's: a log that tells less has not checked gravity


@dataclass(frozen=True, eq=False)
class Strength:
    """given: m/s^2; strengths (k,): of gravity in the given direction; cost (k,): squared deviations of the residuals,
    above those at the best, which is what a log of poses at rest has everywhere."""

    given: float
    strengths: np.ndarray
    cost: np.ndarray

    @property
    def best(self) -> float:
        return float(self.strengths[np.argmin(self.cost)])

    def cost_of(self, strength: float) -> float:
        return float(np.interp(np.log(strength), np.log(self.strengths), self.cost))

    @property
    def right(self) -> float | None:
        """The strength that the log shows where it refutes the given one: the Earth's, or a weaker one. Noise of
        accelerations makes weight look larger beside the push, so a stronger one is none of another place."""
        earth = max(EARTH / self.given, self.given / EARTH) > APART
        if earth and self.cost_of(self.given) > self.cost_of(EARTH) + THRESHOLDS.gravity_refuted:
            return EARTH
        return (
            self.best
            if self.best < self.given / APART and self.cost_of(self.given) > THRESHOLDS.gravity_refuted
            else None
        )

    @property
    def doubtful(self) -> bool:
        """Whether a strength that is not the Earth's was given, and the log does not prefer it to the Earth's."""
        earth = PLACES[0] <= self.given <= PLACES[1]
        return not earth and self.cost_of(EARTH) < self.cost_of(self.given) + THRESHOLDS.gravity_refuted

    @property
    def checked(self) -> bool:
        """Whether the log prefers the given strength to one that is `OTHER` times weaker, and to the Earth's."""
        return (
            self.cost_of(self.given / OTHER) > self.cost_of(self.given) + THRESHOLDS.gravity_refuted
            and not self.doubtful
        )

    @property
    def unchecked(self) -> str:
        """What to know of a mass where gravity was not checked."""
        return (
            f"gravity of {self.given:.4g} m/s^2 was taken as given: at rest or in so slow a motion another one would "
            "show as another mass"
        )


def refutation(log: WrenchLog, strength: Strength, right: float) -> str:
    """That gravity is `right` m/s^2 in words, with the remedy."""
    numbers = [f"{x:.3g}" for x in log.gravity * right / strength.given + 0.0]
    return (
        f"gravity was given as {strength.given:.3g} m/s^2, and the motion shows {right:.3g}: the mass would be off by "
        f"that factor. Pass gravity=({', '.join(numbers)}) (--gravity {' '.join(numbers)})."
    )


def doubt(strength: Strength) -> Finding:
    """That a gravity which is not the Earth's has to be confirmed."""
    return fatal(
        "gravity",
        f"gravity was given as {strength.given:.4g} m/s^2, which is not the Earth's, and this log cannot tell: on the "
        f"Earth the mass is {strength.given / EARTH:.3g} times the one shown. Leave gravity out (--gravity), or "
        "confirm that the robot is elsewhere: elsewhere=True (--elsewhere)",
    )


def strength_of(log: WrenchLog, *, bias: bool = False, noise=None) -> Strength | None:
    """What the log tells of gravity's strength, by the best payload (and constant wrench) at each; None where given as
    zero."""
    given = float(np.linalg.norm(log.gravity))
    if not given > 0:
        return None
    strengths = np.unique(np.append(STRENGTHS, [given, EARTH]))
    if not log.moving:
        return Strength(given, strengths, np.zeros(len(strengths)))
    log = log.thinned(LOOKED_AT)
    problem = make_problem(log, noise=noise, bias=bias)
    pushed = wrench_regressor(log.replace(gravity=np.zeros(3)))
    weighed = (wrench_regressor(log) - pushed) / given  # at 1 m/s^2
    constant = np.broadcast_to(np.eye(6)[:, : 6 if bias else 0], (len(log), 6, 6 if bias else 0))
    rows = np.concatenate([pushed, constant, weighed, log.wrench[:, :, None]], axis=2)
    rows = rows / np.repeat(problem.noise * np.sqrt(problem.memory), 3)[None, :, None]
    R = triangle(rows.reshape(-1, rows.shape[2]))
    light, heavy, b = R[:, :-11], np.zeros((len(R), R.shape[1] - 11)), R[:, -1]
    heavy[:, :10] = R[:, -11:-1]
    left = [(A := light + strength * heavy) @ solve(A, b) - b for strength in strengths]
    cost = np.sum(np.square(left), axis=1)
    return Strength(given, strengths, cost - cost.min())
