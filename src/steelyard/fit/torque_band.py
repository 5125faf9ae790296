"""How far measured torques may be from predicted ones: uncertain parameters and residual noise together."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.cards import Card
from steelyard.errors import FitError, OptionError, choices
from steelyard.fit.confidence import Uncertainty
from steelyard.information import CHUNK, chunk_rows, raw_columns, rows_of


@dataclass(frozen=True, eq=False, repr=False)
class TorqueBand(Card):
    """Predicted torques and what they may be off by, each (..., nv) in N m or N.

    parameter: standard deviation that uncertain parameters cause; noise: (nv,) of the residuals of the fit. deviation
    has both; a new measurement lies in [lower, upper] with the probability asked for.
    """

    torque: np.ndarray
    parameter: np.ndarray
    noise: np.ndarray
    quantile: float

    @property
    def deviation(self) -> np.ndarray:
        return np.hypot(self.parameter, self.noise)

    @property
    def lower(self) -> np.ndarray:
        return self.torque - self.quantile * self.deviation

    @property
    def upper(self) -> np.ndarray:
        return self.torque + self.quantile * self.deviation


@dataclass(frozen=True, eq=False, repr=False)
class TorquePredictor(Card):
    """Torque bands for states of the robot that was identified, one at a time or many.

    level: probability that a new measurement, filtered as the log was, lies in its band.
    """

    uncertainty: Uncertainty
    level: float = 0.95

    def __post_init__(self):
        if not 0 < self.level < 1:
            raise OptionError(f"level={self.level}: the probability of a band lies between 0 and 1.")
        self.uncertainty.estimate.require_robot()

    @cached_property
    def _noise(self) -> np.ndarray:
        """(nv,) noise of every degree."""
        estimate = self.uncertainty.estimate
        known = dict(zip(estimate.group_names, self.uncertainty.noise, strict=True))
        names = estimate.require_robot().dof_names
        missing = [name for name in names if name not in known]
        if missing:
            raise FitError(
                f"The fit had no torques of {choices(missing)}, so their noise is unknown; it had "
                f"{choices(estimate.group_names)}. Fit rows of joints."
            )
        return np.array([known[name] for name in names])

    @cached_property
    def _raw(self):
        """What the dynamics computes: its columns, rows of every degree, values (k,) and a root (k, r) of their
        covariance."""
        estimate = self.uncertainty.estimate
        raw = raw_columns(estimate.require_robot(), estimate.layout, estimate.basis.columns)
        values, axes = np.linalg.eigh(self.uncertainty.covariance)
        base, root = estimate.base, axes * np.sqrt(np.maximum(values, 0.0))
        if raw.mixing is not None:
            base, root = raw.mixing @ base, raw.mixing @ root
        return raw, rows_of(raw.robot, raw.layout, raw.columns), base, root

    def __call__(self, q, v, a, *, direction=None) -> TorqueBand:
        """Band at q (..., nq), v, a (..., nv). direction: (..., nv) filtered direction of motion, if the log had one
        (`information.direction_of`).

        Memory does not grow with the number of states but for the result.
        """
        from scipy.special import ndtri

        robot = self.uncertainty.estimate.require_robot()
        q, v, a = (np.asarray(x, dtype=float) for x in (q, v, a))
        if q.shape[-1] != robot.nq or v.shape[-1] != robot.nv or a.shape != v.shape:
            raise OptionError(
                f"States have shapes {q.shape}, {v.shape}, {a.shape}; robot '{robot.name}' has {robot.nq} positions, "
                f"{robot.nv} velocities and as many accelerations."
            )
        batch = v.shape[:-1]
        q, v, a = q.reshape(-1, robot.nq), v.reshape(-1, robot.nv), a.reshape(-1, robot.nv)
        width = self.uncertainty.estimate.coulomb_width
        direction = np.tanh(v / width) if direction is None else np.reshape(direction, (len(v), -1))
        torque, parameter = np.empty(v.shape), np.empty(v.shape)
        for start in range(0, len(v), CHUNK):
            part = slice(start, start + CHUNK)
            torque[part], parameter[part] = self._chunk(*(x[part] for x in (q, v, a, direction)))
        shape = (*batch, robot.nv)
        quantile = float(ndtri((1 + self.level) / 2))
        return TorqueBand(torque.reshape(shape), parameter.reshape(shape), self._noise, quantile)

    def _chunk(self, q, v, a, direction):
        raw, rows, base, root = self._raw
        chunk = tuple(np.ascontiguousarray(x.T) for x in (q, v, a, np.zeros_like(v), direction))
        torque, parameter = np.empty(v.shape), np.empty(v.shape)
        pairs = chunk_rows(raw.robot, raw.layout, self.uncertainty.estimate.coulomb_width, rows, chunk)
        for dof, (columns, missing) in enumerate(pairs):  # missing: minus the torque of what is no column
            places = rows[dof].places
            torque[:, dof] = columns.T @ base[places] - missing
            parameter[:, dof] = np.linalg.norm(columns.T @ root[places], axis=1)
        return torque, parameter
