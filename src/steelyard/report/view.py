"""`View`: a record as words, tables and figures in order, ready for a page or for Markdown."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from steelyard.report import figures
from steelyard.report.figures import runs
from steelyard.report.numbers import plural
from steelyard.report.record import Record
from steelyard.report.sections import Section, carried, compared, sections
from steelyard.report.sheets.data import versions

CURVE_OF = {"torque": "torque", "parts": "part", "friction": "friction", "wrench": "wrench"}


@dataclass(frozen=True, eq=False)
class View:
    """summary: behind it. verdict: of the summary, with its answers. figures: for Plotly, by the keys that the sections
    name. robot: HTML of its 3D view, empty without."""

    summary: dict
    title: str
    subtitle: str
    verdict: dict
    sections: list[Section]
    figures: dict[tuple[str, int], Any]
    footer: str
    robot: str = ""


def view_of(record: Record, *, robot: str = "") -> View:
    """View of a record of either kind. robot: HTML of its 3D view, see `robot_view`."""
    return _payload(record) if record.kind == "payload" else _identification(record, robot)


def _payload(record: Record) -> View:
    found = record.summary
    body = carried(found)
    return View(
        summary=found,
        title=f"Payload in {Path(found['job']['log']).name}",
        subtitle=f"{found['provenance']['created']} · {plural(found['payload']['samples'], 'sample')} · method "
        f"{found['payload']['method']}",
        verdict=found["verdict"],
        sections=body,
        figures=dict(_drawn(record, body)),
        footer=versions(found),
    )


def _identification(record: Record, robot: str) -> View:
    found = record.summary
    body = sections(found)
    job, fitted = found["job"], plural(found["fit"]["samples"], "sample")
    return View(
        summary=found,
        title=f"{found['robot']['name']}: identified inertial parameters",
        subtitle=f"{found['provenance']['created']} · {job['model']} · {plural(len(job['logs']), 'log')}"
        f" · {fitted} fitted, {found['held_out']['samples']} held out",
        verdict=found["verdict"],
        sections=body,
        figures=dict(_drawn(record, body)),
        footer=versions(found),
        robot=robot,
    )


def view_of_comparison(found: dict) -> View:
    """View of a comparison, from its summary."""
    body = compared(found)
    keys = (key for section in body for part in section.parts for key in part.figures)
    return View(
        summary=found,
        title=f"{len(found['runs'])} results side by side",
        subtitle=" · ".join(run["folder"] for run in found["runs"]),
        verdict=found["verdict"],
        sections=body,
        figures={key: getattr(runs, key[0])(found) for key in keys},
        footer=f"steelyard {version('steelyard')}",
    )


def _drawn(record: Record, body: list[Section]) -> Iterator[tuple[tuple[str, int], Any]]:
    """Figures that sections ask for, as far as the record has their curves."""
    available = {key[:2] for key in record.curves}
    for name, i in (key for section in body for part in section.parts for key in part.figures):
        draw = getattr(figures, name)
        if name not in CURVE_OF:
            yield (name, i), draw(record)
        elif (CURVE_OF[name], i) in available:
            yield (name, i), draw(record, i)
