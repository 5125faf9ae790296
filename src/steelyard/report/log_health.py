"""The health of a log, as `steelyard inspect` shows it: a page, and tables of the terminal with the same numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Group
from rich.text import Text

from steelyard.cards import LINES
from steelyard.decisions.verdict import GOOD, LOG, USE, Reason, Verdict
from steelyard.errors import LogError
from steelyard.log import Log
from steelyard.log.automatic_cutoff import bandwidth
from steelyard.log.stamps import GAP
from steelyard.numbers import number, plural, spread
from steelyard.pipeline.inspection import Inspection
from steelyard.report.console import shown
from steelyard.report.document import Question, ReportPart, Screen, Section, View
from steelyard.report.figure_style import IDENTIFIED, MEASURED, NOMINAL, VISIBLE, drawn, log_axis, text
from steelyard.report.log_data import CHANNELS, motion_sheet, signal_sheet
from steelyard.report.outputs import write_file
from steelyard.report.schema import jsonable
from steelyard.report.signal_curves import CLOUD
from steelyard.report.torques import FEW
from steelyard.sheets import Sheet, sheet

BINS = 60
NARROW = 0.02  # of the median step: what a histogram shows at least


def health_view(found: Inspection, log: Log) -> View:
    """A page. log: the one inspected, for spectra and time steps."""
    summary = jsonable(found)
    summary |= {"kind": "health", "verdict": _screen(summary).as_json()}
    spectra = _spectra(log, found.cutoff)
    steps = {("steps", 0): _steps(log.t[np.isfinite(log.t)], found.rate)} if found.rate else {}
    figures = steps | {("spectrum", j): each for j, each in enumerate(spectra)}
    return View(
        summary=summary,
        title=f"{found.name}: health of the log",
        subtitle=facts(summary),
        sections=list(_sections(summary, len(spectra))),
        figures=figures,
        files="",
    )


def write_health_page(found: Inspection, log: Log, path, *, inputs: Sequence[Path] = ()) -> Path:
    """Write the page to a file, as a whole or not at all. Raises OptionError, also for one of `inputs`."""
    from steelyard.report.rendering import page

    return write_file(path, page(health_view(found, log)).encode(), what="Page", inputs=inputs)


def health_overview(found: Inspection) -> Group:
    """What `steelyard inspect` prints."""
    summary = jsonable(found)
    head = Text(f"{summary['name']}: {facts(summary)}", style="bold")
    screen = replace(_screen(summary), advice="")
    return Group(head, shown(screen, sheets(summary), notes=reading(summary), about="How it was read"))


def facts(summary: dict) -> str:
    """Time and cutoffs in one line."""
    both = [number(summary[key]) for key in ("cutoff", "torque_cutoff")]
    cutoff = "no cutoff can be told" if summary["cutoff"] is None else f"cutoff {both[0]} Hz, of torques {both[1]} Hz"
    return (
        f"{plural(summary['samples'], 'sample')}, {number(summary['duration'])} s at {number(summary['rate'])} Hz, "
        f"steps spread by {spread(summary['jitter'])}, {plural(len(summary['gaps']), 'gap')}, {cutoff}"
    )


def reading(summary: dict) -> list[str]:
    """Which channels the log has, and all that was inferred or done to get them."""
    joints = {each["joint"] for each in summary["signals"]}
    held = [key for key in CHANNELS if any(each["channel"] == key for each in summary["signals"])]
    rest = [key for key in CHANNELS if key not in held]
    lacking = f"; not recorded: {', '.join(rest)}" if rest else ""
    found = [f"channels: {', '.join(held)} of {plural(len(joints), 'joint')}{lacking}"] if held else []
    return [*found, *summary["notes"]]


def sheets(summary: dict) -> Iterator[Sheet]:
    """Tables of gaps, motion and signals, as far as there are any."""
    if summary["gaps"]:
        rows = [(number(start), number(length)) for start, length in summary["gaps"][:LINES]]
        said = f"The first {LINES} of {len(summary['gaps'])}. " if len(summary["gaps"]) > LINES else ""
        yield sheet("Gaps", f"{said}Nothing is interpolated across them.", ("After t [s]", "Length [s]"), rows)
    if summary["motion"]:
        yield replace(motion_sheet(summary), folded="")
    if summary["signals"]:
        yield signal_sheet(summary)


def _screen(summary: dict) -> Screen:
    found = [*summary["findings"], *summary["faults"]]
    reasons = [Reason(each["code"], each["message"], USE if each["severity"] == "fatal" else GOOD) for each in found]
    verdict = Verdict(tuple(sorted(reasons, key=lambda each: each.forbids != USE)), LOG)
    headline = {
        "keep": f"This log cannot be used as it is: {plural(len(verdict.forbidding), 'fault')}.",
        "care": f"{plural(len(found), 'thing')} to look at before this log is used.",
        "good": "Nothing is wrong with this log.",
    }[verdict.level]
    moving = [each["joint"] for each in summary["motion"] if each["moving"] > 0.5]
    questions = (
        Question(
            "How long?",
            f"{number(summary['duration'])} s",
            f"{summary['samples']} samples at {number(summary['rate'])} Hz.",
        ),
        Question(
            "How even?", spread(summary["jitter"]), f"Spread of the time steps; {plural(len(summary['gaps']), 'gap')}."
        ),
        Question(
            "What cutoff?",
            f"{number(summary['cutoff'])} Hz",
            "What the spectrum of the positions asks for (--cutoff); "
            f"{number(summary['torque_cutoff'])} Hz for torques.",
        ),
        Question(
            "What moves?", f"{len(moving)} of {plural(len(summary['motion']), 'joint')}", "More than half of the time."
        ),
    )
    return Screen.judged(verdict, headline, questions)


def _sections(summary: dict, spectra: int) -> Iterator[Section]:
    tables = {each.title.split()[0]: ReportPart(sheet=each) for each in sheets(summary)}
    shown = (("steps", 0),) if summary["rate"] else ()
    parts = (ReportPart(figures=shown), *(tables[key] for key in ("Gaps", "Motion") if key in tables))
    yield Section("Time and motion", "Motion", parts)
    if spectra:
        said = (
            "Power of the acceleration by frequency. What stands out of the white noise of the encoder is motion; the "
            "cutoff minimises the expected error of the filtered acceleration over all joints."
        )
        keys = tuple(("spectrum", j) for j in range(spectra))
        folded = f"spectra of {spectra} joints" if spectra > FEW else ""
        yield Section("Spectra and cutoff", "Spectra", (ReportPart(text=said), ReportPart(figures=keys, folded=folded)))
    if "Signals" in tables:
        yield Section("Signals: noise and resolution", "Signals", (tables["Signals"],))
    if said := reading(summary):
        yield Section("How it was read", "Reading", (ReportPart(items=tuple(said)),))


def _steps(t, rate: float) -> dict:
    """How often each time step occurs, over the median step. Steps that are gaps are in the last bar."""
    ratio = np.diff(t) * rate
    ends = max(min(ratio.min(), 1 - NARROW), 0.0), min(max(ratio.max(), 1 + NARROW), GAP)
    count, edges = np.histogram(np.clip(ratio, *ends), bins=BINS, range=ends)
    bars = {
        "type": "bar",
        "x": (edges[:-1] + edges[1:]) / 2,
        "y": np.where(count, count, np.nan),
        "width": np.diff(edges),
        "marker": {"color": IDENTIFIED},
        "hovertemplate": "%{x:.4g} median steps: %{y}<extra></extra>",
    }
    beyond = f" (last bar: {GAP:.0f} and more)" if ratio.max() > GAP else ""
    height = log_axis("number of steps") | {"range": [-0.3, float(np.log10(2 * count.max()))]}
    title = f"Time steps: the median is {1e3 / rate:.4g} ms"
    return drawn([bars], title, {"title": f"step over the median{beyond}"}, height)


def _spectra(log: Log, cutoff: float | None) -> list[dict]:
    """Power density of each joint's acceleration, that of its noise, and the cutoff; none for logs too short."""
    if cutoff is None or log.nq != log.nv:
        return []
    try:
        found = bandwidth(log)
    except LogError:
        return []
    shown = zip(log.labels, found.spectrum.T, found.floor.T, strict=True)
    return [_spectrum(joint, found.frequency, whole, noise, cutoff) for joint, whole, noise in shown]


