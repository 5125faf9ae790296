"""Held-out torque error, in per cent, of every estimator on simulated logs with one fault each and on measured logs.

Simulated: a PUMA 560 whose nominal model is 30 % too heavy and knows no friction; errors are against exact torques of
another motion. Measured: blocked cross-validation (three blocks; KUKA: three runs), errors against filtered torques.
`python -m evidence.bench.estimators` writes the stored table into `docs/fitting.md`; measured logs that are
absent are left out. No reference was logged there: motion filtered at half the cutoff stands for it.
"""

import runpy
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

import steelyard as sy
from evidence import runner
from evidence.tables import table
from steelyard.information import accumulate
from steelyard.log import folds
from steelyard.log.automatic_cutoff import cutoff_for

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
PAGE = ROOT / "docs" / "fitting.md"
START, END = "<!-- table: evidence/bench/estimators.py -->", "<!-- end of table -->"
RATE = 250.0
MEASURED = {
    "Panda": ("panda", ["panda_unisa_30Hz"], {}),
    "UR10": ("ur10", ["ur10_unisa_125Hz"], {}),
    "TX40": ("tx40", ["tx40_100Hz"], {"coupling": (("joint5", "joint6"),)}),
    "KUKA": ("kuka_kr300", ["kuka_kr300_A", "kuka_kr300_B", "kuka_kr300_C"], {}),
}


@dataclass(frozen=True)
class Task:
    """What an estimator is given: filtered logs, the same samples of cleaner motion, options of `accumulate`."""

    robot: sy.Robot
    logs: list[sy.Log]
    clean: list[sy.Log]
    columns: dict = field(default_factory=dict)

    def information(self, **more):
        return accumulate(self.robot, self.logs, **self.columns, **more)


def plain(task: Task, fit):
    return fit(task.information())


def reversals(task: Task, fit):
    return fit(task.information(sample_weights=partial(sy.reversal_weights, task.robot)))


def robust(task: Task, fit, loss):
    return sy.fit.robust(task.robot, task.logs, loss=loss, fit=fit, **task.columns)


def instruments(task: Task, fit):
    return sy.fit.instrumental(task.robot, task.logs, task.clean, fit=fit, **task.columns)


def output_torque(task: Task, fit):
    motion = dict(zip(map(id, task.logs), task.clean, strict=True))
    return sy.fit.output_torque(task.robot, task.logs, lambda _, log: motion[id(log)], fit=fit, **task.columns)


def column_noise(task: Task):
    """Mean over the logs of a task."""
    pairs = zip(task.logs, task.clean, strict=True)
    each = [sy.fit.column_noise(task.robot, log, clean, **task.columns) for log, clean in pairs]
    return np.average(each, axis=0, weights=[len(log) for log in task.logs])


def total(task: Task, fit):
    noise = column_noise(task)
    if fit is sy.fit.least_squares:
        return sy.fit.total(task.information(), noise)
    return fit(sy.fit.compensated(task.information(), noise))


ESTIMATORS: dict[str, Callable] = {
    "least squares": plain,
    "reversals count less": reversals,
    "Huber": partial(robust, loss="huber"),
    "Student": partial(robust, loss="student"),
    "instrumental variables": instruments,
    "total / compensated": total,
    "output torque": output_torque,
}
FITS = {"": sy.fit.least_squares, ", consistent": sy.fit.consistent}


def moved(robot, seed, *, duration=8.0, resolution=2e-5, noise=0.01, delay=0.0):
    """A log as sensors see it, the exact one, and the commanded motion, all at `RATE`."""
    sensors = sy.simulate.Sensors(encoder_resolution=resolution, torque_noise=noise, delay=delay, rate=RATE)
    motion = sy.simulate.rich_motion(robot, duration=duration, seed=seed)
    recording = sy.simulate.record(robot, motion, seed=seed, sensors=sensors)
    exact = recording.truth.replace(v=None, a=None)
    return recording.log, exact, exact.replace(q=motion.evaluate(exact.t)[0], tau=None)


def with_outliers(log, rng):
    """2 % of the torque samples are off by up to six times the joint's RMS torque."""
    hit = rng.uniform(size=log.tau.shape) < 0.02
    size = 6 * np.sqrt(np.mean(log.tau**2, axis=0)) * rng.uniform(size=log.tau.shape)
    return log.replace(tau=log.tau + hit * size)


