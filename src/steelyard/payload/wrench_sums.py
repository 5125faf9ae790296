"""The `Information` of a wrench log: ten columns of one body, then the bias of each channel and what it drifts by.

Rows of forces and rows of torques are a group each, with one noise. Their triangular factors are kept, so that the
condition number is not squared. A bias is nothing (`False`), a constant wrench (`True`) or one that changes steadily
with time (`"drift"`).
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from steelyard.cards import Card
from steelyard.dynamics import body_regressor
from steelyard.errors import LogError, OptionError
from steelyard.fit.whitening import weigh_rows, whiten
from steelyard.identifiable.basis import Basis, from_null_space
from steelyard.information import Information
from steelyard.native import LONG_CHUNK
from steelyard.numbers import NEGLIGIBLE
from steelyard.payload.wrench_log import WrenchLog
from steelyard.terms import ParameterLayout
from steelyard.weighed_columns import Extra

DRIFT = "drift"
CHANNELS = ("fx", "fy", "fz", "nx", "ny", "nz")
UNITS = ("N", "N", "N", "N m", "N m", "N m")
GROUPS = ("force", "torque")  # of three rows a sample each
BODY = "payload"


def summed(Y, y, *, layout: ParameterLayout | None = None, counts=None) -> Information:
    """Information with factors of rows Y (n, g, k), y (n, g), where every column is a parameter of its own.

    counts: (g,) samples of the groups, where the rows are triangular factors of them.
    """
    found = Information.from_arrays(Y, y, layout=layout, sums="qr", basis=_every(np.shape(Y)[-1]))
    return found if counts is None else replace(found, counts=counts)


@lru_cache
def _every(k: int) -> Basis:
    """The basis of k columns that are all parameters of their own."""
    return from_null_space(np.zeros((k, 0)), np.ones(k))


def of_body(info: Information, mixing) -> Information:
    """The Information of one body whose columns are those of another `@ mixing` (k, 10); its sums alone."""
    return replace(
        info.as_gram(),
        squares=info.squares.mixed(mixing),
        moment=info.moment @ mixing,
        columns=np.arange(10),
        layout=ParameterLayout((BODY,)),
        basis=_every(10),
        robot=None,
        discrepancy=None,
    )


def weighed_fit(info: Information) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Parameters (k,) of least squares weighed by noise, zeros where no row says anything; deviations (k,), and noise
    (g,)."""
    if not info.squares.flat.any():
        return np.zeros(len(info.columns)), np.zeros(len(info.columns)), info.rms
    weighted, noise = weigh_rows(info)  # a force of zero is a measurement, and no ratio
    found = whiten(weighted)
    return found.solve(), np.sqrt(np.diag(found.covariance())), noise


def accumulate(log: WrenchLog, *, bias: bool | str = False, weights=None, reduced: bool = False) -> Information:
    """Information of a log, streamed in chunks; a drift counts from the log's first sample.

    bias: which of its columns there are. weights: (n,) factor on each sample's rows. reduced: the gravity-only model of
    paper E (6)-(7), which leaves out twist and acceleration. Raises LogError for an empty log.
    """
    if not len(log):
        raise LogError(f"{log.name} is empty: no samples to accumulate")
    layout, total = layout_of(bias, float(log.t[0])), None
    for start in range(0, len(log), LONG_CHUNK):
        part = slice(start, start + LONG_CHUNK)
        rows, wrench = _rows(log[part], layout, reduced, log.t[0])
        if weights is not None:
            factor = np.asarray(weights, dtype=float)[part]
            rows, wrench = rows * factor[:, None, None], wrench * factor[:, None]
        new = summed(*by_group(rows, wrench, len(GROUPS)), layout=layout)
        total = new if total is None else total + new
    assert total is not None
    return replace(total, group_names=GROUPS)


def layout_of(bias: bool | str, start: float) -> ParameterLayout:
    """Columns of one body, the bias of each channel, and what it grows by each second from the start [s], which their
    names say: sums that count from others are not of the same columns."""
    free = offsets(bias)
    if not free:
        return ParameterLayout((BODY,))
    pairs = enumerate(zip(CHANNELS, UNITS, strict=True))
    drifts = tuple(Extra(f"{name}.drift since {start!r} s", f"{unit}/s", "user", (i,)) for i, (name, unit) in pairs)
    return ParameterLayout((BODY,), CHANNELS, tuple(range(6)), ("offset",), drifts[: free - 6])


