"""Which identifiable combinations this data barely shows."""

import numpy as np

from steelyard.fit.whitening import Whitened
from steelyard.identifiable import Basis
from steelyard.terms import ParameterLayout

# Eigenvalue of the unit-diagonal Gram matrix: a condition of 1e4 of the regressor, where noise drowns the direction.
WEAK = 1e-8


def weak_directions(problem: Whitened, layout: ParameterLayout, basis: Basis) -> tuple[str, ...]:
    """One line a weak direction: the base parameters that carry it, strongest first."""
    names = [layout.names[i] for i in basis.columns]
    lines = []
    for k in np.flatnonzero(problem.eigenvalues <= WEAK * problem.eigenvalues[-1]):
        direction = problem.directions[:, k]
        order = np.argsort(-np.abs(direction))[:4]
        lines.append(" ".join(f"{direction[i]:+.2f} {names[i]}" for i in order if abs(direction[i]) > 0.1))
    return tuple(lines)
