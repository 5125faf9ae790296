"""The options of a `Job` as keywords of `identify`: its signature, its docstring and its stub for editors."""

import re
import textwrap
from collections.abc import Callable
from dataclasses import Field
from inspect import Parameter, getdoc, signature
from types import GenericAlias

from steelyard.corrections import NOTHING
from steelyard.job import Job
from steelyard.job_options import Option, options_of

LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
WIDTH = 120


def describe(function: Callable) -> None:
    """Give a function with `**options` the options of a Job as keywords, in its signature and its docstring."""
    own = signature(function)
    keywords = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=each.default, annotation=python_type(each, how))
        for name, (each, how) in options_of(Job).items()
    ]
    first = [each for each in own.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
    function.__signature__ = own.replace(parameters=[*first, *keywords])  # type: ignore[attr-defined]
    text = "\n".join(line for name, (_, how) in options_of(Job).items() for line in _argument(name, how))
    function.__doc__ = (function.__doc__ or "").replace("        {options}", textwrap.indent(text, " " * 8))


def python_type(each: Field, how: Option) -> str:
    """The type of an option as Python takes it."""
    if how.accepts:
        return how.accepts
    if each.type == tuple[str, ...]:
        return "Sequence[str | Path]" if how.path else "str | Sequence[str]"
    if how.path:
        return "str | Path | None"
    return each.type.__name__ if type(each.type) is type else str(each.type)


def _argument(name: str, how: Option) -> list[str]:
    """Lines of an option in a docstring."""
    text = LINK.sub(r"\1", f"{how.help} {how.more}".strip())
    text += f" None means {how.auto or how.unset}." if how.auto or how.unset else ""
    unit = f" [{how.unit}]" if how.unit else ""
    return textwrap.wrap(f"{name}{unit}: {text}", WIDTH - 8, subsequent_indent="    ")


def stub(function: Callable) -> str:
    """The function with all its keywords, as a stub file has it."""
    lines = [f"def {function.__name__}("]
    star = False
    for each in signature(function).parameters.values():
        if each.kind is Parameter.KEYWORD_ONLY and not star:
            lines.append("    *,")
            star = True
        kind = each.annotation if isinstance(each.annotation, str) else _text(each.annotation)
        default = "NOTHING" if each.default is NOTHING else repr(each.default).replace("'", '"')
        lines.append(f"    {each.name}: {kind}" + ("," if each.default is Parameter.empty else f" = {default},"))
    doc = textwrap.indent((getdoc(function) or "").rstrip(), "    ")
    return "\n".join([*lines, ") -> Result:", f'    """{doc.strip()}', '    """'])


def _text(kind) -> str:
    """A type as it is written, without the modules of its names."""
    plain = kind.__name__ if isinstance(kind, type) and not isinstance(kind, GenericAlias) else str(kind)
    plain = plain.replace("collections.abc.Callable[[str, float], None]", "Progress")
    return re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", plain)
