"""Reading the header of a table (CSV and its kin): which column is which joint's position or torque, and in what unit.

A whole header is read in one of two styles, whichever explains more of it: the channel before the joint (`q_elbow`,
`position_elbow`, `q1`, `position[0]`) or after it (`elbow_position`, `/joint_states/elbow/effort`).
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError, choices
from steelyard.log.channels import CHANNEL_OF, DRIVE, QUALIFIERS, SI, UNIT_ENDS, WORDS, Kind, count, factor, is_si
from steelyard.log.frame_channels import FrameChannel, found_by_frame, gathered
from steelyard.log.raw_channels import (
    EPISODE,
    HOW,
    STEADY,
    Channel,
    Raw,
    ReadRequest,
    asked,
    counted,
    episodes_of,
    following,
    one_time,
)
from steelyard.log.signals import best_series, best_torques, computed_note, recognised

_UNIT = re.compile(r"^(?P<name>.*)[\[(](?=[^\[\]()]*[^\[\]()\d\s])(?P<unit>[^\[\]()]*)[\])]$")
_TIME = re.compile(rf"^({'|'.join(map(re.escape, WORDS['t']))})_(?P<unit>s|sec|ms|us|ns)$", re.IGNORECASE)
_STAMP = re.compile(r"^(.*?)(?P<below>n|nano)?sec(?:ond)?s?$", re.IGNORECASE)
_SEPARATORS = "_./: -"
ANGLES = ("deg", "rad", "°")
_NUMBERED = re.compile(r"^(?:j|joint|axis|a)[ _]?(\d+)$", re.IGNORECASE)
_DECORATION = "|".join(sorted(QUALIFIERS[Kind.MEASURED] - {"sensor", "sensed"}))  # which no name of a joint needs
_MEASURED = re.compile(rf"(^|[{_SEPARATORS}])({_DECORATION})(?=[{_SEPARATORS}]|$)", re.IGNORECASE)
_ENDS = re.compile(rf"^(?P<name>.+)[_ ](?P<unit>{'|'.join(sorted(UNIT_ENDS, key=len, reverse=True))})$", re.IGNORECASE)


@dataclass(frozen=True)
class TableColumn:
    """One column that will be read."""

    index: int
    header: str
    channel: str
    joint: str
    unit: str


@dataclass(frozen=True)
class Layout:
    """Which columns of a table are used, and for what; `build` turns their numbers into channels."""

    columns: tuple[TableColumn, ...]
    names: Mapping[str, tuple[str, ...] | None]
    notes: tuple[str, ...]
    base: str | None = None
    of_frames: tuple[tuple[FrameChannel, tuple[int, ...]], ...] = ()
    asked: Mapping[str, Any] = field(default_factory=dict)
    step: float | None = None  # s a sample, of a table without time
    index: int | None = None  # column that numbers the episode of each row

    @property
    def indices(self) -> list[int]:
        joints = [column.index for column in self.columns]
        of_frames = [index for _, indices in self.of_frames for index in indices]
        return joints + of_frames + ([] if self.index is None else [self.index])

    def build(self, data: Sequence[NDArray[Any]]) -> Raw:
        """data: one column (n,) of numbers for each of `indices`. Returns channels in SI."""
        groups = {key: [i for i, column in enumerate(self.columns) if column.channel == key] for key in SI}
        filled = {key: self._filled(data, group) for key, group in groups.items() if group}
        time = self.step * np.arange(float(len(filled["q"]))) if self.step else filled.pop("t").sum(axis=1)
        channels = {key: Channel(x, self.names[key]) for key, x in filled.items()}
        rest = iter(data[len(self.columns) :])
        of_frames = [(each, each.filled([next(rest) for _ in indices])) for each, indices in self.of_frames]
        by_frame, _, left_out = gathered(of_frames, self.asked, len(time))
        starts = np.zeros(0, dtype=np.int64) if self.index is None else episodes_of(next(rest))
        notes = [*self.notes, *left_out, *([following(len(starts) + 1)] if len(starts) else [])]
        return Raw(one_time(time, starts), channels, tuple(notes), base=self.base, by_frame=by_frame)

    def _filled(self, data: Sequence[NDArray[Any]], group: list[int]) -> NDArray[np.float64]:
        result = np.empty((len(data[group[0]]), len(group)))
        for place, i in enumerate(group):
            result[:, place] = data[i]
            scale = factor(self.columns[i].channel, self.columns[i].unit)
            if scale != 1:
                result[:, place] *= scale
        return result


def layout(headers: Sequence[str], request: ReadRequest) -> Layout:
    """Assign the columns of a table. Raises LogError naming the columns found when time or positions are not among
    them, when two columns claim the same place, or when a unit is unknown."""
    units = [split_unit(header) for header in headers]
    bare = [name for name, _ in units]
    request, base, recorder = recognised(bare, request)
    of_frames = [
        (each, tuple(bare.index(name) for name in each.columns))
        for each in found_by_frame(bare, request.channels, whole=False)
    ]
    of_no_joint = {index for _, indices in of_frames for index in indices}
    series, unread, told = best_series(bare, request.known, _prefixed)
    motion = [series.get(i, name) for i, name in enumerate(bare) if i not in unread]
    joints = {*request.known, *_positioned(motion)}
    plain, beside = best_torques(bare, joints)
    plain, beside = plain | series, (beside | unread) - set(series)
    words = [("", None) if i in of_no_joint else (plain.get(i, name), units[i][1]) for i, name in enumerate(bare)]
    stated, named = _understood(words, request.known, beside)
    named = _by_unit(stated, named, request)
    chosen: list[tuple[int, str, str]] = []
    for key, wanted in request.channels.items():
        if key not in SI:
            continue
        chosen += [(i, key, joint) for i, joint in _explicit(key, wanted, headers, stated, named, request.known)]
    taken = {index for index, _, _ in chosen}
    of_frames = [pair for pair in of_frames if not taken & set(pair[1])]
    chosen += [
        (i, *hit) for i, hit in enumerate(named) if hit and hit[0] not in request.channels and i not in taken | beside
    ]
    columns = [
        TableColumn(index, headers[index], key, joint, request.units.get(key) or stated[index][1] or SI[key])
        for index, key, joint in chosen
    ]
    columns, doubtful = _without_doubles(columns, request)
    if not any(column.channel == "t" for column in columns):
        columns += _stamped(bare)
    timed = any(column.channel == "t" for column in columns)
    step = None if timed else request.step
    _require_usable(columns, headers, step)
    ordered, names = [], {}
    for key in SI:
        group, names[key] = _ordered([column for column in columns if column.channel == key], request)
        ordered += group
    episode = next((i for i, name in enumerate(bare) if name.lower() in EPISODE and i not in taken), None)
    used = {column.index for column in ordered} | {index for _, indices in of_frames for index in indices} | {episode}
    unused = [header for index, header in enumerate(headers) if index not in used]
    torques = [bare[column.index] for column in ordered if column.channel == "tau"]
    notes = [*recorder, *computed_note(torques, joints), *told, *doubtful, *_notes(ordered, request)]
    notes += [f"columns not used: {choices(unused)}"] if unused else []
    notes += [counted(step)] if step else []
    return Layout(tuple(ordered), names, tuple(notes), base, tuple(of_frames), request.channels, step, episode)


def split_unit(header: str) -> tuple[str, str | None]:
    """Name and unit of a header such as `q_elbow [deg]`, the unit None where none is stated."""
    found = _UNIT.match(header.strip())
    name, unit = (found["name"].rstrip(), found["unit"].strip()) if found else (header.strip(), None)
    timed = _TIME.match(name)
    return (timed[1], unit or timed["unit"]) if timed else (name, unit)


def _stamped(names: Sequence[str]) -> list[TableColumn]:
    """Time from columns of seconds and of nanoseconds below them, as ROS has it."""
    found: dict[tuple[str, str], int] = {}
    for index, name in enumerate(names):
        if match := _STAMP.match(name):
            found[match[1], "ns" if match["below"] else "s"] = index
    for (stem, unit), index in found.items():
        if unit == "s" and (below := found.get((stem, "ns"))) is not None:
            parts = ((index, "s"), (below, "ns"))
            return [TableColumn(at, names[at], "t", part, part) for at, part in parts]
    return []


def _without_common_path(names: list[str]) -> list[str]:
    """Names less the path that those share which stand below the topics of the positions, if any are named:
    `/joint_states/elbow/position` -> `elbow/position`."""
    below = [name for name in names if "/" in name]
    topics = {_topic(name) for name in below if _channels_of(name.split("/"), "q")}
    below = [name for name in below if not topics or _topic(name) in topics]
    if not below:
        return names
    paths = [name.split("/")[:-1] for name in below]
    shared = 0
    while all(len(path) > shared and path[shared] == paths[0][shared] for path in paths):
        shared += 1
    return ["/".join(name.split("/")[shared:]) if name in below else name for name in names]


def _topic(name: str) -> str:
    return name.lstrip("/").partition("/")[0]


def _channels_of(names: Iterable[str], channel: str) -> list[tuple[str, str]]:
    """(channel, joint) of names that may be of a channel, in either style."""
    hits = [style(name) for style in (_prefixed, _suffixed) for name in names]
    return [hit for hit in hits if hit is not None and hit[0] == channel]


def _understood(stated: list[tuple[str, str | None]], known: Iterable[str], beside: Collection[int]):
    """(name, unit) and (channel, joint) of each column, None where nothing fits, in the style that explains the
    header best: channel before or behind the joint, or with what only decorates left out. beside: columns that do
    not count."""
    expected = set(known)
    bare = [_undecorated(name, unit) for name, unit in stated]
    readings = [(each, _read_as(each, style)) for each in (stated, bare) for style in (_prefixed, _suffixed)]

    def score(reading):
        found = [hit for i, hit in enumerate(reading[1]) if hit and i not in beside]
        joints = {joint for key, joint in found if key != "t"}
        if reading[0] is bare and (len(set(found)) < len(found) or ("" in joints and len(joints) > 1)):
            return (-1,)  # two signals became one, or one lost its name: the words told them apart
        return sum(joint in expected for _, joint in found), len(found), len({key for key, _ in found}), -len(joints)

    return max(readings, key=score)  # the first of equals: as it is written, prefix


def _by_unit(stated, named, request: ReadRequest) -> list[tuple[str, str] | None]:
    """The same with columns such as `J1 [deg]` as positions, where none are named: a joint or its number, and the unit
    of an angle."""
    if "q" in request.channels or any(hit and hit[0] == "q" for hit in named):
        return named
    joints = [name if name in request.known else _NUMBERED.sub(r"\1", name) for name, _ in stated]
    return [
        _prefixed(f"q_{joint}") if hit is None and unit in ANGLES else hit
        for joint, (_, unit), hit in zip(joints, stated, named, strict=True)
    ]


def _positioned(names: list[str]) -> set[str]:
    """Joints of columns of positions as they are written, but for those with a word before the name of another one, as
    in `q_model_elbow` beside `q_elbow`."""
    found = {joint for _, joint in _channels_of(names, "q") if joint}
    return {joint for joint in found if joint.partition("_")[2] not in found}


def _read_as(stated, style) -> list[tuple[str, str] | None]:
    names = _without_common_path([name for name, _ in stated])
    return [("t", "") if name.lower() in WORDS["t"] else style(name) for name in names]


def _undecorated(name: str, unit: str | None) -> tuple[str, str | None]:
    """A name without words such as `actual`, and without the unit at its end: `actual_q_0`, `q_elbow_deg`."""
    ends = _ENDS.match(name) if unit is None else None
    if ends:
        name, unit = ends["name"], UNIT_ENDS[ends["unit"].lower()]
    return _MEASURED.sub("", name).lstrip(_SEPARATORS) or name, unit


def _prefixed(name: str) -> tuple[str, str] | None:
    for word, channel in CHANNEL_OF.items():
        rest = name[len(word) :]
        if channel == "t" or not name.lower().startswith(word):
            continue
        if rest == "" or rest.isdecimal() or re.fullmatch(r"\[\d+\]", rest):
            return channel, rest.strip("[]")
        if rest[0] in _SEPARATORS and rest[1:] and not (channel in DRIVE and _of_other(channel, rest[1:])):
            return channel, rest[1:]
    return None


def _of_other(channel: str, rest: str) -> bool:
    """Whether what follows a word says that something else is meant, as in `target_velocity_1`, `current_position`; a
    letter alone is a joint."""
    first = re.split(f"[{re.escape(_SEPARATORS)}]", rest)[0].lower()
    own = (channel, "q") if channel == "command" else (channel,)
    return len(rest) > 1 and CHANNEL_OF.get(first, channel) not in own


def _suffixed(name: str) -> tuple[str, str] | None:
    for word, channel in CHANNEL_OF.items():
        joint = name[: -len(word) - 1]
        if (
            channel != "t"
            and "_" not in word
            and joint
            and name.lower().endswith(word)
            and name[len(joint)] in _SEPARATORS
        ):
            return channel, joint
    return None


def _explicit(key, wanted, headers, stated, named, known) -> list[tuple[int, str]]:
    """(column index, joint or "") of what `channels=` asks for: a header, a column number, a list of them, or a dict
    joint -> column. A list is in the order of the robot where none of its names is a joint of the robot."""
    pairs = asked(wanted, headers)
    if isinstance(wanted, Mapping):
        return [(_find(key, column, headers, stated), str(joint)) for joint, column in pairs]
    names = [name for _, name in pairs]
    if len(names) == 1 and f"{names[0]}[0]" in headers:  # a list: all its elements
        names = [header for header in headers if re.fullmatch(re.escape(str(names[0])) + r"\[\d+\]", header)]
    indices = [_find(key, column, headers, stated) for column in names]
    hits = [named[index] for index in indices]
    if all(hit and hit[1] for hit in hits) and (not known or any(hit[1] in known for hit in hits)):
        return [(index, hit[1]) for index, hit in zip(indices, hits, strict=True) if hit]
    return [(index, str(place)) for place, index in enumerate(indices)]


def _find(key: str, column: str | int, headers: Sequence[str], stated) -> int:
    if isinstance(column, int) and 0 <= column < len(headers):
        return column
    for names in (list(headers), [name for name, _ in stated]):
        if isinstance(column, str) and column in names:
            return names.index(column)
    raise LogError(
        f"--channels wants column {column!r} for {key}, which the file does not have; it has {choices(headers)}"
    )


def _without_doubles(columns: list[TableColumn], request: ReadRequest) -> tuple[list[TableColumn], list[str]]:
    """Columns less those of what drives say that two claim, unless they were asked for; and notes on these."""
    places = [(column.channel, column.joint) for column in columns]
    twice = {key for key, joint in places if key in DRIVE and places.count((key, joint)) > 1} - set(request.channels)
    notes = []
    for key in sorted(twice):
        found = choices(column.header for column in columns if column.channel == key)
        notes.append(f"{key}: not read, as of columns {found} several look like the same; choose with {HOW}")
    return [column for column in columns if column.channel not in twice], notes


def _require_usable(columns: Sequence[TableColumn], headers: Sequence[str], step: float | None) -> None:
    for key, what in (("t", "time (t)"), ("q", "joint positions (q_JOINT)")):
        if not any(column.channel == key for column in columns) and not (key == "t" and step):
            raise LogError(
                f"no column for {what} among {choices(headers)}. Name columns t, q_JOINT, v_JOINT, a_JOINT, tau_JOINT, "
                f"or say which is which: {HOW}. {STEADY if key == 't' else ''}".rstrip()
            )
    seen: dict[tuple[str, str], TableColumn] = {}
    for column in columns:
        twin = seen.setdefault((column.channel, column.joint), column)
        if twin is not column:
            place = f"{column.channel} of {column.joint or 'the only joint'}" if column.channel != "t" else "time"
            raise LogError(f"columns {twin.header!r} and {column.header!r} both look like {place}; choose with {HOW}")


def _ordered(group: list[TableColumn], request: ReadRequest) -> tuple[list[TableColumn], tuple[str, ...] | None]:
    """Columns of one channel in order, with their joint names; numbered columns are sorted and have no names."""
    joints = [column.joint for column in group]
    if joints == [""]:
        return group, None
    numbered = all(joint.isdecimal() for joint in joints) and not set(joints) <= set(request.known)
    if numbered and count(int(joint) for joint in joints):
        return sorted(group, key=lambda column: int(column.joint)), None
    return group, tuple(joints)


def _notes(columns: Sequence[TableColumn], request: ReadRequest) -> Iterable[str]:
    for key in SI:
        group = [column for column in columns if column.channel == key]
        converted = sorted({column.unit for column in group if not is_si(key, column.unit)})
        for unit in converted:
            some = sum(column.unit == unit for column in group)
            source = "as units= says" if key in request.units else "as the header says"
            yield f"{key}: {some} of {len(group)} columns converted from {unit} to {SI[key]}, {source}"
        first = group[0] if group and key not in request.channels else None
        if first and split_unit(first.header)[0] not in (key, f"{key}_{first.joint}", f"{key}{first.joint}"):
            yield f"{key}: read from columns like {first.header!r}"
