"""Mistakes that only a wrist sensor can have, and what is said of a wrench that no rigid payload explains: turned axes,
another origin, contents that slide, cables and hoses that pull."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from steelyard.inertia.rotation import to_vector
from steelyard.log import Finding
from steelyard.log.findings import fatal
from steelyard.payload.gravity_strength import LOOKED_AT, Strength, refutation
from steelyard.payload.misfit_causes import (
    SHARED,
    Look,
    MisfitCause,
    adds_up,
    causes_of,
    finding_of,
    gain_columns,
    look_at,
    stretches,
)
from steelyard.payload.motion_consistency import streamed
from steelyard.payload.motion_signals import roughness
from steelyard.payload.payload_estimate import FARTHEST
from steelyard.payload.rows import Rows, RowsFit, better, fitted, of_wrench
from steelyard.payload.thresholds import THRESHOLDS
from steelyard.payload.wrench_log import WrenchLog
from steelyard.payload.wrench_sums import freed
from steelyard.spatial import cross

STEPS = 8  # of the alternating fit of a turned sensor
IN_A_ROW = 20000  # samples of which white noise is told
FEWEST = 3  # poses beyond the unknowns of the test of poses
AWAY = 0.01  # m: the origin of a wrench is not stated better
LEAST_CROSS = 0.03  # of a force that shows on another axis; sensors keep to 2 %
UNTARED = "the sensor was not tared (bias=True, --bias). Beside that, "
NEGLIGIBLE = 0.005  # share of the wrench that is left beyond noise
PULLS = 0.05  # share of the wrench: lags of a motion filter look like a spring of less
FORCE_STEPS = 3  # of the alternating fit of a force and its point
LOOSE = 0.85  # of the residual moment: contents that slide leave less once they may
SLIDES = 0.001  # m, RMS: what slides less is rigid
SURE = 8.0  # deviations of one of the nine numbers of that moment: a motion filter's lag comes to 3
FEWEST_SLIDING = 40  # samples that tell contents that slide from chance


def explanation(log: WrenchLog, strength: Strength | None, *, bias: bool = False, noise=None) -> Iterator[Finding]:
    """Findings of a log that a rigid payload does not explain. strength: what the log tells of gravity; bias: a
    constant wrench is fitted beside; noise: (2,) known deviations of force [N] and torque [N m], by default told from
    misfit by their roughness in time."""
    rows, taken = _rows(log, bias, noise), ("constant",) if bias else ()
    theta = fitted(rows, rows.constant() if bias else None).theta
    look = look_at(rows, taken, gain_columns(rows, theta) | _wrench_columns(rows, theta))
    share, hypotheses = look.plain.share, (*SHARED, turned, exchanged, origin, crossed, pulled, sliding)
    causes = causes_of(look, hypotheses)
    left = causes[0].left if causes else share
    if not bias and share > THRESHOLDS.misfit_with_care and left > THRESHOLDS.misfit_searched:
        behind = replace(look, taken=("constant",), plain=look.fit("constant"))  # a mistake may hide behind a bias
        hidden = [replace(each, words=UNTARED + each.words) for each in causes_of(behind, hypotheses)]
        if hidden and (not causes or hidden[0].left < THRESHOLDS.cause * left):
            causes = hidden
    stronger = _strength(look, strength, causes)
    if stronger is not None:
        yield stronger
    elif causes:
        yield finding_of(causes, share)
    elif adds_up(look) and (cause := stretches(look, single=False)) is not None:
        moved = abs(look.plain.theta[0] / cause.theta[0] - 1) if cause.theta is not None and cause.theta[0] else 0.0
        serious = share > THRESHOLDS.unexplained or moved > THRESHOLDS.moved_mass
        yield Finding("misread", "fatal" if serious else "warning", cause.words)
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


def _strength(look: Look, strength: Strength | None, causes: list[MisfitCause]) -> Finding | None:
    """That gravity is of another strength, which costs little where the motion is slow. It is offered only where it
    leaves no more than noise: a weight that something else takes off looks like it, and is none."""
    right = None if strength is None else strength.right
    if strength is None or right is None or look.rows.log is None:
        return None
    share = look.plain.share
    rows = replace(look.rows, gravity=look.rows.gravity * (right / strength.given))
    left = fitted(rows, look.beside).share
    if causes and (causes[0].left < THRESHOLDS.cause * left or left > THRESHOLDS.cause * share):
        return None
    if left <= max(THRESHOLDS.cause * share, NEGLIGIBLE):
        return fatal("misread", refutation(look.rows.log, strength, right))
    return fatal(
        "unexplained",
        f"weight and push contradict each other: gravity was given as {strength.given:.3g} m/s^2, and the motion shows "
        f"{right:.3g}, but with that {100 * left:.2g} % of the wrench are still left. Does a controller take weight "
        "off, are units and clocks right?",
    )


def turned(look: Look) -> MisfitCause | None:
    """A sensor whose axes are turned against those that the rotations speak of: alternately the turn, and a payload.
    A turn that leaves little moves the result little."""
    rows, biased = look.rows, bool(look.taken)
    if look.plain.share < THRESHOLDS.misfit_searched:
        return None
    push, turn, read = (rows.push + rows.pull @ rows.gravity)[:, :3, 0], np.eye(3), rows
    fit = look.plain
    for _ in range(STEPS):
        turn = _best_turn(freed(rows.measured[:, :3], rows.t, biased), freed(push, rows.t, biased))
        read = replace(rows, measured=np.concatenate([rows.measured[:, :3] @ turn.T, rows.measured[:, 3:] @ turn.T], 1))
        fit = fitted(read, look.beside)
        if not fit.theta[0] > 0:
            return None
        push = (rows.columns @ fit.theta)[:, :3]
    vector = to_vector(turn)
    angle = float(np.linalg.norm(vector))
    axis = " ".join(f"{x:.2g}" for x in np.round(vector / max(angle, 1e-12), 2) + 0.0)
    words = (
        f"the sensor's axes are turned by {np.degrees(angle):.0f} degrees about ({axis}) against the rotations: "
        "name its own link (--frame), or turn the wrench into those axes."
    )
    return MisfitCause("a sensor that is turned on its flange", words, fit.share, 3, fit)


def _best_turn(x, y):
    """Rotation (3, 3) that takes x (n, 3) nearest to y (n, 3) (Kabsch 1976)."""
    u, _, vt = np.linalg.svd(y.T @ x)
    return u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt


def exchanged(look: Look) -> Iterator[MisfitCause]:
    """Moments in the place of forces; forces or moments of another unit, which a lever of many metres shows."""
    force, moment = look.rows.rms(look.rows.measured)
    readings = {}
    if look.plain.share > THRESHOLDS.misfit_with_care:
        readings["forces and moments are exchanged: the columns of forces come first."] = (None, None)
    if moment > FARTHEST * force:
        readings |= {
            "moments are in N mm: divide them by 1000, or name the unit of their columns.": (1.0, 1e-3),
            "moments are in N cm: divide them by 100, or name the unit of their columns.": (1.0, 1e-2),
            "forces are in kN: multiply them by 1000, or name the unit of their columns.": (1e3, 1.0),
        }
    f, n = look.rows.measured[:, :3], look.rows.measured[:, 3:]
    for words, (a, b) in readings.items():
        read = (n, f) if a is None or b is None else (a * f, b * n)
        rows = replace(look.rows, measured=np.concatenate(read, axis=1), noise=np.zeros(2))
        fit = fitted(rows, look.beside)
        if fit.share < THRESHOLDS.misfit_with_care and (
            a is not None or fit.share < THRESHOLDS.cause * look.plain.share
        ):
            known = words.split(":")[0]
            yield MisfitCause(known, "the " + words, fit.share, 0, theta=fit.theta, noise=fit.noise, always=True)


def _wrench_columns(rows: Rows, theta) -> dict[str, np.ndarray]:
    expected = rows.columns @ theta
    n = len(rows)
    levers = np.zeros((n, 6, 3))
    levers[:, 3:] = np.cross(np.eye(3)[None], expected[:, None, :3]).swapaxes(1, 2)
    more = {"origin": levers}
    for i in range(3):
        for j in range(3):
            if i != j:
                column = np.zeros((n, 6, 1))
                column[:, i, 0] = expected[:, j]
                more[f"cross {i}{j}"] = column
    return more


def origin(look: Look) -> MisfitCause | None:
    """A wrench about another point than the frame's origin."""
    if not look.rows.moving:
        return None
    fit = look.fit("origin")
    away = fit.beside[-3:]
    if np.linalg.norm(away) < AWAY:
        return None
    numbers = ", ".join(f"{1e3 * x + 0.0:.3g}" for x in away)
    words = (
        f"moments are about a point at ({numbers}) mm from the origin of the sensor's frame: name the frame of the "
        "wrench (--frame)."
    )
    return MisfitCause("a wrench about another origin", words, fit.share, 3, fit)


