"""Units as a caller states them, of a channel or of one joint's, and signs packed into registers of servos.

Values of such registers are whole and never negative, and their upper half means the other direction. Sign and
magnitude (a bit of its own is the direction): load and speed of Dynamixel AX and MX (protocol 1) and of Feetech have it
in bit 10, positions, speeds and currents of Feetech in bit 15. Two's complement of 16 or 32 bits: what was signed in
the servo and was read without its sign. A coding is certain where a signal that passes zero jumps by just the bit of
its sign, again and again, and by nothing like it elsewhere.

Sources: Robotis e-manual, AX-12A, "Present Load" and "Present Speed"; Feetech STS3215 memory table.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError, choices
from steelyard.log.channels import SI, factor, step
from steelyard.log.log import Log
from steelyard.log.raw_channels import Channel, Raw
from steelyard.numbers import SAME
from steelyard.spatial import POSE, TWIST

BY_JOINT = ("q", "v", "a", "tau", "command", "current")


@dataclass(frozen=True)
class Coding:
    """What the upper half of a register means."""

    word: str
    half: float  # its first value
    jump: float  # of the register where the signal passes zero
    mirrored: bool  # whether values grow towards the other direction (sign and magnitude)
    meaning: str

    def decoded(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Signed counts of those of a register."""
        other = self.half - x if self.mirrored else x - self.jump
        return np.where(x >= self.half, other, x)


_ALL = [Coding(f"bit{bit}", 2.0**bit, 2.0**bit, True, f"direction in bit {bit}, magnitude below") for bit in (10, 15)]
_ALL += [Coding(f"int{n}", 2.0 ** (n - 1), 2.0**n, False, f"two's complement of {n} bits") for n in (16, 32)]
CODINGS = {coding.word: coding for coding in _ALL}


@dataclass(frozen=True)
class StatedUnits:
    """units: by channel, of a `ReadRequest`. codings: words of `CODINGS` by channel. of_joints: by (channel, joint)."""

    units: Mapping[str, str]
    codings: Mapping[str, str]
    of_joints: Mapping[tuple[str, str], str]

    def step(self, channel: str) -> float | None:
        """SI units of one count of a register; None of a channel whose unit is stated in words."""
        return step(self.units[channel]) if channel in self.units else 1.0


def stated(units: Mapping[str, str]) -> StatedUnits:
    """Units by the words that a caller gave, such as `{"q": "deg", "tau:elbow": "mNm", "current": "0.0065 bit15"}`.
    Raises LogError for a unit of one joint of a channel that has none by joint, or that is no unit of it."""
    whole: dict[str, str] = {}
    codings: dict[str, str] = {}
    single: dict[tuple[str, str], str] = {}
    for word, unit in units.items():
        channel, colon, joint = word.partition(":")
        *before, last = str(unit).split() or [""]
        if colon:
            if channel not in BY_JOINT:
                raise LogError(f"unit {word}={unit}: units of one joint are of {choices(BY_JOINT)}")
            factor(channel, unit)
            single[channel, joint] = unit
        elif last in CODINGS and channel in SI:
            codings[channel] = last
            whole |= {channel: " ".join(before)} if before else {}
        else:
            whole[channel] = unit
    return StatedUnits(whole, codings, single)


def in_stated_units(log: Log, told: StatedUnits, *, base: bool = False) -> Log:
    """The log in SI, with a note on each conversion that readers leave: of commands that follow positions, and of
    single joints. base: whether a free base comes first, whose motion is in SI. Raises LogError for a joint or a
    channel that the log does not have."""
    for channel, width in (("q", POSE), ("v", TWIST), ("a", TWIST)) if base else ():
        if channel in told.units and (values := getattr(log, channel)) is not None:
            own = factor(channel, told.units[channel]) * (np.arange(values.shape[1]) < width)
            log = log.replace(**{channel: values / np.where(own, own, 1.0)}).noted(f"{channel} of the base: as in SI")
    if "q" in told.units and "command" not in told.units:
        unit = told.units["q"]
        log = told_alike(log, np.full(log.nv, factor("q", unit)), f"command: converted from {unit} as q")
    for (channel, joint), unit in told.of_joints.items():
        values, column = getattr(log, channel), np.array(log.labels) == joint
        if not column.any() or values is None or values.shape[1] != log.nv:
            raise LogError(
                f"unit {channel}:{joint}={unit}: the log has no such column; its joints are {choices(log.labels)}"
            )
        log = log.replace(**{channel: values * np.where(column, factor(channel, unit), 1.0)})
        log = log.noted(f"{channel} of {joint}: converted from {unit} to {SI[channel]}, as units= says")
        if channel == "q" and ("command", joint) not in told.of_joints:
            log = told_alike(log, column * factor("q", unit), f"command of {joint}: converted from {unit} as q")
    return log


