"""Signals of a payload run: one channel over time, and errors of all."""

from steelyard.errors import OptionError, choices
from steelyard.report.figures.look import IDENTIFIED, LINES, drawn, name_axis, text
from steelyard.report.record import record_of


def wrench(run, channel: str | int):
    """One measured channel of a payload run, and what the payload explains of it.

    run: the folder of a payload result, or a Record. channel: such as `fz` or a joint; or an index. Raises
    OptionError for an unknown channel.
    """
    record = record_of(run)
    channels = record.summary.get("channels", [])
    names = [each["name"] for each in channels]
    i = names.index(channel) if channel in names else channel
    if not isinstance(i, int) or ("wrench", i, "measured") not in record.curves:
        raise OptionError(f"There is no channel {channel!r}. Choose from {choices(names)}.")
    traces = []
    for name, line in (("measured", LINES["measured"]), ("explained", LINES["identified"])):
        t, y = record.curves["wrench", i, name]
        traces.append({"type": "scatter", "x": t, "y": y, "name": name, "line": line, "mode": "lines"})
    unit = channels[i]["unit"]
    y_title = f"{'force' if unit == 'N' else 'torque'} [{unit}]"
    return drawn(traces, text(names[i]), {"title": "time [s]"}, {"title": y_title})


def unexplained(run):
    """What a payload leaves of each signal, over its RMS: median, quartiles, and 5 to 95 %, in percent."""
    channels = record_of(run).summary["channels"]
    shares = ([100 * value / (each["rms"] or 1.0) for value in each["quantiles"]] for each in channels)
    low, first, middle, third, high = zip(*shares, strict=True)
    trace = {
        "type": "box",
        "x": list(range(len(channels))),
        "lowerfence": low,
        "q1": first,
        "median": middle,
        "q3": third,
        "upperfence": high,
        "width": 0.5,
        "name": "unexplained",
        "text": [text(each["name"]) for each in channels],
        "marker": {"color": IDENTIFIED},
    }
    axis = name_axis([each["name"] for each in channels])
    return drawn([trace], "What is left of each signal", axis, {"title": "error over RMS [%]"})
