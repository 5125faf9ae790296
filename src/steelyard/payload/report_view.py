"""Tables and figures of a payload run, from its summary and signals."""

from pathlib import Path

from steelyard.errors import OptionError, choices
from steelyard.report import (
    IDENTIFIED,
    LINES,
    Figure,
    Part,
    Record,
    Section,
    Sheet,
    View,
    box,
    drawn,
    drawn_figures,
    footer,
    name_axis,
    number,
    plural,
    plus_minus,
    record_of,
    repeat_section,
    share,
    sheet,
    text,
)

ENTRIES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def payload_view(record: Record) -> View:
    """View of the record of a payload run.

    Args:
        record: of the run.

    Returns:
        The View.
    """
    found = record.summary
    sections = _sections(found)
    figures = {"wrench": Figure(wrench, curve="wrench"), "unexplained": Figure(unexplained)}
    return View(
        summary=found,
        title=f"Payload in {Path(found['job']['log']).name}",
        subtitle=f"{found['provenance']['created']} · {plural(found['payload']['samples'], 'sample')} · method "
        f"{found['payload']['method']}",
        verdict=found["verdict"],
        sections=sections,
        figures=drawn_figures(record, sections, figures),
        footer=footer(found),
    )


def _sections(summary: dict) -> list[Section]:
    found = summary["payload"]
    channels = [Part(sheet=_channel_sheet(summary)), Part(figures=(("unexplained", 0),))]
    channels.append(Part(figures=tuple(("wrench", i) for i in range(len(summary["channels"])))))
    method = Part(text=f"Method {found['method']}: {found['why']}.")
    sections = [
        Section("The payload", "Payload", (Part(sheet=_value_sheet(summary)), method)),
        Section("What it explains", "Signals", tuple(channels)),
    ]
    if summary["export"]:
        parts = [Part(text=f"{name}:", code=settings) for name, settings in summary["export"].items()]
        sections.append(Section("Settings for controllers and files", "Export", tuple(parts)))
    if found["notes"]:
        sections.append(Section("What was assumed and done", "Notes", (Part(items=tuple(found["notes"])),)))
    return [*sections, repeat_section(summary)]


def _value_sheet(summary: dict) -> Sheet:
    """Mass, centre of mass and inertia with deviations."""
    found = summary["payload"]
    rows = [("mass", plus_minus(found["mass"], found["mass_deviation"]), "kg")]
    for i, axis in enumerate("xyz"):
        value, spread = found["com"][i], found["com_deviation"][i]
        rows.append((f"centre of mass {axis}", plus_minus(_thousand(value), _thousand(spread)), "mm"))
    for i, j in ENTRIES:
        value, spread = found["inertia"][i][j], found["inertia_deviation"][i][j]
        rows.append((f"I{'xyz'[i]}{'xyz'[j]} about it", plus_minus(value, spread), "kg m²"))
    return sheet(
        "The payload",
        "In the axes of the sensor, at its origin; ± one standard deviation.",
        (("Quantity", "text"), "Value", ("Unit", "text")),
        rows,
    )


def _thousand(value):
    return None if value is None else 1e3 * value


def _channel_sheet(summary: dict) -> Sheet:
    """How well each measured signal is explained."""
    rows = [
        (each["name"], number(each["rms"]), number(each["rms_error"]), share(each["relative_error"]), each["unit"])
        for each in summary["channels"]
    ]
    return sheet(
        "Signals",
        "RMS of what was measured (without tool, bias and arm, where given), and of the residual of the payload's fit.",
        (("Channel", "text"), "Measured", "Residual", "Share", ("Unit", "text")),
        rows,
    )


def wrench(run, channel: str | int):
    """One measured channel of a payload run, and what the payload explains of it.

    Args:
        run: the folder of a payload result, or a Record.
        channel: such as `fz` or a joint; or an index.

    Returns:
        A Plotly figure.

    Raises:
        OptionError: an unknown channel.
    """
    record = record_of(run)
    channels = record.summary.get("channels", [])
    names = [each["name"] for each in channels]
    i = names.index(channel) if channel in names else channel
    if not isinstance(i, int) or ("wrench", i, "measured") not in record.curves:
        raise OptionError(f"There is no channel {channel!r}. Choose from {choices(names)}.")
    traces = []
    for name, line in (("measured", LINES["measured"]), ("explained", LINES["identified"])):
        t, y = record.curves["wrench", i, name]
        traces.append({"type": "scatter", "x": t, "y": y, "name": name, "line": line, "mode": "lines"})
    unit = channels[i]["unit"]
    y_title = f"{'force' if unit == 'N' else 'torque'} [{unit}]"
    return drawn(traces, text(names[i]), {"title": "time [s]"}, {"title": y_title})


def unexplained(run):
    """Residual of each signal of a payload run, over its RMS: median, quartiles, and 5 to 95 %, in percent.

    Args:
        run: the folder of a payload result, or a Record.

    Returns:
        A Plotly figure.
    """
    channels = record_of(run).summary["channels"]
    names = [each["name"] for each in channels]
    shares = [[100 * value / (each["rms"] or 1.0) for value in each["quantiles"]] for each in channels]
    trace = box("unexplained", range(len(names)), shares, names, width=0.5, color=IDENTIFIED)
    return drawn([trace], "Residual of each signal", name_axis(names), {"title": "error over RMS [%]"})
