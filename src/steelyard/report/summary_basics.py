"""What the records of all summaries share: their types of numbers, the first screen, findings and provenance.

SI units; no number is NaN or infinite (null instead). The text beside a type describes its key.
"""

from typing import Annotated, Literal, NotRequired, TypedDict

from steelyard.job import Job
from steelyard.report.typed_schema import Keys, Pattern, Size

SCHEMA_VERSION = 1
# Of a job, what reports of a stored result need: an earlier program may lack options that came later.
READ_BACK = ("model", "logs", "floating", "gravity", "side", "rotors")

Unknowable = float | None
NonNegative = Annotated[Unknowable, Size(0)]
Count = Annotated[int, Size(0)]
Vector = Annotated[list[float], Size(3, 3)]
Matrix = Annotated[list[Vector], Size(3, 3)]
UnknowableVector = Annotated[list[Unknowable], Size(3, 3)]
UnknowableMatrix = Annotated[list[UnknowableVector], Size(3, 3)]
Wrench = Annotated[list[float], Size(6, 6)]
Theta = Annotated[list[float], Size(10, 10)]
Quantiles = Annotated[list[float], Size(5, 5), "5, 25, 50, 75, 95 % quantiles of the error."]

Level = Annotated[
    Literal["good", "care", "keep"], "good: use it; care: look at the reasons first; keep: keep the nominal model."
]


class Answer(TypedDict):
    question: str
    answer: str
    detail: str


class Verdict(TypedDict):
    level: Level
    headline: str
    advice: str
    reasons: list[str]
    answers: list[Answer]
    expected_error: NotRequired[
        Annotated[
            "ExpectedErrors | None",
            "Torque error of links over torque in ordinary use; null where there is none, as of closed loops.",
        ]
    ]


class Expected(TypedDict):
    value: NonNegative
    lower: NonNegative
    upper: NonNegative


class ExpectedErrors(TypedDict):
    given: Expected
    written: Expected


class Finding(TypedDict):
    code: str
    severity: Literal["fatal", "warning", "info"]
    message: str
    joint: NotRequired[str | None]
    evidence: NotRequired[dict[str, Unknowable]]
    remedy: NotRequired[str]
    options: NotRequired[Annotated[list[str], "What to add to the command."]]


class Input(TypedDict):
    role: str
    path: str
    bytes: Count
    sha256: Annotated[str, Pattern("^[0-9a-f]{64}$")]


class Provenance(TypedDict):
    created: Annotated[str, "Time of the run, ISO 8601, UTC."]
    python: str
    platform: str
    packages: dict[str, str | None]
    folder: Annotated[str, "Where relative paths start."]
    inputs: list[Input]


class Summary(TypedDict):
    schema_version: Annotated[Literal[1], "Version of this layout; it changes whenever a key does."]
    verdict: Annotated[Verdict, "The first screen of the report."]
    out: str | None
    files: list[str]


class Stamped(Summary):
    command: Annotated[str, "Repeats the run."]
    provenance: Provenance


class Range(TypedDict):
    group: Annotated[
        str,
        "mass_scale, center_offset, friction and time_constant of the ground, or a number of joints or drives such as "
        "damping, gain, delay.",
    ]
    name: Annotated[str, "Of the body (and axis), or of the joint, or ground."]
    unit: str
    lower: Annotated[
        float, "5 % of the samples of the posterior in draws.npz lie below, or the value of the model file."
    ]
    upper: float
    source: Annotated[
        Literal["identified", "prior", "given"],
        "prior: the range rests on the prior about the given model; given: known or kept, and not varied.",
    ]


class OfAJob(Stamped):
    randomisation: NotRequired[Annotated[list[Range], "Ranges to randomise simulations in."]]
    findings: list[Finding]
    notes: list[str]
    job: Annotated[Job, Keys(READ_BACK, filled=("logs",)), "Every option of the run."]
