"""The report of a comparison: its tables and figures as a `View`, one colour and symbol a result."""

from steelyard.report.compared_runs import distances
from steelyard.report.document import Cell, Part, Section, Sheet, View, sheet
from steelyard.report.figure_style import SERIES, SYMBOLS, drawn, line_across, log_axis, name_axis, points
from steelyard.report.numbers import DASH, in_percent, interval, number, plus_minus, share, unit

OPEN_ROWS = 20
LEVELS = {"good": "use it", "care": "with care", "keep": "not yet"}
MOST_NUMBERS = 30  # numbers in the figure of differences
APART = 0.5  # width that the results of one name share


def comparison_view(found: dict) -> View:
    """View of a comparison, from its summary."""
    sections = _sections(found)
    draw = {"run_errors": _error_figure, "run_differences": _difference_figure, "run_masses": _mass_figure}
    return View(
        summary=found,
        title=f"{len(found['runs'])} results side by side",
        subtitle=" · ".join(run["folder"] for run in found["runs"]),
        sections=sections,
        figures={key: draw[key[0]](found) for section in sections for key in section.figures},
    )


def _sections(found: dict) -> list[Section]:
    errors = [Part(sheet=_result_sheet(found))]
    if found["joints"]:
        errors += [Part(figures=(("run_errors", 0),)), Part(sheet=_joint_sheet(found))]
    sections = [Section("What was compared", "Results", tuple(errors))]
    if found["values"]:
        parts = Part(figures=(("run_differences", 0),)), Part(sheet=_value_sheet(found))
        sections.append(Section("Do the numbers repeat?", "Repeatability", parts))
    if found["masses"]:
        parts = Part(figures=(("run_masses", 0),)), Part(sheet=_mass_sheet(found))
        sections.append(Section("Links", "Links", parts))
    commands = "\n".join(run["command"] for run in found["runs"])
    return [*sections, Section("How to repeat these results", "Repeat", (Part(code=commands),))]


def _result_sheet(summary: dict) -> Sheet:
    """One row a result."""
    rows = [
        (
            each["name"],
            each["subject"],
            each["created"][:16].replace("T", " "),
            str(each["samples"]),
            share(each["error_before"]),
            share(each["error"]),
            LEVELS[each["level"]],
            Cell(each["method"]),
        )
        for each in summary["runs"]
    ]
    return sheet(
        "Results",
        "Error: torques on held-out samples, or of a payload's wrench, over the signal.",
        (
            ("Result", "text"),
            ("Robot or log", "text"),
            ("Computed", "text"),
            "Samples",
            "Before",
            "After",
            ("May I use it?", "text"),
            ("Method", "wrap"),
        ),
        rows,
    )


def _joint_sheet(summary: dict) -> Sheet:
    """Held-out error of each joint in every result."""
    return sheet(
        "Error of each joint",
        "Over the RMS of the measured torque, on held-out samples.",
        (("Joint", "text"), *(run["name"] for run in summary["runs"])),
        [(each["name"], *map(share, each["relative_errors"])) for each in summary["joints"]],
    )


def _value_sheet(summary: dict) -> Sheet:
    """Numbers all results determine, those that chance explains least first."""
    found = sorted(summary["values"], key=lambda each: each["probability"])
    rows = [
        (
            each["name"],
            *(plus_minus(value, spread) for value, spread in zip(each["estimates"], each["deviations"], strict=True)),
            number(each["spread"]),
            number(each["predicted"]),
            f"yes, most in {each['outlier']}" if each["differs"] else "no",
            unit(each["unit"]),
        )
        for each in found
    ]
    return sheet(
        "Numbers that every result determines",
        "± standard deviation, those that chance explains least first. Spread: of the estimates; expected: what their "
        "own deviations predict. Differs: chance is ruled out (Welch's analysis of variance, 5 % for all together).",
        (
            ("Name", "text"),
            *(run["name"] for run in summary["runs"]),
            "Spread",
            "Expected",
            ("Differs", "text"),
            ("Unit", "text"),
        ),
        rows,
        folded="" if len(rows) <= OPEN_ROWS else f"{len(rows)} numbers, those that differ most first",
    )


def _mass_sheet(summary: dict) -> Sheet:
    """Mass of each link in every result."""
    rows = [(each["name"], *map(_mass, each["runs"])) for each in summary["masses"]]
    return sheet(
        "Mass of each link",
        "kg, with what determines it and its interval.",
        (("Link", "text"), *(run["name"] for run in summary["runs"])),
        rows,
    )


def _mass(row: dict | None) -> Cell:
    if row is None:
        return Cell(DASH)
    return Cell(number(row["value"]), note=f"{interval(row['lower'], row['upper'])}, {row['label']}")


def _error_figure(summary: dict):
    """Held-out error of every joint in each result. summary: of a comparison."""
    joints = summary["joints"]
    rows = [[in_percent(each["relative_errors"][k]) for each in joints] for k in range(len(summary["runs"]))]
    names = [each["name"] for each in joints]
    traces, axis = _points(summary, names, rows, "%"), log_axis("RMS error over RMS torque [%]")
    return drawn(traces, "Held-out error of each joint", name_axis(names), axis)


def _mass_figure(summary: dict):
    """Mass of every link in each result, with its interval."""
    links = summary["masses"]
    found = [[each["runs"][k] for each in links] for k in range(len(summary["runs"]))]
    rows = [[None if each is None else each["value"] for each in row] for row in found]
    spans = [[None if each is None else (each["lower"], each["upper"]) for each in row] for row in found]
    names = [each["name"] for each in links]
    traces = _points(summary, names, rows, "kg", spans)
    return drawn(traces, "Mass of each link, with intervals", name_axis(names), log_axis("mass [kg]"))


def _difference_figure(summary: dict):
    """Distance of each result from the pooled value in its own deviations, the largest differences first."""
    values = sorted(summary["values"], key=lambda each: each["probability"])[:MOST_NUMBERS]
    names = [each["name"] for each in values]
    spread = [distances(each) for each in values]
    rows = [[each[k] for each in spread] for k in range(len(summary["runs"]))]
    return drawn(
        _points(summary, names, rows, "deviations"),
        "Where the results differ most",
        name_axis(names),
        {"title": "distance from their mean [std. dev.]"},
        shapes=[line_across(height) for height in (-2, 2)],
        height=380,
    )


def _points(summary: dict, names, rows, unit: str, spans=None):
    count = len(summary["runs"])
    traces = []
    for k, run in enumerate(summary["runs"]):
        x = [i + APART * ((k + 0.5) / count - 0.5) for i in range(len(names))]
        marker = {"color": SERIES[k % len(SERIES)], "symbol": SYMBOLS[k % len(SYMBOLS)], "size": 9}
        reach = None if spans is None else spans[k]
        traces.append(points(run["name"], x, rows[k], names, unit=unit, marker=marker, spans=reach, bar=4))
    return traces
