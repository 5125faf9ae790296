"""Straight-line programs as text: one C header, or one Python file for NumPy. Names from models are made harmless."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from string import Template

from steelyard.codegen.statements import Statement, pieces, statements
from steelyard.codegen.tracing import Traced, TracedProgram

LONGEST = 60  # characters of a name in a comment
MANY = 16  # zeros
SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


@dataclass(frozen=True, eq=False)
class GeneratedFunction:
    """name; program; inputs: arrays that it takes, with their lengths; result: values of a list, or rows of them."""

    name: str
    program: TracedProgram
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

    @cached_property
    def statements(self) -> list[Statement]:
        """What a call does, in order."""
        return statements(self.program, self.outputs)

    @cached_property
    def named(self) -> frozenset[int]:
        """Steps that have names."""
        return frozenset(each.step for each in self.statements if each.named)

    @property
    def operations(self) -> int:
        """Arithmetic operations of a call."""
        return sum(each.operations for each in self.statements)


@dataclass(frozen=True, eq=False)
class Language:
    """number: a constant; call: of sin, cos or sqrt; entry: of an input array."""

    number: Callable[[float], str]
    call: Callable[[str, str], str]
    entry: Callable[[str, int], str]


C = Language(
    number=lambda x: f"(STEELYARD_REAL)({x!r})",
    call=lambda name, x: f"STEELYARD_{name.upper()}({x})",
    entry=lambda name, i: f"{name}[{i}]",
)
PYTHON = Language(
    number=lambda x: f"({x!r})",
    call=lambda name, x: f"{name}({x})",
    entry=lambda name, i: f"{name}[..., {i}]",
)


def harmless(name: str) -> str:
    """A name from a model for comments: it cannot end them, or a line."""
    return re.sub(r"[^A-Za-z0-9_.\-\[\]]", "_", name)[:LONGEST]


def identifier(name: str) -> str:
    """A name from a model as the start of others in C and Python."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)[:LONGEST].strip("_").lower()
    return plain if plain[:1].isalpha() else f"robot_{plain}".rstrip("_")


def expression(program: TracedProgram, language: Language, number: int, name: Callable[[int], str | None]) -> str:
    """Text of a step. name: what an earlier step is called; None: it stands inside."""
    operation, operands = program.steps[number]
    if operation == "in":
        return language.entry(*operands)
    parts = [
        (name(value) or expression(program, language, value, name)) if is_step else language.number(value)
        for is_step, value in operands
    ]
    if operation in SIGNS:
        return f"({parts[0]} {SIGNS[operation]} {parts[1]})"
    return f"(-{parts[0]})" if operation == "neg" else language.call(operation, parts[0])


def c_text(
    prefix: str,
    about: Sequence[str],
    tables: Mapping[str, int | list[float]],
    functions: Sequence[GeneratedFunction],
    more: Sequence[str] = (),
) -> str:
    """A header of C99 that is C++ as well. about: lines of its comment; tables: constants by name; more: text that
    calls the functions."""
    guard = f"STEELYARD_{prefix.upper()}_H"
    comment = "\n".join(f" * {line}".rstrip() for line in about)
    parts = [HEADER.substitute(about=comment, guard=guard)]
    for name, value in tables.items():
        if isinstance(value, int):
            parts.append(f"#define {prefix.upper()}_{name} {value}")
        elif value:
            entries = ", ".join(map(repr, value))
            parts.append(f"#define {prefix.upper()}_{name} {{{entries}}}")
    return "\n".join([*parts, *_c_functions(prefix, functions), *more, f"#endif /* {guard} */", ""])


def _c_functions(prefix: str, functions: Sequence[GeneratedFunction]) -> Iterator[str]:
    for function in functions:
        name, cut = f"{prefix}_{function.name}", pieces(function.statements)
        arrays = [f"const STEELYARD_REAL *STEELYARD_RESTRICT {array}" for array in function.inputs]
        unused = [f"    (void){array};" for array in function.inputs]
        inner = ", ".join(
            [*arrays, "STEELYARD_REAL *STEELYARD_RESTRICT kept", "STEELYARD_REAL *STEELYARD_RESTRICT out"]
        )
        several = len(cut.parts) > 1
        texts = [_c_piece(function, part, cut.slots) for part in cut.parts]
        for k, text in enumerate(texts if several else ()):
            yield f"\nSTEELYARD_APART void {name}_{k}({inner})\n{{"
            yield from (*unused, "    (void)kept;", "    (void)out;", *text, "}")
        yield f"\nstatic inline void {name}({', '.join(arrays)}, STEELYARD_REAL *STEELYARD_RESTRICT out)\n{{"
        yield from unused
        yield from _c_constants(function)
        if several:
            yield f"    STEELYARD_REAL kept[{max(cut.size, 1)}];"
            given = ", ".join([*function.inputs, "kept", "out"])
            yield from (f"    {name}_{k}({given});" for k in range(len(texts)))
        else:
            yield from (line for text in texts for line in text)
        yield "}\n"


