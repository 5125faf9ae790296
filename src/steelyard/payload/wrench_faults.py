"""What is wrong with a wrench log, in words with a remedy. Nothing here changes data or stops a fit."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

import numpy as np

from steelyard.diagnose.fault_record import FaultRecord
from steelyard.log import Finding
from steelyard.log.findings import fatal
from steelyard.log.stamps import gaps
from steelyard.numbers import SURE
from steelyard.payload.causes import causes_of, finding_of, look_at, ranked
from steelyard.payload.density import place_deviation
from steelyard.payload.gravity_strength import Strength, doubt, strength_of
from steelyard.payload.mistakes import of_wrenches
from steelyard.payload.motion_consistency import motion_findings, streamed
from steelyard.payload.motion_signals import roughness
from steelyard.payload.payload_estimate import implausible
from steelyard.payload.rows import Rows, fitted, of_wrench
from steelyard.payload.solid_shape import Solid
from steelyard.payload.thresholds import IN_A_ROW, LOOKED_AT, THRESHOLDS
from steelyard.payload.wrench_log import WrenchLog
from steelyard.payload.wrench_problem import WrenchProblem, mass_of, solve
from steelyard.payload.wrench_sums import CHANNELS, accumulate, eliminated, residual_rms, weighed_fit

AT_REST = " (at rest, flipped gravity and a negated wrench look the same)"
UNTARED = "the sensor was not tared (bias=True, --bias). Beside that, "
NOISY, UNMET = 3.0, 0.1  # of the noise and of the signal: a result that leaves more has missed the log
_FATAL = {
    "misread": ("signs, axes, gravity, tare or clock are others, or something acts on it", "what the finding names"),
    "motion": ("rotation, twist and acceleration contradict each other", "one frame and one clock, in rad, m and s"),
    "gravity": ("not the Earth's, and the log cannot check it", "leave it out, or `elsewhere=True` (`--elsewhere`)"),
    "implausible": ("numbers that no robot holds: another unit, or robot", "name the units of the columns"),
    "unexplained": ("nothing known explains the wrench", "hold it firmly; check frames, units, clocks; `--noise`"),
    "misfit": ("no body inside the shape explains the log", "place it (`--shape-pose`), check its scale (`--scale`)"),
}
_WARNINGS = {
    "noise": ("the residual contradicts the noise that was stated", "state it as it is, or leave it out"),
    "place": ("the centre of mass lies outside the shape", "place it (`--shape-pose`), check its scale (`--scale`)"),
    "saturated": ("a channel rests at its extreme value", "leave these samples out, or a wider sensor"),
    "gap": ("time jumps", "split the log there if the payload changed meanwhile"),
    "pose": ("the sensor keeps one orientation to gravity", "tilt the wrist by 30 degrees or more, about two axes"),
}
FINDINGS: Mapping[str, FaultRecord] = {
    code: FaultRecord(code, "payload", "fatal" if code in _FATAL else "warning", *words)
    for code, words in (_FATAL | _WARNINGS).items()
}
"""The record of every code of a payload's findings; a finding may be milder than its record where little is left."""


_READINGS = {
    "sensor": "",
    "world": "wrench and motion are in world axes: use WrenchLog.from_world_axes (it also takes the classical "
    "acceleration; --axes world)",
    "inverse": "rotation is sensor_from_world: pass its transpose, world_from_sensor",
}


def diagnose(log: WrenchLog, solid: Solid | None = None) -> tuple[str, ...]:
    """Findings of a log; empty when nothing looks wrong.

    Looked for are a wrong sign of wrench or gravity, wrong axes, motion signals that do not belong together, what no
    rigid payload explains, constant pose, saturation, gaps, and a centre of mass outside the shape.

    Args:
        log: the wrench log.
        solid: the shape, from `solid_of`.

    Returns:
        One line a finding.
    """
    return tuple(finding.message for finding in examine(log, solid, strength=strength_of(log)))


