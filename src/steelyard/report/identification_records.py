"""The layout of summaries: one typed record an object; what all share, and the summary of an identification.

SI units; no number is NaN or infinite (null instead).
"""

from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta

from steelyard.decisions.fit_plan import Decision
from steelyard.job import Job
from steelyard.pipeline.inspection import RecordedMotion, Signal
from steelyard.report.document import Question


def told(text: str) -> Meta:
    """What a key is."""
    return Meta(description=text)


def size(least: int, most: int | None = None) -> Meta:
    """Number of items of a list."""
    return Meta(min_length=least, max_length=most)


Unknowable = float | None
NonNegative = Annotated[float, Meta(ge=0)] | None
Count = Annotated[int, Meta(ge=0)]
Vector = Annotated[list[float], size(3, 3)]
Matrix = Annotated[list[Vector], size(3, 3)]
UnknowableVector = Annotated[list[Unknowable], size(3, 3)]
UnknowableMatrix = Annotated[list[UnknowableVector], size(3, 3)]
Wrench = Annotated[list[float], size(6, 6)]
Theta = Annotated[list[float], size(10, 10)]
Unit = Annotated[str, told("SI unit of the numbers beside it.")]
Quantiles = Annotated[list[float], size(5, 5), told("5, 25, 50, 75, 95 % quantiles of the error.")]

Level = Annotated[
    Literal["good", "care", "keep"],
    told("good: use it; care: look at the reasons first; keep: keep the nominal model."),
]


class FirstScreen(TypedDict):
    level: Level
    headline: str
    advice: str
    reasons: list[str]
    answers: list[Question]
    expected_error: NotRequired[Annotated["dict[str, Expected] | None", told("Torque error of links in ordinary use.")]]


class Expected(TypedDict):
    value: NonNegative
    lower: NonNegative
    upper: NonNegative


class FindingRecord(TypedDict):
    code: str
    severity: Literal["fatal", "warning", "info"]
    message: str
    joint: NotRequired[str | None]
    evidence: NotRequired[dict[str, Unknowable]]
    remedy: NotRequired[str]
    options: NotRequired[Annotated[list[str], told("What to add to the command.")]]


class Input(TypedDict):
    role: str
    path: str
    bytes: Count
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class Provenance(TypedDict):
    created: Annotated[str, told("Time of the run, ISO 8601, UTC.")]
    python: str
    platform: str
    packages: dict[str, str | None]
    folder: Annotated[str, told("Where relative paths start.")]
    inputs: list[Input]


class Summary(TypedDict):
    schema_version: Annotated[Literal[1], told("Version of this layout; it changes whenever a key does.")]
    verdict: Annotated[FirstScreen, told("The first screen of the report.")]
    out: str | None
    files: list[str]


class Stamped(Summary):
    command: Annotated[str, told("Repeats the run.")]
    provenance: Provenance


class Range(TypedDict):
    group: Annotated[str, told("mass_scale, center_offset, moment_scale, or a number of ground, joints or drives.")]
    name: Annotated[str, told("Of the body (and axis), or of the joint, or ground.")]
    unit: str
    lower: Annotated[float, told("5 % of the samples in draws.npz lie below, or the value of the model file.")]
    upper: float
    source: Annotated[Literal["identified", "prior", "given"], told("What the range rests on.")]


class OfAJob(Stamped):
    randomisation: NotRequired[Annotated[list[Range], told("Ranges to randomise simulations in.")]]
    findings: list[FindingRecord]
    notes: list[str]
    job: Annotated[Job, told("Every option of the run.")]


Label = Annotated[
    Literal["data-determined", "model-dependent", "prior-determined", "unidentifiable", "given"],
    told("What determines the value."),
]
Knowledge = Annotated[
    list[Literal["data", "combination", "model"]],
    size(10, 10),
    told("What any motion of the robot can show of a parameter, for each of theta."),
]


class RobotRecord(TypedDict):
    name: str
    bodies: list[str]
    joints: list[str]
    degrees_of_freedom: Count
    floating: bool
    gravity: Vector
    missing_inertials: list[str]


class Fit(TypedDict):
    method: str
    status: str
    status_text: str
    samples: Count
    parameters: Count
    identifiable: Annotated[Count, told("Combinations that torques can show.")]
    weak_directions: list[str]
    physically_consistent: bool
    binding: Annotated[list[str], told("What is known and holds the estimate back.")]
    certificate: dict[str, float | bool | str | None] | None


class HeldOutJoint(TypedDict):
    name: str
    unit: Unit
    torque_rms: float
    rms_before: float
    rms_after: float
    relative_before: Unknowable
    relative_after: Unknowable
    noise: Annotated[Unknowable, told("Residual in the fit.")]
    quantiles_before: Quantiles
    quantiles_after: Quantiles


class HeldOutErrors(TypedDict):
    samples: Count
    relative_error_before: Unknowable
    relative_error_after: Unknowable
    joints: Annotated[list[HeldOutJoint], size(1)]


class PredictionRecord(TypedDict):
    name: str
    met: NonNegative
    expected: NonNegative


