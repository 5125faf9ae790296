"""What a run found: one summary, shown as JSON, as tables on the terminal, as Markdown and as a page of its own."""

from typing import TYPE_CHECKING

from steelyard.lazy import lazy
from steelyard.report import figures
from steelyard.report.comparison_report import comparison_summary, comparison_view
from steelyard.report.document import USABLE, Figure, Part, Question, Screen, Section, View, drawn_figures
from steelyard.report.drive_figures import drive_curves, filmed
from steelyard.report.drive_report import drive_summary, drive_view
from steelyard.report.figure_style import IDENTIFIED, LINES, box, drawn, name_axis, text
from steelyard.report.first_screen import NOTHING
from steelyard.report.html import page
from steelyard.report.identification_report import record_of, summary, view_of
from steelyard.report.known_model import Unstated, known_model
from steelyard.report.labels import column_units
from steelyard.report.mesh_report import mesh_report_of
from steelyard.report.model_validation import validate_models, validate_motion
from steelyard.report.numbers import number, percent, plural, plus_minus, share, size
from steelyard.report.outputs import staged
from steelyard.report.provenance import digest, inputs_of, installed_version, repeat_section, stamped
from steelyard.report.record import COMPARISON_FILES, FILES, SUMMARY, Record, read, render, write
from steelyard.report.schema import jsonable
from steelyard.report.signal_curves import curves, screen_curves
from steelyard.report.torques import error_quantiles
from steelyard.report.vector import save
from steelyard.sheets import Cell, Sheet, sheet

if TYPE_CHECKING:
    from steelyard.report.console import drive_overview, overview, rich_table, shown, validation_overview, view_overview
    from steelyard.report.log_health import health_overview, write_health_page
    from steelyard.report.truth import truth_tables

# Loaded on first use: they need Rich.
__getattr__ = lazy(
    __name__,
    {
        "health_overview": "log_health",
        "drive_overview": "console",
        "overview": "console",
        "rich_table": "console",
        "shown": "console",
        "truth_tables": "truth",
        "validation_overview": "console",
        "view_overview": "console",
        "write_health_page": "log_health",
    },
)

__all__ = [
    "COMPARISON_FILES",
    "FILES",
    "IDENTIFIED",
    "LINES",
    "NOTHING",
    "SUMMARY",
    "USABLE",
    "Cell",
    "Figure",
    "Part",
    "Question",
    "Record",
    "Screen",
    "Section",
    "Sheet",
    "Unstated",
    "View",
    "box",
    "column_units",
    "comparison_summary",
    "comparison_view",
    "curves",
    "digest",
    "drawn",
    "drawn_figures",
    "drive_curves",
    "drive_overview",
    "drive_summary",
    "drive_view",
    "error_quantiles",
    "figures",
    "filmed",
    "health_overview",
    "inputs_of",
    "installed_version",
    "jsonable",
    "known_model",
    "mesh_report_of",
    "name_axis",
    "number",
    "overview",
    "page",
    "percent",
    "plural",
    "plus_minus",
    "read",
    "record_of",
    "render",
    "repeat_section",
    "rich_table",
    "save",
    "screen_curves",
    "share",
    "sheet",
    "shown",
    "size",
    "staged",
    "stamped",
    "summary",
    "text",
    "truth_tables",
    "validate_models",
    "validate_motion",
    "validation_overview",
    "view_of",
    "view_overview",
    "write",
    "write_health_page",
]
