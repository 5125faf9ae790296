"""The model linter: what is wrong with a URDF or MJCF file, where, why, and how to mend it."""

from steelyard.check.catalog import RULES
from steelyard.check.command import command
from steelyard.check.findings import Finding, Findings
from steelyard.check.repair import Repair, repair
from steelyard.check.run import run

__all__ = [
    "RULES",
    "Finding",
    "Findings",
    "Repair",
    "command",
    "repair",
    "run",
]
