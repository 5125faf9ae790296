"""`design`: the motion that shows a robot's parameters best within its limits."""

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from steelyard.arguments import require_type
from steelyard.errors import OptionError
from steelyard.excite.collisions import CollisionScene, scene_notes, scene_within
from steelyard.excite.design_goal import Held, goal_of
from steelyard.excite.feasibility import SHAPE_SHARE, Feasible, best_feasible, pursue_target
from steelyard.excite.ground_support import support_of
from steelyard.excite.limits import Limits, MotionBounds, bounds_of, random_states, require_strength
from steelyard.excite.motion_curves import candidate_curves
from steelyard.excite.motion_problem import MotionProblem
from steelyard.excite.optimality import Goal
from steelyard.excite.optimise import Progress, condition_of, first_runs
from steelyard.excite.planned_motion import Design, warm_start
from steelyard.excite.profiles import Profile
from steelyard.information import Information
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.model.formats import document_of
from steelyard.motion_options import Aim, Course, Search

HOME = "home"  # start of a design: the first of `home_poses` that is free


def design(
    robot: Robot,
    duration: float = Course.duration,
    *,
    limits: Limits | None = None,
    criterion: str = Aim.criterion,
    focus=Aim.focus,
    basis: str = Course.basis,
    harmonics: int = Course.harmonics,
    periods: int | None = Course.periods,
    points: int = Course.points,
    ramp: float = Course.ramp,
    start=None,
    profile: Profile | None = None,
    locked=Course.locked,
    moved=Course.moved,
    rest=None,
    rows=Aim.rows,
    friction=Aim.friction,
    armature: bool = Aim.armature,
    noise=Aim.noise,
    noise_share: float = Aim.noise_share,
    rate: float = Aim.rate,
    after: Information | Held | None = Aim.after,
    weight: float = Aim.weight,
    target: float | None = Aim.target,
    warm: Design | Log | None = None,
    seed: int = Search.seed,
    starts: int = Search.starts,
    workers: int = Search.workers,
    time_limit: float | None = Search.time_limit,
    progress: Progress | None = None,
) -> Design:
    """A motion that shows a robot's parameters as well as its limits allow. The same seed gives the same motion.

    Args:
        robot: a tree whose base is held.
        duration: s, ramps included.
        limits: by default those of the model with 5 % margin.
        criterion: "D" (volume of the uncertainty), "A" (sum of variances), "E" (worst direction), each in units of the
            prior, "prediction" (variance of the torques in random motions), or "condition" (condition number of the
            regressor with unit columns).
        focus: what should be known: None for everything, "payload" (a load on the last body, all else known),
            "friction", bodies or parameters by name.
        basis: "fourier" or "spline".
        harmonics, periods, ramp: of a Fourier motion; the best of 1 to 3 periods by default; ramp in s.
        points: control points of a spline.
        start: (nv,) first and last pose, rad or m; "home", and NaN for one joint, for that of the first pose that is
            free among the model's keyframes, the profile's home, the middle of the ranges and zero; by default any.
        profile: of the robot's make (`profile_for`): states limits that `limits` does not, and holds other joints, such
            as a gripper's, still where neither `locked` nor `moved` says what moves.
        locked, moved: joints that stay still, or that alone move, by name or pattern (`left_*`); all move by default.
        rest: (nv,) or (nq,) where joints stay that do not move, rad or m; neutral by default.
        rows: what is measured, any of "joints", "base" and "wrench:LINK", as in `accumulate`.
        friction, armature: unknown terms, as in `accumulate`; by default those of an Information in `after`, if any.
        noise: standard deviation of torques, N m (N), one or one a measured row; by default 1 % of each effort limit,
            or of the typical torque.
        noise_share: further noise, as a share of the RMS torque of the motion.
        rate: independent samples a second.
        after: Information of earlier logs, or with focus "payload" one that `sy.payload.identify` found with this
            sensor; what they show least then counts most.
        weight: of the prior, as in `fit.consistent`.
        target: condition number to reach, by the criterion "condition" if need be; a miss is explained in `notes`.
        warm: a design or a log to start from.
        seed, starts, workers: of the random starts, how many are optimised to the end, and by how many processes.
        time_limit: s after which the best motion so far is made to keep the limits and returned.
        progress: function of a stage in words and the share that is done, called between rounds.

    Returns:
        A motion that keeps every limit at 1 kHz, with what it promises.

    Raises:
        OptionError: limits that leave no motion, a start pose outside limits or in collision, and unknowns that no
            motion reveals.

    Source: Fourier motions of Swevers et al. (1997); criteria of Pukelsheim (2006), with a prior of Chaloner and
    Verdinelli (1995).

    Example:
        >>> import steelyard as sy
        >>> made = sy.excite.design(sy.library.scara(), 3.0, harmonics=1, limits=sy.excite.Limits(collisions=False))
        >>> made.condition < made.condition_before and all(margin.satisfied for margin in made.margins)
        True
    """
    require_type(Robot, robot=robot)
    course = Course(duration, locked, moved, basis, harmonics, periods, points, ramp)
    aim = Aim(criterion, focus, target, rows, friction, armature, noise, noise_share, rate, after, weight)
    search = Search(seed=seed, starts=starts, workers=workers, time_limit=time_limit)
    return _designed(robot, limits or Limits(), course, aim, search, start, profile, rest, warm, progress)


