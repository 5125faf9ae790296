"""Mistakes made with logs of simulated arms: what `inspect` names, and torque error of the identified model on a motion
of its own, from the clean log, from the log with the mistake, and with the option that the finding gives.

The given model is wrong by tens of percent (`demo.mistaken`). Fatal mistakes are accepted to see what they cost.
`python -m benchmarks.faults` prints the table of docs/logs.md.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import steelyard as sy
from steelyard.corrections import Corrections, corrections_from
from steelyard.demo import mistaken
from steelyard.diagnose.finding import FATAL
from steelyard.inertia.parameters import from_com_inertia
from steelyard.inspect import inspect
from steelyard.model.save import save
from steelyard.pipeline import Job
from steelyard.pipeline import run as identify
from steelyard.simulate import PERFECT, record

ROBOTS = {"panda": "panda_description/urdf/panda.urdf", "ur10": "ur_description/urdf/ur10_robot.urdf"}
FOLDER = Path(sys.prefix) / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
FOLDER = FOLDER / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
DURATION = 20.0  # s of motion in a log
LOAD = 2.5  # kg on the last link, in the log that fixes drive gains
GAINS = (5.0, 25.0)  # N m per ampere, of the first and the last joint
Case = tuple[str, sy.Log, str]  # mistake, log, code that is expected


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


def cases(log: sy.Log, raw: sy.Log, truth: sy.Robot, given: sy.Robot) -> Iterator[Case]:
    """Mistakes with a clean log. raw: the same without noise of the sensors."""
    rng, names = np.random.default_rng(0), log.joint_names
    for joint in (1, 3):
        for delay in (0.001, 0.003, 0.01, 0.03):
            tau = _column(log.tau, joint, np.interp(log.t - delay, log.t, log.tau[:, joint]))
            yield f"{names[joint]} {1000 * delay:g} ms late", log.replace(tau=tau), "delay"
    late = np.stack([np.interp(log.t - 0.01, log.t, x) for x in log.tau.T], axis=1)
    yield "all torques 10 ms late", log.replace(tau=late), "delay"
    tau = _column(log.tau, log.nv - 1, np.interp(log.t - 0.01, log.t, log.tau[:, -1]))
    yield f"{names[-1]} 10 ms late", log.replace(tau=tau), "delay"
    yield "15 Hz", log[::33], "slow_logging"
    yield "15 Hz, 33 times as long", record(truth, duration=33 * DURATION).log[::33], "slow_logging"
    for step in (1e-3, 5e-3):
        yield f"encoder steps of {step:g} rad", log.replace(q=np.round(raw.q / step) * step), "coarse_position"
    for spread in (0.2, 0.5):
        t = np.sort(log.t + spread * 0.002 * rng.uniform(-1, 1, size=len(log)))
        yield f"stamps off by up to {100 * spread:g} % of a step", log.replace(t=t), "stamp_jitter"
    for i, j in ((1, 2), (3, 4)):
        swapped = np.arange(log.nv)
        swapped[[i, j]] = j, i
        yield f"torques of {names[i]}, {names[j]} exchanged", log.replace(tau=log.tau[:, swapped]), "joint_order"
        both = log.replace(q=log.q[:, swapped], tau=log.tau[:, swapped])
        yield f"{names[i]}, {names[j]} exchanged", both, "joint_order"
    for joint in (1, log.nv - 1):
        turned = np.where(np.arange(log.nv) == joint, -1.0, 1.0)
        yield f"torque of {names[joint]} negated", log.replace(tau=log.tau * turned), "torque_sign"
        yield f"position of {names[joint]} negated", log.replace(q=log.q * turned), "position_sign"
    yield "degrees", log.replace(q=np.degrees(log.q)), "degrees"
    yield "mN m", log.replace(tau=1000 * log.tau), "torque_unit"
    still = np.zeros_like(log.q)
    for what, robot in (("given", given), ("true", truth)):
        gravity = sy.inverse_dynamics(robot, log.q, still, still)
        yield f"gravity of the {what} model taken off", log.replace(tau=log.tau - gravity), "gravity_compensated"
    for share in (0.9, 0.7):
        most = share * np.abs(log.tau).max(axis=0)
        yield f"torques clipped at {100 * share:g} %", log.replace(tau=np.clip(log.tau, -most, most)), "saturation"
    yield "motor currents", log.replace(tau=log.tau / np.linspace(*GAINS, log.nv)), "motor_current"
    for joint in range(log.nv):
        q = _column(log.q, joint, log.q[:, joint] + 0.05)
        yield f"zero of {names[joint]} off by 0.05 rad", log.replace(q=q), "position_offset"


def _column(x, joint: int, column) -> np.ndarray:
    x = x.copy()
    x[:, joint] = column
    return x


class Bench:
    """One arm: truth, given model, clean log, and a motion to judge by."""

    def __init__(self, name: str, folder: Path):
        self.truth, self.folder = arm(name, folder), folder
        self.given = mistaken(self.truth)
        self.model = folder / "given.urdf"
        save(self.given, self.model)
        recording = record(self.truth, duration=DURATION)
        self.log, self.raw = recording.log, recording.truth
        theta = self.truth.inertias.copy()
        theta[-1] += from_com_inertia(LOAD, np.array([0.0, 0.02, 0.08]), 0.004 * np.eye(3))
        self.loaded = record(self.truth.with_inertias(theta), duration=DURATION, seed=5).log
        self.judge = record(self.truth, duration=10.0, seed=99, sensors=PERFECT).log

    def job(self, log: sy.Log, options=()) -> Job:
        path = sy.write_npz(log, self.folder / "run.npz")
        words: dict = {"corrections": {}}
        options = list(options)
        while options:
            word = options.pop(0)[2:].replace("-", "_")
            if word in ("cutoff", "torque_cutoff"):
                words[word] = float(options.pop(0))
            elif word == "gravity":
                words["gravity"] = tuple(float(options.pop(0)) for _ in range(3))
            elif word == "drive_gains":
                loaded = self.loaded.replace(tau=self.loaded.tau / np.linspace(*GAINS, self.loaded.nv))
                load = sy.write_npz(loaded, self.folder / "loaded.npz")
                words |= {"drive_gains": True, "loads": (f"{self.truth.body_names[-1]}={LOAD}:{load}",)}
            elif isinstance(getattr(Corrections, word), bool):
                words["corrections"][word] = True
            else:
                words["corrections"][word] = [*words["corrections"].get(word, []), options.pop(0)]
        words["corrections"] = corrections_from(words["corrections"])
        return Job(str(self.model), (str(path),), accept=tuple(sorted(FATAL)), **words)

    def error(self, log: sy.Log, options=()) -> float:
        """Torque error of what was identified, offsets included, on the motion to judge by; gravity as the robot feels
        it."""
        try:
            estimate = identify(self.job(log, options)).estimate
        except sy.errors.SteelyardError as error:
            return float("nan") if str(error) else 0.0
        return sy.validate(
            replace(estimate, robot=replace(estimate.robot, gravity=self.truth.gravity)), self.judge
        ).relative_error


def study(name: str) -> dict:
    """Rows of one arm."""
    with TemporaryDirectory() as folder:
        bench = Bench(name, Path(folder))
        clean = bench.error(bench.log)
        rows = {f"{name}: clean": {"with it": clean}}
        for mistake, log, code in cases(bench.log, bench.raw, bench.truth, bench.given):
            found = inspect(log, bench.given)
            items = (*found.findings, *found.faults)
            named = [item for item in items if item.code == code]
            options = [word for told in dict.fromkeys(item.options for item in items) for word in told]
            before, after = bench.error(log), bench.error(log, options)
            others = sorted({item.code for item in items} - {code})
            rows[f"{name}: {mistake}"] = {
                "named": code if named else "no",
                "also": ", ".join(others),
                "option": " ".join(options[:2]) + (" ..." if len(options) > 2 else ""),
                "with it": before,
                "undone": after,
                "over clean": after / clean,
            }
            print(f"{name}: {mistake}", rows[f"{name}: {mistake}"], flush=True)
    return rows


def run() -> dict:
    return {row: values for name in ROBOTS for row, values in study(name).items()}


if __name__ == "__main__":
    from benchmarks.run import table

    print(table(run()))
