"""Mistakes made with logs of simulated arms: what `inspect` names, and torque error of the identified model on a motion
of its own, from the clean log, from the log with the mistake, and with the option that the finding gives.

The nominal model is wrong by tens of percent (`demo.mistaken`). Fatal mistakes are accepted to see what they cost.
Errors with an option are RMS over draws of the noise, clean ones over the same; beside them stands what the log still
tells (`fault_bounds`), as far as a mistake loses something. A robot whose zero is off reads the motion that judges it
alike; `at true positions` is the same model for a robot that was put right. docs/evidence/log_faults.md has the table.
"""

import re
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import steelyard as sy
from evidence.bench.fault_bounds import Bounds
from steelyard.app.demo_job import mistaken
from steelyard.corrections import Corrections, corrections_from
from steelyard.diagnose.faults import FATAL
from steelyard.inertia import from_com_inertia
from steelyard.model import save
from steelyard.pipeline import Job, inspect
from steelyard.pipeline.identification import run as identify
from steelyard.prepare.undo import corrected
from steelyard.simulate import PERFECT, Sensors, record
from steelyard.simulate.trajectories import _sensed

ROBOTS = {"panda": "panda_description/urdf/panda.urdf", "ur10": "ur_description/urdf/ur10_robot.urdf"}
FOLDER = Path(sys.prefix) / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
FOLDER = FOLDER / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
DURATION = 20.0  # s of motion in a log
LOAD = 2.5  # kg on the last link, in the log that fixes drive gains
GAINS = (5.0, 25.0)  # N m per ampere, of the first and the last joint
DRAWS = 2  # of the noise, where a mistake loses nothing
LOSSY = 6  # where it does
SLOW = 33  # samples of which one is kept
ZERO = 0.05  # rad
AGAIN = ", recorded as long as suggested"


@dataclass(frozen=True, eq=False)
class Case:
    """A mistake, the log with it and the code expected. bound: over the clean log's error, of what is left (float or a
    function of no argument); zero: joint whose positions are off; options: that undo it, those of the findings by
    default."""

    mistake: str
    log: sy.Log
    code: str
    bound: object = None
    zero: int | None = None
    options: tuple[str, ...] = ()


def arm(name: str, folder: Path) -> sy.Robot:
    """An arm without hand and meshes, with friction and armature."""
    text = (FOLDER / ROBOTS[name]).read_text("utf-8")
    text = re.sub(r'(<joint name="panda_finger_joint\d" type=)"prismatic"', r'\1"fixed"', text)
    text = re.sub(r"<mimic[^>]*/>|<(visual|collision)>.*?</\1>", "", text, flags=re.DOTALL)
    path = folder / "arm.urdf"
    path.write_text(text, encoding="utf-8")
    robot = sy.load(path)
    ones = np.ones(robot.nv)
    return robot.with_joint_properties(damping=0.5 * ones, frictionloss=0.4 * ones, armature=0.05 * ones)


