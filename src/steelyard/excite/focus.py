"""Which unknowns of an experiment count, and what of them measurements can show."""

import numpy as np

from steelyard.errors import OptionError, choices
from steelyard.identifiable import Basis
from steelyard.model import Robot
from steelyard.terms import ParameterLayout

SEEN = 1e-9  # share of the largest below which a combination is rounding


def unknowns_of(robot: Robot, layout: ParameterLayout, basis: Basis, focus) -> tuple[np.ndarray, np.ndarray]:
    """Columns that are unknown, and which of them count."""
    everything = np.arange(layout.size)
    if focus is None:
        return everything, everything
    if focus == "payload":
        last = everything[layout.body(robot.nb - 1)]
        return last, last
    wanted: list[int] = []
    for name in (focus,) if isinstance(focus, str) else focus:
        if name == "friction":
            wanted += range(layout.inertial.stop, layout.size)
        elif name in layout.body_names:
            wanted += range(*layout.body(layout.body_names.index(name)).indices(layout.size))
        elif name in layout.names:
            wanted.append(_visible(layout, basis, name))
        else:
            raise OptionError(
                f"focus: '{name}' is neither 'payload', 'friction', a body ({choices(layout.body_names)}) nor one of "
                "their parameters, such as link2.Ixx."
            )
    if not wanted:
        raise OptionError("focus: nothing is left to be known; name bodies, parameters, 'friction' or 'payload'.")
    return everything, np.unique(wanted)


def _visible(layout: ParameterLayout, basis: Basis, name: str) -> int:
    column = layout.names.index(name)
    if not np.any(np.abs(basis.regrouping[:, column]) > 1e-9):
        raise OptionError(
            f"focus: joint torques can never show {name}, whatever the motion. Leave it out, or measure more: "
            "`steelyard analyze MODEL --explain all` says which sensor would show it."
        )
    if np.abs(basis.null_space[column]).max(initial=0.0) > 1e-9:
        raise OptionError(
            f"focus: joint torques never show {name} on its own, only in combinations, so its value is more than the "
            f"sensors can see. Name the whole body, or see `steelyard analyze MODEL --explain {name.split('.')[0]}`."
        )
    return column


def whitened(spread) -> tuple[np.ndarray, np.ndarray]:
    """Spread (r, c) of c <= p unknowns with unit prior that make up all that shows of p, and these in units of the p
    (p, c), orthonormal columns. spread: (r, p)."""
    size = np.linalg.norm(spread, axis=1)
    _, singular, Vt = np.linalg.svd(spread / np.where(size > 0, size, 1.0)[:, None], full_matrices=False)
    directions = Vt[singular > SEEN * singular[0]].T
    return spread @ directions, directions
