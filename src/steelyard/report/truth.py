"""Tables that compare with a known truth, for simulated robots."""

import numpy as np
from rich.console import Group
from rich.text import Text

from steelyard.fit.prior import model_parameters
from steelyard.model import Robot
from steelyard.numbers import SAME, number, unit
from steelyard.pipeline import Result
from steelyard.report.console import rich_table
from steelyard.report.labels import column_units, knowledge
from steelyard.report.links import spelled_out
from steelyard.sheets import Sheet, sheet

COLUMNS = ("mass [kg]", "com x [m]", "com y [m]", "com z [m]", "Ixx [kg m²]", "Iyy [kg m²]", "Izz [kg m²]")


def truth_tables(truth: Robot, result: Result) -> Group:
    """True, given and identified parameters: of every link, then of the combinations the data determines."""
    return Group(rich_table(link_table(truth, result)), Text(), rich_table(combination_table(truth, result)), Text())


def link_table(truth: Robot, result: Result) -> Sheet:
    """Three lines a link. Cells in brackets take no part in anything the robot's motion shows."""
    estimate, rows = result.estimate, []
    known = knowledge(estimate.basis)
    models = {"true": truth.inertias, "nominal": result.prior.inertias, "identified": estimate.theta}
    for i, name in enumerate(estimate.layout.body_names):
        marks = np.array(known[estimate.layout.body(i)])[[0, 1, 2, 3, 4, 6, 9]]
        for model, theta in models.items():
            values = zip(map(number, _cells(theta[i])), marks, strict=True)
            cells = (f"({value})" if mark == "model" else value for value, mark in values)
            rows.append((name if model == "true" else "", model, *cells))
    caption = "in brackets: no motion shows it; of the others only combinations are known, see below"
    return sheet("Links", caption, (("link", "text"), ("model", "text"), *COLUMNS), rows)


def _cells(theta) -> list:
    body = spelled_out(theta)
    return [body["mass"], *(body["com"] if body["com"] is not None else [None] * 3), *_diagonal(body["inertia"])]


def _diagonal(inertia) -> list:
    return [None] * 3 if inertia is None else list(np.diag(inertia))


def combination_table(truth: Robot, result: Result) -> Sheet:
    """Identifiable combinations: what the log determines, to be compared with the truth."""
    estimate, layout, basis = result.estimate, result.estimate.layout, result.estimate.basis
    true, nominal = (basis.regroup(model_parameters(robot, layout)) for robot in (truth, result.prior))
    deviation = result.uncertainty.base.deviation
    units = column_units(result.prior, layout)
    rows = [
        (
            layout.names[column],
            *(number(_cleared(each[k], deviation[k])) for each in (true, nominal, estimate.base)),
            number(float(deviation[k])),
            unit(units[column]),
        )
        for k, column in enumerate(basis.columns)
    ]
    columns = ("combination", "text"), "true", "nominal", "identified", "± std. dev.", ("unit", "text")
    return sheet("Identifiable combinations", "named after their leading parameter", columns, rows)


def _cleared(value, deviation) -> float:
    """A value, or zero for one that is rounding error beside its deviation."""
    return float(value) if abs(value) > SAME * deviation else 0.0
