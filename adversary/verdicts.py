"""Whole jobs of ten kinds: is what the verdict says true of fresh motion, wide and free of the log's faults?"""

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import steelyard as sy
from adversary import arms
from adversary import verdict_logs as logs
from adversary.suite import Row, Suite
from steelyard.errors import SteelyardError
from steelyard.model.mujoco_state import force_from_mujoco, from_mujoco
from steelyard.pipeline import read_and_prepared
from steelyard.report.verdict import verdict
from steelyard.validate import validate

ARMS = {
    "clean": logs.clean,
    "fault": logs.faulty,
    "short": logs.short,
    "two logs that disagree": logs.disagreeing,
    "load changed": logs.load_changed,
    "few joints moving": logs.few_moving,
    "poor excitation": logs.poor,
    "model lacks something": None,
}
KINDS = (*ARMS, "flight", "stance")
FRESH = 12.0  # s of fresh motion
MOST = 3.0  # fresh error over held-out error that "good" allows
IMU = {"v": [0.01] * 3 + [0.005] * 3, "a": [0.05] * 3 + [0.5] * 3, "tau": [0.0] * 6}  # m/s, rad/s, ... deviations
LEVELS = ("good", "care", "keep", "refused")


def one(seed: int) -> Row:
    """A job of kind `seed % 10`: its verdict, and the torque error of its model on fresh motion of the true robot."""
    rng, kind = np.random.default_rng([seed, 22]), KINDS[seed % len(KINDS)]
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        job = {"flight": _flight, "stance": _stance}.get(kind, _arm)
        return {"kind": kind, **job(Path(folder), kind, rng)}


def _arm(folder: Path, kind: str, rng) -> Row:
    robot = arms.drawn(rng, joints=int(rng.choice([2, 3, 3, 4, 6] if kind == "clean" else [2, 3, 3, 4])))
    given, law = arms.mistaken(robot, rng), "coulomb"
    if kind == "model lacks something":
        law = str(rng.choice([*logs.LAWS, "coulomb"]))
        found, what = [logs.recorded(robot, rng, law=law)], f"{law} friction"
        if law == "coulomb":
            given, what = arms.bent(given, rng), "kinematics"
    else:
        found, what = ARMS[kind](robot, rng)
    fresh = logs.recorded(robot, rng, seconds=FRESH, law=law, reach=0.9)
    return _judged(_written(given, folder), folder, found, fresh) | {"what": what, "joints": robot.n}


def _flight(folder: Path, kind: str, rng) -> Row:
    robot = arms.drawn(rng, kind=arms.FLYER, joints=int(rng.choice([2, 3, 4])))
    model, m = _written(arms.mistaken(robot, rng), folder), arms.compiled(robot)
    given = sy.load(model)

    def flight(seconds):
        found = logs.flown(robot, rng, m, seconds=seconds)
        q, v, a = from_mujoco(m, given, found["qpos"], found["qvel"], found["qacc"])
        sensed = {"v": v, "a": a, "tau": force_from_mujoco(m, given, found["qpos"], found["tau"])}
        for key, x in sensed.items():  # an IMU's noise on the base, whose speed grows as it falls
            level = robot.noise * np.sqrt(np.mean(x**2, axis=0))
            level[:6] = IMU[key]
            sensed[key] = x + level * rng.normal(size=x.shape)
        return {"t": found["t"], "q": q, **sensed}

    return _judged(model, folder, [flight(8.0)], flight(FRESH), cutoff=0.0) | {"what": "free fall", "joints": robot.n}


def _stance(folder: Path, kind: str, rng) -> Row:
    robot = arms.drawn(rng, kind=arms.LEG)
    model, m = _written(arms.mistaken(robot, rng), folder), arms.compiled(robot)
    found = logs.squats(robot, rng, m, seconds=8.0)
    log = {"t": found["t"], "q": found["qpos"], "tau": found["tau"]}
    fresh = logs.recorded(robot, rng, seconds=FRESH, reach=0.9)
    return _judged(model, folder, [log], fresh) | {"what": "a foot on the ground", "joints": robot.n}


def _written(robot: arms.Drawn, folder: Path) -> Path:
    path = folder / "robot.xml"
    path.write_text(arms.mjcf(robot, friction=True), encoding="utf-8")
    return path


def _judged(model: Path, folder: Path, found, fresh, **options) -> Row:
    """The verdict on a job with some logs, and its errors, those on a fresh log too."""
    paths = [_saved(folder / f"log{k + 1}.npz", log) for k, log in enumerate(found)]
    try:
        done = sy.identify(model, paths, **options)
        judged = verdict(done)
    except SteelyardError as error:
        return {"level": "refused", "said": str(error).splitlines()[0]}
    log = read_and_prepared(done.job, done.prior, _saved(folder / "fresh.npz", fresh)).log
    errors = {
        key: validate(each, log).relative_error for key, each in (("given", done.prior), ("fresh", done.estimate))
    }
    g = done.generalization
    return {
        "level": judged.level,
        "said": " ".join(judged.reasons),
        "findings": [each.code for each in done.findings],
        "before": done.before.relative_error,
        "held_out": done.after.relative_error,
        "test": g.held_out and g.held_out.ratio,
        "parts": [x.ratio for x in g.parts],
        "other": g.other_motion,
        **errors,
    }


def _saved(path: Path, log) -> Path:
    np.savez(path, **log)
    return path


def page(rows: list[Row]) -> str:
    """Verdicts beside the errors that they stand for."""
    return str(rows)


SUITE = Suite("verdicts", 200, one, page, limit=300.0)
