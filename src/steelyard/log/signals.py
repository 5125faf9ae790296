"""Which of several series of one signal is the measured one, by the words beside that of the signal: `tau_est` beside
`tau_cmd`, `pos_meas1` beside `pos_filt1` and `pos_des1`.

    as measured  >  without a word  >  filtered  >  torque of motor currents  >  what was computed or asked for

A fit to a computed torque gives the controller's model back, with an error that hardly could be smaller. A position
that was asked for is the command of a position servo, a torque that was asked for that of a torque interface.

Names that known programs give to their signals come first. A program is one `Recorder`, recognised by names that no
other program writes; words that anyone may use for a channel are in `channels`.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from steelyard.errors import choices
from steelyard.log.channels import CHANNEL_OF, QUALIFIERS, WORDS, Kind, count
from steelyard.log.frame_channels import leaf
from steelyard.log.raw_channels import ReadRequest

COMPUTED = "tau: computed, not measured:"  # how readers start the note on torques that a controller computed
LACKING = "tau: none of"  # how readers start the note on names of torques that a program's file does not have
_TORQUE = {*WORDS["tau"], "moment", "moments"}
_NEUTRAL = {*_TORQUE, *QUALIFIERS[Kind.PLAIN], *QUALIFIERS[Kind.FILTERED]}
_WRENCH = {"wrench", "ft", "force", "forces", "fts"}
_AXIS = re.compile(r"[\W_]*[xyz]", re.IGNORECASE)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_REST = re.compile(r"(?P<word>[A-Za-z]+)(?:(?P<number>\d+)|[_. ](?P<joint>.+))")
_OF_MOTION = (Kind.MEASURED, Kind.FILTERED, Kind.COMPUTED)

Groups = dict[Kind, dict[str, int]]  # numbers of columns of one channel, by kind and joint


def best_series(
    names: Sequence[str], known: Collection[str], prefixed: Callable[[str], tuple[str, str] | None]
) -> tuple[dict[int, str], set[int], tuple[str, ...]]:
    """The series of motion, commands and torques that are read, by number of the header; numbers of those read only
    where they are asked for; and notes on commands. Empty where no word tells series apart. prefixed: makes (channel,
    joint) of a name that starts with the word of a channel."""
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
    torques = _torques(names, known)
    asked = {i: plain for i, (kind, plain) in torques.items() if kind == Kind.COMPUTED}
    measured = any(kind < Kind.COMPUTED for kind, _ in torques.values())
    if not measured or len(set(asked.values())) < len(asked):  # several series of them
        return {}
    return {i: "command" + plain.removeprefix("tau") for i, plain in asked.items() if plain.startswith("tau")}


def torque_of(name: str, known: Collection[str] = ()) -> tuple[Kind, str] | None:
    """What torque a name of a column or an array means, such as `target_moment_3`, `elbow/effort_des`, `tauEst_0`: its
    kind, and the name with `tau` in the place of all words of the torque (`tau_3`, `elbow/tau`), as it is where these
    say nothing; None for what names no torque of joints. known: joints, whose own words say nothing of the torque."""
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
    """Names as of `torque_of` of all torques among names, by their number, and the numbers of those beside the best
    measured ones. known: joints."""
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


_INDEX = re.compile(r"^(?P<stem>.*?)(?:\[(?P<inside>\d{1,9})\]|[_.]?(?<!\d)(?P<behind>\d{1,9}))$")

_WRITTEN = (
    "ALOHA: marks=observations/qpos t=timestamp,time,t q=observations/qpos v=observations/qvel tau=observations/effort "
    "command=action",
    "MuJoCo: marks=qpos base=mujoco t=time,t q=qpos v=qvel a=qacc tau=qfrc_actuator command=ctrl",
    "libfranka: marks=q,tau_J t=time,t,timestamp q=q v=dq tau=tau_J command=q_d",
    "libfranka: marks=q,tau_J_d t=time,t,timestamp q=q v=dq tau=tau_J_d command=q_d",
    "UR RTDE: marks=actual_q t=timestamp,time q=actual_q v=actual_qd tau=actual_current_as_torque,target_moment "
    "command=target_q current=actual_current",
    "Kinova Kortex: marks=torque,torque_sensor computed=torque q=q,position v=v,velocity "
    "tau=tau_current,torque_current,torque",
    "LeRobot: marks=observation.state t=timestamp q=observation.state v=observation.velocity tau=observation.effort "
    "command=action current=observation.current",
    "robosuite: marks=robot0_joint_pos q=robot0_joint_pos v=robot0_joint_vel "
    "tau=robot0_joint_torques,robot0_joint_torque,robot0_torques command=",  # its actions are seldom of joints
    "a teaching program (state and action): marks=state,action t=timestamp,time,t q=state command=action",
)
TAUGHT = ("observation.state", "state", "action")  # signals of which each joint may have a column, `action_elbow`


@dataclass(frozen=True)
class Recorder:
    """What a program writes, whose own names make it known."""

    name: str
    channels: Mapping[str, Sequence[str]]  # names of each channel, the first that a file has is taken
    marks: Sequence[str]  # the program is meant by a file that has all of these
    base: str | None  # convention of a free base
    computed: Sequence[str]  # torques that are no measurements, though no word says so


def _recorder(line: str) -> Recorder:
    name, _, rest = line.partition(": ")
    said = {key: tuple(words.split(",")) for key, _, words in (pair.partition("=") for pair in rest.split())}
    marks, computed, (base,) = said.pop("marks"), said.pop("computed", ()), said.pop("base", (None,))
    return Recorder(name, said, marks, base, computed)


RECORDERS = tuple(map(_recorder, _WRITTEN))
LEROBOT = next(recorder for recorder in RECORDERS if recorder.name == "LeRobot")


def recognised(names: Sequence[str], request: ReadRequest) -> tuple[ReadRequest, str | None, tuple[str, ...]]:
    """The request with the channels of the program that wrote a file, the convention of its free base, and a note,
    where one is known by the names of its columns or arrays; what the request says of a channel counts more."""
    signals = _signals(names)
    for recorder in RECORDERS:
        if not all(mark in signals for mark in recorder.marks):
            continue
        found = {
            key: next((name for name in meant if name in signals), None) for key, meant in recorder.channels.items()
        }
        used = {key: name for key, name in found.items() if name is not None and key not in request.channels}
        if not used:
            return request, recorder.base, ()
        none = {key: None for key, meant in recorder.channels.items() if meant == ("",)}
        channels = {key: signals[name] for key, name in used.items()}
        words = [f"{key} from {name}" for key, name in used.items()]
        notes = (f"recognised as written by {recorder.name}: {'; '.join(words)}",)
        notes += (f"{COMPUTED} {used['tau']}",) if used.get("tau") in recorder.computed else ()
        if "tau" in recorder.channels and "tau" not in {*channels, *request.channels}:
            notes += (f"{LACKING} {choices(recorder.channels['tau'])} is in it",)
        return replace(request, channels={**none, **channels, **request.channels}), recorder.base, notes
    return request, None, ()


def _signals(names: Sequence[str]) -> dict[str, str | list[str] | dict[str, str]]:
    """Names by signal: each by itself and by the last part of its path, those that differ in their index alone in its
    order, and of teaching programs those of each joint."""
    found: dict[str, str | list[str] | dict[str, str]] = {name: name for name in names}
    numbered: dict[str, list[tuple[int, str]]] = {}
    for name in names:
        if match := _INDEX.match(name):
            number = match["inside"] or match["behind"]
            numbered.setdefault(match["stem"], []).append((int(number), name))
    for stem, group in numbered.items():
        if stem not in found and count(number for number, _ in group):
            found[stem] = [name for _, name in sorted(group)] if len(group) > 1 else group[0][1]
    leaves = [leaf(name) for name in names]
    for last, name in zip(leaves, names, strict=True):
        if "/" in name and leaves.count(last) == 1:
            found.setdefault(last, name)
    for stem in TAUGHT:
        joints = {name[len(stem) + 1 :]: name for name in names if re.match(re.escape(stem) + r"[_./ ]\D", name)}
        if joints and stem not in found:
            found[stem] = {joint.removesuffix(".pos"): name for joint, name in joints.items()}
    return found