def examine(
    log: WrenchLog,
    solid: Solid | None = None,
    *,
    strength: Strength | None,
    elsewhere: bool = False,
    bias: bool = False,
    noise=None,
) -> tuple[Finding, ...]:
    """The same as `Finding`s, severity "fatal" where no result from the log can be trusted: code "misread" where it is
    known what to change, "gravity" where it has to be confirmed, "unexplained" where it is not known. strength: what
    the log tells of gravity. elsewhere, bias, noise: as for `identify`."""
    looks = (("saturated", _saturation), ("gap", _time), ("pose", _pose))
    found = [Finding(code, "warning", text) for code, look in looks for text in look(log)]
    found = [*_misread(log, strength, elsewhere, bias, noise), *found]
    if solid is not None and not any(finding.severity == "fatal" for finding in found):
        found += [Finding("place", "warning", text) for text in _place(log, solid)]
    return tuple(found)


def _misread(log, strength, elsewhere, bias, noise) -> list[Finding]:
    """Signs and axes, else the motion alone, else what the payload leaves: each would upset the next. Motion signals
    that contradict each other in the given axes are no matter of a sign of wrench or gravity."""
    motion = list(motion_findings(log))
    amiss = any(finding.severity == "fatal" for finding in motion)
    readings = [each for each in _signs(log, bias) if each[0] != "sensor" or not amiss]
    signs = [Finding("misread", "fatal", text) for _, _, text in readings]
    if amiss or (readings and readings[0][1] < THRESHOLDS.explained):
        return signs or motion
    found = [*motion, *_explanation(log, strength, bias=bias, noise=noise)]
    if signs and not any(each.code == "misread" for each in found):  # a poor reading, and no better cause
        return signs
    if strength is None or elsewhere or not strength.doubtful or any(each.severity == "fatal" for each in found):
        return found
    return [*found, doubt(strength)]


def misfit(problem: WrenchProblem, theta, bias) -> Iterator[Finding]:
    """A finding where a result, theta (10,) and a bias (k,), leaves far more of the wrench than noise does: what was
    asked of the body, such as its shape, cannot be."""
    info = problem.information
    left, signal = residual_rms(info, np.append(theta, bias)), info.rms
    if not ((left > NOISY * problem.noise) & (left > UNMET * signal)).any():
        return
    asked = "inside the shape" if problem.solid is not None else "that can exist"
    hint = " Is the shape placed in the sensor frame (--shape-pose), in metres (--scale)?" if problem.solid else ""
    yield fatal(
        "misfit",
        f"the result leaves {left[0]:.3g} N and {left[1]:.3g} N m of a wrench of {signal[0]:.3g} N and "
        f"{signal[1]:.3g} N m: no body {asked} explains the log.{hint}",
    )


def implausibility(theta) -> Iterator[Finding]:
    """A finding where no robot holds parameters (10,) of a positive mass: they come from another unit."""
    if theta[0] > 0 and (beyond := implausible(theta)) is not None:
        words = "are forces in N and moments in N m? Name the unit of their columns, as in fx[mN]."
        yield fatal("implausible", f"the result is {beyond}: {words}")


def misstated(problem: WrenchProblem, noise) -> Iterator[Finding]:
    """A finding where residuals contradict the noise (2,) that was stated."""
    if noise is not None and not (problem.noise <= noise).all():
        (f, n), (force, moment) = noise, problem.noise
        yield Finding(
            "noise",
            "warning",
            f"noise was stated as {f:.3g} N and {n:.3g} N m, and the residual is {force:.3g} N and {moment:.3g} N m: "
            "deviations follow the residual. State the noise as it is, or leave it out (--noise).",
        )


