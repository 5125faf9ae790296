"""How well each identifiable combination is known."""

from steelyard.report.figures.look import GIVEN, IDENTIFIED, drawn, line_across, text
from steelyard.report.record import record_of
from steelyard.report.verdict import UNCERTAIN

TOP = 1000.0  # percent, where the drawn uncertainty ends: beyond it nothing is known anyway


def precision(run):
    """Standard deviation of every identifiable combination over its natural size, best known first."""
    base = [each for each in record_of(run).summary["base_parameters"] if each["relative_deviation"]]
    base.sort(key=lambda each: each["relative_deviation"])
    share = [100 * each["relative_deviation"] for each in base]
    color = [GIVEN if each["uncertain"] else IDENTIFIED for each in base]
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
