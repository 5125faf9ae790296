"""Better or worse, by how much, may I use it: the words that head every report."""

from dataclasses import dataclass

from steelyard.pipeline import Result
from steelyard.report.numbers import percent, plural, times

SAME = 0.02  # relative change of the error that counts as none, and change of a joint's error as a share of its torque
LARGE = 0.25  # held-out error over torque above which something beside inertia and simple friction is at work
UNCERTAIN = 0.3  # standard deviation over natural size (`labels.sizes`) above which a combination is hardly known


@dataclass(frozen=True)
class Verdict:
    """level: "good", "care" or "keep" (the given model). reasons: everything to look at first, empty when good."""

    level: str
    headline: str
    advice: str
    reasons: tuple[str, ...]


ADVICE = {
    "good": "The identified model may be used: every link is physically consistent and nothing suspicious was found.",
    "care": "The identified model may be used with care: every link is physically consistent, but look at these first.",
    "keep": "Keep the given model until you know why: look at these first.",
}


def verdict(result: Result) -> Verdict:
    """Verdict on a run. Certificates hold already: a fit that fails its own check is an error, not a result."""
    before, after = result.before.relative_error, result.after.relative_error
    improved = after < (1 - SAME) * before
    reasons = tuple(_reasons(result, improved))
    level = "good" if not reasons else "care" if improved else "keep"
    return Verdict(level, _headline(before, after, improved), ADVICE[level], reasons)


def _headline(before: float, after: float, improved: bool) -> str:
    change = f"{percent(before)} before, {percent(after)} after"
    if improved:
        return f"Better: held-out torque error {change} ({times(before / after)} times smaller)."
    if after <= (1 + SAME) * before or percent(before) == percent(after):
        return f"No better than the given model: held-out torque error {change}."
    return f"Worse than the given model: held-out torque error {change}."


def _reasons(result: Result, improved: bool):
    if not improved:
        yield "The torque error on held-out samples did not fall."
    elif worse := worse_joints(result):
        yield f"Torque is predicted worse than before at {', '.join(worse)}."
    if result.after.relative_error > LARGE and not result.diagnosis.faults:
        yield (
            f"The error is still {percent(result.after.relative_error)} of the torque: expect wrong units or signs, "
            "friction that changes with load or temperature, or a load that the model does not have."
        )
    if result.estimate.weakest:
        count = len(result.estimate.weakest)
        are, values = ("is", "its value comes") if count == 1 else ("are", "their values come")
        yield (
            f"{plural(count, 'identifiable combination')} {are} barely excited by this motion; {values} from the given "
            "model. Record a richer motion."
        )
    yield from (finding.message for finding in result.findings)


def worse_joints(result: Result) -> list[str]:
    """Joints whose held-out error grew by a share of their torque that is worth a word."""
    grew = result.after.relative > result.before.relative + SAME
    return [name for name, is_worse in zip(result.after.joint_names, grew, strict=True) if is_worse]
