"""What speaks against the use of an identified model.

"Good" takes that the torque is explained, on the fit's own samples and on held-out ones; that parts of the data predict
one another as well as noise and covariance say; that links are expected to be right in other motion, too; and that no
fault has a name. Nothing is good, or to be used with care, that makes the held-out error larger.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from steelyard.cards import MEMBERS
from steelyard.decisions.verdict import GOOD, USE, Reason, Verdict, of_findings
from steelyard.diagnose import Fault
from steelyard.diagnose.diagnosis import LARGE as LINEAR
from steelyard.dynamics.effects import leaned
from steelyard.errors import FitError
from steelyard.fit import Status
from steelyard.fit.estimate import Nuisance
from steelyard.fit.prediction_error import Generalization, Prediction
from steelyard.fit.volumes import GEOMETRY
from steelyard.model.bounding import unread_geometry
from steelyard.numbers import number, percent, plural, some, times
from steelyard.pipeline.identification import Result
from steelyard.pipeline.posterior_of_logs import VISIBLE

SAME = 0.02  # relative change of the error that counts as none, and change of a joint's error as a share of its torque
LARGE = 0.25  # held-out error over torque above which something beside inertia and friction is at work
MOST = 0.5  # held-out error over torque from which on more than noise and friction is missing: a model of another robot
NOTHING = 1.0  # held-out error over torque that a model without any mass and friction has
# Error of a part of the data over that expected: see docs/evidence/adversary/strangers.md for what healthy jobs and
# others have.
TWICE = 2.0
LOST, WORSE = "lost_scale", "worse"  # what forbids the use of a model that explains torques


def verdict(result: Result, written: Sequence[str] = ()) -> Verdict:
    """Verdict of a run, whose certificates hold already. written: what the model has that nobody asked for."""
    return Verdict((*(Reason("written", words) for words in written), *_reasons(result)))


def require_explained(result: Result) -> None:
    """Raise FitError where the fit was refused, or predicts held-out torques worse than no model at all would."""
    if not result.estimate.status.usable:
        causes = "".join(f" {fault.message}" for fault in result.diagnosis.faults)
        raise FitError(f"The fit was refused and nothing was written: {result.estimate.status.value}.{causes}")
    error = result.after.relative_error
    if error > NOTHING:
        causes = "".join(f"\n- {finding.message}" for finding in result.findings)
        raise FitError(
            f"Nothing was explained and nothing was written: on held-out samples the identified torque errs by "
            f"{percent(error)} of the measured one, more than no model at all. Check that model and logs are of the "
            f"same robot, in the same units and signs.{causes}"
        )


def _reasons(result: Result) -> Iterator[Reason]:
    before, after = result.before.relative_error, result.after.relative_error
    yield from _unread(result)
    if after > (1 + SAME) * before:
        yield Reason(WORSE, "The torque error on held-out samples did not fall.", USE)
    elif joints := worse_joints(result):
        yield Reason("worse_joints", f"Torque is predicted worse than before at {', '.join(joints)}.")
    yield from _unexplained(result)
    if result.job.drive_gains and not result.job.loads:
        yield Reason(
            "gains_of_links",
            "Gains of the drives come from your links, and errors of either go into the other. A log with a known load "
            "tells both: --load LINK=KG:LOG.",
        )
    faults = [each for each in result.findings if isinstance(each, Fault)]
    gross = {each.code for each in faults if abs(each.evidence.get("factor", 1.0) - 1) > LINEAR["gain"]}
    yield from (replace(each, forbids=USE) if each.code in gross else each for each in of_findings(faults))
    yield from _imitated(result)
    yield from _mistakes(result)
    yield from _disagreements(result.generalization)
    yield from _limits(result)
    if result.estimate.status is Status.LOST_SCALE:
        yield Reason(LOST, f"{result.estimate.status.value[0].upper()}{result.estimate.status.value[1:]}.", USE)
    if result.estimate.weakest:
        count = len(result.estimate.weakest)
        are, values = ("is", "its value comes") if count == 1 else ("are", "their values come")
        yield Reason(
            "weak",
            f"{plural(count, 'identifiable combination')} {are} barely excited by this motion; {values} from the given "
            "model. Record a richer motion.",
        )
    yield from of_findings([each for each in result.findings if not isinstance(each, Fault)])


def _imitates(result: Result) -> bool:
    """Whether links or gains imitate what is wrong with the log: all are others, or some links are and the residual is
    no noise all the same."""
    other = result.doubted and any(each.code == "model_class" for each in result.diagnosis.faults)
    return bool(other or result.imitated)


def _unexplained(result: Result) -> Iterator[Reason]:
    """Whether the model is one of this robot: half of the torque is not, nor much where the nominal model errs by more
    than the torque itself, as models do whose units, signs or frames are not those of the log."""
    left = max(result.after.relative_error, result.generalization.fitted)
    if left > MOST:
        words = f"Most of the torque is unexplained ({percent(left)}): nothing that was identified can be relied on."
        yield Reason("unexplained", words, USE)
    elif left > LARGE and (result.before.relative_error > NOTHING or _imitates(result)):
        yield Reason(
            "other_robot",
            f"The nominal model errs by {percent(result.before.relative_error)} of the torque, and {percent(left)} is "
            "still unexplained: model and log hardly speak of the same robot. Check units, signs and the order of "
            "joints, of a free base also the order of its quaternion and the frame of its velocity.",
            USE,
        )
    elif left > LARGE and not result.diagnosis.faults:
        yield Reason(
            "large_error",
            f"The error is still {percent(left)} of the torque: expect wrong units or signs, "
            "friction that changes with temperature, or a load that the model does not have.",
        )


def _imitated(result: Result) -> Iterator[Reason]:
    """Links that are other bodies than those of the file, as where something is mounted on them or where they imitate a
    mistake of the log."""
    names, forbids = result.doubted, USE if _imitates(result) else GOOD
    if names:
        are, they = ("is another body", "it carries") if len(names) == 1 else ("are other bodies", "they carry")
        yield Reason(
            "other_bodies",
            f"{some(names, MEMBERS)} {are} than in the file: {they} what the file lacks, or a mistake of the "
            "log that links imitate, such as units, signs or a load.",
            forbids,
        )
    elif forbids == USE:
        words = "Links, or gains of most joints, are others than those of the file: they imitate a mistake of the log."
        yield Reason("imitated", words, USE)


def _mistakes(result: Result) -> Iterator[Reason]:
    """Nuisances that are there beyond doubt, large enough to matter, with the option that writes them."""
    found = {name: each for name, each in result.estimate.nuisances.items() if each.certain}
    lean = [found.pop(f"lean.{axis}", None) for axis in "xy"]
    x, y = (0.0 if each is None else each.value for each in lean)
    if np.hypot(x, y) > NOTICED["lean"]:
        deviation = max(each.deviation for each in lean if each is not None)
        words = " ".join(f"{g:.3f}" for g in leaned(result.prior.gravity, x, y) + 0.0)
        yield Reason(
            "lean",
            f"The base leans by {np.degrees(np.hypot(x, y)):.1f} ± {np.degrees(deviation):.1f} degrees against the "
            f"model's gravity; links are free of it. To have it in the model: --gravity {words}",
        )
    for name, each in found.items():
        joint, _, kind = name.rpartition(".")
        size = abs(each.value) * (_reach(result, joint) if kind == "spring" else 1.0)
        if size > NOTICED[kind]:
            of_links = kind == "gain" and result.job.drive_gains
            words = (_gain_beside if of_links else _MISTAKES[kind])(joint, each)
            large = size > LINEAR[kind] and not of_links
            yield Reason(kind, words.replace(FREE, OPEN) if large else words, USE if large else GOOD)


def _reach(result: Result, joint: str) -> float:
    """Deviation of a joint's position over its RMS torque."""
    dof, (q, tau) = result.prior.dof_names.index(joint), result.held_out.require("q", "tau")
    return float(np.std(q[:, result.prior.scalar_positions[dof]]) / max(np.sqrt(np.mean(tau[:, dof] ** 2)), 1e-300))


