"""What a run found: one summary, shown as JSON, as tables on the terminal and as a page of its own."""

from steelyard.report.html import page
from steelyard.report.summary import summary

__all__ = ["page", "summary"]
