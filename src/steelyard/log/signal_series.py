"""Which of several series of one signal is the measured one, by the word between the channel and the joint:
`pos_meas1` beside `pos_filt1` and `pos_des1`.

    as measured  >  without a word  >  filtered

A position that was asked for is the command of a position servo, a torque that was asked for that of a torque
interface. Torques themselves are told apart in `torque_signals`.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from steelyard.errors import choices
from steelyard.log.channels import CHANNEL_OF
from steelyard.log.torque_signals import WORDS_OF, Kind, torque_of

_FILTERED = {"filt", "filtered", "smooth", "smoothed", "lowpass", "lp"}
_REST = re.compile(r"(?P<word>[A-Za-z]+)(?:(?P<number>\d+)|[_. ](?P<joint>.+))")


class Series(IntEnum):
    """How well a signal of the motion is measured, best first; and what was asked for."""

    MEASURED = 0
    PLAIN = 1
    FILTERED = 2
    ASKED = 3


_KINDS = {
    Series.MEASURED: WORDS_OF[Kind.MEASURED],
    Series.FILTERED: _FILTERED,
    Series.ASKED: WORDS_OF[Kind.COMPUTED],
}


@dataclass(frozen=True)
class Named:
    """names: what headers stand for, by their number. beside: numbers of those that are read only where they are asked
    for. notes: on commands."""

    names: Mapping[int, str]
    beside: frozenset[int]
    notes: tuple[str, ...] = ()


def best_series(names: Sequence[str], known: Collection[str], hit: Callable[[str], tuple[str, str] | None]) -> Named:
    """The series of positions, velocities and accelerations that are read, and commands among them and torques.

    Args:
        names: of columns.
        known: joints, whose names mean themselves.
        hit: (channel, joint) of a name that starts with the word of a channel.

    Returns:
        The Named; empty where no word tells series apart.
    """
    found = {i: series for i, name in enumerate(names) if (series := _series(hit(name), known)) is not None}
    renamed: dict[int, str] = {}
    beside: set[int] = set()
    asked: dict[str, dict[int, str]] = {}
    for channel in ("q", "v", "a"):
        groups: dict[Series, dict[str, int]] = {}
        for i, (key, kind, joint) in found.items():
            if key == channel:
                groups.setdefault(kind, {})[joint] = i
        series = {kind: group for kind, group in groups.items() if _told_apart(kind, groups, known)}
        if not any(kind in series for kind in _KINDS):
            continue
        best = min(series)
        renamed |= {i: _name(channel, joint) for joint, i in series[best].items()}
        beside |= {i for kind, group in series.items() if kind != best for i in group.values()}
        if channel == "q" and Series.ASKED in series:
            asked["q"] = {i: _name("command", joint) for joint, i in series[Series.ASKED].items()}
    if not renamed:
        return Named({}, frozenset())
    if torques := _asked_torques(names, known):
        asked["tau"] = torques
    stated = [name for name in names if (other := hit(name)) and other[0] == "command"]
    if len(asked) == 1 and not stated:
        (told,) = asked.values()
        return Named(renamed | told, frozenset(beside - set(told)))
    both = choices([*stated[:1], *(names[min(each)] for each in asked.values())])
    notes = (f"command: not read, as columns like {both} may all be it; choose with --channels",) if asked else ()
    return Named(renamed, frozenset(beside), notes)


def _series(hit: tuple[str, str] | None, known: Collection[str]) -> tuple[str, Series, str] | None:
    """(channel, series, joint) of a column of the motion."""
    if hit is None or hit[0] not in ("q", "v", "a"):
        return None
    words = re.split(r"[_./: -]", hit[1].lower())
    if {CHANNEL_OF[word] for word in words if word in CHANNEL_OF} - {"command"}:
        return None  # the joint stands before its channel
    match = None if hit[1] in known else _REST.fullmatch(hit[1])
    for kind, words in _KINDS.items():
        if match and match["word"].lower() in words:
            return hit[0], kind, match["number"] or match["joint"]
    return hit[0], Series.PLAIN, hit[1]


def _told_apart(kind: Series, groups: Mapping[Series, Mapping[str, int]], known: Collection[str]) -> bool:
    """Whether words tell series of the same joints apart, and are no parts of the names of joints."""
    joints = set(groups[kind])
    others = [set(group) for other, group in groups.items() if other != kind]
    if kind in (Series.PLAIN, Series.ASKED):
        return joints in others
    return joints in others or all(joint.isdecimal() or joint in known for joint in joints)


def _name(channel: str, joint: str) -> str:
    return f"{channel}{joint}" if joint.isdecimal() else f"{channel}_{joint}"


def _asked_torques(names: Sequence[str], known: Collection[str]) -> dict[int, str]:
    """Torques that were asked for, beside measured ones, by number."""
    torques = {i: torque for i, name in enumerate(names) if (torque := torque_of(name, known)) is not None}
    asked = {i: plain for i, (kind, plain) in torques.items() if kind == Kind.COMPUTED}
    measured = any(kind < Kind.COMPUTED for kind, _ in torques.values())
    places = list(asked.values())
    if not measured or len(set(places)) < len(places):  # several series of them
        return {}
    return {i: "command" + plain.removeprefix("tau") for i, plain in asked.items() if plain.startswith("tau")}