def _zero(joint: str, found: Nuisance) -> str:
    return (
        f"The zero of {joint} is off by {1e3 * found.value:.1f} ± {1e3 * found.deviation:.1f} mrad or mm; links are "
        f"free of it. To correct the log: --offset {joint}={found.value:.4g}"
    )


def _gain(joint: str, found: Nuisance) -> str:
    return (
        f"Torques of {joint} are {percent(abs(found.value))} too {'large' if found.value > 0 else 'small'} "
        f"(± {percent(found.deviation)}) beside those of other joints; links are free of it. Check its gear ratio "
        f"and torque constant, or correct the log: --scale tau:{joint}={1 / (1 + found.value):.4g}"
    )


def _gain_beside(joint: str, found: Nuisance) -> str:
    return (
        f"The gain of {joint} is {percent(abs(found.value))} {'smaller' if found.value > 0 else 'larger'} "
        f"(± {percent(found.deviation)}) than your links alone have it; links are free of it."
    )


def _spring(joint: str, found: Nuisance) -> str:
    if found.value < 0:
        return (
            f"Torques of {joint} change by {number(found.value)} +- {number(found.deviation)} N m/rad, as those of no "
            "spring: forces of a cylinder, whose lever changes with the angle, or a spring that balances weight?"
        )
    return (
        f"A spring, a hose or a cable pulls {joint} with {number(found.value)} ± {number(found.deviation)} N m/rad; "
        f"links are free of it. To have it identified without doubt: --spring {joint}"
    )


