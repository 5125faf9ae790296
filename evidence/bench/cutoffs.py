"""Error of the identified model over the choice of cutoff, for each smoother: with the automatic choice, and with the
best of nine. Root mean squares over draws of the noise, so that the best is not a lucky one.

Logs of 10 s of two arms on two motions (harmonics of 0.2 Hz up to 1.2 and 3.6 Hz) at two rates, with noise of the
encoder or its steps and 2 % of noise on the torques. The model is fitted by `fit.consistent`, from a given one that is
wrong by tens of percent, and judged by its torque error on another motion. `over best` is the error with the automatic
cutoff over that with the best of nine, torques at 10 Hz in both; one column compares with the best of nine
cutoffs of positions and torques alike. `spread` is how far automatic cutoffs of the draws lie apart, largest over
smallest. About 10 minutes on two cores.
"""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import steelyard as sy
from evidence.bench.faults import arm
from steelyard.app.demo_job import mistaken
from steelyard.information import accumulate, reversal_weights
from steelyard.log import filters
from steelyard.log.smoothers import BUTTERWORTH, SMOOTHERS
from steelyard.native import threads
from steelyard.simulate import rich_motion
from steelyard.terms import COULOMB_WIDTH

ROBOTS = ("puma560", "ur10")
MOTIONS = {"slow": (0, 6), "quick": (1, 18)}  # seed and harmonics
RATES = (100, 500)  # Hz
NOISES = {"white 2e-5": (2e-5, 0.0), "white 2e-4": (2e-4, 0.0), "white 2e-3": (2e-3, 0.0), "steps 1e-3": (0.0, 1e-3)}
TORQUE_NOISE = 0.02  # of each joint's RMS torque
CUTOFFS = np.geomspace(1.8, 18.0, 9)
DRAWS = 24
DENSE = 1000  # Hz
KEPT = 100  # Hz: samples of a filtered log that are used; all would say the same


@dataclass(frozen=True, eq=False)
class Bench:
    """An arm, the nominal model of it, and the motion to judge by."""

    truth: sy.Robot
    given: sy.Robot
    judge: sy.Log

    def error(self, log: sy.Log, cutoff: float | None, torque_cutoff: float | None, smoother: str) -> float:
        """Of the model identified with a cutoff of positions and one of torques, Hz."""
        done = filters.differentiate(log, cutoff, torque_cutoff=torque_cutoff, smoother=smoother)
        done = done[:: max(1, round(done.rate / KEPT))]
        info = accumulate(
            self.given,
            done,
            armature=True,
            sample_weights=partial(reversal_weights, self.given),
        )
        return sy.validate(sy.fit.consistent(info), self.judge).relative_error


@cache
def bench(name: str) -> Bench:
    with TemporaryDirectory() as folder:
        truth = sy.library.puma560() if name == "puma560" else arm(name, Path(folder))
    return Bench(truth, mistaken(truth), moved(truth, 99, 6)[:: DENSE // 20])


def moved(robot: sy.Robot, seed: int, harmonics: int) -> sy.Log:
    """Ten seconds of a motion at 1 kHz: closed forms, so that errors of an integrator do not hide those of filters."""
    t = np.arange(10 * DENSE) / DENSE
    q, v, a = rich_motion(robot, duration=10.0, seed=seed, harmonics=harmonics).evaluate(t)
    friction = robot.damping * v + robot.frictionloss * np.tanh(v / COULOMB_WIDTH)
    tau = sy.inverse_dynamics(robot, q, v, a) + robot.armature * a + friction
    return sy.Log(t=t, q=q, v=v, a=a, tau=tau, joint_names=robot.joint_names)


def sensed(truth: sy.Log, rate: int, noise: str, draw: int) -> sy.Log:
    """A motion as its sensors see it: encoder noise or steps at a phase of their own, noise of the torques."""
    rng = np.random.default_rng(draw)
    log, (size, step) = truth[:: DENSE // rate], NOISES[noise]
    tau = log.tau + TORQUE_NOISE * np.sqrt(np.mean(log.tau**2, axis=0)) * rng.normal(size=log.tau.shape)
    phase = rng.uniform(size=log.nv)
    q = log.q + size * rng.normal(size=log.q.shape) if size else (np.round(log.q / step + phase) - phase) * step
    return sy.Log(t=log.t, q=q, tau=tau, joint_names=log.joint_names)


def rms(found: Bench, logs: list[sy.Log], smoother: str, cutoff: float | None, torque_cutoff: float | None) -> float:
    """Of the errors of several draws of the noise."""
    return float(np.sqrt(np.mean([found.error(log, cutoff, torque_cutoff, smoother) ** 2 for log in logs])))


def choice(found: Bench, logs: list[sy.Log], smoother: str) -> tuple[float, np.ndarray]:
    """Error with the automatic cutoff, and (9,) with each of nine."""
    highest = filters.torque_cutoff_for(logs[0])
    nine = [rms(found, logs, smoother, cutoff, max(cutoff, highest)) for cutoff in CUTOFFS]
    return rms(found, logs, smoother, None, None), np.array(nine)


def cases() -> Iterator[tuple[str, str, int, str]]:
    """Robots, motions, rates and noises."""
    return product(ROBOTS, MOTIONS, RATES, NOISES)


def compared(case: tuple[str, str, int, str]) -> dict[str, float]:
    """Row of the table of one case."""
    name, motion, rate, noise = case
    found = bench(name)
    truth = moved(found.truth, *MOTIONS[motion])
    logs = [sensed(truth, rate, noise, draw) for draw in range(DRAWS)]
    row = {}
    for smoother in SMOOTHERS:
        auto, nine = choice(found, logs, smoother)
        chosen = [filters.cutoff_for(log, smoother=smoother) for log in logs]
        row[f"{smoother} auto Hz"] = float(np.median(chosen))
        row[f"{smoother} spread"] = max(chosen) / min(chosen)
        row[f"{smoother} best Hz"] = float(CUTOFFS[nine.argmin()])
        row[f"{smoother} error %"] = 100 * auto
        row[f"{smoother} over best"] = auto / nine.min()
        if smoother == BUTTERWORTH:
            same = [rms(found, logs, smoother, cutoff, cutoff) for cutoff in CUTOFFS]
            row["over best of one cutoff for all"] = auto / min(same)
    print(*case, row, flush=True)
    return {key: float(f"{value:.3g}") for key, value in row.items()}


def run() -> dict:
    with ProcessPoolExecutor(threads()) as pool:
        rows = {
            "{}, {}, {} Hz, {}".format(*case): row
            for case, row in zip(cases(), pool.map(compared, cases()), strict=True)
        }
    ratios = [key for key in next(iter(rows.values())) if "over best" in key]
    summed = {"mean": np.mean, "largest": np.max}
    return rows | {
        title: {key: float(f"{of([row[key] for row in rows.values()]):.3g}") for key in ratios}
        for title, of in summed.items()
    }
