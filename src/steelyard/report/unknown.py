"""What a run could not identify, why, and what would: poorly excited, in combination, not identifiable."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from steelyard.cards import SEVERAL
from steelyard.inertia.parameters import NAMES
from steelyard.job import Job
from steelyard.job_options import EXCITE, words_of
from steelyard.numbers import percent, plural
from steelyard.pipeline import Result
from steelyard.report.document import Chapter, ReportPart

HALF = 0.5  # of an interval that a motion must leave at most to be recommended for it


def _numbers(result: Result, found: dict) -> dict:
    shares = result.narrowing
    narrowed = None if shares is None else dict(zip(result.uncertainty.base.names, shares.tolist(), strict=True))
    return {"unknown": unknowns(result.job, found["bodies"], found["parameters"], found["base_parameters"], narrowed)}


def unknowns(
    job: Job,
    bodies: Sequence[Mapping],
    parameters: Sequence[Mapping],
    base: Sequence[Mapping],
    narrowed: Mapping[str, float] | None = None,
) -> list[dict]:
    """Entries with kind, names, why, remedy and command, as far as there are any; all lists as in the summary.

    narrowed: interval of each combination after another motion over that now, as far as it could be foretold.

    weak: poorly excited combinations. combined: parameters that are identifiable only in combination. unseen: those
    that are not identifiable.
    """
    weak = [each["name"] for each in base if each["uncertain"] and each["label"] != "given"]
    known = {name: mark for body in bodies for name, mark in _marks(body)}
    given = {each["name"] for each in parameters if each["label"] == "given"}
    combined = [name for name, mark in known.items() if mark == "combination" and name not in given]
    unseen = [name for name, mark in known.items() if mark == "model" and name not in given]
    kinds = {"weak": (partial(_weak, narrowed), weak), "combined": (_combined, combined), "unseen": (_unseen, unseen)}
    keys = ("why", "remedy", "command")
    return [
        {"kind": kind, "names": names} | dict(zip(keys, told(job, names), strict=True))
        for kind, (told, names) in kinds.items()
        if names
    ]


def _marks(body: Mapping):
    return [(f"{body['name']}.{name}", mark) for name, mark in zip(NAMES, body["knowledge"], strict=True)]


def _weak(narrowed: Mapping[str, float] | None, job: Job, names: list[str]) -> tuple[str, str, str]:
    shown = [name for name in names if narrowed is None or narrowed.get(name, 0.0) < HALF]
    others = [name for name in names if name not in shown]
    why = f"The recorded motion excites {plural(len(names), 'combination')} of parameters poorly: intervals are wide."
    links = _links([name for name in others if _of_body(name)])[:1]
    keep = "keep what you trust (--fix)" + "".join(
        f" or weigh a link (--mass {shlex.quote(link)}=KG)" for link in links
    )
    if not shown:
        remedy = f"No motion of this robot is expected to halve the intervals: {keep}. With another sensor:"
        return why, remedy, _analyze(job, names)
    remedy = "Record a motion made for them, and identify from both logs."
    if narrowed is not None:
        widest = max(narrowed.get(name, 0.0) for name in shown)
        which = "all intervals" if not others else f"{len(shown)} intervals"
        remedy += f" An optimised motion of the same length is expected to shrink {which} to {percent(widest)} or less."
    if others:
        remedy += f" Of {', '.join(others[:SEVERAL])} no motion is expected to halve the interval: {keep}."
    focus = list(dict.fromkeys(name.rpartition(".")[0] if _of_body(name) else name for name in shown))
    focus = focus[:SEVERAL]
    armature = ["--armature"] if any(name.endswith(".armature") for name in focus) else []
    options = ["--focus", ",".join(focus), *armature, *words_of(job, EXCITE), "--out", "motion.csv"]
    return why, remedy, shlex.join(["steelyard", "excite", job.model, "--after", job.logs[0], *options])


def _combined(job: Job, names: list[str]) -> tuple[str, str, str]:
    return (
        f"{plural(len(names), 'parameter')} {_are(names)} identifiable only in combination. The combinations are "
        "identified; their split follows from the nominal model and changes no torque of the robot as mounted.",
        "If you need the split (the robot will be mounted otherwise, or a link replaced), weigh a link (--mass "
        f"{shlex.quote(_links(names)[0])}=KG) or keep what you trust (--fix). With another sensor or mounting:",
        _analyze(job, names),
    )


def _unseen(job: Job, names: list[str]) -> tuple[str, str, str]:
    return (
        f"{plural(len(names), 'parameter')} {_are(names)} not identifiable: no motion of this robot as it is mounted "
        "changes a torque by them. The nominal values stay, and do no harm here.",
        "They count once the robot is mounted tilted, on a moving base or on a force sensor. How to identify them:",
        _analyze(job, names),
    )


def _are(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _of_body(name: str) -> bool:
    return name.rpartition(".")[2] in NAMES


def _analyze(job: Job, names: list[str]) -> str:
    return shlex.join(["steelyard", "analyze", job.model, "--explain", ",".join(_links(names)[:SEVERAL])])


def _links(names: list[str]) -> list[str]:
    return list(dict.fromkeys(name.rpartition(".")[0] for name in names))


def _parts(summary: dict) -> Iterator[ReportPart]:
    if not summary["unknown"]:
        yield ReportPart(text="Every parameter is identifiable.")
    for entry in summary["unknown"]:
        yield ReportPart(text=f"{entry['why']} {entry['remedy']}", code=entry["command"])
        yield ReportPart(items=tuple(_by_link(entry["names"])), folded=f"the {plural(len(entry['names']), 'name')}")


def _by_link(names: list[str]) -> Iterator[str]:
    """`link1: m, hx, hy` of `link1.m`, `link1.hx`, ..."""
    owned: dict[str, list[str]] = {}
    for name in names:
        owner, _, parameter = name.rpartition(".")
        owned.setdefault(owner, []).append(parameter)
    yield from (f"{owner}: {', '.join(each)}" if owner else ", ".join(each) for owner, each in owned.items())


UNKNOWN = Chapter("Not identified, and what would identify it", "Unknown", _numbers, _parts, derived=True)
