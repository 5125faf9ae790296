"""From a start to drives that move as logs do: what is tried first, what is refined, what stays undetermined."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.drives.arrays import DriveArrays
from steelyard.drives.coordinates import KINDS, Unknowns, at_scale, unknowns, weights_of
from steelyard.drives.motion_errors import WINDOW
from steelyard.drives.refinement import Refined, covariance, errors_of, refine
from steelyard.drives.simulation import Simulation
from steelyard.drives.windows import Recorded, Windows, windows_of
from steelyard.model import Robot

MOST = 96  # windows that are simulated again and again
FACTORS = (0.2, 0.4, 0.7, 1.0, 1.5, 2.5, 4.0, 7.0)  # times a gain that is not known, tried first
LATE = (0.0, 0.01, 0.02, 0.04)  # s
SLOPES = (0.8, 1.0, 1.3, 1.8)  # times the fastest motion, that commands may rise at
FASTEST = 0.995  # quantile of speeds
MUCH = 0.5  # of the mean square error of the first start, that another one needs to be taken
TELLS = 0.02  # relative change of the mean square error of a joint, below which a value is undetermined
FREE = ("gain", "damping", "frictionloss", "armature", "delay", "slope_limit")
TORQUES = ("gain", "damping", "frictionloss", "armature")  # all of the scale that a known mass or gain fixes


@dataclass(frozen=True, eq=False)
class MotionFit:
    """Drives that move as logs do.

    Attributes:
        start, drives: before and after the refinement.
        deviation: by name of `FREE`, (nv,) standard deviations in units of the value, zero where it is known.
        undetermined: by name, (nv,) bool: the motion does not show the value.
        refined: the steps.
        windows: that they were made from.
    """

    start: DriveArrays
    drives: DriveArrays
    deviation: Mapping[str, np.ndarray]
    undetermined: Mapping[str, np.ndarray]
    refined: Refined
    windows: Windows


def fit_motion(
    robot: Robot,
    starts: Sequence[DriveArrays],
    known: Mapping[str, np.ndarray],
    recordings: Sequence[Recorded],
    step: float,
    *,
    weighed: np.ndarray | None = None,
    scaled: Sequence[np.ndarray] = (),
    progress: Callable[[float], None] | None = None,
) -> MotionFit:
    """Fit drives, friction, armature and bodies to motion (output error).

    Args:
        robot: the model.
        starts: drives to start from; the first, or one that moves much better, is refined.
        known: by name of `FREE`, (nv,) the joints whose value is known and stays.
        recordings: to fit.
        step: of the simulation, s; half of it for what is found in the end.
        weighed: (nb,) bodies whose mass is known and stays.
        scaled: (nb,) bool of each group of bodies whose weight is taken for true, as nothing else says their scale.
        progress: told the share that is done.

    Returns:
        The MotionFit, on windows that no step has seen no worse than its start.
    """
    simulation = Simulation(robot, step, centred=True)
    windows = windows_of(recordings, step, WINDOW, lead=simulation.lead)
    every = -(-len(windows) // MOST)
    chosen, others = np.arange(0, len(windows), every), np.arange(every // 2, len(windows), every)
    seen, unseen = windows[chosen], windows[others]
    weights = weights_of(robot, seen.q, scaled)
    start = _best(simulation, seen, [each.changed(inertias=at_scale(each.inertias, weights)) for each in starts])
    start = _tried(simulation, seen, start, known)
    soonest = -float(np.median(np.diff(recordings[0].t)))
    free = unknowns(robot, start, FREE, seen.q, known=known, weighed=weighed, weights=weights, soonest=soonest)
    near = refine(simulation, free, seen, progress=progress and (lambda share: progress(0.5 * share)))
    fine = Simulation(robot, step / 2, centred=True)
    finely = windows_of(recordings, step / 2, WINDOW, lead=fine.lead)[chosen]
    refined = refine(fine, free, finely, begun=near, progress=progress and (lambda share: progress(0.5 + 0.5 * share)))
    before, after = (np.mean(e**2) for e in errors_of(simulation, [unseen], [start, refined.drives]))
    if after > before:
        refined = Refined(free, free.start, np.zeros_like(refined.moved), refined.rms[:1])
    undetermined = _undetermined(simulation, seen, refined.drives, known)
    spread = covariance(fine, refined, finely)
    return MotionFit(start, refined.drives, _deviations(free, spread, refined), undetermined, refined, finely)


def _best(simulation: Simulation, windows: Windows, starts: Sequence[DriveArrays]) -> DriveArrays:
    if len(starts) == 1:
        return starts[0]
    errors = np.array([np.mean(e**2) for e in errors_of(simulation, [windows], list(starts))])
    best = int(np.argmin(errors))
    return starts[best] if errors[best] < MUCH * errors[0] else starts[0]


def _tried(simulation: Simulation, windows: Windows, start: DriveArrays, known) -> DriveArrays:
    """The start with values that each joint moves better with: gains with the friction that goes with them, delays,
    slope limits."""
    speed = np.quantile(np.abs(windows.speeds), FASTEST, axis=0)
    many = {
        "gain": [{name: factor * getattr(start, name) for name in TORQUES} for factor in FACTORS],
        "delay": [{"delay": np.full(len(speed), late)} for late in LATE],
        "slope_limit": [{"slope_limit": factor * speed} for factor in SLOPES],
    }
    for name, changes in many.items():
        fixed = np.broadcast_to(known.get(name, False), len(speed))
        if fixed.all():
            continue
        changes = [{key: np.where(fixed, getattr(start, key), x) for key, x in each.items()} for each in changes]
        errors = errors_of(simulation, [windows], [start, *(start.changed(**each) for each in changes)])
        costs = np.array([np.mean(e**2, axis=0) for e in errors])
        best = np.where(costs.min(axis=0) < (1 - TELLS) * costs[0], costs.argmin(axis=0), 0)
        chosen = {}
        for key in changes[0]:
            values = np.stack([getattr(start, key), *(each[key] for each in changes)])
            chosen[key] = values[best, np.arange(len(best))]
        start = start.changed(**chosen)
    return start


def _undetermined(simulation: Simulation, windows: Windows, drives: DriveArrays, known) -> dict[str, np.ndarray]:
    """Delays and slope limits that could as well be none, or much more."""
    n = len(drives.gain)
    others = {
        "delay": [np.zeros(n), drives.delay + LATE[1], drives.delay + LATE[2]],
        "slope_limit": [np.full(n, np.inf)],
    }
    found = {}
    for name, values in others.items():
        errors = errors_of(simulation, [windows], [drives, *(drives.changed(**{name: each}) for each in values)])
        costs = np.array([np.mean(e**2, axis=0) for e in errors])
        shown = costs[1:].max(axis=0) > (1 + TELLS) * costs[0]
        found[name] = ~shown & ~np.broadcast_to(known.get(name, False), n)
    return found


def _deviations(free: Unknowns, covariance: np.ndarray, refined: Refined) -> dict[str, np.ndarray]:
    deviation, n = np.sqrt(np.maximum(np.diag(covariance), 0)), free.joints
    found = {}
    for i, name in enumerate(free.free):
        own = deviation[i * n : (i + 1) * n]
        found[name] = own * (getattr(refined.drives, name) if KINDS[name].logarithm else 1.0)
    return found
