"""Products of a log's regression with that of other motion at the same samples."""

from dataclasses import dataclass

import numpy as np

from steelyard.errors import FitError, LogError
from steelyard.information.engines import CHUNK
from steelyard.information.raw import raw_columns
from steelyard.information.rows import channels_of, chunk_rows, direction_of, require_tree, rows_of, weights_of
from steelyard.information.squares import Squares
from steelyard.information.sums import Information
from steelyard.log import Log


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

    info: names the robot, its columns and their options. Raises LogError when the samples differ.
    """
    robot, layout, width = info.robot, info.layout, info.coulomb_width
    require_tree(robot, "Products of logs")
    if robot is None or info.group_names != robot.dof_names:
        raise FitError("This Information does not hold joint torques of a robot, so logs have no products of it.")
    require_same_samples(log, other)
    raw = raw_columns(robot, layout, info.basis.columns)
    rows = rows_of(raw.robot, raw.layout, raw.columns)
    measured = (*channels_of(robot, log, ("q", "v", "a", "tau")), direction_of(log, width, layout))
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
    """Raise LogError unless two logs have the same time stamps."""
    if len(log) != len(other) or np.abs(log.t - other.t).max(initial=0.0) > 1e-6:
        raise LogError(
            f"Log '{other.name}' has {len(other)} samples, log '{log.name}' {len(log)}; they must have the same time "
            "stamps. Simulate at those of the measured log and filter both alike."
        )
