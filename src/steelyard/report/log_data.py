"""The logs behind a result: findings, time base, signals and motion of each."""

from collections.abc import Iterator

from steelyard.decisions.fit_plan import Decision
from steelyard.numbers import number, plural, plus_minus, share, spread
from steelyard.pipeline import Result
from steelyard.report.document import Chapter, ReportPart
from steelyard.sheets import Sheet, sheet

UNITS = {"q": "rad or m", "v": "rad/s or m/s", "a": "rad/s² or m/s²", "tau": "N m or N"}
BARS = "▁▂▃▄▅▆▇█"
CHANNELS = {"q": "position", "v": "speed", "a": "acceleration", "tau": "torque"}
ELSEWHERE = ("delays", "zeros", "findings", "faults", "notes")  # keys of an inspection that the summary has already


def _numbers(result: Result, _: dict) -> dict:
    return {
        "health": [{key: x for key, x in vars(each).items() if key not in ELSEWHERE} for each in result.health],
        "findings": [vars(finding) for finding in result.findings],
    }


def _parts(summary: dict) -> Iterator[ReportPart]:
    found = [each for each in summary["findings"] if each["code"] not in summary["diagnosis"]["faults"]]
    if found:
        yield ReportPart(items=tuple(f"{each['severity']} ({each['code']}): {each['message']}" for each in found))
    else:
        yield ReportPart(text="No fault was found in the logs.")
    yield ReportPart(sheet=_log_sheet(summary))
    for health in summary["health"]:
        if health["signals"]:
            yield ReportPart(sheet=signal_sheet(health))
        if health["motion"]:
            yield ReportPart(sheet=motion_sheet(health))
    if summary["notes"]:
        about = "what was assumed, converted, left out or not written"
        yield ReportPart(items=tuple(summary["notes"]), folded=f"{plural(len(summary['notes']), 'note')}: {about}")


def _log_sheet(summary: dict) -> Sheet:
    return sheet(
        "Logs",
        "Jitter: spread of the time steps over their mean. Cutoff: what the spectrum of the positions asks for.",
        {
            ("Log", "text"): "name",
            "Samples": lambda each: str(each["samples"]),
            "Duration [s]": "duration",
            "Rate [Hz]": "rate",
            "Jitter": lambda each: spread(each["jitter"]),
            "Gaps": lambda each: str(len(each["gaps"])),
            "Longest gap [s]": lambda each: number(max((length for _, length in each["gaps"]), default=None)),
            "Cutoff by spectrum [Hz]": "cutoff",
        },
        summary["health"],
    )


def signal_sheet(health: dict) -> Sheet:
    """Every recorded column of one log."""
    counted = any(each["code"] == "torque_register" for each in health.get("findings", ()))
    return sheet(
        f"Signals of {health['name']}",
        "As recorded. Noise: what changes from sample to sample. Step: between neighbouring values of a signal that is "
        "quantised.",
        {
            ("Joint", "text"): "joint",
            ("Channel", "text"): lambda each: CHANNELS[each["channel"]],
            "Smallest": "smallest",
            "Largest": "largest",
            "RMS": "rms",
            "Noise": "noise",
            "Step": "quantum",
            ("Unit", "text"): lambda each: "counts" if each["channel"] == "tau" and counted else UNITS[each["channel"]],
        },
        health["signals"],
        folded=f"{len(health['signals'])} signals of {health['name']}",
    )


def motion_sheet(health: dict) -> Sheet:
    """How each joint moved in one log, and with a model, the delay of its torque and the offset of its position."""
    delays = {joint: [1000 * x for x in pair] for joint, pair in health.get("delays", {}).items()}
    columns = {
        ("Joint", "text"): "joint",
        "Span": "span",
        "RMS speed": "speed",
        "RMS acceleration": "acceleration",
        "Moving": lambda each: share(each["moving"]),
        ("Tenths", "text"): lambda each: "".join(BARS[min(int(4 * part), len(BARS) - 1)] for part in each["tenths"]),
        "Reversals": lambda each: str(each["reversals"]),
    }
    for title, found in (("Torque delay [ms]", delays), ("Position offset", health.get("zeros"))):
        if found:
            columns[title] = lambda each, found=found: plus_minus(*found.get(each["joint"], (None, None)))
    estimated = (
        " Torque delay, position offset: a dash where the torques do not determine it to 5 ms and 0.2 rad or m. One "
        "that should be undone is among the findings above."
    )
    return sheet(
        f"Motion of {health['name']}",
        "In rad or m and seconds, after the filter. Moving: share of the time above 0.01 rad/s or m/s. Tenths: RMS "
        f"speed in each tenth of the log.{estimated if delays or health.get('zeros') else ''}",
        columns,
        health["motion"],
        folded=f"motion of {len(health['motion'])} joints in {health['name']}",
    )


def decided(summary: dict) -> tuple[str, ...]:
    """What was decided between logs and fit, in words; nothing of results of earlier programs."""
    return tuple(Decision(**each).words for each in summary.get("decided", ()))


LOGS = Chapter("The data", "Data", _numbers, _parts)
DECIDED = Chapter(
    "What was decided for you",
    "Decided",
    lambda result, _: {"decided": [vars(each) for each in result.decided]},
    lambda summary: [ReportPart(items=decided(summary))],
)
