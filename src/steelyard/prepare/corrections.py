"""Mistakes of a log in words: units, order of joints, signs, gears, offsets, delays.

A finding of `inspect` names the option that undoes it; the same words are accepted on the command line, in a channel
file and here. `undo` carries them out.
"""

import numpy as np

from steelyard.errors import OptionError

CHANNELS = ("q", "v", "tau")  # that a word may name


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
