"""Information in, Estimate out; one estimator a file."""

from steelyard.fit.consistent import consistent
from steelyard.fit.constraints import Tied
from steelyard.fit.estimate import Certificate, Estimate, Status
from steelyard.fit.least_squares import least_squares

__all__ = ["Certificate", "Estimate", "Status", "Tied", "consistent", "least_squares"]
