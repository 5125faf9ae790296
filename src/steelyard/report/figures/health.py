"""Figures of a log's health: time steps, spectra with the cutoff, motion over time."""

import numpy as np

from steelyard.errors import LogError
from steelyard.log import GAP, Log, bandwidth
from steelyard.pipeline import Inspection
from steelyard.report.figures.look import GIVEN, IDENTIFIED, MEASURED, SERIES, drawn, log_axis, text

BINS = 60
NARROW = 0.02  # of the median step: what a histogram shows at least
POINTS = 240  # of a spectrum
FLOOR = 1e-3  # of the noise, below which a spectrum is not drawn


def steps(log: Log) -> dict:
    """How often each time step occurs, over the median step. Steps that are gaps are in the last bar."""
    ratio = np.diff(log.t) * log.rate
    ends = max(min(ratio.min(), 1 - NARROW), 0.0), min(max(ratio.max(), 1 + NARROW), GAP)
    count, edges = np.histogram(np.clip(ratio, *ends), bins=BINS, range=ends)
    bars = {
        "type": "bar",
        "x": (edges[:-1] + edges[1:]) / 2,
        "y": np.where(count, count, np.nan),
        "width": np.diff(edges),
        "marker": {"color": IDENTIFIED},
        "hovertemplate": "%{x:.4g} median steps: %{y}<extra></extra>",
    }
    beyond = f" (last bar: {GAP:.0f} and more)" if ratio.max() > GAP else ""
    height = log_axis("number of steps") | {"range": [-0.3, float(np.log10(2 * count.max()))]}
    title = f"Time steps: the median is {1e3 / log.rate:.4g} ms"
    return drawn([bars], title, {"title": f"step over the median{beyond}"}, height)


def spectra(log: Log, cutoff: float | None) -> list[dict]:
    """Power density of the acceleration of each joint, the part of it that is noise, and the cutoff; none where the
    log is too short for any."""
    if cutoff is None or log.nq != log.nv:
        return []
    try:
        found = bandwidth(log)
    except LogError:
        return []
    shown = zip(log.labels, found.spectrum.T, found.floor.T, strict=True)
    return [_spectrum(joint, found.frequency, whole, noise, cutoff) for joint, whole, noise in shown]


def _spectrum(joint: str, frequency, whole, noise, cutoff: float) -> dict:
    lowest = FLOOR * noise[noise > 0].min(initial=np.inf)
    x, whole = _thinned(frequency, whole, lowest)
    _, noise = _thinned(frequency, noise, lowest)
    across = [float(min(whole.min(), noise.min())), float(max(whole.max(), noise.max()))]
    lines = (
        ("motion and noise", x, whole, {"color": IDENTIFIED, "width": 1.3}),
        ("noise", x, noise, {"color": MEASURED, "width": 1.2, "dash": "dash"}),
        (f"cutoff {cutoff:.1f} Hz", [cutoff, cutoff], across, {"color": GIVEN, "width": 1.5, "dash": "dot"}),
    )
    traces = [
        {"type": "scatter", "x": along, "y": y, "name": name, "line": line, "mode": "lines"}
        for name, along, y, line in lines
    ]
    height = log_axis("acceleration² / Hz") | {"exponentformat": "power", "dtick": 2}
    return drawn(traces, f"{text(joint)}: spectrum", {"title": "frequency [Hz]", "type": "log"}, height)


def _thinned(frequency, density, lowest: float):
    """Means over stretches of equal ratio: (k,) Hz, (k,) density."""
    edges = np.geomspace(frequency[1], frequency[-1], POINTS + 1)
    place = np.clip(np.digitize(frequency[1:], edges) - 1, 0, POINTS - 1)
    count = np.bincount(place, minlength=POINTS)
    held = count > 0
    x, y = (np.bincount(place, values[1:], POINTS)[held] / count[held] for values in (frequency, density))
    return x.astype("f4"), np.maximum(y, lowest).astype("f4")


def motion(found: Inspection) -> dict:
    """RMS speed of each joint in each tenth of the log, over that of the whole log."""
    traces = []
    for j, each in enumerate(found.motion):
        edges = np.linspace(0.0, found.duration, len(each.tenths) + 1)
        line = {"color": SERIES[j % len(SERIES)], "width": 1.5}
        points = {"x": (edges[:-1] + edges[1:]) / 2, "y": list(each.tenths)}
        traces.append({"type": "scatter", **points, "name": text(each.joint), "line": line, "mode": "lines+markers"})
    return drawn(traces, "Motion over the log", {"title": "time [s]"}, {"title": "RMS speed over the mean"})
