"""The files of a report: page and Markdown of a record, beside its summary and curves."""

import json
from pathlib import Path

from steelyard.report import record as records
from steelyard.report.html import page
from steelyard.report.markdown import markdown
from steelyard.report.record import CURVES, PAGE, SUMMARY, TEXT, Record
from steelyard.report.robot import robot_view
from steelyard.report.view import View, view_of

FILES = (SUMMARY, PAGE, TEXT, CURVES)
COMPARED = (SUMMARY, PAGE, TEXT)


def write(record: Record, folder, *, folders=()) -> None:
    """Write summary.json, curves.npz, report.html and report.md to a folder. folders: as of `render`."""
    records.write(record, folder)
    render(record, folder, folders=folders)


def render(record: Record, folder, *, source=None, folders=()) -> None:
    """Write report.html and report.md to a folder. source: folder that holds the summary, by default the same. folders:
    whose files the drawn model may name, as of `load`.
    """
    robot = robot_view(record.summary, folder if source is None else source, folders)
    _render(view_of(record, robot=robot), folder)


def write_comparison(view: View, folder) -> None:
    """Write the same three files of a comparison: its summary, page and Markdown."""
    text = json.dumps(view.summary, indent=1, ensure_ascii=False, allow_nan=False)
    # file names that are no text in this locale become the escapes of JSON, which read back as the same names
    (Path(folder) / SUMMARY).write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
    _render(view, folder)


def _render(view: View, folder) -> None:
    (Path(folder) / PAGE).write_text(page(view), encoding="utf-8", errors="backslashreplace")
    (Path(folder) / TEXT).write_text(markdown(view), encoding="utf-8", errors="backslashreplace")
