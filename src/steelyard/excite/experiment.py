"""`design`: the motion that makes the data worth having, and what it promises."""

import time
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.errors import OptionError
from steelyard.excite.asked import Asked, goal_of
from steelyard.excite.avoided import avoided, scene_notes
from steelyard.excite.curves import Curve
from steelyard.excite.finish import SHAPING, Finished, aimed, finished
from steelyard.excite.goal import Goal
from steelyard.excite.limits import Bounds, Limits, bounds_of
from steelyard.excite.margins import Margin
from steelyard.excite.optimise import Progress, condition_of, curves_of, first_runs
from steelyard.excite.probe import checked_start, probe_states, require_held
from steelyard.excite.problem import Problem
from steelyard.excite.support import support_of
from steelyard.excite.warm import start_from
from steelyard.identifiable import Excitation, from_gram
from steelyard.information import Information
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.simulate import Trajectory

OPENING = 0.3  # share of a time limit for the choice of where to start


@dataclass(frozen=True, eq=False)
class Design(Trajectory):
    """A motion and what it promises; `sy.simulate.record(robot, design)` drives it.

    evaluate(t (n,)) returns q, v, a (n, nv); duration: s. curve, coefficients (size, nv): the motion itself. margins:
    use of every limit at 1 kHz, tightest first. gram: (r, r) weighted information it adds in base columns, for
    noise of standard deviation `noise`, one a measured row.
    condition_before, condition: of the regressor with unit columns for the best random start and for the design.
    history: cost after each round of the optimiser.
    """

    robot: Robot
    goal: Goal
    curve: Curve
    coefficients: np.ndarray
    margins: tuple[Margin, ...]
    gram: np.ndarray
    noise: np.ndarray
    condition_before: float
    condition: float
    history: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def start(self) -> np.ndarray:
        """(nv,) pose in which the motion starts, at rest."""
        return self.evaluate(np.zeros(1))[0][0]

    @cached_property
    def covariance(self) -> np.ndarray:
        """(r, r) predicted covariance of the base parameters: data, prior and earlier logs, as `fit.consistent` has."""
        return self.goal.covariance(self.gram)

    @cached_property
    def data_covariance(self) -> np.ndarray:
        """(r, r) the same without the prior, as least squares has; the pseudo-inverse where motion shows too little."""
        gram = self.gram + self.goal.earlier
        size = np.sqrt(np.where(np.diag(gram) > 0, np.diag(gram), 1.0))
        return np.linalg.pinv(gram / size[:, None] / size, hermitian=True, rcond=1e-12) / size[:, None] / size

    @cached_property
    def excitation(self) -> Excitation:
        """How well the motion, with earlier logs, shows each base parameter."""
        gram = self.gram + self.goal.earlier
        return from_gram(gram, self.goal.basis, self.goal.layout, max(round(self.goal.rate * self.duration), 1))

    def log(self, rate: float = 1000.0) -> Log:
        """The planned motion as a log with q, v, a and the torques that the model predicts, at `rate` Hz."""
        from steelyard.dynamics import friction_torque, inverse_dynamics

        t = np.arange(int(self.duration * rate) + 1) / rate
        q, v, a = self.evaluate(t)
        tau = inverse_dynamics(self.robot, q, v, a) + friction_torque(self.robot, v)
        return Log(t=t, q=q, v=v, a=a, tau=tau, joint_names=self.robot.dof_names, name=f"{self.robot.name} excitation")

    def explain(self) -> str:
        """What the motion is, which limits hold it back, what it will show and what stays unknown, in lines."""
        from steelyard.excite.words import explain

        return explain(self)