def _signs(log, bias=False):
    """The reading of the log (axes, sign of gravity, sign of the wrench) that explains it far better than the given:
    its axes, the residual over the signal, and in words."""
    part = log.thinned(LOOKED_AT)
    if len(part) < 4 or not np.linalg.norm(part.gravity) > 0:
        return
    given, mass = _explained(part, bias)
    if mass > 0 and given < THRESHOLDS.explained:
        return
    best, reading = given if mass > 0 else np.inf, None
    for axes, flip, negate in product(_READINGS, (False, True), (False, True)):
        candidate = _read_as(part, axes, flip, negate)
        residual, candidate_mass = _explained(candidate, bias)
        if candidate_mass > 0 and residual < (
            THRESHOLDS.better_reading * best if reading is None and mass > 0 else 0.98 * best
        ):
            best, reading = residual, (axes, flip, negate)
    if reading is None or (mass <= 0 and best > THRESHOLDS.reading_unexplained):
        if mass < 0 and given < THRESHOLDS.reading_unexplained:
            yield (
                "sensor",
                given,
                f"the forces give a mass of {mass:.4g} kg, and no usual mistake of signs or axes explains it: nothing "
                "is held, the sensor was not tared, or the frame of the sensor is another (--frame)",
            )
        return
    axes, flip, negate = reading
    words = [_READINGS[axes]] if _READINGS[axes] else []
    if flip:
        g = ", ".join(f"{x:g}" for x in 0.0 - np.asarray(log.gravity))
        words.append(f"gravity is flipped: pass gravity=({g}) (--gravity {g.replace(',', '')})")
    if negate:
        words.append("the wrench is the reaction of the payload on the hand: pass -wrench (--negate)")
    got = f"a negative mass of {mass:.4g} kg" if mass <= 0 else f"a residual of {100 * given:.0f} % of the signal"
    text = f"read as given, the log fits with {got}; it is explained to {100 * best:.2g} % if {' and '.join(words)}"
    yield axes, best, text + (AT_REST if flip != negate and not log.moving else "")


def _explained(log, bias):
    """Residual over signal of a least-squares fit, of force and torque together, and its mass."""
    info = accumulate(log, bias=bias)
    left, signal = residual_rms(info, weighed_fit(info)[0]), info.rms
    return float(np.hypot(*(left / np.maximum(signal, 1e-9)))), mass_of(log, bias)


def _read_as(log, axes, flip, negate):
    gravity = -log.gravity if flip else log.gravity
    wrench = -log.wrench if negate else log.wrench
    if axes == "inverse":
        return log.replace(rotation=log.rotation.transpose(0, 2, 1), gravity=gravity, wrench=wrench)
    if axes == "sensor":
        return log.replace(gravity=gravity, wrench=wrench)
    twist, acceleration = log.twist, log.acceleration
    return WrenchLog.from_world_axes(
        t=log.t, wrench=wrench, rotation=log.rotation, twist=twist, acceleration=acceleration, gravity=gravity
    )


def _saturation(log):
    for name, x in zip(CHANNELS, log.wrench.T, strict=True):
        if np.ptp(x) <= 0:
            continue
        for extreme in (x.max(), x.min()):
            share = float(np.mean(x == extreme))
            if share > THRESHOLDS.saturated and share * len(x) >= 5:
                yield (
                    f"{name} is exactly {extreme:.6g} in {100 * share:.1f} % of the samples: the sensor is saturated. "
                    "Leave these samples out, or use a sensor of wider range"
                )
                break


def _time(log):
    holes = gaps(log.t)
    if len(holes):
        longest = int(holes[np.argmax(np.diff(log.t)[holes])])
        jump = log.t[longest + 1] - log.t[longest]
        yield (
            f"time jumps {len(holes)} times, the longest by {jump:.4g} s after t = {log.t[longest]:.6g} s; the signals "
            "are never interpolated across. If the payload changed meanwhile, split the log there"
        )


def _pose(log):
    direction = log.gravity_in_sensor
    strength = np.linalg.norm(log.gravity)
    if not strength > 0 or len(log) < 2:
        return
    singular = np.linalg.svd(direction / strength / np.sqrt(len(log)), compute_uv=False)
    if singular[1] < np.sin(THRESHOLDS.constant_pose):
        yield (
            "the sensor keeps one orientation to gravity: the centre of mass along gravity cannot be seen at slow "
            "motion. Tilt the wrist by 30 degrees or more, about two axes"
        )


def _place(log, solid):
    info = accumulate(log)
    T = eliminated(info, weighed_fit(info)[2])[:10]
    A, b = T[:, :10], T[:, 10]
    mass = mass_of(log)
    if not mass > 0:
        return
    theta = solve(A, b - A[:, 4:] @ (mass * solid.homogeneous[4:])) if not log.moving else solve(A, b)
    com, deviation = theta[1:4] / theta[0], np.linalg.pinv(A.T @ A)[[1, 2, 3], [1, 2, 3]] ** 0.5 / mass
    distance, size = solid.distance_outside(com), float(np.linalg.norm(solid.sides))
    allowed = SURE * float(np.hypot(deviation.max(), place_deviation(solid)))
    if distance > THRESHOLDS.outside_shape * size + allowed:
        yield (
            f"the measured centre of mass, {np.array2string(com, precision=3)} m, lies {1e3 * distance:.0f} mm outside "
            "the shape. Is the shape placed in the sensor frame (--shape-pose), in metres (--scale)? Is the wrench "
            "about the sensor origin?"
        )


