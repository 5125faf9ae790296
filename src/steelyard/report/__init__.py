"""What a run found: one summary, shown as JSON, as tables on the terminal, as Markdown and as a page of its own."""

from steelyard.report.files import render, write
from steelyard.report.record import Record, read, record_of
from steelyard.report.summary import summary

__all__ = ["Record", "read", "record_of", "render", "summary", "write"]
