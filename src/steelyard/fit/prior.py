"""The physically consistent starting point of a constrained fit, whatever the model file says."""

import numpy as np

from steelyard.errors import FitError, choices
from steelyard.inertia import from_com_inertia, pseudo
from steelyard.model import Robot
from steelyard.terms import stated_values

NOMINAL_MASS = 1.0  # kg, for a body nothing is known of
NOMINAL_RADIUS = 0.1  # m, radius of gyration of the same
NOMINAL_ROTOR = (0.5, 0.02)  # kg and m, the same for the rotor of a motor
THINNEST = 1e-3  # smallest second moment kept, relative to the largest: thinner than any real link


def consistent_prior(prior, robot: Robot | None, body_count: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """Consistent parameters (body_count, 10) of links, then rotors if the regression has them, and notes on repairs.

    prior: a Robot, an array of the links or None (the robot's own).
    """
    source = robot if prior is None else prior
    theta = source.inertias if isinstance(source, Robot) else source
    links = body_count if robot is None else robot.nb
    rotors = robot.rotors if robot is not None and body_count > links else ()
    if rotors and theta is not None and np.size(theta) == 10 * links:
        stated = source.rotors if isinstance(source, Robot) and source.rotors else rotors
        theta = np.concatenate([np.reshape(theta, (-1, 10)), [rotor.theta for rotor in stated]])
    if theta is None:
        raise FitError("A physically consistent fit needs a prior: a Robot, or inertial parameters (nb, 10).")
    theta = np.asarray(theta, dtype=float)
    if theta.size != 10 * body_count or not np.isfinite(theta).all():
        raise FitError(f"The prior needs shape ({body_count}, 10) with finite numbers; got {theta.shape}.")
    theta = theta.reshape(body_count, 10)
    names = [f"body {i}" for i in range(body_count)]
    if robot is not None:
        names = [*robot.body_names, *(rotor.name for rotor in rotors)]
    repaired, notes = np.empty_like(theta), {}
    for i, (name, each) in enumerate(zip(names, theta, strict=True)):
        repaired[i], note = _repaired(each, *(NOMINAL_ROTOR if i >= links else (NOMINAL_MASS, NOMINAL_RADIUS)))
        if note:
            notes.setdefault(note, []).append(name)
    return repaired, tuple(f"Prior of {choices(named)}: {note}" for note, named in notes.items())


def _repaired(theta, nominal_mass: float, nominal_radius: float) -> tuple[np.ndarray, str | None]:
    mass = theta[0]
    if mass <= 0:
        nominal = from_com_inertia(nominal_mass, np.zeros(3), nominal_mass * nominal_radius**2 * np.eye(3))
        return nominal, f"the model gives no mass; a nominal {nominal_mass} kg ball at its origin is used."
    J = pseudo.to_matrix(theta)
    com = J[:3, 3] / mass
    spread, axes = np.linalg.eigh(J[:3, :3] / mass - np.outer(com, com))
    largest = max(spread[-1], nominal_radius**2 * THINNEST)
    if spread[0] >= THINNEST * largest:
        return theta, None
    spread = np.maximum(spread, THINNEST * largest)
    J[:3, :3] = mass * (axes @ np.diag(spread) @ axes.T + np.outer(com, com))
    return pseudo.to_parameters(
        J
    ), "its inertia is not physically consistent or vanishingly thin; the nearest usable one is used."


def model_parameters(robot, layout) -> np.ndarray:
    """(p,) the values a robot's model states for the columns of a layout (zero for terms that no model states)."""
    values = np.zeros(layout.size)
    values[layout.links] = robot.inertias.ravel()
    if layout.rotor_names:
        values[layout.rotors] = np.concatenate([rotor.theta for rotor in robot.rotors])
    for term, stated in stated_values(robot).items():
        if term in layout.terms:
            values[layout.term(term)] = stated[list(layout.dofs)]
    return values
