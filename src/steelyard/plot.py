"""Figures of results for papers and notebooks: Plotly figures, and vector files of them.

Each function takes what `sy.identify` returns, the folder of a result, or `sy.plot.read(folder)`, which reads once for
several figures, and returns a Plotly figure.
"""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec

from steelyard import payload
from steelyard.extras import extra
from steelyard.report import figures, read, save

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

P = ParamSpec("P")

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


def _plotly(draw: Callable[P, dict]) -> "Callable[P, Figure]":
    """The function as one that returns a Plotly figure."""

    @wraps(draw)
    def figure(*args: P.args, **kwargs: P.kwargs) -> "Figure":
        with extra("Drawing figures"):
            import plotly.graph_objects as go

        return go.Figure(draw(*args, **kwargs))

    return figure


contributions = _plotly(figures.contributions)
errors = _plotly(figures.errors)
friction = _plotly(figures.friction)
masses = _plotly(figures.masses)
parts = _plotly(figures.parts)
precision = _plotly(figures.precision)
residuals = _plotly(figures.residuals)
torque = _plotly(figures.torque)
unexplained = _plotly(payload.unexplained)
wrench = _plotly(payload.wrench)
