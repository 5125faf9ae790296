"""Joint motions that are linear in their coefficients: `q(t) = values(t) @ coefficients`, with derivatives.

Both kinds come back to where they start, and velocity, acceleration and jerk are zero at both ends. A Fourier series
runs along its own closed path: its phase starts and stops smoothly, so the path, and with it positions and clearances,
is the same as without ramps. A B-spline holds its first and its last four control points together, all in one place.
"""

from dataclasses import dataclass

import numpy as np

from steelyard.errors import OptionError
from steelyard.motion_options import Course

PERIODS = (1, 2, 3)  # tried by default
ORDERS = 4  # position, velocity, acceleration, jerk
DEGREE = 5  # of splines: jerk is continuous


@dataclass(frozen=True)
class Fourier:
    """Offset, sines and cosines of `harmonics` multiples of `periods` turns (Swevers et al. 1997) of one path."""

    duration: float  # s, ramps included
    harmonics: int = 5
    periods: int = 1
    ramp: float = 1.0  # s that the phase takes to start and again to stop

    def __post_init__(self):
        if self.harmonics < 1 or self.periods < 1:
            raise OptionError(
                f"A Fourier motion has 1 harmonic and 1 period or more; got {self.harmonics}, {self.periods}."
            )
        if not 0 < 2 * self.ramp < self.duration:
            raise OptionError(
                f"Two ramps of {self.ramp} s do not fit into duration={self.duration} s; it must be longer."
            )

    @property
    def size(self) -> int:
        """Coefficients a joint: offset, sines, cosines."""
        return 1 + 2 * self.harmonics

    @property
    def period(self) -> float:
        """s of one turn at full rate."""
        return (self.duration - self.ramp) / self.periods

    @property
    def samples(self) -> int:
        """Samples that show peaks to about a percent."""
        return 32 * self.harmonics * self.periods

    def values(self, t) -> np.ndarray:
        """t (n,) s. Returns (4, n, size): positions, velocities, accelerations and jerks per coefficient."""
        s, rate, change, third = self._phase(np.asarray(t, dtype=float))
        order = 2 * np.pi / self.period * np.arange(1, self.harmonics + 1)
        angle = s[:, None] * order
        sine, cosine = np.sin(angle), np.cos(angle)
        along = [  # derivatives by the phase
            np.concatenate([sine, cosine], axis=1),
            np.concatenate([order * cosine, -order * sine], axis=1),
            np.concatenate([-(order**2) * sine, -(order**2) * cosine], axis=1),
            np.concatenate([-(order**3) * cosine, order**3 * sine], axis=1),
        ]
        r, c, j = rate[:, None], change[:, None], third[:, None]
        found = np.zeros((ORDERS, len(s), self.size))
        found[0, :, 0] = 1.0
        found[0, :, 1:] = along[0]
        found[1, :, 1:] = along[1] * r
        found[2, :, 1:] = along[2] * r**2 + along[1] * c
        found[3, :, 1:] = along[3] * r**3 + 3 * along[2] * r * c + along[1] * j
        return found

    def _phase(self, t):
        """Time along the path, its rate and two further derivatives: the rate rises and falls by a quintic."""
        x = np.clip(np.minimum(t, self.duration - t) / self.ramp, 0.0, 1.0)
        sign = np.where(t < self.duration / 2, 1.0, -1.0)
        rate = x**3 * (10 - 15 * x + 6 * x**2)
        change = sign * 30 * x**2 * (1 - x) ** 2 / self.ramp
        third = np.where((x > 0) & (x < 1), 60 * x * (1 - x) * (1 - 2 * x), 0.0) / self.ramp**2
        gone = self.ramp * x**4 * (2.5 - 3 * x + x**2)
        early = gone + np.maximum(np.minimum(t, self.duration - t) - self.ramp, 0.0)
        whole = self.duration - self.ramp
        return np.where(t < self.duration / 2, early, whole - early), rate, change, third

    def start(self, rng, spread) -> np.ndarray:
        """Random coefficients (size, nv) of motions that reach about `spread` (nv,) from zero."""
        order = np.arange(1, self.harmonics + 1)
        found = rng.normal(size=(self.size, len(spread)))
        found[0] = 0.0
        found[1:] /= np.tile(order, 2)[:, None]
        return found / np.abs(found).sum(axis=0) * 1.6 * spread


@dataclass(frozen=True)
class Spline:
    """Quintic B-spline of `points` free control points, equally spaced; it ends where it starts, in the first."""

    duration: float  # s
    points: int = 12

    def __post_init__(self):
        if self.points < 4 or not self.duration > 0:
            raise OptionError(
                f"A spline needs 4 free control points or more and a positive duration; got {self.points} and "
                f"{self.duration} s."
            )

    @property
    def size(self) -> int:
        return self.points

    @property
    def samples(self) -> int:
        return 16 * (self.points + DEGREE)

    def values(self, t) -> np.ndarray:
        """t (n,) s. Returns (4, n, size): positions, velocities, accelerations and jerks per coefficient."""
        from scipy.interpolate import BSpline

        count = self.points + 1 + 2 * (ORDERS - 1)
        inner = np.linspace(0, self.duration, count - DEGREE + 1)
        knots = np.concatenate([np.zeros(DEGREE), inner, np.full(DEGREE, self.duration)])
        held = np.zeros((count, self.points))
        held[np.arange(count), np.clip(np.arange(count) - (ORDERS - 1), 0, self.points) % self.points] = 1.0
        curve = BSpline(knots, held, DEGREE)
        at = np.clip(np.asarray(t, dtype=float), 0.0, self.duration)
        return np.stack([curve(at, nu=order) for order in range(ORDERS)])

    def start(self, rng, spread) -> np.ndarray:
        """Random coefficients (size, nv) of motions that reach about `spread` (nv,) from zero."""
        return rng.uniform(-0.6, 0.6, size=(self.points, len(spread))) * spread


Curve = Fourier | Spline


def candidate_curves(course: Course) -> list[Curve]:
    """Forms of motion to try: a spline, or Fourier motions of its periods, 1 to 3 by default."""
    if course.basis == "spline":
        return [Spline(course.duration, course.points)]
    periods = PERIODS if course.periods is None else (course.periods,)
    return [Fourier(course.duration, course.harmonics, each, course.ramp) for each in periods]
