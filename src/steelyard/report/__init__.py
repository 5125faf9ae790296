"""What a run found: one summary, shown as JSON, as tables on the terminal, as Markdown and as a page of its own."""

from typing import TYPE_CHECKING

from steelyard.lazy import lazy
from steelyard.report import figures, solid
from steelyard.report.again import again
from steelyard.report.curves import curves
from steelyard.report.files import FILES, render, write
from steelyard.report.jsonable import jsonable
from steelyard.report.judged import judge
from steelyard.report.labels import column_units
from steelyard.report.numbers import percent
from steelyard.report.outputs import staged
from steelyard.report.payload_files import write_payload
from steelyard.report.provenance import inputs_of
from steelyard.report.record import Record, read, record_of
from steelyard.report.summary import summary
from steelyard.report.vector import save
from steelyard.report.verdict import NOTHING

if TYPE_CHECKING:
    from steelyard.report.health import health_overview, write_page
    from steelyard.report.tables import of_view, overview, shown
    from steelyard.report.truth import truth_tables

# Loaded on first use: they bring heavy libraries.
__getattr__ = lazy(
    __name__,
    {
        "overview": "tables",
        "truth_tables": "truth",
        "health_overview": "health",
        "write_page": "health",
        "of_view": "tables",
        "shown": "tables",
    },
)

__all__ = [
    "FILES",
    "NOTHING",
    "Record",
    "again",
    "column_units",
    "curves",
    "figures",
    "health_overview",
    "inputs_of",
    "jsonable",
    "judge",
    "of_view",
    "overview",
    "percent",
    "read",
    "record_of",
    "render",
    "save",
    "shown",
    "solid",
    "staged",
    "summary",
    "truth_tables",
    "write",
    "write_page",
    "write_payload",
]
