"""Can this log be trusted? `check` looks for everything known to spoil an identification; `require_usable` refuses."""

from collections.abc import Collection, Iterator
from functools import partial

import numpy as np

from steelyard.drive_kinds import DRIVE_KINDS
from steelyard.errors import LogError, choices
from steelyard.log.channels import SI
from steelyard.log.command_checks import STILL
from steelyard.log.command_checks import told as drives_told
from steelyard.log.findings import Finding, accepted, fatal, fatal_messages, warning
from steelyard.log.free_base import free_base
from steelyard.log.log import Log
from steelyard.log.masks import hanging_torques, saturation
from steelyard.log.motion_checks import limits, time_unit, velocity, wraps
from steelyard.log.raw_channels import FOLLOWING, SHORTEST, RobotNames, pause
from steelyard.log.signals import COMPUTED, LACKING
from steelyard.log.stamps import GAP, coarse_step, gaps, is_coarse, repeats, wandering
from steelyard.log.stated_units import REGISTER, suspected
from steelyard.namespaces import array_namespace
from steelyard.spatial import POSE, TWIST

SLOWEST = 25.0  # Hz below which a log is too slow for the motion of arms and legs
USUAL = 20.0, 500.0  # s and Hz of a usual log of an arm: so many samples average noise enough
MINIMUM = SHORTEST  # fewer samples than this identify nothing: a joint has more parameters than that
JITTER = 0.05
"""Standard deviation of the steps, relative to the median step, above which time stamps count as irregular."""
NO_TORQUE = (
    "nothing can be identified from motion alone. Name the columns tau_JOINT, or say which they are: "
    '--channels \'{"tau": ["column", ...]}\'; motor currents will do, with --drive-gains.'
)
"""What is missing without torques, and where they may be."""
DRIVING = {"command": "commands", "duty": "duty cycles", "current": "motor currents"}
"""Channels that do in the place of torques, in words."""
UNUSED = ("columns not used", "arrays not used", LACKING)  # how readers start notes on what may be torques
CLOCK = "t: the clock of"  # how readers start the note on a topic whose clock drifts


def check(log: Log, robot: RobotNames | None = None, *, minimum: int = MINIMUM) -> tuple[Finding, ...]:
    """Everything found, fatal first. With a robot its position limits (`lower`, `upper`, (nq,)) are used too.

    Later checks are left out where an earlier fault makes them meaningless (NaN, unsorted time). Of a free base whose
    motion nothing recorded, the joints alone are looked at.
    """
    found = [*samples(log, minimum=minimum), *time(log)]
    free = TWIST if getattr(robot, "floating", False) and log.nq > log.nv else 0
    joints = joints_of(log) if free and log.nv > free else log
    if baseless := bool(joints is not log and np.isnan(log.q[:, :POSE]).all()):
        log, free = joints, 0
    found += finite(log)
    if not fatal_messages(found):
        found += time_unit(joints)
    if not fatal_messages(found):
        told = [*velocity(joints), *limits(joints, robot=robot)]
        told += wraps(joints, others={finding.code for finding in (*found, *told)})
        alone = baseless or (free and fatal_messages(told))
        found += free_base(log) if free and not alone else ()
        rest = (quaternions, clocks, stamps, wandering, partial(torque, free=free), still, repeats)
        for look in () if alone else rest:
            found += look(log)
        found += told
        found += () if alone else drives_told(log, robot)
    return tuple(sorted(found, key=lambda finding: finding.severity != "fatal"))


def joints_of(log: Log) -> Log:
    """A log of a robot with a free base, without it."""
    v, a, tau = (None if x is None else x[:, TWIST:] for x in (log.v, log.a, log.tau))
    return Log(t=log.t, q=log.q[:, POSE:], v=v, a=a, tau=tau, joint_names=log.labels[TWIST:], name=log.name)


