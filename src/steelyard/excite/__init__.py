"""Excitation: motions designed to show a robot's parameters within its limits."""

from steelyard.excite.command import command
from steelyard.excite.experiment import Design, design
from steelyard.excite.files import write
from steelyard.excite.limits import Limits
from steelyard.excite.margins import Margin
from steelyard.excite.poses import PoseSet, poses

__all__ = [
    "Design",
    "Limits",
    "Margin",
    "PoseSet",
    "command",
    "design",
    "poses",
    "write",
]
