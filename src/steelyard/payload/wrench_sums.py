"""`WrenchInformation`: all that a payload fit needs from a wrench log, and it adds.

Two triangular factors, one for force rows and one for torque rows, of `[Yb | bias columns | wrench]`: square-root
information. Nothing is lost but the samples, and the condition number is not squared. A bias is nothing (`False`), a
constant wrench (`True`) or one that changes steadily with time (`"drift"`), and is eliminated.
"""

from dataclasses import dataclass, replace

import numpy as np

from steelyard.cards import Card
from steelyard.dynamics import body_regressor
from steelyard.errors import LogError, OptionError
from steelyard.payload.wrench_log import WrenchLog

BIAS = 12  # columns of a wrench in the sensor frame that is constant (6), and of one that grows with time (6)
SIZE = 10 + BIAS
DRIFT = "drift"
CHUNK = 4096  # samples at a time


@dataclass(frozen=True, eq=False)
class WrenchInformation:
    """Sums over samples of `Yb theta + bias = wrench`.

    force, torque: (k, 23) with `T^T T` the Gram matrix of the rows `[Yb, bias columns, wrench]`, at most 23 rows each;
    count: number of samples (a float: discounted ones count less); start: s, from which a drifting bias counts.
    """

    force: np.ndarray
    torque: np.ndarray
    count: float
    start: float = 0.0

    def __add__(self, other):
        if not isinstance(other, WrenchInformation):
            return NotImplemented
        join = lambda a, b: triangle(np.concatenate([a, self._timed(b, other.start)]))  # noqa: E731
        return replace(
            self,
            force=join(self.force, other.force),
            torque=join(self.torque, other.torque),
            count=self.count + other.count,
        )

    def _timed(self, factor, start):
        """A factor whose drift counts from another start, counted from this one's."""
        factor = np.array(factor)
        factor[:, 16:SIZE] += (start - self.start) * factor[:, 10:16]
        return factor

    def __radd__(self, other):
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def discounted(self, factor: float) -> "WrenchInformation":
        """The same data counted `factor` (0, 1] times."""
        if not 0 < factor <= 1:
            raise OptionError(f"A forgetting factor lies in (0, 1]; got {factor!r}.")
        root = np.sqrt(factor)
        return replace(self, force=root * self.force, torque=root * self.torque, count=factor * self.count)

    def triangle(self, noise, *, bias: bool | str = False) -> np.ndarray:
        """(11, 11) factor of `[A b]` in units of the noise: `||T [theta; -1]||^2` is the whole weighted cost.

        noise: standard deviations of force [N] and torque [N m]. bias: of the sensor, which is left free (projected
        out, so theta is fitted as if it were estimated beside).
        """
        free = offsets(bias)
        return self._factor(noise, free)[free:, free:]

    def whitened(self, noise, *, bias: bool | str = False) -> tuple[np.ndarray, np.ndarray]:
        """A (10, 10) and b (10,) with `||A theta - b||^2` the weighted cost but for a constant (see `triangle`)."""
        T = self.triangle(noise, bias=bias)
        return T[:10, :10], T[:10, 10]

    def bias(self, theta, noise, *, bias: bool | str = True) -> np.ndarray:
        """(6,) constant wrench, and (12,) with what it grows by each second, that explains best what theta (10,)
        leaves."""
        free = offsets(bias)
        T = self._factor(noise, free)[:free]
        return np.linalg.lstsq(T[:, :free], T[:, -1] - T[:, free:-1] @ theta, rcond=None)[0]

    def bias_deviation(self, noise, covariance, *, bias: bool | str = True) -> np.ndarray:
        """(6,) or (12,) standard deviations of the same, theta having a covariance (10, 10)."""
        free = offsets(bias)
        T = self._factor(noise, free)[:free]
        inverse = np.linalg.pinv(T[:, :free])
        through = inverse @ T[:, free:-1]
        return np.sqrt(np.diag(inverse @ inverse.T + through @ covariance @ through.T))

    def _factor(self, noise, free):
        """Triangular factor of `[first bias columns | Yb | wrench]` in units of the noise."""
        stacked = np.concatenate([self.force / noise[0], self.torque / noise[1]])
        columns = [*range(10, 10 + free), *range(10), SIZE]
        T = triangle(stacked[:, columns])
        return np.pad(T, ((0, max(0, len(columns) - len(T))), (0, 0)))

    def residual_rms(self, theta, bias=None) -> np.ndarray:
        """(2,) root-mean-square residual of a force and a torque component, N and N m."""
        beside = np.zeros(0) if bias is None else bias
        x = np.concatenate([theta, beside, np.zeros(BIAS - len(beside)), [-1.0]])
        energy = np.array([np.sum((T @ x) ** 2) for T in (self.force, self.torque)])
        return np.sqrt(energy / (3 * max(self.count, 1.0)))

    @property
    def signal_rms(self) -> np.ndarray:
        """(2,) root-mean-square force and torque component, N and N m."""
        return self.residual_rms(np.zeros(10))


