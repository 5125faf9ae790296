"""The health of a log, as `steelyard inspect` shows it: a page, and tables of the terminal with the same numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from rich.console import Group
from rich.text import Text

from steelyard.log import Log
from steelyard.pipeline import Inspection
from steelyard.report.figures import health as figures
from steelyard.report.jsonable import jsonable
from steelyard.report.numbers import number, plural, share
from steelyard.report.outputs import write_file
from steelyard.report.sections import FEW, Part, Section
from steelyard.report.sheet import Sheet, sheet
from steelyard.report.sheets import data
from steelyard.report.tables import COLORS, shown
from steelyard.report.view import View

MOST = 10  # gaps that are listed


def view(found: Inspection, log: Log) -> View:
    """A page. log: the one inspected, for spectra and time steps."""
    summary = {"kind": "health", **jsonable(found.as_json())}
    spectra = figures.spectra(log, found.cutoff)
    drawn = {("steps", 0): figures.steps(log)} | {("spectrum", j): each for j, each in enumerate(spectra)}
    if found.motion:
        drawn["motion", 0] = figures.motion(found)
    return View(
        summary=summary,
        title=f"{found.name}: health of the log",
        subtitle=facts(summary),
        verdict=_verdict(summary),
        sections=list(_sections(summary, len(spectra))),
        figures=drawn,
        footer=f"steelyard {version('steelyard')}",
    )


def write_page(found: Inspection, log: Log, path, *, inputs: Sequence[Path] = ()) -> Path:
    """Write the page to a file, as a whole or not at all. Raises OptionError, also for one of `inputs`."""
    from steelyard.report.html import page

    return write_file(path, page(view(found, log)).encode(), what="Page", inputs=inputs)


def health_overview(found: Inspection) -> Group:
    """What `steelyard inspect` prints."""
    summary = jsonable(found.as_json())
    judged = _verdict(summary)
    lines = [
        Text(f"{summary['name']}: {facts(summary)}", style="bold"),
        Text(judged["headline"], style=f"bold {COLORS[judged['level']]}"),
        *(Text(f"- {reason}") for reason in judged["reasons"]),
    ]
    for table in sheets(summary):
        lines += [Text(), shown(table)]
    lines += [Text("\nHow it was read", style="bold"), *(Text(f"- {each}") for each in reading(summary))]
    return Group(*lines)


def facts(summary: dict) -> str:
    """Time and cutoffs in one line."""
    both = [number(summary[key]) for key in ("cutoff", "torque_cutoff")]
    cutoff = "no cutoff can be told" if summary["cutoff"] is None else f"cutoff {both[0]} Hz, of torques {both[1]} Hz"
    return (
        f"{plural(summary['samples'], 'sample')}, {number(summary['duration'])} s at {number(summary['rate'])} Hz, "
        f"steps spread by {share(round(summary['jitter'], 6))}, {plural(len(summary['gaps']), 'gap')}, {cutoff}"
    )


def reading(summary: dict) -> list[str]:
    """Which channels the log has, and all that was inferred or done to get them."""
    joints = {each["joint"] for each in summary["signals"]}
    held = [key for key in data.CHANNELS if any(each["channel"] == key for each in summary["signals"])]
    rest = [key for key in data.CHANNELS if key not in held]
    lacking = f"; not recorded: {', '.join(rest)}" if rest else ""
    found = [f"channels: {', '.join(held)} of {plural(len(joints), 'joint')}{lacking}"] if held else []
    return [*found, *summary["notes"]]


def sheets(summary: dict) -> Iterator[Sheet]:
    """Tables of gaps, motion and signals, as far as there are any."""
    if summary["gaps"]:
        rows = [(number(start), number(length)) for start, length in summary["gaps"][:MOST]]
        said = f"The first {MOST} of {len(summary['gaps'])}. " if len(summary["gaps"]) > MOST else ""
        yield sheet("Gaps", f"{said}Nothing is interpolated across them.", ("After t [s]", "Length [s]"), rows)
    if summary["motion"]:
        yield replace(data.motion(summary), folded="")
    if summary["signals"]:
        yield data.signals(summary)


def _verdict(summary: dict) -> dict:
    """In the form of an identification's: level, headline, advice, reasons and answers."""
    found = [*summary["findings"], *summary["faults"]]
    fatal = [each for each in found if each["severity"] == "fatal"]
    level = "keep" if fatal else "care" if found else "good"
    headline = {
        "keep": f"This log cannot be used as it is: {plural(len(fatal), 'fault')}.",
        "care": f"{plural(len(found), 'thing')} to look at before this log is used.",
        "good": "Nothing is wrong with this log.",
    }[level]
    moving = [each["joint"] for each in summary["motion"] if each["moving"] > 0.5]
    return {
        "level": level,
        "headline": headline,
        "advice": "Each says what to do about it." if found else "It may be used.",
        "reasons": [each["message"] for each in (*fatal, *(each for each in found if each not in fatal))],
        "answers": [
            _answer(
                "How long?",
                f"{number(summary['duration'])} s",
                f"{summary['samples']} samples at {number(summary['rate'])} Hz.",
            ),
            _answer(
                "How even?",
                share(round(summary["jitter"], 6)),
                f"Spread of the time steps; {plural(len(summary['gaps']), 'gap')}.",
            ),
            _answer(
                "What cutoff?",
                f"{number(summary['cutoff'])} Hz",
                "What the spectrum of the positions asks for (--cutoff); "
                f"{number(summary['torque_cutoff'])} Hz for torques.",
            ),
            _answer(
                "What moves?",
                f"{len(moving)} of {plural(len(summary['motion']), 'joint')}",
                "More than half of the time.",
            ),
        ],
    }


def _answer(question: str, answer: str, detail: str) -> dict:
    return {"question": question, "answer": answer, "detail": detail}


def _sections(summary: dict, spectra: int) -> Iterator[Section]:
    tables = {each.title.split()[0]: Part(sheet=each) for each in sheets(summary)}
    shown = (("steps", 0), ("motion", 0)) if summary["motion"] else (("steps", 0),)
    parts = (Part(figures=shown), *(tables[key] for key in ("Gaps", "Motion") if key in tables))
    yield Section("Time and motion", "Motion", parts)
    if spectra:
        said = (
            "Power of the acceleration by frequency. What stands out of the white noise of the encoder is motion; the "
            "cutoff minimises the expected error of the filtered acceleration over all joints."
        )
        keys = tuple(("spectrum", j) for j in range(spectra))
        folded = f"spectra of {spectra} joints" if spectra > FEW else ""
        yield Section("Spectra and cutoff", "Spectra", (Part(text=said), Part(figures=keys, folded=folded)))
    if "Signals" in tables:
        yield Section("Signals: noise and resolution", "Signals", (tables["Signals"],))
    if said := reading(summary):
        yield Section("How it was read", "Reading", (Part(items=tuple(said)),))
