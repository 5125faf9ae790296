"""From a start to drives that move as logs do: what is tried first, what is refined, what stays undetermined."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import ndtri

from steelyard.drives.arrays import LOAD_FRICTION, DriveArrays
from steelyard.drives.coordinates import KINDS, Unknowns, at_scale, total_mass, unknowns, weights_of
from steelyard.drives.friction_dependence import FrictionLaw, friction_laws
from steelyard.drives.held_out import window_of
from steelyard.drives.refinement import UPPER, Refined, felt_by, refine, shown_by
from steelyard.drives.simulation import Simulation
from steelyard.drives.under_load import friction_of
from steelyard.drives.walking_coordinates import single, walking_unknowns
from steelyard.drives.window_errors import Simulated, errors_of, least, levelled
from steelyard.drives.windows import Recorded, Windows, windows_of
from steelyard.dynamics import inverse_dynamics
from steelyard.model import STEP, Robot
from steelyard.numbers import ROUNDING, ROUNDS

MOST, STRIDES = 96, 64  # windows that are simulated again and again, of walks
LEGS = 18  # degrees of freedom of a quadruped
FEW = 24  # windows, of which a search can spare none to compare its ends
FACTORS = (0.2, 0.4, 0.7, 1.0, 1.5, 2.5, 4.0, 7.0)  # times a gain that is not known, tried first
GAINS, DAMPED = tuple(5.0 * 1.5 ** np.arange(13)), 0.03  # N m/rad tried of all, times which damping is, N m s/rad
LATE = (0.0, 0.01, 0.02, 0.04)  # s
SLOPES = (0.8, 1.0, 1.3, 1.8)  # times the fastest motion, that commands may rise at
LIMITS = (0.04, 0.08, 0.15, 0.3, 0.5, 0.8)  # times what the drive would reach without one
NEARER = ((0.7, 0.84, 1.2, 1.4), (0.92, 0.96, 1.04, 1.08))  # times the best of these
ARMATURES = (0.3, 3.0, 10.0)  # times that of the start
FASTEST = 0.995  # quantile of speeds
MUCH = 0.5  # as HOPE, of a start with other bodies: those of a weak fit may move well and be far from the truth
EARLY = 0.1  # relative change of it, from which on a joint is believed to be stamped before it was measured
VANISHED = 0.01  # times the inertia of a joint, below which there is as good as no armature
LIMITING = {"slope_limit": 0.05, "limit": 0.05}  # as TELLS: of these, nothing is left where they are not shown
TELLS = 0.02  # relative change of the mean square error of a joint, below which a value is undetermined
FREE = ("gain", "damping", "frictionloss", "armature", "delay", "slope_limit", "limit", *LOAD_FRICTION)
WALKING = tuple(name for name in FREE if name not in (*LIMITING, *LOAD_FRICTION))  # what walks show
LOADED = ((0.2, 0.1), (0.5, 0.25))  # friction per torque of the drive, and per that of gravity, tried
HOPE = 2.5  # times the mean square error, from which on refinement is not expected to help
UNLOADED = 0.1  # of the constant friction, that is left then
STRONGER = (0.6, 1.0, 1.6, 2.5, 4.0)  # times the gain, as friction takes more of the torque
FELT = 0.1  # of the mean square error of a joint, that friction under load has to take away to be refined with others
RULED_OUT = 2.0  # times the error of the fit in its windows, beyond which numbers are not what the robot has
PROVEN = 0.9  # times the error on windows that no step has seen, below which it is believed
TORQUES = ("gain", "damping", "frictionloss", "armature")  # all of the scale that a known mass or gain fixes
NUMBERS = (*TORQUES, *LIMITING, *LOAD_FRICTION, "delay")


@dataclass(frozen=True, eq=False)
class MotionFit:
    """Drives that move as logs do.

    half_width: by name of `FREE`, (nv,) half of 95 % intervals in units of the value, next to nothing where it is
    known. ground_half_width: of friction and time constant of the ground that the robot walked on, in units of these.
    """

    drives: DriveArrays  # after the refinement
    half_width: Mapping[str, np.ndarray]
    undetermined: Mapping[str, np.ndarray]  # by name, (nv,) bool: the motion does not show the value
    covariance: np.ndarray  # of the coordinates that were refined
    friction: np.ndarray  # (nv,) friction loss, N m or N, the mean over the motion where it grows with load
    ground_half_width: tuple[float, float]
    laws: tuple[FrictionLaw, ...]  # friction that changes with load or speed, which the drives leave out
    refined: Refined  # the steps
    windows: Windows  # that they were made from
    robot: Robot  # as given


@dataclass(frozen=True, eq=False)
class Stated:
    """What is known of drives and bodies before motion is looked at.

    scaled: (nb,) bool of each group of bodies whose weight is taken for true, as nothing else says their scale.
    """

    known: Mapping[str, np.ndarray]  # by name of `FREE`, (nv,) the joints whose value is known and stays
    weighed: np.ndarray | None = None  # (nb,) bodies whose mass is known and stays
    scaled: Sequence[np.ndarray] = ()
    groups: tuple[np.ndarray, ...] = ()  # joints each with the same motor
    total: bool = False  # whether the mass of all bodies together is known


@dataclass(frozen=True, eq=False)
class SearchEnd:
    """Outcome of a search. near: the best end, start: where it began, undecided: the end with all of its limits, which
    other motion may show."""

    near: Refined
    start: DriveArrays
    undecided: Refined


def search(
    robot: Robot,
    starts: Sequence[DriveArrays],
    stated: Stated,
    recordings: Sequence[Recorded],
    step: float,
    *,
    earlier: SearchEnd | None = None,
    progress: Callable[[float], None] | None = None,
) -> SearchEnd:
    """Drives, friction, armature and bodies near those of `starts` that move most as recordings do, on windows that no
    step has seen; where none moves better than where it began, that. earlier: of a search in much the same recordings,
    whose end steps begin from."""
    simulation, known = Simulation(robot, step, centred=True), stated.known
    windows = windows_of(recordings, step, window_of(robot), lead=simulation.lead)
    seen, unseen, _ = _shared(windows, least=1 if len(windows) < FEW else 2)
    if windows.walking:
        return _walked(simulation, starts[0], stated, seen, unseen, progress)
    seen = seen[:: max(1, round(2 * len(seen) / MOST))]
    best = partial(_best, simulation, unseen)
    weights = weights_of(robot, seen.q, stated.scaled)
    late = -float(np.median(np.diff(recordings[0].t)))
    options = {"known": known, "weighed": stated.weighed, "weights": weights, "groups": stated.groups, "soonest": late}
    few = seen[:: max(1, len(seen) // FEW)]

    def refined(free: Unknowns, near=None, windows: Windows = seen) -> Refined:
        return refine(Simulated(simulation, windows, simulation, windows), free, near=near, progress=progress)

    def begun(start: DriveArrays, **more) -> Unknowns:
        return unknowns(robot, start, FREE, seen, **options, **more)

    if earlier is None:
        first, *rest = (each.changed(inertias=at_scale(each.inertias, weights)) for each in starts)
        starts = [
            _tried(simulation, few, each, known) for each in (first, *_hopeful(simulation, seen, first, rest, MUCH))
        ]
        ends = [refined(begun(each)) for each in starts]
    else:
        starts, before = [earlier.start], earlier.undecided
        ends = [refined(replace(before.unknowns, groups=tuple(stated.groups)), before.x)]
    near = best(ends)
    start = starts[ends.index(near)]
    if earlier is None:
        own = near.drives
        if (other := _limited_otherwise(simulation, seen, own, known)) is not own:
            ends.append(refined(begun(other)))
        if _heavy(robot, seen, own).any():
            ends.append(refined(begun(start, inertias=True)))
    near = best([*ends, *(replace(each, x=each.unknowns.start) for each in ends)])
    # of more joints, commands of others pass for friction under load
    own = near.drives
    tried = (own, start) if robot.nv == 1 and not own.loaded.any() else ()
    loaded = [_tried(simulation, few, _loaded(simulation, few, each, known), known) for each in tried]
    hopeful = _hopeful(simulation, few, own, loaded, HOPE)
    loaded = [_numbers(refined(begun(each), windows=few).drives) for each in hopeful]
    if loaded and (mixed := _better(simulation, seen, {}, own, loaded, FELT)) is not own:
        more = refined(begun(mixed))
        before, after = (np.mean(e**2) for e in errors_of(simulation, [unseen], [own, more.drives]))
        near = more if after < PROVEN**2 * before else near
    absent = _undetermined(simulation, seen, near.drives, known)
    free, x = near.unknowns.without({name: absent[name] for name in LIMITING}, near.x)
    free, x = free.in_time(_early(simulation, seen, near.drives), x)
    return SearchEnd(replace(near, unknowns=free, x=x), start, near)


def _walked(
    simulation: Simulation, start: DriveArrays, stated: Stated, seen: Windows, unseen: Windows, progress
) -> SearchEnd:
    """As `search`, of a robot that walks: joints move each other, so that nothing is tried for each of them alone."""
    seen = seen[:: max(1, len(seen) // _strides(seen, FEW))]
    robot, late = simulation.robot, -float(np.median(np.diff(seen.recordings[0].t)))
    start, given = levelled(simulation, seen, start), np.broadcast_to(stated.known["gain"], robot.nv)
    if not given.all():
        start = least(simulation, seen, [_stronger(start, ~given, each) for each in GAINS])
    start = least(simulation, seen, [_but(start, stated.known, {"delay": np.full(robot.nv, each)}) for each in LATE])
    known = dict(stated.known) | {name: np.ones(robot.nv, dtype=bool) for name in LIMITING}
    weighed = {
        "weighed": stated.weighed,
        "weights": () if given.all() and not stated.total else (total_mass(start.inertias),),
    }
    free = walking_unknowns(robot, start, WALKING, known, groups=stated.groups, soonest=late, **weighed)
    simulated = Simulated(simulation, seen, simulation, seen)
    near = refine(simulated, free, progress=progress)
    near = _best(simulation, unseen, [near, replace(near, x=free.start, slopes=None)])
    free, x = free.in_time(_early(simulation, seen, near.drives), near.x)
    near = replace(near, unknowns=free, x=x, felt=felt_by(simulated, near))
    return SearchEnd(near, start, near)


def _stronger(start: DriveArrays, some: np.ndarray, gain: float) -> DriveArrays:
    """Drives some of which (nv,) have another gain, and the damping that goes with it."""
    numbers = {"gain": gain, "damping": DAMPED * gain, "frictionloss": DAMPED * gain / 10}
    return start.changed(**{name: np.where(some, value, getattr(start, name)) for name, value in numbers.items()})


def fit_motion(
    robot: Robot,
    near: Refined,
    stated: Stated,
    recordings: Sequence[Recorded],
    step: float,
    *,
    progress: Callable[[float], None] | None = None,
) -> MotionFit:
    """Fit drives, friction, armature and bodies to motion (output error), with their intervals, on windows that no step
    has seen no worse than where it began. step: of the search, s; less for what is found in the end."""
    simulation, free, length = Simulation(robot, step, centred=True), near.unknowns, window_of(robot)
    seen, _, chosen = _shared(windows_of(recordings, step, length, lead=simulation.lead))
    finest = step / (8 if np.isfinite(near.drives.limit).any() else 4)  # limits turn on and off within a step
    steps = (step, step / 2) if robot.floating else (step / 2, finest)
    fine = Simulated.of(robot, recordings, length, chosen, *steps)
    begun = replace(near, moved=np.zeros((2, *seen.v.shape)), slopes=None)
    if near.felt is not None:
        free, x = single(free, near.x, stated.groups, near.felt * len(seen) / near.moved.shape[1])
        begun = replace(begun, unknowns=free, x=x)
    _, unseen, _ = _shared(windows_of(recordings, steps[1], length, lead=simulation.lead))
    refined = _best(fine.finer, unseen, [refine(fine, free, begun=begun, progress=progress), begun])
    groups = stated.groups if robot.floating else ()
    undetermined = _undetermined(simulation, seen, refined.drives, stated.known, groups)
    shown = shown_by(fine, refined)
    if robot.floating:
        refined = replace(refined, x=free.within(refined.x + shown.correction))
    return MotionFit(
        drives=refined.drives,
        half_width={
            name: np.where(free.places >= 0, shown.half_width[free.of(name)], 0.0)
            * (getattr(refined.drives, name) if KINDS[name].logarithm else 1.0)
            for name in free.free
        },
        undetermined=undetermined,
        covariance=shown.covariance,
        friction=_mean_friction(simulation, fine.windows, refined.drives),
        ground_half_width=tuple(shown.half_width[-2:].tolist()) if robot.floating else (0.0, 0.0),
        laws=friction_laws(robot, free, refined.drives, fine.windows, shown),
        refined=refined,
        windows=fine.windows,
        robot=robot,
    )


def _mean_friction(simulation: Simulation, windows: Windows, drives: DriveArrays) -> np.ndarray:
    """(nv,) friction loss in the measured motion of driven joints, on the whole."""
    if not drives.loaded.any():
        return drives.frictionloss
    on = windows.on
    every = friction_of([simulation.driven(drives)] * len(on))(windows.measured, windows.speeds, windows.commanded)
    return np.where(drives.loaded, np.sum(every * on, axis=0) / np.maximum(on.sum(axis=0), 1), drives.frictionloss)


def _shared(windows: Windows, least: int = 1) -> tuple[Windows, Windows, np.ndarray]:
    """Windows to fit and windows to judge by, and the numbers of the first. least: of how many one is fitted."""
    every = max(least, -(-len(windows) // (_strides(windows, STRIDES) if windows.walking else MOST)))
    chosen, others = np.arange(0, len(windows), every), np.arange(every // 2, len(windows), every)
    return windows[chosen], windows[others], chosen


def _strides(windows: Windows, most: int) -> int:
    """How many windows of a walk are simulated again and again; of robots with more joints, fewer show as much."""
    return max(most // 2, most * LEGS // windows.nv)


def _best(simulation: Simulation, windows: Windows, ends: Sequence[Refined]) -> Refined:
    """That of least error over windows that no step has seen."""
    errors = errors_of(simulation, [windows], [each.drives for each in ends])
    return ends[int(np.argmin([np.mean(e**2) for e in errors]))]


def _heavy(robot: Robot, windows: Windows, drives: DriveArrays) -> np.ndarray:
    """(nv,) joints whose armature vanishes, as if the inertias of the model were larger than those of the robot."""
    moved, still = robot.with_inertias(drives.inertias), np.zeros_like(windows.q)
    weight = inverse_dynamics(moved, windows.q, still, still)
    pushed = [inverse_dynamics(moved, windows.q, still, still + each)[:, j] for j, each in enumerate(np.eye(robot.nv))]
    return drives.armature < VANISHED * (np.stack(pushed, axis=1) - weight).mean(axis=0)


def _tried(simulation: Simulation, windows: Windows, start: DriveArrays, known) -> DriveArrays:
    """The start with values that each joint moves better with: gains with the friction that goes with them, delays,
    one kind of limit or the other, armature."""
    better = partial(_better, simulation, windows, known)
    speed = np.quantile(np.abs(windows.speeds), FASTEST, axis=0)
    torque = windows.asked(start)
    if not np.all(known.get("gain", False)):
        start = better(start, ({name: factor * getattr(start, name) for name in TORQUES} for factor in FACTORS))
    for _ in range(2):
        start = better(start, ({"delay": np.full(len(speed), late)} for late in LATE))
        slow = [{"slope_limit": factor * speed} for factor in SLOPES]
        start = better(start, (*slow, *(_limited(start, start.gain * torque, share) for share in LIMITS)))
    return better(start, ({"armature": factor * start.armature} for factor in ARMATURES))


def _limited_otherwise(simulation: Simulation, windows: Windows, drives: DriveArrays, known) -> DriveArrays:
    """Drives with a limit instead of a limited slope of their commands, where a joint moves better: both slow it."""
    own = np.isfinite(drives.slope_limit)
    if not own.any():
        return drives
    better = partial(_better, simulation, windows, {**known, "limit": known.get("limit", False) | ~own})
    torque = drives.gain * windows.asked(drives)
    other = drives.changed(slope_limit=np.where(own, np.inf, drives.slope_limit))
    other = better(other, ({"limit": _limited(drives, torque, share)["limit"]} for share in LIMITS))
    for factors in NEARER:
        other = better(other, ({"limit": factor * other.limit} for factor in factors))
    return _better(simulation, windows, {}, drives, [{name: getattr(other, name) for name in LIMITING}])


def _hopeful(
    simulation: Simulation, windows: Windows, near: DriveArrays, others: Sequence[DriveArrays], most: float
) -> list[DriveArrays]:
    """Others whose mean square error is at most so many times that of what there is."""
    own, *found = (np.mean(e**2) for e in errors_of(simulation, [windows], [near, *others])) if others else (0.0,)
    return [each for each, cost in zip(others, found, strict=True) if cost < most * own]


def _loaded(simulation: Simulation, windows: Windows, base: DriveArrays, known) -> DriveArrays:
    """Drives with friction that grows with load, and the gains that go with it, as each joint moves best."""
    open_gain, open_limit = (~np.broadcast_to(known.get(name, False), base.gain.shape) for name in ("gain", "limit"))
    cases = []
    for motor, external in LOADED:
        for stronger in STRONGER if open_gain.any() else (1.0,):
            more = np.where(open_gain, stronger, 1.0)
            change = {"load_friction_motor": motor + 0 * more, "load_friction_external": external + 0 * more}
            change |= {"frictionloss": UNLOADED * base.frictionloss, "gain": more * base.gain}
            cases.append(base.changed(**change, limit=np.where(open_limit, more, 1.0) * base.limit))
    return _better(simulation, windows, {}, cases[0], map(_numbers, cases[1:]), 0.0)


def _numbers(drives: DriveArrays) -> dict[str, np.ndarray]:
    return {name: getattr(drives, name) for name in NUMBERS}


def _better(
    simulation: Simulation,
    windows: Windows,
    known: Mapping[str, np.ndarray],
    start: DriveArrays,
    changes: Iterable,
    least: float = TELLS,
) -> DriveArrays:
    """Of each joint, the change that it moves best with, or none; what is known stays. least: of its mean square error,
    that a change has to take away."""
    cases = [start, *(_but(start, known, each) for each in changes)]
    costs = np.array([np.mean(e**2, axis=0) for e in errors_of(simulation, [windows], cases)])
    best = np.where(costs.min(axis=0) < (1 - least) * costs[0], costs.argmin(axis=0), 0)
    if not best.any():
        return start
    values = {name: np.stack([getattr(each, name) for each in cases]) for name in NUMBERS}
    return start.changed(**{name: each[best, np.arange(len(best))] for name, each in values.items()})


def _limited(start: DriveArrays, torque, share: float) -> dict[str, np.ndarray]:
    """A limit at a share of the largest torque (m, nv), and less friction and armature, as less torque moved them."""
    limit = share * np.quantile(np.abs(torque), FASTEST, axis=0)
    less = np.sqrt(
        np.mean(np.clip(torque, -limit, limit) ** 2, axis=0) / np.maximum(np.mean(torque**2, axis=0), ROUNDING)
    )
    return {"limit": limit} | {name: less * getattr(start, name) for name in TORQUES if name != "gain"}


def _but(start: DriveArrays, known: Mapping[str, np.ndarray], values: dict) -> DriveArrays:
    """Drives with other values, but for joints where the first of them is known."""
    fixed = known.get(next(iter(values)), False)
    return start.changed(**{name: np.where(fixed, getattr(start, name), value) for name, value in values.items()})


def _undetermined(
    simulation: Simulation, windows: Windows, drives: DriveArrays, known, groups: Sequence[np.ndarray] = ()
) -> dict[str, np.ndarray]:
    """Delays, slope limits and limits that could as well be none, or much more. groups: joints that have one number."""
    n = len(drives.gain)
    others = {
        "delay": [np.zeros(n), drives.delay + LATE[1], drives.delay + LATE[2]],
        "armature": [np.full(n, ROUNDING)],
        "slope_limit": [np.full(n, np.inf)],
        "limit": [np.full(n, np.inf)],
    }
    found = {}
    for name, values in others.items():
        if windows.walking and name in LIMITING:
            continue
        errors = errors_of(simulation, [windows], [drives, *(drives.changed(**{name: each}) for each in values)])
        costs = np.array([np.mean(e**2, axis=0) for e in errors])
        shown = costs[1:].max(axis=0) > (1 + LIMITING.get(name, TELLS)) * costs[0]
        for group in groups:
            shown[group] = shown[group].any()
        found[name] = ~shown & ~np.broadcast_to(known.get(name, False), n)
    return found


def _early(simulation: Simulation, windows: Windows, drives: DriveArrays) -> np.ndarray:
    """(nv,) joints that are clearly seen to act before they are told: stamped sooner than they were taken."""
    soonest = drives.changed(delay=np.maximum(drives.delay, 0.0))
    own, other = (np.mean(e**2, axis=0) for e in errors_of(simulation, [windows], [drives, soonest]))
    return (drives.delay < 0) & (other > (1 + EARLY) * own)


def draws(fit: MotionFit, count: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Drives, friction and bodies that move as the logs do, as far as these tell: to randomise simulations.

    Numbers are drawn together: their covariance keeps, for one, damping and gain of a joint in proportion where only
    that shows, which ranges of each alone do not. Rows that windows of the fit may rule out are drawn anew.

    fit: to motion. count: of draws. seed: of the random numbers. Returns (count, nv) of gain, damping, frictionloss,
    armature (SI units), delay (s), slope_limit and limit (inf where there is none), inertias (count, nb, 10), and, of
    walks, ground (count, 2), factors of the friction and the time constant that were found, by name; row i of all
    belongs together. Where friction grows with load, friction_base is that without load, beside load_friction_motor and
    load_friction_external, and frictionloss the mean, as in a model file.
    """
    unknowns, rng = fit.refined.unknowns, np.random.default_rng(seed)
    x = rng.multivariate_normal(fit.refined.x, fit.covariance, size=count, method="eigh")
    found = _borne_out(fit, x, rng)
    own = {name: np.stack([getattr(each, name) for each in found]) for name in (*FREE, "inertias")}
    loads = {name: own.pop(name) for name in LOAD_FRICTION}
    if unknowns.ground:
        own["ground"] = np.exp([np.subtract(each.ground, fit.drives.ground)[1:] for each in found])
    if fit.drives.loaded.any():
        found = sum(np.asarray(getattr(fit.drives, name)) for name in LOAD_FRICTION)
        grown = np.divide(sum(loads.values()), found, out=np.zeros_like(own["gain"]), where=found > 0)
        mean = own["frictionloss"] + grown * (fit.friction - fit.drives.frictionloss)
        own |= loads | {"friction_base": own["frictionloss"], "frictionloss": mean}
    return own | {"delay": np.maximum(own["delay"], 0.0)}  # early stamps are the log's