def _spectrum(joint: str, frequency, whole, noise, cutoff: float) -> dict:
    lowest = VISIBLE * noise[noise > 0].min(initial=np.inf)
    x, whole = _thinned(frequency, whole, lowest)
    _, noise = _thinned(frequency, noise, lowest)
    across = [float(min(whole.min(), noise.min())), float(max(whole.max(), noise.max()))]
    lines = (
        ("motion and noise", x, whole, {"color": IDENTIFIED, "width": 1.3}),
        ("noise", x, noise, {"color": MEASURED, "width": 1.2, "dash": "dash"}),
        (f"cutoff {cutoff:.1f} Hz", [cutoff, cutoff], across, {"color": NOMINAL, "width": 1.5, "dash": "dot"}),
    )
    traces = [
        {"type": "scatter", "x": along, "y": y, "name": name, "line": line, "mode": "lines"}
        for name, along, y, line in lines
    ]
    height = log_axis("acceleration² / Hz") | {"exponentformat": "power", "dtick": 2}
    return drawn(traces, f"{text(joint)}: spectrum", {"title": "frequency [Hz]", "type": "log"}, height)


def _thinned(frequency, density, lowest: float):
    """Means over stretches of equal ratio: (k,) Hz, (k,) density."""
    edges = np.geomspace(frequency[1], frequency[-1], CLOUD + 1)
    place = np.clip(np.digitize(frequency[1:], edges) - 1, 0, CLOUD - 1)
    count = np.bincount(place, minlength=CLOUD)
    held = count > 0
    x, y = (np.bincount(place, values[1:], CLOUD)[held] / count[held] for values in (frequency, density))
    return x.astype("f4"), np.maximum(y, lowest).astype("f4")
