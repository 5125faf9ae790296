"""Plotly figures of a run. Colours are of the Okabe-Ito palette, which colour-blind readers can tell apart."""

from html import escape

import numpy as np

from steelyard.pipeline import Result
from steelyard.report.thin import thin
from steelyard.report.verdict import UNCERTAIN

MEASURED, BEFORE, AFTER = "#4d4d4d", "#d55e00", "#0072b2"
MOST_POINTS = 250_000  # in all figures together: some megabytes of page


def torque_figures(result: Result) -> dict:
    """One figure a degree of freedom, by name: torque measured and predicted before and after, on held-out samples."""
    one_log = len(result.job.logs) == 1
    t = result.after.t - result.after.t[0]
    limit = int(np.clip(MOST_POINTS / (3 * len(result.after.joint_names)), 200, 2000))
    units = _units(result)
    return {
        name: _torque_figure(name, units[i], t, _traces(result, i), limit, "time [s]" if one_log else "held-out sample")
        for i, name in enumerate(result.after.joint_names)
    }


def _units(result: Result) -> list[str]:
    from steelyard.report.labels import dof_units

    return [unit["tau"] for unit in dof_units(result.prior)]


def _traces(result: Result, i: int):
    yield "measured", result.after.measured[:, i], {"color": MEASURED, "width": 1.5}
    yield "given model", result.before.predicted[:, i], {"color": BEFORE, "width": 1.2, "dash": "dot"}
    yield "identified model", result.after.predicted[:, i], {"color": AFTER, "width": 1.5}


def _torque_figure(name, unit, t, traces, limit, time_title):
    import plotly.graph_objects as go

    figure = go.Figure()
    for title, y, line in traces:
        x, y = thin(t, y, limit)
        figure.add_scatter(x=x.astype("f4"), y=y.astype("f4"), name=title, line=line, mode="lines")
    kind = "torque" if unit == "N m" else "force"
    return _dressed(figure, f"{escape(name)}: {kind} on held-out samples", time_title, f"{kind} [{unit}]")


def error_figure(summary: dict):
    """Held-out error of every joint over its torque, before and after, in percent."""
    import plotly.graph_objects as go

    joints = summary["held_out"]["joints"]
    names = [escape(joint["name"]) for joint in joints]
    figure = go.Figure()
    for title, key, color, pattern in (
        ("given model", "before", BEFORE, "/"),
        ("identified model", "after", AFTER, ""),
    ):
        share = [_percent(joint[f"relative_{key}"]) for joint in joints]
        rms = [joint[f"rms_{key}"] for joint in joints]
        figure.add_bar(
            x=names,
            y=share,
            name=title,
            marker={"color": color, "pattern": {"shape": pattern}},
            customdata=[[value, joint["unit"]] for value, joint in zip(rms, joints, strict=True)],
            hovertemplate="%{x}: %{y:.3g} %, RMS %{customdata[0]:.3g} %{customdata[1]}<extra>" + title + "</extra>",
        )
    _dressed(figure, "Held-out error of each joint", None, "RMS error over RMS torque [%]")
    # shares from a few thousandths to hundreds of percent are all worth reading: a linear axis hides the good ones
    return figure.update_yaxes(type="log", dtick=1, exponentformat="none")


def _percent(share):
    return None if share is None else 100 * share


def mass_figure(summary: dict):
    """Mass of every link, given and identified."""
    import plotly.graph_objects as go

    names = [escape(body["name"]) for body in summary["bodies"]]
    figure = go.Figure()
    for title, key, color, symbol in (
        ("given model", "prior", BEFORE, "circle-open"),
        ("identified model", "identified", AFTER, "circle"),
    ):
        mass = [body[key]["mass"] for body in summary["bodies"]]
        marker = {"color": color, "symbol": symbol, "size": 11, "line": {"width": 2, "color": color}}
        figure.add_scatter(x=names, y=mass, name=title, mode="markers", marker=marker)
    _dressed(figure, "Mass of each link", None, "mass [kg]")
    return figure.update_yaxes(rangemode="tozero")


def precision_figure(summary: dict):
    """Standard deviation of every identifiable combination over its magnitude, best known first."""
    import plotly.graph_objects as go

    base = [each for each in summary["base_parameters"] if each["deviation"] and each["identified"]]
    base.sort(key=lambda each: each["deviation"] / abs(each["identified"]))
    share = [100 * each["deviation"] / abs(each["identified"]) for each in base]
    color = [BEFORE if each["uncertain"] else AFTER for each in base]
    symbol = ["diamond" if each["uncertain"] else "circle" for each in base]
    figure = go.Figure()
    figure.add_scatter(
        x=list(range(1, len(base) + 1)),
        y=share,
        mode="markers",
        showlegend=False,
        marker={"color": color, "symbol": symbol, "size": 8},
        text=[escape(each["name"]) for each in base],
        hovertemplate="%{text}: ± %{y:.2g} %<extra></extra>",
    )
    figure.add_hline(y=100 * UNCERTAIN, line={"color": MEASURED, "dash": "dash", "width": 1})
    _dressed(
        figure,
        "How well each identifiable combination is known",
        "combinations, best known first",
        "standard deviation over value [%]",
    )
    return figure.update_yaxes(type="log", dtick=1, exponentformat="none")


def _dressed(figure, title: str, x_title: str | None, y_title: str):
    """Title, axes with units, quiet grid: the look that all figures share."""
    figure.update_layout(
        template="none",
        title={"text": title, "x": 0.01, "xanchor": "left", "font": {"size": 15}},
        font={"family": "system-ui, sans-serif", "size": 12, "color": "#1a1a1a"},
        height=320,
        margin={"l": 62, "r": 12, "t": 64, "b": 46},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        barmode="group",
        hoverlabel={"namelength": -1},
    )
    axis = {"gridcolor": "#e3e3e3", "zerolinecolor": "#c4c4c4", "automargin": True}
    figure.update_xaxes(title=x_title, **axis)
    return figure.update_yaxes(title=y_title, **axis)
