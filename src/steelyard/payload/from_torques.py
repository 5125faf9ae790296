"""Payload from joint torques alone: what an arm with a frozen, identified model feels beyond itself.

The torque of the arm's own bodies, friction and armature is known and subtracted; ten columns remain, those of the body
that carries the payload. Of a log the tests of wrenches are made as well, and its deviations follow how long residuals
remember and what the arm's model leaves without payload; of sums alone, which keep no samples, neither.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.errors import FitError, LogError
from steelyard.inertia import parameters
from steelyard.information import Information, accumulate
from steelyard.log import Finding, Log
from steelyard.model import Robot
from steelyard.numbers import NEGLIGIBLE
from steelyard.payload.carried import frame_of
from steelyard.payload.causes import Look, MisfitCause, causes_of, finding_of, look_at
from steelyard.payload.density import density_fit
from steelyard.payload.methods import compact_body, fitted_body
from steelyard.payload.mistakes import of_torques as arm_mistakes
from steelyard.payload.payload_estimate import Payload, Status, implausible, mass_seen, status_of
from steelyard.payload.rows import Rows, fitted, less, of_torques, sample_worth, sums_of
from steelyard.payload.solid_shape import solid_of
from steelyard.payload.thresholds import THRESHOLDS
from steelyard.payload.wrench_sums import eliminated, of_body, weighed_fit

ZERO = 2.0  # standard deviations within which a mass is none: an empty hand, in 95 of 100 logs
ARM = 0.1  # share of the torque that an arm's own model may leave, for an empty hand to be one
HEAVY = 2.0  # times its own mass: no arm holds more
PAIR = "Surest is the same motion with an empty hand, too: --hand LOG, in Python without=."
PAIRED = "both logs are of one motion: the empty one has taken off what the arm's model lacks, sample by sample"
DRIVEN = (
    "the arm's model lacks what drives its joints: offsets, friction and armature were fitted beside; deviations are "
    "smaller with a model of the same day (--arm RESULT)"
)


def carried_information(robot: Robot, log: Log) -> Information:
    """Information of a log with q, v, a and tau about all bodies of an arm, friction and armature at the model's
    values."""
    return accumulate(robot, log, friction=(), armature=False, columns="all")


@dataclass(frozen=True, eq=False)
class PayloadTorques:
    """What joints feel of a payload in its frame.

    info: ten columns of it and those of what drives the joints, where these are fitted beside, a row group a joint.
    """

    info: Information
    whole: np.ndarray  # (g,) squared torque with the arm's own
    memory: np.ndarray  # (g,) samples that one independent sample is worth
    least: np.ndarray  # (g,) deviations that noise has at least

    @cached_property
    def fitted(self) -> tuple[np.ndarray, np.ndarray]:
        """Parameters (k,) of least squares, and the noise (g,) that they leave."""
        parameters, _, noise = weighed_fit(self.info)
        return parameters, np.maximum(noise, self.least)

    @property
    def noise(self) -> np.ndarray:
        """(g,) deviations."""
        return self.fitted[1]

    @property
    def left(self) -> float:
        """Share of the torque that the payload leaves, of that beyond the arm's own and what drives its joints."""
        beside = np.append(np.zeros(10), self.fitted[0][10:])
        return float(np.sqrt(self.noise**2 @ self.info.counts / max(np.sum(self.info.without(beside).energy), 1e-300)))

    @cached_property
    def normal(self) -> tuple[np.ndarray, np.ndarray]:
        """Normal equations (10, 10), (10,) of the payload in units of the noise, what drives the joints left free."""
        deviation = self.noise * np.sqrt(self.memory)
        if len(self.info.columns) > 10:
            T = eliminated(self.info, deviation)
            return T[:, :10].T @ T[:, :10], T[:, :10].T @ T[:, 10]
        weighted = self.info.weighted(1 / deviation**2)
        return weighted.G, weighted.b

    @property
    def theta(self) -> np.ndarray:
        """(10,) of least squares, of least scaled norm where the torques leave freedom."""
        G, b = self.normal
        scale = 1 / np.sqrt(np.where(np.diag(G) > 0, np.diag(G), 1.0))
        return scale * np.linalg.lstsq(scale[:, None] * G * scale, scale * b, rcond=NEGLIGIBLE)[0]


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
        without: the same for the empty arm, recommended: of a log of the same motion, what the model misses there is
            taken off sample by sample; of another motion, as an apparent payload.
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
    empty = None if without is None else _felt(arm, _summed(arm, without), frame)
    rows = bare = both = None
    if isinstance(with_payload, Log):
        rows = of_torques(arm, with_payload, frame, _arm_noise(arm_error, empty))
        bare = of_torques(arm, without, frame) if isinstance(without, Log) else None
        both = None if bare is None or not isinstance(without, Log) else less(rows, with_payload, bare, without)
    if both is not None:
        loaded, empty, notes = _of_rows(both), None, (PAIRED,)
    elif rows is not None:
        look, causes = _explained(rows)
        findings = (finding_of(causes, look.plain.share),) if causes else ()
        loaded, notes = _of_rows(rows, look.beside), (DRIVEN,) if look.beside.size else ()
        if bare is not None and look.beside.size:
            empty = _of_rows(bare, bare.drive)
    else:
        loaded = _felt(arm, with_payload, frame)
    noise, theta, (G, b) = loaded.noise, loaded.theta, loaded.normal
    if empty is not None:
        theta, (G, b) = theta - empty.theta, _less(G, b, *empty.normal)
    why = f"joint torques of {arm.name}, its own model frozen and taken off"
    mass, spread = float(theta[0]), np.linalg.pinv(G, hermitian=True)
    meets = noise**2 @ loaded.info.counts < ARM**2 * float(np.sum(loaded.whole))
    if meets and abs(mass) < ZERO * np.sqrt(spread[0, 0]):
        return Payload(theta, spread, "ols", Status.FAINT, noise, samples=loaded.info.n, why=why)
    if not mass_seen(G, HEAVY * float(np.sum(arm.inertias[:, 0]))):
        raise FitError(
            f"the mass of a load on {frame or arm.body_names[-1]} is not identifiable from these torques: it turns "
            "about a fixed point, or hardly moves. Use a wrist sensor, or a link further out (--frame)."
        )
    A, b = _factor(G, b)
    if not mass > 0:
        raise FitError(
            f"the torques give a payload of {mass:.4g} kg. Is anything held? Is the arm's model identified with the "
            f"same friction and gravity, and are the torques on the link side? {PAIR}"
            + "".join(f" Found: {each.message}" for each in findings)
        )
    if shape is not None:
        fit = density_fit(A, b, solid_of(shape), mass)
        theta, covariance, method = fit.theta, fit.covariance, "density"
    else:
        prior = compact_body(mass, theta[1:4] / mass)
        theta, covariance, more = fitted_body(A, b, prior, weight=weight, regularizer="entropic")
        method, notes = "geo", (*notes, *more)
    found = Payload(
        theta=theta,
        covariance=covariance,
        method=method,
        status=Status.OK,
        noise=noise,
        samples=loaded.info.n,
        why=why,
        findings=tuple(each.message for each in findings),
        notes=notes,
    )
    return _judged(found, arm, G, findings, loaded.left)


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
        "gravity and frame of the model right (steelyard validate on a log of the empty arm), is the payload held "
        f"fast? {PAIR}"
    )
    return replace(found, status=Status.NOT_EXPLAINED, findings=(*found.findings, finding))


