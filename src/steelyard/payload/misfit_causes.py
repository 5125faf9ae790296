"""How much of a wrench no rigid payload explains, and which known mistake would explain it.

Least squares without any physics fit a log at least as well as every other method, so what they leave is the log's own.
White noise is told from misfit by how rough the residuals are from sample to sample. A mistake is named where undoing
it takes away most of the misfit: a sensor that was not tared, gravity that leans or is not the Earth's, a sensor that
is turned on its flange, a wrench of another clock, a stretch of time in which something touched the payload or nothing
was held. A gravity that the motion refutes and a stretch whose residuals add up are named even where little is left.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from steelyard.inertia import to_vector
from steelyard.log import Finding, fatal
from steelyard.payload.gravity_strength import Strength, refutation
from steelyard.payload.motion_consistency import streamed
from steelyard.payload.motion_signals import roughness
from steelyard.payload.outlying_stretches import has_outlying_window, outlying_samples, stretches_of
from steelyard.payload.thresholds import THRESHOLDS
from steelyard.payload.wrench_log import WrenchLog
from steelyard.payload.wrench_problem import plain_fit, solve, without_drift
from steelyard.payload.wrench_sums import DRIFT, group_rms, unexplained_wrench, wrench_regressor

LEVER = 0.05  # m: torques count relative to the force at this lever at least; it is that of usual sensors' noise
STEPS = 8  # of the alternating fit of a turned sensor
SURE = 6.0  # over sqrt(samples): how much more of noise's energy is still noise; four deviations of the median's
NO_OFFSET = np.zeros(6)
LOOKED_AT = 2000  # samples of a long log, when mistakes are looked for
FEWEST = 3  # poses beyond the unknowns of that test
LATE = 0.5  # s, farthest shift of the wrench that is looked for
GONE = 0.2  # of the payload's weight: less is felt where it was dropped


@dataclass(frozen=True)
class Cause:
    """A mistake in words, and the share of the wrench that is left when it is undone. moves: change of the mass, as a
    part of it, where only some samples are undone."""

    words: str
    left: float
    moves: float = 0.0


def explanation(log: WrenchLog, strength: Strength | None, *, bias: bool = False, noise=None) -> Iterator[Finding]:
    """Findings of a log that a rigid payload does not explain. strength: what the log tells of gravity; bias: a
    constant wrench is fitted beside; noise: (2,) known deviations of force [N] and torque [N m], by default told from
    misfit by their roughness in time."""
    theta, offset = plain_fit(log, bias)
    known = white_noise(log, theta, offset) if noise is None else np.asarray(noise, dtype=float)
    share = misfit_share(log, theta, offset, noise=known)
    part = log.thinned(LOOKED_AT)
    causes = (_stretches, _offset, _drift, _gravity, _turned, _shifted) if share >= THRESHOLDS.misfit_searched else ()
    small = THRESHOLDS.cause * share
    found = [cause for look in causes if (cause := look(part, bias, known)) is not None and cause.left < small]
    stronger = _strength(part, strength, bias, known)
    if stronger is not None and (not found or stronger.left < small):
        yield fatal("misread", stronger.words)
    elif found:
        cause = min(found, key=lambda each: each.left)
        text = f"{cause.words} That explains {100 * (1 - (cause.left / share) ** 2):.0f} % of what the payload leaves"
        yield Finding("misread", _severity(cause, share, THRESHOLDS.misfit_with_care), text)
    elif _adds_up(part, theta, offset, known) and (cause := _stretches(part, bias, known, single=False)) is not None:
        yield Finding("misread", _severity(cause, share, THRESHOLDS.unexplained), cause.words)
    elif share > THRESHOLDS.misfit_with_care and (
        streamed(log) or noise is not None or _depends_on_pose(log, theta, offset)
    ):
        remedy = "Is the payload rigid and held firmly, does nothing touch it, are frames, units and clocks right?"
        if not streamed(log) and noise is None:
            remedy += " If that is noise of the sensor, say how much: noise=(N, N m) (--noise)"
        yield Finding(
            "unexplained",
            "fatal" if share > THRESHOLDS.unexplained else "warning",
            f"no rigid payload explains {100 * share:.0f} % of the wrench, and no known mistake does. {remedy}",
        )


def _severity(cause: Cause, share: float, limit: float) -> Literal["fatal", "warning"]:
    return "fatal" if share > limit or cause.moves > THRESHOLDS.moved_mass else "warning"


def white_noise(log: WrenchLog, theta, offset=NO_OFFSET) -> np.ndarray:
    """(2,) deviations of force and torque that differ from sample to sample; zero for poses held at rest, where noise
    and misfit look alike."""
    if not streamed(log) or len(log) < 4:
        return np.zeros(2)
    residual = unexplained_wrench(log, theta, offset)
    return np.array([roughness(residual[:, :3]), roughness(residual[:, 3:])])


def misfit_share(log: WrenchLog, theta, offset=NO_OFFSET, *, noise, unknowns: int = 10) -> float:
    """What is left of the wrench beyond noise (2,), of force or torque, whichever is worse, as a part of it."""
    left, signal = group_rms(unexplained_wrench(log, theta, offset)), group_rms(log.wrench)
    left = left / np.sqrt(max(1 - unknowns / (6 * len(log)), 0.1))
    known = 1 + SURE / np.sqrt(len(log))
    beyond = np.sqrt(np.maximum(left**2 - known * np.square(noise), 0.0))
    return float(np.max(beyond / np.maximum([signal[0], max(signal[1], LEVER * signal[0])], 1e-12)))


def _refitted(log, bias, noise, unknowns):
    return misfit_share(log, *plain_fit(log, bias), noise=noise, unknowns=unknowns)


def _offset(log, bias, noise):
    """A sensor that was not tared."""
    if bias:
        return None
    theta, offset = plain_fit(log, True)
    if not theta[0] > 0:
        return None
    left = misfit_share(log, theta, offset, noise=noise, unknowns=16)
    numbers = ", ".join(f"{x:.3g}" for x in offset)
    return Cause(f"the sensor was not tared: it shows ({numbers}) N and N m beside; use bias=True (--bias).", left)


def _drift(log, bias, noise):
    """A sensor whose bias changes with time, which leaves far less than a constant one."""
    theta, offset = plain_fit(log, DRIFT)
    if not theta[0] > 0:
        return None
    rate = offset[6:]
    left = misfit_share(without_drift(log, rate), theta, offset[:6], noise=noise, unknowns=22)
    if left > THRESHOLDS.cause * _refitted(log, True, noise, 16):
        return None
    numbers = ", ".join(f"{x:.2g}" for x in rate)
    return Cause(f"the sensor's bias drifts by ({numbers}) N/s and N m/s; use bias='drift' (--drift).", left)


def _gravity(log, bias, noise):
    """Gravity in the world, from the forces: of the given strength, and where there is motion of any."""
    strength = float(np.linalg.norm(log.gravity))
    pull, mass = _pull(log, bias)
    if not strength > 0 or not np.linalg.norm(pull) > 0:
        return None
    candidates = [strength * pull / np.linalg.norm(pull)]
    if log.moving and mass > 0:
        candidates.append(pull / mass)
    tried = [(_refitted(log.replace(gravity=g), bias, noise, 12), g) for g in candidates]
    left, gravity = tried[0]
    if len(tried) > 1 and tried[1][0] < THRESHOLDS.cause * left:
        left, gravity = tried[1]
    cosine = np.clip(gravity @ log.gravity / (np.linalg.norm(gravity) * strength), -1, 1)
    numbers = " ".join(f"{x:.3g}" for x in gravity + 0.0)
    return Cause(
        f"gravity points {np.degrees(np.arccos(cosine)):.0f} degrees away from what was given, at "
        f"{np.linalg.norm(gravity):.3g} m/s^2: is the base tilted? Pass gravity=({numbers.replace(' ', ', ')}) "
        f"(--gravity {numbers}).",
        left,
    )


def _strength(log, strength, bias, noise):
    """Gravity of another strength, which costs too little where the motion is slow to leave much of the wrench."""
    right = None if strength is None else strength.right
    if strength is None or right is None:
        return None
    scaled = log.replace(gravity=log.gravity * (right / strength.given))
    return Cause(refutation(log, strength, right), _refitted(scaled, bias, noise, 11))


def _pull(log, bias):
    """Mass times gravity (3,) in the world, and the mass, from the forces alone."""
    light = wrench_regressor(log.replace(gravity=np.zeros(3)))[:, :3, :4]
    columns = [light, -log.rotation.transpose(0, 2, 1)]
    if bias:
        columns.append(np.broadcast_to(np.eye(3), (len(log), 3, 3)))
    rows = np.concatenate(columns, axis=2)
    x = solve(rows.reshape(-1, rows.shape[2]), log.wrench[:, :3].ravel())
    return x[4:7], float(x[0])


def _turned(log, bias, noise):
    """A sensor whose axes are turned against those that the rotations speak of: alternately the turn, and a payload."""
    if bias:
        return None
    push, turn, read = log.origin_acceleration - log.gravity_in_sensor, np.eye(3), log
    for _ in range(STEPS):
        turn = _best_turn(log.wrench[:, :3], push)
        read = log.replace(wrench=np.concatenate([log.wrench[:, :3] @ turn.T, log.wrench[:, 3:] @ turn.T], axis=1))
        theta, _ = plain_fit(read)
        if not theta[0] > 0:
            return None
        push = (wrench_regressor(log) @ theta)[:, :3]
    vector = to_vector(turn)
    angle = float(np.linalg.norm(vector))
    axis = " ".join(f"{x:.2g}" for x in np.round(vector / max(angle, 1e-12), 2) + 0.0)
    return Cause(
        f"the sensor's axes are turned by {np.degrees(angle):.0f} degrees about ({axis}) against the rotations: "
        "name its own link (--frame), or turn the wrench into those axes.",
        _refitted(read, bias, noise, 13),
    )


def _shifted(log, bias, noise):
    """A wrench whose clock is not that of the motion."""
    if not streamed(log) or not log.moving:
        return None
    step = float(np.median(np.diff(log.t)))
    reach = min(round(LATE / step), len(log) // 4)
    inner, white = log[reach : len(log) - reach], np.zeros(2)

    def at(lag):
        return inner.replace(wrench=log.wrench[reach + lag : len(log) - reach + lag])

    def whole(lag):  # share with its noise: without, several lags may leave nothing
        return _refitted(at(lag), bias, white, 11)

    best, stride = 0, max(1, reach // 8)
    while stride:
        best = min(range(max(-reach, best - 8 * stride), min(reach, best + 8 * stride) + 1, stride), key=whole)
        stride //= 4
    if best == 0:
        return None
    when = "late" if best > 0 else "early"
    return Cause(
        f"the wrench is {abs(best) * step:.3g} s {when} against the motion: shift its stamps by {-best * step:.3g} s.",
        _refitted(at(best), bias, noise, 11),
    )


def _best_turn(x, y):
    """Rotation (3, 3) that takes x (n, 3) nearest to y (n, 3) (Kabsch 1976)."""
    u, _, vt = np.linalg.svd(y.T @ x)
    return u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt


def _depends_on_pose(log, theta, offset) -> bool:
    """Whether residuals of poses at rest go with how the sensor is turned, as those of wrong frames, gravity or a hose
    do and noise does not: an F test of a constant and the rotation's entries. So it is assumed of too few poses."""
    from scipy.special import fdtrc

    X = np.column_stack([np.ones(len(log)), log.rotation.reshape(-1, 9)])
    u, s, _ = np.linalg.svd(X, full_matrices=False)
    along = u[:, s > 1e-9 * s[0]]
    rank, free = along.shape[1], len(log) - along.shape[1]
    if free < FEWEST:
        return True
    residual = unexplained_wrench(log, theta, offset)
    residual = residual / np.repeat(np.maximum(group_rms(residual), 1e-12), 3)
    inside = float(np.sum((along.T @ residual) ** 2))
    degrees = 6 * rank - 4, 6 * free  # gravity shows four parameters, which are fitted
    ratio = (inside / degrees[0]) / max((float(np.sum(residual**2)) - inside) / degrees[1], 1e-300)
    return bool(fdtrc(*degrees, ratio) < THRESHOLDS.chance)


