"""Code for controllers: gravity, inverse dynamics and regressor of one robot in C and NumPy, without dependencies."""

from steelyard.codegen.generate import controller_code

__all__ = [
    "controller_code",
]
