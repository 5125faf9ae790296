"""Figures of the record of an identification, as dictionaries that Plotly understands."""

from steelyard.diagnose.torque_contributions import EFFECTS
from steelyard.errors import OptionError, choices
from steelyard.numbers import in_percent
from steelyard.report.figure_style import (
    EFFECT_COLORS,
    IDENTIFIED,
    LINES,
    MEASURED,
    NOMINAL,
    OTHER_COLOR,
    POINTS,
    VISIBLE,
    box,
    curves_of,
    drawn,
    line_across,
    log_axis,
    name_axis,
    points,
    quantity,
    text,
)
from steelyard.report.parameters import UNCERTAIN
from steelyard.report.record import Record

TOP = 1000.0  # percent, where the drawn uncertainty ends: beyond it nothing is known anyway


def torque(record: Record, joint: str | int):
    """Torque of a joint on held-out samples: measured, and as nominal and identified model predict it.

    joint: name or index of a degree of freedom. Raises OptionError for an unknown joint.
    """
    i, found = _joint_place(record, joint)
    kind = quantity(found["unit"])
    time = "time [s]" if len(record.summary["job"]["logs"]) == 1 else "time in held-out samples [s]"
    title = f"{text(found['name'])}: {kind}, held out"
    traces = curves_of(record.curves, "torque", i, LINES)
    return drawn(traces, title, {"title": time}, {"title": f"{kind} [{found['unit']}]"})


def parts(record: Record, joint: str | int):
    """What gravity, motion, friction and the rest add to the predicted torque of a joint on held-out samples.

    Arguments and errors as of `torque`.
    """
    i, found = _joint_place(record, joint)
    looks = {effect: {"color": EFFECT_COLORS.get(effect, OTHER_COLOR), "width": 1.4} for effect in EFFECTS}
    traces = curves_of(record.curves, "part", i, looks)
    kind = quantity(found["unit"])
    title = f"{text(found['name'])}: what it is made of"
    return drawn(traces, title, {"title": "time [s]"}, {"title": f"{kind} [{found['unit']}]"})


def contributions(record: Record):
    """Share of every effect in the torque of each joint, stacked, in percent."""
    joints = record.summary["diagnosis"]["joints"]
    traces = []
    for effect in EFFECTS:
        share = [100 * (joint["contributions"].get(effect) or 0.0) for joint in joints]
        if max(share, default=0.0) > 100 * VISIBLE:
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


def friction(record: Record, joint: str | int):
    """Friction of a joint over its speed: held-out torque less all but friction, and the curves of both models.

    Arguments and errors as of `torque`; OptionError also for a joint without identified friction.
    """
    i, found = _joint_place(record, joint)
    if ("friction", i, "measured") not in record.curves:
        raise OptionError(f"No friction was identified for joint {found['name']}; see --friction.")
    v, torque = record.curves["friction", i, "measured"]
    dots = {"color": MEASURED, "size": 4, "opacity": 0.45}
    traces = [{"type": "scatter", "x": v, "y": torque, "name": "measured", "mode": "markers", "marker": dots}]
    looks = {name: LINES[name] | {"width": 2} for name in ("given", "identified")}
    traces += curves_of(record.curves, "friction", i, looks)
    kind = quantity(found["unit"])
    speed = "speed [rad/s]" if kind == "torque" else "speed [m/s]"
    title = f"{text(found['name'])}: friction"
    return drawn(traces, title, {"title": speed}, {"title": f"{kind} [{found['unit']}]"})


def errors(record: Record):
    """Held-out error of every joint over its torque, before and after, in percent."""
    joints = record.summary["held_out"]["joints"]
    names = [joint["name"] for joint in joints]
    before, after = ([in_percent(joint[f"relative_{key}"]) for joint in joints] for key in ("before", "after"))
    return _pairs("Held-out error of each joint", "RMS error over RMS torque [%]", "%", names, before, after)