def crossed(look: Look) -> Iterator[MisfitCause]:
    """A force that shows on another axis, too."""
    axes = "xyz"
    for i in range(3):
        for j in range(3):
            if i == j:
                continue
            fit = look.fit(f"cross {i}{j}")
            if abs(fit.beside[-1]) > LEAST_CROSS:
                share = f"{100 * fit.beside[-1]:.2g} % of f{axes[j]} shows in f{axes[i]}"
                yield MisfitCause(share, f"{share}: calibrate the sensor's axes.", fit.share, 1, fit)


def _depends_on_pose(rows: Rows, residual) -> bool:
    """Whether residuals of poses at rest go with how the sensor is turned, as those of wrong frames, gravity or a hose
    do and noise does not: an F test of a constant and the rotation's entries. So it is assumed of too few poses."""
    from scipy.special import fdtrc

    assert rows.log is not None
    X = np.column_stack([np.ones(len(rows)), rows.log.rotation.reshape(-1, 9)])
    u, s, _ = np.linalg.svd(X, full_matrices=False)
    along = u[:, s > 1e-9 * s[0]]
    rank, free = along.shape[1], len(rows) - along.shape[1]
    if free < FEWEST:
        return True
    residual = residual / np.maximum(rows.rms(residual), 1e-12)[rows.groups]
    inside = float(np.sum((along.T @ residual) ** 2))
    degrees = 6 * rank - 4, 6 * free  # gravity shows four parameters, which are fitted
    ratio = (inside / degrees[0]) / max((float(np.sum(residual**2)) - inside) / degrees[1], 1e-300)
    return bool(fdtrc(*degrees, ratio) < THRESHOLDS.chance)