def design(
    robot: Robot,
    duration: float = 10.0,
    *,
    limits: Limits | None = None,
    criterion: str = Asked.criterion,
    focus=Asked.focus,
    basis: str = "fourier",
    harmonics: int = 5,
    periods: int | None = None,
    points: int = 12,
    ramp: float = 1.0,
    start=None,
    locked=(),
    moved=None,
    rest=None,
    rows=Asked.rows,
    friction=Asked.friction,
    armature: bool = Asked.armature,
    noise=Asked.noise,
    noise_share: float = Asked.noise_share,
    rate: float = Asked.rate,
    after: Information | None = Asked.after,
    weight: float = Asked.weight,
    target: float | None = None,
    warm: "Design | Log | None" = None,
    seed: int = 0,
    starts: int = 1,
    workers: int = 1,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Design:
    """A motion of `duration` s that shows a robot's parameters as well as its limits allow.

    limits: `Limits()` by default, those of the model with 5 % margin. criterion: "D" (volume of the uncertainty), "A"
    (sum of variances), "E" (worst direction), each in units of the prior, "prediction" (variance of the torques in
    random motions), or "condition" (of the regressor with unit columns). focus: what should be known: everything,
    "payload" (a load on the last body, all else known), "friction", bodies or parameters by name. basis: "fourier"
    (harmonics, periods or the best of 1 to 3, ramp in s) or "spline" (points). start: (nv,) first pose, free by
    default. locked: joints that stay at `rest` (nv,) or (nq,), neutral by default, or moved: those that alone do not;
    by name or pattern (`left_*`). rows: what is measured, "joints" by default, any of "joints", "base" and
    "wrench:LINK" as in `accumulate`. friction, armature: unknown terms, as there. noise: (nv,) standard deviation of
    torques, by default 1 % of each effort limit, or of the typical torque, and noise_share: further noise, as a share
    of the RMS torque of the motion; rate: independent samples a second. after: Information of earlier logs, whose
    weakest directions then count most; weight: of the prior, as in `fit.consistent`. target: condition number to
    reach, by another criterion if need be; a miss is explained in `notes`. warm: a design or a log to start from.
    seed: of random starts; starts: how many of them are optimised to the end, by so many processes (workers).
    time_limit: s after which the best motion so far is made to keep the limits and returned. Without it the result is
    the same for the same seed. progress(stage, share): called between rounds.

    Raises OptionError for limits that leave no motion, a start pose outside limits or in collision, and unknowns that
    no motion reveals.
    """
    limits = Limits() if limits is None else limits
    _require_choices(basis, starts, workers, time_limit)
    clock = _Clock(time.monotonic(), np.inf if time_limit is None else time_limit)
    bounds = bounds_of(robot, limits, locked=locked, moved=moved, rest=rest)
    if not len(bounds.moving):
        raise OptionError("Every joint is locked; leave one that moves.")
    asked = Asked(criterion, focus, rows, friction, armature, noise, noise_share, rate, after, weight)
    curves = curves_of(duration, basis, harmonics, periods, points, ramp)
    curves, coefficients = start_from(warm, robot, bounds, curves)
    problem = _problem(robot, limits, bounds, asked, curves[0], start)
    runs = first_runs(problem, curves, seed=seed, kept=starts, warm=coefficients, deadline=clock.after(OPENING))
    before = condition_of(replace(runs[0], z=runs[0].first))
    best = finished(runs[:starts], workers=workers, progress=progress, seconds=clock.left)
    best, said = aimed(best, target, seconds=clock.left)
    if time.monotonic() > clock.after(SHAPING):
        said = (*said, f"The time limit of {clock.seconds:g} s was reached; a longer one may find a better motion.")
    if progress is not None:
        progress("designed", 1.0)
    return _design(best, problem.goal, before, (*scene_notes(robot, problem.scene, limits), *best.notes, *said))


def _problem(robot: Robot, limits: Limits, bounds: Bounds, asked: Asked, curve, start) -> Problem:
    """What is optimised. Raises OptionError for what no motion can do: reveal, hold, stand or start there."""
    probe = probe_states(robot, bounds)
    require_held(robot, bounds, probe[0])
    goal = goal_of(robot, probe, asked)
    scene = avoided(robot, bounds, limits, probe[0].T)
    pose = None if start is None else checked_start(robot, bounds, scene if limits.collisions else None, start)
    support = support_of(robot, bounds, limits.feet, margin=limits.balance) if limits.feet else None
    colliding = limits.collisions or limits.floor is not None
    return Problem(robot, goal, curve, bounds, scene, limits.cartesian_speed, pose, colliding, support)


@dataclass(frozen=True)
class _Clock:
    """Time for a design: began at a monotonic time in s, seconds that it may take, inf without limit."""

    began: float
    seconds: float

    def after(self, share: float) -> float:
        """Monotonic time, s, at which this share of the time is over."""
        return self.began + share * self.seconds

    @property
    def left(self) -> float:
        return self.after(1.0) - time.monotonic()


def _require_choices(basis: str, starts: int, workers: int, time_limit: float | None) -> None:
    if basis not in ("fourier", "spline"):
        raise OptionError(f"basis is 'fourier' or 'spline'; got {basis!r}.")
    if starts < 1 or workers < 1 or (time_limit is not None and not time_limit > 0):
        raise OptionError(
            f"starts={starts} and workers={workers} are 1 or more, and time_limit={time_limit} a positive number of s."
        )


def _design(best: Finished, goal: Goal, before: float, notes) -> Design:
    problem, coefficients, used = best.run.problem, best.coefficients, best.margins
    gram = problem.gram(coefficients)

    def evaluate(t):
        x, v, a, _ = problem.curve.values(np.asarray(t, dtype=float)) @ coefficients
        return problem.bounds.positions(x.T).T, v, a

    return Design(
        evaluate=evaluate,
        duration=problem.curve.duration,
        robot=problem.robot,
        goal=goal,
        curve=problem.curve,
        coefficients=coefficients,
        margins=used,
        gram=gram,
        noise=problem.noise(coefficients),
        condition_before=before,
        condition=goal.condition(gram),
        history=best.run.history,
        notes=notes,
    )
