"""Torque errors on held-out samples, and what is left of each joint's torque."""

from steelyard.report.numbers import number, share
from steelyard.report.sheet import Cell, Sheet, sheet

NOTHING = "nothing worth a word"


def errors(summary: dict) -> Sheet:
    """Error of each joint before and after, and of all."""
    held = summary["held_out"]
    rows = [
        (
            joint["name"],
            number(joint["torque_rms"]),
            *(f"{number(joint[f'rms_{key}'])} ({share(joint[f'relative_{key}'])})" for key in ("before", "after")),
            number(joint["noise"]),
            joint["unit"],
        )
        for joint in held["joints"]
    ]
    whole = ("all joints", "", *(share(held[f"relative_error_{key}"]) for key in ("before", "after")), "", "")
    return sheet(
        "Error of each joint",
        "RMS torque error on held-out samples; in brackets, over the RMS of the measured torque.",
        (("Joint", "text"), "Torque", "Before", "After", "In the fit", ("Unit", "text")),
        [*rows, whole],
    )


def residuals(summary: dict) -> Sheet:
    """What is left of each joint's torque, and what it goes with."""
    undone = " once the named faults are undone" if summary["diagnosis"]["faults"] else ""
    rows = [
        (
            joint["name"],
            share(joint["relative_error"]),
            number(joint["time_constant"]),
            number(joint["reversal"]),
            Cell(" ".join(joint["hints"]) or NOTHING),
        )
        for joint in summary["diagnosis"]["joints"]
    ]
    return sheet(
        "What is left",
        f"Residual of each joint over its torque{undone}. Time constant: how long it stays alike; noise behind the "
        "filter forgets at once. Standstill: residual where the joint hardly moves over that elsewhere, where that is "
        "no chance.",
        (("Joint", "text"), "Residual", "Time constant [s]", "Standstill", ("It goes with", "wrap")),
        rows,
    )
