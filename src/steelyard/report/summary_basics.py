"""What the records of all summaries share: their types of numbers, the first screen, findings and provenance.

SI units; no number is NaN or infinite (null instead).
"""

from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta

from steelyard.job import Job
from steelyard.report.document import Question

SCHEMA_VERSION = 1


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


class Verdict(TypedDict):
    level: Level
    headline: str
    advice: str
    reasons: list[str]
    answers: list[Question]
    expected_error: NotRequired[Annotated["ExpectedErrors | None", told("Torque error of links in ordinary use.")]]


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
    verdict: Annotated[Verdict, told("The first screen of the report.")]
    out: str | None
    files: list[str]


class Stamped(Summary):
    command: Annotated[str, told("Repeats the run.")]
    provenance: Provenance


class Range(TypedDict):
    group: Annotated[str, told("mass_scale, center_offset, or a number of the ground, of joints or of drives.")]
    name: Annotated[str, told("Of the body (and axis), or of the joint, or ground.")]
    unit: str
    lower: Annotated[float, told("5 % of the samples in draws.npz lie below, or the value of the model file.")]
    upper: float
    source: Annotated[Literal["identified", "prior", "given"], told("What the range rests on.")]


class OfAJob(Stamped):
    randomisation: NotRequired[Annotated[list[Range], told("Ranges to randomise simulations in.")]]
    findings: list[Finding]
    notes: list[str]
    job: Annotated[Job, told("Every option of the run.")]
