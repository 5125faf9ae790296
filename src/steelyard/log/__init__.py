"""Logs: read them, check them, filter them, split them, write them."""

from typing import TYPE_CHECKING

from steelyard.lazy import lazy
from steelyard.log import checks, filters
from steelyard.log.findings import Finding
from steelyard.log.log import Log
from steelyard.log.read import read_log
from steelyard.log.split import folds, joined, split_blocks

if TYPE_CHECKING:
    from steelyard.log.write import write_csv, write_npz

# Loaded on first use.
__getattr__ = lazy(__name__, {"write_csv": "write", "write_npz": "write"})

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
