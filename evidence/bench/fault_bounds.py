"""How well a log with a mistake can tell a robot at all: torque error of an unbiased efficient estimator on another
motion, over that from the clean log. `sqrt(tr(H C))`, with C the inverse of the Fisher information of the samples that
are left and H the sum of outer products of the other motion's rows (Cramer and Rao).
"""

import numpy as np

import steelyard as sy
from steelyard.diagnose.regression import Regression
from steelyard.fit.drive_calibration import Load, _linear, _parts
from steelyard.information import accumulate
from steelyard.information.regression_rows import direction_of

SINGULAR = 1e-13  # of the largest eigenvalue at unit diagonal: what is smaller no torque shows, here or there
NOTHING = 1e-9  # of the largest entry: torque does not change with that position
VALIDATION = 0.3  # share of a log at its end that a fit is not shown
OPTIONS = {"friction": ("viscous", "coulomb", "offset"), "armature": True}


class Bounds:
    """Of one arm. truth: the robot; raw: its log without noise; judge: the other motion; noise: of torques over RMS."""

    def __init__(self, truth: sy.Robot, raw: sy.Log, judge: sy.Log, noise: float = 0.01):
        self.truth, self.raw, self.noise = truth, raw, noise
        self.judge = judge
        self.judged = self.information(judge).gram.sum(axis=0)
        self.clean = self.error(self.covariance(raw))

    def information(self, log: sy.Log, weights=None):
        log = log if weights is None else log.replace(weights=weights)
        return accumulate(self.truth, log, **OPTIONS).base

    def covariance(self, log: sy.Log, weights=None, *, deviation=None) -> np.ndarray:
        """Of base parameters. weights: (n, nv), 0 for torques that are lost; deviation (nv,) of the noise."""
        used = slice(0, round((1 - VALIDATION) * len(log)))
        deviation = self.deviation(log) if deviation is None else deviation
        info = self.information(log[used], None if weights is None else weights[used])
        return inverse(np.tensordot(1 / deviation**2, info.gram, axes=1))

    def deviation(self, log: sy.Log) -> np.ndarray:
        (tau,) = log.require("tau")
        return self.noise * np.sqrt(np.mean(tau**2, axis=0))

    def error(self, covariance) -> float:
        return float(np.sqrt(np.sum(self.judged * covariance)))

    def kept(self, log: sy.Log, weights=None) -> float:
        """Of a log that has lost samples, or torques."""
        return self.error(self.covariance(log, weights)) / self.clean

    def offset(self, joint: int) -> tuple[float, float]:
        """Of a log with an unknown offset of a position: for positions read alike, and for true ones."""
        used = self.raw[: round((1 - VALIDATION) * len(self.raw))]
        rows, rate = self._rows(used, joint)
        if np.abs(rate).max() < NOTHING * np.abs(rows).max():
            return 1.0, 1.0
        weighted = np.concatenate([rows, rate], axis=2) / self.deviation(self.raw)[:, None, None]
        C = inverse(np.einsum("jna,jnb->ab", weighted, weighted))
        there = np.concatenate(self._rows(self.judge, joint), axis=2)
        alike = np.sqrt(np.einsum("jna,ab,jnb->", there, C, there, optimize=True))
        return float(alike) / self.clean, self.error(C[:-1, :-1]) / self.clean

    def _rows(self, log: sy.Log, joint: int) -> tuple[np.ndarray, np.ndarray]:
        info = self.information(log)
        q, v, a = log.require("q", "v", "a")
        direction = direction_of(log, info.coulomb_width, info.layout)
        regression = Regression(
            self.truth, info.layout, info.coulomb_width, q, v, a, direction, believed=np.ones((1, 1))
        )
        rate = sy.inverse_dynamics_derivatives(self.truth, q, v, a).dtau_dq[:, :, [joint]]
        return regression.rows, np.swapaxes(rate, 0, 1)

    def currents(self, gains, loaded: sy.Log, mass: float) -> float:
        """Of logs of currents, one of them with a known mass on the last link. loaded: without noise."""
        used = self.raw[: round((1 - VALIDATION) * len(self.raw))]
        infos = [self.information(log.replace(tau=log.tau / gains)) for log in (used, loaded)]
        parts = _parts(infos[0], {}, [Load(infos[1], self.truth.body_names[-1], mass)])
        z, found = _linear(parts)  # exact, as there is no noise
        N = 0.0
        for part, log in zip(parts, (self.raw, loaded), strict=True):
            weight, beta = 1 / (self.deviation(log) / gains) ** 2, part.known + part.unknown @ z
            slope = weight / found * (part.info.gram @ beta).T
            own = np.tensordot(weight / found**2, part.info.gram, axes=1)
            across = part.unknown.T @ slope
            N = N + np.block(
                [
                    [part.unknown.T @ own @ part.unknown, across],
                    [across.T, np.diag(weight * ((part.info.gram @ beta) @ beta))],
                ]
            )
        space, count = parts[0].unknown, parts[0].unknown.shape[1]
        return self.error(space @ inverse(N)[:count, :count] @ space.T) / self.clean


def inverse(matrix) -> np.ndarray:
    """Inverse of a positive matrix at unit diagonal, on what is not singular."""
    size = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    values, axes = np.linalg.eigh(matrix / size / size[:, None])
    kept = values > SINGULAR * values[-1]
    return ((axes[:, kept] / values[kept]) @ axes[:, kept].T) / size / size[:, None]
