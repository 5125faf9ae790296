"""Mistakes of logs to undo: `Corrections`, words of a job. Each field says everything about its option once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from steelyard.errors import OptionError, choices
from steelyard.job_options import AUTO, LOG, PAYLOAD, READS, option

AS_RECORDED = "pinocchio"  # the convention of free bases that is Steelyard's own, so that nothing is converted


@dataclass(frozen=True)
class Corrections:
    """What a log has wrong, in words; nothing by default. The same words are those of the command line."""

    unit: tuple[str, ...] = option(
        (),
        "Unit of t, q, v, a, tau, command, ...: q=deg, tau=mNm.",
        more="It wins over the file. A number is the step of what was counted: `t=0.005` of samples at "
        "200 Hz, `q=0.00153398` of ticks. `q:elbow=deg` is of one joint; `tau=bit10` of registers with the direction "
        "in a bit ([units](logs.md#units)).",
        metavar="CHANNEL=UNIT",
        scope=LOG,
        commands=(*READS, PAYLOAD),
    )
    base: str | None = option(
        None,
        "Of a free base's pose and twist: mujoco, or wxyz,world,body.",
        more="Also `pybullet` and `isaaclab`; else the order of the quaternion and the axes of linear and angular "
        "velocity, see [free bases](legged.md#free-bases).",
        metavar="CONVENTION",
        scope=LOG,
        commands=READS,
    )
    order: tuple[str, ...] = option(
        (),
        "Joints that the columns belong to, in their order; also tau:JOINTS, q:JOINTS.",
        metavar="JOINTS",
        scope=LOG,
        commands=(*READS, PAYLOAD),
    )
    scale: tuple[str, ...] = option(
        (),
        "Sign, gear or torque constant: tau:joint3=-1.",
        more="Also `tau:all=50`, `q:joint1=0.01` (with v, a, and commands that follow it), `command:joint1=0.01`, "
        "`joint3=-1` for all, and `t:all=0.5` for stamps.",
        metavar="[CHANNEL:]JOINT=FACTOR",
        scope=LOG,
        commands=READS,
    )
    unwrap: tuple[str, ...] = option(
        (),
        "Positions jump by full turns, take these out; all.",
        more="Joints without limits need no word.",
        metavar="JOINT",
        scope=LOG,
        commands=READS,
    )
    offset: tuple[str, ...] = option(
        (),
        "Added to a joint's position and its servo's commands, rad or m.",
        more="Also `command:joint2=0.1`, to its commands alone.",
        metavar="[command:]JOINT=RAD",
        scope=LOG,
        commands=READS,
    )
    delay: tuple[str, ...] = option(
        (),
        "Time by which a torque comes late; all=S, or auto.",
        more="`auto` estimates it for every joint, in `identify` and `inspect` alone.",
        metavar="JOINT=S",
        unit="s",
        scope=LOG,
        commands=READS,
    )
    gravity_compensated: bool = option(
        False, "Torques lack gravity: add that of the nominal model.", scope=LOG, commands=READS
    )
    gravity_model: str | None = option(
        None,
        "Torques lack the gravity of this model, the controller's: add it.",
        more="Its joints are met by name; gravity points as in the nominal model.",
        metavar="MODEL",
        scope=LOG,
        commands=READS,
        path=True,
    )
    leave_out: tuple[str, ...] = option(
        (),
        "Torques and wrenches between these times do not count: 3.2:5.",
        more="Of one of several logs: `run2=3.2:5`. Times are the log's own.",
        metavar="[LOG=]FROM:TO",
        unit="s",
        scope=LOG,
        commands=(*READS, PAYLOAD),
    )
    even_stamps: bool = option(
        False, "Samples were taken at even times.", more="Stamps are replaced.", scope=LOG, commands=READS
    )
    saturation: bool = option(
        False,
        "Leave out clipped torques, and keep them out of the filter.",
        more="Before filtering they are replaced by the prediction of the fit.",
        scope=LOG,
    )

    def joined(self, other: "Corrections") -> "Corrections":
        """These and others: words of both, flags of either, of a single word the other's."""
        pairs = {each.name: (getattr(self, each.name), getattr(other, each.name)) for each in fields(self)}
        both = {name: a + b if isinstance(a, tuple) else b or a for name, (a, b) in pairs.items()}
        return Corrections(**both)

    @property
    def units(self) -> dict[str, str]:
        """Units by channel, for `read_log`."""
        return dict(pair_of(word, "unit", "q=deg") for word in self.unit)

    @property
    def reading(self) -> dict:
        """The options of `read_log`. A base that is stated is left as recorded: it is converted with what follows."""
        return {"units": self.units, "base": None if self.base is None else AS_RECORDED}

    @property
    def automatic_delay(self) -> bool:
        return AUTO in self.delay


NOTHING = Corrections()


def pair_of(word: str, option: str, example: str) -> tuple[str, str]:
    """The two sides of `NAME=VALUE`. Raises OptionError, which shows the example."""
    left, equals, right = word.rpartition("=")
    if not (left and equals and right):
        raise OptionError(f"{option} {word!r} cannot be read; write it as {example}.")
    return left.strip(), right.strip()


def corrections_from(words: Mapping[str, Any]) -> Corrections:
    """Corrections from a table such as `{"unit": ["q=deg"], "saturation": True}`. Raises OptionError."""
    if not isinstance(words, Mapping):
        raise OptionError(f'Corrections are {words!r}; expected a table such as unit = ["q=deg"].')
    known = {each.name: each.default for each in fields(Corrections)}
    told: dict[str, Any] = {}
    for name, value in words.items():
        if name not in known:
            raise OptionError(f"There is no correction {name!r}; corrections are {choices(known)}.")
        told[name] = _correction(name, value, known[name])
    return Corrections(**told)


def _correction(name: str, value, default) -> bool | str | tuple[str, ...]:
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
