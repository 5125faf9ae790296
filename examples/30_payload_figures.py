"""Redraw Figures 4 to 8 of Nadeau, Giamou and Kelly (2022) from the stored result of `evidence/bench/payload.py`.

Run it: `python examples/30_payload_figures.py [OUT]`; without OUT a temporary folder is made. It writes one page a
figure and prints Tables III and IV, the published figures beside ours. `python -m evidence.bench.payload` repeats it.

Figure 4: accuracy and time of point masses over their number. Figure 5: accuracy over time for several c1. Figure 6:
methods after 10 s over speed, at four noise levels. Figure 7: methods over time, at five speeds. Figure 8: torque that
the parameters of point masses predict for another part of the motion.
"""

import json
import sys
import tempfile
from pathlib import Path

import plotly.graph_objects as go
from plotly.subplots import make_subplots

STORED = Path(__file__).resolve().parents[1] / "evidence" / "bench" / "payload.json"
COLORS = {"ols": "#d55e00", "rtls": "#cc79a7", "geo": "#e69f00", "pmd": "#0072b2", "density": "#009e73"}
NAMES = {"ols": "OLS", "rtls": "RTLS", "geo": "GEO", "pmd": "PMD", "density": "ours (density)"}
SHADES = ("#c6dbef", "#9ecae1", "#6baed6", "#2171b5", "#08306b")
PUBLISHED = {
    "ols": "1.36 2.88 3.22 | 34.4 44.0 36.1 | >500 >500 >500",
    "rtls": "1.84 1.77 2.41 | 97.5 37.7 38.2 | >500 >500 >500",
    "geo": "1.45 2.65 4.09 | 33.0 33.1 32.6 | >500 252 109",
    "pmd": "1.34 2.15 1.91 | 9.83 15.5 16.4 | 44.1 43.5 43.6",
}
PUBLISHED_ROBOT = {
    "ols": "3.18, 24.9, >500",
    "rtls": "11.7, >500, >500",
    "geo": "3.75, 30.3, >500",
    "pmd, c1 = 5,000": "4.51, 8.12, 36.75",
    "pmd, c1 = 25,000": "4.45, 4.50, 29.11",
}
INERTIA = 2  # of the three errors
LIMITS = (-0.1, 4.1)  # powers of ten of per cent; what lies above is of no interest
SNR_LIMITS = (1.0, 5.0)


def figure_4(data):
    """Left: errors of PMD over the density of points. Right: its time over their number, for several sample counts."""
    figure = make_subplots(cols=2, subplot_titles=("accuracy, 150 samples at 1.5 rad/s", "time"))
    rows = data["by_density"]
    for i, name in enumerate(("mass", "centre of mass", "inertia")):
        x, y = [row["density"] for row in rows], [row["errors"][i] for row in rows]
        figure.add_scatter(x=x, y=y, name=name, mode="lines+markers", row=1, col=1)
    for shade, samples in zip(SHADES[1:], sorted({row["samples"] for row in data["milliseconds"]}), strict=True):
        some = [row for row in data["milliseconds"] if row["samples"] == samples]
        x, y = [row["points"] for row in some], [row["milliseconds"] for row in some]
        figure.add_scatter(x=x, y=y, name=f"{samples} samples", mode="lines+markers", line_color=shade, row=1, col=2)
    figure.update_xaxes(type="log", title="points per cm³", row=1, col=1)
    figure.update_xaxes(type="log", title="points", row=1, col=2)
    figure.update_yaxes(title="error [%]", rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title="ms", type="log", row=1, col=2)
    return figure


def figure_5(data):
    """Inertia error of PMD over time, a panel a speed, a line a value of c1."""
    figure = _panels(data, (0.9, 2.1))
    for column, by_c1 in enumerate(data["c1_over_time"], start=1):
        for shade, c1, errors in zip(SHADES, data["c1"], by_c1, strict=True):
            _line(figure, column, data["times"], errors, f"c1 = {c1:g}", shade)
    return figure


