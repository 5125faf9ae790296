"""Payload from joint torques alone: what an arm with a frozen, identified model feels beyond itself.

The torque of the arm's own bodies, friction and armature is known and subtracted; ten columns remain, those of the body
that carries the payload. Of a log the tests of wrenches are made as well, and its deviations follow how long residuals
remember and what the arm's model leaves without payload; of sums alone, which keep no samples, neither.
"""

from dataclasses import dataclass, replace

import numpy as np

from steelyard.errors import FitError, LogError
from steelyard.inertia import parameters
from steelyard.information import Information, accumulate
from steelyard.log import Finding, Log
from steelyard.model import Robot
from steelyard.payload.arm_causes import arm_causes, drive_note
from steelyard.payload.arm_sensor import frame_of
from steelyard.payload.density import density_fit
from steelyard.payload.entropic import compact_body, entropic_fit
from steelyard.payload.misfit_causes import finding_of
from steelyard.payload.payload_estimate import Payload, Status, mass_seen, status_of
from steelyard.payload.plausible import implausible
from steelyard.payload.rows import Rows, fitted, memory_of, of_torques, score_spread
from steelyard.payload.solid_shape import solid_of
from steelyard.payload.thresholds import THRESHOLDS
from steelyard.terms import COULOMB_WIDTH

ZERO = 2.0  # standard deviations within which a mass is none: an empty hand, in 95 of 100 logs
ARM = 0.1  # share of the torque that an arm's own model may leave, for an empty hand to be one
STEPS = 5
HEAVY = 2.0  # times its own mass: no arm holds more


def carried_information(robot: Robot, log: Log, *, coulomb_width: float = COULOMB_WIDTH) -> Information:
    """Information of a log about all bodies of an arm, friction and armature at the model's values.

    Args:
        robot: the arm.
        log: with q, v, a and tau.
        coulomb_width: half-width of standstill, rad/s.

    Returns:
        The Information.
    """
    return accumulate(robot, log, friction=(), armature=False, columns="all", coulomb_width=coulomb_width)


@dataclass(frozen=True, eq=False)
class Equations:
    """Normal equations of a payload in its frame. gram: (g, 10, 10), moment: (g, 10), energy: (g,) of each joint;
    counts: (g,) samples; whole: (g,) squared torque with the arm's own; memory: (g,) samples that one independent
    sample is worth. least: (g,) deviations that noise has at least."""

    gram: np.ndarray
    moment: np.ndarray
    energy: np.ndarray
    counts: np.ndarray
    whole: np.ndarray
    samples: int
    memory: np.ndarray
    least: np.ndarray

    def solved(self):
        """noise (g,), theta (10,) of weighted least squares, and its normal equations (10, 10), (10,)."""
        noise, theta = _noise(self.gram, self.moment, self.energy, self.counts, self.least)
        weights = 1 / (noise**2 * self.memory)
        return noise, theta, np.tensordot(weights, self.gram, axes=1), weights @ self.moment


