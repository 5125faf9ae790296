"""Straight-line programs as text: one C header, or one Python file for NumPy. Names from models are made harmless."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import Template

from steelyard.codegen.tracing import Program, Traced

LONGEST = 60  # characters of a name in a comment
DEEPEST = 6  # operations inside one expression; longer ones get a name
SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


@dataclass(frozen=True, eq=False)
class Function:
    """name; program; inputs: arrays that it takes, with their lengths; result: values of a list, or rows of them."""

    name: str
    program: Program
    inputs: dict[str, int]
    result: list

    @property
    def shape(self) -> tuple[int, ...]:
        """Of what it returns."""
        rows = len(self.result)
        return (rows, len(self.result[0])) if rows and isinstance(self.result[0], list) else (rows,)

    @property
    def outputs(self) -> list:
        """Values in the order of the array that is filled, rows one after the other."""
        return self.result if len(self.shape) == 1 else [value for row in self.result for value in row]

    @property
    def operations(self) -> int:
        """Arithmetic operations of a call."""
        return sum(self.program.steps[number][0] != "in" for number in _needed(self)[0])


@dataclass(frozen=True, eq=False)
class Language:
    """number: a constant; call: of sin, cos or sqrt; entry: of an input array; line: of a value with a name."""

    number: Callable[[float], str]
    call: Callable[[str, str], str]
    entry: Callable[[str, int], str]
    line: str


C = Language(
    number=lambda x: f"(STEELYARD_REAL)({x!r})",
    call=lambda name, x: f"STEELYARD_{name.upper()}({x})",
    entry=lambda name, i: f"{name}[{i}]",
    line="    const STEELYARD_REAL {} = {};",
)
PYTHON = Language(
    number=lambda x: f"({x!r})",
    call=lambda name, x: f"{name}({x})",
    entry=lambda name, i: f"{name}[..., {i}]",
    line="    {} = {}",
)


def harmless(name: str) -> str:
    """A name from a model for comments: it cannot end them, or a line."""
    return re.sub(r"[^A-Za-z0-9_.\-\[\]]", "_", name)[:LONGEST]


def identifier(name: str) -> str:
    """A name from a model as the start of others in C and Python."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)[:LONGEST].strip("_").lower()
    return plain if plain[:1].isalpha() else f"robot_{plain}".rstrip("_")


def _needed(function: Function) -> tuple[list[int], dict[int, int]]:
    """Numbers of the steps that outputs need, in order, and how often each is used."""
    uses: dict[int, int] = {}
    waiting = [value.number for value in function.outputs if isinstance(value, Traced)]
    for number in waiting:
        uses[number] = uses.get(number, 0) + 1
    seen = set(waiting)
    while waiting:
        operation, operands = function.program.steps[waiting.pop()]
        for is_step, number in () if operation == "in" else operands:
            if is_step:
                uses[number] = uses.get(number, 0) + 1
                if number not in seen:
                    seen.add(number)
                    waiting.append(number)
    return sorted(seen), uses


def body(function: Function, language: Language) -> tuple[list[str], list[str]]:
    """Lines of temporaries, and the expression of each output. What is used once stands where it is used."""
    numbers, uses = _needed(function)
    written: dict[int, tuple[str, int]] = {}  # expression and its depth
    lines = []

    def told(operand) -> tuple[str, int]:
        is_step, value = operand
        return written[value] if is_step else (language.number(value), 0)

    for number in numbers:
        operation, operands = function.program.steps[number]
        if operation == "in":
            written[number] = language.entry(*operands), 0
            continue
        parts = [told(each) for each in operands]
        depth = 1 + max(part[1] for part in parts)
        if operation in SIGNS:
            text = f"({parts[0][0]} {SIGNS[operation]} {parts[1][0]})"
        else:
            text = f"(-{parts[0][0]})" if operation == "neg" else language.call(operation, parts[0][0])
        if uses[number] > 1 or depth > DEEPEST or operation in ("sin", "cos", "sqrt", "div"):
            lines.append(language.line.format(f"t{number}", text))
            text, depth = f"t{number}", 0
        written[number] = text, depth
    outputs = [
        written[value.number][0] if isinstance(value, Traced) else language.number(float(value))
        for value in function.outputs
    ]
    return lines, outputs


def c_text(
    prefix: str, about: Sequence[str], tables: Mapping[str, int | list[float]], functions: Sequence[Function]
) -> str:
    """A header of C99 that is C++ as well. about: lines of its comment; tables: constants by name."""
    guard = f"STEELYARD_{prefix.upper()}_H"
    comment = "\n".join(f" * {line}".rstrip() for line in about)
    parts = [HEADER.substitute(about=comment, guard=guard)]
    for name, value in tables.items():
        if isinstance(value, int):
            parts.append(f"#define {prefix.upper()}_{name} {value}")
        elif value:
            entries = ", ".join(map(repr, value))
            parts.append(f"#define {prefix.upper()}_{name} {{{entries}}}")
    return "\n".join([*parts, *_c_functions(prefix, functions), f"#endif /* {guard} */", ""])


def _c_functions(prefix: str, functions: Sequence[Function]) -> Iterator[str]:
    for function in functions:
        lines, outputs = body(function, C)
        taken = ", ".join(f"const STEELYARD_REAL {name}[{size}]" for name, size in function.inputs.items())
        yield f"\nstatic inline void {prefix}_{function.name}({taken}, STEELYARD_REAL out[{len(outputs)}])\n{{"
        yield from (f"    (void){name};" for name in function.inputs)
        yield from lines
        yield from (f"    out[{i}] = {value};" for i, value in enumerate(outputs))
        yield "}\n"


def python_text(
    prefix: str, about: Sequence[str], tables: Mapping[str, int | list[float]], functions: Sequence[Function]
) -> str:
    """A module that needs NumPy alone; arrays of states are taken at once."""
    parts = ['"""' + "\n".join(about) + '\n"""', "", "import numpy as np", "from numpy import cos, sin, sqrt", ""]
    parts += [
        f"{name} = {value}" if isinstance(value, int) else f"{name} = np.array({value!r})"
        for name, value in tables.items()
    ]
    for function in functions:
        lines, outputs = body(function, PYTHON)
        batch = ", ".join(f"{name}.shape[:-1]" for name in function.inputs)
        parts += ["", "", f"def {function.name}({', '.join(function.inputs)}):"]
        parts += [f"    {name} = np.asarray({name}, dtype=float)" for name in function.inputs]
        parts += lines
        parts.append(f"    out = np.empty((*np.broadcast_shapes({batch}), {len(outputs)}))")
        parts += [f"    out[..., {i}] = {value}" for i, value in enumerate(outputs)]
        parts.append(f"    return out.reshape((*out.shape[:-1], {', '.join(map(str, function.shape))}))")
    return "\n".join(parts) + "\n"


HEADER = Template("""/*
$about
 */
#ifndef $guard
#define $guard

#include <math.h>

/* -DSTEELYARD_FLOAT computes in single precision. */
#ifndef STEELYARD_REAL
#ifdef STEELYARD_FLOAT
#define STEELYARD_REAL float
#define STEELYARD_SIN(x) sinf(x)
#define STEELYARD_COS(x) cosf(x)
#define STEELYARD_SQRT(x) sqrtf(x)
#else
#define STEELYARD_REAL double
#define STEELYARD_SIN(x) sin(x)
#define STEELYARD_COS(x) cos(x)
#define STEELYARD_SQRT(x) sqrt(x)
#endif
#endif
""")
