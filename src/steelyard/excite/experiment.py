"""`design`: the motion that makes the data worth having, and what it promises."""

import time
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.errors import OptionError
from steelyard.excite.curves import Curve
from steelyard.excite.finish import SHAPING, Finished, aimed, finished
from steelyard.excite.goal import Goal, goal_of
from steelyard.excite.limits import Bounds, Limits, bounds_of
from steelyard.excite.margins import Margin
from steelyard.excite.optimise import Progress, condition_of, curves_of, first_runs
from steelyard.excite.problem import Problem
from steelyard.excite.scene import Scene, scene_of
from steelyard.excite.support import support_of
from steelyard.excite.warm import start_from
from steelyard.identifiability.excitation import Excitation, from_gram
from steelyard.information import Information
from steelyard.log import Log
from steelyard.model.robot import Robot
from steelyard.parameters import FRICTION
from steelyard.simulate import Trajectory

PROBES = 300  # random states that give typical torques and pairs that always touch
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
        from steelyard.dynamics.effects import friction_torque
        from steelyard.dynamics.inverse import inverse_dynamics

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
    criterion: str = "D",
    focus=None,
    basis: str = "fourier",
    harmonics: int = 5,
    periods: int | None = None,
    points: int = 12,
    ramp: float = 1.0,
    start=None,
    locked=(),
    moved=None,
    rest=None,
    rows="joints",
    friction=FRICTION,
    armature: bool = False,
    noise=None,
    noise_share: float = 0.0,
    rate: float = 100.0,
    after: Information | None = None,
    weight: float = 1.0,
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
    "wrench:LINK" as in `accumulate`.
    friction, armature: unknown terms, as in `accumulate`. noise: (nv,) standard deviation of torques, by default 1 % of
    each effort limit, or of the typical torque, and noise_share: further noise, as a share of the RMS torque of the
    motion; rate: independent samples a second. after: Information of earlier logs, whose weakest directions then count
    most; weight: of the prior, as in `fit.consistent`. target: condition number to reach, by another criterion if
    need be; a miss is explained in `notes`. warm: a design or a log to start from. seed: of random starts; starts: how
    many of them are optimised to the end, by so many processes (workers).
    time_limit: s after which the best motion so far is made to keep the limits and returned. Without it the result is
    the same for the same seed. progress(stage, share): called between rounds.

    Raises OptionError for limits that leave no motion, a start pose outside limits or in collision, and unknowns that
    no motion reveals.
    """
    limits = Limits() if limits is None else limits
    if basis not in ("fourier", "spline"):
        raise OptionError(f"basis is 'fourier' or 'spline'; got {basis!r}.")
    if starts < 1 or workers < 1 or (time_limit is not None and not time_limit > 0):
        raise OptionError(
            f"starts={starts} and workers={workers} are 1 or more, and time_limit={time_limit} a positive number of s."
        )
    began = time.monotonic()
    seconds = np.inf if time_limit is None else time_limit
    bounds = bounds_of(robot, limits, locked=locked, moved=moved, rest=rest)
    if not len(bounds.moving):
        raise OptionError("Every joint is locked; leave one that moves.")
    probe = probe_states(robot, bounds)
    _require_held(robot, bounds, probe[0])
    options = {"friction": friction, "armature": armature, "noise": noise, "rate": rate, "after": after, "rows": rows}
    options |= {"noise_share": noise_share}
    goal = goal_of(robot, probe, criterion=criterion, focus=focus, weight=weight, **options)
    scene = None
    if limits.collisions or limits.floor is not None or limits.cartesian_speed is not None:
        scene = scene_of(robot, probe[0].T, clearance=limits.clearance, floor=limits.floor, moving=~bounds.locked)
    pose = None if start is None else _checked_start(robot, bounds, scene if limits.collisions else None, start)
    curves = curves_of(duration, basis, harmonics, periods, points, ramp)
    curves, coefficients = start_from(warm, robot, bounds, curves)
    support = support_of(robot, bounds, limits.feet, margin=limits.balance) if limits.feet else None
    problem = Problem(robot, goal, curves[0], bounds, scene, limits.cartesian_speed, pose, support=support)
    if not limits.collisions and limits.floor is None:
        problem = replace(problem, colliding=False)
    opening = began + OPENING * seconds
    runs = first_runs(problem, curves, seed=seed, kept=starts, warm=coefficients, deadline=opening)
    before = condition_of(replace(runs[0], z=runs[0].first))
    left = began + seconds - time.monotonic()
    best = finished(runs[:starts], workers=workers, progress=progress, seconds=left)
    best, said = aimed(best, target, seconds=began + seconds - time.monotonic())
    if time.monotonic() > began + SHAPING * seconds:
        said = (*said, f"The time limit of {seconds:g} s was reached; a longer one may find a better motion.")
    if progress is not None:
        progress("designed", 1.0)
    return _design(best, goal, before, (*scene_notes(robot, scene, limits), *best.notes, *said))


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


def probe_states(robot: Robot, bounds: Bounds) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Random allowed states q (nq, n), v, a (nv, n) and their torques (nv, n)."""
    from steelyard.dynamics.effects import friction_torque
    from steelyard.dynamics.inverse import inverse_dynamics

    rng = np.random.default_rng(0)
    x = rng.uniform(bounds.lower, bounds.upper, size=(PROBES, robot.nv))
    x[:, bounds.locked] = bounds.rest[bounds.locked]
    q = bounds.positions(x.T).T
    moves = ~bounds.locked
    v = rng.uniform(-1, 1, size=x.shape) * bounds.velocity * moves
    a = rng.uniform(-1, 1, size=x.shape) * np.where(np.isfinite(bounds.acceleration), bounds.acceleration, 10.0) * moves
    tau = inverse_dynamics(robot, q, v, a) + friction_torque(robot, v)
    return q.T, v.T, a.T, tau.T


