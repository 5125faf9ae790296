"""The empty hand: its own weight, the sensor's bias, and where gravity really points, found together and taken off."""

from dataclasses import dataclass

import numpy as np

from steelyard.cards import Card
from steelyard.errors import FitError, LogError
from steelyard.native import LONG_CHUNK
from steelyard.numbers import SAME
from steelyard.payload.motion_consistency import with_motion
from steelyard.payload.rows import across, aligned, fitted, of_wrench, sample_worth
from steelyard.payload.thresholds import THRESHOLDS
from steelyard.payload.wrench_log import WrenchLog
from steelyard.payload.wrench_problem import WrenchProblem
from steelyard.payload.wrench_sums import unexplained_wrench, wrench_regressor


@dataclass(frozen=True, eq=False, repr=False)
class Tool(Card):
    """An empty hand.

    theta: (10,) of the gripper in the sensor frame.
    bias: (6,) constant wrench, N and N m.
    gravity: (3,) in the world, m/s^2.
    noise: (2,) residual standard deviations of force [N] and torque [N m].
    covariance: (18, 18) of theta, bias and the turns [rad] of gravity about two axes across it; None if not known.
    """

    theta: np.ndarray
    bias: np.ndarray
    gravity: np.ndarray
    noise: np.ndarray
    covariance: np.ndarray | None = None


def calibrate(log: WrenchLog, *, find_gravity: bool = True) -> Tool:
    """Gripper, bias and gravity direction of a log recorded with an empty hand.

    Args:
        log: at least four poses that tilt the sensor about two axes; static ones are enough, and leave the gripper's
            inertia at zero.
        find_gravity: whether its direction is estimated; its magnitude never is, as only its product with the mass
            shows.

    Returns:
        The tool, for `identify(tool=...)`.

    Raises:
        LogError: too few poses, or no gravity.
        FitError: poses that do not tell bias and weight apart.
    """
    if len(log) < THRESHOLDS.fewest_poses:
        raise LogError(
            f"{log.name} has {len(log)} poses; bias and weight of a gripper need at least {THRESHOLDS.fewest_poses}"
        )
    log = with_motion(log, THRESHOLDS.fewest_poses)
    if not np.linalg.norm(log.gravity) > 0:
        raise LogError(f"{log.name} has no gravity; a gripper's weight shows only under gravity")
    rows = of_wrench(log, np.zeros(2))
    bias = rows.constant()
    rows = aligned(rows, bias) if find_gravity else rows
    fit = fitted(rows, bias)
    known = [*range(10 if log.moving else 4), *range(10, 18 if find_gravity else 16)]
    tilts = rows.per_gravity(fit.theta) @ across(rows.gravity) * np.linalg.norm(rows.gravity)
    columns = np.concatenate([rows.columns, bias, tilts], axis=2)[:, :, known]
    scale = np.linalg.norm(columns, axis=(0, 1))
    singular = np.linalg.svd((columns / np.where(scale > 0, scale, 1.0)).reshape(-1, len(known)), compute_uv=False)
    if singular[-1] < SAME * singular[0]:
        raise FitError(
            f"{log.name}: these poses do not tell the bias from the gripper's weight. Tilt the sensor about two axes, "
            "by 90 degrees or more"
        )
    covariance = np.zeros((18, 18))
    covariance[np.ix_(known, known)] = _covariance(columns, fit.residual, fit.noise)
    return Tool(fit.theta, fit.beside, rows.gravity, rows.rms(fit.residual), covariance)


def _covariance(rows, residual, deviation):
    """(m, m) of columns (n, 6, m) fitted to a wrench of deviations (2,), whose residuals (n, 6) remember each other."""
    groups = np.repeat([0, 1], 3)
    deviation = deviation / np.sqrt(max(1 - rows.shape[2] / (6 * len(rows)), 0.1))  # of the degrees that are left
    scale = np.sqrt(np.sum((rows / deviation[groups][:, None]) ** 2, axis=(0, 1)))
    worth = sample_worth(rows / scale, residual, deviation, groups)
    whitened = rows / (deviation * np.sqrt(worth))[groups][:, None] / scale
    return np.linalg.inv(np.einsum("nki,nkj->ij", whitened, whitened)) / np.outer(scale, scale)


def tool_spread(problem: WrenchProblem, theta, covariance, tool: Tool) -> np.ndarray:
    """(10, 10) what a tool's own deviations add to the covariance (10, 10) of a payload theta (10,) found beside it."""
    if tool.covariance is None:
        return np.zeros((10, 10))
    weight, moved = 1 / (problem.noise**2 * problem.memory).repeat(3), np.zeros((10, 18))
    turns = np.linalg.norm(tool.gravity) * across(tool.gravity)
    for start in range(0, len(problem.log), LONG_CHUNK):
        log = problem.log[start : start + LONG_CHUNK]
        Y = wrench_regressor(log)
        tilts = of_wrench(log, np.zeros(2)).per_gravity(tool.theta + theta) @ turns
        rows = np.concatenate([Y, np.broadcast_to(np.eye(6), (len(log), 6, 6)), tilts], axis=2)
        moved += np.einsum("nki,k,nkj->ij", Y, weight, rows)
    return covariance @ moved @ tool.covariance @ moved.T @ covariance


def compensate(log: WrenchLog, tool: Tool) -> WrenchLog:
    """The log without the tool's own wrench and bias: what is left belongs to the payload.

    Args:
        log: with payload.
        tool: from `calibrate`; its gravity replaces the log's.

    Returns:
        The WrenchLog.
    """
    log = log.replace(gravity=tool.gravity)
    return log.replace(wrench=unexplained_wrench(log, tool.theta, tool.bias)).noted(
        f"tool of {tool.theta[0]:.4g} kg and bias {np.array2string(tool.bias, precision=3)} taken off"
    )
