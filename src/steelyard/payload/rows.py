"""`Rows`: what a payload is fitted to, whatever measured it: a wrist sensor, or the joints of an arm.

Each sample has k channels that are linear in the ten parameters. Weight is kept apart from push, as a gravity that
leans, and a weight that a controller has taken off, are mistakes of the former alone.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from steelyard.dynamics import body_regressor, inverse_dynamics, regressor
from steelyard.dynamics.effects import friction_torque as stated_friction
from steelyard.inertia import parameters
from steelyard.information import Information
from steelyard.log import Log
from steelyard.log.decimate import thinning_of
from steelyard.model import Robot
from steelyard.numbers import NEGLIGIBLE, ROUNDS, SAME
from steelyard.payload.carried import frame_of
from steelyard.payload.wrench_log import WrenchLog
from steelyard.payload.wrench_sums import CHANNELS, by_group, summed, weighed_fit, wrench_regressor

LEVER = 0.05  # m: torques count relative to the force at this lever at least; it is that of usual sensors' noise
SMALL = 0.3  # of the loudest joint: what a payload does at others counts relative to that at least
SURE = 6.0  # over sqrt(samples): how much more of noise's energy is still noise; four deviations of the median's
REMEMBERED = 200  # samples over which residuals may remember each other


@dataclass(frozen=True, eq=False)
class Rows:
    """Samples of channels that a payload explains, `measured = (push + pull . gravity) theta`."""

    t: np.ndarray  # (n,) s
    measured: np.ndarray  # (n, k), N or N m
    push: np.ndarray  # (n, k, 10) columns without gravity
    pull: np.ndarray  # (n, k, 10, 3) columns for gravity of 1 m/s^2 along each axis of the world
    gravity: np.ndarray  # (3,) m/s^2
    groups: np.ndarray  # (k,) of channels with one noise
    names: tuple[str, ...]
    noise: np.ndarray  # (g,) deviations that are known to be none of the payload's: white noise, the arm's own errors
    moving: bool = True  # whether push is known
    streamed: bool = True  # whether samples are close in time
    log: WrenchLog | None = None
    own: np.ndarray | None = None  # (n, k) what was taken off, of the arm itself
    weight: np.ndarray | None = None  # (n, k, 3) of it for gravity of 1 m/s^2 along each axis
    drive: np.ndarray | None = None  # (n, k, m) columns of what drives its joints
    signal: np.ndarray = field(init=False)

    def __post_init__(self):
        rms = self.rms(self.measured)
        floor = LEVER * rms[0] if self.log is not None else SMALL * rms.max()
        object.__setattr__(self, "signal", np.maximum(rms, max(floor, 1e-12)))

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, index) -> "Rows":
        keys = ("t", "measured", "push", "pull", "own", "weight", "drive", "log")
        return replace(self, **{key: value[index] for key in keys if (value := getattr(self, key)) is not None})

    @cached_property
    def columns(self) -> np.ndarray:
        """(n, k, 10) of the payload."""
        return self.push + self.pull @ self.gravity

    def under(self, gravity) -> "Rows":
        """The same readings under another gravity (3,), which acts on the arm, too."""
        rows = replace(self, gravity=gravity)
        if self.own is None or self.weight is None:
            return rows
        more = self.weight @ (gravity - self.gravity)
        return replace(rows, measured=self.measured - more, own=self.own + more)

    def per_gravity(self, theta) -> np.ndarray:
        """(n, k, 3) change of what a payload theta (10,) and the arm take, for gravity of 1 m/s^2 along each axis."""
        change = np.einsum("nkia,i->nka", self.pull, theta)
        return change if self.weight is None else change + self.weight

    def rms(self, x) -> np.ndarray:
        """(g,) root-mean-square of channels (n, k), by group."""
        counts = np.bincount(self.groups)
        return np.sqrt(np.bincount(self.groups, np.mean(x * x, axis=0)) / counts)

    def constant(self) -> np.ndarray:
        """(n, k, k) columns of an offset of each channel."""
        k = len(self.names)
        return np.broadcast_to(np.eye(k), (len(self), k, k))


@dataclass(frozen=True, eq=False)
class RowsFit:
    """Least squares of rows, each group weighed by its residual."""

    rows: Rows
    theta: np.ndarray  # (10,)
    beside: np.ndarray  # (m,) of further columns, with deviations (m,) of white noise
    deviation: np.ndarray
    residual: np.ndarray
    noise: np.ndarray  # (g,) residual deviations
    share: float  # of the signal that is left beyond noise


def sums_of(rows: Rows, beside=None) -> Information:
    """Sums of rows with columns beside (n, k, m), a group each of channels with one noise."""
    columns = rows.columns if beside is None else np.concatenate([rows.columns, beside], axis=2)
    return summed(*by_group(columns, rows.measured, len(rows.noise)))


def fitted(rows: Rows, beside=None) -> RowsFit:
    """The payload that explains rows best, with columns beside (n, k, m)."""
    x, spread, noise = weighed_fit(sums_of(rows, beside))
    noise = np.maximum(noise, SAME * rows.signal)
    residual = rows.measured - rows.columns @ x[:10]
    residual = residual if beside is None else residual - beside @ x[10:]
    return RowsFit(rows, x[:10], x[10:], spread[10:], residual, noise, share_of(rows, noise))


def aligned(rows: Rows, beside) -> Rows:
    """The rows under the gravity of the given strength whose direction explains them best, with columns beside: from a
    fit in which its products with mass and moment are free, by Gauss-Newton."""
    strength = float(np.linalg.norm(rows.gravity))
    if rows.weight is None:
        products = rows.pull[:, :, :4].reshape(*rows.measured.shape, 12)
        pull = fitted(replace(rows, gravity=np.zeros(3)), np.concatenate([beside, products], axis=2)).beside[-12:-9]
    else:
        pull = rows.gravity + fitted(rows, np.concatenate([beside, rows.weight], axis=2)).beside[-3:]
    found = rows.under(strength * pull / size) if (size := np.linalg.norm(pull)) > 0 else rows
    for _ in range(ROUNDS):
        turns = strength * across(found.gravity)
        tilts = found.per_gravity(fitted(found, beside).theta) @ turns
        turned = found.gravity + turns @ fitted(found, np.concatenate([beside, tilts], axis=2)).beside[-2:]
        found = found.under(turned * strength / np.linalg.norm(turned))
    return found


def across(gravity) -> np.ndarray:
    """(3, 2) directions across gravity (3,)."""
    return np.linalg.svd(gravity[None])[2][1:].T


def share_of(rows: Rows, left) -> float:
    """Residuals (g,) beyond noise as a part of the signal, of the worst group."""
    known = 1 + SURE / np.sqrt(len(rows))
    return float(np.max(np.sqrt(np.maximum(left**2 - known * rows.noise**2, 0.0)) / rows.signal))


def memory_of(residual, groups) -> np.ndarray:
    """(g,) samples that one independent sample is worth, from the autocorrelation of residuals (n, k)."""
    n = len(residual)
    memory = np.ones(int(groups.max()) + 1)
    if n < 50:
        return memory
    reach = min(n // 3, REMEMBERED)
    for g in range(len(memory)):
        spectrum = np.abs(np.fft.rfft(residual[:, groups == g], 2 * n, axis=0)) ** 2
        correlation = np.fft.irfft(spectrum, axis=0)[:reach].sum(axis=1)
        if correlation[0] <= 0:
            continue
        rho = correlation[1:] / correlation[0]
        pairs = rho[:-1:2] + rho[1::2]  # sums of neighbours stay positive as long as there is memory (Geyer 1992)
        small = pairs < 2 / np.sqrt(3 * n)
        memory[g] = 1 + 2 * float(pairs[: int(np.argmax(small)) if small.any() else len(pairs)].sum())
    return memory


def evidence(before: RowsFit, after: RowsFit, unknowns: int = 0) -> float:
    """Nats of log-likelihood that a fit wins over another one of the same rows, of independent samples, less what its
    further unknowns cost (Schwarz 1978; of few samples more, as Hurvich and Tsai 1989). unknowns: beside columns."""
    counts = len(after.rows) * np.bincount(after.rows.groups) / memory_of(after.residual, after.rows.groups)
    more, free = unknowns + len(after.beside) - len(before.beside), counts.sum() - 10 - len(after.beside) - unknowns
    if free <= 0:
        return -np.inf
    won = float(counts @ np.log(np.maximum(before.noise, 1e-300) / np.maximum(after.noise, 1e-300)))
    return won - 0.5 * more * float(np.log(counts.sum()) * counts.sum() / free)


def sample_worth(columns, residual, noise, groups) -> np.ndarray:
    """(g,) samples of columns (n, k, m) that one independent sample is worth: the memory of residuals (n, k), times the
    variance of what they pull at the parameters over what residuals of this noise (g,) alike at all times would, at
    least 1 (the sandwich of Newey and West 1987): errors of motion are largest where the motion shows most."""
    memory = memory_of(residual, groups)
    deviation, reach = (noise * np.sqrt(memory))[groups], int(2 * memory.max())
    rows = columns / deviation[:, None]
    values, axes = np.linalg.eigh(np.einsum("nij,nik->jk", rows, rows))
    seen = values > NEGLIGIBLE * values[-1]
    scores = np.einsum("nij,ni->nj", rows, residual / deviation) @ (axes[:, seen] / np.sqrt(values[seen]))
    total = np.sum(scores**2)
    for lag in range(1, min(reach, len(columns) // 4) + 1):
        total += 2 * (1 - lag / (reach + 1)) * np.sum(scores[lag:] * scores[:-lag])
    return memory * max(1.0, float(total) / scores.shape[1])


def of_wrench(log: WrenchLog, noise) -> Rows:
    """Rows of a wrist sensor. noise: (2,) white noise of force [N] and torque [N m]."""
    from steelyard.payload.motion_consistency import streamed

    push = wrench_regressor(log.replace(gravity=np.zeros(3)))
    still = np.zeros((len(log), 6))
    upward = [np.hstack([-log.rotation[:, axis], still[:, 3:]]) for axis in range(3)]  # as is felt at rest, at 1 m/s^2
    pull = np.stack([body_regressor(still, each) for each in upward], axis=-1)
    return Rows(
        log.t,
        log.wrench,
        push,
        pull,
        np.asarray(log.gravity),
        np.repeat([0, 1], 3),
        CHANNELS,
        np.asarray(noise, dtype=float),
        moving=log.moving,
        streamed=streamed(log),
        log=log,
    )


def less(rows: Rows, log: Log, empty: Rows, other: Log) -> Rows | None:
    """Rows less what the same arm left without payload at the same time of the same motion; None where motions differ.
    log, other: that the rows are of; one may begin up to a second before the other."""
    t, step = empty.t - empty.t[0], float(np.median(np.diff(rows.t)))
    q, others = (each.q[np.searchsorted(each.t, own.t)] for each, own in ((log, rows), (other, empty)))
    reach = round(min(1.0, t[-1] / 2, (rows.t[-1] - rows.t[0]) / 2) / step)

    def at(lag: float, values) -> np.ndarray:
        return np.stack([np.interp(rows.t - rows.t[0] + lag, t, column, np.nan, np.nan) for column in values.T], axis=1)

    lag = 0.0
    for finest, most in ((step, reach), (step / 10, 10)):
        lags = lag + finest * np.arange(-most, most + 1)
        lag = lags[np.argmin([np.nanmean((q - at(each, others)) ** 2) for each in lags])]
    apart = np.sqrt(np.nanmean((q - at(lag, others)) ** 2, axis=0))
    # of how far a joint moves: controllers follow with a payload nearly as without
    if (apart > 0.1 * np.std(q, axis=0) + SAME).any():
        return None
    taken = at(lag, empty.measured)
    there = np.isfinite(taken).all(axis=1)
    return replace(rows, measured=rows.measured - taken, noise=np.zeros_like(rows.noise))[there]


def of_torques(arm: Robot, log: Log, frame: str | None, noise=None) -> Rows:
    """Rows of an arm's joints, its own torque taken off, thinned to what a filtered log holds; samples of weight zero
    are left out. noise: (nv,) RMS of what the arm's model leaves of an empty run."""
    every = thinning_of(log)
    q, v, a, tau = (x[::every] for x in log.require("q", "v", "a", "tau"))
    direction = None if log.direction is None else log.direction[::every, : arm.nv]
    body, R, p = frame_of(arm, frame)
    to_body = parameters.transform_matrix(R, p)

    def columns(gravity, *state):
        carried = regressor(replace(arm, gravity=np.asarray(gravity, dtype=float)), *state)
        return np.asarray(carried)[..., 10 * body : 10 * body + 10] @ to_body

    still = np.zeros_like(v)
    own = inverse_dynamics(arm, q, v, a) + stated_friction(arm, v, direction=direction)
    sign = np.tanh(v / 0.01) if direction is None else direction
    eye = np.eye(arm.nv)
    rows = Rows(
        log.t[::every],
        tau - own,
        columns(np.zeros(3), q, v, a),
        np.stack([columns(axis, q, still, still) for axis in np.eye(3)], axis=-1),
        np.asarray(arm.gravity),
        np.arange(arm.nv),
        tuple(arm.dof_names),
        np.zeros(arm.nv) if noise is None else np.asarray(noise, dtype=float),
        own=own,
        weight=np.stack([inverse_dynamics(replace(arm, gravity=axis), q, still, still) for axis in np.eye(3)], axis=-1),
        drive=np.concatenate([x[:, :, None] * eye for x in (np.ones_like(v), v, sign, a)], axis=2),
    )
    if log.weights is None or (counted := (log.weights[::every] > 0).all(axis=1)).all():
        return rows
    return rows[counted]
