"""The summary and curves of a payload run (schema `payload`)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from steelyard.payload import Outcome, Payload, Request, Signals, Status
from steelyard.report.answers import MAY
from steelyard.report.command import repeat_payload
from steelyard.report.curves import limit_of
from steelyard.report.jsonable import jsonable
from steelyard.report.numbers import number, percent, plural, plus_minus
from steelyard.report.provenance import provenance
from steelyard.report.record import Record
from steelyard.report.summary import QUANTILES, SCHEMA_VERSION
from steelyard.report.thin import thin

FILES = ("shape", "arm", "hand")
UNKNOWN = {
    Status.OK: "Nothing is left open",
    Status.WEAK: "Most of the inertia",
    Status.STATIC: "The inertia",
    Status.AXIS: "Part of the centre of mass",
    Status.FAINT: "Nearly everything",
    Status.SUSPECT: "Whether any of it is right",
    Status.NOT_EXPLAINED: "Whether any of it is right",
    Status.INCONSISTENT: "What body this is",
}
ADVICE = {
    "good": "These numbers may be used: they are those of a body that can exist, and nothing suspicious was found.",
    "care": "These numbers may be used with care: look at these first.",
    "keep": "Do not use these numbers before you know why: look at these first.",
}


def payload_record(
    outcome: Outcome, request: Request, export: Mapping[str, str] | None = None, *, out=None, files: Sequence[str] = ()
) -> Record:
    """Record of a payload run. export: settings for controllers, by format. out, files: as of `summary`."""
    payload, signals, exports = outcome.payload, outcome.signals, dict(export or {})
    weight = 1 / np.maximum(_noise(payload, signals), 1e-300)
    # sums, not norms: BLAS would add in another order with another number of threads
    error, measured = (float(np.sqrt(np.sum((x * weight) ** 2))) for x in (signals.error, signals.measured))
    relative = error / max(measured, 1e-300)
    channels = list(_channels(signals))
    summary = {
        "schema_version": SCHEMA_VERSION,
        "kind": "payload",
        "verdict": _verdict(payload, relative, channels),
        "payload": payload.as_dict(),
        "channels": channels,
        "relative_error": relative,
        "export": exports,
        "job": asdict(request),
        "command": repeat_payload(request, tuple(exports), out),
        "out": None if out is None else str(out),
        "files": list(files),
        "provenance": provenance(_inputs(request)),
    }
    return Record(jsonable(summary), dict(_curves(signals)))


def _inputs(request: Request) -> list[tuple[str, str | Path]]:
    given = [(role, getattr(request, role)) for role in FILES]
    return [("log", request.log), *((role, path) for role, path in given if path is not None)]


def _noise(payload: Payload, signals: Signals) -> np.ndarray:
    """(k,) residual deviation of each channel."""
    return np.repeat(payload.noise, 3) if len(payload.noise) == 2 and len(signals.names) == 6 else payload.noise


def _channels(signals: Signals) -> Iterator[dict]:
    error = signals.error
    for i, name in enumerate(signals.names):
        rms, left = (float(np.sqrt(np.mean(x[:, i] ** 2))) for x in (signals.measured, error))
        yield {
            "name": name,
            "unit": signals.units[i],
            "rms": rms,
            "rms_error": left,
            "relative_error": left / rms if rms > 0 else None,
            "quantiles": np.quantile(error[:, i], QUANTILES),
        }


def _curves(signals: Signals) -> Iterator[tuple[tuple[str, int, str], np.ndarray]]:
    limit, t = limit_of(len(signals.names)), signals.t - signals.t[0]
    for i in range(len(signals.names)):
        for name in ("measured", "explained"):
            values = getattr(signals, name)[:, i]
            yield ("wrench", i, name), np.stack(thin(t, values, limit)).astype("f4")


def _verdict(payload: Payload, relative: float, channels: list[dict]) -> dict:
    reasons = [*payload.findings]
    if payload.status is not Status.OK:
        reasons.insert(0, payload.status.value)
    level = "keep" if not payload.status.usable else "care" if reasons else "good"
    mass = f"{plus_minus(payload.mass, payload.mass_deviation)} kg"
    center = ", ".join(f"{1e3 * x + 0.0:.1f}" for x in payload.com).replace("-", "−")
    worst = max(channels, key=lambda each: each["relative_error"] or 0.0)
    return {
        "level": level,
        "headline": f"It weighs {mass}, with its centre of mass at ({center}) mm in the sensor's frame.",
        "advice": ADVICE[level],
        "reasons": reasons,
        "answers": [
            {
                "question": "May I use it?",
                "answer": MAY[level],
                "detail": ("A body that can exist. " if payload.consistent else "No real body has these numbers. ")
                + (f"{plural(len(reasons), 'remark')} above." if reasons else "Nothing suspicious was found."),
            },
            {
                "question": "What does it weigh?",
                "answer": mass,
                "detail": f"± one standard deviation, from {plural(payload.samples, 'sample')}.",
            },
            {
                "question": "How well is it explained?",
                "answer": f"to {percent(relative)}",
                "detail": "What the payload leaves unexplained of the measured signals, each weighed by its noise; "
                f"worst is {worst['name']}, {number(worst['rms_error'])} of {number(worst['rms'])} {worst['unit']}.",
            },
            {"question": "What is unknown?", **_unknown(payload)},
        ],
    }


def _unknown(payload: Payload) -> dict:
    inertia = np.maximum(np.abs(np.diag(payload.inertia)), 1e-300)
    known = {
        "mass": payload.mass_deviation / max(abs(payload.mass), 1e-300),
        "moments of inertia": float(np.max(np.diag(payload.inertia_deviation) / inertia)),
    }
    center = f"{1e3 * float(np.max(payload.com_deviation)):.2g} mm"
    return {
        "answer": UNKNOWN[payload.status],
        "detail": f"Standard deviations: mass {percent(known['mass'])}, centre of mass {center}, moments of inertia "
        f"{percent(known['moments of inertia'])}.",
    }
