"""A motion, rehearsed: robots with known truth play it in MuJoCo, are recorded, and identified as the real one will be.

Each of them differs from the model by about as much as robots differ from their files. What the intervals of the
identification promise stands beside the errors that it makes, and torques or motion of a faster, random course judge
what was found: the rehearsed motion cannot show that it suits itself alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import make_interp_spline

from steelyard.arguments import require_type
from steelyard.cards import Card
from steelyard.drives.arrays import arrays_of
from steelyard.drives.coordinates import changed_bodies
from steelyard.drives.drive import drives_of
from steelyard.drives.held_out import WINDOW
from steelyard.drives.rollouts import rollout
from steelyard.drives.simulation import Simulation
from steelyard.drives.windows import Recorded, windows_of
from steelyard.dynamics import inverse_dynamics
from steelyard.errors import LogError, OptionError, SteelyardError
from steelyard.excite.home import HOME
from steelyard.excite.motion_design import design
from steelyard.excite.profiles import profile_for
from steelyard.fit import Source, validate
from steelyard.fit.prior import consistent_prior, model_parameters
from steelyard.inertia import pseudo
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.pipeline.drive_identification import DriveResult, run_drives
from steelyard.pipeline.identification import Result, run
from steelyard.pipeline.job_run import Progress, job_of
from steelyard.prepare import prepare
from steelyard.report.labels import column_units, dof_units, sizes
from steelyard.simulate import PERFECT, Sensors, record, rich_motion
from steelyard.simulate.trajectories import Trajectory

WRONG = 0.2  # standard deviation of the logarithms of masses and lengths, that the model has wrong
CENTER = 0.3  # times it and the radius of gyration: of centres of mass
RUBBING = (0.02, 0.1)  # times the peak torque: Coulomb friction, viscous friction at the peak speed, and armature at
# the peak acceleration
STIFF = 30.0  # peak torques a rad: gain of position servos whose own is not known
LATE = (0.0, 0.02)  # s of commands whose delay is not known
ENOUGH, LITTLE = 1.2, {False: 0.01, True: 2e-3}  # times the error after the whole motion, and of torque or rad, m:
# what a shorter one may leave
TIMES, SHORT = ("delay", "early", "slope_limit"), 5e-3  # numbers of drives without torque; s, size of a delay
STILL = 1e-6  # rad or m, by which joints move that stay
COMMANDED = ("position", "velocity")  # kinds of drives that a motion can be sent to
FINE = 5e-4  # s, step of simulated drives
OTHERWISE = 10.0  # s of the random motion that judges
UNLIKE = 1000  # added to the seed of a truth, for that motion


@dataclass(frozen=True, eq=False)
class Trial:
    """One truth, identified.

    names, units: of what was identified. truth, found, lower, upper, size: (c,) each, size: natural, of which errors
    are shares. shown: (c,) whether the data decide it. given, left: error on unlike motion of the model and of what was
    identified: RMS over RMS torque; of commands rad (m) in windows, and of a robot that goes where it is told. notes:
    on what nothing says, such as the scale of gains: numbers are then compared at that of the gain that was found.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    truth: np.ndarray
    found: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    size: np.ndarray
    shown: np.ndarray
    given: float
    left: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Rehearsal(Card):
    """What a motion would show of a robot.

    robot: the model. duration: s of the motion. trials: the truths. shorter: (share of the motion, error that it alone
    leaves on unlike motion), of the first truth, the whole last; None where it could not be identified.
    moved: whether errors are of motion, not of torque. sensors: that recorded.
    """

    robot: Robot
    duration: float
    trials: tuple[Trial, ...]
    shorter: tuple[tuple[float, float | None], ...]
    moved: bool
    sensors: Sensors

    @property
    def names(self) -> tuple[str, ...]:
        """What was identified of every truth, in order."""
        return tuple(name for name in self.trials[0].names if all(name in each.names for each in self.trials))

    @property
    def shown(self) -> np.ndarray:
        """(c,) whether the data decide it, for most of the truths."""
        return np.mean(self.over_trials(lambda t: t.shown), axis=0) > 1 / 2

    def over_trials(self, what: Callable[[Trial], np.ndarray]) -> np.ndarray:
        """(trials, c) of a number of every name."""
        return np.stack([[what(t)[t.names.index(name)] for name in self.names] for t in self.trials])

    @property
    def promised(self) -> np.ndarray:
        """(c,) half of the 95 % intervals over natural size, the median of the truths."""
        return np.median(self.over_trials(lambda t: (t.upper - t.lower) / 2 / t.size), axis=0)

    @property
    def reached(self) -> np.ndarray:
        """(c,) RMS error over natural size."""
        return np.sqrt(np.mean(self.over_trials(lambda t: (t.found - t.truth) / t.size) ** 2, axis=0))

    @property
    def held(self) -> np.ndarray:
        """(c,) how many of the truths lie in their intervals."""
        return np.sum(self.over_trials(lambda t: (t.lower <= t.truth) & (t.truth <= t.upper)), axis=0)

    @property
    def covered(self) -> float:
        """Share of truths of what the data decide that lie in their intervals."""
        return float(self.held[self.shown].mean() / len(self.trials)) if self.shown.any() else 1.0

    @property
    def units(self) -> tuple[str, ...]:
        """Of every name."""
        first = self.trials[0]
        return tuple(first.units[first.names.index(name)] for name in self.names)

    @property
    def errors(self) -> tuple[float, float]:
        """Errors on unlike motion, of the model and of what was identified: the medians."""
        return tuple(float(np.median([getattr(t, key) for t in self.trials])) for key in ("given", "left"))  # type: ignore[return-value]

    @property
    def enough(self) -> float:
        """Error on unlike motion with which more of the motion is not worth the time."""
        whole = self.shorter[-1][1]
        return LITTLE[self.moved] if whole is None else max(ENOUGH * whole, LITTLE[self.moved])

    @property
    def shortest(self) -> float | None:
        """s of the motion from which on nothing gets much better; None where the whole is needed."""
        enough = [share for share, error in self.shorter[:-1] if error is not None and error <= self.enough]
        return enough[0] * self.duration if enough else None

    def _title(self) -> str:
        return f"Rehearsal of '{self.robot.name}', {self.duration:.4g} s"

    def _rows(self):
        given, left = self.errors
        return {
            "truths": len(self.trials),
            "error on unlike motion": f"{left:.3g} (model {given:.3g})",
            "shown by the data": f"{self.shown.sum()} of {len(self.names)} parameters",
            "truths in 95 % intervals": f"{self.covered:.0%}",
            "shortest that does": None if self.shortest is None else f"{self.shortest:.3g} s",
        }