def accumulate(log: WrenchLog, *, weights=None, reduced: bool = False) -> WrenchInformation:
    """Information of a log, streamed in chunks.

    weights: (n,) factor on each sample's rows. reduced: the gravity-only model of paper E (6)-(7), which leaves out
    twist and acceleration. Raises LogError for an empty log.
    """
    if not len(log):
        raise LogError(f"{log.name} is empty: no samples to accumulate")
    total = None
    for start in range(0, len(log), CHUNK):
        part = slice(start, start + CHUNK)
        rows = _rows(log[part], reduced, log.t[0])
        if weights is not None:
            rows = rows * np.asarray(weights, dtype=float)[part, None, None]
        force, torque = (rows[:, half].reshape(-1, SIZE + 1) for half in (slice(3), slice(3, 6)))
        new = WrenchInformation(triangle(force), triangle(torque), float(len(rows)), float(log.t[0]))
        total = new if total is None else total + new
    assert total is not None
    return total


def wrench_regressor(log: WrenchLog, *, reduced: bool = False) -> np.ndarray:
    """(n, 6, 10) body regressor of every sample; reduced: gravity only."""
    twist, acceleration = log.motion
    if reduced:
        twist, acceleration = np.zeros_like(twist), np.zeros_like(twist)
    gravity = log.gravity_in_sensor
    return body_regressor(twist, acceleration - np.concatenate([gravity, np.zeros_like(gravity)], axis=1))


def unexplained_wrench(log: WrenchLog, theta, bias: float | np.ndarray = 0.0) -> np.ndarray:
    """(n, 6) what a payload theta (10,) and a constant wrench (6,) leave of the wrench."""
    return log.wrench - wrench_regressor(log) @ theta - bias


def group_rms(wrenches) -> np.ndarray:
    """(2,) root-mean-square force and torque component of wrenches (n, 6)."""
    return np.sqrt(np.mean(wrenches.reshape(-1, 2, 3) ** 2, axis=(0, 2)))


def _rows(log, reduced, start):
    """(n, 6, 23) rows `[Yb, bias columns, wrench]`."""
    n = len(log)
    rows = np.empty((n, 6, SIZE + 1))
    rows[:, :, :10] = wrench_regressor(log, reduced=reduced)
    rows[:, :, 10:16] = np.eye(6)
    rows[:, :, 16:SIZE] = (log.t - start)[:, None, None] * np.eye(6)
    rows[:, :, SIZE] = log.wrench
    return rows


def offsets(bias: bool | str) -> int:
    """Number of unknowns of a bias. Raises OptionError for another than False, True and "drift"."""
    if bias == DRIFT:
        return 12
    if isinstance(bias, bool | np.bool_):
        return 6 if bias else 0
    raise OptionError(f'bias is False, True (a constant wrench) or "drift" (one that changes with time); got {bias!r}')


def freed(x, t, bias: bool | str) -> np.ndarray:
    """x (n, ...) less the constant, or the line over time t (n,), that a bias leaves free."""
    columns = np.stack([np.ones(len(t)), t - t.mean()], axis=1)[:, : offsets(bias) // 6]
    flat = np.reshape(x, (len(t), -1))
    return np.reshape(flat - columns @ np.linalg.lstsq(columns, flat, rcond=None)[0], np.shape(x)) if bias else x


def triangle(rows) -> np.ndarray:
    """Triangular factor (k, c) of rows (n, c), k at most c."""
    return np.asarray(np.linalg.qr(rows, mode="r"))


RANK = 1e-8  # smallest singular value, relative to the largest, that counts
LENGTH = 0.1  # m, that makes masses, moments and inertias comparable
GROUPS = {"mass": (0,), "centre of mass": (1, 2, 3), "inertia": tuple(range(4, 10))}


@dataclass(frozen=True, repr=False)
class Observability(Card):
    """rank: identifiable combinations of the ten parameters; known: groups wholly determined; text: in words."""

    rank: int
    known: tuple[str, ...]
    text: str


def observability(log: WrenchLog, *, reduced: bool = False, bias: bool | str = False) -> Observability:
    """Which of mass, centre of mass and inertia the motion of a log can reveal.

    Args:
        log: the wrench log.
        reduced: with the gravity-only model, whose rank is at most 4 whatever the motion (paper E, eq. 6).
        bias: with a constant wrench to be estimated beside, or "drift".

    Returns:
        The Observability.
    """
    Y = wrench_regressor(log, reduced=reduced) * np.array([1.0] + [1 / LENGTH] * 3 + [1 / LENGTH**2] * 6)
    Y = freed(Y, log.t, bias)
    _, singular, Vt = np.linalg.svd(np.linalg.qr(Y.reshape(-1, 10), mode="r"))
    rank = int(np.count_nonzero(singular > RANK * max(singular[0], 1e-300)))
    hidden = Vt[rank:]
    known = tuple(name for name, columns in GROUPS.items() if np.abs(hidden[:, columns]).max(initial=0.0) < 1e-6)
    return Observability(rank, known, _words(rank, known, log, reduced))


def _words(rank, known, log, reduced):
    seen = " and ".join(known) if known else "neither mass nor centre of mass"
    text = f"Rank {rank} of 10: this log determines {seen}"
    if reduced or not log.moving or rank <= 4:
        text += ". Gravity alone acts on mass and first moment, four numbers; it never shows the inertia"
        if rank < 4:
            text += ". Fewer than four: the sensor must be tilted about two axes to see the whole centre of mass"
    elif rank < 10:
        text += f"; {10 - rank} combinations of inertia stay hidden: turn about more axes, with angular acceleration"
    return text + "."
