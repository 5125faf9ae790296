"""Whether data tells how heavy bodies are, or only ratios: information about one common factor of their parameters."""

import numpy as np

from steelyard.fit.homogeneous import Ratios
from steelyard.fit.whitening import Whitened
from steelyard.information import Information
from steelyard.terms import ParameterLayout

LOST = 9.0  # weighted cost of taking the bodies away; below it their common factor is uncertain by more than a third
UNSEEN = 1e-12  # share of a body's torque energy that is rounding
SETTLED = 1e-6  # change of scaled parameters that what is known leaves no room for


def scale_is_lost(problem: Whitened, info: Information, found: Ratios, parameters, directions=None) -> bool:
    """Whether data leaves open the scale of all bodies, or the mass of those that only rows without torque see.

    problem: whitened data with `found`, what its homogeneous rows are, of an Information; parameters: (p,) estimate;
    directions: (p, k) in which what is known lets parameters move, by default all.
    """
    layout, base = info.layout, info.basis.regrouping
    count = layout.inertial.stop // 10
    bodies = np.zeros((count, layout.size))
    for i in range(count):
        bodies[i, layout.body(i)] = parameters[layout.body(i)]
    energy = np.array([info.base.squares.forms(base @ each) for each in bodies]).reshape(count, len(info.counts))
    measured, silent = energy[:, ~found.groups].sum(axis=1), energy[:, found.groups].sum(axis=1)
    alone = (silent > 0) & (measured <= UNSEEN * silent)
    masses = np.zeros(layout.size)
    masses[[layout.body(i).start for i in range(count) if alone[i]]] = 1.0
    return any(
        _information(problem, layout, base, scaled) < LOST
        for scaled in (bodies.sum(axis=0), masses * parameters)
        if (base @ scaled).any() and _is_free(scaled, directions)
    )


def _information(problem: Whitened, layout: ParameterLayout, base, scaled) -> float:
    """Weighted cost of taking bodies away, scaled (p,), when friction and all else that is no body makes up for it."""
    effects = problem.R @ base[:, layout.inertial.stop :]
    target = problem.R @ (base @ scaled)
    size = np.linalg.norm(effects, axis=0)
    seen = effects[:, size > 0] / size[size > 0]
    left = target - seen @ np.linalg.lstsq(seen, target)[0]
    return float(left @ left)


def _is_free(scaled, directions) -> bool:
    """Whether parameters may be multiplied by a factor."""
    if directions is None:
        return True
    size = np.linalg.norm(directions, axis=1)
    kept = size > 0
    if scaled[~kept].any():
        return False
    unit, wanted = directions[kept] / size[kept, None], scaled[kept] / size[kept]
    left = wanted - unit @ np.linalg.lstsq(unit, wanted)[0]
    return bool(np.linalg.norm(left) <= SETTLED * np.linalg.norm(wanted))
