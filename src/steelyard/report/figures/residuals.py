"""How the errors of every joint are distributed."""

from steelyard.report.figures.look import POINTS, dressed, name_axis, text
from steelyard.report.record import record_of

KEYS = {"given": "quantiles_before", "identified": "quantiles_after"}


def residuals(run):
    """Errors on held-out samples over the RMS torque of each joint: median, quartiles, and 5 to 95 %, in percent.

    run: as of `torque`.
    """
    import plotly.graph_objects as go

    joints = record_of(run).summary["held_out"]["joints"]
    names = [text(joint["name"]) for joint in joints]
    figure = go.Figure()
    for k, (series, key) in enumerate(KEYS.items()):
        shares = ([100 * value / (joint["torque_rms"] or 1.0) for value in joint[key]] for joint in joints)
        low, first, middle, third, high = zip(*shares, strict=True)
        figure.add_box(
            x=[i + (k - 0.5) * 0.36 for i in range(len(joints))],
            lowerfence=low,
            q1=first,
            median=middle,
            q3=third,
            upperfence=high,
            width=0.3,
            name=series,
            text=names,
            marker={"color": POINTS[series][0]},
        )
    dressed(figure, "Errors on held-out samples", None, "error over RMS torque [%]")
    return name_axis(figure, [joint["name"] for joint in joints])
