"""The physically consistent starting point of a constrained fit, whatever the model file says."""

import numpy as np

from steelyard.errors import FitError
from steelyard.inertia import pseudo
from steelyard.inertia.parameters import from_com_inertia
from steelyard.model.robot import Robot

NOMINAL_MASS = 1.0  # kg, for a body nothing is known of
NOMINAL_RADIUS = 0.1  # m, radius of gyration of the same
THINNEST = 1e-3  # smallest second moment kept, relative to the largest: thinner than any real link


def consistent_prior(prior, robot: Robot | None, body_count: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """Consistent parameters (nb, 10) of a Robot, an array or None (the robot's own), and notes on every repair."""
    source = robot if prior is None else prior
    theta = source.inertias if isinstance(source, Robot) else source
    if theta is None:
        raise FitError("A physically consistent fit needs a prior: a Robot, or inertial parameters (nb, 10).")
    theta = np.asarray(theta, dtype=float)
    if theta.size != 10 * body_count or not np.isfinite(theta).all():
        raise FitError(f"The prior needs shape ({body_count}, 10) with finite numbers; got {theta.shape}.")
    theta = theta.reshape(body_count, 10)
    names = robot.body_names if robot is not None else [f"body {i}" for i in range(body_count)]
    repaired, notes = np.empty_like(theta), []
    for i, (name, each) in enumerate(zip(names, theta, strict=True)):
        repaired[i], note = _repaired(each)
        if note:
            notes.append(f"Prior of {name}: {note}")
    return repaired, tuple(notes)


def _repaired(theta) -> tuple[np.ndarray, str | None]:
    mass = theta[0]
    if mass <= 0:
        nominal = from_com_inertia(NOMINAL_MASS, np.zeros(3), NOMINAL_MASS * NOMINAL_RADIUS**2 * np.eye(3))
        return nominal, f"the model gives no mass; a nominal {NOMINAL_MASS} kg ball at the joint is used."
    J = pseudo.to_matrix(theta)
    com = J[:3, 3] / mass
    spread, axes = np.linalg.eigh(J[:3, :3] / mass - np.outer(com, com))
    largest = max(spread[-1], NOMINAL_RADIUS**2 * THINNEST)
    if spread[0] >= THINNEST * largest:
        return theta, None
    spread = np.maximum(spread, THINNEST * largest)
    J[:3, :3] = mass * (axes @ np.diag(spread) @ axes.T + np.outer(com, com))
    return pseudo.to_parameters(
        J
    ), "its inertia is not physically consistent or vanishingly thin; the nearest usable one is used."
