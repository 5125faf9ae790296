"""Checks that compare position with velocity and with the robot's limits: signs, units, wrapped angles."""

import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from math import degrees, pi, radians

import numpy as np
from numpy.typing import NDArray

from steelyard.log.channels import factor as unit_factor
from steelyard.log.findings import Finding, fatal, warning
from steelyard.log.log import Log
from steelyard.log.raw_channels import RobotNames
from steelyard.log.stamps import integral, unpredicted, windows
from steelyard.spatial import POSE

GRIPPERS = re.compile("gripper|finger|jaw|claw|hand|thumb", re.IGNORECASE)
COUNTS = 4096  # a turn, of DYNAMIXEL X, Feetech STS and their relatives
COUNT, RATE = 2 * pi / COUNTS, 0.229 * pi / 30  # rad, and rad/s a count of DYNAMIXEL's velocities
_ANGLES = {"q": "deg", "v": "deg/s"}
ALIKE = 0.05  # share of a ratio, within which it is that of other joints
RIGHT = 0.8, 1.25  # of velocities over rates of positions, that are the same
FOLLOWS = 0.9  # correlation, from which on velocities are rates of positions but for a factor


def _in_degrees(log: Log, joints: NDArray[np.bool_]) -> tuple[str, tuple[str, ...]]:
    """What to say of positions in degrees, and the options that convert them: of all joints, or of those that are.
    Their velocities are converted, too, where they are the rates of these positions."""
    keys = ["q"]
    # above, v is in the unit of q rather than in a 57th of it
    if log.v is not None and np.median(np.nan_to_num(velocity_over_slope(log)[0][joints])) > 0.5:
        keys.append("v")
    return _as_units(log, joints, keys)