def _designed(
    robot: Robot, limits: Limits, course: Course, aim: Aim, search: Search, start, profile, rest, warm, progress
) -> Design:
    began = time.monotonic()
    limits, course, stated = _of_make(robot, limits, course, profile)
    bounds = bounds_of(robot, limits, locked=course.locked, moved=course.moved or None, rest=rest)
    if not len(bounds.moving):
        raise OptionError("Every joint is locked; leave one that moves.")
    curves, coefficients = warm_start(warm, robot, bounds, candidate_curves(course))
    problem, said = _problem(robot, limits, bounds, aim, curves[0], start, profile)
    made = _best(problem, curves, coefficients, search, aim.target, began, progress)
    notes = (*stated, *said, *scene_notes(robot, problem.scene, limits), *made.notes)
    return replace(made, notes=notes, make=profile and profile.name)


def _of_make(
    robot: Robot, limits: Limits, course: Course, profile: Profile | None
) -> tuple[Limits, Course, tuple[str, ...]]:
    """Limits and course with what the profile of a make says of them, and that in words."""
    if profile is None:
        return limits, course, ()
    others = () if course.locked or course.moved else profile.others(robot)
    still = f"; {', '.join(others)} stay still" if others else ""
    said = f"Limits of the {profile.title}, where they are lower than the model's{still}."
    return profile.fill(robot, limits), replace(course, locked=(*course.locked, *others)), (said,)


def _best(
    problem: MotionProblem, curves, coefficients, search: Search, target: float | None, began, progress
) -> Design:
    """The best motion that keeps all limits. began: monotonic time of the design, s."""
    seconds = np.inf if search.time_limit is None else search.time_limit
    runs = first_runs(problem, curves, search, warm=coefficients, deadline=began + (1 - SHAPE_SHARE) * seconds)
    before, left = condition_of(replace(runs[0], z=runs[0].first)), began + seconds - time.monotonic()
    best = best_feasible(runs[: search.starts], workers=search.workers, progress=progress, seconds=left)
    best, notes = pursue_target(best, target, seconds=began + seconds - time.monotonic())
    if time.monotonic() > began + SHAPE_SHARE * seconds:
        notes = (*notes, f"The time limit of {seconds:g} s was reached; a longer one may find a better motion.")
    if progress is not None:
        progress("designed", 1.0)
    return _design(best, problem.goal, before, (*best.notes, *notes))


def _problem(robot: Robot, limits: Limits, bounds: MotionBounds, aim: Aim, curve, start, profile):
    """What is optimised, and what to say of its start. Raises OptionError for what no motion can do: reveal, hold,
    stand or start there."""
    states = random_states(robot, bounds)
    require_strength(robot, bounds, states[0])
    goal = goal_of(robot, states, aim)
    scene = scene_within(robot, bounds, limits, states[0].T)
    pose, said = start_pose(robot, bounds, scene if limits.collisions else None, start, profile)
    support = support_of(robot, bounds, limits.feet, margin=limits.balance) if limits.feet else None
    colliding = limits.collisions or limits.floor is not None
    return MotionProblem(robot, goal, curve, bounds, scene, limits.cartesian_speed, pose, colliding, support), said


