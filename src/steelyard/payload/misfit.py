"""What no rigid payload explains of a wrench, with the mistake that would, and what is noise."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from steelyard.log import Finding
from steelyard.log.findings import fatal
from steelyard.payload.causes import causes_of, finding_of, look_at, ranked
from steelyard.payload.gravity_strength import LOOKED_AT, Strength
from steelyard.payload.mistakes import of_wrenches
from steelyard.payload.motion_consistency import streamed
from steelyard.payload.motion_signals import roughness
from steelyard.payload.rows import Rows, fitted, of_wrench
from steelyard.payload.thresholds import THRESHOLDS
from steelyard.payload.wrench_log import WrenchLog

IN_A_ROW = 20000  # samples of which white noise is told
FEWEST = 3  # poses beyond the unknowns of the test of poses
UNTARED = "the sensor was not tared (bias=True, --bias). Beside that, "


def explanation(log: WrenchLog, strength: Strength | None, *, bias: bool = False, noise=None) -> Iterator[Finding]:
    """Findings of a log that a rigid payload does not explain. strength: what the log tells of gravity; bias: a
    constant wrench is fitted beside; noise: (2,) known deviations of force [N] and torque [N m], by default told from
    misfit by their roughness in time."""
    rows = _rows(log, bias, noise)
    look = look_at(rows, rows.constant() if bias else None)
    share, causes = look.plain.share, causes_of(look, of_wrenches(look, strength))
    if (
        not bias
        and share > THRESHOLDS.misfit_with_care
        and not any(each.left < THRESHOLDS.misfit_searched for each in causes)
    ):
        behind = look.behind(rows.constant(), UNTARED)  # a mistake may hide behind a bias
        causes = ranked([*causes, *causes_of(behind, of_wrenches(behind))])
    if causes:
        yield finding_of(causes, share)
    elif strength is not None and strength.right is not None:
        yield fatal(
            "unexplained",
            f"weight and push contradict each other: gravity was given as {strength.given:.3g} m/s^2, and the motion "
            f"shows {strength.right:.3g}, but with that part of the wrench is still left. Does a controller take "
            "weight off, are units and clocks right?",
        )
    elif share > THRESHOLDS.misfit_with_care and (
        rows.streamed or noise is not None or _depends_on_pose(rows, look.plain.residual)
    ):
        remedy = "Is the payload rigid and held firmly, does nothing touch it, are frames, units and clocks right?"
        if not rows.streamed and noise is None:
            remedy += " If that is noise of the sensor, say how much: noise=(N, N m) (--noise)"
        yield Finding(
            "unexplained",
            "fatal" if share > THRESHOLDS.unexplained else "warning",
            f"no rigid payload explains {100 * share:.0f} % of the wrench, and no known mistake does. {remedy}",
        )


def _rows(log: WrenchLog, bias: bool, noise) -> Rows:
    thinned = of_wrench(log.thinned(LOOKED_AT), np.zeros(2))
    middle = max(0, (len(log) - IN_A_ROW) // 2)
    white = white_noise(log[middle : middle + IN_A_ROW], bias)
    return replace(thinned, noise=white if noise is None else np.maximum(noise, white))


def white_noise(log: WrenchLog, bias: bool = False) -> np.ndarray:
    """(2,) deviations of force and torque that differ from sample to sample; zero for poses held at rest, where noise
    and misfit look alike."""
    if not streamed(log) or len(log) < 4:
        return np.zeros(2)
    rows = of_wrench(log, np.zeros(2))
    residual = fitted(rows, rows.constant() if bias else None).residual
    return np.array([roughness(residual[:, :3]), roughness(residual[:, 3:])])


def _depends_on_pose(rows: Rows, residual) -> bool:
    """Whether residuals of poses at rest go with how the sensor is turned, as those of wrong frames, gravity or a hose
    do and noise does not: an F test of a constant and the rotation's entries. So it is assumed of too few poses."""
    from scipy.special import fdtrc

    assert rows.log is not None
    X = np.column_stack([np.ones(len(rows)), rows.log.rotation.reshape(-1, 9)])
    u, s, _ = np.linalg.svd(X, full_matrices=False)
    along = u[:, s > 1e-9 * s[0]]
    rank, free = along.shape[1], len(rows) - along.shape[1]
    if free < FEWEST:
        return True
    residual = residual / np.maximum(rows.rms(residual), 1e-12)[rows.groups]
    inside = float(np.sum((along.T @ residual) ** 2))
    degrees = 6 * rank - 4, 6 * free  # gravity shows four parameters, which are fitted
    ratio = (inside / degrees[0]) / max((float(np.sum(residual**2)) - inside) / degrees[1], 1e-300)
    return bool(fdtrc(*degrees, ratio) < THRESHOLDS.chance)
