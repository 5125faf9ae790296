"""The model linter: what is wrong with a URDF or MJCF file, where, why, and how to repair it."""

from steelyard.check.catalog import RULES, run
from steelyard.check.command_line import check_models
from steelyard.check.repaired_copy import Repair, repair
from steelyard.check.rule import Finding, Findings

__all__ = [
    "RULES",
    "Finding",
    "Findings",
    "Repair",
    "check_models",
    "repair",
    "run",
]
