"""Figures of results for papers and notebooks, by Plotly.

Each function takes what `sy.identify` returns, the folder of a result, or `sy.plot.read(folder)`, which reads once for
several figures, and returns a Plotly figure.
"""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec

from steelyard.extras import extra
from steelyard.payload.payload_report import unexplained as _unexplained
from steelyard.payload.payload_report import wrench as _wrench
from steelyard.pipeline import Result
from steelyard.report import figures
from steelyard.report.identification_report import record_of
from steelyard.report.record import Record, read

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

P = ParamSpec("P")
Run = Record | Result | str | Path

__all__ = [
    "contributions",
    "errors",
    "friction",
    "masses",
    "parts",
    "precision",
    "read",
    "residuals",
    "torque",
    "unexplained",
    "wrench",
]


def _plotly(draw: Callable[Concatenate[Record, P], dict]) -> "Callable[Concatenate[Run, P], Figure]":
    """The function as one of what an identification returns, of its folder or of its Record, that returns a Plotly
    figure."""

    @wraps(draw)
    def figure(run: Run, *args: P.args, **kwargs: P.kwargs) -> "Figure":
        with extra("Drawing figures"):
            import plotly.graph_objects as go

        return go.Figure(draw(record_of(run), *args, **kwargs))

    return figure


contributions = _plotly(figures.contributions)
errors = _plotly(figures.errors)
friction = _plotly(figures.friction)
masses = _plotly(figures.masses)
parts = _plotly(figures.parts)
precision = _plotly(figures.precision)
residuals = _plotly(figures.residuals)
torque = _plotly(figures.torque)
unexplained = _plotly(_unexplained)
wrench = _plotly(_wrench)
