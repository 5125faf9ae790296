"""A summary as tables for the terminal. Names from models and logs are shown as they are, never read as markup."""

from collections.abc import Iterable

from rich.console import Group
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from steelyard.fit import CAN_EXIST
from steelyard.report.numbers import number, percent
from steelyard.report.sheet import Cell, Sheet
from steelyard.report.sheets import torques
from steelyard.report.view import View

UNBOUNDED = 10_000  # characters
LONGEST = 24  # characters of a name that is not broken
SHOWN = 6  # bounds in a line of the terminal
COLORS = {"good": "green", "care": "yellow", "keep": "red"}


def overview(summary: dict, *, links: bool = True) -> Group:
    """Verdict, error of each joint, links (if wanted), notes and files: what `steelyard identify` prints."""
    judged = summary["verdict"]
    lines = [
        Text(judged["headline"], style=f"bold {COLORS[judged['level']]}"),
        Text(judged["advice"]),
        *(Text(f"- {reason}") for reason in judged["reasons"]),
        Text(),
        error_table(summary),
    ]
    if links:
        lines += [Text(), body_table(summary), Text(determined(summary))]
    lines += [Text(f"\n{held_back(summary)}")] if summary["fit"]["binding"] else []
    if summary["notes"]:
        lines += [Text("\nNotes", style="bold"), *(Text(f"- {note}") for note in summary["notes"])]
    if summary["files"]:
        lines.append(Text(f"\nWritten to {summary['out']}: {', '.join(summary['files'])}"))
    return Group(*lines)


def of_view(view: View) -> Group:
    """A report on the terminal: verdict, then the tables that stand open."""
    if view.summary["kind"] == "identification":
        return overview(view.summary)
    judged = view.verdict
    lines = [
        Text(judged["headline"], style=f"bold {COLORS[judged['level']]}"),
        Text(judged["advice"]),
        *(Text(f"- {reason}") for reason in judged["reasons"]),
    ]
    open_sheets = (part.sheet for section in view.sections for part in section.parts if part.sheet and not part.folded)
    for sheet in open_sheets:
        if not sheet.folded:
            lines += [Text(), shown(sheet)]
    if view.summary["files"]:
        lines.append(Text(f"\nWritten to {view.summary['out']}: {', '.join(view.summary['files'])}"))
    return Group(*lines)


class Fitted(Table):
    """A table whose cells stand closer where they would not fit side by side otherwise."""

    def __rich_console__(self, console, options):
        if Measurement.get(console, options.update(max_width=UNBOUNDED), self).maximum > options.max_width:
            self.padding = 0
        yield from super().__rich_console__(console, options)


def held_back(summary: dict) -> str:
    """What is known and holds the estimate back, in one line; the report has all of it."""
    binding = summary["fit"]["binding"]
    bodies = [each.removesuffix(CAN_EXIST).strip() for each in binding if each.endswith(CAN_EXIST)]
    told = [f"no lighter or thinner than a body can be: {_some(bodies)}"] if bodies else []
    told += [_some(others)] if (others := [each for each in binding if not each.endswith(CAN_EXIST)]) else []
    held = "; ".join(told)
    return f"In {len(binding)} places the data would go further than what is known allows. Held back: {held}."


def _some(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def error_table(summary: dict) -> Table:
    """Torque error of each joint on held-out samples."""
    return shown(torques.errors(summary))


def shown(sheet: Sheet) -> Table:
    """A table of the report on the terminal."""
    table = Fitted(
        title=Text(f"{sheet.title}: {sheet.caption}", style="bold"),
        title_justify="left",
        header_style="bold",
        expand=False,
    )
    rows = [[_words(cell) for cell in row] for row in sheet.rows]
    for i, column in enumerate(sheet.columns):
        justify = "right" if column.kind == "number" else "left"
        whole = i == 0 and _short(row[0] for row in rows)
        table.add_column(Text(column.title), justify=justify, overflow="fold", no_wrap=whole)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _short(names: Iterable[str]) -> bool:
    """Whether names stay in one piece on a narrow terminal, where numbers are broken at their blanks instead."""
    return max(map(len, names), default=0) <= LONGEST


def _words(cell: Cell) -> str:
    changed = f"{cell.was} -> {cell.text}" if cell.was else cell.text
    return f"{changed} ({cell.note})" if cell.note else changed


def body_table(summary: dict) -> Table:
    """Mass and centre of mass of each link, given and identified; in brackets where the data has no say."""
    table = Fitted(
        title=Text("Links: given -> identified (in brackets: no motion shows it)", style="bold"),
        title_justify="left",
        header_style="bold",
        expand=False,
    )
    table.add_column(Text("link"), overflow="fold", no_wrap=_short(body["name"] for body in summary["bodies"]))
    for column in ("mass [kg]", "com x [m]", "com y [m]", "com z [m]"):
        table.add_column(Text(column), justify="right")
    for body in summary["bodies"]:
        known = body["knowledge"]
        was, now = ([body[key]["mass"], *(body[key]["com"] or [None] * 3)] for key in ("prior", "identified"))
        cells = [
            Text(f"({number(a)} -> {number(b)})", style="dim") if known[i] == "model" else f"{number(a)} -> {number(b)}"
            for i, (a, b) in enumerate(zip(was, now, strict=True))
        ]
        table.add_row(Text(body["name"]), *cells)
    return table


def determined(summary: dict) -> str:
    """One line: how many parameters have an interval that the data alone vouches for."""
    found, count = summary["uncertainty"], len(summary["parameters"])
    shifted = found["labels"].get("model-dependent", 0)
    more = f", {shifted} more as far as friction is what the model says" if shifted else ""
    return (
        f"{found['labels']['data-determined']} of {count} parameters are determined by the data alone{more}; intervals "
        f"({percent(found['level'])}) of all are in the summary."
    )