def _require_held(robot: Robot, bounds: Bounds, q):
    """Raise OptionError where the motors cannot hold the robot in any of the poses q (nq, n)."""
    from steelyard.dynamics.inverse import inverse_dynamics

    still = np.zeros((q.shape[1], robot.nv))
    held = np.abs(inverse_dynamics(robot, q.T, still, still)) / bounds.effort
    pose = int(np.argmin(held[:, bounds.moving].max(axis=1)))
    worst = bounds.moving[np.argmax(held[pose, bounds.moving])]
    if held[pose, worst] > 1:
        needed = held[pose, worst] * bounds.effort[worst]
        raise OptionError(
            f"The effort limit of joint '{robot.dof_names[worst]}', {bounds.effort[worst]:g} with the margin taken "
            f"off, does not hold the robot in any of {len(held)} poses: at best {needed:.3g} is needed. Correct "
            "masses, gravity or effort limits."
        )


def _checked_start(robot: Robot, bounds: Bounds, scene: Scene | None, start) -> np.ndarray:
    start = np.asarray(start, dtype=float)
    if start.shape != (robot.nv,) or not np.isfinite(start).all():
        raise OptionError(f"start is a pose of {robot.nv} finite positions, {robot.dof_names}; got {start}.")
    for i in bounds.moving:
        if not bounds.lower[i] <= start[i] <= bounds.upper[i]:
            raise OptionError(
                f"The start pose puts joint '{robot.dof_names[i]}' at {start[i]:g}; limits and margin allow "
                f"[{bounds.lower[i]:g}, {bounds.upper[i]:g}]. Move it inside, or take a smaller margin."
            )
    found = None if scene is None else scene.contacts(bounds.positions(start[:, None]).T)
    if found is not None and len(found.sample):
        k = int(np.argmin(found.room))
        raise OptionError(
            f"In the start pose {scene.name(found.first[k])} and {scene.name(found.second[k])} "  # type: ignore[union-attr]
            f"miss {-found.room[k] * 1000:.0f} mm of the room that they need. Start elsewhere, leave start out, or "
            "lower clearance or floor in Limits."
        )
    return start


def scene_notes(robot: Robot, scene: Scene | None, limits: Limits) -> tuple[str, ...]:
    """What is to be said of mimic joints and of geometry."""
    followers = [f"{joint.name} follows {joint.mimics}" for joint in robot.joints if joint.mimics is not None]
    said = (f"Mimic joints move along: {', '.join(followers)}.",) if followers else ()
    return (*said, *_geometry_notes(robot, scene, limits))


def _geometry_notes(robot: Robot, scene: Scene | None, limits: Limits) -> tuple[str, ...]:
    if not limits.collisions:
        return ()
    if scene is None:
        return (f"Robot '{robot.name}' has no geometry that could be read; collisions were not looked at.",)
    return scene.notes
