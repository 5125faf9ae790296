"""What nouns say of themselves: a few lines in a terminal, a small table in a notebook."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from html import escape
from typing import Any

WIDTH, LINES, MEMBERS = 72, 12, 4  # characters of a value, lines, members of a sequence that are shown
FEW, SEVERAL = 3, 6  # things that a sentence names, and that a line lists


class Card:
    """A noun with a short `repr` and a table for notebooks, both made of `_title` and `_rows`."""

    def _title(self) -> str:
        """What it is, in a few words."""
        return type(self).__name__

    def _rows(self) -> Mapping[str, Any]:
        """What an engineer wants to know of it, by name; by default its fields, arrays as their shapes."""
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return "\n  ".join([self._title(), *(f"{name}: {value}" for name, value in self._shown())])

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(value)}</td></tr>"
            for name, value in self._shown()
        )
        return f"<table><caption style='text-align:left'><b>{escape(self._title())}</b></caption>{cells}</table>"

    def _shown(self) -> list[tuple[str, str]]:
        rows = [
            (name, short(value))
            for name, value in self._rows().items()
            if not (value is None or (isinstance(value, str) and not value))
        ]
        return rows if len(rows) <= LINES else [*rows[: LINES - 1], ("...", f"{len(rows) - LINES + 1} more")]


def short(value: Any) -> str:
    """A value on one short line: arrays of more than a few numbers as their shapes, long sequences by their length."""
    return _clipped(" ".join(_words(value).split()))


def _words(value: Any) -> str:
    if isinstance(value, str):
        return value
    import numpy as np  # here: help and completion do without

    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}" if value.size > MEMBERS else np.array2string(value, precision=4)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Card):
        return value._title()
    if isinstance(value, Mapping):
        return _listed([f"{key}: {_clipped(_words(each), 24)}" for key, each in value.items()], len(value))
    if isinstance(value, Sequence):
        return _listed([_clipped(_words(each), 24) for each in value[:MEMBERS]], len(value))
    return repr(value)


def _listed(words: list[str], count: int) -> str:
    more = f", ... ({count})" if count > MEMBERS else ""
    return ", ".join(words[:MEMBERS]) + more if count else "none"


def _clipped(text: str, width: int = WIDTH) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."
