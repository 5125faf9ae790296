"""Friction of one joint over its speed."""

from steelyard.errors import OptionError
from steelyard.report.figures.choose import joint_place
from steelyard.report.figures.look import LINES, MEASURED, drawn, quantity, text
from steelyard.report.record import record_of


def friction(run, joint: str | int):
    """Friction of a joint over its speed: held-out torque less all but friction, and the curves of both models.

    Arguments and errors as of `torque`; OptionError also for a joint without identified friction.
    """
    record = record_of(run)
    i, found = joint_place(record, joint)
    if ("friction", i, "measured") not in record.curves:
        raise OptionError(f"No friction was identified for joint {found['name']}; see --friction.")
    v, left = record.curves["friction", i, "measured"]
    dots = {"color": MEASURED, "size": 4, "opacity": 0.45}
    traces = [{"type": "scatter", "x": v, "y": left, "name": "measured", "mode": "markers", "marker": dots}]
    for name in ("given", "identified"):
        x, y = record.curves["friction", i, name]
        line = LINES[name] | {"width": 2}
        traces.append({"type": "scatter", "x": x, "y": y, "name": name, "line": line, "mode": "lines"})
    kind = quantity(found["unit"])
    speed = "speed [rad/s]" if kind == "torque" else "speed [m/s]"
    title = f"{text(found['name'])}: friction"
    return drawn(traces, title, {"title": speed}, {"title": f"{kind} [{found['unit']}]"})