class GeneralizationRecord(TypedDict):
    fitted: NonNegative
    held_out: PredictionRecord
    parts: list[PredictionRecord]


class Unknown(TypedDict):
    kind: Literal["weak", "combined", "unseen"]
    names: list[str]
    why: str
    remedy: str
    command: str


class BodyRecord(TypedDict):
    mass: Annotated[float, told("kg")]
    com: Annotated[Vector | None, told("Centre of mass in the body frame, m; null without mass.")]
    inertia: Annotated[Matrix | None, told("About the centre of mass, body axes, kg m^2; null without mass.")]
    theta: Annotated[Theta, told("[m, hx, hy, hz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz] about the body frame's origin.")]


class SpinningBody(BodyRecord):
    spin_inertia: Annotated[float, told("Moment of inertia about the rotor's axis, at the motor, kg m^2.")]


class BodyEstimate(TypedDict):
    name: str
    links: list[str]
    prior: BodyRecord
    identified: BodyRecord
    knowledge: Knowledge
    smallest_eigenvalue: Annotated[float, told("Of the pseudo-inertia.")]
    center_covariance: Annotated[UnknowableMatrix | None, told("Of the identified centre of mass, body frame, m^2.")]


class RotorEstimate(TypedDict):
    name: str
    joint: str
    carrier: str | None
    gear_ratio: float
    prior: SpinningBody
    identified: SpinningBody
    knowledge: Knowledge
    smallest_eigenvalue: float


class Interval(TypedDict):
    unit: Unit
    identified: float
    deviation: Unknowable
    lower: Unknowable
    upper: Unknowable
    label: Label


class Value(Interval):
    prior: Unknowable


class NuisanceRecord(TypedDict):
    value: float
    deviation: float
    unit: Unit
    certain: Annotated[bool, told("Whether it is there beyond doubt.")]


class Coupling(Interval):
    name: str
    term: str
    ratios: dict[str, float]


class Parameter(Value):
    name: str


class BaseParameter(Value):
    name: Annotated[str, told("Of the leading parameter.")]
    degrees: Annotated[Unknowable, told("Degrees of freedom of the deviation.")]
    relative_deviation: Annotated[Unknowable, told("Deviation over natural size.")]
    uncertain: bool
    effect: NotRequired[
        Annotated[float, told("RMS torque that the change from the nominal value makes, over that of the logs.")]
    ]
    regroups: Annotated[list[tuple[float, str]], told("Coefficient and name of every parameter in the combination.")]


class DependenceRecord(TypedDict):
    share: Unknowable
    chance: Unknowable


class JointResidualRecord(TypedDict):
    name: str
    relative_error: Unknowable
    time_constant: Annotated[Unknowable, told("s")]
    depends: dict[str, DependenceRecord]
    reversal: Unknowable
    hints: list[str]
    contributions: Annotated[dict[str, Unknowable], told("Share of each effect in the RMS torque.")]


class DiagnosisRecord(TypedDict):
    faults: Annotated[list[str], told("Codes; the faults are among the findings.")]
    joints: list[JointResidualRecord]


class UncertaintyRecord(TypedDict):
    level: float
    blocks: Count
    inflation: Unknowable
    draws: Count
    labels: dict[Label, Count]


class Health(TypedDict):
    name: str
    samples: Count
    duration: Annotated[float, told("s")]
    rate: Annotated[float, told("Hz")]
    jitter: Annotated[Unknowable, told("Spread of the time steps over their mean.")]
    gaps: Annotated[list[Annotated[list[float], size(2, 2)]], told("Start and length, s.")]
    cutoff: Annotated[Unknowable, told("Hz that the spectrum asks for.")]
    torque_cutoff: NotRequired[Annotated[Unknowable, told("Hz, of torques; not in results of the first programs.")]]
    signals: list[Signal]
    motion: list[RecordedMotion]


class Identification(OfAJob):
    """summary.json of steelyard identify"""

    kind: Literal["identification"]
    robot: RobotRecord
    fit: Fit
    held_out: Annotated[HeldOutErrors, told("Torque errors on samples that the fit has not seen.")]
    generalization: NotRequired[
        Annotated[GeneralizationRecord, told("Errors over torque, of fitted samples and of others.")]
    ]
    unknown: Annotated[list[Unknown], told("What was not identified, why, and what would identify it.")]
    bodies: list[BodyEstimate]
    joints: Annotated[list[dict[str, str | Value]], told("Name, friction and armature of each degree of freedom.")]
    couplings: list[Coupling]
    nuisances: NotRequired[
        Annotated[dict[str, NuisanceRecord], told("Mistakes of the logs beside links and friction, by name.")]
    ]
    rotors: list[RotorEstimate]
    parameters: list[Parameter]
    base_parameters: Annotated[list[BaseParameter], told("Identifiable combinations.")]
    diagnosis: DiagnosisRecord
    uncertainty: UncertaintyRecord
    health: Annotated[list[Health], told("Each log as it was recorded.")]
    decided: NotRequired[Annotated[list[Decision], told("Decisions between logs and fit.")]]