def identify_from_torques(
    arm: Robot,
    with_payload: Log | Information,
    *,
    without: Log | Information | None = None,
    frame: str | None = None,
    shape=None,
    weight: float = 1.0,
    arm_error=None,
) -> Payload:
    """Payload of an arm from joint torques alone.

    Args:
        arm: identified model of the empty arm, friction and armature included; it stays as it is.
        with_payload: log with v and a, or `carried_information` of it, which keeps no samples to look for mistakes in;
            none are looked for where contacts or known wrenches act, either.
        without: the same for the empty arm, if the model is not trusted: what the model misses there is estimated as an
            apparent payload and taken off.
        frame: link or body in whose axes theta is, the last body by default.
        shape: as for `identify`, in the frame.
        weight: of the compact-body prior without shape.
        arm_error: (nv,) RMS torque [N m] that the arm's model leaves on held-out logs of the empty arm.

    Returns:
        The payload, theta in the axes of `frame` at its origin.

    Raises:
        LogError: logs of another robot.
        FitError: torques that show no mass, or cannot.
    """
    findings, notes = (), ()
    with_payload = _summed(arm, with_payload)
    empty = None if without is None else _equations(arm, _summed(arm, without), frame)
    if isinstance(with_payload, Log):
        rows = of_torques(arm, with_payload, frame, _arm_noise(arm_error, empty))
        look, causes = arm_causes(rows)
        findings = (finding_of(causes, look.plain.share),) if causes else ()
        loaded, notes = _of_rows(rows, beside=bool(look.taken)), drive_note(look)
    else:
        loaded = _equations(arm, with_payload, frame)
    noise, theta, G, b = loaded.solved()
    left = float(np.sqrt(np.sum(noise**2 * loaded.counts) / max(float(np.sum(loaded.energy)), 1e-300)))
    if empty is not None:
        _, apparent, *other = empty.solved()
        theta, (G, b) = theta - apparent, _less(G, b, *other)
    why = f"joint torques of {arm.name}, its own model frozen and taken off"
    mass, spread = float(theta[0]), np.linalg.pinv(G, hermitian=True)
    meets = noise**2 @ loaded.counts < ARM**2 * float(np.sum(loaded.whole))
    if meets and abs(mass) < ZERO * np.sqrt(spread[0, 0]):
        return Payload(theta, spread, "ols", Status.FAINT, noise, samples=loaded.samples, why=why)
    if not mass_seen(G, HEAVY * float(np.sum(arm.inertias[:, 0]))):
        raise FitError(
            f"the mass of a load on {frame or arm.body_names[-1]} is not identifiable from these torques: it turns "
            "about a fixed point, or hardly moves. Use a wrist sensor, or a link further out (--frame)."
        )
    A, b = _factor(G, b)
    if not mass > 0:
        raise FitError(
            f"the torques give a payload of {mass:.4g} kg. Is anything held? Is the arm's model identified with the "
            "same friction and gravity, and are the torques on the link side?"
            + "".join(f" Found: {each.message}" for each in findings)
        )
    if shape is not None:
        fit = density_fit(A, b, solid_of(shape), mass)
        theta, covariance, method = fit.theta, fit.covariance, "density"
    else:
        theta, covariance = entropic_fit(A, b, compact_body(mass, theta[1:4] / mass), weight=weight)
        method = "geo"
    found = Payload(
        theta=theta,
        covariance=covariance,
        method=method,
        status=Status.OK,
        noise=noise,
        samples=loaded.samples,
        why=why,
        findings=tuple(each.message for each in findings),
        notes=notes,
    )
    return _judged(found, arm, G, findings, left)


def _summed(arm: Robot, what: Log | Information) -> Log | Information:
    """Sums of a log whose unknown forces at contacts are eliminated from them; others as they are."""
    if isinstance(what, Log) and (what.contacts or what.external):
        return carried_information(arm, what)
    return what


def _judged(found: Payload, arm: Robot, gram, findings: tuple[Finding, ...], left: float) -> Payload:
    """The payload with its status: of what was found, of what it leaves, of numbers that no arm holds."""
    beyond = implausible(found.theta)
    own = float(np.sum(arm.inertias[:, 0]))
    if beyond is None and found.mass > HEAVY * own:
        beyond = f"{found.mass:.4g} kg on an arm of {own:.3g} kg"
    if beyond is not None:
        text = f"the torques give {beyond}: are they of another unit (--unit), currents, or of another arm?"
        return replace(found, status=Status.SUSPECT, findings=(*found.findings, text))
    if any(each.severity == "fatal" for each in findings):
        return replace(found, status=Status.SUSPECT)
    if left <= THRESHOLDS.torques_unexplained or findings:
        return replace(found, status=status_of(found, moving=True, gram=gram))
    finding = (
        f"the payload leaves {100 * left:.0f} % of the torque that the arm's model does not explain. Are friction, "
        "gravity and frame of the model right (steelyard validate on a log of the empty arm), is the payload held fast?"
    )
    return replace(found, status=Status.NOT_EXPLAINED, findings=(*found.findings, finding))


def _arm_noise(arm_error, empty: Equations | None):
    """(nv,) what the arm's model leaves without payload: as stated, or as the empty run shows."""
    found = None if empty is None else empty.solved()[0]
    known = [np.asarray(each, dtype=float) for each in (arm_error, found) if each is not None]
    return np.max(known, axis=0) if known else None


def _equations(arm: Robot, what: Log | Information, frame: str | None) -> Equations:
    if isinstance(what, Log):
        return _of_rows(of_torques(arm, what, frame))
    body, R, p = frame_of(arm, frame)
    gram, moment, energy = _own_columns(arm, what, slice(10 * body, 10 * body + 10))
    to_body = parameters.transform_matrix(R, p)  # theta in the frame to theta in the body
    return Equations(
        to_body.T @ gram @ to_body,
        moment @ to_body,
        energy,
        np.asarray(what.counts, dtype=float),
        np.asarray(what.energy),
        what.n,
        np.full(len(energy), 1 / what.independence),
        np.zeros(len(energy)),
    )


