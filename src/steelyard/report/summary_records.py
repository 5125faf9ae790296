"""The layout of the summary of each kind, as `identification_records` says: drives, payloads and comparisons here."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from steelyard.drive_kinds import DRIVE_KINDS, DRIVE_NUMBERS
from steelyard.report.identification_records import (
    Count,
    Expected,
    Identification,
    Level,
    OfAJob,
    Quantiles,
    Range,
    Stamped,
    Summary,
    Theta,
    Unknowable,
    UnknowableMatrix,
    UnknowableVector,
    Wrench,
    size,
    told,
)


class DrivenRobot(TypedDict):
    name: str
    joints: list[str]
    bodies: list[str]


class DriveNumberRecord(TypedDict):
    value: Unknowable
    lower: Annotated[Unknowable, told("95 % interval.")]
    upper: Unknowable
    unit: str
    state: Literal["found", "stated", "undetermined"]
    scaled: Annotated[bool, told("Whether it counts in masses of the given model.")]


DriveNumbers = TypedDict(  # type: ignore[misc]  # keys of a table, which checkers of types cannot follow
    "DriveNumbers", {"kind": Literal[*DRIVE_KINDS]} | dict.fromkeys(DRIVE_NUMBERS, NotRequired[DriveNumberRecord])
)


class ScaleRecord(TypedDict):
    lines: Annotated[list[str], size(1), told("What says the scale, and what would.")]
    open: Annotated[list[str], told("Joints whose numbers count in masses of the given model.")]


class MotionError(TypedDict):
    name: str
    windows: Unknowable
    whole: Unknowable


class JointMotionError(MotionError):
    unit: str


class MotionErrors(MotionError):
    joints: list[JointMotionError]


class ProvenJoint(TypedDict):
    name: str
    unit: str
    speed: float
    acceleration: float
    fitted_speed: float


class ProvenRecord(TypedDict):
    beyond: Annotated[bool, told("Whether the faster part was predicted; if not, the range is the slower part's.")]
    joints: Annotated[list[ProvenJoint], told("Speeds and accelerations up to which predictions hold.")]
    motion: Annotated[list[MotionError], size(1), told("Errors on the faster part, as of motion.")]
    intervals: NotRequired[Annotated[bool, told("Whether intervals and draws hold the truth as often as they say.")]]


class DrivenBody(TypedDict):
    name: str
    prior: Annotated[float, told("kg")]
    mass: Annotated[float, told("kg")]


class GroundRecord(TypedDict):
    friction: Annotated[Expected, told("Coefficient of sliding.")]
    time_constant: Annotated[Expected, told("Of the springs that MuJoCo makes of contacts, s.")]
    written: Annotated[bool, told("Whether the floor of the written model says so.")]


class HeldOutMotion(TypedDict):
    samples: Count
    window: Annotated[float, told("s")]
    step: Annotated[float, told("Of the simulation, s.")]


class Drives(OfAJob):
    """summary.json of steelyard identify --drive"""

    kind: Literal["drives"]
    robot: DrivenRobot
    drives: Annotated[dict[str, DriveNumbers], told("By joint: kind, and its numbers.")]
    scale: ScaleRecord
    motion: Annotated[list[MotionErrors], size(1), told("RMS errors of held-out motion; null: a model is unstable.")]
    proven: Annotated[
        ProvenRecord, told("Motion faster than what was fitted, of a fit to the slower part of the logs.")
    ]
    bodies: list[DrivenBody]
    ground: NotRequired[Annotated[GroundRecord, told("Contacts of feet, of a robot that walks.")]]
    held_out: HeldOutMotion


class PayloadEstimate(TypedDict):
    method: str
    why: str
    status: str
    status_text: str
    frame: NotRequired[Annotated[str, told("Link in whose axes, at whose origin the parameters are.")]]
    mass: Annotated[float, told("kg")]
    mass_deviation: Unknowable
    com: Annotated[UnknowableVector, told("Centre of mass in `frame`, m.")]
    com_deviation: UnknowableVector
    inertia: Annotated[UnknowableMatrix, told("About the centre of mass, axes of `frame`, kg m^2.")]
    inertia_deviation: UnknowableMatrix
    theta: Theta
    consistent: bool
    samples: Count
    noise: Annotated[list[float], told("Residual deviation: force [N] and torque [N m], or one a joint.")]
    bias: Wrench | None
    drift: Annotated[Wrench | None, told("Growth of the bias, N/s and N m/s.")]
    drift_deviation: Wrench | None
    findings: list[str]
    notes: list[str]


class ChannelRecord(TypedDict):
    name: str
    unit: str
    rms: float
    rms_error: float
    relative_error: Unknowable
    quantiles: Quantiles


class PayloadRecord(Stamped):
    """summary.json of steelyard payload"""

    kind: Literal["payload"]
    payload: PayloadEstimate
    channels: Annotated[list[ChannelRecord], size(1), told("Measured signals and how well the payload explains them.")]
    relative_error: Annotated[Unknowable, told("Of all channels together, each weighted by its noise.")]
    randomisation: NotRequired[Annotated[list[Range], told("Ranges to randomise simulations in.")]]
    export: Annotated[dict[str, str], told("Settings for controllers and files, by format.")]
    job: Annotated[dict[str, Any], told("Every option of the run.")]


class RunRecord(TypedDict):
    name: str
    folder: str
    kind: Literal["identification", "payload"]
    subject: Annotated[str, told("Robot, or log of the payload.")]
    created: str
    method: str
    samples: Count
    level: Level
    error: Annotated[Unknowable, told("Relative error: held out, or of the payload's wrench.")]
    error_before: Annotated[Unknowable, told("Of the nominal model.")]
    command: str


class JointErrors(TypedDict):
    name: str
    unit: str
    relative_errors: Annotated[list[Unknowable], told("One a run; null where it has no such joint.")]


class ComparedValue(TypedDict):
    name: str
    unit: str
    estimates: list[Unknowable]
    deviations: list[Unknowable]
    pooled: Unknowable
    spread: Unknowable
    predicted: Unknowable
    probability: Annotated[Unknowable, told("Of differing so much by chance.")]
    outlier: str
    differs: bool


class MassInterval(TypedDict):
    value: float
    lower: Unknowable
    upper: Unknowable
    label: str


class ComparedMass(TypedDict):
    name: str
    runs: list[MassInterval | None]


class ComparisonRecord(Summary):
    """summary.json of steelyard report A B ..."""

    kind: Literal["comparison"]
    runs: Annotated[list[RunRecord], size(2)]
    joints: Annotated[list[JointErrors], told("Held-out errors over torque.")]
    values: Annotated[list[ComparedValue], told("Numbers that every run determines from its own data.")]
    ratio: Annotated[Unknowable, told("Spread over predicted spread; about 1 when runs repeat.")]
    masses: list[ComparedMass]


SUMMARIES = {
    "identification": Identification,
    "drives": Drives,
    "payload": PayloadRecord,
    "comparison": ComparisonRecord,
}
