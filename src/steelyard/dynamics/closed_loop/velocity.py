"""Closed loops at velocity and acceleration level: `v = Gamma(q) v_independent` (paper D, (12)) and its rates."""

from dataclasses import dataclass

import numpy as np

from steelyard.dynamics.closed_loop.choice import Choice
from steelyard.dynamics.closed_loop.constraint import Placed, constants, jacobian, jacobian_rate, placed
from steelyard.errors import SingularConfigurationError
from steelyard.model import Robot

SINGULAR = 1e-7  # clearance at which the passive joints count as lost


@dataclass(frozen=True, eq=False)
class Transmission:
    """What the independent coordinates do to all others at n configurations.

    K (n, m, nv): the constraints' Jacobian. gamma (n, nv, ni): `v = gamma v_independent`. passive (n, nd, m): dependent
    coordinates per unit of each constraint equation. clearance (n,): smallest over largest singular value of K in the
    dependent coordinates; 0 is a singular configuration. loose (n, nd): the dependent motion nearest to being free.
    """

    at: Placed
    K: np.ndarray
    gamma: np.ndarray
    passive: np.ndarray
    clearance: np.ndarray
    loose: np.ndarray


def transmission(robot: Robot, choice: Choice, q) -> Transmission:
    """Transmission at closed configurations q (n, nq); use `clearance` before trusting it."""
    at = placed(robot, q)
    K = jacobian(robot, at)
    sizes = constants(robot).sizes[choice.dependent]
    U, s, Vt = np.linalg.svd(K[..., choice.dependent] * sizes, full_matrices=False)
    with np.errstate(divide="ignore"):
        inverse = np.where(s > 0, 1 / s, 0.0)
    passive = sizes[:, None] * (np.swapaxes(Vt, 1, 2) @ (inverse[..., None] * np.swapaxes(U, 1, 2)))
    gamma = np.zeros((len(q), robot.nv, len(choice.independent)))
    gamma[:, choice.independent, np.arange(len(choice.independent))] = 1.0
    gamma[:, choice.dependent] = -passive @ K[..., choice.independent]
    if not s.shape[1]:
        return Transmission(at, K, gamma, passive, np.ones(len(q)), np.zeros((len(q), 0)))
    clearance = s[:, -1] / np.maximum(s[:, 0], np.finfo(float).tiny)
    return Transmission(at, K, gamma, passive, clearance, Vt[:, -1])


def require_regular(robot: Robot, choice: Choice, held: Transmission):
    """Raise SingularConfigurationError where the dependent coordinates are not determined."""
    if not held.clearance.size or held.clearance.min() > SINGULAR:
        return
    worst = int(np.argmin(held.clearance))
    raise SingularConfigurationError(
        f"Robot '{robot.name}' is at a singular configuration (sample {worst}): with {', '.join(choice.names)} held, "
        f"passive joint '{loosest(robot, choice, held, worst)}' can still move (smallest singular value "
        f"{held.clearance[worst]:.1e} of the largest; {choice.clearance:.1e} where it was assembled, {SINGULAR:.0e} is "
        "the limit). Leave such samples out, or choose other independent joints."
    )


def loosest(robot: Robot, choice: Choice, held: Transmission, sample: int) -> str:
    """Name of the passive coordinate that moves most where the passive joints are least held."""
    return robot.dof_names[choice.dependent[int(np.argmax(np.abs(held.loose[sample])))]]


def rate(robot: Robot, choice: Choice, held: Transmission, u, v, acceleration=None):
    """Dependent part (n, nv, k) of `-passive (K' v + K acceleration)`, with K' the change of K along u."""
    terms = jacobian_rate(robot, held.at, u, v)
    if acceleration is not None:
        terms = terms + held.K @ acceleration
    out = np.zeros((*terms.shape[:1], robot.nv, terms.shape[2]))
    out[:, choice.dependent] = -held.passive @ terms
    return out


def accelerations(robot: Robot, choice: Choice, held: Transmission, v, a):
    """All accelerations (n, nv) from velocities (n, nv) of closed loops and independent accelerations (n, ni)."""
    bias = rate(robot, choice, held, v[..., None], v[..., None])
    return (held.gamma @ a[..., None] + bias)[..., 0]
