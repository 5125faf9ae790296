"""Options of a consistent fit, checked and read: prior, constraints, and what was assumed."""

from dataclasses import dataclass

import numpy as np

from steelyard.errors import OptionError, choices
from steelyard.fit.constraints import (
    Constraint,
    body_constraints,
    bound_constraints,
    effect_bounds,
    fixed_constraints,
    mass_constraints,
    tied_constraints,
)
from steelyard.fit.prior import consistent_prior
from steelyard.fit.volumes import Volumes, around_prior, volumes
from steelyard.fit.weighed import torque_scale
from steelyard.fit.whitening import known_noise
from steelyard.information import Information

REGULARIZERS = ("pullback", "entropic", "euclidean")


@dataclass(frozen=True, eq=False)
class Asked:
    """What a fit is asked for: prior theta0 (nb, 10), what is known, what was assumed, how the prior counts, and the
    noise (g,) of the row groups where it is known."""

    theta0: np.ndarray
    known: tuple[Constraint, ...]
    notes: tuple[str, ...]
    regularizer: str
    weight: float
    noise: np.ndarray | None = None


def asked(
    info: Information,
    *,
    prior=None,
    within=None,
    masses=None,
    fixed=None,
    tied=(),
    bounds=None,
    regularizer: str = "pullback",
    weight: float = 1.0,
    noise=None,
) -> Asked:
    """Options of `consistent` checked and read."""
    if regularizer not in REGULARIZERS:
        raise OptionError(f"Unknown regularizer {regularizer!r}. Choose from {choices(REGULARIZERS)}.")
    if not (np.isfinite(weight) and weight > 0):
        raise OptionError(f"weight is a positive number (it decides what the data leaves open); got {weight!r}.")
    theta0, notes = consistent_prior(prior, info.robot, len(info.layout.bodies))
    held = around_prior(volumes(within, info.robot), theta0, info.layout.bodies, fixed or {})
    known = _known(info, theta0, held, masses or {}, fixed or {}, tied, bounds or {})
    return Asked(theta0, known, (*notes, *held.notes), regularizer, weight, known_noise(info, noise))


def _known(info, theta0, held: Volumes, masses, fixed, tied, bounds) -> tuple[Constraint, ...]:
    """All constraints, equalities first."""
    layout = info.layout
    lower, upper = effect_bounds(layout, bounds)
    size = np.ones(layout.size)
    size[layout.inertial.stop :] = torque_scale(info)
    return (
        *mass_constraints(layout, masses),
        *fixed_constraints(layout, theta0, fixed),
        *tied_constraints(layout, theta0, tied),
        *body_constraints(layout, theta0, held.sets, held.geometric),
        *bound_constraints(layout, lower, upper, size),
    )
