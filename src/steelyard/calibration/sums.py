"""What a fit of joint axes needs from data, in sums: nothing keeps samples."""

from dataclasses import dataclass

import numpy as np

from steelyard.calibration.directions import AxisDirections
from steelyard.dynamics import engine_for, inverse_dynamics_derivatives
from steelyard.information import CHUNK, channels_of, chunk_rows, direction_of, require_tree, rows_of, weights_of
from steelyard.model import Robot
from steelyard.terms import ParameterLayout

STEPS = 8  # sums over the same logs that a calibration usually needs


@dataclass(frozen=True, eq=False)
class AxisSums:
    """Weighted sums over samples for all columns Y (p) and axis directions J (d): `inertial = Y^T Y`, `cross = Y^T J`,
    `axes = J^T J`, `moment = J^T tau`.

    Base columns would not do: between a robot with parallel axes and one whose axes are off by little, their
    regrouping grows without bound.
    """

    inertial: np.ndarray
    cross: np.ndarray
    axes: np.ndarray
    moment: np.ndarray


def axis_sums(
    robot: Robot, layout: ParameterLayout, logs, directions: AxisDirections, z, *, weights, width, sample_weights=None
):
    """Sums over logs for a robot whose axes stand at z (d,), with its inertias the ones to differentiate at.

    weights: (nv,) of the torques; width: coulomb width; sample_weights: a function of a log. Torques are those left
    after effects that are no columns.
    """
    require_tree(robot, "Calibration of axes")
    r, size = layout.size, layout.size + directions.count + 1
    rows, rates = rows_of(robot, layout, np.arange(r)), directions.rates(z)
    gram = np.zeros((size, size))
    engine = engine_for(robot, STEPS * sum(len(log) for log in logs))
    for log in logs:
        q, v, a, tau = channels_of(robot, log, ("q", "v", "a", "tau"))
        signs = direction_of(log, width, layout)
        counted = weights_of(sample_weights, log)
        for start in range(0, len(q), CHUNK):
            part = [x[start : start + CHUNK] for x in (q, v, a, tau, signs)]
            J = turning_columns(robot, rates, *part[:3], engine=engine)
            chunk = tuple(np.ascontiguousarray(x.T) for x in part)
            for dof, (block, torque) in enumerate(chunk_rows(robot, layout, width, rows, chunk)):
                columns = np.concatenate([block, J[:, dof].T, torque[None]])
                places = np.concatenate([rows[dof].places, np.arange(r, size)])
                share = weights[dof] if counted is None else weights[dof] * counted[start : start + CHUNK, dof]
                gram[np.ix_(places, places)] += (columns * share) @ columns.T
    return AxisSums(gram[:r, :r], gram[:r, r:-1], gram[r:-1, r:-1], gram[r:-1, -1])


def turning_columns(robot: Robot, rates, q, v, a, *, engine: str = "auto") -> np.ndarray:
    """(n, nv, d) torque per prior standard deviation of each direction."""
    by_joint = inverse_dynamics_derivatives(robot, q, v, a, engine=engine).dtau_djoint
    return by_joint.reshape(len(q), robot.nv, -1) @ rates.reshape(6 * robot.nj, -1)
