"""Robots and raw logs of the jobs in `evidence.peers`: simulated in MuJoCo with known truth, and measured."""

import runpy
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import steelyard as sy
from recordings_of_arms import arm
from robots import SHARED_DATA
from steelyard.simulate import Sensors, record

MEASURED = {"panda": "panda_unisa_30Hz", "ur10": "ur10_unisa_125Hz", "tx40": "tx40_100Hz"}
EXAMPLE = Path(__file__).parents[2] / "examples" / "02_models_from_dh.py"
NAMES = ("UR10 simulated", "Panda simulated", *(f"{robot} measured" for robot in MEASURED))
CHANGE = 0.3  # by which masses of the moving robot differ from the model


@dataclass(frozen=True, eq=False)
class Case:
    """given: the model that a tool starts from; log: raw t, q, tau; truth: the robot that moved, when known."""

    name: str
    given: sy.Robot
    log: sy.Log
    truth: sy.Robot | None = None


def case_of(name: str) -> Case:
    """A simulated log of an arm, or a measured one, whose data lies beside the checkout."""
    robot, kind = name.split()
    if kind == "simulated":
        given = arm(robot.lower())
        factors = np.random.default_rng(2).uniform(1 - CHANGE, 1 + CHANGE, size=(given.nb, 1))
        truth = given.with_inertias(given.inertias * factors)
        log = record(truth, duration=20.0, seed=3, sensors=Sensors(rate=250.0)).log
        return Case(name, given, log, truth)
    model_text = runpy.run_path(str(EXAMPLE))["urdf_from_table"]
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{robot}.urdf"
        path.write_text(model_text(SHARED_DATA / "models.json", robot))
        given = sy.load(path)
    return Case(name, given, sy.read_log(SHARED_DATA / f"{MEASURED[robot]}.npz", given))
