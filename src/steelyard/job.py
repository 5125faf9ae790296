"""What decides a run: `Job`. Each field says everything about its option once.

The command line, `sy.identify`, the command that repeats a run, the fingerprint of finished work, the schema of the
job in `summary.json` and the tables of `docs/command_line.md` are made of these fields. Loads no other library.
"""

from dataclasses import asdict, dataclass

from steelyard.corrections import NOTHING, Corrections
from steelyard.drive_kinds import DRIVE_KINDS
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
from steelyard.terms import friction_terms
from steelyard.weighed_columns import SHAPED_FRICTION

AS_MODELLED = "model"  # the word for drives of the kinds that the model and its side file say
FRICTION = ("viscous", "coulomb", "offset")
REVERSAL_WEIGHT = 0.02  # of samples at standstill, (noise / friction)^2: what sticks holds any torque within it


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
        more="Of positions and torques; `auto` chooses that of positions ([filters](logs.md#filters)).",
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
        "Filter and differentiator: butterworth, kalman or savgol.",
        more="See [filters](logs.md#filters).",
        metavar="NAME",
        choices=("butterworth", "kalman", "savgol"),
        scope=LOG,
        commands=FITS,
    )
    friction: tuple[str, ...] | None = option(
        None,
        f"Of {','.join((*friction_terms(), *SHAPED_FRICTION))}, or none.",
        more="`curve` is friction of any shape over speed, such as sticking, `load` friction that grows with what a "
        "joint carries; evidence decides how much of them there is.",
        metavar="TERMS",
        choices=(*friction_terms(), *SHAPED_FRICTION),
        scope=LOG,
        commands=FITS,
        joined=True,
        unset="all; in contact the first two",
        accepts="str | Sequence[str] | None",
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
        "Joint with a spring.",
        more="Stiffness and rest position are identified, of a compensator, a torsion bar or a stiff cable.",
        metavar="JOINT",
        name="spring",
        scope=LOG,
        commands=(IDENTIFY,),
    )
    drive: tuple[str, ...] = option(
        (),
        f"Drive kind of all joints: {', '.join(DRIVE_KINDS)}; JOINT=KIND.",
        more="Their commands are in the logs instead of torques. `model`: as its actuators and its side file say.",
        metavar="[JOINT=]KIND",
        scope=LOG,
        commands=(IDENTIFY, ANALYZE, VALIDATE, FLEET),
        accepts="str | Mapping[str, str] | Sequence[str]",
    )
    start: str | None = option(
        None,
        "Earlier result of drives to start from.",
        more="Its folder, such as that of a robot on a stand, or the model file in it: drives, friction and bodies of "
        "the same names.",
        metavar="RESULT",
        path=True,
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
    arguments: tuple[str, ...] = option(
        (),
        "Argument of a xacro model, such as ur_type=ur5e; model=NAME of an SDF with several robots.",
        more="One with a default may be left out.",
        metavar="NAME=VALUE",
        name="arg",
        scope=LOG,
        commands=(*READS, ANALYZE, CONVERT, CHECK, PAYLOAD, VIEW),
        accepts="Mapping[str, object] | Sequence[str]",
    )
    validation: float = option(
        0.3,
        "Share of every log held out.",
        more="At its end, in blocks; the first moments of it, which share a filter or slow errors with what was "
        "fitted, are in neither part.",
        metavar="SHARE",
        scope=LOG,
    )
    within: str = option(
        "consistent",
        "Volume of the mass: consistent (anywhere), or geometry of the link.",
        more="`geometry` holds the mass of every link in an ellipsoid around its collision and visual geometry "
        "([volumes](known.md#volumes)).",
        metavar="WORD",
        choices=("consistent", "geometry"),
    )
    masses: tuple[str, ...] = option(
        (),
        "Known mass; LINK1+LINK2=KG of several, all=KG.",
        more="`all` is all moving links.",
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
        "Columns of the signals: a TOML file, or JSON text in braces.",
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
        more="See [which](troubleshooting.md).",
        metavar="CODE",
        scope=LOG,
    )

    @property
    def columns(self) -> dict:
        """The options of `accumulate` and `layout_of` that say what is estimated beside the links."""
        names = ("armature", "coupling", "springs", "rotors")
        return {"friction": self.plain_friction} | {name: getattr(self, name) for name in names}

    @property
    def plain_friction(self) -> tuple[str, ...]:
        """Terms of friction that all joints have. Raises OptionError for unknown ones."""
        known = (*friction_terms(), *SHAPED_FRICTION)
        if unknown := [term for term in self.friction or () if term not in known]:
            raise OptionError(f"Unknown friction term '{unknown[0]}'. Choose from {choices(known)}, or none.")
        return FRICTION if self.friction is None else tuple(x for x in self.friction if x not in SHAPED_FRICTION)

    @property
    def shaped_friction(self) -> tuple[str, ...]:
        """Terms of friction of which evidence decides how much there is."""
        return tuple(term for term in SHAPED_FRICTION if self.friction is None or term in self.friction)

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
