"""The report of a payload run: its summary (schema `payload`), tables and figures, and its files."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from steelyard.decisions.verdict import ESTIMATE, GOOD, USE, Reason, Verdict
from steelyard.errors import FitError, OptionError, choices
from steelyard.fit import Draws, save_draws
from steelyard.fit.draws import FILE as DRAWS
from steelyard.inertia.parameters import DIAGONAL_FIRST
from steelyard.job_options import PAYLOAD, path_word, words_of
from steelyard.numbers import number, percent, plural, plus_minus, share
from steelyard.payload.payload_estimate import Payload, Status
from steelyard.payload.payload_job import PayloadOutcome, Signals
from steelyard.payload_request import Request
from steelyard.report.document import Figure, Question, ReportPart, Screen, Section, View, drawn_figures
from steelyard.report.figure_style import IDENTIFIED, LINES, box, curves_of, drawn, name_axis, text
from steelyard.report.identification_report import FOLDER, record_of
from steelyard.report.outputs import staged
from steelyard.report.provenance import repeat_section, stamped
from steelyard.report.randomisation import CENTER, FOUND, MOMENT, PRIOR, SCALE, body_ranges, range_parts
from steelyard.report.randomisation import KEY as RANGES
from steelyard.report.randomisation import TITLE as RANGE_TITLE
from steelyard.report.record import FILES, Record, render, write
from steelyard.report.signal_curves import screen_curves
from steelyard.report.torques import error_quantiles
from steelyard.sheets import Sheet, sheet


def payload_view(record: Record) -> View:
    """View of the record of a payload run."""
    found = record.summary
    sections = _sections(found)
    figures = {"wrench": Figure(wrench, curve="wrench"), "unexplained": Figure(unexplained)}
    return View(
        summary=found,
        title=f"Payload in {Path(found['job']['log']).name}",
        subtitle=f"{found['provenance']['created']} · {plural(found['payload']['samples'], 'sample')} · method "
        f"{found['payload']['method']}",
        sections=sections,
        figures=drawn_figures(record, sections, figures),
    )


def _sections(summary: dict) -> list[Section]:
    found = summary["payload"]
    channels = [ReportPart(sheet=_channel_sheet(summary)), ReportPart(figures=(("unexplained", 0),))]
    channels.append(ReportPart(figures=tuple(("wrench", i) for i in range(len(summary["channels"])))))
    method = ReportPart(text=f"Method {found['method']}: {found['why']}.")
    sections = [
        Section("The payload", "Payload", (ReportPart(sheet=_value_sheet(summary)), method)),
        Section("What it explains", "Signals", tuple(channels)),
    ]
    if RANGES in summary:
        sections.append(Section(RANGE_TITLE, "Ranges", tuple(range_parts(summary))))
    if summary["export"]:
        parts = [ReportPart(text=f"{name}:", code=settings) for name, settings in summary["export"].items()]
        sections.append(Section("Settings for controllers and files", "Export", tuple(parts)))
    if found["notes"]:
        sections.append(Section("What was assumed and done", "Notes", (ReportPart(items=tuple(found["notes"])),)))
    return [*sections, repeat_section(summary)]


def _value_sheet(summary: dict) -> Sheet:
    found = summary["payload"]
    rows = [("mass", plus_minus(found["mass"], found["mass_deviation"]), "kg")]
    for i, axis in enumerate("xyz"):
        value, spread = found["com"][i], found["com_deviation"][i]
        rows.append((f"centre of mass {axis}", plus_minus(_thousand(value), _thousand(spread)), "mm"))
    for i, j in DIAGONAL_FIRST:
        value, spread = found["inertia"][i][j], found["inertia_deviation"][i][j]
        rows.append((f"I{'xyz'[i]}{'xyz'[j]} about it", plus_minus(value, spread), "kg m²"))
    return sheet(
        "The payload",
        f"In the axes of {found['frame']}, at its origin; ± one standard deviation.",
        (("Quantity", "text"), "Value", ("Unit", "text")),
        rows,
    )


def _thousand(value):
    return None if value is None else 1e3 * value


def _channel_sheet(summary: dict) -> Sheet:
    rows = [
        (each["name"], number(each["rms"]), number(each["rms_error"]), share(each["relative_error"]), each["unit"])
        for each in summary["channels"]
    ]
    return sheet(
        "Signals",
        "RMS of what was measured (without tool, bias and arm, where given), and of the residual of the payload's fit.",
        (("Channel", "text"), "Measured", "Residual", "Share", ("Unit", "text")),
        rows,
    )


def wrench(run, channel: str | int):
    """One measured channel of a payload run, and what the payload explains of it.

    Args:
        run: the folder of a payload result, or a Record.
        channel: such as `fz` or a joint; or an index.

    Returns:
        A Plotly figure.

    Raises:
        OptionError: an unknown channel.
    """
    record = record_of(run)
    channels = record.summary.get("channels", [])
    names = [each["name"] for each in channels]
    i = names.index(channel) if channel in names else channel
    if not isinstance(i, int) or ("wrench", i, "measured") not in record.curves:
        raise OptionError(f"There is no channel {channel!r}. Choose from {choices(names)}.")
    looks = {"measured": LINES["measured"], "explained": LINES["identified"]}
    traces = curves_of(record.curves, "wrench", i, looks)
    unit = channels[i]["unit"]
    y_title = f"{'force' if unit == 'N' else 'torque'} [{unit}]"
    return drawn(traces, text(names[i]), {"title": "time [s]"}, {"title": y_title})


def unexplained(run):
    """Residual of each signal of a payload run, over its RMS: median, quartiles, and 5 to 95 %, in percent.

    Args:
        run: the folder of a payload result, or a Record.

    Returns:
        A Plotly figure.
    """
    channels = record_of(run).summary["channels"]
    names = [each["name"] for each in channels]
    shares = [[100 * value / (each["rms"] or 1.0) for value in each["quantiles"]] for each in channels]
    trace = box("unexplained", range(len(names)), shares, names, width=0.5, color=IDENTIFIED)
    return drawn([trace], "Residual of each signal", name_axis(names), {"title": "error over RMS [%]"})


INPUTS = ("log", "shape", "arm", "hand")
UNKNOWN = {
    Status.OK: "Nothing is left open",
    Status.WEAK: "Most of the inertia",
    Status.STATIC: "The inertia",
    Status.AXIS: "Part of the centre of mass",
    Status.FAINT: "Nearly everything",
    Status.OPEN: "Nearly everything",
    Status.SUSPECT: "Whether any of it is right",
    Status.NOT_EXPLAINED: "Whether any of it is right",
    Status.INCONSISTENT: "What body this is",
}


def write_payload(outcome: PayloadOutcome, request: Request, exports: Mapping[str, str], out) -> Record:
    """Write summary, report and curves of a payload run to a folder, all together or not at all. exports: text by
    format, as of `exports`. Raises OptionError where files cannot be written."""
    draws = _draws(outcome.payload)
    files = FILES if draws is None else (*FILES, DRAWS)
    record = payload_record(outcome, request, exports, out=out, files=files)
    with staged(out, inputs=[path for _, path in _inputs(request)]) as stage:
        if draws is not None:
            save_draws(draws, stage / DRAWS)
        write(record, stage)
        render(payload_view(record), stage)
    return record


def payload_record(
    outcome: PayloadOutcome,
    request: Request,
    export: Mapping[str, str] | None = None,
    *,
    out=None,
    files: Sequence[str] = (),
) -> Record:
    """Record of a payload run. export: settings for controllers, by format. out, files: as of `report.summary`."""
    payload, signals, exports = outcome.payload, outcome.signals, dict(export or {})
    weight = 1 / np.maximum(_noise(payload, signals), 1e-300)
    # sums, not norms: BLAS would add in another order with another number of threads
    error, measured = (float(np.sqrt(np.sum((x * weight) ** 2))) for x in (signals.error, signals.measured))
    relative = error / max(measured, 1e-300)
    channels = list(_channels(signals))
    content = {
        "verdict": _screen(payload, relative, channels).as_json(),
        "payload": payload.as_dict(),
        "channels": channels,
        "relative_error": relative,
        "export": exports,
    }
    if (draws := _draws(payload)) is not None:
        content[RANGES] = _ranges(payload, draws)
    summary = stamped(
        "payload",
        content,
        job=request,
        command=repeat_payload(request, tuple(exports), out),
        out=out,
        files=files,
        inputs=_inputs(request),
    )
    series = {"measured": signals.measured, "explained": signals.explained}
    return Record(summary, dict(screen_curves("wrench", signals.t, series)))


def _draws(payload: Payload) -> Draws | None:
    """Samples of a payload; None where it is no result, and where too few converge."""
    try:
        return payload.draws() if payload.status.usable else None
    except FitError:
        return None


def _ranges(payload: Payload, draws: Draws) -> list[dict]:
    """Ranges of mass, centre of mass and moments; part of the latter two may be assumed."""
    rest = PRIOR if payload.status is Status.AXIS else FOUND
    sources = {(SCALE, "payload"): FOUND}
    sources |= {(group, f"payload {axis}"): rest for group in (CENTER, MOMENT) for axis in "xyz"}
    return body_ranges(draws, payload.theta[None], sources)


def repeat_payload(request: Request, export: Sequence[str] = (), out=None) -> str:
    """`steelyard payload ...` with the same request. out: folder to write to, the word OUT when there is none."""
    words = ["steelyard", "payload", path_word(request.log)]
    words += [*words_of(request, PAYLOAD), *words_of(request.job, PAYLOAD)]
    words += ["--export", ",".join(export)] if export else []
    return shlex.join([*words, "--out", str(out or FOLDER)])


def _inputs(request: Request) -> list[tuple[str, Path]]:
    return [(role, Path(path)) for role in INPUTS if (path := getattr(request, role)) is not None]


def _noise(payload: Payload, signals: Signals) -> np.ndarray:
    """(k,) residual deviation of each channel."""
    return np.repeat(payload.noise, 3) if len(payload.noise) == 2 and len(signals.names) == 6 else payload.noise


def _channels(signals: Signals) -> Iterator[dict]:
    quantiles = error_quantiles(signals.error)
    for i, name in enumerate(signals.names):
        rms, rms_error = (float(np.sqrt(np.mean(x[:, i] ** 2))) for x in (signals.measured, signals.error))
        yield {
            "name": name,
            "unit": signals.units[i],
            "rms": rms,
            "rms_error": rms_error,
            "relative_error": rms_error / rms if rms > 0 else None,
            "quantiles": quantiles[:, i],
        }


def _screen(payload: Payload, relative: float, channels: list[dict]) -> Screen:
    reasons = [Reason("finding", each) for each in payload.findings]
    if payload.status is not Status.OK:
        forbids = GOOD if payload.status.usable else USE
        reasons.insert(0, Reason(payload.status.name.lower(), payload.status.value, forbids))
    verdict = Verdict(tuple(reasons), ESTIMATE)
    mass = f"{plus_minus(payload.mass, payload.mass_deviation)} kg"
    worst = max(channels, key=lambda each: each["relative_error"] or 0.0)
    questions = (
        Question("What does it weigh?", mass, f"± one standard deviation, from {plural(payload.samples, 'sample')}."),
        Question(
            "How well is it explained?",
            f"to {percent(relative)}",
            "What the payload leaves unexplained of the measured signals, each weighed by its noise; worst is "
            f"{worst['name']}, {number(worst['rms_error'])} of {number(worst['rms'])} {worst['unit']}.",
        ),
        Question("What is unknown?", UNKNOWN[payload.status], _deviations(payload)),
    )
    lost = payload.status in (Status.FAINT, Status.OPEN)
    headline = f"No mass was found: {mass}." if lost else f"It weighs {mass} (± one standard deviation)."
    return Screen.judged(verdict, headline, questions)


def _deviations(payload: Payload) -> str:
    if payload.status in (Status.FAINT, Status.OPEN):
        return "Mass, centre of mass and inertia."
    inertia = np.maximum(np.abs(np.diag(payload.inertia)), 1e-300)
    mass = payload.mass_deviation / max(abs(payload.mass), 1e-300)
    moments = float(np.max(np.diag(payload.inertia_deviation) / inertia))
    center = f"{1e3 * float(np.max(payload.com_deviation)):.2g} mm"
    return f"Standard deviations: mass {percent(mass)}, centre of mass {center}, moments of inertia {percent(moments)}."