def cases(bench: "Bench", draw: int) -> Iterator[Case]:
    """Mistakes with a clean log."""
    log, raw, bounds = bench.log(draw), bench.raw, bench.bounds
    rng, names = np.random.default_rng(draw), log.joint_names
    for joint in (1, 3):
        for delay in (0.001, 0.003, 0.01, 0.03):
            tau = _column(log.tau, joint, np.interp(log.t - delay, log.t, log.tau[:, joint]))
            yield Case(f"{names[joint]} {1000 * delay:g} ms late", log.replace(tau=tau), "delay")
    late = np.stack([np.interp(log.t - 0.01, log.t, x) for x in log.tau.T], axis=1)
    yield Case("all torques 10 ms late", log.replace(tau=late), "delay")
    own = np.random.default_rng(log.nv).permutation(np.linspace(0.001, 0.03, log.nv))
    late = np.stack([np.interp(log.t - x, log.t, tau) for x, tau in zip(own, log.tau.T, strict=True)], axis=1)
    yield Case("every torque late by a time of its own, 1 to 30 ms", log.replace(tau=late), "delay")
    tau = _column(log.tau, log.nv - 1, np.interp(log.t - 0.01, log.t, log.tau[:, -1]))
    yield Case(f"{names[-1]} 10 ms late", log.replace(tau=tau), "delay")
    slow, name = "slow_logging", f"{500 / SLOW:.0f} Hz"
    yield Case(name, log[::SLOW], slow, partial(bounds.kept, raw[::SLOW]))
    part = bench.again(log[::SLOW])[::SLOW]
    yield Case(f"{name}{AGAIN}", _sensed(part, Sensors(), rng), slow, partial(bounds.kept, part))
    for step in (1e-3, 5e-3):
        yield Case(f"encoder steps of {step:g} rad", log.replace(q=np.round(raw.q / step) * step), "coarse_position")
    for spread in (0.2, 0.5):
        t = np.sort(log.t + spread * 0.002 * rng.uniform(-1, 1, size=len(log)))
        yield Case(f"stamps off by up to {100 * spread:g} % of a step", log.replace(t=t), "stamp_jitter")
    for i, j in ((1, 2), (3, 4)):
        swapped = np.arange(log.nv)
        swapped[[i, j]] = j, i
        yield Case(f"torques of {names[i]}, {names[j]} exchanged", log.replace(tau=log.tau[:, swapped]), "joint_order")
        both = log.replace(q=log.q[:, swapped], tau=log.tau[:, swapped])
        yield Case(f"{names[i]}, {names[j]} exchanged", both, "joint_order")
    for joint in (1, log.nv - 1):
        turned = np.where(np.arange(log.nv) == joint, -1.0, 1.0)
        yield Case(f"torque of {names[joint]} negated", log.replace(tau=log.tau * turned), "torque_sign")
        yield Case(f"position of {names[joint]} negated", log.replace(q=log.q * turned), "position_sign")
    yield Case("degrees", log.replace(q=np.degrees(log.q)), "degrees")
    yield Case("mN m", log.replace(tau=1000 * log.tau), "torque_unit")
    still = np.zeros_like(log.q)
    for what, robot in (("given", bench.given), ("true", bench.truth)):
        gravity = sy.inverse_dynamics(robot, log.q, still, still)
        exact = raw.replace(q=raw.q, v=None, a=None, tau=raw.tau - gravity)
        bound = partial(bench.exact, exact, ("--gravity", "0", "0", "0")) if what == "true" else None
        name = f"gravity of the {what} model taken off"
        yield Case(name, log.replace(tau=log.tau - gravity), "gravity_compensated", bound)
    for share, model in bench.controllers.items():
        name, options = f"gravity of {share:g} times the true model taken off", ("--gravity-model", str(model))
        held = log.replace(tau=log.tau - share * gravity)
        yield Case(f"{name}, that model given", held, "gravity_compensated", options=options)
    for share in (0.9, 0.7):
        most = share * np.abs(log.tau).max(axis=0)
        bound = partial(bounds.kept, raw, (np.abs(log.tau) < most).astype(float))
        name = f"torques clipped at {100 * share:g} %"
        clipped = log.replace(tau=np.clip(log.tau, -most, most))
        yield Case(name, clipped, "saturation", bound)
        part = bench.again(clipped)
        bound = partial(bounds.kept, part, (np.abs(part.tau) < most).astype(float))
        longer = _sensed(part, Sensors(), rng)
        longer = longer.replace(tau=np.clip(longer.tau, -most, most))
        yield Case(f"{name}{AGAIN}", longer, "saturation", bound)
    gains = np.linspace(*GAINS, log.nv)
    bound = partial(bounds.currents, gains, bench.loaded_raw, LOAD)
    yield Case("motor currents", log.replace(tau=log.tau / gains), "motor_current", bound)
    for joint in range(log.nv):
        q, bound = _column(log.q, joint, log.q[:, joint] + ZERO), partial(bounds.offset, joint)
        yield Case(f"zero of {names[joint]} off by {ZERO:g} rad", log.replace(q=q), "position_offset", bound, joint)


def _column(x, joint: int, column) -> np.ndarray:
    x = x.copy()
    x[:, joint] = column
    return x


