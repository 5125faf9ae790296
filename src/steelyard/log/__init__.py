"""Logs: read them, check them, filter them, split them, write them."""

from steelyard.log import checks, filters
from steelyard.log.finding import Finding
from steelyard.log.log import Log
from steelyard.log.read import read_log
from steelyard.log.split import folds, joined, split_blocks
from steelyard.log.write import write_csv, write_npz

__all__ = [
    "Finding",
    "Log",
    "checks",
    "filters",
    "folds",
    "joined",
    "read_log",
    "split_blocks",
    "write_csv",
    "write_npz",
]