def _adds_up(log, theta, offset, noise) -> bool:
    """Whether residuals of a stream, each within noise, add up to more than noise does."""
    if not streamed(log) or not (noise > 0).all():
        return False
    return has_outlying_window(unexplained_wrench(log, theta, offset) / np.repeat(noise, 3))


def _stretches(log, bias, noise, single=True):
    """Stretches of time in which the wrench is another one."""
    outlying = outlying_samples(log, bias, single=single)
    if not outlying.any():
        return None
    theta, offset = plain_fit(log[~outlying], bias)
    left = misfit_share(log[~outlying], theta, offset, noise=noise)
    moves = abs(plain_fit(log, bias)[0][0] / theta[0] - 1) if theta[0] else 0.0
    expected = (wrench_regressor(log[outlying]) @ theta)[:, :3]
    felt = np.sum(expected * (log.wrench[outlying, :3] - offset[:3])) / max(float(np.sum(expected**2)), 1e-24)
    stretches = stretches_of(outlying)
    longest = sorted(sorted(stretches, key=lambda span: span[0] - span[1])[:3])
    times = ", ".join(f"{log.t[first]:.4g} to {log.t[last]:.4g} s" for first, last in longest)
    more = f" and {len(stretches) - 3} more stretches" if len(stretches) > 3 else ""
    what = (
        "nothing is held there: was it dropped, or not yet picked up" if abs(felt) < GONE else "did something touch it"
    )
    words = (
        f"in {100 * np.mean(outlying):.2g} % of the samples (t = {times}{more}) the wrench is not this payload's; "
        f"{what}? "
        "Leave them out."
    )
    return Cause(words, left, moves)