def simulated() -> dict:
    """`{fault: (task, exact held-out log)}`."""
    robot = sy.library.puma560().with_joint_properties(
        damping=np.full(6, 0.5), frictionloss=np.full(6, 0.8), armature=np.full(6, 0.05)
    )
    nothing = np.zeros(6)
    given = robot.with_inertias(1.3 * robot.inertias).with_joint_properties(
        damping=nothing, frictionloss=nothing, armature=nothing
    )
    rng = np.random.default_rng(0)
    held_out = sy.filters.differentiate(moved(robot, 7)[1], 10.0)
    faults = {
        "torque noise": ({"noise": 0.05}, 10.0, lambda log: log),
        "encoder noise": ({}, 30.0, lambda log: log.replace(q=log.q + 2e-4 * rng.normal(size=log.q.shape))),
        "quantised": ({"resolution": 1e-3}, 30.0, lambda log: log),
        "outliers": ({}, 10.0, lambda log: with_outliers(log, rng)),
        "10 ms delay": ({"delay": 0.01}, 10.0, lambda log: log),
    }
    tasks = {}
    for name, (options, cutoff, spoiled) in faults.items():
        log, _, reference = moved(robot, 3, **options)
        log = sy.filters.differentiate(spoiled(log), cutoff)
        motion = sy.filters.differentiate(sy.simulate.follow(given, reference), cutoff)
        columns = {"armature": True}
        tasks[name] = (Task(given, [log], [motion], columns), held_out)
    return tasks


def measured() -> dict:
    """`{robot: [(task, held-out log), ...]}`, one pair a fold."""
    if not DATA.is_dir():
        return {}
    urdf = runpy.run_path(str(ROOT / "examples" / "02_models_from_dh.py"))["urdf_from_table"]
    tasks = {}
    for name, (key, files, columns) in MEASURED.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{key}.urdf"
            path.write_text(urdf(DATA / "models.json", key))
            robot = sy.load(path)
        pairs = [_filtered(sy.read_log(DATA / f"{file}.npz", robot), columns.get("coupling", ())) for file in files]
        columns = columns | {"armature": True}
        if len(pairs) == 1:
            log, clean = pairs[0]
            halves = zip(folds(log, 3), folds(clean, 3), strict=True)
            tasks[name] = [(Task(robot, [a[0]], [b[0]], columns), a[1]) for a, b in halves]
        else:
            others = [[pair for pair in pairs if pair is not held] for held in pairs]
            tasks[name] = [
                (Task(robot, [o[0] for o in rest], [o[1] for o in rest], columns), held[0])
                for rest, held in zip(others, pairs, strict=True)
            ]
    return tasks


def _filtered(log, coupling):
    """A log at its own cutoff and at half of it, the same samples."""
    cutoff = cutoff_for(log, None)
    drop = round(2 * log.rate / cutoff)
    return tuple(sy.filters.differentiate(log, each, drop=drop, coupling=coupling) for each in (cutoff, cutoff / 2))


def error(estimator, fit, pairs) -> float:
    """Held-out error over torque of all folds, per cent."""
    errors = signals = 0.0
    for task, held_out in pairs:
        result = sy.validate(estimator(task, fit), held_out)
        errors, signals = errors + np.sum(result.error**2), signals + np.sum(result.measured**2)
    return float(100 * np.sqrt(errors / signals))


def run() -> dict:
    """`{estimator: {log: held-out error in per cent, of two digits}}`."""
    cases = {name: [pair] for name, pair in simulated().items()} | measured()
    return {
        f"{name}{suffix}": {case: f"{error(estimator, fit, pairs):.2f}" for case, pairs in cases.items()}
        for name, estimator in ESTIMATORS.items()
        for suffix, fit in FITS.items()
    }


def write(rows: dict):
    """Replace the table of the documentation page."""
    text = PAGE.read_text()
    before, _, rest = text.partition(START)
    PAGE.write_text(f"{before}{START}\n\n{table(rows)}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    write(runner.read("benchmarks")["estimators"]["table"])
