"""What torques are made of: over time for one joint, and as shares for all (paper B, Figure 5)."""

from steelyard.diagnose.contributions import EFFECTS
from steelyard.report.figures.choose import joint_place
from steelyard.report.figures.look import EFFECT_COLORS, dressed, name_axis, quantity, text
from steelyard.report.record import record_of

VISIBLE = 0.1  # percent, below which nothing can be seen of a bar


def parts(run, joint: str | int):
    """What gravity, motion, friction and the rest add to the predicted torque of a joint on held-out samples.

    Arguments and errors as of `torque`.
    """
    import plotly.graph_objects as go

    record = record_of(run)
    i, found = joint_place(record, joint)
    figure = go.Figure()
    for effect in EFFECTS:
        if ("part", i, effect) in record.curves:
            t, y = record.curves["part", i, effect]
            line = {"color": EFFECT_COLORS[effect], "width": 1.4}
            figure.add_scatter(x=t, y=y, name=effect, line=line, mode="lines")
    kind = quantity(found["unit"])
    return dressed(figure, f"{text(found['name'])}: what it is made of", "time [s]", f"{kind} [{found['unit']}]")


def contributions(run):
    """Share of every effect in the torque of each joint, stacked, in percent."""
    import plotly.graph_objects as go

    joints = record_of(run).summary["diagnosis"]["joints"]
    figure = go.Figure()
    for effect, color in EFFECT_COLORS.items():
        share = [100 * (joint["contributions"][effect] or 0.0) for joint in joints]
        if max(share, default=0.0) > VISIBLE:
            figure.add_bar(
                x=list(range(len(joints))),
                y=share,
                text=[text(joint["name"]) for joint in joints],
                textposition="none",
                name=effect,
                marker={"color": color},
                hovertemplate="%{text}: %{y:.2g} %<extra>" + effect + "</extra>",
            )
    dressed(figure, "What each joint's torque is made of", None, "share of the RMS torques [%]")
    name_axis(figure, [joint["name"] for joint in joints])
    return figure.update_layout(barmode="stack", legend={"traceorder": "normal"})
