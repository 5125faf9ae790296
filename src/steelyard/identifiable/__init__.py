"""What an experiment can reveal about a robot's inertial parameters: by its kinematics (paper C), and by its data."""

from typing import TYPE_CHECKING

from steelyard.identifiable.practical import regression_basis
from steelyard.lazy import lazy

if TYPE_CHECKING:
    from steelyard.identifiable.contacts import identifiable_wrench
    from steelyard.identifiable.practical import excitation
    from steelyard.identifiable.structural import Identifiability, identifiability

# Loaded on first use.
__getattr__ = lazy(
    __name__,
    {
        "Identifiability": "structural",
        "excitation": "practical",
        "identifiability": "structural",
        "identifiable_wrench": "contacts",
    },
)

__all__ = ["Identifiability", "excitation", "identifiability", "identifiable_wrench", "regression_basis"]
