"""Payload from joint torques alone: what an arm with a frozen, identified model feels beyond itself.

The torque of the arm's own bodies, friction and armature is known and subtracted; ten columns remain, those of the body
that carries the payload. Only sums enter, so the Informations of a log with and one without payload may be subtracted
as well: `payload_information` works on the sums of one log whose columns are all there.
"""

from dataclasses import replace

import numpy as np

from steelyard.errors import FitError, LogError
from steelyard.inertia import parameters
from steelyard.information import Information, accumulate
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.payload.arm_sensor import frame_of
from steelyard.payload.density import density_fit
from steelyard.payload.entropic import compact_body, entropic_fit
from steelyard.payload.payload_estimate import Payload, Status, status_of
from steelyard.payload.solid_shape import solid_of
from steelyard.payload.thresholds import THRESHOLDS
from steelyard.terms import COULOMB_WIDTH

ZERO = 2.0  # standard deviations within which a mass is none: an empty hand, in 95 of 100 logs
ARM = 0.1  # share of the torque that an arm's own model may leave, for an empty hand to be one
STEPS = 5


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


def identify_from_torques(
    arm: Robot,
    with_payload: Log | Information,
    *,
    without: Log | Information | None = None,
    frame: str | None = None,
    shape=None,
    weight: float = 1.0,
) -> Payload:
    """Payload of an arm from joint torques alone.

    Args:
        arm: identified model of the empty arm, friction and armature included; it stays as it is.
        with_payload: log with v and a, or `carried_information` of it.
        without: the same for the empty arm, if the model is not trusted: what the model misses there is estimated as an
            apparent payload and taken off.
        frame: link or body in whose axes theta is, the last body by default.
        shape: as for `identify`, in the frame.
        weight: of the compact-body prior without shape.

    Returns:
        The payload, theta in the axes of `frame` at its origin.

    Raises:
        LogError: logs of another robot.
        FitError: torques that show no mass.
    """
    body, R, p = frame_of(arm, frame)
    loaded = with_payload if isinstance(with_payload, Information) else carried_information(arm, with_payload)
    columns = slice(10 * body, 10 * body + 10)
    to_body = parameters.transform_matrix(R, p)  # theta in the frame to theta in the body
    sums = _own_columns(arm, loaded, columns)
    noise, theta, G, b = _weighed(sums, loaded, to_body)
    left = _share_left(noise, loaded.counts, sums[2])
    if without is not None:
        empty = without if isinstance(without, Information) else carried_information(arm, without)
        _, apparent, *other = _weighed(_own_columns(arm, empty, columns), empty, to_body)
        theta, (G, b) = theta - apparent, _less(G, b, *other)
    why = f"joint torques of {arm.name}, its own model frozen and taken off"
    mass, spread = float(theta[0]), np.linalg.pinv(G, hermitian=True)
    meets = noise**2 @ loaded.counts < ARM**2 * float(np.sum(loaded.energy))
    if meets and abs(mass) < ZERO * np.sqrt(spread[0, 0]):
        return Payload(theta, spread, "ols", Status.FAINT, noise, samples=loaded.n, why=why)
    A, b = _factor(G, b)
    if not mass > 0:
        raise FitError(
            f"the torques give a payload of {mass:.4g} kg. Is anything held? Is the arm's model identified with the "
            "same friction and gravity, and are the torques on the link side?"
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
        samples=loaded.n,
        why=why,
    )
    if left <= THRESHOLDS.torques_unexplained:
        return replace(found, status=status_of(found, moving=True))
    finding = (
        f"the payload leaves {100 * left:.0f} % of the torque that the arm's model does not explain. Are friction, "
        "gravity and frame of the model right (steelyard validate on a log of the empty arm), is the payload held fast?"
    )
    return replace(found, status=Status.NOT_EXPLAINED, findings=(finding,))


def _share_left(noise, counts, energy) -> float:
    """Residual over what the arm leaves, of all joints together, RMS in N m (N)."""
    return float(np.sqrt(np.sum(noise**2 * counts) / max(float(np.sum(energy)), 1e-300)))


def _weighed(sums, info: Information, to_body):
    """noise (g,), theta (10,) of weighted least squares, and its normal equations (10, 10), (10,), in the frame."""
    gram, moment, energy = sums
    gram, moment = to_body.T @ gram @ to_body, moment @ to_body
    noise, theta = _noise(gram, moment, energy, info.counts)
    weights = info.independence / noise**2
    return noise, theta, np.tensordot(weights, gram, axes=1), weights @ moment


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


def _noise(gram, moment, energy, counts):
    """(g,) residual deviation of each joint, and theta (10,) of weighted least squares."""
    noise, theta = np.sqrt(np.maximum(energy, 1e-12) / np.maximum(counts, 1)), np.zeros(10)
    for _ in range(STEPS):
        theta = _solve(np.tensordot(1 / noise**2, gram, axes=1), (1 / noise**2) @ moment)
        left = energy - 2 * moment @ theta + np.einsum("gij,i,j->g", gram, theta, theta)
        floor = 1e-6 * np.sqrt(np.maximum(energy, 1e-12) / np.maximum(counts, 1))
        noise = np.maximum(np.sqrt(np.maximum(left, 0) / np.maximum(counts, 1)), floor)
    return noise, theta


def _factor(G, b):
    """A (10, 10), b (10,) with the same normal equations."""
    values, axes = np.linalg.eigh(G)
    keep = values > 1e-14 * values[-1]
    root = np.where(keep, np.sqrt(np.maximum(values, 0)), 0.0)
    return root[:, None] * axes.T, np.where(keep, axes.T @ b / np.where(keep, root, 1.0), 0.0)