def _as_units(log: Log, joints: NDArray[np.bool_], keys: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    at = [""] if joints.all() else [f":{name}" for name, told in zip(log.labels, joints, strict=True) if told]
    words = [f"{key}{joint}={_ANGLES[key]}" for joint in at for key in keys]
    stated = "{" + ", ".join('"{}": "{}"'.format(*word.rpartition("=")[::2]) for word in words) + "}"
    options = tuple(each for word in words for each in ("--unit", word))
    return f"say units={stated}, on the command line {shlex.join(options)}", options


def wraps(log: Log, others: Collection[str] = ()) -> Iterator[Finding]:
    """Angles that jump by a full turn between two samples. others: codes of what was found before; of positions that
    are no rad, six are no turn."""
    if log.nq != log.nv:
        return
    for turn in (360.0,) if {"degrees", "degrees_suspected", "percent"}.intersection(others) else (2 * pi, 360.0):
        jumps = full_turns(log.q, turn)
        for j in np.flatnonzero(jumps.any(axis=0)):
            i, label = int(np.argmax(jumps[:, j])), log.labels[j]
            said, first = _in_degrees(log, _as_large(log, int(j))) if turn > 10 else ("", ())
            before = f"it looks like degrees ({said}); then " if said else ""
            yield fatal(
                "wrapped_angle",
                f"q of {label} jumps by a full turn from {log.q[i, j]:.6g} to {log.q[i + 1, j]:.6g} after "
                f"t = {log.t[i]:.6g} s ({int(jumps[:, j].sum())} such jumps); {before}unwrap it: --unwrap {label}, in "
                "Python log.replace(q=numpy.unwrap(log.q, axis=0)).",
                options=(*first, "--unwrap", label),
            )


def _as_large(log: Log, j: int) -> NDArray[np.bool_]:
    """(nv,) joints in degrees where joint j jumps by 360: all, unless no other turns beyond what one in rad would."""
    others = np.delete(np.abs(log.q).max(axis=0), j)
    alone = len(others) > 0 and bool((others < 2 * pi).all())
    return np.arange(log.nv) == j if alone else np.ones(log.nv, dtype=bool)


def full_turns(q, turn: float) -> NDArray[np.bool_]:
    """(n - 1, k) True for steps of positions (n, k) by a full turn, in the unit of q; one is a jump only if the joint
    moves far less in its other steps."""
    moved = np.abs(np.diff(q, axis=0))
    if (moved.max(axis=0, initial=0.0) < 0.9 * turn).all():
        return np.zeros(moved.shape, dtype=bool)
    return (np.abs(moved - turn) < 0.1 * turn) & (np.median(moved, axis=0) < 0.1 * turn)


def velocity(log: Log) -> Iterator[Finding]:
    """The velocity channel is the derivative of the position channel: unit, sign, scale, correlation."""
    if log.v is None or log.nq != log.nv:
        return
    ratio, correlation = velocity_over_slope(log)
    follows, size = np.abs(correlation) >= FOLLOWS, np.abs(ratio)
    unknown = np.isnan(ratio)
    found = {
        key: follows & (size * factor > RIGHT[0]) & (size * factor < RIGHT[1])
        for key, factor in (("q", degrees(1)), ("v", radians(1)))
    }
    told = {
        key: _as_units(log, joints | unknown if (joints | unknown).all() else joints, key)
        for key, joints in found.items()
    }
    common = float(np.nanmedian(ratio)) if not unknown.all() else 1.0
    alike = unknown | (follows & (np.abs(ratio - common) < ALIKE * size))
    if alike.all() and common > 0 and not RIGHT[0] < common < RIGHT[1] and not any(x.any() for x in found.values()):
        text = f"{1 / float(f'{common:.4g}'):.5g}"
        said = f"v is {common:.4g} times dq/dt in every joint, and is taken from q. Stamps may be those of a replay: "
        said += f"--scale t:all={text}; torques say whether. Else v is in another unit: --scale v:all={text}."
        yield warning("velocity_scale", said, options=["--scale", f"v:all={text}"])
        return
    for j, label in enumerate(log.labels):
        if np.isnan(ratio[j]):
            continue
        about = f"v of {label} is {ratio[j]:.4g} times dq/dt"
        if not ratio[j]:
            yield warning("velocity_mismatch", f"v of {label} is zero where q moves: velocities are taken from q.")
        elif not follows[j]:
            message = (
                f"v of {label} does not follow dq/dt (correlation {correlation[j]:.2f}): wrong column, or a delay?"
            )
            yield warning("velocity_mismatch", message)
        elif found["q"][j]:
            said, options = told["q"]
            yield fatal("degrees", f"{about}: q is in degrees and v in radians a second; {said}.", options=options)
        elif found["v"][j]:
            said, options = told["v"]
            message = f"{about}: v is in degrees a second and q in radians; {said}."
            yield warning("velocity_degrees", message, options=options)
        elif ratio[j] < 0:
            message = f"{about}: its sign is flipped in one of the two. If it is v, give --scale v:{label}=-1."
            yield warning("velocity_sign", message, options=["--scale", f"v:{label}=-1"])
        elif not RIGHT[0] < size[j] < RIGHT[1]:
            word = f"v:{label}={1 / ratio[j]:.6g}"
            message = f"{about}; they should be equal. Check units and gear ratios, or give --scale {word}."
            yield warning("velocity_scale", message, options=["--scale", word])


def limits(log: Log, robot: RobotNames | None) -> Iterator[Finding]:
    """Positions lie within the model's limits; if not, are they degrees? Without limits one can only suspect."""
    if log.nq != log.nv:
        return
    if (counts := _counts(log)) is not None:
        yield counts
        return
    lower, upper = _bounds(log, robot)
    least, largest = log.q.min(axis=0), log.q.max(axis=0)
    reach, most = np.maximum(np.abs(lower), np.abs(upper)), np.maximum(np.abs(least), np.abs(largest))
    bounded = np.isfinite(reach) & (lower < upper)
    percent = _per_cent(log, bounded & (most > 2 * reach))
    far = bounded & (most > 2 * reach) & ~percent
    slack = 0.05 * np.where(bounded, upper - lower, 0)
    fits = (np.radians(least) >= lower - slack) & (np.radians(largest) <= upper + slack)
    for j in np.flatnonzero(percent):
        yield _of_travel(log.labels[j], lower[j], upper[j], largest[j])
    if far.any() and fits[far].all() and (most[far] > 1.05 * reach[bounded].max()).any():  # no other joint's values
        j = int(np.argmax(np.where(far, most / np.where(bounded, reach, 1), 0)))
        span = largest - least
        within = bounded & ~far & ~percent & (span > 0.1)
        in_rad = within & ((span < 4.0) | ~fits)  # in degrees, such a joint has hardly moved
        whole = far.sum() + (within & ~in_rad).sum() > in_rad.sum()
        said, options = _in_degrees(log, ~percent if whole else far)
        yield fatal(
            "degrees",
            f"q of {log.labels[j]} reaches {most[j]:.4g} where the model allows {lower[j]:.4g} to {upper[j]:.4g} rad, "
            f"and {radians(most[j]):.4g} rad would fit: q looks like degrees{'' if whole else ' there'}; {said}. "
            "Angles of motors before their gears may look so, too: --scale JOINT=1/RATIO has q and v of the joint.",
            options=options,
        )
        return
    outside = bounded & ~percent & ((least < lower - slack) | (largest > upper + slack))
    for j in np.flatnonzero(outside):
        yield warning(
            "limits",
            f"q of {log.labels[j]} runs from {least[j]:.4g} to {largest[j]:.4g}, outside the model's "
            f"limits {lower[j]:.4g} to {upper[j]:.4g}: are joints in the right order, and zero where the model has it?",
        )
    fast = log.v is None or np.abs(log.v).max() > 20  # rad/s, as no arm is; one spinning joint is no sign
    if not bounded.any() and fast and 2 * np.count_nonzero(most > 4 * pi) > log.nv:
        said, options = _in_degrees(log, np.ones(log.nv, dtype=bool))
        yield warning(
            "degrees_suspected",
            f"Most joints turn more than twice around (largest |q| {most.max():.4g}). If q is in degrees, {said}.",
            options=options,
        )


def _counts(log: Log) -> Finding | None:
    """Positions that are what a servo's encoder counts, as its registers have them."""
    most = np.abs(log.q).max(initial=0.0)
    if most < 720 or (log.q != np.rint(log.q)).any():  # two turns in degrees
        return None
    about = f"q holds whole numbers up to {most:.0f}, which an encoder counts"
    if log.q.min() < 0 or most >= COUNTS:
        return fatal("counts", f"{about}: say how many rad (or m) one is, --unit q=VALUE.")
    options = ["--unit", f"q={COUNT:.7g}", "--offset", f"all={-pi:.7g}"]
    if log.v is not None:
        slope = np.nanmedian(velocity_over_slope(log)[0])
        units = ((each, slope * each) for each in (COUNT, RATE))
        each = next((each for each, rate in units if RIGHT[0] * rate < COUNT < RIGHT[1] * rate), None)
        options[2:2] = [] if each is None else ["--unit", f"v={each:.7g}"]
    return fatal(
        "counts", f"{about}. Of {COUNTS} a turn, and zero in the middle: {' '.join(options)}.", options=options
    )


def _per_cent(log: Log, far: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(nv,) grippers whose positions run over a part of 0 to 100, where the model has other limits."""
    least, largest = log.q.min(axis=0), log.q.max(axis=0)
    named = np.array([bool(GRIPPERS.search(label)) for label in log.labels])
    # a fifth of the travel at least
    return far & named & (least > -1.0) & (largest < 101.0) & (largest - least > 20.0)


def _of_travel(label: str, lower: float, upper: float, largest: float) -> Finding:
    scale, options = (upper - lower) / 100, [] if lower == 0 else ["--offset", f"{label}={lower:.6g}"]
    options = ["--scale", f"q:{label}={scale:.6g}", *options]
    return fatal(
        "percent",
        f"q of {label} reaches {largest:.4g} where the model allows {lower:.4g} to {upper:.4g}: per cent of its "
        f"travel? If 0 is its lower limit and 100 the upper one, {' '.join(options)}; if it stood still, --lock "
        f"{label}=VALUE.",
        options=options,
    )


def _bounds(log: Log, robot: RobotNames | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    lower, upper = (getattr(robot, key, None) for key in ("lower", "upper"))
    if lower is None or upper is None:
        return np.full(log.nq, -np.inf), np.full(log.nq, np.inf)
    lower, upper = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
    if getattr(robot, "floating", False) and len(lower) == log.nq + POSE:
        return lower[POSE:], upper[POSE:]
    if len(lower) != log.nq and robot is not None:  # motors only, of a robot with closed loops
        names = list(robot.joint_names)
        places = [names.index(name) for name in log.joint_names]
        return lower[places], upper[places]
    return lower, upper


def velocity_over_slope(log: Log) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(slope, correlation), each (nv,), of the integral of v over short windows against the change of q; NaN where the
    joint hardly moves, correlation 1 where v is zero all the same."""
    v = np.zeros_like(log.q) if log.v is None else log.v
    start, stop = windows(log.t)
    moved, integrated = (x[stop] - x[start] for x in (log.q, integral(log.t, v)))
    with np.errstate(invalid="ignore", divide="ignore"):
        pairs = (moved, moved), (integrated, integrated), (moved, integrated)
        qq, vv, qv = (np.einsum("nj,nj->j", a, b) for a, b in pairs)
        active = qq > 1e-8 * len(moved)
        correlation = np.where(vv > 0, qv / np.sqrt(qq * vv), 1.0)
        return np.where(active, qv / qq, np.nan), np.where(active, correlation, np.nan)


LONGEST = {"ms": 100.0, "us": 1e5, "ns": np.inf}  # steps in each unit of a log of 10 Hz, the slowest that is likely
FEWEST = 50  # samples, which smoothness takes


def time_unit(log: Log) -> Iterator[Finding]:
    """Stamps are in seconds."""
    step = float(np.median(np.diff(log.t)))
    # logs of 20 kHz in ms have such steps
    if step < 0.05 or (known := _by_velocity(log, step)) == "s":
        return
    unit = known or next(unit for unit, most in LONGEST.items() if step <= most)
    options, remedy = ("--unit", f"t={unit}"), f'--unit t={unit}, in Python units={{"t": "{unit}"}}'
    said = f"The median time step is {step:.6g} s"
    if known is not None:
        times = 1 / unit_factor("t", known)
        said = f"Stamps are in {known}: v is dq/dt then, and {times:g} times that if they are seconds, of which"
        yield fatal("time_unit", f"{said} the median step would be {step:.6g}. Give {remedy}.", options=options)
    # Samples of smooth motion are suspect at half a second, where no joint moves at a speed that anybody would record:
    # 0.02 rad/s, or m/s, is the quickest motion of a robot at 20 rad/s, were its milliseconds seconds.
    elif step >= 0.5 and len(log) >= FEWEST and _speed(log) < 0.02 and any(_smooth(log, k) for k in (1, 5, 25)):
        yield fatal(
            "time_unit",
            f"{said} and no joint exceeds {_speed(log):.2g} rad/s (or m/s), though samples follow each other smoothly: "
            f"stamps look like {unit} (or numbers of samples). If so, say {remedy}.",
            options=options,
        )
    elif step >= 1:
        yield warning("time_unit", f"{said}; if stamps are not in seconds, say {remedy}.", options=options)


def _by_velocity(log: Log, step: float) -> str | None:
    """The unit of the stamps in which most joints' velocities are the rate of their positions, if there is one."""
    if log.v is None or log.nq != log.nv:
        return None
    for unit in ("s", *LONGEST):
        factor = unit_factor("t", unit)
        if factor * step < 5e-5:  # s between samples of the quickest logs of robots
            break
        ratio, correlation = velocity_over_slope(log.replace(t=factor * log.t))
        active = np.isfinite(ratio)
        right = (ratio[active] > RIGHT[0]) & (ratio[active] < RIGHT[1]) & (correlation[active] > FOLLOWS)
        if active.any() and 2 * right.sum() > active.sum():
            return unit
    return None


def _speed(log: Log) -> float:
    """The speed that the quickest joint exceeds in one sample of twenty, rad/s or m/s."""
    rates = np.abs(np.diff(log.q, axis=0)) / np.diff(log.t)[:, None]
    return float(np.quantile(rates, 0.95, axis=0).max())


def _smooth(log: Log, every: int) -> bool:
    """Whether every `every`-th sample lies on a cubic through its neighbours, in a joint that moves."""
    t, q = log.t[::every], log.q[::every]
    if len(t) < FEWEST:
        return False
    moved = np.median(np.abs(np.diff(q, axis=0)), axis=0)
    moves = moved > 0
    # error of a cubic through neighbours over the change from sample to sample; poses one by one exceed 1
    return bool(moves.any() and np.min(unpredicted(t, q[:, moves]) / moved[moves]) < 0.2)
