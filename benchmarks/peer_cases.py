"""Robots and raw logs of the jobs in `peer_jobs`: simulated in MuJoCo with known truth, and measured."""

import runpy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import steelyard as sy
from recordings_of_arms import arm
from robots import SHARED_DATA
from steelyard.simulate import Sensors, record

MEASURED = {"panda": "panda_unisa_30Hz", "ur10": "ur10_unisa_125Hz", "tx40": "tx40_100Hz"}
EXAMPLE = Path(__file__).parents[1] / "examples" / "02_models_from_dh.py"
CHANGE = 0.3  # by which masses of the moving robot differ from the model


@dataclass(frozen=True, eq=False)
class Case:
    """given: the model that a tool starts from; log: raw t, q, tau; truth: the robot that moved, when known."""

    name: str
    given: sy.Robot
    log: sy.Log
    truth: sy.Robot | None = None


def cases() -> Iterator[Case]:
    """Simulated logs of two arms, and measured ones where the data is at hand."""
    for name, given in (("UR10", arm("ur10")), ("Panda", arm("panda"))):
        factors = np.random.default_rng(2).uniform(1 - CHANGE, 1 + CHANGE, size=(given.nb, 1))
        truth = given.with_inertias(given.inertias * factors)
        log = record(truth, duration=20.0, seed=3, sensors=Sensors(rate=250.0)).log
        yield Case(f"{name} simulated", given, log, truth)
    if not SHARED_DATA.is_dir():
        return
    model_text = runpy.run_path(str(EXAMPLE))["urdf_from_table"]
    for name, file in MEASURED.items():
        with TemporaryDirectory() as folder:
            path = Path(folder) / f"{name}.urdf"
            path.write_text(model_text(SHARED_DATA / "models.json", name))
            given = sy.load(path)
        yield Case(f"{name} measured", given, sy.read_log(SHARED_DATA / f"{file}.npz", given))
