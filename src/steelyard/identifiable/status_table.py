"""The paper's tables (paper C, Tables 2 to 5) as text, Markdown, HTML or LaTeX."""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

import numpy as np

from steelyard.errors import OptionError, choices
from steelyard.identifiable.analysis import Status
from steelyard.identifiable.null_space import PAPER_ORDER
from steelyard.identifiable.scale_words import CAPTION, MARK, marked
from steelyard.inertia.parameters import NAMES
from steelyard.sheets import (
    Sheet,
    html_table,
    latex_table,
    latex_text,
    markdown_table,
    markdown_text,
    sheet,
    text_table,
)

WIDTH = 16  # bodies a table; more go into further tables below
LATEX = {"★": r"$\bigstar$", "●": r"$\bullet$", "○": r"$\circ$", "×": r"$\times$", MARK: r"$^\dagger$"}
DERIVED = {
    "Im": "inertia of the body's motor about its axis",
    "dim V": "directions in which the body can move, of 6 (in brackets: or its weight act)",
    "dim K": "combinations of its ten parameters that matter (likewise)",
    "dim T": "ways to hand inertia to the body before it that show nowhere",
}


@dataclass(frozen=True)
class Grid:
    """A table ready for printing: heading of each body, rows of a label and one cell a body, and what each sign and the
    labels beside the ten parameters mean."""

    bodies: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    title: str
    legend: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


def grid(result) -> Grid:
    """Cells of the table of an Analysis."""
    layout, status = result.mechanism.layout, result.status
    bodies = layout.body_names
    rows = []
    for i in np.argsort(PAPER_ORDER):
        columns = [layout.body(b).start + i for b in range(len(bodies))]
        rows.append((NAMES[i], tuple(marked(status[c].symbol, result.scaled[c]) for c in columns)))
    if result.setup.motors:
        rows.append(("Im", _motor_cells(result)))
    if result.dimensions is not None:
        rows.append(("dim V", tuple(_pair(d.velocities, d.velocities_with_gravity) for d in result.dimensions)))
        rows.append(("dim K", tuple(_pair(d.combinations, d.combinations_with_gravity) for d in result.dimensions)))
        rows.append(("dim T", tuple(str(d.transfers) for d in result.dimensions)))
    title = (
        f"{result.robot.name}: {result.count} identifiable combinations of {result.size} parameters ({result.method})"
    )
    legend = [(s.symbol, s.value) for s in Status] + [(label, DERIVED[label]) for label, _ in rows if label in DERIVED]
    if result.scaled.any():
        legend.append((MARK, CAPTION))
    return Grid(bodies, tuple(rows), title, tuple(legend), _notes(result))


def _pair(alone: int, with_gravity: int) -> str:
    return str(alone) if alone == with_gravity else f"{alone} ({with_gravity})"


def _motor_cells(result) -> tuple[str, ...]:
    """Status of the inertia of each body's motor about its axis; blank where there is none or it is not symmetric."""
    carried = {node.joint: node.name for node in result.mechanism.nodes}
    cells = dict.fromkeys(result.mechanism.layout.body_names, "")
    for name, status, scaled in zip(result.names, result.status, result.scaled, strict=True):
        if name.startswith("rotor(") and name.endswith(").Im"):
            cells[carried[name[6:-4]]] = marked(status.symbol, scaled)
    return tuple(cells[body] for body in result.mechanism.layout.body_names)


def _notes(result) -> tuple[str, ...]:
    notes = list(result.mechanism.notes)
    terms = result.names[result.mechanism.layout.inertial.stop : result.mechanism.layout.size]
    if terms:
        states = result.status[result.mechanism.layout.inertial.stop :]
        tied = [name for name, s in zip(terms, states, strict=False) if s is not Status.ALONE]
        rest = f"all but {choices(tied)}" if tied else "all"
        scaled = result.scaled[result.mechanism.layout.inertial.stop :].any()
        notes.append(f"Friction, offsets and armature: {rest} are identifiable {marked('alone', scaled)}.")
    if result.mechanism.rounded > 1e-9:
        notes.append(f"Angles and offsets up to {result.mechanism.rounded:.1e} were taken as zero.")
    return tuple(notes)


def render(result, format: str = "text") -> str:
    """Table of an Analysis. Raises OptionError for an unknown format."""
    writers = {"text": _text, "markdown": _markdown, "html": _html, "latex": _latex}
    if format not in writers:
        raise OptionError(f"format is one of {choices(writers)}; got '{format}'.")
    return writers[format](grid(result))


def _sheets(table: Grid) -> Iterator[Sheet]:
    for start in range(0, len(table.bodies), WIDTH):
        cut = slice(start, start + WIDTH)
        columns = (("", "text"), *((body, "sign") for body in table.bodies[cut]))
        yield sheet(table.title, "", columns, [(label, *cells[cut]) for label, cells in table.rows])


def _text(table: Grid) -> str:
    lines = [table.title, ""]
    aside = " " * any(cell.endswith(MARK) for _, cells in table.rows for cell in cells)  # keeps signs below each other
    first = 1
    for each in _sheets(table):
        _, *bodies = (column.title for column in each.columns)
        numbers = [f"{first + i}{aside}" for i in range(len(bodies))]
        rows = [
            (f"{label.text:>5}", *(c.text if c.text.endswith(MARK) else c.text + aside for c in cells))
            for label, *cells in each.rows
        ]
        lines += [text_table(sheet("", "", ("", *numbers), rows)), ""]
        lines += ["  ".join(f"{n.strip()} {body}" for n, body in zip(numbers, bodies, strict=True)), ""]
        first += len(bodies)
    lines += [f"{sign} {meaning}" for sign, meaning in table.legend]
    return "\n".join([*lines, *table.notes])


def _markdown(table: Grid) -> str:
    tables = [markdown_table(each) for each in _sheets(table)]
    legend = "; ".join(f"{sign} {markdown_text(meaning)}" for sign, meaning in table.legend)
    blocks = [f"**{markdown_text(table.title)}**", *tables, legend, "\n".join(map(markdown_text, table.notes))]
    return "\n\n".join(block for block in blocks if block)


def _html(table: Grid) -> str:
    legend = "; ".join(f"{sign} {escape(meaning)}" for sign, meaning in table.legend)
    return "\n".join(
        [*map(html_table, _sheets(table)), f"<p>{legend}</p>", *(f"<p>{escape(note)}</p>" for note in table.notes)]
    )


def _latex(table: Grid) -> str:
    tables = [f"{latex_table(each, _latex_cell)}\n" for each in _sheets(table)]
    legend = "; ".join(f"{_latex_cell(sign)} {meaning}" for sign, meaning in table.legend)
    return "\n".join([latex_text(table.title), "", *tables, legend, *map(latex_text, table.notes)])


def _latex_cell(text: str) -> str:
    """The label of a row, signs with or without a mark, or numbers."""
    if text in NAMES or text in DERIVED:
        if text.startswith("dim"):
            return rf"$\dim {text[-1]}$"
        return f"${text[0]}_{{{text[1:]}}}$" if text[1:] else "$m$"
    return "".join(LATEX.get(sign, sign) for sign in text)
