"""Figures of a log's health: time steps, spectra with the cutoff, motion over time."""

import numpy as np

from steelyard.errors import LogError
from steelyard.inspect import Inspection, bandwidth
from steelyard.log import Log
from steelyard.log.gaps import GAP
from steelyard.report.figures.look import GIVEN, IDENTIFIED, MEASURED, SERIES, dressed, log_axis, text

BINS = 60
NARROW = 0.02  # of the median step: what a histogram shows at least
POINTS = 240  # of a spectrum
FLOOR = 1e-3  # of the noise, below which a spectrum is not drawn


def steps(log: Log):
    """How often each time step occurs, over the median step. Steps that are gaps are in the last bar."""
    import plotly.graph_objects as go

    ratio = np.diff(log.t) * log.rate
    ends = max(min(ratio.min(), 1 - NARROW), 0.0), min(max(ratio.max(), 1 + NARROW), GAP)
    count, edges = np.histogram(np.clip(ratio, *ends), bins=BINS, range=ends)
    figure = go.Figure()
    figure.add_bar(
        x=(edges[:-1] + edges[1:]) / 2,
        y=np.where(count, count, np.nan),
        width=np.diff(edges),
        marker={"color": IDENTIFIED},
        hovertemplate="%{x:.4g} median steps: %{y}<extra></extra>",
    )
    title = f"Time steps: the median is {1e3 / log.rate:.4g} ms"
    beyond = f" (last bar: {GAP:.0f} and more)" if ratio.max() > GAP else ""
    dressed(figure, title, f"step over the median{beyond}", "number of steps")
    return log_axis(figure).update_yaxes(range=[-0.3, np.log10(2 * count.max())])


def spectra(log: Log, cutoff: float | None) -> list:
    """Power density of the acceleration of each joint, the part of it that is noise, and the cutoff; none where the
    log is too short for any."""
    import plotly.graph_objects as go

    if cutoff is None or log.nq != log.nv:
        return []
    try:
        found = bandwidth(log)
    except LogError:
        return []
    figures = []
    for j, joint in enumerate(log.labels):
        figure = go.Figure()
        lowest = FLOOR * found.floor[found.floor[:, j] > 0, j].min(initial=np.inf)
        x, whole = _thinned(found.frequency, found.spectrum[:, j], lowest)
        _, noise = _thinned(found.frequency, found.floor[:, j], lowest)
        ends = [min(whole.min(), noise.min()), max(whole.max(), noise.max())]
        for name, x_values, y, line in (
            ("motion and noise", x, whole, {"color": IDENTIFIED, "width": 1.3}),
            ("noise", x, noise, {"color": MEASURED, "width": 1.2, "dash": "dash"}),
            (f"cutoff {cutoff:.1f} Hz", [cutoff, cutoff], ends, {"color": GIVEN, "width": 1.5, "dash": "dot"}),
        ):
            figure.add_scatter(x=x_values, y=y, name=name, line=line, mode="lines")
        dressed(figure, f"{text(joint)}: spectrum", "frequency [Hz]", "acceleration² / Hz")
        figures.append(log_axis(figure).update_xaxes(type="log").update_yaxes(exponentformat="power", dtick=2))
    return figures


def _thinned(frequency, density, lowest: float):
    """Means over stretches of equal ratio: (k,) Hz, (k,) density."""
    edges = np.geomspace(frequency[1], frequency[-1], POINTS + 1)
    place = np.clip(np.digitize(frequency[1:], edges) - 1, 0, POINTS - 1)
    count = np.bincount(place, minlength=POINTS)
    held = count > 0
    x, y = (np.bincount(place, values[1:], POINTS)[held] / count[held] for values in (frequency, density))
    return x.astype("f4"), np.maximum(y, lowest).astype("f4")


def motion(found: Inspection):
    """RMS speed of each joint in each tenth of the log, over that of the whole log."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for j, each in enumerate(found.motion):
        edges = np.linspace(0.0, found.duration, len(each.tenths) + 1)
        figure.add_scatter(
            x=(edges[:-1] + edges[1:]) / 2,
            y=each.tenths,
            name=text(each.joint),
            line={"color": SERIES[j % len(SERIES)], "width": 1.5},
            mode="lines+markers",
        )
    return dressed(figure, "Motion over the log", "time [s]", "RMS speed over the mean")
