"""Tables as data: built once from a summary, then shown as HTML, Markdown or on the terminal with the same text."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """kind: `number` (right-aligned), `text`, or `wrap` for long text."""

    title: str
    kind: str = "number"


@dataclass(frozen=True)
class Cell:
    """was: the given value, shown beside or below; note: more about it, likewise. mark: `*` or `†`, explained in the
    caption. label: of a parameter, shown as a badge."""

    text: str
    was: str = ""
    note: str = ""
    mark: str = ""
    label: str = ""


@dataclass(frozen=True)
class Sheet:
    """A table. folded: what stands for it until the reader opens it; empty for one that is always open."""

    title: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    folded: str = ""


def sheet(title: str, caption: str, columns, rows, *, folded: str = "") -> Sheet:
    """A Sheet of plain words. columns: titles, or (title, kind); rows: of texts or Cells, the first names the row."""
    return Sheet(
        title,
        caption,
        tuple(Column(each) if isinstance(each, str) else Column(*each) for each in columns),
        tuple(tuple(cell if isinstance(cell, Cell) else Cell(str(cell)) for cell in row) for row in rows),
        folded,
    )
