"""The first screen of a report: better or worse, by how much, may I use it, what is unknown."""

from collections.abc import Mapping, Sequence

from steelyard.decisions.verdict import Verdict
from steelyard.numbers import number, percent, plural, share, times
from steelyard.pipeline import Result
from steelyard.pipeline.verdicts import LOST, SAME, WORSE, verdict
from steelyard.report.document import Question, Screen


def numbers(result: Result, found: Mapping, written: Sequence[str] = ()) -> dict:
    """The key `verdict` of the summary. found: its other keys. written: as of `verdict`."""
    judged = verdict(result, written)
    names = ("given", "written")
    expected = None if result.expected is None else dict(zip(names, map(vars, result.expected), strict=True))
    screen = Screen.judged(judged, headline(result, judged), _questions(judged, found))
    return screen.as_json() | {"expected_error": expected}


def headline(result: Result, judged: Verdict) -> str:
    """What a run found, in a sentence.

    Args:
        result: of the run.
        judged: its verdict.

    Returns:
        The sentence.
    """
    before, after = result.before.relative_error, result.after.relative_error
    change = f"{percent(before)} before, {percent(after)} after"
    if judged.forbidding - {LOST, WORSE}:
        return f"Not explained: held-out torque error {change}."
    if LOST in judged.forbidding:
        return f"Masses in ratios only: held-out torque error {change}."
    links = _links_expected(result)
    if WORSE in judged.forbidding:
        return f"Worse than the given model: held-out torque error {change}.{links}"
    if after < (1 - SAME) * before:
        return f"Better: held-out torque error {change} ({times(before / after)} times smaller).{links}"
    return f"No better than the given model: held-out torque error {change}.{links}"


def _links_expected(result: Result) -> str:
    """Torque errors of links in ordinary use, in a sentence."""
    if result.expected is None:
        return ""
    given, written = (
        f"{percent(each.value)} ({percent(each.lower)} to {percent(each.upper)})" for each in result.expected
    )
    return f" Links in the joints' whole range are expected to err by {given} as given, {written} as written."


def _questions(judged: Verdict, found: Mapping) -> tuple[Question, ...]:
    level, held = judged.level, found["held_out"]
    return (
        _better(level, held),
        _much(held),
        _unknown(found["unknown"], found["base_parameters"]),
    )


def _better(level: str, held: Mapping) -> Question:
    before, after = held["relative_error_before"], held["relative_error_after"]
    worse = sum(j["rms_after"] > j["rms_before"] for j in held["joints"])
    joints = len(held["joints"])
    detail = f"{joints - worse} of {joints} joints are predicted better than by the nominal model."
    if after > (1 + SAME) * before:
        answer = "No, worse"
    elif level == "keep":
        answer = "Not so that it could be relied on"
    else:
        answer = f"Yes, {times(before / after)} times" if after > 0 else "Yes"
    return Question("Is it better?", answer, detail)


def _much(held: Mapping) -> Question:
    before, after = held["relative_error_before"], held["relative_error_after"]
    worst = max(held["joints"], key=lambda joint: joint["relative_after"] or 0.0)
    return Question(
        "By how much?",
        f"{percent(before)} → {percent(after)}",
        f"Torque error on {plural(held['samples'], 'sample')} the fit has not seen, over the torque. "
        f"Worst at {worst['name']}: {share(worst['relative_after'])} ({number(worst['rms_after'])} {worst['unit']})."
        " Errors of other motion, faster or in other postures, are proven by a log of it alone: steelyard validate.",
    )


def _unknown(unknown: Sequence[Mapping], base: Sequence) -> Question:
    count = {each["kind"]: len(each["names"]) for each in unknown}
    weak, unseen = count.get("weak", 0), count.get("unseen", 0)
    detail = (
        f"Torques depend on {len(base)} combinations of mass, inertia and friction. This motion showed "
        f"{len(base) - weak} of them well, {weak or 'none'} hardly."
    )
    if unseen:
        detail += (
            f" {plural(unseen, 'parameter')} show{'s' if unseen == 1 else ''} in no motion and cannot matter here."
        )
    answer = f"{weak} of {len(base)} values" if weak else "Nothing that matters here"
    return Question("What is unknown?", answer, detail)
