"""Straight-line programs: scalar arithmetic recorded as it is done, folded where operands are constants.

A value is a number, or a `Traced` step of a `TracedProgram`. Sums with 0 and products with 0 and 1 vanish, equal steps
are one step, so kinematics with axis-parallel frames and absent parameters cost what remains of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from steelyard.numbers import ROUNDING


@dataclass(eq=False)
class TracedProgram:
    """Steps in order: (operation, operands), operands as (True, number of an earlier step) or (False, constant).

    Operations are "in" (array, index), "add", "sub", "mul", "neg", "div", "sqrt", "sin" and "cos".
    """

    steps: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    known: dict[tuple[str, tuple[Any, ...]], "Traced"] = field(default_factory=dict)

    def step(self, operation: str, *operands: Any) -> "Traced":
        """The value of an operation; the earlier one where it was done before."""
        return self._numbered((operation, tuple(_operand(each) for each in operands)))

    def inputs(self, name: str, count: int) -> list["Traced"]:
        """The entries of an input array."""
        return [self._numbered(("in", (name, i))) for i in range(count)]

    def _numbered(self, key) -> "Traced":
        if key not in self.known:
            self.steps.append(key)
            self.known[key] = Traced(self, len(self.steps) - 1)
        return self.known[key]


@dataclass(frozen=True, eq=False)
class Traced:
    """The value of a step."""

    program: TracedProgram
    number: int

    def __add__(self, other):
        return self if is_constant(other, 0.0) else self.program.step("add", *_ordered(self, other))

    __radd__ = __add__

    def __sub__(self, other):
        return self if is_constant(other, 0.0) else self.program.step("sub", self, other)

    def __rsub__(self, other):
        return -self if is_constant(other, 0.0) else self.program.step("sub", other, self)

    def __mul__(self, other):
        if is_constant(other, 0.0):
            return 0.0
        if is_constant(other, 1.0):
            return self
        return -self if is_constant(other, -1.0) else self.program.step("mul", *_ordered(self, other))

    __rmul__ = __mul__

    def __truediv__(self, other):
        return self.program.step("div", self, other)

    def __neg__(self):
        operation, operands = self.program.steps[self.number]
        return Traced(self.program, operands[0][1]) if operation == "neg" else self.program.step("neg", self)


Value = float | Traced


def _operand(value: Value) -> tuple[bool, float]:
    return (True, value.number) if isinstance(value, Traced) else (False, float(value))


def is_constant(value: Value, number: float) -> bool:
    """Whether a value is this number in every run."""
    return not isinstance(value, Traced) and value == number


def _ordered(one, other):
    """Operands of what commutes, so that it is recorded once: constants first, then by their steps."""
    if not isinstance(other, Traced):
        return other, one
    return (one, other) if one.number <= other.number else (other, one)


def sine(x: Value) -> Value:
    """Sine of a value."""
    return x.program.step("sin", x) if isinstance(x, Traced) else math.sin(x)


def cosine(x: Value) -> Value:
    """Cosine of a value."""
    return x.program.step("cos", x) if isinstance(x, Traced) else math.cos(x)


def root(x: Value) -> Value:
    """Square root of a value."""
    return x.program.step("sqrt", x) if isinstance(x, Traced) else math.sqrt(x)


def constants(array) -> Any:
    """Nested lists of an array's numbers; what is 0 or ±1 but for rounding is."""
    if getattr(array, "ndim", 0):
        return [constants(each) for each in array]
    number = float(array)
    nearest = round(number) if abs(number) < 2 else number
    return float(nearest) if abs(number - nearest) < ROUNDING else number


def dot(one: Sequence[Value], other: Sequence[Value]) -> Value:
    """Sum of products."""
    return sum((a * b for a, b in zip(one, other, strict=True)), start=0.0)


def times(matrix: Sequence[Sequence[Value]], x: Sequence[Value]) -> list[Value]:
    """Matrix times vector."""
    return [dot(row, x) for row in matrix]


def transpose(matrix: Sequence[Sequence[Value]]) -> list[list[Value]]:
    """Rows as columns."""
    return [list(row) for row in zip(*matrix, strict=True)]


def product(one: Sequence[Sequence[Value]], other: Sequence[Sequence[Value]]) -> list[list[Value]]:
    """Matrix times matrix."""
    return [[dot(row, column) for column in zip(*other, strict=True)] for row in one]


def plus(*vectors: Sequence[Value]) -> list[Value]:
    """Sum of vectors."""
    return [sum(each, start=0.0) for each in zip(*vectors, strict=True)]


def scaled(factor: Value, x: Sequence[Value]) -> list[Value]:
    """Vector times a number."""
    return [factor * each for each in x]


def cross(a: Sequence[Value], b: Sequence[Value]) -> list[Value]:
    """Cross product."""
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
