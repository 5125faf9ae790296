"""What every reader hands on: channels in SI units as the file had them, before joints are matched to a robot."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError, OptionError, choices
from steelyard.log.channels import SI, step
from steelyard.log.frame_channels import WORDS, ByFrame

HOW = """--channels '{"t": "column", "q": ["column", ...], "tau": [...]}', in Python channels={"t": "column", ...}"""
"""How to say which column is which, for the end of a message."""
STEADY = (
    "Samples at a steady rate need none: state the step in s, --unit t=0.02 at 50 Hz, in Python units={'t': '0.02'}."
)
"""What to do about a file without time stamps."""


def counted(step: float) -> str:
    """The note on a file whose samples were counted."""
    return f"t: no stamps; samples counted, {step:g} s each, as units= says"


def asked(wanted: Any, names: Sequence[str] = ()) -> list[tuple[str | None, Any]]:
    """What `channels=` says of a channel.

    Args:
        wanted: a name, a number, a list of them, or a mapping from joints to them; None for none.
        names: of the file. Patterns with `*` or `?` become those that they fit, and a range such as `1-7` of columns
            that have no names their numbers.

    Returns:
        (joint, name) of each column; the joint is None where none is said.
    """
    if wanted is None:
        return []
    if isinstance(wanted, Mapping):
        return [(str(joint), name) for joint, name in wanted.items()]
    each = [wanted] if isinstance(wanted, str | int) else wanted
    if not isinstance(each, Iterable):
        raise OptionError(f"channels names columns, by names, numbers or lists of them; got {wanted!r}.")
    return [(None, name) for one in each for name in (_meant(one, names) if isinstance(one, str) else [one])]


_RANGE = re.compile(r"(\d{1,6})-(\d{1,6})")


def _meant(text: str, names: Sequence[str]) -> list[str]:
    if not names or text in names:
        return [text]
    if (ends := _RANGE.fullmatch(text)) and all(name.isdecimal() for name in names):
        return [str(i) for i in range(int(ends[1]), int(ends[2]) + 1)]
    return matching(text, names) if "*" in text or "?" in text else [text]


def matching(pattern: str, names: Iterable[str]) -> list[str]:
    """Names that fit a pattern with `*` or `?`, numbers in them counted as numbers."""
    found = [name for name in names if fnmatchcase(name, pattern)]
    return sorted(found, key=lambda name: [int(s) if s.isdigit() else s for s in re.split(r"(\d+)", name)])


@dataclass(frozen=True)
class ReadRequest:
    """What the caller asked of a reader."""

    channels: Mapping[str, Any] = field(default_factory=dict)
    """Explicit mapping channel -> column or key; None switches a channel off."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Unit of a channel, over anything the file says."""
    known: tuple[str, ...] = ()
    """Joint names expected, to read ambiguous headers rightly."""
    logs: tuple[str, ...] = ()
    """Of a file with several logs, those that are wanted; empty for all."""
    rows: tuple[int, int] | None = None
    """First sample and the one after the last that are wanted; None for all."""

    @property
    def step(self) -> float | None:
        """s a sample, where the unit of time is a number: samples without stamps are counted by it."""
        return step(self.units.get("t", ""))

    def __post_init__(self):
        for option, mapping in (("channels", self.channels), ("units", self.units)):
            known = (*SI, *WORDS) if option == "channels" else tuple(SI)
            unknown = sorted(set(mapping) - set(known))
            if unknown:
                raise LogError(f"{option}= has no channel {choices(unknown)}; channels are {choices(known)}")


@dataclass(frozen=True)
class Channel:
    """One signal of all joints the file has."""

    values: NDArray[np.float64]
    """(n, k), SI."""
    names: tuple[str, ...] | None = None
    """(k,) joint of each column, or None when the file only gives an order."""


@dataclass(frozen=True)
class Raw:
    """A log as read, joints in the file's order."""

    t: NDArray[np.float64]
    """(n,) s."""
    channels: Mapping[str, Channel]
    """`q`, `v`, `a`, `tau` and what drives say, as far as the file has them."""
    notes: tuple[str, ...] = ()
    wrenches: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """(n, 6) by link, SI."""
    bandwidth: float | None = None
    """Cutoff that tau was filtered at, Hz, where the file says it."""
    base: str | None = None
    """Convention of a free base, where it is known; None for Steelyard's own."""
    by_frame: ByFrame = field(default_factory=ByFrame)
    """Contacts, external wrenches and inertial sensors."""


class RobotNames(Protocol):
    """All that reading a log needs to know of a robot."""

    @property
    def joint_names(self) -> Iterable[str]: ...
    @property
    def nq(self) -> int: ...
    @property
    def nv(self) -> int: ...
