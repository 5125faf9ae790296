"""Reports on the terminal. Names from models and logs are shown as they are, never read as markup."""

import math
from collections.abc import Iterable, Iterator
from statistics import NormalDist

from rich.console import Group
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from steelyard.report.certificates import active_constraints
from steelyard.report.document import Cell, Sheet, View
from steelyard.report.model_validation import ModelValidation
from steelyard.report.numbers import DASH, number, percent, plural, plus_minus, unit
from steelyard.report.torques import error_sheet
from steelyard.terms import TERMS

UNBOUNDED = 10_000  # characters
ZERO = 1e-9  # SI, of friction and armature: smaller ones are rounding
SHOWN = 4  # reasons of a verdict; those of most weight come first
LONGEST = 24  # characters of a name that is not broken
COLORS = {"good": "green", "care": "yellow", "keep": "red"}


def overview(summary: dict, *, links: bool = True) -> Group:
    """Verdict, error of each joint, links (if wanted), notes and files: what `steelyard identify` prints."""
    lines = [*verdict_lines(summary["verdict"]), Text(), rich_table(error_sheet(summary))]
    if links:
        joints = _joint_table(summary)
        lines += [Text(), _link_table(summary), *([] if joints is None else [Text(), joints])]
        lines += [Text(_determined(summary))]
    lines += [Text(f"\n{active_constraints(summary)}")] if summary["fit"]["binding"] else []
    if summary["notes"]:
        lines += [Text("\nNotes", style="bold"), *(Text(f"- {note}") for note in summary["notes"])]
    return Group(*lines, *_files(summary))


def view_overview(view: View) -> Group:
    """A report on the terminal: verdict, then the tables that stand open."""
    if view.summary["kind"] == "identification":
        return overview(view.summary)
    lines = [*verdict_lines(view.verdict)]
    sheets = (part.sheet for section in view.sections for part in section.parts if part.sheet and not part.folded)
    for sheet in sheets:
        if not sheet.folded:
            lines += [Text(), rich_table(sheet)]
    return Group(*lines, *_files(view.summary))


def validation_overview(found: ModelValidation) -> Group:
    """What `steelyard validate` prints."""
    words = [Text(f"- {each.message}") for each in found.findings]
    return Group(Text(found.headline, style="bold"), *words, Text(), rich_table(found.table()))


def verdict_lines(verdict: dict) -> Iterator[Text]:
    """Headline, advice and reasons. verdict: of a summary."""
    yield Text(verdict["headline"], style=f"bold {COLORS[verdict['level']]}")
    if verdict["advice"]:
        yield Text(verdict["advice"])
    first, others = verdict["reasons"][:SHOWN], verdict["reasons"][SHOWN:]
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


def _link_table(summary: dict) -> Table:
    """Mass, nominal and identified, and centre of mass of each link, each with its interval or what it lacks."""
    level = percent(summary["uncertainty"]["level"])
    table = _empty_table(f"Links, ± half the width of the {level} interval ('not shown': by no motion at all)")
    table.add_column(Text("link"), overflow="fold", no_wrap=_short(body["name"] for body in summary["bodies"]))
    for column in ("nominal mass", "mass [kg]", "com x [m]", "com y [m]", "com z [m]"):
        table.add_column(Text(column), justify="right")
    parameters = {each["name"]: each for each in summary["parameters"]}
    for body in summary["bodies"]:
        mass, com = parameters.get(f"{body['name']}.m"), body["identified"]["com"] or [None] * 3
        spread = body["center_covariance"]
        deviations = [None] * 3 if spread is None else [_root(spread[i][i]) for i in range(3)]
        centre = [_with_spread(x, s, summary) for x, s in zip(com, deviations, strict=True)]
        unknown = body["knowledge"][0] == "model"
        told = Text(f"{number(body['identified']['mass'])} not shown", style="dim") if unknown else _valued(mass, body)
        table.add_row(Text(body["name"]), number(body["prior"]["mass"]), told, *centre)
    return table


def _valued(mass: dict | None, body: dict) -> str:
    """A mass with its interval, or that only sums with other masses move the robot."""
    if mass is None or body["knowledge"][0] == "combination":
        return f"{number(body['identified']['mass'])} only in sums"
    return _with_interval(mass)


def _with_interval(found: dict) -> str:
    """An identified value, half the width of its interval, and where it comes from if not from the data alone."""
    if abs(found["identified"]) < ZERO and found["upper"] - found["lower"] < ZERO:
        return "0"  # held at its bound
    mark = {"prior-determined": " (prior)", "model-dependent": " (if the model is right)"}.get(found["label"], "")
    return f"{plus_minus(found['identified'], (found['upper'] - found['lower']) / 2)}{mark}"


def _with_spread(value, deviation, summary: dict) -> str:
    """A coordinate with half the width of its interval."""
    if value is None or deviation is None:
        return number(value)
    return plus_minus(value, NormalDist().inv_cdf((1 + summary["uncertainty"]["level"]) / 2) * deviation)


def _root(variance) -> float | None:
    return None if variance is None or variance < 0 else math.sqrt(variance)


def _joint_table(summary: dict) -> Table | None:
    """Friction and armature of each joint with their intervals; None where nothing was identified of them."""
    terms = [term for term in TERMS if any(term in joint for joint in summary["joints"])]
    if not terms:
        return None
    table = _empty_table("Joints, in the same way")
    table.add_column(Text("joint"), overflow="fold", no_wrap=_short(joint["name"] for joint in summary["joints"]))
    units = {term: next(joint[term]["unit"] for joint in summary["joints"] if term in joint) for term in terms}
    for term in terms:
        table.add_column(Text(f"{term} [{unit(units[term])}]"), justify="right")
    for joint in summary["joints"]:
        cells = [_in_unit(joint.get(term), units[term]) for term in terms]
        table.add_row(Text(joint["name"]), *cells)
    return table


def _in_unit(found: dict | None, usual: str) -> str:
    if found is None:
        return DASH
    return _with_interval(found) + ("" if found["unit"] == usual else f" {unit(found['unit'])}")


def _determined(summary: dict) -> str:
    """One line: how many parameters have an interval that the data alone vouches for."""
    found, count = summary["uncertainty"], len(summary["parameters"])
    shifted = found["labels"].get("model-dependent", 0)
    more = f", {shifted} more as far as friction is what the model says" if shifted else ""
    return (
        f"{found['labels']['data-determined']} of {count} parameters are determined by the data alone{more}; intervals "
        f"({percent(found['level'])}) of all are in the summary."
    )