def _of_rows(rows: Rows, *, beside: bool = False) -> Equations:
    """Normal equations of samples. beside: with what drives the joints as unknowns, which are eliminated."""
    assert rows.own is not None and rows.drive is not None
    fit = fitted(rows, rows.drive if beside else None)
    noise, groups = np.maximum(fit.noise, rows.noise), rows.groups
    columns = rows.columns
    memory = memory_of(fit.residual, groups)
    memory = memory * score_spread(columns, fit.residual, (noise * np.sqrt(memory))[groups], reach=2 * memory.max())
    measured = rows.measured
    if beside:
        weight = 1 / noise[groups]
        D = (rows.drive * weight[:, None]).reshape(-1, rows.drive.shape[2])
        basis, size, _ = np.linalg.svd(D, full_matrices=False)
        basis = basis[:, size > 1e-9 * size[0]]
        whole = np.concatenate([columns, measured[:, :, None]], axis=2) * weight[:, None]
        flat = whole.reshape(-1, 11)
        free = (flat - basis @ (basis.T @ flat)).reshape(whole.shape) / weight[:, None]
        columns, measured = free[:, :, :10], free[:, :, 10]
    return Equations(
        np.einsum("nki,nkj->kij", columns, columns),
        np.einsum("nki,nk->ki", columns, measured),
        np.sum(measured**2, axis=0),
        np.full(len(groups), float(len(rows))),
        np.sum((rows.measured + rows.own) ** 2, axis=0),
        len(rows),
        memory,
        rows.noise,
    )


def _less(G, b, G_empty, b_empty):
    """Normal equations of a payload beside an apparent one that the empty run measures, the latter eliminated.

    `G (x + o) = b` and `G_empty o = b_empty` leave for x the parallel sum `G S G_empty`, `S = (G + G_empty)^+`: what
    either run does not show is not known of their difference, and the noise of both counts.
    """
    scale = 1 / np.sqrt(np.where((both := np.diag(G + G_empty)) > 0, both, 1.0))
    S = scale[:, None] * np.linalg.pinv(scale[:, None] * (G + G_empty) * scale, rcond=1e-12, hermitian=True) * scale
    parallel = G @ S @ G_empty
    return (parallel + parallel.T) / 2, G_empty @ S @ b - G @ S @ b_empty


def _own_columns(arm, info: Information, columns):
    """gram (g, 10, 10), moment (g, 10), energy (g,) of the carrying body, the arm's own torque taken off."""
    if info.robot is None or len(info.columns) != info.layout.size or info.layout.terms:
        raise LogError("an Information for a payload is made by carried_information(robot, log)")
    x = arm.inertias.ravel()
    if len(x) != info.layout.size:
        raise LogError(f"the Information has {info.layout.size} columns, the arm {len(x)}: it belongs to another robot")
    rest = info.moment - info.squares @ x
    energy = info.energy - 2 * info.moment @ x + info.squares.forms(x)
    return info.gram[:, columns, columns], rest[:, columns], energy


def _solve(G, b):
    scale = 1 / np.sqrt(np.where(np.diag(G) > 0, np.diag(G), 1.0))
    return scale * np.linalg.lstsq(scale[:, None] * G * scale, scale * b, rcond=1e-9)[0]


def _noise(gram, moment, energy, counts, least):
    """(g,) residual deviation of each joint, `least` (g,) at least, and theta (10,) of weighted least squares."""
    noise, theta = np.sqrt(np.maximum(energy, 1e-12) / np.maximum(counts, 1)), np.zeros(10)
    for _ in range(STEPS):
        theta = _solve(np.tensordot(1 / noise**2, gram, axes=1), (1 / noise**2) @ moment)
        left = energy - 2 * moment @ theta + np.einsum("gij,i,j->g", gram, theta, theta)
        floor = np.maximum(least, 1e-6 * np.sqrt(np.maximum(energy, 1e-12) / np.maximum(counts, 1)))
        noise = np.maximum(np.sqrt(np.maximum(left, 0) / np.maximum(counts, 1)), floor)
    return noise, theta


def _factor(G, b):
    """A (10, 10), b (10,) with the same normal equations."""
    values, axes = np.linalg.eigh(G)
    keep = values > 1e-14 * values[-1]
    root = np.where(keep, np.sqrt(np.maximum(values, 0)), 0.0)
    return root[:, None] * axes.T, np.where(keep, axes.T @ b / np.where(keep, root, 1.0), 0.0)
