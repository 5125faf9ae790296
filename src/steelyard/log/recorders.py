"""Names that known programs give to their signals, so that their files are read as they are.

A program is one `Recorder`. It is recognised by names that no other program writes; words that anyone may use for a
channel are in `channels`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from steelyard.log.raw_channels import ReadRequest
from steelyard.log.torque_signals import COMPUTED

_INDEX = re.compile(r"^(?P<stem>.*?)(?:\[(?P<inside>\d{1,9})\]|[_.]?(?<!\d)(?P<behind>\d{1,9}))$")

_RANGE = re.compile(r"(\d{1,6})-(\d{1,6})")


@dataclass(frozen=True)
class Recorder:
    """What a program writes.

    channels: names of each channel, the first that a file has is taken. marks: the program is meant by a file that has
    all of these. base: convention of a free base. computed: torques that are no measurements, though no word says so.
    """

    name: str
    channels: Mapping[str, Sequence[str]]
    marks: Sequence[str]
    base: str | None = None
    computed: Sequence[str] = ()


TAUGHT = ("observation.state", "state", "action")  # signals of which each joint may have a column, `action_elbow`
RECORDERS = (
    Recorder(
        "ALOHA",
        {
            "t": ("timestamp", "time", "t"),
            "q": ("observations/qpos",),
            "v": ("observations/qvel",),
            "tau": ("observations/effort",),
            "command": ("action",),
        },
        marks=("observations/qpos",),
    ),
    Recorder(
        "MuJoCo",
        {
            "t": ("time", "t"),
            "q": ("qpos",),
            "v": ("qvel",),
            "a": ("qacc",),
            "tau": ("qfrc_actuator",),
            "command": ("ctrl",),
        },
        marks=("qpos",),
        base="mujoco",
    ),
    Recorder(
        "libfranka",
        {"t": ("time", "t", "timestamp"), "q": ("q",), "v": ("dq",), "tau": ("tau_J",), "command": ("q_d",)},
        marks=("q", "tau_J"),
    ),
    Recorder(
        "libfranka",
        {"t": ("time", "t", "timestamp"), "q": ("q",), "v": ("dq",), "tau": ("tau_J_d",), "command": ("q_d",)},
        marks=("q", "tau_J_d"),
    ),
    Recorder(
        "UR RTDE",
        {
            "t": ("timestamp", "time"),
            "q": ("actual_q",),
            "v": ("actual_qd",),
            "tau": ("actual_current_as_torque", "target_moment"),
            "command": ("target_q",),
            "current": ("actual_current",),
        },
        marks=("actual_q",),
    ),
    Recorder(
        "Kinova Kortex",
        {"q": ("q", "position"), "v": ("v", "velocity"), "tau": ("tau_current", "torque_current", "torque")},
        marks=("torque", "torque_sensor"),
        computed=("torque",),
    ),
    Recorder(
        "LeRobot",
        {
            "t": ("timestamp",),
            "q": ("observation.state",),
            "v": ("observation.velocity",),
            "tau": ("observation.effort",),
            "command": ("action",),
        },
        marks=("observation.state",),
    ),
    Recorder(
        "a teaching program (state and action)",
        {"t": ("timestamp", "time", "t"), "q": ("state",), "command": ("action",)},
        marks=("state", "action"),
    ),
)


@dataclass(frozen=True)
class Recognised:
    """A request with the channels of the program that wrote a file, the convention of its free base, and a note."""

    request: ReadRequest
    base: str | None = None
    notes: tuple[str, ...] = ()


def recognised(names: Sequence[str], request: ReadRequest) -> Recognised:
    """The program that wrote these names; the request as it was where none is known.

    names: of arrays, or of columns, which are those of one signal where they differ in a number at their end alone.
    What the request says of a channel counts more, and nothing is said where it says everything.
    """
    signals = _signals(names)
    for recorder in RECORDERS:
        if not all(mark in signals for mark in recorder.marks):
            continue
        found = {
            key: next((name for name in meant if name in signals), None) for key, meant in recorder.channels.items()
        }
        used = {key: name for key, name in found.items() if name is not None and key not in request.channels}
        if not used:
            return Recognised(request, recorder.base)
        channels = {key: _wanted(signals[name]) for key, name in used.items()}
        words = [f"{key} from {name}" for key, name in used.items()]
        notes = (f"recognised as written by {recorder.name}: {'; '.join(words)}",)
        notes += (f"{COMPUTED} {used['tau']}",) if used.get("tau") in recorder.computed else ()
        return Recognised(replace(request, channels={**channels, **request.channels}), recorder.base, notes)
    return Recognised(request)


def _wanted(signal: list[str] | dict[str, str]) -> str | list[str] | dict[str, str]:
    return signal[0] if isinstance(signal, list) and len(signal) == 1 else signal


def _signals(names: Sequence[str]) -> dict[str, list[str] | dict[str, str]]:
    """Names by signal: each by itself and by the last part of its path, those that differ in their index alone in its
    order, and of teaching programs those of each joint."""
    found: dict[str, list[str] | dict[str, str]] = {name: [name] for name in names}
    numbered: dict[str, list[tuple[int, str]]] = {}
    for name in names:
        if match := _INDEX.match(name):
            number = match["inside"] or match["behind"]
            numbered.setdefault(match["stem"], []).append((int(number), name))
    for stem, group in numbered.items():
        numbers = sorted(number for number, _ in group)
        if stem not in found and numbers[0] in (0, 1) and numbers == list(range(numbers[0], numbers[0] + len(numbers))):
            found[stem] = [name for _, name in sorted(group)]
    leaves = [re.split("[/.]", name)[-1] for name in names]
    for leaf, name in zip(leaves, names, strict=True):
        if "/" in name and leaves.count(leaf) == 1:
            found.setdefault(leaf, [name])
    for stem in TAUGHT:
        joints = {name[len(stem) + 1 :]: name for name in names if re.match(re.escape(stem) + r"[_./ ]\D", name)}
        if joints and stem not in found:
            found[stem] = {joint.removesuffix(".pos"): name for joint, name in joints.items()}
    return found


def matching(pattern: str, names: Iterable[str]) -> list[str]:
    """Names that fit a pattern with `*` or `?`, numbers in them counted as numbers."""
    found = [name for name in names if fnmatchcase(name, pattern)]
    return sorted(found, key=_counted)


def expanded(wanted, names: Sequence[str]):
    """What a request says of a channel, with patterns replaced by the names that they fit, and of columns without names
    ranges by their numbers."""
    if isinstance(wanted, str):
        return _several(wanted, names) if _is_pattern(wanted, names) or _of_count(wanted, names) else wanted
    if isinstance(wanted, Sequence):
        return [name for each in wanted for name in _several(each, names)]
    return wanted


def _several(each, names: Sequence[str]) -> list:
    if isinstance(each, str) and (found := _of_count(each, names)):
        return found
    return matching(each, names) if isinstance(each, str) and _is_pattern(each, names) else [each]


def _of_count(text: str, names: Sequence[str]) -> list[str]:
    """The columns of a table without header that `1-7` means, from the first to the last."""
    ends = _RANGE.fullmatch(text)
    if ends is None or text in names or not all(name.isdecimal() for name in names):
        return []
    return [str(i) for i in range(int(ends[1]), int(ends[2]) + 1)]


def _is_pattern(text: str, names: Sequence[str]) -> bool:
    return text not in names and any(sign in text for sign in "*?")


def _counted(name: str) -> list[str | int]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]