def _c_constants(function: GeneratedFunction) -> Iterator[str]:
    """Entries that no motion changes. Many zeros are one loop, which compilers make fast."""
    left = {i: float(value) for i, value in enumerate(function.outputs) if not isinstance(value, Traced)}
    if sum(value == 0 for value in left.values()) > MANY:
        yield f"    for (int i = 0; i < {len(function.outputs)}; i++)\n        out[i] = 0;"
        left = {i: value for i, value in left.items() if value}
    yield from (f"    out[{i}] = {C.number(value)};" for i, value in left.items())


def _c_piece(function: GeneratedFunction, part: Sequence[Statement], slots: Mapping[int, int]) -> Iterator[str]:
    """Lines of a piece: its own values have names, those of others are in the memory between pieces."""
    inside = {each.step for each in part}
    read_here = {step for each in part for step in each.reads} & inside
    known = function.named

    def name(step: int) -> str | None:
        return None if step not in known else f"t{step}" if step in inside else f"kept[{slots[step]}]"

    for each in part:
        text = expression(function.program, C, each.step, name)
        targets = [f"kept[{slots[each.step]}]"] if each.step in slots else []
        targets += [f"out[{i}]" for i in each.outputs]
        if each.step in read_here or len(targets) > 1:
            yield f"    const STEELYARD_REAL t{each.step} = {text};"
            text = f"t{each.step}"
        yield from (f"    {target} = {text};" for target in targets)


def python_text(
    prefix: str, about: Sequence[str], tables: Mapping[str, int | list[float]], functions: Sequence[GeneratedFunction]
) -> str:
    """A module that needs NumPy alone; arrays of states are taken at once."""
    parts = ['"""' + "\n".join(about) + '\n"""', "", "import numpy as np", "from numpy import cos, sin, sqrt", ""]
    parts += [
        f"{name} = {value}" if isinstance(value, int) else f"{name} = np.array({value!r})"
        for name, value in tables.items()
    ]
    for function in functions:
        batch = ", ".join(f"{name}.shape[:-1]" for name in function.inputs)
        parts += ["", "", f"def {function.name}({', '.join(function.inputs)}):"]
        parts += [f"    {name} = np.asarray({name}, dtype=float)" for name in function.inputs]
        parts.append(f"    out = np.empty((*np.broadcast_shapes({batch}), {len(function.outputs)}))")
        parts += _python_lines(function)
        parts.append(f"    return out.reshape((*out.shape[:-1], {', '.join(map(str, function.shape))}))")
    return "\n".join(parts) + "\n"


def _python_lines(function: GeneratedFunction) -> Iterator[str]:
    for i, value in enumerate(function.outputs):
        if not isinstance(value, Traced):
            yield f"    out[..., {i}] = {float(value)!r}"
    for each in function.statements:
        text = expression(
            function.program, PYTHON, each.step, lambda step: f"t{step}" if step in function.named else None
        )
        if each.named:
            yield f"    t{each.step} = {text}"
            text = f"t{each.step}"
        yield from (f"    out[..., {i}] = {text}" for i in each.outputs)


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
#define STEELYARD_EXP(x) expf(x)
#define STEELYARD_EXPM1(x) expm1f(x)
#define STEELYARD_TANH(x) tanhf(x)
#else
#define STEELYARD_REAL double
#define STEELYARD_SIN(x) sin(x)
#define STEELYARD_COS(x) cos(x)
#define STEELYARD_SQRT(x) sqrt(x)
#define STEELYARD_EXP(x) exp(x)
#define STEELYARD_EXPM1(x) expm1(x)
#define STEELYARD_TANH(x) tanh(x)
#endif
#endif

/* Long functions are cut into pieces, which compilers take in less time: -O2 -march=native is as fast as -O3. */
#ifndef STEELYARD_APART
#if defined(__GNUC__)
#define STEELYARD_APART __attribute__((noinline, unused)) static
#define STEELYARD_RESTRICT __restrict__
#elif defined(_MSC_VER)
#define STEELYARD_APART __declspec(noinline) static
#define STEELYARD_RESTRICT __restrict
#else
#define STEELYARD_APART static inline
#define STEELYARD_RESTRICT
#endif
#endif
""")
