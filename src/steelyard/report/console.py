"""Reports on the terminal. Names from models and logs are shown as they are, never read as markup."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import wrap
from types import MappingProxyType
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from steelyard.cards import LINES, MEMBERS, WIDTH
from steelyard.numbers import percent, plural, some
from steelyard.report.certificates import active_constraints
from steelyard.report.document import Screen, View
from steelyard.report.drive_report import drive_sheet, motion_sheet
from steelyard.report.identification_report import FOLDER
from steelyard.report.links import key_tables
from steelyard.report.log_data import CHANNELS, decided
from steelyard.report.torques import error_sheet
from steelyard.sheets import Cell, Sheet, broken

NOTED = 10  # lines of notes, the last of which counts those that stand in the report alone
LONGEST = 24  # characters of a name that is not broken
COLORS = {"good": "green", "care": "yellow", "keep": "red"}


def overview(summary: dict, more: Sequence[Sheet] = ()) -> Group:
    """Verdict, next step, error of each joint, links, `more` tables, notes and files: what `identify` prints."""
    tables = (error_sheet(summary), *key_tables(summary), *more)
    notes = [active_constraints(summary)] if summary["fit"]["binding"] else []
    notes += [*summary["notes"], *decided(summary)]
    return shown(Screen.of(summary["verdict"]), tables, [_determined(summary)], notes=notes, files=summary)


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
    """A first screen and what belongs to it on the terminal: the next command of a run, tables, lines, notes as a list
    below `about`, and the files that a summary names. most: reasons that are shown, those of most weight first."""
    found = [*screen_lines(screen, most)]
    if files.get("kind") in ("identification", "drives"):
        found.append(Text(f"Next: {next_step(files)}", no_wrap=True, overflow="ignore"))  # to be copied
    for each in tables:
        found += [Text(f"\n{each.title}: {each.caption}", style="bold"), rich_table(each)]
    found += map(Text, lines)
    if notes:
        found += [Text(f"\n{about}", style="bold"), *map(Text, _few(notes))]
    if names := files.get("files"):
        found.append(Text(f"\nWritten to {files['out']}: {some(names, LINES)}"))
    return Group(*found)


def next_step(summary: Mapping[str, Any]) -> str:
    """Command after a run: a motion for what is poorly excited, a look at a log that explains nothing, validation."""
    job, keep = summary["job"], summary["verdict"]["level"] == "keep"
    weak = [each["command"] for each in summary.get("unknown", ()) if each["command"].startswith("steelyard excite")]
    how = ["--rollout"] if summary["kind"] == "drives" else []
    words = ["validate", summary["out"] or FOLDER, "OTHER_LOG", "--against", job["model"], *how]
    words = ["inspect", job["logs"][0], "--model", job["model"]] if keep else words
    return broken(weak[0] if weak and not keep else shlex.join(["steelyard", *words]))


def _few(notes: Sequence[str]) -> Iterator[str]:
    """The first notes, as far as lines suffice: what an option undoes first, how channels were made last; and how many
    are in the report alone."""

    def rank(note: str) -> tuple[bool, bool]:
        return "(--" not in note, {*note.partition(":")[0].split(", ")} <= {"t", "command", *CHANNELS}

    notes = sorted(notes, key=rank)
    ends = np.cumsum([len(wrap(f"- {note}", WIDTH)) for note in notes])
    count = len(notes) if ends[-1] <= NOTED else int(np.searchsorted(ends, NOTED, side="left"))
    yield from (f"- {note}" for note in notes[:count])
    if notes[count:]:
        yield f"- {plural(len(notes) - count, 'more note')} in the report."


def screen_lines(screen: Screen, most: int) -> Iterator[Text]:
    """Headline, advice and reasons. most: reasons, those of most weight first; the rest is counted."""
    yield Text(screen.headline, style=f"bold {COLORS[screen.level]}")
    if screen.advice:
        yield Text(screen.advice)
    first, others = screen.reasons[:most], screen.reasons[most:]
    yield from (Text(f"- {reason}") for reason in first)
    if others:
        yield Text(f"- {plural(len(others), 'more reason')} in the report and the summary.")


def rich_table(sheet: Sheet) -> Table:
    """A table of the report on the terminal, without its title."""
    table = Table(header_style="bold", box=SIMPLE_HEAD, padding=0, show_edge=False)
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
    changed = (f"{cell.was} -> {cell.text}" if cell.was else cell.text) + cell.mark
    return f"{changed} ({cell.note})" if cell.note else changed


def _determined(summary: dict) -> str:
    found, labels = summary["uncertainty"], summary["uncertainty"]["labels"]
    shifted, count = labels.get("model-dependent", 0), sum(labels.values())
    more = f", {shifted} more on the shape of friction" if shifted else ""
    return (
        f"Intervals ({percent(found['level'])}) of {found['labels']['data-determined']} of {count} parameters rest on "
        f"the data alone{more}; all are in the report."
    )