def _design(best: Feasible, goal: Goal, condition_before: float, notes) -> Design:
    problem, coefficients = best.run.problem, best.coefficients
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
        margins=best.margins,
        gram=gram,
        noise=problem.noise(coefficients),
        moving=tuple(problem.bounds.moving.tolist()),
        condition_before=condition_before,
        condition=goal.condition(gram),
        history=best.run.history,
        notes=notes,
    )


def home_poses(robot: Robot, bounds: MotionBounds, profile: Profile | None = None) -> Iterator[tuple[str, np.ndarray]]:
    """Poses (nv,) to start from, the most usual first, each with where it comes from; locked joints at their rest."""
    file = document_of(robot)
    named = file.keyframes(robot) if file and file.exists else {}
    for name in sorted(named, key=lambda name: HOME not in name.lower()):
        yield f"keyframe '{name}'", _scalars(bounds, named[name])
    if profile is not None:
        yield f"home of the {profile.title}", profile.pose(robot, bounds.rest)
    yield "the middle of the joint ranges", bounds.middle
    yield "the zero pose", _scalars(bounds, robot.neutral)


def start_pose(
    robot: Robot, bounds: MotionBounds, scene: CollisionScene | None, start, profile: Profile | None = None
) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """Pose (nv,) to start from, None for any, and what to say of it. Raises OptionError: given, and out of bounds or
    colliding."""
    if start is None:
        return None, ()
    usual = isinstance(start, str) and start == HOME
    given = np.full(robot.nv, np.nan) if usual else _pose(robot, start)
    if not np.isnan(given).any():
        if reason := _blocked(robot, bounds, scene, given):
            raise OptionError(reason)
        return given, ()
    passed: list[str] = []
    for name, pose in home_poses(robot, bounds, profile):
        pose = np.where(np.isnan(given), pose, given)
        reason = _blocked(robot, bounds, scene, pose)
        if reason is None:
            stated = ", ".join(f"{robot.dof_names[i]}={pose[i]:.4g}" for i in bounds.moving)
            return pose, (*passed, f"Starts at rest in {name}, and comes back to it: {stated} (rad, m).")
        passed.append(f"Not started in {name}: {reason}")
    if not usual:
        raise OptionError(" ".join(passed))
    return None, (*passed, "No home pose is free: the motion starts, and ends, where it says itself.")


def _scalars(bounds: MotionBounds, q) -> np.ndarray:
    """(nv,) degrees of positions (nq,), locked ones at their rest."""
    return np.where(bounds.locked, bounds.rest, np.asarray(q)[np.maximum(bounds.scalar, 0)])


def _blocked(robot: Robot, bounds: MotionBounds, scene: CollisionScene | None, start: np.ndarray) -> str | None:
    for i in bounds.moving:
        if not bounds.lower[i] <= start[i] <= bounds.upper[i]:
            return (
                f"The start pose puts joint '{robot.dof_names[i]}' at {start[i]:g}; limits and margin allow "
                f"[{bounds.lower[i]:g}, {bounds.upper[i]:g}]. Move it inside, or take a smaller margin."
            )
    if scene is None:
        return None
    found = scene.contacts(bounds.positions(start[:, None]).T)
    if not len(found.sample):
        return None
    k = int(np.argmin(found.room))
    return (
        f"In the start pose {scene.name(found.first[k])} and {scene.name(found.second[k])} "
        f"miss {-found.room[k] * 1000:.0f} mm of the room that they need. Start elsewhere, leave start out, or "
        "lower clearance or floor in Limits."
    )


def _pose(robot: Robot, start) -> np.ndarray:
    """(nv,) of a pose that is given. Raises OptionError for what is none."""
    pose = np.asarray(start, dtype=float)
    if pose.shape != (robot.nv,) or np.isinf(pose).any():
        raise OptionError(f"start is a pose of {robot.nv} finite positions, {robot.dof_names}; got {start}.")
    return pose