def by_group(rows, measured, g: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, c g, k) and what was measured (n, c g) as those of g groups of c channels, (c n, g, k) and (c n, g)."""
    n, channels, k = rows.shape
    apart = (n, g, channels // g)
    return (
        rows.reshape(*apart, k).swapaxes(1, 2).reshape(-1, g, k),
        measured.reshape(apart).swapaxes(1, 2).reshape(-1, g),
    )


def eliminated(info: Information, noise) -> np.ndarray:
    """(11, 11) triangular factor of `[A b]` in units of the noise: `||T [theta; -1]||^2` is the whole weighted cost.

    noise: (g,) standard deviations of the row groups. Columns behind the ten of the body, such as a bias, are left free
    (projected out, so theta is fitted as if they were estimated beside).
    """
    return _bias_first(info, noise)[1]


def bias_of(info: Information, noise, theta, covariance) -> tuple[np.ndarray, np.ndarray]:
    """Bias (6,), and (12,) with what it grows by each second, that explains best what theta (10,) leaves, and its
    standard deviations, theta having a covariance (10, 10)."""
    T = _bias_first(info, noise)[0]
    free = len(info.columns) - 10
    inverse = np.linalg.pinv(T[:, :free])
    through = inverse @ T[:, free:-1]
    spread = inverse @ inverse.T + through @ covariance @ through.T
    return inverse @ (T[:, -1] - T[:, free:-1] @ theta), np.sqrt(np.diag(spread))


def _bias_first(info: Information, noise) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the triangular factor of `[bias columns | body | wrench]` in units of the noise: those of the bias, and
    of the body alone."""
    assert info.factors is not None
    k = len(info.columns)
    stacked = (info.factors / np.reshape(noise, (-1, 1, 1))).reshape(-1, k + 1)
    T = triangle(stacked[:, [*range(10, k), *range(10), k]])
    return T[: k - 10], T[k - 10 :, k - 10 :]


def residual_rms(info: Information, parameters) -> np.ndarray:
    """(2,) root-mean-square residual of a force and a torque component, N and N m, at parameters of all columns."""
    return np.sqrt(info.residual_energy(parameters) / np.maximum(info.counts, 1))


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


def _rows(log, layout, reduced, start):
    """Rows (n, 6, k) of a layout, and wrenches (n, 6)."""
    rows = np.empty((len(log), 6, layout.size))
    rows[:, :, :10] = wrench_regressor(log, reduced=reduced)
    rows[:, :, 10:16] = np.eye(6)[:, : layout.size - 10]
    rows[:, :, 16:] = ((log.t - start)[:, None, None] * np.eye(6))[:, :, : layout.size - 16]
    return rows, np.asarray(log.wrench)


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


LENGTH = 0.1  # m, of payloads of unknown shape: it makes masses, moments and inertias comparable
PARTS = {"mass": (0,), "centre of mass": (1, 2, 3), "inertia": tuple(range(4, 10))}


@dataclass(frozen=True, repr=False)
class Observability(Card):
    """What a log can reveal of a payload.

    rank: identifiable combinations of the ten parameters.
    known: groups wholly determined.
    condition: condition number of the regressor in these combinations, its columns scaled to length one.
    gravity: shares (2,) of gravity in the mean square of force and of torque, beside that of the motion; NaN where none
        is felt. The payload is that of least squares.
    text: in words.
    """

    rank: int
    known: tuple[str, ...]
    condition: float
    gravity: tuple[float, float]
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
    units = np.array([1.0] + [1 / LENGTH] * 3 + [1 / LENGTH**2] * 6)
    info = accumulate(log, bias=bias, reduced=reduced)
    R = eliminated(info, (1.0, 1.0))[:, :10] * units
    _, singular, Vt = np.linalg.svd(R)
    rank = int(np.count_nonzero(singular > NEGLIGIBLE * max(singular[0], 1e-300)))
    hidden = Vt[rank:]
    known = tuple(name for name, columns in PARTS.items() if np.abs(hidden[:, columns]).max(initial=0.0) < 1e-6)
    size = np.linalg.norm(R, axis=0)
    scaled = np.linalg.svd(R / np.where(size > 0, size, 1.0))[1]
    condition = float(scaled[0] / scaled[rank - 1]) if rank else np.inf
    gravity = _gravity(log, weighed_fit(info)[0][:10])
    return Observability(rank, known, condition, gravity, _words(rank, known, log, reduced))


def _gravity(log, theta) -> tuple[float, float]:
    """Shares of gravity in the mean square of the force and of the torque of a payload theta (10,)."""
    weight = wrench_regressor(log, reduced=True) @ theta
    motion = wrench_regressor(log) @ theta - weight
    ours, others = group_rms(weight) ** 2, group_rms(motion) ** 2
    with np.errstate(invalid="ignore"):
        force, torque = ours / (ours + others)
    return float(force), float(torque)


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
