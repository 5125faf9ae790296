"""The paper's tables (paper C, Tables 2 to 5) as text, Markdown, HTML or LaTeX."""

from dataclasses import dataclass
from html import escape

import numpy as np

from steelyard.errors import OptionError, choices
from steelyard.identifiable.analysis import Status
from steelyard.identifiable.null_space import PAPER_ORDER
from steelyard.identifiable.scale_words import CAPTION, MARK, marked
from steelyard.inertia import NAMES

WIDTH = 16  # bodies a table; more go into further tables below
LATEX = {"★": r"$\bigstar$", "●": r"$\bullet$", "○": r"$\circ$", "×": r"$\times$", MARK: r"$^\dagger$"}
DERIVED = {
    "Im": "inertia of the body's motor about its axis",
    "dim V": "directions in which the body can move, of 6 (in brackets: or its weight act)",
    "dim K": "combinations of its ten parameters that matter (likewise)",
    "dim T": "ways to hand inertia to the body before it that show nowhere",
}
LATEX_SPECIAL = str.maketrans({"_": r"\_", "&": r"\&", "%": r"\%", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}"})


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


def _parts(table: Grid):
    """(first number, bodies, rows) of at most WIDTH bodies each."""
    for start in range(0, len(table.bodies), WIDTH):
        cut = slice(start, start + WIDTH)
        yield start + 1, table.bodies[cut], [(label, cells[cut]) for label, cells in table.rows]


def _text(table: Grid) -> str:
    lines = [table.title, ""]
    aside = " " * any(cell.endswith(MARK) for _, cells in table.rows for cell in cells)  # keeps signs below each other
    for first, bodies, rows in _parts(table):
        numbers = [f"{first + i}{aside}" for i in range(len(bodies))]
        rows = [(label, tuple(c if c.endswith(MARK) else c + aside for c in cells)) for label, cells in rows]
        widths = [max(len(n), *(len(cells[i]) for _, cells in rows)) for i, n in enumerate(numbers)]
        for label, cells in [("", numbers), *rows]:
            lines.append(f"{label:>5}  " + "  ".join(c.rjust(w) for c, w in zip(cells, widths, strict=True)).rstrip())
        lines += ["", "  ".join(f"{n.strip()} {body}" for n, body in zip(numbers, bodies, strict=True)), ""]
    lines += [f"{sign} {meaning}" for sign, meaning in table.legend]
    return "\n".join([*lines, *table.notes])


def _markdown(table: Grid) -> str:
    lines = [f"**{bare(table.title)}**", ""]
    for _, bodies, rows in _parts(table):
        lines += ["| | " + " | ".join(map(bare, bodies)) + " |", "|---" * (len(bodies) + 1) + "|"]
        lines += [f"| {label} | " + " | ".join(cells) + " |" for label, cells in rows]
        lines.append("")
    lines.append("; ".join(f"{sign} {meaning}" for sign, meaning in table.legend))
    return "\n".join([*lines, *(["", *map(bare, table.notes)] if table.notes else [])])


def bare(text: str) -> str:
    for special in "\\|*_<`":
        text = text.replace(special, "\\" + special)
    return text


def _html(table: Grid) -> str:
    lines = []
    for _, bodies, rows in _parts(table):
        lines += ["<table>", f"<caption>{escape(table.title)}</caption>"]
        lines.append("<tr><th></th>" + "".join(f'<th scope="col">{escape(b)}</th>' for b in bodies) + "</tr>")
        for label, cells in rows:
            filled = "".join(f"<td>{escape(c)}</td>" for c in cells)
            lines.append(f'<tr><th scope="row">{label}</th>{filled}</tr>')
        lines.append("</table>")
    lines.append("<p>" + "; ".join(f"{sign} {escape(meaning)}" for sign, meaning in table.legend) + "</p>")
    return "\n".join([*lines, *(f"<p>{escape(note)}</p>" for note in table.notes)])


def _latex(table: Grid) -> str:
    lines = []
    for _, bodies, rows in _parts(table):
        lines += [r"\begin{tabular}{l" + "c" * len(bodies) + "}", r"\hline"]
        lines.append(" & " + " & ".join(b.translate(LATEX_SPECIAL) for b in bodies) + r" \\ \hline")
        for label, cells in rows:
            lines.append(f"{_latex_label(label)} & " + " & ".join(map(_latex_cell, cells)) + r" \\")
        lines += [r"\hline", r"\end{tabular}", ""]
    lines.append("; ".join(f"{_latex_label(sign)} {meaning}" for sign, meaning in table.legend))
    return "\n".join(
        [table.title.translate(LATEX_SPECIAL), "", *lines, *(n.translate(LATEX_SPECIAL) for n in table.notes)]
    )


def _latex_cell(cell: str) -> str:
    """Signs, with or without a mark, or numbers."""
    return "".join(LATEX.get(sign, sign) for sign in cell)


def _latex_label(label: str) -> str:
    """A sign of the table, or the label of a row."""
    if label in LATEX:
        return LATEX[label]
    if label.startswith("dim"):
        return rf"$\dim {label[-1]}$"
    return f"${label[0]}_{{{label[1:]}}}$" if label[1:] else "$m$"