def _explanation(log: WrenchLog, strength: Strength | None, *, bias: bool = False, noise=None) -> Iterator[Finding]:
    """Findings of a log that a rigid payload does not explain. noise: (2,) known deviations, by default told from
    misfit by their roughness in time."""
    rows = _rows(log, bias, noise)
    look = look_at(rows, rows.constant() if bias else None)
    share, causes = look.plain.share, causes_of(look, of_wrenches(look, strength))
    if (
        not bias
        and share > THRESHOLDS.misfit_with_care
        and not any(each.left < THRESHOLDS.misfit_searched for each in causes)
    ):
        behind = look.behind(rows.constant(), UNTARED)  # a mistake may hide behind a bias
        causes = ranked([*causes, *causes_of(behind, of_wrenches(behind))])
    if causes:
        yield finding_of(causes, share)
    elif strength is not None and strength.right is not None:
        yield fatal(
            "unexplained",
            f"weight and push contradict each other: gravity was given as {strength.given:.3g} m/s^2, and the motion "
            f"shows {strength.right:.3g}, but with that part of the wrench is still left. Does a controller take "
            "weight off, are units and clocks right?",
        )
    elif share > THRESHOLDS.misfit_with_care and (
        rows.streamed or noise is not None or _depends_on_pose(rows, look.plain.residual)
    ):
        remedy = "Is the payload rigid and held firmly, does nothing touch it, are frames, units and clocks right?"
        if not rows.streamed and noise is None:
            remedy += " If that is noise of the sensor, say how much: noise=(N, N m) (--noise)"
        yield Finding(
            "unexplained",
            "fatal" if share > THRESHOLDS.unexplained else "warning",
            f"no rigid payload explains {100 * share:.0f} % of the wrench, and no known mistake does. {remedy}",
        )


def _rows(log: WrenchLog, bias: bool, noise) -> Rows:
    thinned = of_wrench(log.thinned(LOOKED_AT), np.zeros(2))
    middle = max(0, (len(log) - IN_A_ROW) // 2)
    white = white_noise(log[middle : middle + IN_A_ROW], bias)
    return replace(thinned, noise=white if noise is None else np.maximum(noise, white))


def white_noise(log: WrenchLog, bias: bool = False) -> np.ndarray:
    """(2,) deviations of force and torque that differ from sample to sample; zero for poses held at rest, where noise
    and misfit look alike."""
    if not streamed(log) or len(log) < 4:
        return np.zeros(2)
    rows = of_wrench(log, np.zeros(2))
    residual = fitted(rows, rows.constant() if bias else None).residual
    return np.array([roughness(residual[:, :3]), roughness(residual[:, 3:])])


def _depends_on_pose(rows: Rows, residual) -> bool:
    """Whether residuals of poses at rest go with how the sensor is turned, as those of wrong frames, gravity or a hose
    do and noise does not: an F test of a constant and the rotation's entries. So it is assumed of too few poses."""
    from scipy.special import fdtrc

    assert rows.log is not None
    X = np.column_stack([np.ones(len(rows)), rows.log.rotation.reshape(-1, 9)])
    u, s, _ = np.linalg.svd(X, full_matrices=False)
    along = u[:, s > 1e-9 * s[0]]
    rank, free = along.shape[1], len(rows) - along.shape[1]
    if free < THRESHOLDS.fewest_poses:
        return True
    residual = residual / np.maximum(rows.rms(residual), 1e-12)[rows.groups]
    inside = float(np.sum((along.T @ residual) ** 2))
    degrees = 6 * rank - 4, 6 * free  # gravity shows four parameters, which are fitted
    ratio = (inside / degrees[0]) / max((float(np.sum(residual**2)) - inside) / degrees[1], 1e-300)
    return bool(fdtrc(*degrees, ratio) < THRESHOLDS.chance)
