"""Signs packed into servo registers: values that are whole and never negative, whose upper half means the other
direction.

Sign and magnitude (a bit of its own is the direction): load and speed of Dynamixel AX and MX (protocol 1) and of
Feetech have it in bit 10, positions, speeds and currents of Feetech in bit 15. Two's complement of 16 or 32 bits: what
was signed in the servo and was read without its sign. A coding is certain where a signal that passes zero jumps by just
the bit of its sign, again and again, and by nothing like it elsewhere.

Sources: Robotis e-manual, AX-12A, "Present Load" and "Present Speed"; Feetech STS3215 memory table.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import choices
from steelyard.log.raw_channels import Channel, Raw
from steelyard.log.stated_units import CODINGS, Coding, StatedUnits
from steelyard.numbers import SAME

REGISTER = "the servo's register,"
"""In notes on channels whose sign was packed: their values are counts, unless a step is stated."""
PACKED = ("q", "v", "tau", "command", "duty", "current")
FEWEST = 3  # passages through zero
REGULAR = 0.9  # of them that jump by the bit of the sign
LEAST = min(coding.half for coding in CODINGS.values())


def decoded(raw: Raw, told: StatedUnits) -> Raw:
    """A log with the signs of its registers.

    Args:
        raw: as read, in SI.
        told: units as stated. One in words says that numbers are no registers, a step is that of a register; a coding
            needs no proof.

    Returns:
        The log with channels decoded, and notes on them.
    """
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
    """The coding of registers (n, k), by the joints that pass zero; None where no coding is certain.

    All joints of a channel have the same servos, so those that never pass zero follow the others.
    """
    for coding in CODINGS.values():
        columns = registers(x, coding)
        passages, regular, quiet = _passages(x[:, columns], coding)
        if passages >= FEWEST and regular >= REGULAR * passages and quiet:
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
