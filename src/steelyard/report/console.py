"""Reports on the terminal. Names from models and logs are shown as they are, never read as markup."""

from collections.abc import Iterable, Iterator

from rich.console import Group
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from steelyard.report.certificates import active_constraints
from steelyard.report.document import Screen, View
from steelyard.report.drive_report import drive_sheet, motion_sheet
from steelyard.report.key_tables import key_tables
from steelyard.report.model_validation import ModelValidation, MotionValidation
from steelyard.report.numbers import percent, plural
from steelyard.report.torques import error_sheet
from steelyard.sheets import Cell, Sheet

UNBOUNDED = 10_000  # characters
SHOWN = 4  # reasons of a first screen
LONGEST = 24  # characters of a name that is not broken
COLORS = {"good": "green", "care": "yellow", "keep": "red"}


def overview(summary: dict, *, links: bool = True) -> Group:
    """Verdict, error of each joint, links (if wanted), notes and files: what `steelyard identify` prints."""
    lines = [*screen_lines(Screen.of(summary["verdict"])), Text(), rich_table(error_sheet(summary))]
    if links:
        for table in key_tables(summary):
            lines += [Text(), rich_table(table)]
        lines += [Text(_determined(summary))]
    lines += [Text(f"\n{active_constraints(summary)}")] if summary["fit"]["binding"] else []
    if summary["notes"]:
        lines += [Text("\nNotes", style="bold"), *(Text(f"- {note}") for note in summary["notes"])]
    return Group(*lines, *_files(summary))


def drive_overview(summary: dict) -> Group:
    """Verdict, errors of motion, drives, notes and files of a run from commands."""
    lines = [*screen_lines(Screen.of(summary["verdict"])), Text(), rich_table(motion_sheet(summary))]
    lines += [
        Text(),
        rich_table(drive_sheet(summary, intervals=False)),
        *(Text(line) for line in summary["scale"]["lines"]),
    ]
    if summary["notes"]:
        lines += [Text("\nNotes", style="bold"), *(Text(f"- {note}") for note in summary["notes"])]
    return Group(*lines, *_files(summary))


def view_overview(view: View) -> Group:
    """A report on the terminal: verdict, then the tables that stand open."""
    if view.summary["kind"] == "identification":
        return overview(view.summary)
    if view.summary["kind"] == "drives":
        return drive_overview(view.summary)
    lines = [*screen_lines(view.screen)]
    sheets = (part.sheet for section in view.sections for part in section.parts if part.sheet and not part.folded)
    for sheet in sheets:
        if not sheet.folded:
            lines += [Text(), rich_table(sheet)]
    return Group(*lines, *_files(view.summary))


def validation_overview(found: ModelValidation | MotionValidation) -> Group:
    """What `steelyard validate` prints."""
    return Group(*screen_lines(found.screen, len(found.findings)), Text(), rich_table(found.table()))


def screen_lines(screen: Screen, most: int = SHOWN) -> Iterator[Text]:
    """Headline, advice and reasons. most: reasons, those of most weight first; the rest is counted."""
    yield Text(screen.headline, style=f"bold {COLORS[screen.level]}")
    if screen.advice:
        yield Text(screen.advice)
    first, others = screen.reasons[:most], screen.reasons[most:]
    yield from (Text(f"- {reason}") for reason in first)
    if others:
        yield Text(f"- {plural(len(others), 'more reason')} in the report and the summary.")


def _files(summary: dict) -> Iterator[Text]:
    if summary["files"]:
        yield Text(f"\nWritten to {summary['out']}: {', '.join(summary['files'])}")


class FittedTable(Table):
    """A table whose cells stand closer where they would not fit side by side otherwise."""

    def __rich_console__(self, console, options):
        if Measurement.get(console, options.update(max_width=UNBOUNDED), self).maximum > options.max_width:
            self.padding = 0
        yield from super().__rich_console__(console, options)


def rich_table(sheet: Sheet) -> Table:
    """A table of the report on the terminal."""
    table = _empty_table(f"{sheet.title}: {sheet.caption}")
    rows = [[_cell_text(cell) for cell in row] for row in sheet.rows]
    for i, column in enumerate(sheet.columns):
        justify = "right" if column.kind == "number" else "left"
        whole = i == 0 and _short(row[0] for row in rows)
        table.add_column(Text(column.title), justify=justify, overflow="fold", no_wrap=whole)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _empty_table(title: str) -> FittedTable:
    return FittedTable(title=Text(title, style="bold"), title_justify="left", header_style="bold", expand=False)


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
