"""What needs the samples of a log: residuals, products with other motion, weights near standstill."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from steelyard.arguments import require_type
from steelyard.errors import FitError, LogError, OptionError
from steelyard.information.contact_rows import explained_torque, require_usable, without_forces
from steelyard.information.gram import Squares
from steelyard.information.regression_rows import (
    TreeColumns,
    channels_of,
    chunk_rows,
    direction_of,
    raw_columns,
    require_tree,
    rows_of,
    weights_of,
)
from steelyard.information.sums import Information
from steelyard.job import REVERSAL_WEIGHT
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.native import CHUNK
from steelyard.terms import layout_of

RESTING = 0.05  # rad/s or m/s, below which a joint rests or sticks rather than slides


def residuals(info: Information, log: Log, base) -> np.ndarray:
    """(n, nv) measured torque of a log less what base parameters (r,), known wrenches and forces of contacts explain.

    info: names the robot, its columns and their options; its sums are not used. Raises LogError for missing channels.
    """
    robot, values = _robot(info), _raw(info).values(base)
    result = np.empty((len(log), robot.nv))
    for part, dof, places, y, left in _rows(info, log):
        result[part, dof] = left - values[places] @ y
    return without_forces(robot, log, result, contacts=info.contacts, row_weights=info.projection)


def torque_spread(info: Information, log: Log, root) -> list[np.ndarray]:
    """Of each degree (n, k) torques whose products add up to the covariance of its torque. root: (r, s) of the
    covariance of base parameters; the rest as of `residuals`, contacts left aside."""
    values, found = _raw(info).values(root), {}
    for part, dof, places, y, _ in _rows(info, log):
        if dof not in found:
            own = np.transpose(np.linalg.qr(values[places].T, mode="r"))
            found[dof] = own, np.empty((len(log), own.shape[1]))
        found[dof][1][part] = y.T @ found[dof][0]
    return [found[dof][1] for dof in range(len(found))]


def _robot(info: Information) -> Robot:
    robot = info.robot
    require_tree(robot, "Residuals of a log")
    if robot is None or info.group_names != robot.dof_names:
        raise FitError("This Information does not hold joint torques of a robot, so a log has no residuals of it.")
    return robot


def _raw(info: Information) -> TreeColumns:
    return raw_columns(_robot(info), info.layout, info.basis.columns)


def _rows(info: Information, log: Log) -> Iterator[tuple]:
    """Samples (a slice), degree, places among the raw columns, columns (k, n) and torque (n,) of each row in turn."""
    raw, width = _raw(info), info.coulomb_width
    rows = rows_of(raw.robot, raw.layout, raw.columns)
    channels = (*channels_of(_robot(info), log, ("q", "v", "a", "tau")), direction_of(log, width, info.layout))
    for start in range(0, len(log), CHUNK):
        part = slice(start, start + CHUNK)
        chunk = tuple(np.ascontiguousarray(x[part].T) for x in channels)
        for dof, (y, left) in enumerate(chunk_rows(raw.robot, raw.layout, width, rows, chunk)):
            yield part, dof, rows[dof].places, y, left


@dataclass(frozen=True, eq=False)
class Products:
    """Sums over samples of each row group g, in base columns: `Z^T Z`, `Z^T Y` (g, r, r), `Z^T tau` (g, r)."""

    ZZ: np.ndarray
    ZY: np.ndarray
    Ztau: np.ndarray

    def __add__(self, other: "Products") -> "Products":
        return Products(self.ZZ + other.ZZ, self.ZY + other.ZY, self.Ztau + other.Ztau)


def products(info: Information, log: Log, other: Log, sample_weights=None) -> Products:
    """Products of a log's rows Y, tau with rows Z at the motion of another log with the same samples.

    info: names the robot, its columns and their options. sample_weights: as of `accumulate`. Raises LogError for other
    samples.
    """
    robot, layout, width = info.robot, info.layout, info.coulomb_width
    require_tree(robot, "Products of logs")
    if robot is None or info.group_names != robot.dof_names:
        raise FitError("This Information does not hold joint torques of a robot, so logs have no products of it.")
    require_same_samples(log, other)
    raw = raw_columns(robot, layout, info.basis.columns)
    rows = rows_of(raw.robot, raw.layout, raw.columns)
    q, v, a, tau = channels_of(robot, log, ("q", "v", "a", "tau"))
    if require_usable(robot, ("joints",), log).any():
        raise LogError(f"Products of logs are of all rows, and log '{log.name}' has contacts with unknown forces.")
    measured = (q, v, a, explained_torque(robot, log, q, tau), direction_of(log, width, layout))
    q, v, a = other.require("q", "v", "a")
    moved = (q, v, a, measured[3], direction_of(other, width, layout))
    weights = weights_of(sample_weights, log)
    places = [row.places for row in rows]
    ZZ, ZY = ([np.zeros((len(each), len(each))) for each in places] for _ in range(2))
    Ztau = np.zeros((robot.nv, len(raw.columns)))
    for start in range(0, len(log), CHUNK):
        part = slice(start, start + CHUNK)
        Y, Z = (
            chunk_rows(raw.robot, raw.layout, width, rows, tuple(np.ascontiguousarray(x[part].T) for x in channels))
            for channels in (measured, moved)
        )
        for dof, ((y, tau), (z, _)) in enumerate(zip(Y, Z, strict=True)):
            weighted = z if weights is None else z * weights[part, dof]
            ZZ[dof] += weighted @ z.T
            ZY[dof] += weighted @ y.T
            Ztau[dof][places[dof]] += weighted @ tau
    (squares, moment), (mixed, _) = (
        raw.mixed(Squares.joined(Ztau.shape[1], places, blocks), Ztau) for blocks in (ZZ, ZY)
    )
    return Products(squares.dense, mixed.dense, moment)


def require_same_samples(log: Log, other: Log):
    """Raise LogError for two logs with other time stamps."""
    if len(log) != len(other) or np.abs(log.t - other.t).max(initial=0.0) > 1e-6:
        raise LogError(
            f"Log '{other.name}' has {len(other)} samples, log '{log.name}' {len(log)}; they must have the same time "
            "stamps. Simulate at those of the measured log and filter both alike."
        )


def reversal_weights(robot: Robot, log: Log, *, weight: float = REVERSAL_WEIGHT, width: float = RESTING) -> np.ndarray:
    """Sample weights for `accumulate` that are small at standstill: `1 - (1 - weight) sech^2(v / width)`.

    Where a joint turns round or sticks, friction is the model's weakest part, and errs alike for a whole rest.

    Args:
        robot: degrees of its free base have no friction and keep 1.
        log: with v.
        weight: at standstill, 0 to 1.
        width: half-width of standstill, rad/s or m/s.

    Returns:
        (n, nv) weights.

    Raises:
        OptionError: a weight outside [0, 1].
    """
    require_type(Robot, robot=robot)
    require_type(Log, log=log)
    if not 0 <= weight <= 1:
        raise OptionError(f"The weight of samples near standstill lies between 0 and 1; got {weight!r}.")
    v = np.asarray(log.require("v")[0], dtype=float)
    weights = np.ones_like(v)
    dofs = list(layout_of(robot).dofs)
    weights[:, dofs] = weight + (1 - weight) * np.tanh(v[:, dofs] / width) ** 2
    return weights
