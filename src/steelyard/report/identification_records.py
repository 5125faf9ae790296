"""The layout of the summary of an identification: one typed record an object, as `summary_basics` says."""

from typing import Annotated, Literal, NotRequired, TypedDict

from steelyard.report.summary_basics import (
    Count,
    Matrix,
    NonNegative,
    OfAJob,
    Quantiles,
    Theta,
    Unknowable,
    UnknowableMatrix,
    Vector,
)
from steelyard.report.typed_schema import Size, further

Label = Annotated[
    Literal["data-determined", "model-dependent", "prior-determined", "unidentifiable", "given"],
    "What determines the value.",
]
Knowledge = Annotated[
    list[Literal["data", "combination", "model"]],
    Size(10, 10),
    "What any motion of the robot can show of a parameter, for each of theta.",
]


class Robot(TypedDict):
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
    identifiable: Annotated[Count, "Combinations that torques can show."]
    weak_directions: list[str]
    physically_consistent: bool
    binding: Annotated[list[str], "What is known and holds the estimate back."]
    certificate: dict[str, float | bool | str | None] | None


class HeldOutJoint(TypedDict):
    name: str
    unit: Annotated[str, "SI unit of the numbers beside it."]
    torque_rms: float
    rms_before: float
    rms_after: float
    relative_before: Unknowable
    relative_after: Unknowable
    noise: Annotated[Unknowable, "Residual in the fit."]
    quantiles_before: Quantiles
    quantiles_after: Quantiles


class HeldOut(TypedDict):
    samples: Count
    relative_error_before: Unknowable
    relative_error_after: Unknowable
    joints: Annotated[list[HeldOutJoint], Size(1)]


class Prediction(TypedDict):
    name: str
    met: NonNegative
    expected: NonNegative


class Generalization(TypedDict):
    fitted: NonNegative
    held_out: Prediction
    parts: list[Prediction]


class Unknown(TypedDict):
    kind: Literal["weak", "combined", "unseen"]
    names: list[str]
    why: str
    remedy: str
    command: str


class Body(TypedDict):
    mass: Annotated[float, "kg"]
    com: Annotated[Vector | None, "Centre of mass in the body frame, m; null without mass."]
    inertia: Annotated[Matrix | None, "About the centre of mass, body axes, kg m^2; null without mass."]
    theta: Annotated[Theta, "[m, hx, hy, hz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz] about the body frame's origin."]


class SpinningBody(Body):
    spin_inertia: Annotated[float, "Moment of inertia about the rotor's axis, at the motor, kg m^2."]


class BodyEstimate(TypedDict):
    name: str
    links: list[str]
    prior: Body
    identified: Body
    knowledge: Knowledge
    smallest_eigenvalue: Annotated[float, "Of the pseudo-inertia."]
    center_covariance: Annotated[
        UnknowableMatrix | None, "Of the identified centre of mass, body frame, m^2; null where unknown."
    ]


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
    unit: Annotated[str, "SI unit of the numbers beside it."]
    identified: float
    deviation: Unknowable
    lower: Unknowable
    upper: Unknowable
    label: Label


class Value(Interval):
    prior: Unknowable


@further(Value)
class JointTerms(TypedDict):
    name: str
    viscous: NotRequired[Value]
    coulomb: NotRequired[Value]
    offset: NotRequired[Value]
    armature: NotRequired[Value]


class Nuisance(TypedDict):
    value: float
    deviation: float
    unit: Annotated[str, "SI unit of the numbers beside it."]
    certain: Annotated[bool, "Whether it is there beyond doubt."]


class Coupling(Interval):
    name: str
    term: str
    ratios: dict[str, float]


class Parameter(Value):
    name: str


class BaseParameter(Value):
    name: Annotated[str, "Of the leading parameter."]
    degrees: Annotated[Unknowable, "Degrees of freedom of the deviation."]
    relative_deviation: Annotated[Unknowable, "Deviation over natural size."]
    uncertain: bool
    effect: NotRequired[
        Annotated[float, "RMS torque that the change from the nominal value makes, over that of the logs."]
    ]
    regroups: Annotated[list[tuple[float, str]], "Coefficient and name of every parameter in the combination."]


class Dependence(TypedDict):
    share: Unknowable
    chance: Unknowable


@further(Unknowable)
class Contributions(TypedDict):
    gravity: Unknowable
    motion: Unknowable
    rotors: Unknowable
    armature: Unknowable
    viscous: Unknowable
    coulomb: Unknowable
    offset: Unknowable
    extras: Unknowable


class JointResidual(TypedDict):
    name: str
    relative_error: Unknowable
    time_constant: Annotated[Unknowable, "s"]
    depends: dict[str, Dependence]
    reversal: Unknowable
    hints: list[str]
    contributions: Annotated[Contributions, "Share of each effect in the RMS torque."]


class Diagnosis(TypedDict):
    faults: Annotated[list[str], "Codes; the faults are among the findings."]
    joints: list[JointResidual]


class Uncertainty(TypedDict):
    level: float
    blocks: Count
    inflation: Unknowable
    draws: Count
    labels: dict[Label, Count]


class Signal(TypedDict):
    channel: Literal["q", "v", "a", "tau"]
    joint: str
    smallest: float
    largest: float
    rms: float
    noise: Unknowable
    quantum: Unknowable


class JointMotion(TypedDict):
    joint: str
    span: float
    speed: float
    acceleration: float
    moving: float
    reversals: Count
    tenths: Annotated[list[Annotated[float, Size(0)]], "RMS speed in each tenth of the log, over that of the whole."]


class Health(TypedDict):
    name: str
    samples: Count
    duration: Annotated[float, "s"]
    rate: Annotated[float, "Hz"]
    jitter: Annotated[Unknowable, "Spread of the time steps over their mean."]
    gaps: Annotated[list[Annotated[list[float], Size(2, 2)]], "Start and length, s."]
    cutoff: Annotated[Unknowable, "Hz that the spectrum asks for."]
    torque_cutoff: NotRequired[
        Annotated[
            Unknowable,
            "Hz, of torques where the spectrum chooses the cutoff; not in results of the first programs.",
        ]
    ]
    signals: list[Signal]
    motion: list[JointMotion]


class Identification(OfAJob):
    """summary.json of steelyard identify"""

    kind: Literal["identification"]
    robot: Robot
    fit: Fit
    held_out: Annotated[HeldOut, "Torque errors on samples that the fit has not seen."]
    generalization: NotRequired[
        Annotated[
            Generalization,
            "How far the fit reaches beyond its own samples; errors over torque. fitted: of the estimate on the "
            "samples that were fitted. held_out and parts (each log, or each quarter of a single log, predicted by a "
            "fit to the rest): error met, and error that noise and covariance lead to expect.",
        ]
    ]
    unknown: Annotated[list[Unknown], "What could not be known, why, and what would show it."]
    bodies: list[BodyEstimate]
    joints: Annotated[list[JointTerms], "Friction and armature of each degree of freedom, by term."]
    couplings: list[Coupling]
    nuisances: NotRequired[Annotated[dict[str, Nuisance], "Mistakes of the logs beside links and friction, by name."]]
    rotors: list[RotorEstimate]
    parameters: list[Parameter]
    base_parameters: Annotated[list[BaseParameter], "Identifiable combinations."]
    diagnosis: Diagnosis
    uncertainty: Uncertainty
    health: Annotated[list[Health], "Each log as it was recorded."]