def residuals(record: Record):
    """Errors on held-out samples over the RMS torque of each joint: median, quartiles, and 5 to 95 %, in percent."""
    joints = record.summary["held_out"]["joints"]
    names = [joint["name"] for joint in joints]
    traces = []
    for series, key, side in (("nominal", "quantiles_before", -0.18), ("identified", "quantiles_after", 0.18)):
        shares = [[100 * value / (joint["torque_rms"] or 1.0) for value in joint[key]] for joint in joints]
        x = [i + side for i in range(len(joints))]
        traces.append(box(series, x, shares, names, width=0.3, color=POINTS[series][0]))
    return drawn(traces, "Errors on held-out samples", name_axis(names), {"title": "error over RMS torque [%]"})


def masses(record: Record):
    """Mass of every link, nominal and identified, with the interval of the latter."""
    summary = record.summary
    names = [body["name"] for body in summary["bodies"]]
    before, after = ([body[key]["mass"] for body in summary["bodies"]] for key in ("prior", "identified"))
    found = {each["name"]: (each["lower"], each["upper"]) for each in summary["parameters"]}
    spans = [found[f"{name}.m"] for name in names]
    return _pairs("Mass of each link, with intervals", "mass [kg]", "kg", names, before, after, spans=spans)


def precision(record: Record):
    """Standard deviation of every identifiable combination over its natural size, best known first."""
    base = [each for each in record.summary["base_parameters"] if each["relative_deviation"]]
    base.sort(key=lambda each: each["relative_deviation"])
    share = [100 * each["relative_deviation"] for each in base]
    color = [NOMINAL if each["uncertain"] else IDENTIFIED for each in base]
    symbol = ["diamond" if each["uncertain"] else "circle" for each in base]
    trace = {
        "type": "scatter",
        "x": list(range(1, len(base) + 1)),
        "y": [min(each, TOP) for each in share],
        "customdata": share,
        "mode": "markers",
        "showlegend": False,
        "marker": {"color": color, "symbol": symbol, "size": 8},
        "text": [text(each["name"]) for each in base],
        "hovertemplate": "%{text}: ± %{customdata:.2g} %<extra></extra>",
    }
    return drawn(
        [trace],
        "How well each identifiable combination is known",
        {"title": "combinations, best known first"},
        {"title": "std. dev. over natural size [%]", "type": "log", "dtick": 1, "exponentformat": "none"},
        shapes=[line_across(100 * UNCERTAIN)],
    )


def _pairs(title: str, y_title: str, unit: str, names, nominal, identified, *, spans=None):
    """Figure of two values a name. spans: (lower, upper) of each identified value, drawn as a bar."""
    traces = []
    for series, values, intervals in (("nominal", nominal, None), ("identified", identified, spans)):
        color, symbol = POINTS[series]
        marker = {"color": color, "symbol": symbol, "size": 10, "line": {"width": 2, "color": color}}
        shown = [value if value and value > 0 else None for value in values]
        traces.append(points(series, range(len(names)), shown, names, unit=unit, marker=marker, spans=intervals))
    return drawn(traces, title, name_axis(names), log_axis(y_title))


def _joint_place(record: Record, joint: str | int) -> tuple[int, dict]:
    """Index of a joint, and what the summary says of its held-out error. Raises OptionError."""
    joints = record.summary["held_out"]["joints"]
    names = [each["name"] for each in joints]
    if isinstance(joint, str) and joint in names:
        joint = names.index(joint)
    if not isinstance(joint, int) or not -len(names) <= joint < len(names):
        raise OptionError(f"There is no joint {joint!r}. Choose from {choices(names)}, or an index below {len(names)}.")
    joint %= len(names)
    if ("torque", joint, "measured") not in record.curves:
        raise OptionError(
            "This result has no curves.npz, so torques cannot be drawn. Run the identification again with --out."
        )
    return joint, joints[joint]
