"""The report of an identification: its chapters and figures as a `View`."""

from steelyard.report import figures
from steelyard.report.document import Figure, Part, Section, View, drawn_figures
from steelyard.report.identification_summary import CHAPTERS
from steelyard.report.key_tables import contradicted, key_tables
from steelyard.report.numbers import plural
from steelyard.report.provenance import repeat_section
from steelyard.report.record import Record
from steelyard.report.torques import error_sheet

FIGURES = {
    "errors": Figure(figures.errors),
    "contributions": Figure(figures.contributions),
    "masses": Figure(figures.masses),
    "precision": Figure(figures.precision),
    "residuals": Figure(figures.residuals),
    "torque": Figure(figures.torque, curve="torque"),
    "parts": Figure(figures.parts, curve="part"),
    "friction": Figure(figures.friction, curve="friction"),
}


def view_of(record: Record, *, robot: str = "") -> View:
    """View of the record of an identification. robot: HTML of its 3D view."""
    found = record.summary
    wrong = contradicted(found)
    first = [] if wrong is None else [Section("Which values of the file are wrong", "Wrong", (Part(sheet=wrong),))]
    sections = [*first, *(chapter.section(found) for chapter in CHAPTERS), repeat_section(found)]
    job, fitted = found["job"], plural(found["fit"]["samples"], "sample")
    return View(
        summary=found,
        title=f"{found['robot']['name']}: identified inertial parameters",
        subtitle=f"{found['provenance']['created']} · {job['model']} · {plural(len(job['logs']), 'log')}"
        f" · {fitted} fitted, {found['held_out']['samples']} held out",
        sections=sections,
        figures=drawn_figures(record, sections, FIGURES),
        robot=robot,
        printed=(error_sheet(found), *key_tables(found)),
    )
