"""Torque constants of drives from logs of motor current (drive gains; Gautier and Briot 2014).

With currents i instead of torques the regression of joint j reads `k_j i_j = y_j beta`: right for gains and parameters
times any number. Something known in kilograms has to fix that scale: a load of known mass that one of the logs carries,
or parameters of a link. The sums of an Information of currents hold all that is needed, `sum y y^T`, `sum y i` and
`sum i^2`; a linear solution of `y beta - k i = 0` starts Gauss-Newton steps on the currents' own errors
`i - g y beta`, `g = 1 / k`, because noise in a column of currents would bias the linear one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.cards import Card
from steelyard.errors import FitError, OptionError, choices
from steelyard.fit.prior import model_parameters
from steelyard.fit.qr import span
from steelyard.fit.thresholds import THRESHOLDS
from steelyard.information import Information
from steelyard.numbers import ROUNDING, STEPS
from steelyard.terms import stated_values

REMEDY = (
    "The scale is only fixed by a known mass: record a further log with a load of known mass on a body, "
    'drive_gains(info, loads=[Load(info_with_load, "BODY", kilograms)]), or give known={"BODY.hx": value, ...}.'
)


@dataclass(frozen=True, eq=False, repr=False)
class Load(Card):
    """A log of currents recorded with a load fixed to a body.

    info: its Information. body: name of the body. theta: the load's mass in kg, or all its inertial parameters (10,)
    in the body frame.
    """

    info: Information
    body: str
    theta: np.ndarray | float


@dataclass(frozen=True, eq=False)
class DriveGains:
    """Torque per unit of current, and what it is known from.

    gains: (nv,) N m (or N) per unit of current, with its sign; deviation: (nv,) standard deviations. information: of
    the logs in torques, without fully known loads (logs with a load of which only the mass is known are left out):
    what any fit takes.
    """

    gains: np.ndarray
    deviation: np.ndarray
    joint_names: tuple[str, ...]
    information: Information


def gains_by_model(info: Information) -> DriveGains:
    """Gains of drives, of an Information of currents, each as the given links have it beside free friction, armature
    and offset of its joint. A fit follows, in which gains are weighed against links.

    Joints that show little but friction have the median gain of the others, or of all where no joint shows its own, and
    an infinite deviation.
    """
    _require_currents(info, ())
    info = info.plain.base
    links, others = _of_links(info), info.basis.regrouping[:, info.layout.links.stop :]
    found = [_gain(info, dof, links, others) for dof in range(len(info.energy))]
    inverse, deviation, share = np.array(found).T
    shown = share > THRESHOLDS.links_share
    usual = 1 / inverse[shown if shown.any() else inverse > 0]
    gains, spread = np.full(len(shown), np.median(usual) if len(usual) else 1.0), np.full(len(shown), np.inf)
    gains[shown], spread[shown] = 1 / inverse[shown], deviation[shown] / inverse[shown] ** 2
    return DriveGains(gains, spread, info.group_names, info.rescaled(gains))


def _gain(info: Information, dof: int, links, others) -> tuple[float, float, float]:
    """Current of a joint per torque of given links (r,), beside other columns (r, k); its deviation, and the share of
    what the others leave that it explains."""
    places, block = info.squares.pattern.places[dof], info.squares.blocks[dof]
    felt = others[places]
    felt = np.column_stack([felt[:, felt.any(axis=0)], links[places]])
    G, b, energy = felt.T @ block @ felt, felt.T @ info.moment[dof, places], info.energy[dof]
    size = np.sqrt(np.maximum(np.diag(G), 1e-300))
    G, b = G / size / size[:, None], b / size
    x, alone = (np.linalg.pinv(each, rcond=1e-10, hermitian=True) for each in (G, G[:-1, :-1]))
    left, before = (max(energy - part @ inverse @ part, 0.0) for part, inverse in ((b, x), (b[:-1], alone)))
    variance = left / max(info.independence * info.counts[dof], 1.0)
    return (x @ b)[-1] / size[-1], np.sqrt(variance * x[-1, -1]) / size[-1], 1 - left / before if before > 0 else 0.0


def _of_links(info: Information) -> np.ndarray:
    """(r,) base parameters of the given links."""
    links = np.zeros(info.layout.size)
    links[info.layout.links] = model_parameters(info.robot, info.layout)[info.layout.links]
    return info.basis.regrouping @ links


@dataclass(frozen=True, eq=False)
class _Part:
    """Information of one log, and its base parameters `known + unknown @ z`."""

    info: Information
    known: np.ndarray
    unknown: np.ndarray


def drive_gains(
    info: Information, *, known: Mapping[str, float] | None = None, loads: Sequence[Load] = ()
) -> DriveGains:
    """Gains of all drives from logs whose "torques" are motor currents.

    Args:
        info: of currents, all friction and armature that the robot has as columns.
        known: values of columns by name, such as `{"link7.m": 1.2}`.
        loads: logs with a known load, which move the same robot.

    Returns:
        The DriveGains, in N m or N per unit of current.

    Raises:
        FitError: nothing known fixes the scale, or the motion does not show a gain.
        OptionError: unknown names.
    """
    info, loads = info.plain.base, [replace(each, info=each.info.plain.base) for each in loads]
    _require_currents(info, loads)
    parts = _parts(info, dict(known or {}), loads)
    _require_scale(parts)
    z, gains = _linear(parts)
    gains, deviation = _refined(parts, z, gains)
    torques = info.rescaled(gains)
    for load, part in zip(loads, parts[1:], strict=True):
        if np.size(load.theta) == 10:
            torques += load.info.rescaled(gains).without(part.known - parts[0].known)
    return DriveGains(gains, deviation, info.group_names, torques)


def _require_currents(info: Information, loads: Sequence[Load]):
    robot, layout = info.robot, info.layout
    if robot is None or len(layout.dofs) != robot.nv:
        raise FitError("Drive gains need the Information of a robot with a fixed base, by `accumulate`.")
    for term, values in stated_values(robot).items():
        if term not in layout.terms and np.any(values):
            raise FitError(
                f"The model states {term} values, which `accumulate` subtracts in N m, not in units of current. Make "
                f"them columns: friction=('viscous', 'coulomb', 'offset'), armature=True."
            )
    for load in loads:
        if load.info.layout != layout:
            raise FitError("The log with the load has other columns; accumulate both with the same robot and options.")
        if load.body not in layout.body_names:
            raise OptionError(f"A load is fixed to body '{load.body}'; the robot has {choices(layout.body_names)}.")
        if np.size(load.theta) not in (1, 10):
            raise OptionError(f"A load is its mass or ten inertial parameters; got {np.shape(load.theta)}.")


def _parts(info: Information, known: dict[str, float], loads: Sequence[Load]) -> list[_Part]:
    layout, regrouping = info.layout, info.basis.regrouping
    unknown_names = [name for name in known if name not in layout.names]
    if unknown_names:
        raise OptionError(f"known names columns; there is no '{unknown_names[0]}', but {choices(layout.names)}.")
    columns = [layout.names.index(name) for name in known]
    fixed = regrouping[:, columns] @ np.array(list(known.values()), dtype=float)
    spaces = [span(np.delete(regrouping, columns, axis=1))]
    for load in loads:
        block = regrouping[:, layout.body(layout.body_names.index(load.body))]
        spaces.append(span(block[:, 1:]) if np.size(load.theta) == 1 else np.zeros((len(block), 0)))
    starts = np.cumsum([0, *(space.shape[1] for space in spaces)])
    parts = []
    for k, each in enumerate([info, *(load.info for load in loads)]):
        unknown = np.zeros((len(regrouping), starts[-1]))
        unknown[:, : starts[1]] = spaces[0]
        own = fixed
        if k:
            block = regrouping[:, layout.body(layout.body_names.index(loads[k - 1].body))]
            unknown[:, starts[k] : starts[k + 1]] = spaces[k]
            theta = np.ravel(loads[k - 1].theta)
            own = fixed + block[:, : len(theta)] @ theta
        parts.append(_Part(each, own, unknown))
    return parts


def _require_scale(parts: list[_Part]):
    """Raise FitError when what is known could as well be something unknown: gains times any number then fit too."""
    known, unknown = (np.concatenate([getattr(part, name) for part in parts]) for name in ("known", "unknown"))
    Q = span(unknown)
    size = np.linalg.norm(known)
    if not size > 0:
        raise FitError(f"Nothing is known in kilograms, so gains and parameters may be any multiple. {REMEDY}")
    if np.linalg.norm(known - Q @ (Q.T @ known)) < THRESHOLDS.fixes_scale * size:
        raise FitError(f"What is known cannot be told from what is not, whatever the motion. {REMEDY}")


def _linear(parts: list[_Part]) -> tuple[np.ndarray, np.ndarray]:
    """Least squares of `y beta - k i = 0`: z and gains (nv,)."""
    count, dofs = parts[0].unknown.shape[1], len(parts[0].info.counts)
    N, rhs = np.zeros((count + dofs, count + dofs)), np.zeros(count + dofs)
    for part in parts:
        info, B, w = part.info, part.unknown, part.known
        G = info.squares.weighted(np.ones(dofs))
        N[:count, :count] += B.T @ G @ B
        N[:count, count:] -= B.T @ info.moment.T
        N[count:, count:] += np.diag(info.energy)
        rhs[:count] -= B.T @ (G @ w)
        rhs[count:] += info.moment @ w
    N[count:, :count] = N[:count, count:].T
    solution = _inverse(N, parts[0].info.group_names) @ rhs
    return solution[:count], solution[count:]


def _refined(parts: list[_Part], z, gains) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Newton on the errors of the currents, each weighted by its joint's noise: gains and deviations (nv,)."""
    count, names = len(z), parts[0].info.group_names
    inverse = 1.0 / gains
    for _ in range(STEPS):
        N, gradient = _normal_equations(parts, z, inverse)
        covariance = _inverse(N, names)
        step = covariance @ gradient
        z, inverse = z + step[:count], inverse + step[count:]
        if np.abs(step[count:] / inverse).max() < ROUNDING:
            break
    else:
        raise FitError("The gains do not settle: the load or motion is too weak against the noise of the currents.")
    deviation = np.sqrt(np.maximum(np.diag(covariance)[count:], 0.0)) / inverse**2
    return 1.0 / inverse, deviation


