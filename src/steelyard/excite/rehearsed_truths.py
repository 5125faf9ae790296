"""Robots with known truth that play a motion in MuJoCo, their recordings, and what was identified of them."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from steelyard.drives.arrays import arrays_of
from steelyard.drives.coordinates import changed_bodies
from steelyard.drives.drive import drives_of
from steelyard.drives.held_out import WINDOW
from steelyard.drives.rollouts import rollout
from steelyard.drives.simulation import Simulation
from steelyard.drives.window_errors import CAREFUL, errors_of
from steelyard.drives.windows import Recorded, windows_of
from steelyard.dynamics import inverse_dynamics
from steelyard.errors import OptionError
from steelyard.fit import Source, validate
from steelyard.fit.prior import consistent_prior, model_parameters
from steelyard.inertia import pseudo
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.numbers import SAME
from steelyard.pipeline.drive_identification import DriveResult, run_drives
from steelyard.pipeline.identification import Result, run
from steelyard.pipeline.job_run import job_of
from steelyard.report.labels import column_units, dof_units, sizes
from steelyard.simulate import PERFECT, Sensors, record, rich_motion
from steelyard.simulate.trajectories import Trajectory

CENTER = 0.3  # times it and the radius of gyration: of centres of mass
RUBBING = (0.02, 0.1)  # times the peak torque: Coulomb friction, viscous friction at the peak speed, and armature at
# the peak acceleration
STIFF = 30.0  # peak torques a rad: gain of position servos whose own is not known
LATE = (0.0, 0.02)  # s of commands whose delay is not known
TIMES, SHORT = ("delay", "early", "slope_limit"), 5e-3  # numbers of drives without torque; s, size of a delay
COMMANDED = ("position", "velocity")  # kinds of drives that a motion can be sent to
OTHERWISE = 10.0  # s of the random motion that judges


@dataclass(frozen=True, eq=False)
class IdentifiedTruth:
    """One truth, identified.

    truth, found, lower, upper, size: (c,) each. given, left: error on unlike motion of the model and of what was
    identified: RMS over RMS torque; of commands rad (m) in windows, and of a robot that goes where it is told. notes:
    on what nothing says, such as the scale of gains: numbers are then compared at that of the gain that was found.
    """

    names: tuple[str, ...]  # and `units`: of what was identified
    units: tuple[str, ...]
    truth: np.ndarray
    found: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    size: np.ndarray  # natural, of which errors are shares
    shown: np.ndarray  # (c,) whether the data decide it
    given: float
    left: float
    notes: tuple[str, ...] = ()


def drawn_truth(robot: Robot, motion: Trajectory, rng: np.random.Generator, wrong: float) -> Robot:
    """A robot about as unlike its model as real ones are: other masses, centres and shapes, and friction and armature
    where the model has none. Bodies without mass stay so."""
    theta = consistent_prior(None, robot, robot.nb)[0]
    second = np.trace(pseudo.to_matrix(theta)[:, :3, :3], axis1=1, axis2=2)
    gyration = np.sqrt(second / theta[:, 0])
    size = np.concatenate([[1.0], np.full(3, CENTER), np.ones(6)]) * wrong
    change = rng.normal(size=(robot.nb, 10)) * size
    change[:, 1:4] *= gyration[:, None]
    heavy = robot.inertias[:, :1] > 0
    bodies = np.where(heavy, changed_bodies(theta, change), robot.inertias)
    t = np.linspace(0.0, motion.duration, 400)
    q, v, a = motion.evaluate(t)
    peak, speed = (np.abs(x).max(axis=0) for x in (inverse_dynamics(robot, q, v, a), v))
    peak = np.maximum(peak, 1e-3 * peak.max())
    low, high, spin = rng.uniform(*RUBBING, size=(3, robot.nv)) * peak
    other = np.exp(wrong * rng.normal(size=(2, robot.nv)))
    viscous = np.where(robot.damping > 0, robot.damping * other[0], low / np.maximum(speed, 1e-2))
    coulomb = np.where(robot.frictionloss > 0, robot.frictionloss * other[1], high)
    geared = np.where(robot.armature > 0, robot.armature, spin / np.maximum(np.abs(a).max(axis=0), 1e-2))
    return robot.with_inertias(bodies).with_joint_properties(damping=viscous, frictionloss=coulomb, armature=geared)


def _otherwise(robot: Robot, motion: Trajectory, seed: int) -> Trajectory:
    """A random motion, as fast as limits allow, of the joints that a motion moves; others stay where it holds them."""
    course, q = (
        rich_motion(robot, duration=OTHERWISE, seed=seed),
        motion.evaluate(np.linspace(0, motion.duration, 400))[0],
    )
    still = np.ptp(q, axis=0) < SAME

    def evaluate(t):
        at, v, a = course.evaluate(t)
        return np.where(still, q[0], at), np.where(still, 0.0, v), np.where(still, 0.0, a)

    return Trajectory(evaluate, OTHERWISE)


@dataclass(frozen=True, eq=False)
class _Rehearsed:
    """What is rehearsed. A play has `truth` (a robot), `recorded` of a motion (a log), `unlike` (another motion, that
    judges), `identified` of a log, and, of what was identified, `judged` beside the truth and the error `left`."""

    robot: Robot
    motion: Trajectory
    sensors: Sensors
    options: dict
    moved: ClassVar[bool]  # whether errors are of motion
    trials: ClassVar[int]  # truths
    shares: ClassVar[tuple[float, ...]]  # of the motion, tried alone


@dataclass(frozen=True, eq=False)
class Torques(_Rehearsed):
    """Rehearsal of a log of torques."""

    moved, trials, shares = False, 3, (0.3, 0.5, 0.7)

    def truth(self, rng, wrong: float) -> Robot:
        return drawn_truth(self.robot, self.motion, rng, wrong)

    def recorded(self, truth: Robot, motion: Trajectory, seed: int) -> Log:
        return record(truth, motion, sensors=self.sensors, seed=seed).log

    def unlike(self, truth: Robot, seed: int) -> Log:
        return record(truth, _otherwise(truth, self.motion, seed), sensors=PERFECT).truth

    def identified(self, log: Log) -> Any:
        return run(job_of(self.robot, log, **self.options), robot=self.robot, logs=[log])

    def judged(self, truth: Robot, result: Result, unlike: Log) -> IdentifiedTruth:
        own, estimate = result.uncertainty.base, result.estimate
        layout, basis = estimate.layout, estimate.basis
        units, plain = column_units(self.robot, layout), np.isin(basis.columns, layout.in_plain)
        return IdentifiedTruth(
            names=tuple(name for name, kept in zip(own.names, plain, strict=True) if kept),
            units=tuple(units[column] for column in basis.columns[plain]),
            truth=basis.regroup(model_parameters(truth, layout))[plain],
            found=own.estimate[plain],
            lower=own.lower[plain],
            upper=own.upper[plain],
            size=(np.abs(basis.regrouping) @ sizes(truth, estimate))[plain],
            shown=(own.by(Source.DATA) | own.by(Source.MODEL))[plain],
            given=validate(self.robot, unlike).relative_error,
            left=self.left(result, unlike),
        )

    def left(self, result: Result, unlike: Log) -> float:
        return validate(result.estimate, unlike).relative_error


@dataclass(frozen=True, eq=False)
class Commands(_Rehearsed):
    """Rehearsal of a log of commands and positions."""

    moved, trials, shares = True, 1, (0.5,)

    def truth(self, rng, wrong: float) -> Robot:
        """With drives: numbers that nothing states are drawn."""
        drawn = drawn_truth(self.robot, self.motion, rng, wrong)
        t = np.linspace(0.0, self.motion.duration, 400)
        peak = np.abs(inverse_dynamics(drawn, *self.motion.evaluate(t))).max(axis=0)
        words, drives = self.options["drive"], {}
        for j, (name, drive) in enumerate(drives_of(self.robot, [words] if isinstance(words, str) else words).items()):
            if drive.kind not in COMMANDED:
                raise OptionError(
                    f"The drive of {name} takes no {' or '.join(COMMANDED)} but {drive.kind}: how a motion becomes "
                    "commands is then a matter of the robot's controller. Leave out --drive to rehearse with torques."
                )
            gain = drive.features.gain
            unknown = {} if drive.torque_per_unit is not None else {gain: float(STIFF * peak[j])}
            late = {"delay": float(rng.uniform(*LATE))} if drive.features.late and drive.delay is None else {}
            drives[name] = replace(drive, **unknown, **late)
        return replace(drawn, drives=drives)

    def recorded(self, truth: Robot, motion: Trajectory, seed: int) -> Log:
        t = np.arange(0.0, motion.duration, 1 / self.sensors.rate)
        q, v, _ = motion.evaluate(t)
        follows = np.array([drive.features.follows_q for drive in truth.drives.values()])
        told = Recorded(t, q, np.where(follows, q, v))
        simulation, arrays = Simulation(truth, CAREFUL), arrays_of(truth, truth.drives)
        windows = windows_of([told], CAREFUL, None)
        q = windows.measured + errors_of(simulation, [windows], [arrays])[0]
        step = self.sensors.encoder_resolution
        q = np.round(q / step) * step if step else q
        return Log(t=windows.times, q=q, command=windows.commanded, joint_names=truth.dof_names, name="rehearsed")

    def unlike(self, truth: Robot, seed: int) -> Log:
        return self.recorded(truth, _otherwise(truth, self.motion, seed), seed)

    def identified(self, log: Log) -> Any:
        return run_drives(job_of(self.robot, log, **self.options), robot=self.robot, logs=[log])

    def judged(self, truth: Robot, result: DriveResult, unlike: Log) -> IdentifiedTruth:
        rows = []
        for (joint, found), unit in zip(result.drives.items(), dof_units(self.robot), strict=True):
            j, true, gain = self.robot.dof_names.index(joint), truth.drives[joint], found.features.gain
            known = {"damping": truth.damping[j], "frictionloss": truth.frictionloss[j], "armature": truth.armature[j]}
            open_scale = joint in result.scaled and gain in found.intervals
            scale = (found.torque_per_unit or 1.0) / (true.torque_per_unit or 1.0) if open_scale else 1.0
            for key, (lower, upper) in found.intervals.items():
                value = known.get(key, getattr(true, key, None))
                if value is not None and not (open_scale and key == gain):
                    value = value * (1.0 if key in TIMES else scale)
                    size = max(abs(value), SHORT if key == "delay" else 1e-9)
                    rows.append((f"{joint}.{key}", unit.get(key, ""), value, getattr(found, key), lower, upper, size))
        names, units, *numbers = zip(*rows, strict=True)
        value, estimate, lower, upper, size = map(np.array, numbers)
        idle = rollout(truth, unlike, window=WINDOW)
        given = np.sqrt(np.mean(idle.stays**2)) if idle.commanded is None else np.sqrt(np.mean(idle.commanded**2))
        shown, scale = np.ones(len(names), dtype=bool), result.scale if result.scaled else ()
        return IdentifiedTruth(
            names,
            units,
            value,
            estimate,
            lower,
            upper,
            size,
            shown,
            notes=scale,
            given=float(given),
            left=self.left(result, unlike),
        )

    def left(self, result: DriveResult, unlike: Log) -> float:
        return float(np.sqrt(np.mean(rollout(result.robot, unlike, window=WINDOW).error ** 2)))


Play = Torques | Commands
