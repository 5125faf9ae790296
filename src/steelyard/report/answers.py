"""The first screen of a report: four questions of someone who did not write this, each with a short answer."""

from collections.abc import Mapping, Sequence

from steelyard.report.numbers import number, percent, plural, share, times

MAY = {"good": "Yes", "care": "Yes, with care", "keep": "Not yet"}


def answers(
    level: str, reasons: Sequence[str], held: Mapping, reach: Mapping, unknown: Sequence[Mapping], base
) -> list[dict]:
    """Question, answer, detail. held, reach, unknown, base: `held_out`, `generalization`, `unknown` and
    `base_parameters` of the summary."""
    return [
        {"question": "May I use it?", "answer": MAY[level], "detail": _use(level, len(reasons))},
        {"question": "Is it better?", **_better(level, held)},
        {"question": "By how much?", **_much(held, reach)},
        {"question": "What is unknown?", **_unknown(unknown, base)},
    ]


def _use(level: str, count: int) -> str:
    if level == "good":
        return "Every link is a body that can exist, and nothing suspicious was found in model or log."
    first = "look at what was found first" if count == 1 else f"look at the {count} findings first"
    if level == "care":
        return f"Every link is a body that can exist, but {first}."
    return f"Keep the given model until you know why: {first}."


def _better(level: str, held: Mapping) -> dict:
    before, after = held["relative_error_before"], held["relative_error_after"]
    worse = sum(j["rms_after"] > j["rms_before"] for j in held["joints"])
    joints = len(held["joints"])
    detail = f"{joints - worse} of {joints} joints are predicted better than by the given model."
    if level == "keep":
        return {"answer": "Not so that it could be relied on" if after <= before else "No, worse", "detail": detail}
    if after <= before:
        return {"answer": f"Yes, {times(before / after)} times" if after > 0 else "Yes", "detail": detail}
    return {"answer": "No, worse", "detail": detail}


def _much(held: Mapping, reach: Mapping) -> dict:
    before, after = held["relative_error_before"], held["relative_error_after"]
    worst = max(held["joints"], key=lambda joint: joint["relative_after"] or 0.0)
    return {
        "answer": f"{percent(before)} → {percent(after)}",
        "detail": f"Torque error on {plural(held['samples'], 'sample')} the fit has not seen, over the torque. "
        f"Worst at {worst['name']}: {share(worst['relative_after'])} ({number(worst['rms_after'])} {worst['unit']})."
        + _elsewhere(reach["other_motion"]),
    }


def _elsewhere(error: float | None) -> str:
    """What the data promises of motion that was not recorded."""
    if error is None:
        return ""
    return f" In the joints' whole range expect {percent(error)}." if error < 1 else " Other motion it cannot foretell."


def _unknown(unknown: Sequence[Mapping], base: Sequence) -> dict:
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
    return {"answer": f"{weak} of {len(base)} values" if weak else "Nothing that matters here", "detail": detail}
