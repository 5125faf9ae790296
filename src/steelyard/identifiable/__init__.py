"""What an experiment can reveal about a robot's inertial parameters: by its kinematics (paper C), and by its data."""

from steelyard.identifiable.analysis_report import analyze_report
from steelyard.identifiable.basis import Basis, from_null_space
from steelyard.identifiable.loop_completion import on_tree
from steelyard.identifiable.practical import Excitation, excitation, from_gram
from steelyard.identifiable.structural import Identifiability, identifiability, regression_basis

__all__ = [
    "Basis",
    "Excitation",
    "Identifiability",
    "analyze_report",
    "excitation",
    "from_gram",
    "from_null_space",
    "identifiability",
    "on_tree",
    "regression_basis",
]
