"""Logs of strangers' robots: motions as people record them, friction of several kinds, sensors with noise and steps."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin
from scipy.ndimage import gaussian_filter1d

from evidence.draws import stranger_robots as robots
from evidence.draws.stranger_robots import Robot

FINE = 1000.0  # Hz at which motions are made
STICKS = 0.005  # rad/s: widths of a reversal below which a joint may stick
STILL = 0.5  # s of standstill at both ends


@dataclass(frozen=True)
class Motion:
    """t (n,) s; q, v, a (n, nv)."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray

    @property
    def state(self):
        return self.q, self.v, self.a


@dataclass(frozen=True, eq=False)
class Friction:
    """Coulomb and viscous friction (N m, N m s/rad) with what real gears add. width: rad/s of the reversal.

    more: of Coulomb friction at low speed (Stribeck), which ends at `slow` rad/s; by_load: share of Coulomb friction
    that grows with the torque; sticking: whether a joint at standstill keeps half of its last friction.
    """

    coulomb: np.ndarray
    viscous: np.ndarray
    width: float
    more: float = 0.0
    slow: float = 0.1
    by_load: float = 0.0
    sticking: bool = False

    def torques(self, v, load) -> np.ndarray:
        sign = np.tanh(v / self.width)
        if self.sticking:
            sign = _sticking(v, sign)
        level = (
            1
            - self.by_load
            + self.by_load * np.abs(load) / np.sqrt(np.mean(load**2, axis=0))
            + self.more * np.exp(-((v / self.slow) ** 2))
        )
        return self.coulomb * level * sign + self.viscous * v


@dataclass(frozen=True, eq=False)
class Job:
    """A robot, what moves and measures it. rate: Hz; seconds: of the log. encoder: step of positions, rad; noise:
    (nv,) deviation of torques, N m; colour: Hz below which it is, 0 of white noise; speeds: whether the log has v."""

    robot: Robot
    friction: Friction
    armature: np.ndarray
    offset: np.ndarray
    rate: float
    seconds: float
    encoder: float
    noise: float
    colour: float
    speeds: bool
    seed: tuple[int, ...]

    def rng(self, *more: int):
        return np.random.default_rng([*self.seed, *more])

    @cached_property
    def usual(self) -> Motion:
        """Rich sines."""
        return sines(self, self.rng(1))


def drawn(base: int, *, robot: str = "", true: bool = False) -> Job:
    """The healthy job of a number. robot: of `ROBOTS`, by default that of the number. true: see `robots.drawn`."""
    rng = np.random.default_rng([base, 44])
    name = robot or robots.ROBOTS[base % len(robots.ROBOTS)]
    one = robots.drawn(np.random.default_rng([base, 45]), name, true=true or rng.uniform() < 0.2)
    lever, n = one.lever, one.n
    width = float(rng.choice([0.003, 0.01, 0.04]))
    friction = Friction(
        coulomb=rng.uniform(0.04, 0.15, n) * lever,
        viscous=rng.uniform(0.04, 0.15, n) * lever,
        width=width,
        more=rng.choice([0.0, 0.0, 0.3]),
        sticking=bool(rng.uniform() < 0.5) and width < STICKS,
    )
    return Job(
        robot=one,
        friction=friction,
        armature=rng.uniform(0.002, 0.02, n) * lever,
        offset=0.01 * lever * rng.normal(size=n),
        rate=float(rng.choice([100, 125, 200])),
        seconds=rng.uniform(12, 20),
        encoder=2 * np.pi / 2 ** rng.integers(13, 20),
        noise=rng.uniform(0.005, 0.02),
        colour=float(rng.choice([0, 15])),
        speeds=rng.uniform() < 0.3,
        seed=(base, 46),
    )


def sines(job: Job, rng, *, speed: float = 1.0, reach: float = 1.0, home=None, seconds: float = 0.0) -> Motion:
    """Sums of four sines about a posture, from rest to rest. speed: factor of frequencies; reach: of amplitudes."""
    robot, seconds = job.robot, seconds or job.seconds
    fine = np.arange(round(seconds * FINE)) / FINE
    w = 2 * np.pi * speed / rng.uniform(4.0, 8.0) * (np.arange(1, 5) + rng.uniform(-0.3, 0.3, (robot.n, 4)))
    size = rng.uniform(0.3, 1.0, (robot.n, 4)) / np.arange(1, 5)
    size *= (reach * robot.reach / size.sum(axis=1))[:, None]
    found = np.einsum("njk,jk->nj", np.sin(fine[:, None, None] * w + rng.uniform(0, 2 * np.pi, (robot.n, 4))), size)
    ramp = np.clip(np.minimum(fine, seconds - fine) - STILL, 0, 1)
    home = robot.home if home is None else home
    return sampled(job, home + found * (ramp * ramp * (3 - 2 * ramp))[:, None])


