"""Payloads that are loose inside or tied to the base: contents that slide, cables and hoses that pull."""

import numpy as np

from steelyard.payload.misfit_causes import Cause, Look
from steelyard.payload.rows import Fit, better, fitted
from steelyard.payload.thresholds import THRESHOLDS
from steelyard.payload.wrench_log import WrenchLog
from steelyard.spatial import cross

PULLS = 0.05  # share of the wrench: lags of a motion filter look like a spring of less
STEPS = 3  # of the alternating fit of a force and its point
LOOSE = 0.85  # of the residual moment: contents that slide leave less once they may
SLIDES = 0.001  # m, RMS: what slides less is rigid
SURE = 8.0  # deviations of one of the nine numbers of that moment: a motion filter's lag comes to 3
FEWEST = 40  # samples that tell contents that slide from chance


def pulled(look: Look) -> Cause | None:
    """A cable, hose or spring from the base: a force that is constant in the world, and changes with the sensor's
    place, at one point of the payload. Its twelve numbers and its point in turn."""
    rows = look.rows
    if rows.log is None or not rows.moving or look.plain.share < PULLS:
        return None
    point, fit, columns = np.zeros(3), look.plain, _from_base(rows.log, np.zeros(3))
    for _ in range(STEPS):
        fit = fitted(rows, np.concatenate([look.beside, columns], axis=2))
        force = columns[:, :3] @ fit.beside[-columns.shape[2] :]
        levers = np.zeros((len(rows), 6, 3))
        levers[:, 3:] = np.cross(np.eye(3)[None], force[:, None]).swapaxes(1, 2)
        point = point + fitted(rows, np.concatenate([look.beside, columns, levers], axis=2)).beside[-3:]
        columns = _from_base(rows.log, point)
    fit = fitted(rows, np.concatenate([look.beside, columns], axis=2))
    size = float(np.sqrt(np.mean(np.sum((columns[:, :3] @ fit.beside[-columns.shape[2] :]) ** 2, axis=1))))
    words = (
        f"a force from the base of about {size:.2g} N pulls at the payload, as a cable, hose or spring does: fasten it "
        "to the wrist, or take it off, and record again."
    )
    return Cause("a cable or hose that pulls", words, fit.share, columns.shape[2] + 3, fit)


def _from_base(log: WrenchLog, point) -> np.ndarray:
    """(n, 6, 3 or 12) wrench of forces of 1 N along the axes of the world at a point (3,) of the sensor frame, and of
    forces that grow by 1 N for each m of the sensor's place along each axis."""
    force = log.rotation.transpose(0, 2, 1)
    moment = cross(np.asarray(point), force.transpose(0, 2, 1)).transpose(0, 2, 1)
    constant = np.concatenate([force, moment], axis=1)
    if log.position is None:
        return constant
    place = log.position - log.position.mean(axis=0)
    return np.concatenate([constant, *(constant * place[:, axis, None, None] for axis in range(3))], axis=2)


def sliding(look: Look) -> Cause | None:
    """Contents that slide or swing inside: a first moment that follows the direction of gravity in the sensor. Only
    what moves across gravity shows."""
    rows, mass = look.rows, float(look.plain.theta[0])
    if rows.log is None or not mass > 0 or len(rows) < FEWEST or not np.linalg.norm(rows.gravity) > 0:
        return None
    down = rows.log.gravity_in_sensor / np.linalg.norm(rows.gravity)
    columns = np.einsum("nki,nj->nkij", rows.columns[:, :, 1:4], down).reshape(len(rows), -1, 9)
    fit = fitted(rows, np.concatenate([look.beside, columns], axis=2))
    moved = down @ fit.beside[-9:].reshape(3, 3).T / mass
    across = moved - np.sum(moved * down, axis=1)[:, None] * down
    way = float(np.sqrt(np.mean(np.sum((across - across.mean(axis=0)) ** 2, axis=1))))
    if not _sure(look.plain, fit) or way < SLIDES:
        return None
    words = (
        f"the centre of mass follows gravity by about {1e3 * way:.2g} mm: contents slide or swing inside. Fix them, or "
        "take mass and centre as a mean."
    )
    return Cause("contents that slide inside", words, fit.share, 9, noise=fit.noise, certain=True)


def _sure(plain: Fit, fit: Fit) -> bool:
    """Whether the fit with contents that slide explains significantly and considerably more of the moments."""
    deviations = np.abs(fit.beside[-9:]) / np.maximum(fit.deviation[-9:], 1e-300)
    considerable = fit.noise[1] < LOOSE * plain.noise[1] and deviations.max() > SURE
    return considerable and better(plain, fit) > THRESHOLDS.surely_better + 4 * 9
