"""Figures of a robot with drives: held-out motion beside the simulated one, and friction with its intervals."""

from steelyard.errors import OptionError, choices
from steelyard.pipeline import FOUND
from steelyard.report.figure_style import IDENTIFIED, LINES, drawn, name_axis, points, text
from steelyard.report.record import record_of


def motion(run, joint: str | int):
    """Held-out motion of a joint: measured, commanded, and simulated in one piece.

    Args:
        run: the folder of a result, or a Record.
        joint: by name or index.

    Returns:
        A Plotly figure.

    Raises:
        OptionError: an unknown joint.
    """
    record = record_of(run)
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


def friction(run):
    """Damping, friction loss and armature of every joint, with their intervals.

    Args:
        run: the folder of a result, or a Record.

    Returns:
        A Plotly figure.
    """
    summary = record_of(run).summary
    names = list(summary["drives"])
    own = [each["frictionloss"] for each in summary["drives"].values()]
    spans = [(each["lower"] or each["value"], each["upper"] or each["value"]) for each in own]
    values = [each["value"] for each in own]
    marker = {"size": 8, "color": IDENTIFIED}
    trace = points(FOUND, range(len(names)), values, names, unit="N m", marker=marker, spans=spans)
    title = "Friction loss of each joint, with intervals"
    return drawn([trace], title, name_axis(names), {"title": "friction loss [N m]"})