def _normal_equations(parts: list[_Part], z, inverse):
    count, dofs = len(z), len(inverse)
    betas = [part.known + part.unknown @ z for part in parts]
    predicted = [part.info.squares @ beta for part, beta in zip(parts, betas, strict=True)]
    squares, energy = np.zeros(dofs), np.zeros(dofs)
    for part, beta, Gb in zip(parts, betas, predicted, strict=True):
        squares += part.info.energy - 2 * inverse * (part.info.moment @ beta) + inverse**2 * (Gb @ beta)
        energy += part.info.energy
    samples = sum(part.info.counts for part in parts)
    variance = np.maximum(squares, THRESHOLDS.noise_floor**2 * energy) / samples
    N, gradient = np.zeros((count + dofs, count + dofs)), np.zeros(count + dofs)
    for part, beta, Gb in zip(parts, betas, predicted, strict=True):
        info, B = part.info, part.unknown
        weight = info.independence / variance
        error = info.moment - inverse[:, None] * Gb
        N[:count, :count] += B.T @ info.squares.weighted(weight * inverse**2) @ B
        N[:count, count:] += B.T @ (weight * inverse * Gb.T)
        N[count:, count:] += np.diag(weight * (Gb @ beta))
        gradient[:count] += B.T @ (weight * inverse @ error)
        gradient[count:] += weight * (error @ beta)
    N[count:, :count] = N[:count, count:].T
    return N, gradient


def _inverse(matrix: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """Inverse, on what the data determines, of normal equations whose last unknowns are the gains of `names`. Raises
    FitError when one is not determined."""
    size = np.sqrt(np.diag(matrix))
    size = np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(matrix / size[:, None] / size)
    weak = values <= ROUNDING * values[-1]
    open_gains = np.abs(vectors[-len(names) :, weak]).max(axis=1, initial=0.0)
    if open_gains.max(initial=0.0) > 1e-3:
        unseen = [name for name, share in zip(names, open_gains, strict=True) if share > 1e-3]
        raise FitError(f"The motion does not show the gains of {choices(unseen)}. Move these joints, and record more.")
    kept = vectors[:, ~weak] / size[:, None]
    return (kept / values[~weak]) @ kept.T
