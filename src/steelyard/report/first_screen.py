"""The first screen of a report: better or worse, by how much, may I use it, what is unknown.

"Good" takes that the torque is explained, on the fit's own samples and on held-out ones; that parts of the data predict
one another as well as noise and covariance say; that links are expected to be right in other motion, too; and that no
fault has a name. Nothing is good, or to be used with care, that makes the held-out error larger.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from steelyard.diagnose import Fault
from steelyard.dynamics.effects import lean_axes
from steelyard.fit import Status
from steelyard.fit.estimate import Nuisance
from steelyard.fit.prediction_error import Generalization, Prediction
from steelyard.fit.volumes import GEOMETRY
from steelyard.log import Finding
from steelyard.model.bounding import unread_geometry
from steelyard.pipeline import Result
from steelyard.pipeline.tried_corrections import VISIBLE
from steelyard.report.document import USABLE, Question, Screen
from steelyard.report.numbers import number, percent, plural, share, times

SAME = 0.02  # relative change of the error that counts as none, and change of a joint's error as a share of its torque
LARGE = 0.25  # held-out error over torque above which something beside inertia and friction is at work
MOST = 0.5  # held-out error over torque from which on more than noise and friction is missing: a model of another robot
NOTHING = 1.0  # held-out error over torque that a model without any mass and friction has
# Error of a part of the data over that expected: see docs/evidence/adversary/strangers.md for what healthy jobs and
# others have.
TWICE = 2.0
RIGHT = 0.02  # expected torque error of links that are as right as anyone needs
NAMED = 4  # links or combinations in one sentence

ADVICE = {
    "good": "The written model may be used: every link is physically consistent and nothing suspicious was found.",
    "care": "The written model may be used with care: every link is physically consistent, but look at these first.",
    "keep": "Keep the given model until you know why: look at these first.",
}


def numbers(result: Result, found: Mapping, written: Sequence[str] = ()) -> dict:
    """The key `verdict` of the summary. found: its other keys. written: as of `verdict`."""
    judged = verdict(result, written)
    names = ("given", "written")
    expected = None if result.expected is None else dict(zip(names, map(vars, result.expected), strict=True))
    return replace(judged, questions=_questions(judged, found)).as_json() | {"expected_error": expected}


def verdict(result: Result, written: Sequence[str] = ()) -> Screen:
    """Screen of a run, without questions. Certificates hold already: a fit that fails its own check is an error, not
    a result.

    written: what the written model has that nobody asked for, such as other masses of a gripper that stood still.
    """
    before, after = result.before.relative_error, result.after.relative_error
    improved, worse = after < (1 - SAME) * before, after > (1 + SAME) * before
    reasons = (*written, *_reasons(result, worse))
    usable = not worse and _explains(result) and not _lost(result)
    level = "keep" if not usable else "care" if reasons else "good"
    return Screen(level, _headline(result, improved, worse), ADVICE[level], reasons)


def _lost(result: Result) -> bool:
    """Whether the data tells ratios of masses alone."""
    return result.estimate.status is Status.LOST_SCALE


def unexplained(result: Result) -> float:
    """Torque error over torque: of held-out samples or of those that were fitted, whichever is more."""
    return max(result.after.relative_error, result.generalization.fitted)


def _explains(result: Result) -> bool:
    """Whether the identified model is one of this robot: half of the torque is not, nor much where the nominal model
    errs by more than the torque itself, as models do whose units, signs or frames are not those of the log; nor where
    links or gains imitate what is wrong with the log: all are others, or some links are and the residual is no noise
    all the same."""
    other = result.doubted and any(each.code == "model_class" for each in result.diagnosis.faults)
    if other or result.imitated:
        return False
    return unexplained(result) <= (LARGE if result.before.relative_error > NOTHING else MOST)


def _headline(result: Result, improved: bool, worse: bool) -> str:
    before, after = result.before.relative_error, result.after.relative_error
    change = f"{percent(before)} before, {percent(after)} after"
    if not _explains(result):
        return f"Not explained: held-out torque error {change}."
    if _lost(result):
        return f"Masses in ratios only: held-out torque error {change}."
    links = _links_expected(result)
    if worse:
        return f"Worse than the given model: held-out torque error {change}.{links}"
    if improved:
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


def _reasons(result: Result, worse: bool) -> Iterator[str]:
    left = unexplained(result)
    yield from _unread(result)
    if worse:
        yield "The torque error on held-out samples did not fall."
    elif joints := worse_joints(result):
        yield f"Torque is predicted worse than before at {', '.join(joints)}."
    if left > MOST:
        yield f"Most of the torque is unexplained ({percent(left)}): nothing that was identified can be relied on."
    elif left > LARGE and not _explains(result):
        yield (
            f"The nominal model errs by {percent(result.before.relative_error)} of the torque, and {percent(left)} is "
            "still unexplained: model and log hardly speak of the same robot. Check units, signs and the order of "
            "joints, of a free base also the order of its quaternion and the frame of its velocity."
        )
    elif left > LARGE and not result.diagnosis.faults:
        yield (
            f"The error is still {percent(left)} of the torque: expect wrong units or signs, "
            "friction that changes with temperature, or a load that the model does not have."
        )
    if result.job.drive_gains and not result.job.loads:
        yield (
            "Gains of the drives come from your links, and errors of either go into the other. A log with a known load "
            "tells both: --load LINK=KG:LOG."
        )
    yield from merged([each for each in result.findings if isinstance(each, Fault)])
    yield from _imitated(result)
    yield from _mistakes(result)
    yield from _disagreements(result.generalization)
    yield from _limits(result)
    if _lost(result):
        yield f"{result.estimate.status.value[0].upper()}{result.estimate.status.value[1:]}."
    if result.estimate.weakest:
        count = len(result.estimate.weakest)
        are, values = ("is", "its value comes") if count == 1 else ("are", "their values come")
        yield (
            f"{plural(count, 'identifiable combination')} {are} barely excited by this motion; {values} from the given "
            "model. Record a richer motion."
        )
    yield from merged([each for each in result.findings if not isinstance(each, Fault)])


def _imitated(result: Result) -> Iterator[str]:
    """Links that are other bodies than those of the file, as where something is mounted on them or where they imitate a
    mistake of the log."""
    names = result.doubted
    if names:
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        are, they = ("is another body", "it carries") if len(names) == 1 else ("are other bodies", "they carry")
        yield (
            f"{', '.join(names[:NAMED])}{more} {are} than in the file: {they} what the file lacks, or a mistake of the "
            "log that links imitate, such as units, signs or a load."
        )


def _mistakes(result: Result) -> Iterator[str]:
    """Nuisances that are there beyond doubt, large enough to matter, with the option that writes them."""
    found = {name: each for name, each in result.estimate.nuisances.items() if each.certain}
    lean = [found.pop(f"lean.{axis}", None) for axis in "xy"]
    x, y = (0.0 if each is None else each.value for each in lean)
    if np.hypot(x, y) > NOTICED["lean"]:
        deviation = max(each.deviation for each in lean if each is not None)
        gravity = result.prior.gravity + np.linalg.norm(result.prior.gravity) * np.array([x, y]) @ lean_axes(
            result.prior.gravity
        )
        gravity *= np.linalg.norm(result.prior.gravity) / np.linalg.norm(gravity)
        words = " ".join(f"{g:.3f}" for g in gravity + 0.0)
        yield (
            f"The base leans by {np.degrees(np.hypot(x, y)):.1f} +- {np.degrees(deviation):.1f} degrees against the "
            f"model's gravity; links are free of it. To have it in the model: --gravity {words}"
        )
    for name, each in found.items():
        joint, _, kind = name.rpartition(".")
        size = abs(each.value) * (_reach(result, joint) if kind == "spring" else 1.0)
        if size > NOTICED[kind]:
            yield _MISTAKES[kind](joint, each)


def _reach(result: Result, joint: str) -> float:
    """Deviation of a joint's position over its RMS torque."""
    dof, (q, tau) = result.prior.dof_names.index(joint), result.held_out.require("q", "tau")
    return float(np.std(q[:, result.prior.scalar_positions[dof]]) / max(np.sqrt(np.mean(tau[:, dof] ** 2)), 1e-300))


