"""The layout of the summary of each kind, as `summary_basics` says: drives, payloads and comparisons in this file."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from steelyard.report.identification_records import Identification
from steelyard.report.summary_basics import (
    Count,
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
)
from steelyard.report.typed_schema import Size, further


class DrivenRobot(TypedDict):
    name: str
    joints: list[str]
    bodies: list[str]


class DriveNumber(TypedDict):
    value: Unknowable
    lower: Annotated[Unknowable, "95 % interval."]
    upper: Unknowable
    unit: str
    state: Literal["found", "stated", "undetermined"]
    scaled: Annotated[bool, "Whether it counts in masses of the given model."]


@further(DriveNumber)
class DriveNumbers(TypedDict):
    kind: Literal["position", "velocity", "voltage", "current", "torque"]


class Scale(TypedDict):
    lines: Annotated[list[str], Size(1), "What says the scale, and what would."]
    open: Annotated[list[str], "Joints whose numbers count in masses of the given model."]


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


class Proven(TypedDict):
    beyond: Annotated[bool, "Whether the faster part was predicted; if not, the range is that of the slower part."]
    joints: Annotated[
        list[ProvenJoint],
        "Speeds and accelerations up to which predictions hold, and the speed of the slower part: unit per s, unit per "
        "s^2.",
    ]
    motion: Annotated[list[MotionError], Size(1), "Errors on the faster part, as of motion."]
    intervals: NotRequired[Annotated[bool, "Whether intervals and draws hold the truth as often as they say."]]


class DrivenBody(TypedDict):
    name: str
    prior: Annotated[float, "kg"]
    mass: Annotated[float, "kg"]


class GroundNumber(TypedDict):
    value: float
    lower: Annotated[float, "95 % interval."]
    upper: float


class Ground(TypedDict):
    friction: Annotated[GroundNumber, "Coefficient of sliding."]
    time_constant: Annotated[GroundNumber, "Of the springs that MuJoCo makes of contacts, s."]
    written: Annotated[bool, "Whether the floor of the written model says so."]


class HeldOutMotion(TypedDict):
    samples: Count
    window: Annotated[float, "s"]
    step: Annotated[float, "Of the simulation, s."]


class Drives(OfAJob):
    """summary.json of steelyard identify --drive"""

    kind: Literal["drives"]
    robot: DrivenRobot
    drives: Annotated[dict[str, DriveNumbers], "By joint: its kind, and of each number what was found or stated."]
    scale: Scale
    motion: Annotated[
        list[MotionErrors],
        Size(1),
        "Root mean square errors of motion on held-out samples, rad or m; null where a model is unstable.",
    ]
    proven: Annotated[
        Proven,
        "Motion faster than what was fitted: fitted to the slower part of the logs, judged on their faster part.",
    ]
    bodies: list[DrivenBody]
    ground: NotRequired[Annotated[Ground, "Contacts of feet, of a robot that walks."]]
    held_out: HeldOutMotion


class PayloadEstimate(TypedDict):
    method: str
    why: str
    status: str
    status_text: str
    frame: NotRequired[Annotated[str, "Link in whose axes, at whose origin the parameters are."]]
    mass: Annotated[float, "kg"]
    mass_deviation: Unknowable
    com: Annotated[UnknowableVector, "Centre of mass in `frame`, m."]
    com_deviation: UnknowableVector
    inertia: Annotated[UnknowableMatrix, "About the centre of mass, axes of `frame`, kg m^2."]
    inertia_deviation: UnknowableMatrix
    theta: Theta
    consistent: bool
    samples: Count
    noise: Annotated[list[float], "Residual deviation: force [N] and torque [N m], or one a joint."]
    bias: Wrench | None
    drift: Annotated[Wrench | None, "Growth of the bias, N/s and N m/s."]
    drift_deviation: Wrench | None
    findings: list[str]
    notes: list[str]


class Channel(TypedDict):
    name: str
    unit: str
    rms: float
    rms_error: float
    relative_error: Unknowable
    quantiles: Quantiles


@further(Any)
class PayloadJob(TypedDict):
    log: str


class Payload(Stamped):
    """summary.json of steelyard payload"""

    kind: Literal["payload"]
    payload: PayloadEstimate
    channels: Annotated[list[Channel], Size(1), "Measured signals and how well the payload explains them."]
    relative_error: Annotated[Unknowable, "Of all channels together, each weighted by its noise."]
    randomisation: NotRequired[Annotated[list[Range], "Ranges to randomise simulations in."]]
    export: Annotated[dict[str, str], "Settings for controllers and files, by format."]
    job: Annotated[PayloadJob, "Every option of the run."]


class Run(TypedDict):
    name: str
    folder: str
    kind: Literal["identification", "payload"]
    subject: Annotated[str, "Robot, or log of the payload."]
    created: str
    method: str
    samples: Count
    level: Level
    error: Annotated[Unknowable, "Relative error: held out, or of the payload's wrench."]
    error_before: Annotated[Unknowable, "Of the nominal model."]
    command: str


class JointErrors(TypedDict):
    name: str
    unit: str
    relative_errors: Annotated[list[Unknowable], "One a run; null where it has no such joint."]


class ComparedValue(TypedDict):
    name: str
    unit: str
    estimates: list[Unknowable]
    deviations: list[Unknowable]
    pooled: Unknowable
    spread: Unknowable
    predicted: Unknowable
    probability: Annotated[Unknowable, "Of differing so much by chance."]
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


class Comparison(Summary):
    """summary.json of steelyard report A B ..."""

    kind: Literal["comparison"]
    runs: Annotated[list[Run], Size(2)]
    joints: Annotated[list[JointErrors], "Held-out errors over torque."]
    values: Annotated[list[ComparedValue], "Numbers that every run determines from its own data."]
    ratio: Annotated[Unknowable, "Spread over predicted spread; about 1 when runs repeat."]
    masses: list[ComparedMass]


SUMMARIES = {"identification": Identification, "drives": Drives, "payload": Payload, "comparison": Comparison}
