"""What a run found, for people and programs: one summary, shown as JSON, as terminal tables and as a page of its own."""

from steelyard.report.html import page
from steelyard.report.summary import summary

__all__ = ["page", "summary"]