def told_alike(log: Log, factors: NDArray[np.float64], what: str) -> Log:
    """The log with commands of some joints multiplied as positions were, where they follow them in the same numbers.
    What a velocity or torque drive is told does not. factors: (nv,), zero of other joints."""
    if log.command is None or log.command.shape != log.q.shape or np.isin(factors, (0.0, 1.0)).all():
        return log
    command, span = log.command * np.where(factors, factors, 1.0), np.nanmax(log.q, axis=0) - np.nanmin(log.q, axis=0)
    moving = (factors != 0) & (span > 0)
    # a median, as either may jump by a full turn first; it is a small part of what the positions span
    if not moving.any() or not np.nanmedian(np.abs(command - log.q)[:, moving]) < 0.1 * np.median(span[moving]):
        return log
    return log.replace(command=command).noted(f"{what}, which follows it")


REGISTER = "the servo's register,"
"""In notes on channels whose sign was packed: their values are counts, unless a step is stated."""
PACKED = ("q", "v", "tau", "command", "duty", "current")
LEAST = min(coding.half for coding in CODINGS.values())


def decoded(raw: Raw, told: StatedUnits) -> Raw:
    """A log as read, in SI, with the signs of its registers, and notes on them. told: units as stated. One in words
    says that numbers are no registers, a step is that of a register; a coding needs no proof."""
    channels, notes = dict(raw.channels), []
    for key in PACKED:
        scale = told.step(key)
        if key not in channels or scale is None:
            continue
        channel = channels[key]
        if key not in told.codings and not np.any(channel.values >= scale * LEAST):
            continue
        with np.errstate(invalid="ignore", over="ignore"):
            counts = channel.values / scale
            counts = np.where(np.abs(counts - np.round(counts)) < SAME, np.round(counts), counts)
        coding = CODINGS[told.codings[key]] if key in told.codings else certain(counts)
        if coding is None:
            continue
        columns = registers(counts, coding)
        channels[key] = replace(channel, values=np.where(columns, scale * coding.decoded(counts), channel.values))
        why = "as units= says" if key in told.codings else "as it jumps so at each change of sign"
        notes.append(f"{key}: {REGISTER} {coding.meaning}, decoded{_columns(channel, columns)}, {why}")
    return replace(raw, channels=channels, notes=(*raw.notes, *notes)) if notes else raw


def _columns(channel: Channel, columns: NDArray[np.bool_]) -> str:
    if columns.all():
        return ""
    names = channel.names or [str(i + 1) for i in range(len(columns))]
    return f" in {choices(name for name, used in zip(names, columns, strict=True) if used)}"


def registers(x: NDArray[np.float64], coding: Coding) -> NDArray[np.bool_]:
    """(k,) columns that may be registers of a coding: whole numbers from zero to the end of its upper half."""
    whole = np.all((x == np.round(x)) | np.isnan(x), axis=0)
    with np.errstate(invalid="ignore"):
        return whole & ~np.any((x < 0) | (x >= 2 * coding.half), axis=0) & np.any(x > 0, axis=0)


def certain(x: NDArray[np.float64]) -> Coding | None:
    """The coding of registers (n, k), of one servo, by the joints that pass zero; None where no coding is certain."""
    for coding in CODINGS.values():
        columns = registers(x, coding)
        passages, regular, quiet = _passages(x[:, columns], coding)
        # nine of ten jump by the bit of the sign
        if passages >= 3 and regular >= 0.9 * passages and quiet:  # passages through zero
            return coding
    return None


def suspected(x: NDArray[np.float64]) -> Coding | None:
    """The coding that registers (n, k) may have, though they pass zero too seldom to prove it: values lie in its upper
    half, none beyond it, and do not cross the middle as a signal of one sign would."""
    if np.any(x < 0) or not np.any(x >= LEAST):
        return None
    for coding in CODINGS.values():
        columns = registers(x, coding) & np.any(x >= coding.half, axis=0)
        if not columns.any() or np.nanmax(x) >= 2 * coding.half:
            continue
        passages, regular, quiet = _passages(x[:, columns], coding)
        if quiet and regular == passages:
            return coding
    return None


def _passages(x: NDArray[np.float64], coding: Coding) -> tuple[int, int, bool]:
    """Passages from one half of registers (n, k) to the other, how many of them jump as the coding has it, and whether
    no step within a half is as large."""
    other = x >= coding.half
    passes = other[1:] != other[:-1]
    with np.errstate(invalid="ignore"):
        steps = np.abs(np.diff(x, axis=0))
    regular = np.abs(steps[passes] - coding.jump) < coding.half / 2
    within = steps[~passes & np.isfinite(steps)]
    quiet = not len(within) or bool(np.quantile(within, 0.99) < coding.half / 2)
    return int(passes.sum()), int(regular.sum()), quiet