def _borne_out(fit: MotionFit, x, rng) -> list[DriveArrays]:
    """Drives of samples (n, p) of the coordinates. Those that windows of the fit may rule out, by how unlike windows
    are, are drawn anew between them and it (the shrinking of slice sampling, Neal 2003). Friction under load, simulated
    in short pieces for each sample, would take minutes: it is not tried."""
    unknowns, mean, own = fit.refined.unknowns, fit.refined.x, fit.windows
    step = max(own.step, STEP)
    simulation = Simulation(fit.robot, step, centred=True)
    windows = replace(own.begun(fit.refined.moved), step=step, steps=int(np.ceil(own.steps * own.step / step)))
    windows = windows[:: max(1, 2 * len(windows) // FEW)]

    def squares(drives: Sequence[DriveArrays]) -> np.ndarray:
        return np.array([windows.sums(np.sum(e**2, axis=1)) for e in errors_of(simulation, [windows], drives)])

    least, found = squares([fit.drives])[0], [unknowns.at(unknowns.within(each)) for each in x]
    left = np.arange(0 if fit.drives.loaded.any() else len(x))
    for _ in range(ROUNDS):
        if not len(left):
            return found
        errors = squares([found[k] for k in left])
        ratio = errors.sum(axis=1) / least.sum()
        deviation = np.sqrt(len(windows)) * np.std(errors - ratio[:, None] * least, axis=1) / least.sum()
        left = left[~(ratio + ndtri(UPPER) * deviation < RULED_OUT**2)]
        x[left] = mean + rng.uniform(size=(len(left), 1)) * (x[left] - mean)
        for k in left:
            found[k] = unknowns.at(unknowns.within(x[k]))
    for k in left:  # at the fit itself by now
        found[k] = fit.drives
    return found
