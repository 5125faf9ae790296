"""A motion, rehearsed: robots with known truth play it in MuJoCo, are recorded, and identified as the real one will be.

Each of them differs from the model by about as much as robots differ from their files. What the intervals of the
identification promise stands beside the errors that it makes, and torques or motion of a faster, random course judge
what was found: the rehearsed motion cannot show that it suits itself alone.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import make_interp_spline

from steelyard.arguments import require_type
from steelyard.cards import Card
from steelyard.errors import LogError, OptionError, SteelyardError
from steelyard.excite.motion_design import HOME, design
from steelyard.excite.profiles import profile_for
from steelyard.excite.rehearsed_truths import Commands, IdentifiedTruth, Play, Torques
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.pipeline.job_run import Progress
from steelyard.prepare import prepare
from steelyard.simulate import Sensors
from steelyard.simulate.trajectories import Trajectory

WRONG = 0.2  # standard deviation of the logarithms of masses and lengths, that the model has wrong
ENOUGH, LITTLE = 1.2, {False: 5e-4, True: 2e-3}  # times the error after the whole motion, and of torque or rad, m: what
# a shorter one may leave. Friction of another shape makes torque errors 20 to 60 times larger: to some per cent
UNLIKE = 1000  # added to the seed of a truth, for that motion


@dataclass(frozen=True, eq=False, repr=False)
class Rehearsal(Card):
    """What a motion would show of a robot.

    shorter: (share of the motion, error that it alone leaves on unlike motion), of the first truth, the whole last;
    None where it could not be identified.
    """

    robot: Robot  # the model
    duration: float  # s of the motion
    trials: tuple[IdentifiedTruth, ...]  # the truths
    shorter: tuple[tuple[float, float | None], ...]
    moved: bool  # whether errors are of motion, not of torque
    sensors: Sensors  # that recorded

    @property
    def names(self) -> tuple[str, ...]:
        """What was identified of every truth, in order."""
        return tuple(name for name in self.trials[0].names if all(name in each.names for each in self.trials))

    @property
    def shown(self) -> np.ndarray:
        """(c,) whether the data decide it, for most of the truths."""
        return np.mean(self.over_trials(lambda t: t.shown), axis=0) > 1 / 2

    def over_trials(self, what: Callable[[IdentifiedTruth], np.ndarray]) -> np.ndarray:
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
        return float(np.median([t.given for t in self.trials])), float(np.median([t.left for t in self.trials]))

    @property
    def enough(self) -> float:
        """Error on unlike motion with which more of the motion is not worth the time."""
        whole = self.shorter[-1][1]
        return LITTLE[self.moved] if whole is None else max(ENOUGH * whole, LITTLE[self.moved])

    @property
    def shortest(self) -> float | None:
        """s of the motion from which on nothing gets much better; None where the whole is needed."""
        found = None
        for share, error in reversed(self.shorter[:-1]):
            if error is None or error > self.enough:
                break
            found = share * self.duration
        return found

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
    kind = Commands if options.get("drive") else Torques
    trials = kind.trials if trials is None else trials
    if trials < 1 or not 0 <= wrong < 1:
        raise OptionError(f"trials={trials}, wrong={wrong}: one truth or more, and a share from 0 to below 1.")
    report = progress or (lambda stage, share: None)
    sensors = sensors or Sensors()
    if motion is None:
        profile = profile_for(robot)
        motion = design(robot, start=HOME, profile=profile, progress=lambda stage, share: report(stage, 0.2 * share))
    elif isinstance(motion, Log):
        motion = course_of(motion, robot)
    play = kind(robot, motion, sensors, options)
    report("playing", 0.2)
    found, played = [], []
    for k in range(trials):
        own = play.truth(np.random.default_rng([seed, k]), wrong)
        log, unlike = play.recorded(own, motion, seed + k), play.unlike(own, UNLIKE + seed + k)
        found.append(play.judged(own, play.identified(log), unlike))
        played.append((own, log, unlike))
        report(f"truth {k + 1} of {trials}", 0.2 + 0.5 * (k + 1) / trials)
    shorter = []
    for place, share in enumerate(play.shares):
        shorter.append((share, _left_by(play, share, *played[0])))
        report("shorter motions", 0.7 + 0.3 * (place + 1) / len(play.shares))
    whole = (1.0, found[0].left)
    return Rehearsal(robot, motion.duration, tuple(found), (*shorter, whole), play.moved, sensors)


def course_of(log: Log, robot: Robot) -> Trajectory:
    """The motion of a log, from 0 s on, to be driven again; noise of positions is filtered. Raises LogError: too few
    samples."""
    if log.v is None or log.a is None:
        log = prepare(log, robot).log
    if len(log) < 20:
        raise LogError(f"A motion needs 20 samples; log '{log.name}' has {len(log)}.")
    curve = make_interp_spline(log.t - log.t[0], log.q, k=5)

    def evaluate(t):
        at = np.clip(t, 0.0, log.duration)
        return curve(at), curve(at, 1), curve(at, 2)

    return Trajectory(evaluate, log.duration)


def _left_by(play: Play, share: float, truth: Robot, log: Log, unlike: Log) -> float | None:
    """Error on unlike motion that the beginning of a log leaves; None where it is refused."""
    try:
        return play.left(play.identified(log[: round(share * len(log))]), unlike)
    except SteelyardError:
        return None
