"""Torque of one joint on held-out samples."""

from steelyard.report.figures.choose import joint_place
from steelyard.report.figures.look import LINES, drawn, quantity, text
from steelyard.report.record import record_of


def torque(run, joint: str | int):
    """Torque of a joint on samples the fit has not seen: measured, and as given and identified model predict it.

    run: a Result, the folder of a result, or a Record. joint: name or index of a degree of freedom. Raises
    OptionError for an unknown joint.
    """
    record = record_of(run)
    i, found = joint_place(record, joint)
    traces = []
    for name, line in LINES.items():
        t, y = record.curves["torque", i, name]
        traces.append({"type": "scatter", "x": t, "y": y, "name": name, "line": line, "mode": "lines"})
    kind = quantity(found["unit"])
    time = "time [s]" if len(record.summary["job"]["logs"]) == 1 else "time in held-out samples [s]"
    title = f"{text(found['name'])}: {kind}, held out"
    return drawn(traces, title, {"title": time}, {"title": f"{kind} [{found['unit']}]"})