def _arm_noise(arm_error, empty: PayloadTorques | None):
    """(nv,) what the arm's model leaves without payload: as stated, or as the empty run shows."""
    found = None if empty is None else empty.noise
    known = [np.asarray(each, dtype=float) for each in (arm_error, found) if each is not None]
    return np.max(known, axis=0) if known else None


def _felt(arm: Robot, what: Log | Information, frame: str | None) -> PayloadTorques:
    if isinstance(what, Log):
        return _of_rows(of_torques(arm, what, frame))
    own = arm.inertias.ravel()
    if what.robot is None or len(what.columns) != what.layout.size or what.layout.terms:
        raise LogError("an Information for a payload is made by carried_information(robot, log)")
    if len(own) != what.layout.size:
        raise LogError(
            f"the Information has {what.layout.size} columns, the arm {len(own)}: it belongs to another robot"
        )
    body, R, p = frame_of(arm, frame)
    to_body = np.zeros((len(own), 10))  # theta in the frame to theta in the body
    to_body[10 * body : 10 * body + 10] = parameters.transform_matrix(R, p)
    carried, groups = of_body(what.without(own), to_body), len(what.counts)
    return PayloadTorques(carried, what.energy, np.full(groups, 1 / what.independence), np.zeros(groups))


def _explained(rows: Rows) -> tuple[Look, list[MisfitCause]]:
    """What of a log of joint torques a payload does not explain, and the mistakes that would. Friction, offsets and
    motors that are not those of the arm's model are fitted in any case where they surely explain more."""
    plain = look_at(rows)
    driven = plain.behind(rows.drive)
    look = look_at(rows, rows.drive) if driven.head > THRESHOLDS.evidence else plain
    causes = causes_of(look, arm_mistakes(look))
    if not causes and look is plain and (causes := causes_of(driven, arm_mistakes(driven))):
        return driven, causes  # a mistake may hide behind what drives the joints
    return look, causes


def _of_rows(rows: Rows, beside=None) -> PayloadTorques:
    """Sums of samples. beside: (n, nv, m) columns of what drives the joints, as unknowns."""
    assert rows.own is not None
    fit, groups = fitted(rows, beside), rows.groups
    memory = sample_worth(rows.columns, fit.residual, np.maximum(fit.noise, rows.noise), groups)
    return PayloadTorques(sums_of(rows, beside), np.sum((rows.measured + rows.own) ** 2, axis=0), memory, rows.noise)


def _less(G, b, G_empty, b_empty):
    """Normal equations of a payload beside an apparent one that the empty run measures, the latter eliminated.

    `G (x + o) = b` and `G_empty o = b_empty` leave for x the parallel sum `G S G_empty`, `S = (G + G_empty)^+`: what
    either run does not show is not known of their difference, and the noise of both counts.
    """
    scale = 1 / np.sqrt(np.where((both := np.diag(G + G_empty)) > 0, both, 1.0))
    S = scale[:, None] * np.linalg.pinv(scale[:, None] * (G + G_empty) * scale, rcond=1e-12, hermitian=True) * scale
    parallel = G @ S @ G_empty
    return (parallel + parallel.T) / 2, G_empty @ S @ b - G @ S @ b_empty


def _factor(G, b):
    """A (10, 10), b (10,) with the same normal equations."""
    values, axes = np.linalg.eigh(G)
    keep = values > 1e-14 * values[-1]
    root = np.where(keep, np.sqrt(np.maximum(values, 0)), 0.0)
    return root[:, None] * axes.T, np.where(keep, axes.T @ b / np.where(keep, root, 1.0), 0.0)
