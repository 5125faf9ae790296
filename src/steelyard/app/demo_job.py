"""A complete run on a robot whose truth is known: a PUMA 560 with a wrong model, moved and recorded in MuJoCo."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Group
from rich.text import Text

from steelyard import simulate
from steelyard.app.identification import Outcome, carry_out
from steelyard.fit.prior import model_parameters
from steelyard.inertia import pseudo
from steelyard.log import write_csv
from steelyard.model import Robot, library, save
from steelyard.numbers import SAME, number, unit
from steelyard.pipeline import Job, Progress, Result
from steelyard.report.console import rich_table
from steelyard.report.labels import column_units, knowledge
from steelyard.report.links import spelled_out
from steelyard.sheets import Sheet, sheet
from steelyard.storage import require_report_folder

MODEL, LOG = "puma560.urdf", "puma560_run.csv"


@dataclass(frozen=True, eq=False)
class Demo:
    """The robot that was recorded, and the outcome of identifying it from its wrong model."""

    truth: Robot
    outcome: Outcome

    @property
    def result(self) -> Result:
        """Of the outcome."""
        assert isinstance(self.outcome.result, Result)  # torques were recorded
        return self.outcome.result


def demo(out, *, progress: Progress | None = None, seed: int = 0) -> Demo:
    """Write a wrong model and a log of the true robot to the folder `out`, identify, and write the results there too.

    The log is what imperfect sensors see: encoder steps and torque noise, friction in every joint. seed: of the wrong
    model, the motion and the noise.
    """
    require_report_folder(out)
    out = Path(out)
    report = progress or (lambda stage, share: None)
    truth = library.puma560()
    report("recording the motion in MuJoCo", 0.0)
    recording = simulate.record(truth, seed=seed)
    report("writing the wrong model and the log", 0.35)
    save(mistaken(truth, seed=seed), out / MODEL)
    write_csv(recording.log, out / LOG)
    job = Job(model=str(out / MODEL), logs=(str(out / LOG),))
    outcome = carry_out(job, out=out, progress=lambda stage, share: report(stage, 0.4 + 0.6 * share))
    return Demo(truth, outcome)


def mistaken(robot: Robot, *, seed: int = 0) -> Robot:
    """A physically consistent model that is wrong by tens of percent: masses, centres of mass, inertias and friction.

    Every body is stretched along its axes, shifted by centimetres and made of another material.
    """
    rng = np.random.default_rng(seed)
    change = np.zeros((robot.nb, 4, 4))
    change[:, [0, 1, 2], [0, 1, 2]] = rng.uniform(0.75, 1.3, size=(robot.nb, 3))
    change[:, :3, 3] = rng.normal(scale=0.02, size=(robot.nb, 3))
    change[:, 3, 3] = 1.0
    density = rng.uniform(0.6, 1.6, size=(robot.nb, 1, 1))
    J = density * change @ pseudo.to_matrix(robot.inertias) @ np.swapaxes(change, -1, -2)
    wrong = robot.with_inertias(pseudo.to_parameters(J))
    factor = rng.uniform(0.5, 1.5, size=(2, robot.nv))
    return wrong.with_joint_properties(damping=factor[0] * robot.damping, frictionloss=factor[1] * robot.frictionloss)


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
    return [body["mass"], *body["com"], *np.diag(body["inertia"])]


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
