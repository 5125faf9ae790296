"""Which of several series of one signal is the measured one, by the words beside that of the signal: `tau_est` beside
`tau_cmd`, `pos_meas1` beside `pos_filt1` and `pos_des1`.

    as measured  >  without a word  >  filtered  >  torque of motor currents  >  what was computed or asked for

A fit to a computed torque gives the controller's model back, with an error that hardly could be smaller. A position
that was asked for is the command of a position servo, a torque that was asked for that of a torque interface.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from steelyard.errors import choices
from steelyard.log.channels import CHANNEL_OF, QUALIFIERS, WORDS, Kind

COMPUTED = "tau: computed, not measured:"
"""How readers start the note on torques that a controller computed."""
_TORQUE = {*WORDS["tau"], "moment", "moments"}
_NEUTRAL = {*_TORQUE, *QUALIFIERS[Kind.PLAIN], *QUALIFIERS[Kind.FILTERED]}
_WRENCH = {"wrench", "ft", "force", "forces", "fts"}
_AXIS = re.compile(r"[\W_]*[xyz]", re.IGNORECASE)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_REST = re.compile(r"(?P<word>[A-Za-z]+)(?:(?P<number>\d+)|[_. ](?P<joint>.+))")
_OF_MOTION = (Kind.MEASURED, Kind.FILTERED, Kind.COMPUTED)

Groups = dict[Kind, dict[str, int]]
"""Numbers of columns of one channel, by kind and joint."""


def best_series(
    names: Sequence[str], known: Collection[str], prefixed: Callable[[str], tuple[str, str] | None]
) -> tuple[dict[int, str], set[int], tuple[str, ...]]:
    """The series of positions, velocities and accelerations that are read, and commands among them and torques.

    Args:
        names: of columns.
        known: joints, whose names mean themselves.
        prefixed: (channel, joint) of a name that starts with the word of a channel.

    Returns:
        (what headers stand for, by their number; numbers of those that are read only where they are asked for; notes on
        commands), empty where no word tells series apart.
    """
    hits = [prefixed(name) for name in names]
    found: dict[str, Groups] = {"q": {}, "v": {}, "a": {}}
    for i, hit in enumerate(hits):
        if hit and hit[0] in found and (series := _series(hit[1], known)):
            found[hit[0]].setdefault(series[0], {})[series[1]] = i
    renamed: dict[int, str] = {}
    beside: set[int] = set()
    asked: list[dict[int, str]] = []
    for channel, groups in found.items():
        apart = {kind: group for kind, group in groups.items() if _told_apart(kind, groups, known)}
        if not set(apart) & set(_OF_MOTION):
            continue
        asked += [_named("command", apart[Kind.COMPUTED])] if channel == "q" and Kind.COMPUTED in apart else []
        renamed |= _named(channel, apart.pop(min(apart)))
        beside |= {i for group in apart.values() for i in group.values()}
    if not renamed:
        return {}, set(), ()
    asked += [torques] if (torques := _asked_torques(names, known)) else []
    stated = [name for name, hit in zip(names, hits, strict=True) if hit and hit[0] == "command"]
    if len(asked) == 1 and not stated:
        return renamed | asked[0], beside - set(asked[0]), ()
    both = choices([*stated[:1], *(names[min(each)] for each in asked)])
    notes = (f"command: not read, as columns like {both} may all be it; choose with --channels",) if asked else ()
    return renamed, beside, notes


def _series(rest: str, known: Collection[str]) -> tuple[Kind, str] | None:
    """(kind, joint) of what stands behind the word of a channel; None where the joint stands before its channel."""
    if {CHANNEL_OF[word] for word in re.split(r"[_./: -]", rest.lower()) if word in CHANNEL_OF} - {"command"}:
        return None
    match = None if rest in known else _REST.fullmatch(rest)
    kind = next((kind for kind in _OF_MOTION if match and match["word"].lower() in QUALIFIERS[kind]), None)
    return (Kind.PLAIN, rest) if kind is None or match is None else (kind, match["number"] or match["joint"])


def _told_apart(kind: Kind, groups: Groups, known: Collection[str]) -> bool:
    """Whether words tell series of the same joints apart, and are no parts of the names of joints."""
    joints = set(groups[kind])
    if any(joints == set(group) for other, group in groups.items() if other != kind):
        return True
    return kind in (Kind.MEASURED, Kind.FILTERED) and all(joint.isdecimal() or joint in known for joint in joints)


def _named(channel: str, group: Mapping[str, int]) -> dict[int, str]:
    return {i: f"{channel}{joint}" if joint.isdecimal() else f"{channel}_{joint}" for joint, i in group.items()}


def _asked_torques(names: Sequence[str], known: Collection[str]) -> dict[int, str]:
    """Torques that were asked for, beside measured ones, by number."""
    torques = _torques(names, known)
    asked = {i: plain for i, (kind, plain) in torques.items() if kind == Kind.COMPUTED}
    measured = any(kind < Kind.COMPUTED for kind, _ in torques.values())
    if not measured or len(set(asked.values())) < len(asked):  # several series of them
        return {}
    return {i: "command" + plain.removeprefix("tau") for i, plain in asked.items() if plain.startswith("tau")}


def torque_of(name: str, known: Collection[str] = ()) -> tuple[Kind, str] | None:
    """What torque a name means.

    Args:
        name: of a column or an array, such as `target_moment_3`, `elbow/effort_des`, `tauEst_0`.
        known: joints, whose own words say nothing of the torque.

    Returns:
        Its kind, and the name with `tau` in the place of all words of the torque (`tau_3`, `elbow/tau`), as it is where
        these say nothing; None for what names no torque of joints.
    """
    joint = max((found for each in known if (found := _alone(each, name))), key=len, default=range(0))
    words = [word for word in _WORD.finditer(name) if word.start() not in joint]
    said = [word[0].lower() for word in words]
    at = next((i for i, word in enumerate(said) if word in _TORQUE), None)
    if at is None or _WRENCH & set(said):
        return None
    first, last = _run(name, words, said, at)
    kinds = {kind for i in range(first, last + 1) if (kind := _kind(said, i)) is not None}
    kind = max(kinds - {Kind.PLAIN}, default=Kind.PLAIN)
    rest = name[words[last].end() :]
    if _AXIS.fullmatch(rest) and not joint:
        return None
    told = kind != Kind.PLAIN or "j" in said[first : last + 1]
    return kind, f"{name[: words[first].start()]}tau{rest}" if told else name


def _alone(joint: str, name: str) -> range:
    """Where a joint stands in a name, between separators or at an end."""
    found = re.search(rf"(?<![A-Za-z0-9]){re.escape(joint)}(?![A-Za-z0-9])", name)
    return range(*found.span()) if found else range(0)


def _run(name: str, words: Sequence[re.Match], said: Sequence[str], at: int) -> tuple[int, int]:
    """First and last of the words around that of a torque which belong to it. Words that say nothing end no run, but
    for one at the start of a name: `elbow_joint_effort_des` is of elbow_joint."""
    first, last = at, at
    for step in (-1, 1):
        i = at
        while 0 <= i + step < len(words) and _kind(said, i + step) is not None:
            pair = sorted((i, i + step))
            if re.fullmatch(r"[_. -]?", name[words[pair[0]].end() : words[pair[1]].start()]) is None:
                break
            i += step
            if _kind(said, i) != Kind.PLAIN or i == 0 or said[i] in ("j", *_TORQUE):
                first, last = min(first, i), max(last, i)
    return first, last


def _kind(said: Sequence[str], i: int) -> Kind | None:
    """What a word beside that of the torque says of it; None for a word of something else."""
    if said[i] == "j" or (said[i] == "d" and said[i - 1 : i] == ["j"]):  # tau_J and tau_J_d of libfranka
        return Kind.COMPUTED if said[i] == "d" else Kind.PLAIN
    return Kind.PLAIN if said[i] in _NEUTRAL else next((k for k, words in QUALIFIERS.items() if said[i] in words), None)


def _torques(names: Iterable[str], known: Collection[str]) -> dict[int, tuple[Kind, str]]:
    return {i: torque for i, name in enumerate(names) if (torque := torque_of(name, known)) is not None}


def best_torques(names: Sequence[str], known: Collection[str] = ()) -> tuple[dict[int, str], set[int]]:
    """The best measured torques among names.

    Args:
        names: of columns or arrays.
        known: joints.

    Returns:
        Names as of `torque_of` of all torques, by their number; and the numbers of those beside the best ones.
    """
    found = _torques(names, known)
    count = Counter(kind for kind, _ in found.values() if kind != Kind.OTHER)
    best = min(count, default=None)
    if best == Kind.MEASURED and count[Kind.PLAIN] > count[best]:  # of a sensor somewhere, not of the joints
        best = Kind.PLAIN
    return {i: plain for i, (_, plain) in found.items()}, {i for i, (kind, _) in found.items() if kind != best}


def computed_note(names: Sequence[str], known: Collection[str] = ()) -> tuple[str, ...]:
    """The note on signals that were taken for torques; none where none of them is computed."""
    found = [names[i] for i, (kind, _) in _torques(names, known).items() if kind == Kind.COMPUTED]
    return (f"{COMPUTED} {choices(found)}",) if found else ()