def require_usable(
    log: Log, robot: RobotNames | None = None, *, minimum: int = MINIMUM, accept: Collection[str] = ()
) -> tuple[Finding, ...]:
    """The findings of `check`. Raises LogError with every fatal one whose code is not among those to accept."""
    return accepted(log.name, check(log, robot, minimum=minimum), accept)


def require_finite(log: Log, name: str, values):
    """Raise LogError that names the first value that is not finite by channel and time."""
    finite = array_namespace(values).isfinite(values)
    if not finite.all():
        row, column = np.argwhere(~np.asarray(finite))[0]
        raise LogError(
            f"Log '{log.name}': {name} of column {column} is not finite at t = {log.t[row]:.6g} s (sample {row})."
        )


def require_joints(log: Log, robot):
    """Raise LogError for named columns of other joints, or in another order. A robot with closed loops may have those
    of its motors alone."""
    own = tuple(name for name in robot.dof_names if name in log.joint_names)
    if log.joint_names and log.joint_names != own:
        raise LogError(
            f"Log '{log.name}' has the joints {choices(log.joint_names)}, robot '{robot.name}' "
            f"{choices(robot.dof_names)}. read_log(path, robot) and log.select(robot.joint_names) order them."
        )


def require_filterable(log: Log, what: str) -> None:
    """Raises LogError unless samples, numbers and stamps are such that filters take them. what: is done to the log, for
    the message, such as "filtered"."""
    faults = fatal_messages((*samples(log, minimum=2), *finite(log), *time(log)))
    if faults:
        raise LogError(f"log {log.name!r} cannot be {what}: {' '.join(faults)}")


def samples(log: Log, *, minimum: int = MINIMUM) -> Iterator[Finding]:
    """Enough of them."""
    if len(log) < minimum:
        yield fatal("few_samples", f"It has {len(log)} samples; at least {minimum} are needed.")


def finite(log: Log) -> Iterator[Finding]:
    """No NaN or infinity in any channel."""
    for key in SI:
        values = getattr(log, key)
        if values is None or np.isfinite(values).all():
            continue
        bad = ~np.isfinite(values)
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        where = "" if key == "t" else f" of {_label(log, key, first[1])}"
        yield fatal(
            "not_finite",
            f"{key}{where} is {values[first]} at sample {first[0]} (t = {log.t[first[0]]:.6g} s); {int(bad.sum())} "
            f"such values in {key}. {_remedy(log, key, bad)}",
        )
    for kind in ("wrenches", "external", "imu"):
        for frame, values in getattr(log, kind).items():
            good = np.isfinite(values).all(axis=1)
            if not good.all():
                first = int(np.argmin(good))
                yield fatal(
                    "not_finite",
                    f"{kind} of {frame} is {values[first]} at sample {first} (t = {log.t[first]:.6g} s); "
                    f"{int((~good).sum())} such samples. Leave them out, or the frame: its channel is optional.",
                )


def time(log: Log) -> Iterator[Finding]:
    """Time stamps increase strictly."""
    step = np.diff(np.where(np.isfinite(log.t), log.t, np.nan))
    for code, bad, what, (remedy, options) in (
        ("time_order", step < 0, "goes back", ("Sort the samples, or split the file where a recording restarts.", ())),
        ("time_duplicate", step == 0, "stands still", _repeated_stamps(log)),
    ):
        if bad.any():
            i = int(np.argmax(bad))
            yield fatal(
                code,
                f"Time {what} {int(bad.sum())} times, first from sample {i} (t = {float(log.t[i])!r} s) to sample "
                f"{i + 1} (t = {float(log.t[i + 1])!r} s). {remedy}",
                options=options,
            )


def _repeated_stamps(log: Log) -> tuple[str, tuple[str, ...]]:
    if not is_coarse(log):
        return "Keep one sample of each time stamp.", ()
    stamps = len(np.unique(log.t))
    said = f"{len(log)} different samples share {stamps} stamp{'s' * (stamps > 1)}: they were stored too coarsely"
    said += ", such as in whole seconds or as float32. "
    if (step := coarse_step(log)) is None:
        return f"{said}Store them in full, in s as float64.", ()
    return f"{said}By where they change, samples come at {1 / step:.4g} Hz: --even-stamps.", ("--even-stamps",)


