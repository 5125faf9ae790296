"""Plotly figures of a run. Colours are of the Okabe-Ito palette, which colour-blind readers can tell apart."""

from html import escape

import numpy as np

from steelyard.pipeline import Result
from steelyard.report.thin import thin
from steelyard.report.verdict import UNCERTAIN

MEASURED, BEFORE, AFTER = "#4d4d4d", "#d55e00", "#0072b2"
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
TOP = 1000.0  # percent, where the drawn uncertainty ends: beyond it nothing is known anyway
LONGEST = 14  # letters of a name below an axis
MOST_POINTS = 200_000  # in all figures together: some megabytes of page


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

    units = dict(zip(result.prior.dof_names, dof_units(result.prior), strict=True))
    return [units[name]["tau"] for name in result.after.joint_names]


def _traces(result: Result, i: int):
    yield "measured", result.after.measured[:, i], {"color": MEASURED, "width": 1.5}
    yield "given", result.before.predicted[:, i], {"color": BEFORE, "width": 1.2, "dash": "dot"}
    yield "identified", result.after.predicted[:, i], {"color": AFTER, "width": 1.5}


def _torque_figure(name, unit, t, traces, limit, time_title):
    import plotly.graph_objects as go

    figure = go.Figure()
    for title, y, line in traces:
        x, y = thin(t, y, limit)
        figure.add_scatter(x=x.astype("f4"), y=y.astype("f4"), name=title, line=line, mode="lines")
    kind = "torque" if unit == "N m" else "force"
    return _dressed(figure, f"{_text(name)}: {kind}, held out", time_title, f"{kind} [{unit}]")


def error_figure(summary: dict):
    """Held-out error of every joint over its torque, before and after, in percent."""
    joints = summary["held_out"]["joints"]
    names = [joint["name"] for joint in joints]
    before, after = ([_percent(joint[f"relative_{key}"]) for joint in joints] for key in ("before", "after"))
    return _pairs("Held-out error of each joint", "RMS error over RMS torque [%]", "%", names, before, after)


def mass_figure(summary: dict):
    """Mass of every link, given and identified."""
    names = [body["name"] for body in summary["bodies"]]
    before, after = ([body[key]["mass"] for body in summary["bodies"]] for key in ("prior", "identified"))
    return _pairs("Mass of each link", "mass [kg]", "kg", names, before, after)


def contribution_figure(summary: dict):
    """Share of every effect in the torque of each joint (paper B, Figure 5), stacked, in percent."""
    import plotly.graph_objects as go

    joints = summary["diagnosis"]["joints"]
    figure = go.Figure()
    for effect, color in EFFECT_COLORS.items():
        share = [100 * (joint["contributions"][effect] or 0.0) for joint in joints]
        if any(share):
            figure.add_bar(
                x=[_text(joint["name"]) for joint in joints],
                y=share,
                name=effect,
                marker={"color": color},
                hovertemplate="%{x}: %{y:.2g} %<extra>" + effect + "</extra>",
            )
    _dressed(figure, "What each joint's torque is made of", None, "share of the RMS torques [%]")
    figure.update_xaxes(tickvals=list(range(len(joints))), ticktext=[_short(joint["name"]) for joint in joints])
    return figure.update_layout(barmode="stack", legend={"traceorder": "normal"})


def _percent(share):
    return None if share is None else 100 * share


def _pairs(title: str, y_title: str, unit: str, names, before, after):
    """Two values a name on a logarithmic axis: a factor is the same distance for the wrist and for the shoulder."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for series, values, color, symbol in (
        ("given", before, BEFORE, "circle-open"),
        ("identified", after, AFTER, "circle"),
    ):
        figure.add_scatter(
            x=[_text(name) for name in names],
            y=[value if value and value > 0 else None for value in values],
            name=series,
            mode="markers",
            marker={"color": color, "symbol": symbol, "size": 11, "line": {"width": 2, "color": color}},
            hovertemplate="%{x}: %{y:.4g} " + unit + "<extra>" + series + "</extra>",
        )
    _dressed(figure, title, None, y_title)
    figure.update_xaxes(tickvals=list(range(len(names))), ticktext=[_short(name) for name in names])
    return figure.update_yaxes(type="log", exponentformat="none", minor={"showgrid": True, "gridcolor": "#f1f1f1"})


def _text(name: str) -> str:
    """A name as Plotly shows it as it is: three characters stand for markup there."""
    return escape(name, quote=False)


def _short(name: str) -> str:
    """A name that fits below an axis."""
    return _text(name if len(name) <= LONGEST else name[: LONGEST - 1] + "…")


def precision_figure(summary: dict):
    """Standard deviation of every identifiable combination over its natural size, best known first."""
    import plotly.graph_objects as go

    base = [each for each in summary["base_parameters"] if each["relative_deviation"]]
    base.sort(key=lambda each: each["relative_deviation"])
    share = [100 * each["relative_deviation"] for each in base]
    color = [BEFORE if each["uncertain"] else AFTER for each in base]
    symbol = ["diamond" if each["uncertain"] else "circle" for each in base]
    figure = go.Figure()
    figure.add_scatter(
        x=list(range(1, len(base) + 1)),
        y=np.minimum(share, TOP),
        customdata=share,
        mode="markers",
        showlegend=False,
        marker={"color": color, "symbol": symbol, "size": 8},
        text=[_text(each["name"]) for each in base],
        hovertemplate="%{text}: ± %{customdata:.2g} %<extra></extra>",
    )
    figure.add_hline(y=100 * UNCERTAIN, line={"color": MEASURED, "dash": "dash", "width": 1})
    _dressed(
        figure,
        "How well each identifiable combination is known",
        "combinations, best known first",
        "std. dev. over natural size [%]",
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
        hoverlabel={"namelength": -1},
    )
    axis = {"gridcolor": "#e3e3e3", "zerolinecolor": "#c4c4c4", "automargin": True}
    figure.update_xaxes(title=x_title, **axis)
    return figure.update_yaxes(title=y_title, **axis)