class Bench:
    """One arm: truth, nominal model, clean log, and a motion to judge by."""

    def __init__(self, name: str, folder: Path):
        self.truth, self.folder = arm(name, folder), folder
        self.given = mistaken(self.truth)
        self.model = folder / "given.urdf"
        save(self.given, self.model)
        self.controllers = {share: folder / f"{share:g}_of_true.urdf" for share in (1.0, 0.9)}
        for share, path in self.controllers.items():
            save(self.truth.with_inertias(share * self.truth.inertias), path)
        self.raw, self.long = (record(self.truth, duration=x * DURATION).truth for x in (1, SLOW))
        theta = self.truth.inertias.copy()
        theta[-1] += from_com_inertia(LOAD, np.array([0.0, 0.02, 0.08]), 0.004 * np.eye(3))
        self.loaded_raw = record(self.truth.with_inertias(theta), duration=DURATION, seed=5).truth
        self.judge = record(self.truth, duration=10.0, seed=99, sensors=PERFECT).log
        self.bounds = Bounds(self.truth, self.raw, self.judge)
        self.cleans = [self.error(self.log(draw)) for draw in range(LOSSY)]

    def log(self, draw: int) -> sy.Log:
        return _sensed(self.raw, Sensors(), np.random.default_rng([draw, 1]))

    def again(self, log: sy.Log) -> sy.Log:
        """A motion as long as `inspect` says of a log, without noise."""
        (fault,) = (fault for fault in inspect(log, self.given).faults if fault.code == "record_longer")
        return self.long[: round(fault.evidence["times_as_long"] * len(self.raw))]

    def loaded(self, draw: int) -> sy.Log:
        return _sensed(self.loaded_raw, Sensors(), np.random.default_rng([draw, 2]))

    def clean(self, draws: int) -> float:
        return self.rms(self.cleans[:draws])

    def exact(self, log: sy.Log, options) -> float:
        """Error over the clean log's of a log without noise."""
        return self.error(log, options) / self.clean(LOSSY)

    @staticmethod
    def rms(errors) -> float:
        return float(np.sqrt(np.mean(np.square(list(errors)))))

    def job(self, log: sy.Log, options=(), draw: int = 0) -> Job:
        path = sy.write_npz(log, self.folder / "run.npz")
        words: dict = {"corrections": {}}
        options = list(options)
        while options:
            word = options.pop(0)[2:].replace("-", "_")
            if word in ("cutoff", "torque_cutoff"):
                words[word] = float(options.pop(0))
            elif word == "gravity":
                words["gravity"] = tuple(float(options.pop(0)) for _ in range(3))
            elif word == "gravity_model":
                words["corrections"][word] = options.pop(0)
            elif word == "drive_gains":
                loaded = self.loaded(draw)
                loaded = loaded.replace(tau=loaded.tau / np.linspace(*GAINS, loaded.nv))
                load = sy.write_npz(loaded, self.folder / "loaded.npz")
                words |= {"drive_gains": True, "loads": (f"{self.truth.body_names[-1]}={LOAD}:{load}",)}
            elif isinstance(getattr(Corrections, word), bool):
                words["corrections"][word] = True
            else:
                words["corrections"][word] = [*words["corrections"].get(word, []), options.pop(0)]
        words["corrections"] = corrections_from(words["corrections"])
        return Job(str(self.model), (str(path),), accept=tuple(sorted(FATAL)), **words)

    def error(self, log: sy.Log, options=(), *, draw: int = 0, zero: int | None = None) -> float:
        """Torque error of what was identified, offsets included, on the motion to judge by; gravity as the robot feels
        it. zero: joint whose position is off there, too, as far as no option puts it right."""
        job = self.job(log, options, draw)
        try:
            estimate = identify(job).estimate
        except sy.errors.SteelyardError:
            return float("nan")
        judge = self.judge
        if zero is not None:
            judge = judge.replace(q=_column(judge.q, zero, judge.q[:, zero] + ZERO), v=judge.v, a=judge.a)
            judge = corrected(None, judge, Corrections(offset=job.corrections.offset))
        felt = replace(estimate, robot=replace(estimate.robot, gravity=self.truth.gravity))
        return sy.validate(felt, judge).relative_error


def study(name: str) -> dict:
    """Rows of one arm."""
    rows = {}
    with TemporaryDirectory() as folder:
        bench = Bench(name, Path(folder))
        rows[f"{name}: clean"] = {"with it": bench.clean(LOSSY)}
        for draws in zip(*(cases(bench, draw) for draw in range(LOSSY)), strict=True):
            draws = draws if draws[0].bound is not None and draws[0].zero is None else draws[:DRAWS]
            row = f"{name}: {draws[0].mistake}"
            rows[row] = judged(bench, draws)
            print(row, rows[row], flush=True)
    return rows


def judged(bench: Bench, draws: tuple[Case, ...]) -> dict:
    """Row of one mistake, with several draws of the noise."""
    named, others, options = 0, set(), []
    for case in draws:
        found = inspect(case.log, bench.given)
        items = (*found.findings, *found.faults)
        named += any(item.code == case.code for item in items)
        others |= {item.code for item in items} - {case.code}
        told = dict.fromkeys(item.options for item in items)
        options.append(list(case.options) or [word for words in told for word in words])
    first, told = draws[0], list(zip(draws, options, range(len(draws)), strict=True))
    clean = bench.clean(len(draws))
    before = bench.error(first.log, zero=first.zero)
    after = bench.rms(bench.error(case.log, words, draw=k, zero=case.zero) for case, words, k in told)
    bound = first.bound() if callable(first.bound) else None
    row = {
        "named": f"{first.code}, {named} of {len(draws)}" if named else "no",
        "also": ", ".join(sorted(others)),
        "option": " ".join(options[0][:2]) + (" ..." if len(options[0]) > 2 else ""),
        "with it": before,
        "undone": after,
        "over clean": after / clean,
        "bound": bound[0] if isinstance(bound, tuple) else bound,
    }
    if first.zero is not None and isinstance(bound, tuple):
        true = bench.rms(bench.error(case.log, words, draw=k) for case, words, k in told)
        row |= {
            "at true positions": bench.error(first.log),
            "undone there": true,
            "over clean there": true / clean,
            "bound there": bound[1],
        }
    return row


def run() -> dict:
    with ProcessPoolExecutor(max_workers=len(ROBOTS)) as pool:
        return {row: values for rows in pool.map(study, ROBOTS) for row, values in rows.items()}
