"""Base parameters written out: `link1.Izz + x_joint2^2 link2.m`, with lengths and small fractions recognised."""

from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import numpy as np

from steelyard.identifiable.mechanism import GROUND
from steelyard.identifiable.thresholds import THRESHOLDS

EXACT = 1e-9  # relative agreement of a coefficient with a symbol
LARGEST_DENOMINATOR = 4
MOST_LENGTHS = 12  # between two bodies; the products of more would match anything
SHOWN = 8  # regrouped terms of one expression


DEGREES = {"kg": 0, "kg m": 1, "kg m^2": 2}  # of length in a unit


def expressions(result) -> tuple[str, ...]:
    """(r,) expressions of an Analysis, in the order of its base parameters.

    Lengths are coordinates of joint frames in their parents, of the joints between two bodies: `x_joint2` is the x of
    joint2's. A factor is spelled out when a fraction, or a length or product of lengths of the right dimension, agrees
    with it to 1e-9.
    """
    scale, regrouping = result.mechanism.scale, result.basis.regrouping
    home = _homes(result.mechanism)
    symbols = cache(lambda lower, upper: _symbols(_lengths(result.mechanism, lower, upper)))
    lines = []
    for row, column in zip(regrouping, result.columns, strict=True):
        size = np.abs(row) * scale / scale[column]
        terms = [j for j in np.flatnonzero(size > THRESHOLDS.negligible) if j != column]
        terms.sort(key=lambda j: (abs(j - column), j))
        shown = [
            _term(
                row[j],
                result.names[j],
                symbols(home[j], home[column]).get(_degree(result.units, int(column), int(j)), []),
            )
            for j in terms[:SHOWN]
        ]
        rest = f" + {len(terms) - SHOWN} more" if len(terms) > SHOWN else ""
        lines.append(result.names[column] + "".join(shown) + rest)
    return tuple(lines)


def _homes(mechanism) -> list[int]:
    """(p,) the node that each inertial column belongs to, GROUND for others."""
    home = [GROUND] * mechanism.size
    for i, node in enumerate(mechanism.nodes):
        for column in node.columns:
            home[column] = i
    for spin in mechanism.spins:
        for column in spin.columns:
            home[column] = spin.carrier
    return home


def _degree(units, column: int, other: int) -> int:
    """Power of length in the factor of one parameter beside another; -1 where units are of another kind."""
    both = units[column], units[other]
    return DEGREES[both[0]] - DEGREES[both[1]] if both[0] in DEGREES and both[1] in DEGREES else -1


def _lengths(mechanism, lower: int, upper: int) -> dict[str, float]:
    """Coordinates of joint frames between two nodes, in metres, that are not zero; the first of equal ones."""
    found: dict[str, float] = {}
    for i in mechanism.path(lower):
        if i == upper:
            break
        node = mechanism.nodes[i]
        for axis, value in zip("xyz", (mechanism.length * node.position).tolist(), strict=True):
            known = any(abs(abs(value) - abs(other)) <= EXACT * abs(other) for other in found.values())
            if abs(value) > 1e-6 and not known:
                found[f"{axis}_{node.joint}"] = value
    return dict(list(found.items())[:MOST_LENGTHS])


def _symbols(lengths: dict[str, float]) -> dict[int, list[tuple[str, float]]]:
    """Symbols and their values by power of length: 1; lengths and sums of two; products, sums of squares."""
    first, second = list(lengths.items()), []
    for (a, x), (b, y) in combinations_with_replacement(lengths.items(), 2):
        second.append((f"{a}^2" if a == b else f"{a} {b}", x * y))
        if a != b:
            first += [(f"({a} + {b})", x + y), (f"({a} - {b})", x - y)]
            second.append((f"({a}^2 + {b}^2)", x * x + y * y))
    return {0: [("", 1.0)], 1: first, 2: second}


def _term(factor: float, name: str, symbols) -> str:
    for symbol, size in symbols:
        multiple = _fraction(factor / size)
        if multiple is not None:
            words = [str(abs(multiple)) if abs(multiple) != 1 else "", symbol, name]
            return (" - " if multiple < 0 else " + ") + " ".join(word for word in words if word)
    return f" {'-' if factor < 0 else '+'} {abs(factor):.6g} {name}"


def _fraction(value: float) -> Fraction | None:
    """A small fraction that a number agrees with; beside a length only simple ones occur."""
    near = Fraction(value).limit_denominator(LARGEST_DENOMINATOR)
    simple = near and abs(near.numerator) <= LARGEST_DENOMINATOR
    return near if simple and abs(value - near) <= EXACT * abs(value) else None