def rehearse(
    robot: Robot,
    motion: Trajectory | Log | None = None,
    *,
    trials: int | None = None,
    wrong: float = WRONG,
    sensors: Sensors | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    **options,
) -> Rehearsal:
    """Try a motion in simulation before the robot plays it: what would be identified, and with which errors?

    Args:
        robot: the model, of which truths are drawn; its base is held.
        motion: as of `sy.excite.design`, or a Log of it; by default one is designed.
        trials: truths that are drawn; by default three, of commands, which take a minute each, one.
        wrong: standard deviation of the logarithms of their masses and sizes about the model's.
        sensors: of the recording; by default `Sensors()`.
        seed: of truths and noise.
        progress: called with a stage and the share done, 0 to 1.
        options: of `sy.identify`, such as `drive`.

    Returns:
        The Rehearsal.

    Raises:
        SteelyardError: a robot or motion that cannot be simulated, or a recording that is refused, with the reason.

    Example:
        >>> import steelyard as sy
        >>> robot = sy.library.scara()
        >>> tried = sy.excite.rehearse(robot, sy.simulate.rich_motion(robot, duration=4.0), trials=1)
        >>> given, left = tried.errors
        >>> left < 0.2 * given
        True
    """
    require_type(Robot, robot=robot)
    if robot.floating:
        raise OptionError(
            f"Robot '{robot.name}' has a free base, and a rehearsal holds it: load it with floating=False."
        )
    kind = _Commands if options.get("drive") else _Torques
    trials = kind.trials if trials is None else trials
    if trials < 1 or not 0 <= wrong < 1:
        raise OptionError(f"trials={trials}, wrong={wrong}: one truth or more, and a share from 0 to below 1.")
    report = progress or (lambda stage, share: None)
    sensors = sensors or Sensors()
    if motion is None:
        motion = _designed(robot, lambda stage, share: report(stage, 0.2 * share))
    elif isinstance(motion, Log):
        motion = course_of(motion, robot)
    play = kind(robot, motion, sensors, options)
    report("playing", 0.2)
    found, first = [], None
    for k in range(trials):
        own = play.truth(np.random.default_rng([seed, k]), wrong)
        log, unlike = play.recorded(own, motion, seed + k), play.unlike(own, UNLIKE + seed + k)
        found.append(play.judged(own, play.identified(log), unlike))
        first = first or (own, log, unlike)
        report(f"truth {k + 1} of {trials}", 0.2 + 0.5 * (k + 1) / trials)
    shorter = []
    for place, share in enumerate(play.shares):
        shorter.append((share, _left_by(play, share, *first)))
        report("shorter motions", 0.7 + 0.3 * (place + 1) / len(play.shares))
    whole = (1.0, found[0].left)
    return Rehearsal(robot, motion.duration, tuple(found), (*shorter, whole), play.moved, sensors)


def course_of(log: Log, robot: Robot) -> Trajectory:
    """The motion of a log, to be driven again.

    Args:
        log: a file of `sy.excite.write`, or any recording of positions, whose noise is filtered.
        robot: that moves.

    Returns:
        The Trajectory, from 0 s on.

    Raises:
        LogError: too few samples.
    """
    if log.v is None or log.a is None:
        log = prepare(log, robot).log
    if len(log) < 20:
        raise LogError(f"A motion needs 20 samples; log '{log.name}' has {len(log)}.")
    curve = make_interp_spline(log.t - log.t[0], log.q, k=5)

    def evaluate(t):
        at = np.clip(t, 0.0, log.duration)
        return curve(at), curve(at, 1), curve(at, 2)

    return Trajectory(evaluate, log.duration)


