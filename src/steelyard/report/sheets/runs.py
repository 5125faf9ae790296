"""Tables of a comparison."""

from steelyard.report.numbers import DASH, number, plus_minus, share, unit
from steelyard.report.sheet import Cell, Sheet, sheet

SHOWN = 20
LEVELS = {"good": "use it", "care": "with care", "keep": "not yet"}


def runs(summary: dict) -> Sheet:
    """One row a result."""
    rows = [
        (
            each["name"],
            each["subject"],
            each["created"][:16].replace("T", " "),
            str(each["samples"]),
            share(each["error_before"]),
            share(each["error"]),
            LEVELS[each["level"]],
            Cell(each["method"]),
        )
        for each in summary["runs"]
    ]
    return sheet(
        "Results",
        "Error: torques on held-out samples, or of a payload's wrench, over the signal.",
        (
            ("Result", "text"),
            ("Robot or log", "text"),
            ("Computed", "text"),
            "Samples",
            "Before",
            "After",
            ("May I use it?", "text"),
            ("Method", "wrap"),
        ),
        rows,
    )


def joints(summary: dict) -> Sheet:
    """Held-out error of each joint in every result."""
    return sheet(
        "Error of each joint",
        "Over the RMS of the measured torque, on held-out samples.",
        (("Joint", "text"), *(run["name"] for run in summary["runs"])),
        [(each["name"], *map(share, each["relative_errors"])) for each in summary["joints"]],
    )


def values(summary: dict) -> Sheet:
    """Numbers all results determine, those that chance explains least first."""
    found = sorted(summary["values"], key=lambda each: each["probability"])
    rows = [
        (
            each["name"],
            *(plus_minus(value, spread) for value, spread in zip(each["estimates"], each["deviations"], strict=True)),
            number(each["spread"]),
            number(each["predicted"]),
            f"yes, most in {each['outlier']}" if each["differs"] else "no",
            unit(each["unit"]),
        )
        for each in found
    ]
    return sheet(
        "Numbers that every result determines",
        "± standard deviation, those that chance explains least first. Spread: of the estimates; expected: what their "
        "own deviations predict. Differs: chance is ruled out (Welch's analysis of variance, 5 % for all together).",
        (
            ("Name", "text"),
            *(run["name"] for run in summary["runs"]),
            "Spread",
            "Expected",
            ("Differs", "text"),
            ("Unit", "text"),
        ),
        rows,
        folded="" if len(rows) <= SHOWN else f"{len(rows)} numbers, those that differ most first",
    )


def masses(summary: dict) -> Sheet:
    """Mass of each link in every result."""
    rows = [(each["name"], *map(_mass, each["runs"])) for each in summary["masses"]]
    return sheet(
        "Mass of each link",
        "kg, with what determines it and its interval.",
        (("Link", "text"), *(run["name"] for run in summary["runs"])),
        rows,
    )


def _mass(row: dict | None) -> Cell:
    if row is None:
        return Cell(DASH)
    return Cell(number(row["value"]), note=f"{number(row['lower'])} … {number(row['upper'])}, {row['label']}")
