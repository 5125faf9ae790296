"""Curves and figures of a robot with drives: held-out motion beside the simulated one, friction with its intervals."""

import numpy as np

from steelyard.errors import OptionError, choices
from steelyard.pipeline.drive_identification import FOUND, DriveResult
from steelyard.report.figure_style import IDENTIFIED, LINES, drawn, name_axis, points, text
from steelyard.report.record import Record
from steelyard.report.signal_curves import Curves, screen_curves

FILM, FILMED, FRAMES, GAP = "film", 10.0, 200, 0.5  # s, samples, s between which the robot was somewhere else


def drive_curves(result: DriveResult) -> Curves:
    """Held-out positions: measured, commanded where that is a position, and simulated in one piece from its start.
    Pieces follow each other, whatever lay between them."""
    t, measured, simulated, commanded = result.overlay
    series = {"measured": measured, "identified": simulated}
    if commanded is not None:
        series["commanded"] = commanded
    steps = np.diff(t)
    consecutive = np.cumsum([0.0, *np.where((steps > 0) & (steps <= GAP), steps, GAP)])
    return dict(screen_curves("motion", consecutive, series)) | dict(
        screen_curves(FILM, *_film(t, measured, simulated))
    )


def _film(t, measured, simulated) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The first seconds, at the rate of a slow film."""
    last = np.flatnonzero((np.diff(t) <= 0) | (np.diff(t) > GAP))
    n = min(int(last[0]) + 1 if len(last) else len(t), int(np.searchsorted(t - t[0], FILMED)))
    some = np.linspace(0, n - 1, min(n, FRAMES)).astype(int)
    return t[some], {"measured": measured[some], "identified": simulated[some]}


def filmed(curves: Curves, joints: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Times (k,) and positions (k, nv) of the film of a report of so many joints, by name; empty where it has none."""
    found = {}
    for name in ("measured", "identified"):
        own = [curves[FILM, i, name] for i in range(joints) if (FILM, i, name) in curves]
        if len(own) == joints:
            found[name] = (own[0][0], np.stack([y for _, y in own], axis=1))
    return found


def motion(record: Record, joint: str | int):
    """Held-out motion of a joint, by name or index: measured, commanded, and simulated in one piece. Raises OptionError
    for an unknown joint."""
    names = record.summary["robot"]["joints"]
    if joint not in names and joint not in range(len(names)):
        raise OptionError(f"There is no joint {joint!r}; choose from {choices(names)}.")
    i = joint if isinstance(joint, int) else names.index(joint)
    unit = record.summary["motion"][0]["joints"][i]["unit"]
    traces = []
    for name, line in (("measured", "measured"), ("commanded", "given"), ("identified", "identified")):
        if ("motion", i, name) in record.curves:
            t, y = record.curves["motion", i, name]
            traces.append({"type": "scatter", "x": t, "y": y, "name": name, "line": LINES[line], "mode": "lines"})
    title = f"{text(names[i])}: position, held out, simulated from the start of each piece"
    return drawn(traces, title, {"title": "time in held-out samples [s]"}, {"title": f"position [{unit}]"})


def friction(record: Record):
    """Damping, friction loss and armature of every joint, with their intervals."""
    summary = record.summary
    names = list(summary["drives"])
    own = [each["frictionloss"] for each in summary["drives"].values()]
    spans = [(each["lower"] or each["value"], each["upper"] or each["value"]) for each in own]
    values = [each["value"] for each in own]
    marker = {"size": 8, "color": IDENTIFIED}
    trace = points(FOUND, range(len(names)), values, names, unit="N m", marker=marker, spans=spans)
    title = "Friction loss of each joint, with intervals"
    return drawn([trace], title, name_axis(names), {"title": "friction loss [N m]"})
