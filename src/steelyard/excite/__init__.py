"""Excitation: motions designed to show a robot's parameters within its limits."""

from typing import TYPE_CHECKING

from steelyard.excite.limits import Limits
from steelyard.excite.motion_design import design
from steelyard.excite.motion_formats import write
from steelyard.excite.planned_motion import Design
from steelyard.excite.profiles import profile_for
from steelyard.excite.static_poses import poses
from steelyard.lazy import lazy

if TYPE_CHECKING:
    from steelyard.excite.rehearsal import rehearse

__getattr__ = lazy(__name__, {"rehearse": "rehearsal"})  # on first use: it identifies, too

__all__ = [
    "Design",
    "Limits",
    "design",
    "poses",
    "profile_for",
    "rehearse",
    "write",
]
