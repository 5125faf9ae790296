"""Columns beside bodies and terms of single joints, and those whose size evidence tells: friction of any shape, and
small mistakes of a log as derivatives at the links of the robot.

`WEIGHED` holds one record a kind: which columns there are, their torque, and their prior. Sums, fits, reports and the
command line follow.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from steelyard.namespaces import array_namespace

SPRING_UNIT = "N m/rad"
# Bumps of friction curves over `asinh(v / SLOWEST)`, 0.01 to 8 rad/s or m/s, and a step; alike in all logs.
SLOWEST, APART, BUMPS = 0.01, 0.74, 10
EVEN = 0.05  # of the odd part of friction: what a drive's torque has that does not turn with the direction of motion
# Mean and deviation of the logarithm of a scale: of a curve, in torques of its joint; of viscous and Coulomb friction
# about the file's; of mistakes; of springs, which few joints have, and which pass for weight in a part of its range.
CURVE, STATED, MISTAKE, SPRUNG = (-3.0, math.sqrt(10.0)), (0.0, 3.0), (-1.0, 1.0), (-3.0, 1.0)


@dataclass(frozen=True)
class Extra:
    """One column beyond bodies and terms of single joints.

    kind: a term of the speed `sum ratio * v` of a shared motor, which acts on each degree times its ratio; "spring"
    (torque `q`); "user"; or one of `WEIGHED`. number: of a bump, 0 and up for odd ones of speed, `BUMPS` a step, -1 and
    down for even ones; of the axis across gravity; of a zero's degree.
    """

    name: str
    unit: str
    kind: str
    dofs: tuple[int, ...]
    ratios: tuple[float, ...] = (1.0,)
    function: Callable[[Any, Any, Any], Any] | None = None  # of a user's column
    nonnegative: bool = False  # its value cannot be negative
    number: int = 0
    weighed: bool = False  # whether its size is told by evidence (`fit.posterior`), and other fits do without it


class Size(NamedTuple):
    """Of the prior of a column. deviation: at a scale of one. scale: name of the scale that it shares, with mean and
    deviation of its logarithm; None where the deviation is known."""

    deviation: float
    scale: tuple[str, float, float] | None = None


class JointSize(NamedTuple):
    """What the prior of a column goes by. torque: RMS of its joint; column: RMS of the column; slow: speed below which
    friction is told by rests."""

    torque: float
    column: float
    slow: float


@dataclass(frozen=True)
class Weighed:
    """A kind of column whose size evidence tells.

    made: columns of a joint, of its name and degree, or of a whole robot of nv degrees, of "" and nv. torque: (k, n) of
    a column per unit, of a `dynamics.effects.Motion` and the column; None where it takes neither links nor bumps
    (`effects.extra_rows`). size: of its prior. part: friction of a joint, or a mistake of a joint or of the robot.
    """

    made: Callable[[str, int, int], Iterable[Extra]]
    size: Callable[[Extra, JointSize], Size]
    torque: Callable[[Any, Extra], Any] | None = None
    part: Literal["friction", "robot", "joint"] = "joint"


def _curve(joint: str, dof: int, nv: int):
    for number in (*range(BUMPS + 1), *range(-1, -2 - BUMPS // 2, -1)):
        shape = f"{'odd' if number >= 0 else 'even'}{abs(number)}" if number < BUMPS else "step"
        yield Extra(f"{joint}.curve.{shape}", "N m", "curve", (dof,), number=number, weighed=True)


def _size_of_bump(bump: Extra, joint: JointSize) -> Size:
    name = bump.name.partition(".curve")[0]
    if bump.number == BUMPS:
        return Size(joint.torque / joint.column, (f"{name}.friction", *STATED))
    steps = bump.number + 1 if bump.number >= 0 else max(2 * (-bump.number - 1), 1)  # where the bump is largest
    size = joint.torque * min(SLOWEST * math.sinh(steps * APART) / joint.slow, 1.0)
    return Size(size * (1.0 if bump.number >= 0 else EVEN), (f"{name}.curve", *CURVE))


def steps_of_speed(v):
    """Speeds, rad/s or m/s, in steps from one bump to the next."""
    return array_namespace(v).asinh(v / SLOWEST) / APART


def bump(u, number: int):
    """A bump of a friction curve over steps of speed u (`steps_of_speed`), odd or even, or its step. number: see
    `Extra.number`."""
    xp = array_namespace(u)
    if number == BUMPS:  # within 0.002 rad/s: bumps make one of terms that cancel, and go on beyond all data
        return xp.tanh(4 * u)
    if number >= 0:
        return xp.exp(-0.5 * (u - number - 1) ** 2) - xp.exp(-0.5 * (u + number + 1) ** 2)
    at = 2 * (-number - 1)
    return xp.exp(-((u - at) ** 2) / 8) + xp.exp(-((u + at) ** 2) / 8)


def _lean(_: str, __: int, nv: int):
    for number, axis in enumerate("xy"):
        yield Extra(f"lean.{axis}", "rad", "lean", tuple(range(nv)), number=number, weighed=True)


def _spring(column: Extra, joint: JointSize) -> Size:
    """A twentieth of its joint's torque a radian."""
    return Size(0.05 * joint.torque, (f"{column.name.rpartition('.')[0]}.spring", *SPRUNG))


# In the order of their columns, friction first. Deviations of mistakes: rad, rad, 1.
WEIGHED: Mapping[str, Weighed] = {
    "curve": Weighed(
        _curve,
        _size_of_bump,
        lambda motion, column: bump(motion.steps[list(column.dofs)], column.number),
        part="friction",
    ),
    "load": Weighed(
        lambda joint, dof, nv: (Extra(f"{joint}.load", "1", "load", (dof,), weighed=True),),
        lambda column, joint: Size(0.1),
        lambda motion, column: (motion.direction * abs(motion.torque))[list(column.dofs)],
        part="friction",
    ),
    "lean": Weighed(
        _lean,
        lambda column, joint: Size(0.01, ("lean", *MISTAKE)),
        lambda motion, column: motion.torque_of_lean(column.number),
        part="robot",
    ),
    "zero": Weighed(
        lambda joint, dof, nv: (Extra(f"{joint}.zero", "rad", "zero", tuple(range(nv)), number=dof, weighed=True),),
        lambda column, joint: Size(0.005, ("zero", *MISTAKE)),
        lambda motion, column: motion.torque_by_position[..., column.number].T,
    ),
    "gain": Weighed(
        lambda joint, dof, nv: (Extra(f"{joint}.gain", "1", "gain", (dof,), weighed=True),),
        lambda column, joint: Size(0.01, (column.name, *MISTAKE)),
        lambda motion, column: motion.torque[list(column.dofs)],
    ),
    "spring": Weighed(
        lambda joint, dof, nv: (
            Extra(f"{joint}.spring", SPRING_UNIT, "spring", (dof,), weighed=True),
            Extra(f"{joint}.rest", "N m", "rest", (dof,), weighed=True),
        ),
        _spring,
    ),
}
SHAPED_FRICTION = tuple(
    kind for kind, each in WEIGHED.items() if each.part == "friction"
)  # beyond viscous, Coulomb, constant
NUISANCES = tuple(kind for kind, each in WEIGHED.items() if each.part != "friction")  # small enough for a derivative


def weighed(kind: str) -> Weighed:
    """The record of a kind of column; the torque at a spring's zero belongs to the spring."""
    return WEIGHED["spring" if kind == "rest" else kind]