# Sizes below which nobody would correct them: rad, rad or m, 1, and of a spring the share of its joint's torque.
FREE, OPEN = "links are free of it", "links are wrong until one as large is corrected"
NOTICED = {"lean": 0.005, "zero": 0.01, "gain": 0.05, "spring": 0.02}
_MISTAKES = {"zero": _zero, "gain": _gain, "spring": _spring}


def _unread(result: Result) -> Iterator[Reason]:
    """Meshes of most bodies that were not found, as of a model that was copied out of its folder."""
    unread = unread_geometry(result.prior) if result.job.within == GEOMETRY else {}
    if 2 * len(unread) > result.prior.nb:
        name, why = next(iter(unread.items()))
        yield Reason(
            "unread_meshes",
            f"Meshes of {plural(len(unread), 'body', 'bodies')} were not read (of {name}: {why}): no geometry bounds "
            "their mass. Was the model copied out of its folder? Name the folder of the meshes: --folder DIR.",
        )


def _disagreements(found: Generalization) -> Iterator[Reason]:
    parts = [each for each in found.parts if _surprises(each)]
    if parts:
        worst = max(parts, key=lambda each: each.ratio)
        yield Reason(
            "part_disagrees",
            f"{worst.name} disagrees with the rest of the data: a fit to the rest errs by {_bounded_share(worst.met)} "
            f"of its torque, {times(worst.ratio)} times what noise and covariance lead to expect. Was a load, a tool "
            "or another mounting there, or a friction that changed? Identify from what belongs together.",
        )
    elif _surprises(found.held_out):
        yield Reason(
            "held_out_disagrees",
            f"The held-out samples err by {_bounded_share(found.held_out.met)} of their torque, "
            f"{times(found.held_out.ratio)} times what noise and covariance lead to expect: something is other in "
            "them, such as a load, or joints that stand still, whose friction no motion tells.",
        )


def _surprises(part: Prediction) -> bool:
    return part.met > VISIBLE and part.ratio > TWICE


def _limits(result: Result) -> Iterator[Reason]:
    if result.expected is None:
        return
    written = result.expected[1].value
    if written > max(SAME, result.after.relative_error):
        yield Reason(
            "narrow_motion",
            "Beyond motion like that of the logs little is determined: in the joints' whole range the torque of the "
            f"links may err by {_bounded_share(written)}. Record a longer or richer motion, such as one that "
            "`steelyard excite` designs.",
        )


def _bounded_share(x: float) -> str:
    return percent(x) if x < NOTHING else "more than all"


def worse_joints(result: Result) -> list[str]:
    """Joints whose held-out error grew by a share of their torque that is worth a word."""
    grew = result.after.relative > result.before.relative + SAME
    return [name for name, is_worse in zip(result.after.joint_names, grew, strict=True) if is_worse]