def _zero(joint: str, found: Nuisance) -> str:
    return (
        f"The zero of {joint} is off by {1e3 * found.value:.1f} +- {1e3 * found.deviation:.1f} mrad or mm; links are "
        f"free of it. To correct the log: --offset {joint}={found.value:.4g}"
    )


def _gain(joint: str, found: Nuisance) -> str:
    return (
        f"Torques of {joint} are {percent(abs(found.value))} too {'large' if found.value > 0 else 'small'} "
        f"(+- {percent(found.deviation)}) beside those of other joints; links are free of it. Check its gear ratio "
        f"and torque constant, or correct the log: --scale tau:{joint}={1 / (1 + found.value):.4g}"
    )


def _spring(joint: str, found: Nuisance) -> str:
    return (
        f"A spring, a hose or a cable pulls {joint} with {number(found.value)} +- {number(found.deviation)} N m/rad; "
        f"links are free of it. To have it identified without doubt: --spring {joint}"
    )


# Sizes below which nobody would correct them: rad, rad or m, 1, and of a spring the share of its joint's torque.
NOTICED = {"lean": 0.005, "zero": 0.01, "gain": 0.05, "spring": 0.02}
_MISTAKES = {"zero": _zero, "gain": _gain, "spring": _spring}


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
    elif _surprises(found.held_out):
        yield (
            f"The held-out samples err by {_bounded_share(found.held_out.met)} of their torque, "
            f"{times(found.held_out.ratio)} times what noise and covariance lead to expect: something is other in "
            "them, such as a load, or joints that stand still, whose friction no motion tells."
        )


def _surprises(part: Prediction) -> bool:
    return part.met > VISIBLE and part.ratio > TWICE


def _limits(result: Result) -> Iterator[str]:
    """What this data cannot promise."""
    if result.expected is None:
        return
    written = result.expected[1].value
    if written > max(RIGHT, result.after.relative_error):
        yield (
            f"This data promises little beyond motion like its own: in the joints' whole range the torque of the links "
            f"may err by {_bounded_share(written)}. Record a longer or richer motion, such as one that `steelyard "
            "excite` designs."
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
