"""What an experiment can reveal about a robot's inertial parameters: by its kinematics (paper C), and by its data."""

from typing import TYPE_CHECKING

from steelyard.identifiable.basis import Basis, from_null_space
from steelyard.identifiable.loop_completion import on_tree
from steelyard.identifiable.practical import regression_basis
from steelyard.lazy import lazy

if TYPE_CHECKING:
    from steelyard.identifiable.analysis_report import analyze_report
    from steelyard.identifiable.practical import Excitation, excitation, from_gram
    from steelyard.identifiable.scale import Scale
    from steelyard.identifiable.scale_words import scale_lines
    from steelyard.identifiable.structural import Identifiability, identifiability

# Loaded on first use: sums do without tables and sentences.
__getattr__ = lazy(
    __name__,
    {
        "Scale": "scale",
        "scale_lines": "scale_words",
        "analyze_report": "analysis_report",
        **dict.fromkeys(("Excitation", "excitation", "from_gram"), "practical"),
        **dict.fromkeys(("Identifiability", "identifiability"), "structural"),
    },
)

__all__ = [
    "Basis",
    "Excitation",
    "Identifiability",
    "Scale",
    "analyze_report",
    "excitation",
    "from_gram",
    "from_null_space",
    "identifiability",
    "on_tree",
    "regression_basis",
    "scale_lines",
]
