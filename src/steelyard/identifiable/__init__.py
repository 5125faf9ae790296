"""What an experiment can reveal about a robot's inertial parameters, from its kinematics (paper C).

`identifiability(robot)` is the public function; `Basis` is what fits need of it.
"""

from steelyard.identifiable.analyze import identifiability
from steelyard.identifiable.basis import Basis, from_null_space
from steelyard.identifiable.closed_log import on_tree
from steelyard.identifiable.excitation import Excitation, from_gram
from steelyard.identifiable.report import analyze_report
from steelyard.identifiable.structure import regression_basis

__all__ = [
    "Basis",
    "Excitation",
    "analyze_report",
    "from_gram",
    "from_null_space",
    "identifiability",
    "on_tree",
    "regression_basis",
]
