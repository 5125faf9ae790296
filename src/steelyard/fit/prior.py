"""The prior of a fit: consistent bodies whatever the model file says, and how far from them counts how much."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from steelyard.arguments import as_array
from steelyard.errors import FitError, choices
from steelyard.fit.thresholds import THRESHOLDS
from steelyard.inertia import cones, from_com_inertia, pseudo
from steelyard.information import Information
from steelyard.model import Robot
from steelyard.numbers import NOTICED
from steelyard.terms import stated_values

NOMINAL_LINK = (1.0, 0.1)  # kg and m, mass and radius of gyration of a body nothing is known of
EFFECT_SPREAD = THRESHOLDS.effect_spread
NOMINAL_ROTOR = (0.5, 0.02)  # kg and m, the same for the rotor of a motor
TRIANGLES = cones.units(4)  # (10, 4, 4) orthonormal symmetric matrices


@dataclass(frozen=True, eq=False)
class Moved:
    """How far unknowns w (k,) move bodies from the prior, each `constant + change @ w`.

    relative: of the second moments relative to the prior's, ten a body (see `program.Program`).
    """

    relative: tuple[np.ndarray, np.ndarray]
    absolute: tuple[np.ndarray, np.ndarray]  # of the inertial parameters in SI units


@dataclass(frozen=True)
class Regularizer:
    """A way in which bodies far from the prior cost. One record is all that another one needs.

    squares: (Moved, weight) to the squared norms of the cost, each as (root of its weight, constant, change).
    """

    name: str
    meaning: str
    squares: Callable[[Moved, float], list[tuple]]
    divergence: float = 0.0  # share of the weight with which `tr Y - log det(1 + Y)` of every body is added, a barrier


def _pullback(moved: Moved, weight: float) -> list[tuple]:
    return [(np.sqrt(weight / 2), *moved.relative)]


def _euclidean(moved: Moved, weight: float) -> list[tuple]:
    return [(np.sqrt(weight / 2), *moved.absolute), (np.sqrt(THRESHOLDS.euclidean_pullback / 2), *moved.relative)]


def _nothing(moved: Moved, weight: float) -> list[tuple]:
    return []


REGULARIZERS = {
    each.name: each
    for each in (
        Regularizer("pullback", "quadratic in the relative change of second moments, free of frames", _pullback),
        Regularizer("entropic", "divergence of mass distributions, never on the boundary", _nothing, divergence=1.0),
        Regularizer("euclidean", "differences of parameters in SI units", _euclidean),
    )
}


def consistent_prior(prior, robot: Robot | None, body_count: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """(body_count, 10) physically consistent parameters of links, then rotors if the regression has them, and notes on
    repairs. prior: a Robot, an array (nb, 10) of the links or None (the robot's own)."""
    source = robot if prior is None else prior
    theta = source.inertias if isinstance(source, Robot) else source
    links = body_count if robot is None else robot.nb
    rotors = robot.rotors if robot is not None and body_count > links else ()
    if rotors and theta is not None and np.size(theta) == 10 * links:
        stated = source.rotors if isinstance(source, Robot) and source.rotors else rotors
        theta = np.concatenate([np.reshape(theta, (-1, 10)), [rotor.theta for rotor in stated]])
    if theta is None:
        raise FitError("A physically consistent fit needs a prior: a Robot, or inertial parameters (nb, 10).")
    theta = as_array("prior", theta)
    if theta.size != 10 * body_count or not np.isfinite(theta).all():
        raise FitError(f"The prior needs shape ({body_count}, 10) with finite numbers; got {theta.shape}.")
    theta = theta.reshape(body_count, 10)
    names = [f"body {i}" for i in range(body_count)]
    if robot is not None:
        names = [*robot.body_names, *(rotor.name for rotor in rotors)]
    repaired, notes = np.empty_like(theta), {}
    for i, (name, each) in enumerate(zip(names, theta, strict=True)):
        repaired[i], note = _repaired(each, *(NOMINAL_ROTOR if i >= links else NOMINAL_LINK))
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
    largest = max(spread[-1], nominal_radius**2 * THRESHOLDS.thinnest)
    if spread[0] >= THRESHOLDS.thinnest * largest:
        return theta, None
    spread = np.maximum(spread, THRESHOLDS.thinnest * largest)
    J[:3, :3] = mass * (axes @ np.diag(spread) @ axes.T + np.outer(com, com))
    return pseudo.to_parameters(
        J
    ), "its inertia is not physically consistent or vanishingly thin; the nearest usable one is used."


def model_parameters(robot, layout) -> np.ndarray:
    """(p,) values that a robot's model states for the columns of a layout, zero for terms that no model states."""
    values = np.zeros(layout.size)
    values[layout.links] = robot.inertias.ravel()
    if layout.rotor_names:
        values[layout.rotors] = np.concatenate([rotor.theta for rotor in robot.rotors])
    for term, stated in stated_values(robot).items():
        if term in layout.terms:
            values[layout.term(term)] = stated[list(layout.dofs)]
    return values


def prior_parameters(info: Information, theta0) -> np.ndarray:
    """(p,) parameters of a prior theta0 (nb, 10), and the model's friction and armature."""
    start = np.zeros(info.layout.size) if info.robot is None else model_parameters(info.robot, info.layout)
    start[info.layout.inertial] = np.ravel(theta0)
    return start


def congruence(theta0) -> np.ndarray:
    """(..., 10, 10) matrix that gives theta of `L Y L^T` for the coordinates y of Y, with `J0 = L L^T` of theta0 (...,
    10). L is upper triangular: the mass is a multiple of one entry of Y alone, so that a known mass is met however
    large the other moments are."""
    J = pseudo.to_matrix(theta0)
    return cones.relative_basis(np.linalg.cholesky(J[..., ::-1, ::-1])[..., ::-1, ::-1])


def prior_precision(info: Information, *, prior=None, weight: float = 1.0) -> np.ndarray:
    """(p, p) quadratic form, about its prior, of what `consistent` with the pullback regularizer adds to the residual.
    Raises FitError without a usable prior."""
    layout = info.layout
    theta0, _ = consistent_prior(prior, info.robot, len(layout.bodies))
    precision = np.zeros((layout.size, layout.size))
    for i, theta in enumerate(theta0):
        inverse = np.linalg.inv(congruence(theta))
        precision[layout.body(i), layout.body(i)] = weight / 2 * inverse.T @ inverse
    effects = np.arange(layout.inertial.stop, layout.size)
    precision[effects, effects] = effect_pull(info, weight) ** 2
    return precision


def effect_pull(info: Information, weight: float) -> np.ndarray:
    """(e,) square root of the prior's precision for friction, armature and extras."""
    return np.sqrt(weight) / (EFFECT_SPREAD * effect_scale(info))


def noticed(rms) -> np.ndarray:
    """RMS torques (k,), each at least the share of the largest that a joint counts for."""
    return np.maximum(rms, max(NOTICED * rms.max(initial=0.0), np.finfo(float).tiny))


def degree_torques(info: Information) -> np.ndarray:
    """RMS torque of each degree, as of `noticed`; of a raw regression whose rows are other than degrees, the
    largest."""
    rms = info.rms if info.robot is None else info.degree_rms
    count = max([*info.layout.dofs, -1]) + 1
    return noticed(rms if len(rms) >= count else np.full(count, rms.max(initial=0.0)))


def effect_scale(info: Information) -> np.ndarray:
    """Size of each effect parameter that makes up the torque of its joint, (number of effects,).

    Those of friction, armature, couplings and springs have units of their own: the RMS torque of the joint, over one
    unit. A column of the user is in any unit: that torque over the RMS of the column in the data, so that none matters.
    """
    layout, per_dof = info.layout, degree_torques(info)
    extras = np.array([per_dof[list(extra.dofs)].max() for extra in layout.extras])
    for i, extra in enumerate(layout.extras):
        if extra.kind == "user":
            squares = info.base.squares.forms(info.basis.regrouping[:, layout.extra.start + i])
            extras[i] /= float(np.sqrt((squares / np.maximum(info.counts, 1)).max(initial=0.0))) or 1.0
    return np.concatenate([np.tile(per_dof[list(layout.dofs)], len(layout.terms)), extras])
