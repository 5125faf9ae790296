"""What decides a run: `Job`, and `Corrections` of its logs. Each field says everything about its option once.

The command line, `sy.identify`, the command that repeats a run, the fingerprint of finished work, the schema of the
job in `summary.json` and the tables of `docs/command_line.md` are made of these fields. Loads no other library.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from steelyard.errors import OptionError, choices
from steelyard.job_options import (
    ANALYZE,
    AUTO,
    CHECK,
    CONVERT,
    FITS,
    FLEET,
    IDENTIFY,
    INSPECT,
    LOG,
    OUTPUT,
    PAYLOAD,
    READS,
    VALIDATE,
    VIEW,
    option,
    options_of,
)
from steelyard.terms import CHOSEN_FRICTION, friction_terms

DRIVE_KINDS = ("position", "velocity", "voltage", "current", "torque")
AS_MODELLED = "model"  # the word for drives of the kinds that the model and its side file say
FRICTION = ("viscous", "coulomb", "offset")
REVERSAL_WEIGHT = 0.1
AS_RECORDED = "pinocchio"  # the convention of free bases that is Steelyard's own, so that nothing is converted


@dataclass(frozen=True)
class Corrections:
    """What a log has wrong, in words; nothing by default. The same words are those of the command line."""

    unit: tuple[str, ...] = option(
        (),
        "Unit of t, q, v, a, tau, command, ...: q=deg, tau=mNm.",
        more="It counts over what the file says. A number is the step of what was counted: `t=0.005` of samples at "
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
        "velocity, see [free bases](logs.md#free-bases).",
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
        more="Also `tau:all=50`, `q:joint1=0.01` (with v and a), `command:joint1=0.01`, and `joint3=-1` for all.",
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
        "Added to a joint's position, rad or m.",
        metavar="JOINT=RAD",
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
        False, "Samples were taken at even times.", more="Whatever their stamps say.", scope=LOG, commands=READS
    )
    saturation: bool = option(
        False,
        "Leave out clipped torques, and keep them out of the filter.",
        more="What a fit expects stands in for them there, so that the filter mixes nothing wrong into neighbours.",
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


def in_memory(name: str) -> str:
    """The word of a job for a robot or a log that is in no file."""
    return f"<{name}>"


def is_in_memory(word: str) -> bool:
    """Whether a word of a job means no file."""
    return word.startswith("<") and word.endswith(">")


@dataclass(frozen=True)
class Job:
    """Everything that decides a run; stored in `summary.json`, so that the run can be repeated.

    model: file of the robot model; logs: files of recorded motion. `Option` of each other field says what it is.
    """

    model: str
    logs: tuple[str, ...]
    floating: bool | None = option(
        None,
        "Free or fixed base.",
        off="--fixed",
        scope=LOG,
        commands=(IDENTIFY, CONVERT),
        unset="as the model says",
    )
    gravity: tuple[float, float, float] | None = option(
        None,
        "In the world, m/s^2.",
        metavar="X Y Z",
        unit="m/s^2",
        scope=LOG,
        commands=(*READS, ANALYZE, CONVERT),
        unset="the model's, or 0 0 -9.81",
    )
    cutoff: float | None = option(
        None,
        "Low-pass cutoff; auto: from each log's spectrum; 0: v and a as recorded.",
        more="Of positions and torques; `auto` chooses that of positions ([filtering](filtering.md)).",
        metavar="HZ",
        unit="Hz",
        scope=LOG,
        commands=(*FITS, VALIDATE),
        auto=AUTO,
    )
    torque_cutoff: float | None = option(
        None,
        "Cutoff of torques.",
        more="With `auto`, at most a sixth of the rate.",
        metavar="HZ",
        unit="Hz",
        scope=LOG,
        commands=FITS,
        unset="--cutoff; with auto 10",
    )
    smoother: str = option(
        "butterworth",
        "What filters and differentiates: butterworth, kalman or savgol.",
        more="See [filtering](filtering.md).",
        metavar="NAME",
        choices=("butterworth", "kalman", "savgol"),
        scope=LOG,
        commands=FITS,
    )
    friction: tuple[str, ...] = option(
        FRICTION,
        f"Any of {','.join((*friction_terms(), *CHOSEN_FRICTION))} with commas, or none.",
        more="`stribeck` and `load`, friction that is more near standstill or grows with what a joint carries, are "
        "kept at the joints where cross-validation finds them.",
        metavar="TERMS",
        choices=(*friction_terms(), *CHOSEN_FRICTION),
        scope=LOG,
        commands=FITS,
        joined=True,
    )
    armature: bool = option(True, "Identify the motors' inertia too.", off="--no-armature", scope=LOG, commands=FITS)
    coupling: tuple[str, ...] = option(
        (),
        "Joints that share a motor, such as joint5+joint6.",
        more="By names with signs, also `joint5-0.5*joint6`. The motor's inertia and friction act on that combination "
        "of speeds.",
        metavar="JOINTS",
        scope=LOG,
        commands=(*FITS, ANALYZE),
        accepts="str | Mapping[str, float] | Sequence[str | Mapping[str, float] | Sequence[str]]",
    )
    springs: tuple[str, ...] = option(
        (),
        "Joint that a spring pulls to a rest position.",
        more="Its stiffness and rest are found; of a compensator, a torsion bar, a stiff cable.",
        metavar="JOINT",
        name="spring",
        scope=LOG,
        commands=(IDENTIFY,),
    )
    drive: tuple[str, ...] = option(
        (),
        f"What drives the joints: {', '.join(DRIVE_KINDS)}; JOINT=KIND.",
        more="Their commands are in the logs instead of torques. `model`: as its actuators and its side file say.",
        metavar="[JOINT=]KIND",
        scope=LOG,
        commands=(IDENTIFY, ANALYZE, VALIDATE, FLEET),
        accepts="str | Mapping[str, str] | Sequence[str]",
    )
    contacts: tuple[str, ...] = option(
        (),
        "Frames that touch the ground, with commas; auto, none.",
        more="Their flags are columns `contact_FRAME`, all of which are used by default. `auto` finds contacts from "
        "the speed of feet and their height above the ground, whose height and slope are found, too.",
        metavar="FRAMES",
        scope=LOG,
        commands=FITS,
        accepts="str | Sequence[str]",
    )
    rotors: bool = option(
        False,
        "Rotors of the side file are bodies.",
        more="With parameters of their own ([side file](side_file.md)).",
        scope=LOG,
        commands=(*FITS, CONVERT),
    )
    side: str | None = option(
        None,
        "Side file with rotors, loops and known facts.",
        more="`MODEL.steelyard.toml` is read when it is there: rotors for `--rotors`, [closed loops]"
        "(closed_loops.md), and what is known of links.",
        metavar="FILE.toml",
        scope=OUTPUT,
        commands=(*FITS, ANALYZE, CONVERT),
        unset="beside the model",
        path=True,
    )
    lock: tuple[str, ...] = option(
        (),
        "Joint that stands still, such as that of a gripper: finger=0.02.",
        more="Its position in rad or m; without one it is at zero, or at the limit nearest to it. Joints at the ends "
        "of the robot that no log has are locked there by themselves, and a note says so.",
        metavar="JOINT[=VALUE]",
        scope=LOG,
        commands=(IDENTIFY, FLEET, VALIDATE, INSPECT, ANALYZE, PAYLOAD),
    )
    folders: tuple[str, ...] = option(
        (),
        "Folder outside the model's own whose files it may name.",
        more="See [other files](#files-that-a-model-names).",
        metavar="DIR",
        name="folder",
        scope=OUTPUT,
        commands=(*READS, ANALYZE, CONVERT, CHECK, PAYLOAD, VIEW),
        path=True,
    )
    validation: float = option(
        0.3,
        "Share of every log held out.",
        more="At its end, in blocks; the first moments of it, which share a filter or slow errors with what was "
        "fitted, are in neither part.",
        metavar="SHARE",
        scope=LOG,
    )
    weight: float = option(
        1.0,
        "Weight of the nominal model as prior.",
        more="It decides what the data leaves open.",
        metavar="W",
        commands=FITS,
    )
    reversal_weight: float = option(
        REVERSAL_WEIGHT,
        "Weight of samples where a joint stands still; 1: as any other.",
        metavar="W",
        scope=LOG,
    )
    regularizer: str = option(
        "pullback",
        "Distance to the prior: pullback, entropic or euclidean.",
        metavar="NAME",
        choices=("pullback", "entropic", "euclidean"),
        commands=FITS,
    )
    within: str = option(
        "geometry",
        "Where mass can be: inside the geometry of its link, or anywhere (consistent).",
        more="`geometry` holds the mass of every link in an ellipsoid around its collision and visual geometry, unless "
        "the data contradicts that ([fitting](fitting.md)).",
        metavar="WORD",
        choices=("geometry", "consistent"),
    )
    masses: tuple[str, ...] = option(
        (),
        "Known mass; LINK1+LINK2=KG of several, all=KG.",
        more="`all` is everything that moves.",
        metavar="LINK=KG",
        name="mass",
        unit="kg",
        commands=(IDENTIFY, ANALYZE),
        accepts="Mapping | Sequence[str]",
    )
    fixed: tuple[str, ...] = option(
        (),
        "Keep the model's mass,com,inertia of a link, or all.",
        metavar="LINK=PARTS",
        name="fix",
        commands=(IDENTIFY, ANALYZE),
        accepts="Mapping | Sequence[str]",
    )
    tied: tuple[str, ...] = option(
        (),
        "Links that are equal, or mirror images.",
        more="In their frames, or mirrored along an axis: `LEFT=RIGHT:y`.",
        metavar="LEFT=RIGHT[:y]",
        name="tie",
        accepts="Sequence[Tied | str]",
    )
    channels: dict | None = option(
        None,
        "Which column is which signal: a TOML file, or JSON text in braces.",
        more="See [logs](logs.md).",
        metavar="FILE.toml",
        scope=LOG,
        commands=(*READS, PAYLOAD),
        accepts="Mapping | None",
    )
    corrections: Corrections = option(
        NOTHING,
        "Mistakes of the logs to undo: Corrections, or a table of the same words.",
        scope=LOG,
        commands=(*READS, PAYLOAD),
        accepts="Corrections | Mapping",
    )
    drive_gains: bool = option(False, "Torques are motor currents: find each drive's gain, too.")
    loads: tuple[str, ...] = option(
        (),
        "Log with a known load, for --drive-gains.",
        more="It fixes the scale of the gains.",
        metavar="LINK=KG:LOG",
        name="load",
    )
    accept: tuple[str, ...] = option(
        (),
        "Go on in spite of this fatal finding.",
        more="See [which](diagnosis.md#faults-with-a-name).",
        metavar="CODE",
        scope=LOG,
    )

    @property
    def columns(self) -> dict:
        """The options of `accumulate` and `layout_of` that say what is estimated beside the links."""
        names = ("armature", "coupling", "springs", "rotors")
        plain = tuple(term for term in self.friction if term not in CHOSEN_FRICTION)
        return {"friction": plain} | {name: getattr(self, name) for name in names}

    @property
    def chosen_friction(self) -> tuple[str, ...]:
        """Terms of friction that are kept only at joints where fits find them."""
        return tuple(term for term in self.friction if term in CHOSEN_FRICTION)

    @property
    def preparation(self) -> dict:
        """The options of `prepare`."""
        names = ("corrections", "cutoff", "torque_cutoff", "smoother", "coupling", "accept", "drive", "contacts")
        return {name: getattr(self, name) for name in names}

    def as_json(self) -> dict:
        return asdict(self)

    def of_logs(self) -> dict:
        """The options that decide the sums of a log, as JSON has them."""
        return {name: value for name, value in self.as_json().items() if name in _LOG}


_LOG = {name for name, (_, how) in options_of(Job).items() if how.scope == LOG}