def pick_and_place(job: Job, rng, *, seconds: float = 0.0) -> Motion:
    """Moves between a few poses with standstills, as most robots spend their days."""
    robot, seconds = job.robot, seconds or job.seconds
    poses = robot.home + robot.reach * rng.uniform(-0.8, 0.8, (4, robot.n))
    above = 0.25 * robot.reach * rng.uniform(-1, 1, robot.n)
    above = np.clip(poses + above, robot.home - robot.reach, robot.home + robot.reach)
    parts, at, k = [np.repeat(robot.home[None], round(STILL * FINE), axis=0)], robot.home, 0
    while sum(map(len, parts)) < seconds * FINE:
        for goal in (above[k % 4], poses[k % 4], above[k % 4]):
            took = max(0.4, np.abs(goal - at).max() * 1.875 / rng.uniform(0.8, 1.5))
            s = np.linspace(0, 1, round(took * FINE))[:, None]
            parts += [at + (goal - at) * s**3 * (10 - 15 * s + 6 * s * s)]
            parts += [np.repeat(goal[None], round(rng.uniform(0.2, 0.6) * FINE), axis=0)]
            at = goal
        k += 1
    return sampled(job, np.concatenate(parts)[: round(seconds * FINE)])


def sampled(job: Job, q) -> Motion:
    """Motion at the log's rate from positions at `FINE` Hz, smoothed as servos do."""
    q = gaussian_filter1d(q, 0.02 * FINE, axis=0, mode="nearest")
    v = np.gradient(q, 1 / FINE, axis=0)
    a = np.gradient(v, 1 / FINE, axis=0)
    at = np.arange(0, len(q) - 1, FINE / job.rate)
    low, part = at.astype(int), (at % 1)[:, None]
    return Motion(at / FINE, *(x[low] * (1 - part) + x[low + 1] * part for x in (q, v, a)))


def links(job: Job, motion: Motion, model: pin.Model | None = None) -> np.ndarray:
    """(n, nv) torques of the true links, or of a model's."""
    return robots.torques(model or job.robot.true, *motion.state)


def drives(job: Job, motion: Motion, load, friction: Friction | None = None) -> np.ndarray:
    """(n, nv) torques of friction, armature, offsets. load: torques of links."""
    return (friction or job.friction).torques(motion.v, load) + job.armature * motion.a + job.offset


def recorded(job: Job, motion: Motion, tau) -> dict[str, np.ndarray]:
    """What sensors and a driver make of motion and torques."""
    rng = job.rng(2)
    level = job.noise * np.maximum(np.sqrt(np.mean(tau**2, axis=0)), 0.02 * job.robot.lever)
    tau = tau + level * _noise(rng, tau.shape, job.colour, job.rate)
    found = {"t": motion.t, "q": _steps(motion.q, job.encoder), "tau": _steps(tau, 0.1 * level)}
    if job.speeds:
        found["v"] = _steps(motion.v + 0.003 * rng.normal(size=tau.shape), 0.001)
    return found | {"joint_names": np.array(job.robot.joints)}


def _noise(rng, shape, colour: float, rate: float) -> np.ndarray:
    """(n, nv) of deviation one, white or of first order."""
    found = rng.normal(size=shape)
    if colour:
        keep = np.exp(-2 * np.pi * colour / rate)
        for k in range(1, shape[0]):
            found[k] = keep * found[k - 1] + np.sqrt(1 - keep * keep) * found[k]
    return found


def _steps(x, step) -> np.ndarray:
    return np.round(x / step) * step


def _sticking(v, sign) -> np.ndarray:
    """Directions of friction where a joint at standstill keeps half of its last one."""
    found, last = sign.copy(), np.zeros(v.shape[1])
    for k in range(len(v)):
        moves = np.abs(v[k]) > 0.002
        last[moves] = np.sign(v[k][moves])
        found[k] = np.where(moves, found[k], 0.5 * last)
    return found
