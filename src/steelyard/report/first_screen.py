"""The first screen of a report: better or worse, by how much, may I use it, what is unknown.

"Good" takes four things: the torque is explained, on the fit's own samples and on held-out ones; parts of the data
predict one another as well as noise and covariance say; other motion is promised about the same; no fault has a name.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from steelyard.diagnose import Fault
from steelyard.fit import Status
from steelyard.fit.prediction_error import Generalization, Prediction
from steelyard.fit.volumes import GEOMETRY
from steelyard.log import Finding
from steelyard.model.bounding import unread_geometry
from steelyard.pipeline import Result
from steelyard.pipeline.tried_corrections import VISIBLE
from steelyard.report.document import USABLE, Question, Screen
from steelyard.report.numbers import number, percent, plural, share, times

SAME = 0.02  # relative change of the error that counts as none, and change of a joint's error as a share of its torque
LARGE = 0.25  # held-out error over torque above which something beside inertia and simple friction is at work
MOST = 0.5  # held-out error over torque from which on more than noise and friction is missing: a model of another robot
NOTHING = 1.0  # held-out error over torque that a model without any mass and friction has
# Error of a part of the data over that expected, and expected error of other motion over the held-out one: see
# docs/evidence/adversary/strangers.md for what healthy jobs and others have.
TWICE = 2.0
FAR = 2.0  # times the torque of the given links, by which those of no robot of that file differ
UNPROVEN = 0.05  # of the torque, by which links identified may differ from those that stand

ADVICE = {
    "good": "The identified model may be used: every link is physically consistent and nothing suspicious was found.",
    "care": "The identified model may be used with care: every link is physically consistent, but look at these first.",
    "keep": "Keep the nominal model until you know why: look at these first.",
}

STAND = {
    "good": "No link of the model is wrong beyond doubt: the written model has them as they were, with the friction "
    "found, and may be used.",
    "care": "No link of the model is wrong beyond doubt: the written model has them as they were, with the friction "
    "found. Look at these first.",
    "keep": ADVICE["keep"],
}


def numbers(result: Result, found: Mapping, written: Sequence[str] = ()) -> dict:
    """The key `verdict` of the summary. found: its other keys. written: as of `verdict`."""
    judged = verdict(result, written)
    return replace(judged, questions=_questions(judged, found)).as_json()


def verdict(result: Result, written: Sequence[str] = ()) -> Screen:
    """Screen of a run, without questions. Certificates hold already: a fit that fails its own check is an error, not
    a result.

    written: what the written model has that nobody asked for, such as other masses of a gripper that stood still.
    """
    before, after = result.before.relative_error, result.after.relative_error
    improved = after < (1 - SAME) * before
    reasons = (*written, *_reasons(result, improved))
    usable = (improved or result.stand) and _explains(result) and not _lost(result)
    level = "good" if not reasons else "care" if usable else "keep"
    return Screen(level, _headline(result, improved), (STAND if result.stand else ADVICE)[level], reasons)


def _lost(result: Result) -> bool:
    """Whether the data tells ratios of masses alone."""
    return result.estimate.status is Status.LOST_SCALE


def unexplained(result: Result) -> float:
    """Torque error over torque: of held-out samples or of those that were fitted, whichever is more."""
    return max(result.after.relative_error, result.generalization.fitted)


def _explains(result: Result) -> bool:
    """Whether the identified model is one of this robot: half of the torque is not, nor much where the nominal model
    errs by more than the torque itself, as models do whose units, signs or frames are not those of the log."""
    other_robot = result.before.relative_error > NOTHING or (not result.stand and result.links.apart > FAR)
    return unexplained(result) <= (LARGE if other_robot else MOST)


def _headline(result: Result, improved: bool) -> str:
    before, after = result.before.relative_error, result.after.relative_error
    change = f"{percent(before)} before, {percent(after)} after"
    if not _explains(result):
        return f"Not explained: held-out torque error {change}."
    if _lost(result):
        return f"Masses in ratios only: held-out torque error {change}."
    if result.stand and result.links.certain and result.job.links != "given":
        return (
            "Your links are kept until a cause below is undone, which a fit would put into them: held-out torque "
            f"error {change}."
        )
    if result.stand:
        learned = "; friction was learned" if improved else ""
        return (
            f"Your links stand{learned}: held-out torque error {change}, and with links identified, too, "
            f"{percent(result.everything.relative_error)}."
        )
    if improved:
        some = f" Links that gain nothing stand: {', '.join(result.kept)}." if result.kept else ""
        return (
            f"Better: held-out torque error {change} ({times(before / after)} times smaller); with links as given and "
            f"friction fitted, {percent(result.alone.relative_error)}.{some}"
        )
    if after <= (1 + SAME) * before or percent(before) == percent(after):
        return f"No better than the nominal model: held-out torque error {change}."
    return f"Worse than the nominal model: held-out torque error {change}."


def _reasons(result: Result, improved: bool) -> Iterator[str]:
    left = unexplained(result)
    yield from _unread(result)
    if not (improved or result.stand):
        yield "The torque error on held-out samples did not fall."
    elif worse := worse_joints(result):
        yield f"Torque is predicted worse than before at {', '.join(worse)}."
    if left > MOST:
        yield f"Most of the torque is unexplained ({percent(left)}): nothing that was identified can be relied on."
    elif not _explains(result):
        yield (
            f"The nominal model errs by {percent(result.before.relative_error)} of the torque, and {percent(left)} is "
            "still unexplained: model and log hardly speak of the same robot. Check units, signs and the order of "
            "joints, of a free base also the order of its quaternion and the frame of its velocity."
        )
    elif left > LARGE and not result.diagnosis.faults:
        yield (
            f"The error is still {percent(left)} of the torque: expect wrong units or signs, "
            "friction that changes with load or temperature, or a load that the model does not have."
        )
    if result.stand and result.job.drive_gains and not result.job.loads:
        yield (
            "Gains of the drives come from your links, which therefore stay as they are. A log with a known load tells "
            "both: --load LINK=KG:LOG."
        )
    yield from _unproven(result)
    yield from _disagreements(result.generalization)
    yield from _limits(result.generalization, result.after.relative_error)
    if _lost(result):
        yield f"{result.estimate.status.value[0].upper()}{result.estimate.status.value[1:]}."
    if result.estimate.weakest:
        count = len(result.estimate.weakest)
        are, values = ("is", "its value comes") if count == 1 else ("are", "their values come")
        yield (
            f"{plural(count, 'identifiable combination')} {are} barely excited by this motion; {values} from the given "
            "model. Record a richer motion."
        )
    yield from merged(result.findings)


def _unproven(result: Result) -> Iterator[str]:
    """Links that stand, or that were asked for, where the log does not show which are right."""
    richer = "Record a longer or richer motion, such as one that `steelyard excite` designs"
    if result.stand and not result.links.certain and result.links.apart > UNPROVEN:
        yield (
            f"Links that this log would identify differ from yours by {percent(result.links.apart)} of the torque in "
            "the joints' whole range, and it does not show which are right: yours are not proven. "
            f"{richer}; or, for motion like the log's alone, have those written: --links identified."
        )
    if result.forced:
        yield (
            "Identified links were asked for where the model's would stand, and are not proven: "
            f"{', '.join(result.forced)}. Use them for motion like the log's. {richer}."
        )


def _unread(result: Result) -> Iterator[str]:
    """Meshes of most bodies that were not found, as of a model that was copied out of its folder."""
    unread = unread_geometry(result.prior) if result.job.within == GEOMETRY else {}
    if 2 * len(unread) > result.prior.nb:
        name, why = next(iter(unread.items()))
        yield (
            f"Meshes of {plural(len(unread), 'body', 'bodies')} were not read (of {name}: {why}): no geometry bounds "
            "their mass. Was the model copied out of its folder? Name the folder of the meshes: --folder DIR."
        )


def merged(findings: Sequence[Finding]) -> list[str]:
    """Messages of findings, those of faults before others, one for all joints that have the same fault."""
    groups: dict[str, list[Finding]] = {}
    for finding in sorted(findings, key=lambda each: not isinstance(each, Fault)):
        groups.setdefault(finding.code, []).append(finding)
    return [_together(group) for group in groups.values()]


def _together(group: Sequence[Finding]) -> str:
    first, *others = group
    joints = [each.joint for each in others if isinstance(each, Fault) and each.joint]
    if not others:
        return first.message
    if len(joints) < len(others):
        return f"{first.message} ({plural(len(others), 'finding')} more of this kind)"
    return f"{first.message} The same of {', '.join(joints)}."


def _disagreements(found: Generalization) -> Iterator[str]:
    """Parts of the data that the rest does not predict."""
    parts = [each for each in found.parts if _surprises(each)]
    if parts:
        worst = max(parts, key=lambda each: each.ratio)
        yield (
            f"{worst.name} disagrees with the rest of the data: a fit to the rest errs by {_bounded_share(worst.met)} "
            f"of its torque, {times(worst.ratio)} times what noise and covariance lead to expect. Was a load, a tool "
            "or another mounting there, or a friction that changed? Identify from what belongs together."
        )
    elif found.held_out is not None and _surprises(found.held_out):
        yield (
            f"The held-out samples err by {_bounded_share(found.held_out.met)} of their torque, "
            f"{times(found.held_out.ratio)} times what noise and covariance lead to expect: something is other in "
            "them, such as a load, or joints that stand still, whose friction no motion tells."
        )


def _surprises(part: Prediction) -> bool:
    return part.met > VISIBLE and part.ratio > TWICE


def _limits(found: Generalization, after: float) -> Iterator[str]:
    """What this data cannot promise."""
    other = found.other_motion
    if other is not None and other > max(VISIBLE, TWICE * after):
        yield (
            f"This data promises little beyond motion like its own: in the joints' whole range the torque may err by "
            f"{_bounded_share(other)}, {times(other / after)} times the held-out error. Record a longer or "
            "richer motion, such as one that `steelyard excite` designs."
        )


def _bounded_share(x: float) -> str:
    return percent(x) if x < NOTHING else "more than all"


def worse_joints(result: Result) -> list[str]:
    """Joints whose held-out error grew by a share of their torque that is worth a word."""
    grew = result.after.relative > result.before.relative + SAME
    return [name for name, is_worse in zip(result.after.joint_names, grew, strict=True) if is_worse]


def _questions(judged: Screen, found: Mapping) -> tuple[Question, ...]:
    level, held = judged.level, found["held_out"]
    return (
        Question("May I use it?", USABLE[level], _use(level, len(judged.reasons))),
        _better(level, held),
        _much(held),
        _unknown(found["unknown"], found["base_parameters"]),
    )


def _use(level: str, count: int) -> str:
    if level == "good":
        return "Every link is a body that can exist, and nothing suspicious was found in model or log."
    first = "look at what was found first" if count == 1 else f"look at the {count} findings first"
    if level == "care":
        return f"Every link is a body that can exist, but {first}."
    return f"Keep the nominal model until you know why: {first}."


def _better(level: str, held: Mapping) -> Question:
    before, after = held["relative_error_before"], held["relative_error_after"]
    worse = sum(j["rms_after"] > j["rms_before"] for j in held["joints"])
    joints = len(held["joints"])
    detail = f"{joints - worse} of {joints} joints are predicted better than by the nominal model."
    if held.get("links_stand"):
        detail += " Friction does that: your links are as they were."
    if after > before:
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
