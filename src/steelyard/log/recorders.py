"""Names that known programs give to their signals, so that their files are read as they are.

A program is one `Recorder`. It is recognised by names that no other program writes; words that anyone may use for a
channel are in `channels`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from steelyard.log.channels import count
from steelyard.log.frame_channels import leaf
from steelyard.log.raw_channels import ReadRequest
from steelyard.log.signals import COMPUTED

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
    "a teaching program (state and action): marks=state,action t=timestamp,time,t q=state command=action",
)
TAUGHT = ("observation.state", "state", "action")  # signals of which each joint may have a column, `action_elbow`


@dataclass(frozen=True)
class Recorder:
    """What a program writes.

    channels: names of each channel, the first that a file has is taken. marks: the program is meant by a file that has
    all of these. base: convention of a free base. computed: torques that are no measurements, though no word says so.
    """

    name: str
    channels: Mapping[str, Sequence[str]]
    marks: Sequence[str]
    base: str | None
    computed: Sequence[str]


def _recorder(line: str) -> Recorder:
    name, _, rest = line.partition(": ")
    said = {key: tuple(words.split(",")) for key, _, words in (pair.partition("=") for pair in rest.split())}
    marks, computed, (base,) = said.pop("marks"), said.pop("computed", ()), said.pop("base", (None,))
    return Recorder(name, said, marks, base, computed)


RECORDERS = tuple(map(_recorder, _WRITTEN))
LEROBOT = next(recorder for recorder in RECORDERS if recorder.name == "LeRobot")


def recognised(names: Sequence[str], request: ReadRequest) -> tuple[ReadRequest, str | None, tuple[str, ...]]:
    """The request with the channels of the program that wrote a file, the convention of its free base, and a note; the
    request as it was where no program is known.

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
            return request, recorder.base, ()
        channels = {key: _wanted(signals[name]) for key, name in used.items()}
        words = [f"{key} from {name}" for key, name in used.items()]
        notes = (f"recognised as written by {recorder.name}: {'; '.join(words)}",)
        notes += (f"{COMPUTED} {used['tau']}",) if used.get("tau") in recorder.computed else ()
        return replace(request, channels={**channels, **request.channels}), recorder.base, notes
    return request, None, ()


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
        if stem not in found and count(number for number, _ in group):
            found[stem] = [name for _, name in sorted(group)]
    leaves = [leaf(name) for name in names]
    for last, name in zip(leaves, names, strict=True):
        if "/" in name and leaves.count(last) == 1:
            found.setdefault(last, [name])
    for stem in TAUGHT:
        joints = {name[len(stem) + 1 :]: name for name in names if re.match(re.escape(stem) + r"[_./ ]\D", name)}
        if joints and stem not in found:
            found[stem] = {joint.removesuffix(".pos"): name for joint, name in joints.items()}
    return found
