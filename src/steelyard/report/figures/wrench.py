"""Signals of a payload run: one channel over time, and errors of all."""

from steelyard.errors import OptionError, choices
from steelyard.report.figures.look import IDENTIFIED, LINES, dressed, name_axis, text
from steelyard.report.record import record_of


def wrench(run, channel: str | int):
    """One measured channel of a payload run, and what the payload explains of it.

    run: the folder of a payload result, or a Record. channel: such as `fz` or a joint; or an index. Returns a Plotly
    figure. Raises OptionError for an unknown channel.
    """
    import plotly.graph_objects as go

    record = record_of(run)
    channels = record.summary.get("channels", [])
    names = [each["name"] for each in channels]
    i = names.index(channel) if channel in names else channel
    if not isinstance(i, int) or ("wrench", i, "measured") not in record.curves:
        raise OptionError(f"There is no channel {channel!r}. Choose from {choices(names)}.")
    figure = go.Figure()
    for name, line in (("measured", LINES["measured"]), ("explained", LINES["identified"])):
        t, y = record.curves["wrench", i, name]
        figure.add_scatter(x=t, y=y, name=name, line=line, mode="lines")
    unit = channels[i]["unit"]
    return dressed(figure, text(names[i]), "time [s]", f"{'force' if unit == 'N' else 'torque'} [{unit}]")


def unexplained(run):
    """What a payload leaves of each signal, over its RMS: median, quartiles, and 5 to 95 %, in percent."""
    import plotly.graph_objects as go

    channels = record_of(run).summary["channels"]
    shares = ([100 * value / (each["rms"] or 1.0) for value in each["quantiles"]] for each in channels)
    low, first, middle, third, high = zip(*shares, strict=True)
    figure = go.Figure()
    figure.add_box(
        x=list(range(len(channels))),
        lowerfence=low,
        q1=first,
        median=middle,
        q3=third,
        upperfence=high,
        width=0.5,
        name="unexplained",
        text=[text(each["name"]) for each in channels],
        marker={"color": IDENTIFIED},
    )
    dressed(figure, "What is left of each signal", None, "error over RMS [%]")
    return name_axis(figure, [each["name"] for each in channels])
