"""Mistakes of a log in words: units, order of joints, signs, gears, offsets, delays.

A finding of `inspect` names the option that undoes it; the same words are accepted on the command line, in a channel
file and here. `undo` carries them out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from steelyard.errors import OptionError, choices

AUTO = "auto"
CHANNELS = ("q", "v", "tau")  # that a word may name


@dataclass(frozen=True)
class Corrections:
    """What a log has wrong, in words; nothing by default.

    unit: `q=deg`, `tau=mNm`, `t=ms`, over what the file says. base: how a free base's pose and velocity are written, as
    `mujoco` or `wxyz,world,body` (`log.free_base`). order: the joints that the columns really belong to, as
    `joint2,joint1,joint3`, of one channel only as `tau:joint2,joint1,joint3`. scale: factors, `tau:joint3=-1`,
    `q:joint1=0.01` (with v and a), both for a bare `joint3=-1`, `tau:all=50`. unwrap: joints whose positions jump by
    full turns. offset: rad or m to add to positions, `joint2=0.1`. delay: s by which torques come late,
    `joint3=0.012`, `all=0.012`, or `auto` to estimate them. gravity_compensated: the torques lack the gravity torque of
    the given model; gravity_model: that of another model, the controller's, a file. even_stamps: samples were taken at
    even times, whatever their stamps say. saturation: clipped torques are left out, and for the filter's sake filled.
    """

    unit: tuple[str, ...] = ()
    base: str | None = None
    order: tuple[str, ...] = ()
    scale: tuple[str, ...] = ()
    unwrap: tuple[str, ...] = ()
    offset: tuple[str, ...] = ()
    delay: tuple[str, ...] = ()
    gravity_compensated: bool = False
    gravity_model: str | None = None
    even_stamps: bool = False
    saturation: bool = False

    @property
    def units(self) -> dict[str, str]:
        """Units by channel, for `read_log`."""
        return dict(pair_of(word, "unit", "q=deg") for word in self.unit)

    @property
    def automatic_delay(self) -> bool:
        return AUTO in self.delay

    def words(self) -> Iterator[str]:
        """As options of the command line."""
        for each in fields(self):
            value, option = getattr(self, each.name), f"--{each.name.replace('_', '-')}"
            if isinstance(value, bool):
                yield from [option] if value else []
            else:
                given = (value,) if isinstance(value, str) else value or ()
                yield from (text for word in given for text in (option, word))


NOTHING = Corrections()


def corrections_from(words: Mapping[str, Any]) -> Corrections:
    """Corrections from a table such as `{"unit": ["q=deg"], "saturation": True}`. Raises OptionError."""
    if not isinstance(words, Mapping):
        raise OptionError(f'Corrections are {words!r}; expected a table such as unit = ["q=deg"].')
    known = {each.name: each.default for each in fields(Corrections)}
    told: dict[str, Any] = {}
    for name, value in words.items():
        if name not in known:
            raise OptionError(f"There is no correction {name!r}; corrections are {choices(known)}.")
        told[name] = _told(name, value, known[name])
    return Corrections(**told)


def _told(name: str, value, default) -> bool | str | tuple[str, ...]:
    """A flag, a path or words, as the default of a correction says."""
    if isinstance(default, bool) and isinstance(value, bool):
        return value
    if default is None and isinstance(value, str):
        return value
    words = (value,) if isinstance(value, str) else value
    if isinstance(default, tuple) and isinstance(words, Sequence) and all(isinstance(word, str) for word in words):
        return tuple(words)
    single = "a word" if name == "base" else "a path"
    expected = "true or false" if isinstance(default, bool) else single if default is None else "a list of words"
    raise OptionError(f"The correction {name!r} is {value!r}; expected {expected}.")


def pair_of(word: str, option: str, example: str) -> tuple[str, str]:
    left, equals, right = word.rpartition("=")
    if not (left and equals and right):
        raise OptionError(f"{option} {word!r} cannot be read; write it as {example}.")
    return left.strip(), right.strip()


def channel_of(word: str) -> tuple[str | None, str]:
    """Channel that a word speaks of, None for all of a joint's, and the rest of it."""
    head, colon, rest = word.partition(":")
    return (head, rest) if colon and head in CHANNELS else (None, word)


def number_of(text: str, word: str) -> float:
    try:
        value = float(text)
    except ValueError as error:
        raise OptionError(f"{word!r}: {text!r} is not a number.") from error
    if not np.isfinite(value):
        raise OptionError(f"{word!r}: {text!r} is not a finite number.")
    return value
