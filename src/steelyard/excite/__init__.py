"""Excitation: motions designed to show a robot's parameters within its limits."""

from steelyard.excite.feasibility import Margin
from steelyard.excite.limits import Limits
from steelyard.excite.motion_design import design
from steelyard.excite.motion_files import design_files, prepared_for_design
from steelyard.excite.motion_formats import write, write_all
from steelyard.excite.planned_motion import Design
from steelyard.excite.profiles import PROFILES, Profile, profile_for
from steelyard.excite.promise import Promise, simulated
from steelyard.excite.static_poses import PoseSet, poses

__all__ = [
    "PROFILES",
    "Design",
    "Limits",
    "Margin",
    "PoseSet",
    "Profile",
    "Promise",
    "design",
    "design_files",
    "poses",
    "prepared_for_design",
    "profile_for",
    "simulated",
    "write",
    "write_all",
]
