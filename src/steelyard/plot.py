"""Figures of results for papers and notebooks: Plotly figures, and vector files of them.

Each function takes what `sy.identify` returns, the folder of a result, or `sy.plot.read(folder)`, which reads once for
several figures.
"""

from steelyard.report.figures import (
    contributions,
    errors,
    friction,
    masses,
    parts,
    precision,
    residuals,
    torque,
    unexplained,
    wrench,
)
from steelyard.report.record import read
from steelyard.report.vector import save

__all__ = [
    "contributions",
    "errors",
    "friction",
    "masses",
    "parts",
    "precision",
    "read",
    "residuals",
    "save",
    "torque",
    "unexplained",
    "wrench",
]
