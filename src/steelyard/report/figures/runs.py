"""Figures of a comparison: one colour and symbol a result."""

from steelyard.report.comparison import spread_of
from steelyard.report.figures.look import SERIES, SYMBOLS, drawn, line_across, log_axis, name_axis, text

SHOWN = 30  # numbers in the figure of differences
APART = 0.5  # width that the results of one name share


def run_errors(summary: dict):
    """Held-out error of every joint in each result. summary: of a comparison."""
    joints = summary["joints"]
    rows = [[_percent(each["relative_errors"][k]) for each in joints] for k in range(len(summary["runs"]))]
    names = [each["name"] for each in joints]
    traces, axis = _points(summary, names, rows, "%"), log_axis("RMS error over RMS torque [%]")
    return drawn(traces, "Held-out error of each joint", name_axis(names), axis)


def run_masses(summary: dict):
    """Mass of every link in each result, with its interval."""
    links = summary["masses"]
    found = [[each["runs"][k] for each in links] for k in range(len(summary["runs"]))]
    rows = [[None if each is None else each["value"] for each in row] for row in found]
    spans = [[(0.0, 0.0) if each is None else _reach(each) for each in row] for row in found]
    names = [each["name"] for each in links]
    traces = _points(summary, names, rows, "kg", spans)
    return drawn(traces, "Mass of each link, with intervals", name_axis(names), log_axis("mass [kg]"))


def run_differences(summary: dict):
    """Distance of each result from the pooled value in its own deviations, the largest differences first."""
    values = sorted(summary["values"], key=lambda each: each["probability"])[:SHOWN]
    names = [each["name"] for each in values]
    spread = [spread_of(each) for each in values]
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
        color = SERIES[k % len(SERIES)]
        trace = {
            "type": "scatter",
            "x": [i + APART * ((k + 0.5) / count - 0.5) for i in range(len(names))],
            "y": rows[k],
            "text": [text(name) for name in names],
            "name": text(run["name"]),
            "mode": "markers",
            "marker": {"color": color, "symbol": SYMBOLS[k % len(SYMBOLS)], "size": 9},
            "hovertemplate": "%{text}: %{y:.4g} " + unit + "<extra>" + text(run["name"]) + "</extra>",
        }
        if spans is not None:
            lower, upper = zip(*spans[k], strict=True) if spans[k] else ((), ())
            bars = {"type": "data", "symmetric": False, "array": upper, "arrayminus": lower, "thickness": 1.2}
            trace["error_y"] = bars | {"color": color, "width": 4}
        traces.append(trace)
    return traces


def _reach(row: dict) -> tuple[float, float]:
    """Lengths of the bars down and up, as far as a logarithmic axis can show them."""
    value = row["value"]
    lower, upper = (value if row[key] is None else row[key] for key in ("lower", "upper"))
    return value - max(lower, 1e-3 * value), upper - value


def _percent(share):
    return None if share is None else 100 * share
