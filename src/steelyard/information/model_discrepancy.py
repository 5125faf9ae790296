"""Sums of what a model of joint torques may lack: columns that no fit has, but that tell whether it should.

Kennedy and O'Hagan (2001) call what remains between a model and reality its discrepancy. Here it is, joint by joint,
friction of another shape (sharper or wider reversals, fading with speed, unlike in either direction, not proportional
to speed, late, growing with the load) and a slow drift of the torque. Each passes the filter that the torque passed.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from steelyard.information.regression_rows import chunk_rows, direction_of, raw_columns, rows_of, weights_of
from steelyard.log import Log
from steelyard.log.smoothers import BUTTERWORTH, derivatives, order_of
from steelyard.log.stamps import segments
from steelyard.model import Robot
from steelyard.terms import ParameterLayout

DRIFT = "a slow drift of the torque"
NAMES = (
    "sharper reversals",
    "wider reversals",
    "friction fading at low speed",
    "friction fading at medium speed",
    "reversals unlike in either direction",
    "friction unlike in either direction",
    "friction curved over speed",
    "friction that comes late",
    "friction growing with the load",
    *[DRIFT] * 3,
)
SHARPER = 4.0  # times: reversals of a quarter of the width, and of four times the width
FADING = (0.1, 0.3)  # of the RMS speed, at which friction has faded to 1 / e
OVERSAMPLING = 4.0  # samples looked at, a sample with independent noise; more say little new
MOST = 20_000  # samples looked at in a log


@dataclass(frozen=True, eq=False)
class Discrepancy:
    """Sums over samples of m further columns N of each of g row groups, beside the k columns Y of an Information.

    squares: (g, m, m) of N^T N; cross: (g, m, k) of N^T Y; moment: (g, m) of N^T tau.
    """

    squares: np.ndarray
    cross: np.ndarray
    moment: np.ndarray

    def __add__(self, other: "Discrepancy") -> "Discrepancy":
        return Discrepancy(self.squares + other.squares, self.cross + other.cross, self.moment + other.moment)

    def selected(self, keep) -> "Discrepancy":
        """Beside some of the columns only."""
        return Discrepancy(self.squares, self.cross[..., keep], self.moment)


def shapes(log: Log, coulomb_width: float) -> np.ndarray:
    """(m, nv, n) columns `NAMES` of every joint, filtered like the torque. log: with v and tau."""
    v, tau = (np.asarray(each, dtype=float) for each in log.require("v", "tau"))
    sign, speed = np.tanh(v / coulomb_width), np.abs(v)
    usual = np.maximum(np.sqrt(np.mean(v**2, axis=0)), np.finfo(float).tiny)
    own = [np.tanh(SHARPER * v / coulomb_width) - sign, np.tanh(v / coulomb_width / SHARPER) - sign]
    own += [sign * np.exp(-((v / (share * usual)) ** 2)) for share in FADING]
    own += [sign**2, speed, v * speed]
    filtered = _filtered(log, np.concatenate([sign, *own], axis=1))
    sign, *own = np.split(filtered, len(own) + 1, axis=1)
    late = np.concatenate([_rate(sign[part], log.t[part]) for part in segments(log.t)])
    time = (log.t - log.t[0]) / max(log.duration, np.finfo(float).tiny)
    drift = [np.broadcast_to(np.cos(np.pi * k * time)[:, None], v.shape) for k in (1, 2, 3)]
    return np.stack([*own, late, sign * np.abs(_load(sign, v, tau)), *drift]).transpose(0, 2, 1)


def _load(sign: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """(n, nv) torques without the Coulomb and viscous friction that each joint's own regression on them finds."""
    columns = np.stack([sign, v, np.ones_like(v)]).transpose(2, 1, 0)  # (nv, n, 3)
    sizes = np.linalg.pinv(columns) @ tau.T[..., None]
    return tau - (columns[..., :2] @ sizes[:, :2])[..., 0].T


def _rate(x: np.ndarray, t: np.ndarray) -> np.ndarray:
    return np.gradient(x, t, axis=0) if len(t) > 1 else np.zeros_like(x)


def _filtered(log: Log, x: np.ndarray) -> np.ndarray:
    """Channels (n, c) behind the filter that the torque of a log passed; stretches too short for it as they are."""
    if log.bandwidth is None or 2 * log.bandwidth >= log.rate:
        return x
    order, result = order_of(BUTTERWORTH, None), x.copy()
    for part in segments(log.t):
        if part.stop - part.start > 2 * order:
            result[part] = derivatives(BUTTERWORTH, log.t[part], x[part], log.bandwidth, order, 0)[0]
    return result


def discrepancies(
    robot: Robot, layout: ParameterLayout, kept, log: Log, edges, *, coulomb_width: float, sample_weights=None
) -> list[Discrepancy]:
    """Discrepancy of each block of a log, cut at edges (b + 1,). kept: (k,) columns of the Information."""
    raw = raw_columns(robot, layout, kept)
    rows = rows_of(raw.robot, raw.layout, raw.columns)
    step = max(1, int(len(log) / (OVERSAMPLING * log.effective_samples)), -(-len(log) // MOST))
    seen = np.arange(0, len(log), step)
    cuts = np.searchsorted(seen, edges)
    weights, columns = weights_of(sample_weights, log), shapes(log, coulomb_width)[..., seen]
    direction = direction_of(log, coulomb_width, layout)
    chunk = [np.ascontiguousarray(np.asarray(x)[seen].T) for x in (log.q, log.v, log.a, log.tau, direction)]
    m, groups, blocks = len(columns), len(rows), len(edges) - 1
    squares, moment = np.zeros((blocks, groups, m, m)), np.zeros((blocks, groups, m))
    cross = np.zeros((blocks, groups, m, len(kept)))
    for dof, (fitted, tau) in enumerate(chunk_rows(raw.robot, raw.layout, coulomb_width, rows, chunk)):
        places, y = raw.mixed_rows(rows[dof].places, fitted.T)
        n = columns[:, dof]
        counted = step * (n if weights is None else n * weights[seen, dof])
        for k, (start, stop) in enumerate(pairwise(cuts)):
            own = counted[:, start:stop]
            squares[k, dof] = own @ n[:, start:stop].T
            cross[k, dof][:, places] = own @ y[start:stop]
            moment[k, dof] = own @ tau[start:stop]
    return [Discrepancy(*each) for each in zip(squares, cross, moment, strict=True)]
