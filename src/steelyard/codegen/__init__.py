"""Code and configurations: dynamics in C and NumPy, and what simulators and controllers are told of a robot."""

from steelyard.codegen.configurations import configuration
from steelyard.codegen.generate import controller_code

__all__ = [
    "configuration",
    "controller_code",
]
