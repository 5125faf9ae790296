"""What moves a joint: a `Drive`, as far as it is known, and the drives that actuators of MJCF files are."""

from dataclasses import dataclass, fields, replace

import numpy as np

from steelyard.drive_kinds import DRIVE_KINDS, DRIVE_NUMBERS, DriveKind
from steelyard.errors import ModelError, choices


@dataclass(frozen=True)
class Drive:
    """The drive of a joint; None is unknown. Units are those of a revolute joint (prismatic: m and N for rad and N m).

    Its torque is clipped to the limit:

        position   kp (command - q) - kd v
        velocity   kd (command - v)
        voltage    gain duty V - kd v
        current    gain current
        torque     gain command
    """

    kind: str | None = None  # "position", "velocity", "voltage", "current" or "torque"
    kp: float | None = None  # torque per error of position, N m/rad
    kd: float | None = None  # torque per (error of) speed, N m s/rad
    limit: float | None = None  # largest torque in either direction, N m
    delay: float | None = None  # time by which commands come late, s
    early: float | None = None  # time by which positions of a log are stamped before they were taken, s
    # largest rate at which a servo follows its command, rad/s of positions, rad/s^2 of speeds
    slope_limit: float | None = None
    gain: float | None = None  # torque per unit of what the drive takes: N m/V, N m/A, or N m per unit of the command
    volts: float | None = None  # bus voltage of a log that has none, V
    # friction loss without load, N m, where it grows with load; that of the joint is then its mean. To it add
    # load_friction_motor times the torque of the drive, and load_friction_external times that of gravity and speeds
    friction_base: float | None = None
    load_friction_motor: float | None = None  # friction loss per torque of the drive
    load_friction_external: float | None = None  # friction loss per torque of gravity, centrifugal and Coriolis forces
    group: str | None = None  # a name that joints with the same motor share

    def __post_init__(self):
        if self.kind is not None and self.kind not in DRIVE_KINDS:
            raise ModelError(f"kind is {self.kind!r}; expected one of {choices(DRIVE_KINDS)}")
        for key in NUMBERS:
            value = getattr(self, key)
            if value is None:
                continue
            number = DRIVE_NUMBERS[key]
            if not (isinstance(value, int | float) and np.isfinite(value) and number.fits(value)):
                raise ModelError(f"{key} is {value!r}; expected a number that is {number.least}")

    def over(self, other: "Drive | None") -> "Drive":
        """This drive, with what it leaves open as another description of the same joint says; one of another kind adds
        nothing."""
        if other is None or (None not in (self.kind, other.kind) and self.kind != other.kind):
            return self
        return replace(other, **{key: value for key in KEYS if (value := getattr(self, key)) is not None})

    @property
    def features(self) -> DriveKind:
        """What is particular to its kind, which is known."""
        return DRIVE_KINDS[str(self.kind)]

    @property
    def torque_per_unit(self) -> float | None:
        """Torque per unit of what it takes; None where kind or gain are not known."""
        if self.kind is None:
            return None
        stated = getattr(self, self.features.gain)
        return self.features.unstated if stated is None else stated

    @property
    def affine(self) -> tuple[float, float, float] | None:
        """(a, b, c) of its torque `a command + b q + c v`, as MuJoCo has it; None where kind or gain are not known."""
        gain = self.torque_per_unit
        return (gain, -gain if self.features.follows_q else 0.0, -(self.kd or 0.0)) if gain else None

    @property
    def read_back(self) -> "Drive | None":
        """What an actuator that is written for it reads back as: no limit of slopes, no early stamps, no friction that
        grows with load, and a kind that numbers tell. None where none is written."""
        late = self.delay or None
        return None if self.affine is None else of_affine(*self.affine, limit=self.limit, delay=late)

    def differing(self, other: "Drive", tolerance: float) -> tuple[str, ...]:
        """Keys that another drive of the joint has otherwise; those of drives of different kinds are one. tolerance:
        relative."""
        if other.kind != self.kind:
            return ("kind",)
        return tuple(key for key in NUMBERS if not _same(getattr(self, key), getattr(other, key), tolerance))


KEYS = tuple(each.name for each in fields(Drive))
NUMBERS = tuple(key for key in KEYS if key not in ("kind", "group"))


def _same(a: float | None, b: float | None, tolerance: float) -> bool:
    return a is b if a is None or b is None else bool(np.isclose(a, b, rtol=tolerance, atol=0.0))


def of_affine(a: float, b: float, c: float, gear: float = 1.0, **about) -> Drive | None:
    """The drive whose torque is `a command + b q + c v` behind a gear, whose actuator has its own units; None if there
    is none."""
    square = gear * gear
    for name, kind in DRIVE_KINDS.items():
        law = a * (square if kind.coordinate else gear), b * square, c * square
        if kind.told(*law):
            found = {"kd": abs(law[2])} if "kd" in kind.numbers else {}
            return Drive(name, **(found | {kind.gain: law[0]}), **about)
    return None
