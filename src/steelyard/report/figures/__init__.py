"""Figures of a run, as dictionaries that Plotly understands. Each takes a `Result`, a folder, or a `Record`."""

from steelyard.report.figures.errors import errors
from steelyard.report.figures.friction import friction
from steelyard.report.figures.knowledge import precision
from steelyard.report.figures.links import masses
from steelyard.report.figures.parts import contributions, parts
from steelyard.report.figures.residuals import residuals
from steelyard.report.figures.torques import torque
from steelyard.report.figures.wrench import unexplained, wrench

__all__ = [
    "contributions",
    "errors",
    "friction",
    "masses",
    "parts",
    "precision",
    "residuals",
    "torque",
    "unexplained",
    "wrench",
]