def pulled(look: Look) -> MisfitCause | None:
    """A cable, hose or spring from the base: a force that is constant in the world, and changes with the sensor's
    place, at one point of the payload. Its twelve numbers and its point in turn."""
    rows = look.rows
    if rows.log is None or not rows.moving or look.plain.share < PULLS:
        return None
    point, fit, columns = np.zeros(3), look.plain, _from_base(rows.log, np.zeros(3))
    for _ in range(FORCE_STEPS):
        fit = fitted(rows, np.concatenate([look.beside, columns], axis=2))
        force = columns[:, :3] @ fit.beside[-columns.shape[2] :]
        levers = np.zeros((len(rows), 6, 3))
        levers[:, 3:] = np.cross(np.eye(3)[None], force[:, None]).swapaxes(1, 2)
        point = point + fitted(rows, np.concatenate([look.beside, columns, levers], axis=2)).beside[-3:]
        columns = _from_base(rows.log, point)
    fit = fitted(rows, np.concatenate([look.beside, columns], axis=2))
    size = float(np.sqrt(np.mean(np.sum((columns[:, :3] @ fit.beside[-columns.shape[2] :]) ** 2, axis=1))))
    words = (
        f"a force from the base of about {size:.2g} N pulls at the payload, as a cable, hose or spring does: fasten it "
        "to the wrist, or take it off, and record again."
    )
    return MisfitCause("a cable or hose that pulls", words, fit.share, columns.shape[2] + 3, fit)


def _from_base(log: WrenchLog, point) -> np.ndarray:
    """(n, 6, 3 or 12) wrench of forces of 1 N along the axes of the world at a point (3,) of the sensor frame, and of
    forces that grow by 1 N for each m of the sensor's place along each axis."""
    force = log.rotation.transpose(0, 2, 1)
    moment = cross(np.asarray(point), force.transpose(0, 2, 1)).transpose(0, 2, 1)
    constant = np.concatenate([force, moment], axis=1)
    if log.position is None:
        return constant
    place = log.position - log.position.mean(axis=0)
    return np.concatenate([constant, *(constant * place[:, axis, None, None] for axis in range(3))], axis=2)


def sliding(look: Look) -> MisfitCause | None:
    """Contents that slide or swing inside: a first moment that follows the direction of gravity in the sensor. Only
    what moves across gravity shows."""
    rows, mass = look.rows, float(look.plain.theta[0])
    if rows.log is None or not mass > 0 or len(rows) < FEWEST_SLIDING or not np.linalg.norm(rows.gravity) > 0:
        return None
    down = rows.log.gravity_in_sensor / np.linalg.norm(rows.gravity)
    columns = np.einsum("nki,nj->nkij", rows.columns[:, :, 1:4], down).reshape(len(rows), -1, 9)
    fit = fitted(rows, np.concatenate([look.beside, columns], axis=2))
    moved = down @ fit.beside[-9:].reshape(3, 3).T / mass
    across = moved - np.sum(moved * down, axis=1)[:, None] * down
    way = float(np.sqrt(np.mean(np.sum((across - across.mean(axis=0)) ** 2, axis=1))))
    if not _sure(look.plain, fit) or way < SLIDES:
        return None
    words = (
        f"the centre of mass follows gravity by about {1e3 * way:.2g} mm: contents slide or swing inside. Fix them, or "
        "take mass and centre as a mean."
    )
    return MisfitCause("contents that slide inside", words, fit.share, 9, noise=fit.noise, certain=True)


def _sure(plain: RowsFit, fit: RowsFit) -> bool:
    """Whether the fit with contents that slide explains significantly and considerably more of the moments."""
    deviations = np.abs(fit.beside[-9:]) / np.maximum(fit.deviation[-9:], 1e-300)
    considerable = fit.noise[1] < LOOSE * plain.noise[1] and deviations.max() > SURE
    return considerable and better(plain, fit) > THRESHOLDS.surely_better + 4 * 9
