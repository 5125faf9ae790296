"""Reports on the terminal. Names from models and logs are shown as they are, never read as markup."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from rich.console import Group
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from steelyard.cards import LINES, MEMBERS
from steelyard.numbers import percent, plural, some
from steelyard.report.certificates import active_constraints
from steelyard.report.document import Screen, View
from steelyard.report.drive_report import drive_sheet, motion_sheet
from steelyard.report.links import key_tables
from steelyard.report.log_data import decided
from steelyard.report.torques import error_sheet
from steelyard.sheets import Cell, Sheet

UNBOUNDED = 10_000  # characters
LONGEST = 24  # characters of a name that is not broken
COLORS = {"good": "green", "care": "yellow", "keep": "red"}


def overview(summary: dict, *, links: bool = True) -> Group:
    """Verdict, error of each joint, links (if wanted), notes and files: what `steelyard identify` prints."""
    tables = (error_sheet(summary), *(key_tables(summary) if links else ()))
    lines = [_determined(summary)] if links else []
    lines += [f"\n{active_constraints(summary)}"] if summary["fit"]["binding"] else []
    made = decided(summary)
    lines += ["\nWhat was decided for you", *(f"- {each}" for each in made)] if made else []
    return shown(Screen.of(summary["verdict"]), tables, lines, notes=summary["notes"], files=summary)


def drive_overview(summary: dict) -> Group:
    """Verdict, errors of motion, drives, notes and files of a run from commands."""
    tables = motion_sheet(summary), drive_sheet(summary, intervals=False)
    lines = summary["scale"]["lines"]
    return shown(Screen.of(summary["verdict"]), tables, lines, notes=summary["notes"], files=summary)


def view_overview(view: View) -> Group:
    """A report on the terminal: verdict, then the tables that stand open."""
    if view.summary["kind"] == "identification":
        return overview(view.summary)
    if view.summary["kind"] == "drives":
        return drive_overview(view.summary)
    parts = (part for section in view.sections for part in section.parts)
    tables = (part.sheet for part in parts if part.sheet and not (part.folded or part.sheet.folded))
    return shown(view.screen, tables, files=view.summary)


def shown(
    screen: Screen,
    tables: Iterable[Sheet],
    lines: Iterable[str] = (),
    *,
    notes: Sequence[str] = (),
    about: str = "Notes",
    files: Mapping[str, Any] = MappingProxyType({}),
    most: int = MEMBERS,
) -> Group:
    """A first screen and what belongs to it on the terminal: tables, lines, notes as a list below `about`, and the
    files that a summary names. most: reasons that are shown, those of most weight first."""
    found = [*screen_lines(screen, most)]
    for each in tables:
        found += [Text(), rich_table(each)]
    found += map(Text, lines)
    if notes:
        found += [Text(f"\n{about}", style="bold"), *(Text(f"- {note}") for note in notes)]
    if names := files.get("files"):
        found.append(Text(f"\nWritten to {files['out']}: {some(names, LINES)}"))
    return Group(*found)


def screen_lines(screen: Screen, most: int) -> Iterator[Text]:
    """Headline, advice and reasons. most: reasons, those of most weight first; the rest is counted."""
    yield Text(screen.headline, style=f"bold {COLORS[screen.level]}")
    if screen.advice:
        yield Text(screen.advice)
    first, others = screen.reasons[:most], screen.reasons[most:]
    yield from (Text(f"- {reason}") for reason in first)
    if others:
        yield Text(f"- {plural(len(others), 'more reason')} in the report and the summary.")


class FittedTable(Table):
    """A table whose cells stand closer where they would not fit side by side otherwise."""

    def __rich_console__(self, console, options):
        if Measurement.get(console, options.update(max_width=UNBOUNDED), self).maximum > options.max_width:
            self.padding = 0
        yield from super().__rich_console__(console, options)


def rich_table(sheet: Sheet) -> Table:
    """A table of the report on the terminal."""
    title = Text(f"{sheet.title}: {sheet.caption}", style="bold")
    table = FittedTable(title=title, title_justify="left", header_style="bold", expand=False)
    rows = [[_cell_text(cell) for cell in row] for row in sheet.rows]
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


def _cell_text(cell: Cell) -> str:
    changed = f"{cell.was} -> {cell.text}" if cell.was else cell.text
    return f"{changed} ({cell.note})" if cell.note else changed


def _determined(summary: dict) -> str:
    """One line: how many parameters have an interval that the data alone vouches for."""
    found, count = summary["uncertainty"], len(summary["parameters"])
    shifted = found["labels"].get("model-dependent", 0)
    more = f", {shifted} more as far as friction is what the model says" if shifted else ""
    return (
        f"{found['labels']['data-determined']} of {count} parameters are determined by the data alone{more}; intervals "
        f"({percent(found['level'])}) of all are in the summary."
    )
