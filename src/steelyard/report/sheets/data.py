"""The data behind a result: health of each log, input files."""

from steelyard.report.numbers import DASH, number, plus_minus, share, size
from steelyard.report.sheet import Sheet, sheet

UNITS = {"q": "rad or m", "v": "rad/s or m/s", "a": "rad/s² or m/s²", "tau": "N m or N"}
BARS = "▁▂▃▄▅▆▇█"
CHANNELS = {"q": "position", "v": "speed", "a": "acceleration", "tau": "torque"}


def logs(summary: dict) -> Sheet:
    """Time base of each log."""
    rows = [
        (
            each["name"],
            str(each["samples"]),
            number(each["duration"]),
            number(each["rate"]),
            share(round(each["jitter"], 6)),
            str(len(each["gaps"])),
            number(max((length for _, length in each["gaps"]), default=None)),
            number(each["cutoff"]),
        )
        for each in summary["health"]
    ]
    return sheet(
        "Logs",
        "Jitter: spread of the time steps over their mean. Cutoff: what the spectrum of the positions asks for.",
        (
            ("Log", "text"),
            "Samples",
            "Duration [s]",
            "Rate [Hz]",
            "Jitter",
            "Gaps",
            "Longest gap [s]",
            "Cutoff by spectrum [Hz]",
        ),
        rows,
    )


def signals(health: dict) -> Sheet:
    """Every recorded column of one log."""
    rows = [
        (
            each["joint"],
            CHANNELS[each["channel"]],
            *(number(each[key]) for key in ("smallest", "largest", "rms", "noise", "quantum")),
            UNITS[each["channel"]],
        )
        for each in health["signals"]
    ]
    return sheet(
        f"Signals of {health['name']}",
        "As recorded. Noise: what changes from sample to sample. Step: between neighbouring values of a signal that is "
        "quantised.",
        (
            ("Joint", "text"),
            ("Channel", "text"),
            "Smallest",
            "Largest",
            "RMS",
            "Noise",
            "Step",
            ("Unit", "text"),
        ),
        rows,
        folded=f"{len(rows)} signals of {health['name']}",
    )


def motion(health: dict) -> Sheet:
    """How each joint moved in one log, and where a model says so, how late torques come and what positions lack."""
    late = {joint: [1000 * x for x in pair] for joint, pair in health.get("delays", {}).items()}
    off = health.get("zeros")
    rows = [
        (
            each["joint"],
            *(number(each[key]) for key in ("span", "speed", "acceleration")),
            share(each["moving"]),
            "".join(BARS[min(int(4 * part), len(BARS) - 1)] for part in each["tenths"]),
            str(each["reversals"]),
            *([plus_minus(*late.get(each["joint"], (None, None)))] if late else []),
            *([plus_minus(*off.get(each["joint"], (None, None)))] if off else []),
        )
        for each in health["motion"]
    ]
    columns = ("Span", "RMS speed", "RMS acceleration", "Moving", ("Tenths", "text"), "Reversals")
    usual = (
        " Torque late, zero off: a dash where torques do not tell, to 5 ms and 0.2 rad or m. What is worth undoing is "
        "named above."
    )
    return sheet(
        f"Motion of {health['name']}",
        "In rad or m and seconds, after the filter. Moving: share of the time above 0.01 rad/s or m/s. Tenths: RMS "
        f"speed in each tenth of the log.{usual if late or off else ''}",
        (("Joint", "text"), *columns, *(["Torque late [ms]"] if late else []), *(["Zero off"] if off else [])),
        rows,
        folded=f"motion of {len(rows)} joints in {health['name']}",
    )


def inputs(summary: dict) -> Sheet:
    """Files the result was computed from."""
    rows = [
        (each["path"], each["role"], size(each["bytes"]), each["sha256"]) for each in summary["provenance"]["inputs"]
    ]
    return sheet(
        "Input files",
        f"Relative paths start in {summary['provenance']['folder']}.",
        (("File", "wrap"), ("Role", "text"), "Size", ("SHA-256", "wrap")),
        rows,
    )


def versions(summary: dict) -> str:
    """Programs and machine in one line."""
    found = summary["provenance"]
    packages = [f"{name} {version or DASH}" for name, version in found["packages"].items()]
    return " · ".join([*packages, f"Python {found['python']}", found["platform"]])
