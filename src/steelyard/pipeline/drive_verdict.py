"""What speaks against the use of identified drives."""

from collections.abc import Container, Iterable, Iterator

import numpy as np

from steelyard.decisions.verdict import DRIVES, GOOD, USE, Reason, Verdict
from steelyard.drives.held_out import CLEARLY_LIKE, COARSE, COMMANDED, STAYS, JudgedMotion
from steelyard.drives.refinement import SHARED, SHARED_MORE
from steelyard.model import Robot
from steelyard.numbers import number
from steelyard.pipeline.drive_identification import FOUND, START, DriveResult
from steelyard.pipeline.verdicts import SAME

BASE = (*(f"base {axis}" for axis in "xyz"), *(f"base about {axis}" for axis in "xyz"))
IDLE = {COMMANDED: "a robot that goes where it is told", STAYS: "a robot that stays where it is"}
LIKE = 0.7  # times the error of these, below which drives move like the robot, or roughly so
HEAVIER = 1.5  # times the mass of the model, or as much less, that no load explains
SLOW = 0.1  # of the speed limits of the model, below which a log says little of what the robot will do
HEAVY = "other_mass"
ROUGHLY = {"far", "coarse"}  # reasons why drives move roughly like the robot at best

UNPROVEN = (
    "Intervals, draws and ranges of walks are not proven, nor how mass is shared between trunk and limbs: windows "
    f"share what contacts and the simulation get wrong. They are {SHARED:g} times as wide as windows alone say, "
    f"{SHARED_MORE:g} times of armatures, dampings and softness of the ground, and span the answer with limbs as in "
    "the model; in 24 simulated walks whose gains were those of the file they hold 1,276 of 1,345 numbers of joints."
)


def drive_verdict(result: DriveResult) -> Verdict:
    """Verdict of a run from commands."""
    return Verdict(tuple(_reasons(result)), DRIVES)


def others(result: DriveResult) -> dict[str, JudgedMotion]:
    """Errors of motion of what the identified drives are compared with."""
    return {each.name: each for each in result.motion if each.name not in (FOUND, START)}


def shown_names(names: Iterable[str], driven: Container[str]) -> list[str]:
    """Names of degrees of freedom for people: those of a free base, in its own axes, are not numbered."""
    base = iter(BASE)
    return [name if name in driven else next(base, name) for name in names]


def length_unit(robot: Robot) -> str:
    """m where all joints slide, else rad."""
    return "rad" if any(np.any(joint.subspace[3:]) for joint in robot.free_joints) else "m"


def _reasons(result: DriveResult) -> Iterator[Reason]:
    heavier = heavier_than_loaded(result.prior, result.robot)
    if heavier is not None:
        yield Reason(HEAVY, heavier, USE)
    own = next(each for each in result.motion if each.name == FOUND)
    yield from _unlike(result, own)
    names = shown_names(result.prior.dof_names, result.drives)
    for name, each in others(result).items():
        worse = [joint for joint, a, b in zip(names, own.windows, each.windows, strict=True) if a > b]
        if worse:
            words = f"Nearer to the robot than these drives comes, at {', '.join(worse)}: {_told(name)}."
            yield Reason("worse_joints", words)
        if own.pooled[1] > each.pooled[1]:
            yield Reason("worse_in_one_piece", f"Over whole logs nearer to the robot comes: {_told(name)}.")
    if result.prior.floating:
        yield Reason("walk", UNPROVEN)
    unit, proven = f"m{length_unit(result.prior)}", result.proven
    if not proven.beyond:
        yield Reason(
            "faster_motion",
            "Faster motion is not predicted: fitted to the slower part of the logs, the model errs by "
            f"{number(1e3 * proven.error)} {unit} on their faster part, {proven.left:.0%} of "
            "the error of a robot that does nothing.",
        )
    driven = list(result.prior.driven_dofs)
    stated = np.isfinite(result.prior.velocity_limits[driven])
    share = (proven.range[0] / result.prior.velocity_limits)[driven].max()
    if stated.all() and share < SLOW:
        yield Reason(
            "slow_motion",
            f"The logs are slow: no joint exceeds {share:.0%} of its speed limit in the model. Record faster motion, "
            "such as one that `steelyard excite` designs, before the model is used for it.",
        )
    hidden = [name for name, each in result.drives.items() if "armature" in each.undetermined]
    if hidden:
        words = f"The motion does not show the armature of {', '.join(hidden)}, which faster motion depends on."
        yield Reason("armature", words)
    early = {name: each.early for name, each in result.drives.items() if each.early}
    if early:
        said = ", ".join(f"{name} by {1e3 * value:.2g} ms" for name, value in early.items())
        words = f"Joints act before they are told: their positions are stamped before they were taken ({said})."
        yield Reason("early", words)
    loaded = [name for name, each in result.drives.items() if each.friction_base is not None]
    if loaded:
        yield Reason(
            "friction_by_load",
            f"Friction of {', '.join(loaded)} grows with load. Rollouts have that friction; a model file has its mean "
            "alone, and the notes have the line that sets it in a loop of MuJoCo.",
        )
    yield from (Reason("load_law", str(each)) for each in result.fit.laws)
    yield from (Reason(each.code, each.message) for each in result.findings)


def _unlike(result: DriveResult, own: JudgedMotion) -> Iterator[Reason]:
    """Whether the robot moves otherwise than its model with these drives."""
    rivals = {name: each.pooled[0] for name, each in others(result).items() if np.isfinite(each.pooled[0])}
    idle = min((name for name in rivals if name in IDLE), key=lambda name: rivals[name])
    best, error = min(rivals, key=lambda name: rivals[name]), own.pooled[0]
    left = error / rivals[idle]
    forbids = GOOD if error < (1 - SAME) * rivals[best] and left < LIKE else USE
    if left > CLEARLY_LIKE:
        yield Reason("far", f"Of the error of {_told(idle)}, {left:.0%} is left.", forbids)
    elif not (left < CLEARLY_LIKE and error < COARSE):
        unit = f"m{length_unit(result.prior)}"
        words = f"The error in windows of {result.window:g} s is more than {1e3 * COARSE:g} {unit}."
        yield Reason("coarse", words, forbids)
    elif forbids == USE:
        yield Reason("no_better", f"As near to the robot comes: {_told(best)}.", USE)


def _told(name: str) -> str:
    return IDLE.get(name, f"the {name}")


def heavier_than_loaded(given: Robot, found: Robot) -> str | None:
    """What to say of a walking robot whose mass is another, as its gains and its weight are of one scale; None where a
    load may explain the mass, and of robots that do not carry their own weight."""
    before, after = (robot.inertias[:, 0].sum() for robot in (given, found))
    if not given.floating or 1 / HEAVIER < after / before < HEAVIER:
        return None
    return (
        f"All bodies together have {number(after)} kg, and {number(before)} kg in the given model: no load explains "
        "that. Gains of the drives (kp, kd), or masses, are stated on another scale than the robot's."
    )
