"""Which of several torques of a file is the measured one, by the names of its signals.

    joint torque as measured  >  torque of motor currents  >  what a controller computed or asked for

A fit to a computed torque gives the controller's model back, with an error that hardly could be smaller.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from enum import IntEnum

from steelyard.errors import choices
from steelyard.log.channels import MEASURED, WORDS

COMPUTED = "tau: computed, not measured:"
"""How readers start the note on torques that a controller computed."""


class Kind(IntEnum):
    """How well a torque is measured, best first."""

    MEASURED = 0
    PLAIN = 1
    OF_CURRENT = 2
    COMPUTED = 3
    OTHER = 4
    """Part of a torque, or a limit of it."""


_TORQUE = {*WORDS["tau"], "moment", "moments"}
_WRITTEN = {
    Kind.MEASURED: "sensor sensed " + " ".join(MEASURED),
    Kind.OF_CURRENT: "current est estimated estimate",
    Kind.COMPUTED: "cmd command commands commanded con des desired target targets ref reference goal setpoint set ff "
    "feedforward id rnea model computed calculated calc theoretical expected predicted pred nominal soll sollwert",
    Kind.OTHER: "ext external contact gravity grav coriolis friction fric disturbance residual error limit limits max "
    "min std rate constant offset",
}
WORDS_OF = {kind: frozenset(words.split()) for kind, words in _WRITTEN.items()}
"""Words beside that of a signal, by what they say of it."""
_NEUTRAL = {"joint", "joints", "motor", "motors", "as", "from", "of", "by", "raw", "filtered", "filt", "link", "side"}
_WRENCH = {"wrench", "ft", "force", "forces", "fts"}
_AXIS = re.compile(r"[\W_]*[xyz]", re.IGNORECASE)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


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
    kind = max(
        {kind for i in range(first, last + 1) if (kind := _kind(said, i)) is not None} - {Kind.PLAIN},
        default=Kind.PLAIN,
    )
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
    if said[i] in _NEUTRAL or said[i] in _TORQUE:
        return Kind.PLAIN
    return next((kind for kind, words in WORDS_OF.items() if said[i] in words), None)


def best_torques(names: Sequence[str], known: Collection[str] = ()) -> tuple[dict[int, str], set[int]]:
    """The best measured torques among names.

    Args:
        names: of columns or arrays.
        known: joints.

    Returns:
        Names as of `torque_of` of all torques, by their number; and the numbers of those beside the best ones.
    """
    found = {i: torque for i, name in enumerate(names) if (torque := torque_of(name, known)) is not None}
    count = Counter(kind for kind, _ in found.values() if kind != Kind.OTHER)
    best = min(count, default=None)
    if best == Kind.MEASURED and count[Kind.PLAIN] > count[best]:  # of a sensor somewhere, not of the joints
        best = Kind.PLAIN
    return {i: plain for i, (_, plain) in found.items()}, {i for i, (kind, _) in found.items() if kind != best}


def computed_note(names: Iterable[str], known: Collection[str] = ()) -> tuple[str, ...]:
    """The note on signals that were taken for torques; none where none of them is computed."""
    found = [name for name in names if (torque := torque_of(name, known)) is not None and torque[0] == Kind.COMPUTED]
    return (f"{COMPUTED} {choices(found)}",) if found else ()
