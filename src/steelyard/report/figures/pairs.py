"""Two values a name, given and identified, on a logarithmic axis."""

from steelyard.report.figures.look import POINTS, drawn, log_axis, name_axis, text


def pairs(title: str, y_title: str, unit: str, names, given, identified, *, spans=None):
    """Figure of two values a name. spans: (lower, upper) of each identified value, drawn as a bar."""
    traces = []
    for series, values in (("given", given), ("identified", identified)):
        color, symbol = POINTS[series]
        trace = {
            "type": "scatter",
            "x": list(range(len(names))),
            "y": [value if value and value > 0 else None for value in values],
            "text": [text(name) for name in names],
            "name": series,
            "mode": "markers",
            "marker": {"color": color, "symbol": symbol, "size": 10, "line": {"width": 2, "color": color}},
            "hovertemplate": "%{text}: %{y:.4g} " + unit + "<extra>" + series + "</extra>",
        }
        if spans is not None and series == "identified":
            trace["error_y"] = _bars(values, spans) | {"color": color, "thickness": 1.2, "width": 5}
        traces.append(trace)
    return drawn(traces, title, name_axis(names), log_axis(y_title))


def _bars(values, spans) -> dict:
    """Error bars from the lower to the upper end, as far as a logarithmic axis can show them."""
    up = [upper - value for value, (_, upper) in zip(values, spans, strict=True)]
    down = [value - max(lower, 1e-3 * value) for value, (lower, _) in zip(values, spans, strict=True)]
    return {"type": "data", "symmetric": False, "array": up, "arrayminus": down}