def _designed(robot: Robot, progress) -> Trajectory:
    return design(robot, start=HOME, profile=profile_for(robot), progress=progress)


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
    still = np.ptp(q, axis=0) < STILL

    def evaluate(t):
        at, v, a = course.evaluate(t)
        return np.where(still, q[0], at), np.where(still, 0.0, v), np.where(still, 0.0, a)

    return Trajectory(evaluate, OTHERWISE)


def _left_by(play: "_Torques | _Commands", share: float, truth: Robot, log: Log, unlike: Log) -> float | None:
    """Error on unlike motion that the beginning of a log leaves; None where it is refused."""
    try:
        return play.left(play.identified(log[: round(share * len(log))]), unlike)
    except SteelyardError:
        return None


@dataclass(frozen=True, eq=False)
class _Torques:
    """Rehearsal of a log of torques. shares: of the motion, tried alone."""

    robot: Robot
    motion: Trajectory
    sensors: Sensors
    options: dict
    moved, trials, shares = False, 3, (0.3, 0.5, 0.7)

    def truth(self, rng, wrong: float) -> Robot:
        return drawn_truth(self.robot, self.motion, rng, wrong)

    def recorded(self, truth: Robot, motion: Trajectory, seed: int) -> Log:
        return record(truth, motion, sensors=self.sensors, seed=seed).log

    def unlike(self, truth: Robot, seed: int) -> Log:
        return record(truth, _otherwise(truth, self.motion, seed), sensors=PERFECT).truth

    def identified(self, log: Log) -> Result:
        return run(job_of(self.robot, log, **self.options), robot=self.robot, logs=[log])

    def judged(self, truth: Robot, result: Result, unlike: Log) -> Trial:
        own, estimate = result.uncertainty.base, result.estimate
        layout, basis = estimate.layout, estimate.basis
        units = column_units(self.robot, layout)
        return Trial(
            names=own.names,
            units=tuple(units[column] for column in basis.columns),
            truth=basis.regroup(model_parameters(truth, layout)),
            found=own.estimate,
            lower=own.lower,
            upper=own.upper,
            size=np.abs(basis.regrouping) @ sizes(truth, estimate),
            shown=own.by(Source.DATA) | own.by(Source.MODEL),
            given=validate(self.robot, unlike).relative_error,
            left=self.left(result, unlike),
        )

    def left(self, result: Result, unlike: Log) -> float:
        return validate(result.estimate, unlike).relative_error


@dataclass(frozen=True, eq=False)
class _Commands:
    """Rehearsal of a log of commands and positions."""

    robot: Robot
    motion: Trajectory
    sensors: Sensors
    options: dict
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
        simulation, arrays = Simulation(truth, FINE), arrays_of(truth, truth.drives)
        windows = windows_of([told], FINE, None)
        ran = simulation.run(windows.driven(simulation, arrays), windows.begin, windows.v, windows.controls(arrays))
        q = windows.measured + windows.errors(ran)
        step = self.sensors.encoder_resolution
        q = np.round(q / step) * step if step else q
        return Log(t=windows.times, q=q, command=windows.commanded, joint_names=truth.dof_names, name="rehearsed")

    def unlike(self, truth: Robot, seed: int) -> Log:
        return self.recorded(truth, _otherwise(truth, self.motion, seed), seed)

    def identified(self, log: Log) -> DriveResult:
        return run_drives(job_of(self.robot, log, **self.options), robot=self.robot, logs=[log])

    def judged(self, truth: Robot, result: DriveResult, unlike: Log) -> Trial:
        rows = []
        for (joint, found), unit in zip(result.drives.items(), dof_units(self.robot), strict=True):
            j, true, gain = self.robot.dof_names.index(joint), truth.drives[joint], found.features.gain
            known = {"damping": truth.damping[j], "frictionloss": truth.frictionloss[j], "armature": truth.armature[j]}
            open_scale = joint in result.scaled and gain in found.intervals
            scale = found.torque_per_unit / true.torque_per_unit if open_scale else 1.0
            for key, (lower, upper) in found.intervals.items():
                value = known.get(key, getattr(true, key, None))
                if value is not None and not (open_scale and key == gain):
                    value = value * (1.0 if key in TIMES else scale)
                    size = max(abs(value), SHORT if key == "delay" else 1e-9)
                    rows.append((f"{joint}.{key}", unit.get(key, ""), value, getattr(found, key), lower, upper, size))
        names, units, *numbers = zip(*rows, strict=True)
        idle = rollout(truth, unlike, window=WINDOW)
        given = np.sqrt(np.mean(idle.stays**2)) if idle.commanded is None else np.sqrt(np.mean(idle.commanded**2))
        shown, scale = np.ones(len(names), dtype=bool), result.scale if result.scaled else ()
        return Trial(
            names,
            units,
            *map(np.array, numbers),
            shown,
            notes=scale,
            given=float(given),
            left=self.left(result, unlike),
        )

    def left(self, result: DriveResult, unlike: Log) -> float:
        return float(np.sqrt(np.mean(rollout(result.robot, unlike, window=WINDOW).error ** 2)))
