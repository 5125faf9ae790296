"""Units as a caller states them: of a channel, of one joint's, and how a register holds its sign."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError, choices
from steelyard.log.channels import SI, factor, is_si, step
from steelyard.log.log import Log

BY_JOINT = ("q", "v", "a", "tau", "command", "current")
FOLLOWS = 0.3  # median distance of positions from what was told, over that from their median, at most


@dataclass(frozen=True)
class Coding:
    """What the upper half of a register means. half: its first value; jump: of the register where the signal passes
    zero; mirrored: whether values grow towards the other direction (sign and magnitude)."""

    word: str
    half: float
    jump: float
    mirrored: bool
    meaning: str

    def decoded(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Signed values of a register's."""
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
    """Units by the words that a caller gave.

    Args:
        units: such as `{"q": "deg", "tau:elbow": "mNm", "current": "0.0065 bit15"}`.

    Returns:
        The StatedUnits.

    Raises:
        LogError: a unit of one joint of a channel that has none by joint, or that is no unit of it.
    """
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


def in_stated_units(log: Log, told: StatedUnits) -> Log:
    """The log with what readers leave to be converted: commands that follow positions, and columns of single joints.

    Args:
        log: as read.
        told: units as stated; readers have converted whole channels but for commands.

    Returns:
        The log in SI, and a note on each conversion.

    Raises:
        LogError: a joint or a channel that the log does not have.
    """
    if "q" in told.units and "command" not in told.units:
        log = _told_alike(log, np.ones(log.nv, dtype=bool), told.units["q"], "command")
    for (channel, joint), unit in told.of_joints.items():
        values, column = getattr(log, channel), np.array(log.labels) == joint
        if not column.any() or values is None or values.shape[1] != log.nv:
            raise LogError(
                f"unit {channel}:{joint}={unit}: the log has no such column; its joints are {choices(log.labels)}"
            )
        log = log.replace(**{channel: values * np.where(column, factor(channel, unit), 1.0)})
        log = log.noted(f"{channel} of {joint}: converted from {unit} to {SI[channel]}, as units= says")
        if channel == "q" and ("command", joint) not in told.of_joints:
            log = _told_alike(log, column, unit, f"command of {joint}")
    return log


def _told_alike(log: Log, columns: NDArray[np.bool_], unit: str, what: str) -> Log:
    """The log with commands of some joints in the unit that was stated for positions, where they follow the positions
    in the same numbers. What a velocity or torque drive is told does not."""
    if log.command is None or log.command.shape != log.q.shape or is_si("q", unit):
        return log
    command = log.command * np.where(columns, factor("q", unit), 1.0)
    moving = columns & (np.nanstd(log.q, axis=0) > 0)
    error, size = (  # medians, as either may jump by a full turn first
        np.nanmedian(np.abs(x[:, moving])) if moving.any() else 0 for x in (command - log.q, _moved(log.q))
    )
    if not error < FOLLOWS * size:
        return log
    return log.replace(command=command).noted(f"{what}: converted from {unit} as q, which follows it")


def _moved(q: NDArray[np.float64]) -> NDArray[np.float64]:
    return q - np.nanmedian(q, axis=0)
