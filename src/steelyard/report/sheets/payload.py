"""Tables of a payload run."""

from steelyard.report.numbers import number, plus_minus, share
from steelyard.report.sheet import Sheet, sheet

ENTRIES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def values(summary: dict) -> Sheet:
    """Mass, centre of mass and inertia with deviations."""
    found = summary["payload"]
    rows = [("mass", plus_minus(found["mass"], found["mass_deviation"]), "kg")]
    for i, axis in enumerate("xyz"):
        value, spread = found["com"][i], found["com_deviation"][i]
        rows.append((f"centre of mass {axis}", plus_minus(_thousand(value), _thousand(spread)), "mm"))
    for i, j in ENTRIES:
        value, spread = found["inertia"][i][j], found["inertia_deviation"][i][j]
        rows.append((f"I{'xyz'[i]}{'xyz'[j]} about it", plus_minus(value, spread), "kg m²"))
    return sheet(
        "The payload",
        "In the axes of the sensor, at its origin; ± one standard deviation.",
        (("Quantity", "text"), "Value", ("Unit", "text")),
        rows,
    )


def _thousand(value):
    return None if value is None else 1e3 * value


def channels(summary: dict) -> Sheet:
    """How well each measured signal is explained."""
    rows = [
        (each["name"], number(each["rms"]), number(each["rms_error"]), share(each["relative_error"]), each["unit"])
        for each in summary["channels"]
    ]
    return sheet(
        "Signals",
        "RMS of what was measured (tool, bias and arm taken off, where given), and of what the payload leaves.",
        (("Channel", "text"), "Measured", "Left", "Share", ("Unit", "text")),
        rows,
    )