def stamps(log: Log) -> Iterator[Finding]:
    """Regular time stamps, without gaps."""
    step = np.diff(log.t)
    median = float(np.median(step))
    if SLOWEST > 1 / median > 1:
        duration, rate = USUAL
        usual = f"the {duration * rate:.0f} of {duration:g} s at {rate:g} Hz"
        long = f" for {duration * rate * median:.3g} s: {len(log)} samples average less noise than {usual}"
        yield warning(
            "slow_logging",
            f"Samples come at {1 / median:.3g} Hz: motion and reversals above {0.5 / median:.3g} Hz are folded into "
            f"slower ones. Record at {rate:g} Hz, or move slowly{long * (len(log) < 0.9 * duration * rate)}.",
        )
    holes = gaps(log.t)
    paused = any(FOLLOWING in note for note in log.notes) & np.isclose(step[holes], pause(median), rtol=JITTER)
    found = holes[~paused]  # without those that a reader put between episodes
    if len(found):
        longest = int(found[np.argmax(step[found])])
        yield warning(
            "gap",
            f"{len(found)} gaps of more than {GAP:g} median steps, the longest {step[longest]:.4g} s after "
            f"t = {log.t[longest]:.6g} s; they are never interpolated across.",
        )
    regular = np.delete(step, holes)
    spread = float(np.std(regular)) / median
    if spread > JITTER:
        yield warning(
            "jitter",
            f"Time stamps are irregular: step {median:.4g} s median, {regular.min():.4g} to {regular.max():.4g} s, "
            f"standard deviation {100 * spread:.0f} % of the median.",
        )


def quaternions(log: Log) -> Iterator[Finding]:
    """Velocities are there where positions cannot be differentiated."""
    if log.nq != log.nv and log.v is None:
        yield fatal(
            "no_velocity",
            f"It has no velocities (v), and q has {log.nq} columns for {log.nv} freedoms: it holds quaternions, whose "
            "derivative is no velocity. Record the twist [v; w] of a free base in its own axes, the angular velocity "
            "of ball joints, and the speed of each other joint.",
        )


def clocks(log: Log) -> Iterator[Finding]:
    """Clocks of a recording's topics that drift, as its reader noted."""
    for note in log.notes:
        if note.startswith(CLOCK):
            yield warning("clock_drift", note.removeprefix("t: ").capitalize() + ".")


def no_torque(log: Log) -> str:
    """What to do about a log without torques: what its drives say will do; else names columns that may be them."""
    told = next((key for key in DRIVING if getattr(log, key) is not None), None)
    if told is not None:
        kind = next(name for name, each in DRIVE_KINDS.items() if each.channel == told)  # the most likely one
        gains = " Or take currents for torques, whose gains are found: --drive-gains." if told == "current" else ""
        said = f"this log has {DRIVING[told]}: add --drive {kind}, and what drives the joints is identified, too."
        return said + gains
    unused = [note for note in log.notes if note.startswith(UNUSED)]
    return " ".join([NO_TORQUE, *(f"{note[0].upper()}{note[1:]}." for note in unused)])


