"""Facts about bodies that are stated before any log, as rows of parameters: what says a size, and what only ratios."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from steelyard.errors import OptionError, choices
from steelyard.inertia import from_com_inertia, to_com_inertia
from steelyard.terms import ParameterLayout

ALL = "all"
PARTS = ("mass", "com", "inertia")


@dataclass(frozen=True, eq=False)
class Fact:
    """In words, and rows (k, p) of parameters whose values are known: zero of `ratios`, anything else of `sizes`."""

    words: str
    ratios: np.ndarray
    sizes: np.ndarray


def facts_of(layout: ParameterLayout, values, masses: Iterable, fixed: Mapping) -> tuple[Fact, ...]:
    """What is stated of bodies.

    Args:
        layout: of the parameters.
        values: (p,) what the model states for them.
        masses: bodies, tuples of bodies or "all" of known mass.
        fixed: parts by body that are as in the model: "mass", "com", "inertia", several, or "all".

    Returns:
        The facts.

    Raises:
        OptionError: with the valid names.
    """
    return (
        *(mass_fact(layout, names) for names in masses),
        *(_kept(layout, values, name, parts) for name, parts in fixed.items()),
    )


def mass_fact(layout: ParameterLayout, names: str | tuple[str, ...]) -> Fact:
    """The mass of a body, of several together, or of "all"."""
    bodies = layout.body_names if names == ALL else (names,) if isinstance(names, str) else tuple(names)
    row = np.zeros((1, layout.size))
    row[0, [_span(layout, name, "masses").start for name in bodies]] = 1.0
    return Fact(f"mass of {ALL if names == ALL else ' + '.join(bodies)}", row[:0], row)


def balance_fact(layout: ParameterLayout, name: str) -> Fact:
    """Mass and centre of mass of a body."""
    rows = np.eye(layout.size)[_span(layout, name, "balance")][:4]
    return Fact(f"mass and centre of mass of {name}", rows[:0], rows)


def _kept(layout: ParameterLayout, values, name: str, parts) -> Fact:
    """Parts of a body as in the model."""
    span = _span(layout, name, "fixed")
    parts = PARTS if parts == ALL else (parts,) if isinstance(parts, str) else tuple(parts)
    if not parts or any(part not in PARTS for part in parts):
        raise OptionError(f"fixed['{name}'] lists {choices((*PARTS, ALL))}; got {parts!r}.")
    E, theta = np.eye(10), np.asarray(values)[span]
    center = to_com_inertia(theta)[1]
    point = from_com_inertia(1.0, center, np.zeros((3, 3)))  # of a kilogram there
    of = {"mass": E[:1], "com": E[1:4] - np.outer(point[1:4], E[0]), "inertia": E[4:] - np.outer(point[4:], E[0])}
    rows = np.concatenate([of[part] for part in PARTS if part in parts])
    told = np.zeros((len(rows), layout.size))
    told[:, span] = rows
    size = np.abs(rows) @ np.abs(theta)
    zero = np.abs(rows @ theta) <= 1e-12 * np.where(size > 0, size, 1.0)
    return Fact(f"{' and '.join(parts)} of {name} as in the model", told[zero], told[~zero])


def _span(layout: ParameterLayout, name: str, option: str) -> slice:
    if name not in layout.body_names:
        raise OptionError(
            f"{option}: there is no body '{name}' here that moves; there are {choices(layout.body_names)}."
        )
    return layout.body(layout.body_names.index(name))
