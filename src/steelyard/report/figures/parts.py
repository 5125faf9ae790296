"""What torques are made of: over time for one joint, and as shares for all (paper B, Figure 5)."""

from steelyard.diagnose import EFFECTS
from steelyard.report.figures.choose import joint_place
from steelyard.report.figures.look import EFFECT_COLORS, OTHER_COLOR, drawn, name_axis, quantity, text
from steelyard.report.record import record_of

VISIBLE = 0.1  # percent, below which nothing can be seen of a bar


def parts(run, joint: str | int):
    """What gravity, motion, friction and the rest add to the predicted torque of a joint on held-out samples.

    Arguments and errors as of `torque`.
    """
    record = record_of(run)
    i, found = joint_place(record, joint)
    traces = []
    for effect in EFFECTS:
        if ("part", i, effect) in record.curves:
            t, y = record.curves["part", i, effect]
            line = {"color": EFFECT_COLORS.get(effect, OTHER_COLOR), "width": 1.4}
            traces.append({"type": "scatter", "x": t, "y": y, "name": effect, "line": line, "mode": "lines"})
    kind = quantity(found["unit"])
    title = f"{text(found['name'])}: what it is made of"
    return drawn(traces, title, {"title": "time [s]"}, {"title": f"{kind} [{found['unit']}]"})


def contributions(run):
    """Share of every effect in the torque of each joint, stacked, in percent."""
    joints = record_of(run).summary["diagnosis"]["joints"]
    traces = []
    for effect in EFFECTS:
        share = [100 * (joint["contributions"].get(effect) or 0.0) for joint in joints]
        if max(share, default=0.0) > VISIBLE:
            traces.append(
                {
                    "type": "bar",
                    "x": list(range(len(joints))),
                    "y": share,
                    "text": [text(joint["name"]) for joint in joints],
                    "textposition": "none",
                    "name": effect,
                    "marker": {"color": EFFECT_COLORS.get(effect, OTHER_COLOR)},
                    "hovertemplate": "%{text}: %{y:.2g} %<extra>" + effect + "</extra>",
                }
            )
    names = name_axis([joint["name"] for joint in joints])
    title = "What each joint's torque is made of"
    return drawn(traces, title, names, {"title": "share of the RMS torques [%]"}, barmode="stack")
