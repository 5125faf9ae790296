"""The look that all figures share: colours of the Okabe-Ito palette, which colour-blind readers can tell apart."""

from collections.abc import Mapping
from html import escape

MEASURED, NOMINAL, IDENTIFIED = "#4d4d4d", "#d55e00", "#0072b2"
EFFECT_COLORS = {
    "gravity": "#0072b2",
    "motion": "#56b4e9",
    "rotors": "#f0e442",
    "armature": "#009e73",
    "viscous": "#e69f00",
    "coulomb": "#d55e00",
    "offset": "#999999",
    "extras": "#cc79a7",
}
OTHER_COLOR = "#000000"  # of an effect without a colour of its own
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d", "#a89b00")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star", "triangle-down")
LINES = {
    "measured": {"color": MEASURED, "width": 1.5},
    "given": {"color": NOMINAL, "width": 1.2, "dash": "dot"},
    "identified": {"color": IDENTIFIED, "width": 1.5},
}
SERIES_NAMES = {"measured": "measured", "given": "nominal", "identified": "identified"}  # of the keys of curves
POINTS = {"nominal": (NOMINAL, "circle-open"), "identified": (IDENTIFIED, "circle")}
VISIBLE = 1e-3  # of the largest of a figure, below which nothing can be seen
LONGEST = 14  # letters of a name below an axis


def drawn(traces: list[dict], title: str, x: dict, y: dict, **layout) -> dict:
    """A figure as a dictionary that Plotly understands, of traces with `type`, and axes with `title`: dictionaries cost
    a hundredth of Plotly's objects, and a report has many."""
    axis = {"gridcolor": "#e3e3e3", "zerolinecolor": "#c4c4c4", "automargin": True}
    return {
        "data": traces,
        "layout": {
            "template": "none",
            "title": {"text": title, "x": 0.01, "xanchor": "left", "font": {"size": 15}},
            "font": {"family": "system-ui, sans-serif", "size": 12, "color": "#1a1a1a"},
            "height": 320,
            "margin": {"l": 62, "r": 12, "t": 64, "b": 46},
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
            "hoverlabel": {"namelength": -1},
            "showlegend": sum(trace.get("showlegend", True) for trace in traces) > 1,
            "xaxis": axis | _titled(x),
            "yaxis": axis | _titled(y),
            **layout,
        },
    }


def _titled(axis: dict) -> dict:
    return axis | {"title": {"text": axis["title"]}} if "title" in axis else axis


def curves_of(curves: Mapping, key: str, place: int, looks: Mapping[str, dict]) -> list[dict]:
    """Traces of what a record's curves have of a joint or channel. looks: line of each series, by name."""
    return [
        {"type": "scatter", "x": x, "y": y, "name": SERIES_NAMES.get(name, name), "line": line, "mode": "lines"}
        for name, line in looks.items()
        for x, y in ([curves[key, place, name]] if (key, place, name) in curves else [])
    ]


def line_across(height: float) -> dict:
    """A dashed horizontal line through the whole figure."""
    look = {"color": MEASURED, "dash": "dash", "width": 1}
    return {"type": "line", "xref": "x domain", "x0": 0, "x1": 1, "y0": height, "y1": height, "line": look}


def text(name: str) -> str:
    """A name as Plotly shows it as it is: three characters stand for markup there."""
    return escape(name, quote=False)


def name_axis(names) -> dict:
    """Names below the horizontal axis, whole ones in the hover text. Values sit at 0, 1, ..."""
    return {
        "tickvals": list(range(len(names))),
        "ticktext": [text(_short(name)) for name in names],
        "range": [-0.6, len(names) - 0.4],
        "ticklabeloverflow": "allow",  # a slanted last name is drawn beyond the axis rather than left out
        "automargin": True,
        "zeroline": False,
    }


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def log_axis(title: str) -> dict:
    """A logarithmic vertical axis: a factor is the same distance for the wrist and for the shoulder."""
    minor = {"showgrid": True, "gridcolor": "#f1f1f1"}
    return {"title": title, "type": "log", "exponentformat": "none", "minor": minor}


def quantity(unit: str) -> str:
    """What is measured in a unit."""
    return "torque" if unit == "N m" else "force"


def box(name: str, x, quantiles, names, *, width: float, color: str) -> dict:
    """A trace of boxes. x: place of each; quantiles: 5, 25, 50, 75 and 95 % of each; names: of the hover text."""
    keys = ("lowerfence", "q1", "median", "q3", "upperfence")
    look = {"width": width, "name": name, "text": [text(each) for each in names], "marker": {"color": color}}
    return {"type": "box", "x": list(x), **dict(zip(keys, zip(*quantiles, strict=True), strict=True)), **look}


def points(name: str, x, y, names, *, unit: str, marker: dict, spans=None, bar: float = 5) -> dict:
    """A trace of a number for each name. x: places; spans: (lower, upper) of each number, drawn as bars of the width
    `bar`, as far as a logarithmic axis can show them; a number or span may be None."""
    trace = {
        "type": "scatter",
        "x": list(x),
        "y": y,
        "text": [text(each) for each in names],
        "name": text(name),
        "mode": "markers",
        "marker": marker,
        "hovertemplate": "%{text}: %{y:.4g} " + unit + "<extra>" + text(name) + "</extra>",
    }
    if spans is None:
        return trace
    ends = [(0.0, 0.0) if value is None else _ends(value, *span) for value, span in zip(y, spans, strict=True)]
    down, up = (list(each) for each in zip(*ends, strict=True)) if ends else ([], [])
    bars = {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "thickness": 1.2, "width": bar}
    return trace | {"error_y": bars | {"color": marker["color"]}}


def _ends(value: float, lower: float | None, upper: float | None) -> tuple[float, float]:
    """Lengths of a bar down and up; none to a side that is not known."""
    lower, upper = (value if each is None else each for each in (lower, upper))
    return value - max(lower, 1e-3 * value), upper - value
