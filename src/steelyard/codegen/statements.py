"""Straight-line programs in statements, and those in pieces that a compiler takes in little time.

A step used once stands inside the expression that uses it. Compilers take more than twice the time for a function of
twice the length, so statements are cut into pieces, functions of their own; what later ones need goes through memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from steelyard.codegen.tracing import Traced, TracedProgram

DEEPEST = 6  # operations inside one expression; longer ones get a name
PIECE = 1500  # operations
ALONE = "sin", "cos", "sqrt", "div"  # get a name


@dataclass(frozen=True, eq=False)
class Statement:
    """A step that gets a name, or is an output, or both."""

    step: int  # its number
    reads: frozenset[int]  # named steps of its expression
    operations: int  # of its expression
    outputs: tuple[int, ...]  # numbers of the entries that it fills
    named: bool  # whether other statements, or several outputs, read it


def statements(program: TracedProgram, outputs: list) -> list[Statement]:
    """In order; of the steps that outputs need."""
    filled: dict[int, list[int]] = {}
    for i, value in enumerate(outputs):
        if isinstance(value, Traced):
            filled.setdefault(value.number, []).append(i)
    numbers, uses = _needed(program, filled)
    inside: dict[int, tuple[frozenset[int], int, int]] = {}  # of an expression: what it reads, operations, depth
    found = []
    for number in numbers:
        operation, operands = program.steps[number]
        if operation == "in":
            inside[number] = frozenset(), 0, 0
        else:
            parts = [inside[at] for is_step, at in operands if is_step]
            reads = frozenset().union(*(part[0] for part in parts))
            inside[number] = reads, 1 + sum(part[1] for part in parts), 1 + max(part[2] for part in parts)
        reads, operations, depth = inside[number]
        named = operation != "in" and (uses[number] > 1 or (depth > DEEPEST and number not in filled))
        named = named or (operation in ALONE and number not in filled)
        if named or number in filled:
            found.append(Statement(number, reads, operations, tuple(filled.get(number, ())), named))
        if named:
            inside[number] = frozenset([number]), 0, 0
    return found


def _needed(program: TracedProgram, filled: dict[int, list[int]]) -> tuple[list[int], dict[int, int]]:
    """Numbers of the steps that outputs need, in order, and how often each is used."""
    uses = {number: len(entries) for number, entries in filled.items()}
    waiting = list(uses)
    while waiting:
        operation, operands = program.steps[waiting.pop()]
        for is_step, number in () if operation == "in" else operands:
            if is_step:
                if number not in uses:
                    uses[number] = 0
                    waiting.append(number)
                uses[number] += 1
    return sorted(uses), uses


@dataclass(frozen=True, eq=False)
class Pieces:
    """parts: statements of each. slots: entry of the memory, by steps that later pieces read. size: of the memory."""

    parts: list[list[Statement]]
    slots: dict[int, int]
    size: int


def pieces(found: list[Statement]) -> Pieces:
    """Statements cut into pieces of about `PIECE` operations."""
    parts = list(_cut(found))
    home = {each.step: k for k, part in enumerate(parts) for each in part}
    last: dict[int, int] = {}  # piece in which a step of an earlier one is read last
    for k, part in enumerate(parts):
        last |= {step: k for each in part for step in each.reads if home[step] < k}
    slots: dict[int, int] = {}
    free: list[int] = []
    size = 0
    for k, part in enumerate(parts):
        for each in part:
            if each.step in last:
                slots[each.step] = free.pop() if free else size
                size = max(size, slots[each.step] + 1)
        free += [slots[step] for step, at in last.items() if at == k]
    return Pieces(parts, slots, size)


def _cut(found: list[Statement]) -> Iterator[list[Statement]]:
    part, length = [], 0
    for each in found:
        part.append(each)
        length += each.operations
        if length >= PIECE:
            yield part
            part, length = [], 0
    if part:
        yield part
