"""`Sheet`: a table as data, and its writers: plain text, Markdown, HTML and LaTeX.

`report` has one more for the terminal, which folds what does not fit.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from textwrap import fill

from steelyard.numbers import number

ROWS = 20  # of a table that is shown at once
WIDEST, NARROW = 80, 76  # characters of a line, and of one of a command, which help indents by two

MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+\-.!|~&])")  # ASCII punctuation that Markdown may read as markup
LATEX = str.maketrans({"_": r"\_", "&": r"\&", "%": r"\%", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}"})
RULES = {"number": "---:", "text": ":---", "wrap": ":---", "sign": ":---:"}  # of a head in Markdown
PLACES = {"number": "r", "text": "l", "wrap": "l", "sign": "c"}  # of a column in LaTeX


@dataclass(frozen=True)
class Column:
    """kind: `number` (right-aligned), `text`, `wrap` for long text, or `sign` (centred)."""

    title: str
    kind: str = "number"


@dataclass(frozen=True)
class Cell:
    """was: the nominal value, shown beside or below; note: more about it, likewise. mark: `*` or `†`, explained in the
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
    """A Sheet of plain text. columns: titles, or (title, kind); rows: of texts or Cells, the first names the row. Or
    columns: by title what stands there of an entry, the key of a text or number or a function; rows: entries."""
    if isinstance(columns, Mapping):
        rows = [[of(each) if callable(of) else _plain(each[of]) for of in columns.values()] for each in rows]
    return Sheet(
        title,
        caption,
        tuple(Column(each) if isinstance(each, str) else Column(*each) for each in columns),
        tuple(tuple(cell if isinstance(cell, Cell) else Cell(str(cell)) for cell in row) for row in rows),
        folded,
    )


def _plain(value) -> str:
    return value if isinstance(value, str) else number(value)


def text_table(table: Sheet) -> str:
    """Columns two blanks apart, numbers and signs to the right."""
    rows = [[column.title for column in table.columns], *([cell.text for cell in row] for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    left = [column.kind in ("text", "wrap") for column in table.columns]
    return "\n".join(
        "  ".join(
            word.ljust(width) if before else word.rjust(width)
            for word, width, before in zip(row, widths, left, strict=True)
        ).rstrip()
        for row in rows
    )


def markdown_text(text: str) -> str:
    """Text on one line that Markdown shows as it is."""
    return MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def markdown_table(table: Sheet) -> str:
    """A table of Markdown, without its title."""

    def written(cell: Cell) -> str:
        text = markdown_text(f"{cell.text}{cell.mark}")
        more = "; ".join(markdown_text(each) for each in (cell.was, cell.note) if each)
        return f"{text} ({more})" if more else text

    head = "| " + " | ".join(markdown_text(column.title) for column in table.columns) + " |"
    rule = "|" + "|".join(RULES[column.kind] for column in table.columns) + "|"
    return "\n".join([head, rule, *("| " + " | ".join(map(written, row)) + " |" for row in table.rows)])


def html_table(table: Sheet) -> str:
    """A table element with its caption; classes are the kinds of columns, `label`, `mark` and `was`."""
    caption = (
        f"<b>{escape(table.title)}.</b> {escape(table.caption)}" if table.caption else f"<b>{escape(table.title)}</b>"
    )
    heads = (f'<th scope="col" class="{each.kind}">{escape(each.title)}</th>' for each in table.columns)
    lines = ["<table>", f"<caption>{caption}</caption>", f"<thead><tr>{''.join(heads)}</tr></thead>", "<tbody>"]
    for row in table.rows:
        first, *rest = (
            f'class="{column.kind}">{_html_cell(cell)}' for column, cell in zip(table.columns, row, strict=True)
        )
        lines.append(f'<tr><th scope="row" {first}</th>{"".join(f"<td {each}</td>" for each in rest)}</tr>')
    return "\n".join([*lines, "</tbody>", "</table>"])


def _html_cell(cell: Cell) -> str:
    text = escape(cell.text)
    if cell.label:
        text = f'<span class="label {escape(cell.label)}">{text}</span>'
    elif cell.mark:
        text = f'<span class="mark">{escape(cell.mark)}</span> {text}'
    return text + "".join(f'<br><span class="was">{escape(each)}</span>' for each in (cell.was, cell.note) if each)


def latex_text(text: str) -> str:
    """Text that LaTeX shows as it is."""
    return text.translate(LATEX)


def latex_table(table: Sheet, written: Callable[[str], str] = latex_text) -> str:
    """A tabular, without its title. written: LaTeX of the text of a cell."""
    lines = [r"\begin{tabular}{" + "".join(PLACES[each.kind] for each in table.columns) + "}", r"\hline"]
    lines.append(" & ".join(latex_text(each.title) for each in table.columns) + r" \\ \hline")
    lines += [" & ".join(written(cell.text) for cell in row) + r" \\" for row in table.rows]
    return "\n".join([*lines, r"\hline", r"\end{tabular}"])


def narrow(text: str) -> str:
    """Lines of sentences for a terminal of 80 columns."""
    return "\n".join(
        fill(line, WIDEST, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        for line in text.split("\n")
    )


def broken(command: str) -> str:
    """A command as it can be copied: one too long for a line goes on before an option on the next."""
    line, *options = re.split(r" (?=-|\| |> )", command)
    lines = []
    for option in options:
        if len(f"    {line} {option} \\") > NARROW:
            lines.append(line)
            line = option
        else:
            line = f"{line} {option}"
    return " \\\n    ".join([*lines, line])