def torque(log: Log, *, free: int = 0) -> Iterator[Finding]:
    """Torque is there, is not zero, is not clipped. free: freedoms of a free base, whose wrench in flight is zero."""
    if log.tau is None:
        yield fatal("no_torque", f"It has no torque channel (tau); {no_torque(log)}")
        return
    driven = log.tau[:, free:]
    if not np.any(driven if driven.size else log.tau):
        yield fatal(
            "zero_torque",
            "Torque is zero in every sample of every joint; check the torque columns (--channels). If thrusts move the "
            "body, and no drive of a joint, its torques are their wrench, of a free base (--floating).",
        )
        return
    for j in np.flatnonzero(~np.any(driven, axis=0)):
        yield warning(
            "zero_torque_joint",
            f"Torque of {log.labels[free + j]} is zero in every sample: a fit takes that for a joint that nothing "
            f"drives, or leaves it out where the motion says otherwise. If the joint stood still, such as that of a "
            "gripper, lock it: --lock JOINT=VALUE.",
        )
    yield from copied(log, free)
    yield from computed(log)
    yield from registers(log)
    yield from saturation(log)
    yield from hanging_torques(log)


def copied(log: Log, free: int = 0) -> Iterator[Finding]:
    """No two joints that move differently have the same torques digit by digit. free: freedoms of a free base."""
    assert log.tau is not None
    first: dict[bytes, int] = {}
    for j in range(free, log.nv):
        i = first.setdefault(log.tau[:, j].tobytes(), j)
        if i != j and log.tau[:, j].any() and log.nq == log.nv and not np.array_equal(log.q[:, i], log.q[:, j]):
            yield fatal(
                "copied_torque",
                f"Torques of {log.labels[i]} and {log.labels[j]} are the same number in every sample, and they do not "
                "move alike: one column was read or recorded twice. Say which is whose: --channels.",
            )


def computed(log: Log) -> Iterator[Finding]:
    """Torque was measured, as far as its names say."""
    for note in log.notes:
        if note.startswith(COMPUTED):
            currents = " Motor currents are in the log: take them for torques (--channels) with --drive-gains."
            yield warning(
                "computed_torque",
                f"The torque is no measurement: {note.removeprefix(COMPUTED).strip()} is what a controller computed or "
                "asked for. A fit then gives the controller's model, with a small error and without friction, not the "
                f"robot's. Record measured torques, or those of motor currents.{currents * (log.current is not None)}",
            )


def registers(log: Log) -> Iterator[Finding]:
    """Torque is no count of a servo's register."""
    tau = log.require("tau")[0]
    counts = bool(np.all((tau == np.round(tau)) | np.isnan(tau)))
    if counts and any(note.startswith(f"tau: {REGISTER}") for note in log.notes):
        yield warning(
            "torque_register",
            "Torques are counts of servo registers, not N m: a load is in 0.1 % of the stall torque, or of the "
            "voltage, of each servo. State N m per count of each joint, --scale tau:JOINT=NM, or let a fit find them "
            "up to a common factor, --drive-gains.",
            options=("--drive-gains",),
        )
    elif coding := suspected(tau):
        yield warning(
            "packed_sign",
            f"Torques are whole numbers, never negative, and reach {np.nanmax(tau):.0f}: as of a servo's register with "
            f"{coding.meaning}, though too few changes of sign prove it. If so, --unit tau={coding.word}.",
            options=("--unit", f"tau={coding.word}"),
        )


def still(log: Log) -> Iterator[Finding]:
    """Every joint moves."""
    if log.nq != log.nv:
        return
    span = np.ptp(log.q, axis=0)
    for j in np.flatnonzero(span < STILL):
        yield warning(
            "still_joint",
            f"{log.labels[j]} never moves (its position spans {span[j]:.2g}); what only its motion shows cannot be "
            "identified.",
        )


def _label(log: Log, key: str, column: int) -> str:
    return log.labels[column] if key != "q" or log.nq == log.nv else f"column {column + 1}"


def _remedy(log: Log, key: str, bad: np.ndarray) -> str:
    if key == "t" or not bad.any(axis=1).all():
        rows = f"numpy.isfinite(log.{key}){'.all(1)' * (key != 't')}"
        return f"Leave these samples out: delete the lines, or in Python log[{rows}]."
    never = [_label(log, key, int(j)) for j in np.flatnonzero(bad.all(axis=0))]
    return f"No sample is without. Record {key} of {choices(never) if never else 'all joints together'}."
