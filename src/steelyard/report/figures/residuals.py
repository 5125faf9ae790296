"""How the errors of every joint are distributed."""

from steelyard.report.figures.look import POINTS, drawn, name_axis, text
from steelyard.report.record import record_of

KEYS = {"given": "quantiles_before", "identified": "quantiles_after"}


def residuals(run):
    """Errors on held-out samples over the RMS torque of each joint: median, quartiles, and 5 to 95 %, in percent.

    run: as of `torque`.
    """
    joints = record_of(run).summary["held_out"]["joints"]
    names = [text(joint["name"]) for joint in joints]
    traces = []
    for k, (series, key) in enumerate(KEYS.items()):
        shares = ([100 * value / (joint["torque_rms"] or 1.0) for value in joint[key]] for joint in joints)
        low, first, middle, third, high = zip(*shares, strict=True)
        traces.append(
            {
                "type": "box",
                "x": [i + (k - 0.5) * 0.36 for i in range(len(joints))],
                "lowerfence": low,
                "q1": first,
                "median": middle,
                "q3": third,
                "upperfence": high,
                "width": 0.3,
                "name": series,
                "text": names,
                "marker": {"color": POINTS[series][0]},
            }
        )
    axis = name_axis([joint["name"] for joint in joints])
    return drawn(traces, "Errors on held-out samples", axis, {"title": "error over RMS torque [%]"})
