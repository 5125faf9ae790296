"""A complete run on a robot whose truth is known: a PUMA 560 with a wrong model, moved and recorded in MuJoCo."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard import simulate
from steelyard.app.identification import Outcome, carry_out
from steelyard.cards import LINES
from steelyard.fit.prior import model_parameters
from steelyard.inertia import pseudo
from steelyard.log import write_csv
from steelyard.model import Robot, library, save
from steelyard.numbers import number, plus_minus, unit
from steelyard.pipeline import Job, Progress, Result
from steelyard.report.labels import column_units
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


def truth_table(truth: Robot, result: Result) -> Sheet:
    """Combinations with the largest effect on torque, as identified, beside the truth."""
    estimate, layout, basis = result.estimate, result.estimate.layout, result.estimate.basis
    true, nominal = (basis.regroup(model_parameters(robot, layout)) for robot in (truth, result.prior))
    deviation, units = result.uncertainty.base.deviation, column_units(result.prior, layout)
    rows = [
        (
            layout.names[basis.columns[k]],
            *(number(each[k]) for each in (true, nominal)),
            plus_minus(estimate.base[k], deviation[k]),
            unit(units[basis.columns[k]]),
        )
        for k in np.argsort(-np.abs(estimate.base - nominal) * result.torque_of)[:LINES]
    ]
    return sheet(
        "Identifiable combinations beside the truth",
        f"The {LINES} of largest effect on torque, named after their leading parameter. ± one standard deviation.",
        (("combination", "text"), "true", "nominal", "identified", ("unit", "text")),
        rows,
    )