def figure_6(data):
    """Inertia error after 10 s over speed, a panel a noise level; dashed: signal-to-noise ratio of the wrench."""
    levels = list(data["by_noise"])
    figure = make_subplots(
        cols=len(levels),
        subplot_titles=[f"{'no' if level == 'none' else level} noise" for level in levels],
        shared_yaxes=True,
        specs=[[{"secondary_y": True}] * len(levels)],
    )
    for column, level in enumerate(levels, start=1):
        for name, errors in data["by_noise"][level].items():
            _line(figure, column, data["speeds"], errors, NAMES[name], COLORS[name])
        if level in data["snr"]:
            figure.add_scatter(
                x=data["speeds"],
                y=data["snr"][level],
                name="SNR",
                line={"color": "black", "width": 3, "dash": "dash"},
                showlegend=level == "low",
                row=1,
                col=column,
                secondary_y=True,
            )
    figure.update_yaxes(type="log", dtick=1, range=LIMITS, secondary_y=False)
    figure.update_yaxes(title="inertia error [%]", col=1, secondary_y=False)
    figure.update_yaxes(type="log", dtick=1, range=SNR_LIMITS, showgrid=False, showticklabels=False, secondary_y=True)
    figure.update_yaxes(title="SNR", showticklabels=True, col=len(levels), secondary_y=True)
    figure.update_xaxes(title="rad/s")
    return figure


def figure_7(data):
    """Inertia error of every method over time, a panel a speed, moderate noise."""
    figure = _panels(data, LIMITS)
    for name, by_speed in data["over_time"].items():
        for column, errors in enumerate(by_speed, start=1):
            _line(figure, column, data["times"], errors, NAMES[name], COLORS[name])
    return figure


def figure_8(data):
    """Torque about x, y and z of the tee by its true parameters (lines) and by those of PMD, c1 = 5,000 (dashed)."""
    figure, predicted = go.Figure(), data["predicted"]
    found = predicted["found"]["pmd, c1 = 5,000"]["torque"]
    start, end = predicted["seconds"]
    for axis, color, true, by in zip("xyz", COLORS.values(), predicted["true"], found, strict=False):
        seconds = [start + i * (end - start) / len(true) for i in range(len(true))]
        figure.add_scatter(x=seconds, y=true, name=f"true, {axis}", line_color=color)
        figure.add_scatter(x=seconds, y=by, name=f"PMD, {axis}", line={"color": color, "dash": "dash"})
    figure.update_xaxes(title="time [s]")
    figure.update_yaxes(title="torque [N m]")
    return figure


def _panels(data, limits):
    titles = [f"{speed:g} rad/s" for speed in data["speeds"]]
    figure = make_subplots(cols=len(titles), subplot_titles=titles, shared_yaxes=True)
    figure.update_xaxes(title="time [s]")
    figure.update_yaxes(type="log", dtick=1, range=limits)
    figure.update_yaxes(title="inertia error [%]", col=1)
    return figure


def _line(figure, column, x, errors, name, color):
    y = [error[INERTIA] for error in errors]
    figure.add_scatter(
        x=x,
        y=y,
        name=name,
        legendgroup=name,
        showlegend=column == 1,
        line_color=color,
        mode="lines+markers",
        row=1,
        col=column,
    )


def table_3(data) -> str:
    """Errors in per cent at 1.0, 1.5, 2.0 rad/s after 150 samples: mass | centre of mass | inertia."""
    lines = ["Table III [%]         mass | centre of mass | inertia, at 1.0 1.5 2.0 rad/s"]
    for method, errors in data["table"].items():
        cells = " | ".join(" ".join(f"{speed[kind]:.3g}" for speed in errors) for kind in range(3))
        lines.append(f"  {method:18s} {cells}")
        if method in PUBLISHED:
            lines.append(f"  {'  published':18s} {PUBLISHED[method]}")
    return "\n".join(lines)


def table_4(data) -> str:
    """Errors in per cent at 1.1 rad/s after 1.5 s, of our wrist and of the paper's robot, whose motion is another."""
    lines = ["Table IV [%]          mass, centre of mass, inertia, at 1.1 rad/s"]
    for name, errors in data["robot"].items():
        lines.append(f"  {name:18s} " + ", ".join(f"{error:.3g}" for error in errors))
        lines.append(f"  {'published':18s} {PUBLISHED_ROBOT[name]}")
    shares = (f"{name} {100 * each['share off']:.2g} %" for name, each in data["predicted"]["found"].items())
    return "\n".join([*lines, f"Torque predicted wrongly (Figure 8): {', '.join(shares)}"])


def main(arguments):
    folder = Path(arguments[0]) if arguments else Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    data = json.loads(STORED.read_text())
    for number, draw in ((4, figure_4), (5, figure_5), (6, figure_6), (7, figure_7), (8, figure_8)):
        figure: go.Figure = draw(data)
        title = draw.__doc__.split("\n")[0]
        figure.update_layout(template="plotly_white", title=f"Figure {number}. {title}", width=1300, height=480)
        figure.write_html(folder / f"figure_{number}.html", include_plotlyjs=True)
    print(table_3(data))
    print(table_4(data))
    print(f"Figures 4 to 8: {folder}")


if __name__ == "__main__":
    main(sys.argv[1:])
