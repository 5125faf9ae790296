"""How much of what was measured no rigid payload explains, and which known mistake would explain it.

The same tests serve wrenches of a wrist and torques of an arm: both are linear in ten parameters (`Rows`). Least
squares without any physics fit a log at least as well as every other method, so what they leave is the log's own. A
mistake is undone and the log fitted again. It is named where that takes away most of the misfit, or where it is
significant and moves the result; in both cases only if a body comes out that a robot can hold. Others that explain
about as well are named beside it.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from steelyard.log import Finding
from steelyard.payload.outlying_stretches import has_outlying_window, outlying_samples, stretches_of
from steelyard.payload.payload_changes import NOTHING, parts_of
from steelyard.payload.payload_estimate import implausible
from steelyard.payload.rows import Rows, RowsFit, RowSums, better, fitted, memory_of, share_of
from steelyard.payload.thresholds import THRESHOLDS

LATE = 0.5  # s, farthest shift of the readings that is looked for
GONE = 0.2  # of the payload's weight: less is felt where it was dropped
ALIKE = 0.1  # of the misfit: causes that leave so little more explain about as well
TURNS = 6  # of the iteration that finds gravity
SETTLED = 1e-4  # rad
LEANS = 0.5  # degrees: base and sensor are not aligned better
TENTH = 0.1  # of the mass: what a controller takes off, or a hopper loses, is no less
LEAST_GAIN, LOWEST_GAIN = 0.04, 0.1  # of scales that are not one


@dataclass(frozen=True)
class MisfitCause:
    """A mistake that was undone.

    name: in a few words; words: with its remedy. left: share of the signal beyond noise when it is undone. unknowns:
    of its undoing. fit: when it is undone, None where samples or signals are others; theta, noise: of it then. moves:
    change of the mass, as a part of it, and of the centre of mass in m. always: whether no result is right with it;
    certain: whether it is named whatever it leaves.
    """

    name: str
    words: str
    left: float
    unknowns: int
    fit: RowsFit | None = None
    theta: np.ndarray | None = None
    noise: np.ndarray | None = None
    moves: tuple[float, float] = (0.0, 0.0)
    always: bool = False
    certain: bool = False


@dataclass(frozen=True, eq=False)
class Look:
    """What hypotheses start from. sums: with all columns that some of them adds. taken: names of those that are fitted
    in any case, such as a bias. plain: the fit as the log was read."""

    rows: Rows
    sums: RowSums
    taken: tuple[str, ...]
    plain: RowsFit

    def fit(self, *names: str) -> RowsFit:
        """With further columns, the first of `RowsFit.beside` behind those taken in any case."""
        return self.sums.fit(*(name for name in self.taken if name not in names), *names)

    @property
    def beside(self) -> np.ndarray:
        """(n, k, m) columns that are fitted in any case."""
        return self.sums.columns[:, :, [i for name in self.taken for i in self.sums.places[name]]]


Hypothesis = Callable[[Look], Iterable[MisfitCause] | MisfitCause | None]


def look_at(rows: Rows, taken: tuple[str, ...] = (), more: dict[str, np.ndarray] | None = None) -> Look:
    """Sums of rows with the columns of all hypotheses. more: those of one sensor alone."""
    constant = rows.constant()
    time = (rows.t - rows.t[0])[:, None, None]
    weight = (rows.pull @ rows.gravity)[:, :, :4]
    beside = {"constant": constant, "drift": time * constant, "weight": weight}
    beside |= {"growing": time * rows.columns[:, :, :4]} | (more or {})
    sums = RowSums(rows, beside)
    return Look(rows, sums, taken, sums.fit(*taken))


def causes_of(look: Look, hypotheses: Iterable[Hypothesis]) -> list[MisfitCause]:
    """Mistakes whose undoing explains the log, the best one first."""
    share = look.plain.share
    found = []
    for hypothesis in hypotheses:
        if hypothesis in (stretches, changed, shifted) and share < THRESHOLDS.misfit_searched:
            continue  # costly, and named only where much is left
        told = hypothesis(look)
        for each in () if told is None else (told,) if isinstance(told, MisfitCause) else told:
            cause = _with_moves(each, look.plain.theta)
            if _named(cause, look, share) and not _impossible(cause):
                found.append(cause)
    best = min((each.left for each in found), default=0.0)
    about = ALIKE * max(share, THRESHOLDS.misfit_searched)
    return sorted(found, key=lambda each: (each.left > best + about, _cost(each, look)))


def _cost(cause: MisfitCause, look: Look) -> float:
    """Akaike's criterion: what the residual costs, and each unknown."""
    rows = look.rows
    own = cause.noise if cause.noise is not None else rows.noise if cause.fit is None else cause.fit.noise
    noise = np.maximum(own, rows.noise)
    counts = len(rows) * np.bincount(rows.groups)
    return float(np.sum(counts * 2 * np.log(noise / rows.signal))) + 2 * cause.unknowns


def _with_moves(cause: MisfitCause, theta) -> MisfitCause:
    other = cause.theta if cause.theta is not None else None if cause.fit is None else cause.fit.theta
    if other is None or not other[0] or not theta[0]:
        return cause
    shift = float(np.linalg.norm(other[1:4] / other[0] - theta[1:4] / theta[0]))
    return replace(cause, theta=other, moves=(abs(float(theta[0] / other[0] - 1)), shift))


def _named(cause: MisfitCause, look: Look, share: float) -> bool:
    if cause.always or cause.certain:
        return True
    if share >= THRESHOLDS.misfit_searched and cause.left < THRESHOLDS.cause * share:
        return True
    if cause.fit is None or cause.fit.share > max(THRESHOLDS.cause * share, THRESHOLDS.misfit_searched):
        return False
    harm = cause.moves[0] > THRESHOLDS.moved_mass or cause.moves[1] > THRESHOLDS.moved_center
    return harm and better(look.plain, cause.fit) > THRESHOLDS.surely_better + 4 * cause.unknowns


def _impossible(cause: MisfitCause) -> bool:
    return cause.theta is not None and implausible(cause.theta) is not None


def finding_of(causes: list[MisfitCause], share: float) -> Finding:
    """The first of the causes as a finding, with those that explain about as well."""
    cause = causes[0]
    about = cause.left + ALIKE * max(share, THRESHOLDS.misfit_searched)
    others = list(dict.fromkeys(each.name for each in causes[1:] if each.left <= about and each.name != cause.name))
    text = cause.words
    if share > max(cause.left, 1e-9) and cause.fit is not None:
        text += f" That explains {100 * (1 - (cause.left / share) ** 2):.0f} % of what the payload leaves."
    if others:
        text += f" About as well explained by: {'; '.join(others[:3])}."
    limit = THRESHOLDS.misfit_with_care
    fatal = share > limit or cause.moves[0] > THRESHOLDS.moved_mass or cause.moves[1] > THRESHOLDS.moved_center
    return Finding("misread", "fatal" if fatal or cause.always else "warning", text)


def adds_up(look: Look) -> bool:
    """Whether residuals of a stream, each within noise, add up to more than noise does."""
    noise = look.rows.noise
    if not look.rows.streamed or not (noise > 0).all():
        return False
    return has_outlying_window(look.plain.residual / noise[look.rows.groups])


def offset(look: Look) -> MisfitCause | None:
    """A sensor that was not tared."""
    if look.taken:
        return None
    fit = look.fit("constant")
    numbers = ", ".join(f"{x:.3g}" for x in fit.beside)
    words = f"the sensor was not tared: it shows ({numbers}) N and N m beside; use bias=True (--bias)."
    return MisfitCause("a sensor that was not tared", words, fit.share, len(fit.beside), fit)


def drift(look: Look) -> MisfitCause | None:
    """An offset that changes with time, which leaves far less than a constant one."""
    fit = look.fit("constant", "drift")
    if fit.share > THRESHOLDS.cause * look.fit("constant").share:
        return None
    numbers = ", ".join(f"{x:.2g}" for x in fit.beside[-len(look.rows.names) :])
    if look.rows.log is None:
        words = f"joint torques drift by ({numbers}) N m/s: record again when the drives are warm."
    else:
        words = f"the sensor's bias drifts by ({numbers}) N/s and N m/s; use bias='drift' (--drift)."
    return MisfitCause("an offset that drifts", words, fit.share, len(fit.beside), fit)


def removed_weight(look: Look) -> MisfitCause | None:
    """A controller that takes off the weight of the payload it believes in: columns of gravity alone."""
    if not look.rows.moving or not np.linalg.norm(look.rows.gravity) > 0:
        return None
    fit = look.fit("weight")
    taken = -fit.beside[-4:]
    mass = fit.theta[0]
    if not mass > 0 or not TENTH * mass < taken[0] < 10 * mass or implausible(np.append(taken, np.zeros(6))):
        return None
    if fit.deviation[-4] * np.sqrt(memory_of(fit.residual, look.rows.groups).max()) > TENTH * mass:
        return None
    words = (
        f"the controller takes off the weight of a payload that it believes in: {_body(taken)}. Fitted beside, this "
        f"log shows {_body(fit.theta)}. Set the controller's payload to none and record again."
    )
    return MisfitCause("the weight of a payload set in the controller", words, fit.share, 4, fit)


def _body(theta) -> str:
    center = ", ".join(f"{1e3 * x + 0.0:.3g}" for x in theta[1:4] / theta[0])
    return f"{theta[0]:.4g} kg at ({center}) mm"


def gravity(look: Look) -> MisfitCause | None:
    """Gravity of the given strength that leans: from a fit in which its products with mass and moment are free, by
    Gauss-Newton. A lean that leaves little moves a sensor's result little; of an arm it pulls at the arm as well."""
    rows, strength = look.rows, float(np.linalg.norm(look.rows.gravity))
    if not strength > 0 or (rows.weight is None and look.plain.share < THRESHOLDS.misfit_searched):
        return None
    beside, found = look.beside, rows.under(_free_gravity(rows, look.beside, strength))
    for _ in range(TURNS):
        turns = strength * np.linalg.svd(found.gravity[None])[2][1:].T  # (3, 2) directions across gravity
        tilts = np.einsum("nkia,i,ab->nkb", found.pull, fitted(found, beside).theta, turns)
        tilts = tilts if found.weight is None else tilts + found.weight @ turns
        turn = fitted(found, np.concatenate([beside, tilts], axis=2)).beside[-2:]
        turned = found.gravity + turns @ turn
        found = found.under(turned * strength / np.linalg.norm(turned))
        if np.linalg.norm(turn) < SETTLED:
            break
    rows = found
    fit = fitted(rows, beside)
    angle = np.degrees(np.arccos(np.clip(rows.gravity @ look.rows.gravity / strength**2, -1, 1)))
    numbers = [f"{x:.3g}" for x in rows.gravity + 0.0]
    words = (
        f"gravity points {angle:.0f} degrees away from what was given, at {strength:.3g} m/s^2: is the base tilted? "
        f"Pass gravity=({', '.join(numbers)}) (--gravity {' '.join(numbers)})."
    )
    return MisfitCause("a gravity that leans", words, fit.share, 2, fit) if angle > LEANS else None


def _free_gravity(rows: Rows, beside, strength: float) -> np.ndarray:
    """(3,) gravity of the given strength, from a fit in which its products with mass and moment are free; of an arm,
    from its own weight."""
    n, k = rows.measured.shape
    products = rows.pull[:, :, :4].reshape(n, k, 12)
    if rows.weight is None:
        fit = fitted(replace(rows, gravity=np.zeros(3)), np.concatenate([beside, products], axis=2))
        pull = fit.beside[-12:-9]
    else:
        pull = rows.gravity + fitted(rows, np.concatenate([beside, rows.weight], axis=2)).beside[-3:]
    size = float(np.linalg.norm(pull))
    return strength * pull / size if size > 0 else rows.gravity


def growing(look: Look) -> MisfitCause | None:
    """A mass that changes steadily, as of a hopper that empties."""
    fit = look.fit("growing")
    rate, mass, span = fit.beside[-4], fit.theta[0], float(look.rows.t[-1] - look.rows.t[0])
    if not mass > 0 or abs(rate) * span < TENTH * mass:
        return None
    words = (
        f"the payload's mass changes steadily, from {mass:.4g} kg at the start to {mass + rate * span:.4g} kg at the "
        "end: split the log into parts in which it stays."
    )
    return MisfitCause("a mass that changes steadily", words, fit.share, 4, fit)


def changed(look: Look) -> MisfitCause | None:
    """A payload that is picked up, swapped, shifted or dropped within the log."""
    rows = look.rows
    parts, residual = parts_of(look.plain, look.beside)
    if len(parts) < 2 or any(each.theta[0] > 0 and implausible(each.theta) for each in parts):
        return None
    heaviest = max(each.theta[0] for each in parts)
    if min(each.theta[0] for each in parts) < -NOTHING * heaviest:
        return None
    times = ", ".join(f"{each.start:.4g}" for each in parts[1:])
    held = "; ".join(each.words(heaviest) for each in parts)
    words = f"the payload changes at t = {times} s: {held}. Split the log there (--leave-out FROM:TO)."
    noise = rows.rms(residual) / np.sqrt(max(1 - 10 * len(parts) / residual.size, 0.1))
    longest = max(parts, key=lambda each: each.end - each.start)
    unknowns = 10 * len(parts)
    return MisfitCause(
        "a payload that changes", words, share_of(rows, noise), unknowns, theta=longest.theta, noise=noise
    )


def stretches(look: Look, *, single: bool = True) -> MisfitCause | None:
    """Stretches of time in which something else acts."""
    rows, beside = look.rows, look.beside
    outlying = outlying_samples(rows, beside, single=single)
    if not outlying.any():
        return None
    fit = fitted(rows[~outlying], beside[~outlying])
    expected = rows.columns[outlying] @ fit.theta
    given = rows.measured[outlying] - beside[outlying] @ fit.beside
    heavy = rows.groups == 0 if rows.log is not None else np.ones(len(rows.groups), dtype=bool)
    felt = np.sum((expected * given)[:, heavy]) / max(float(np.sum(expected[:, heavy] ** 2)), 1e-24)
    spans = stretches_of(outlying)
    longest = sorted(sorted(spans, key=lambda span: span[0] - span[1])[:3])
    times = ", ".join(f"{rows.t[first]:.4g} to {rows.t[last]:.4g} s" for first, last in longest)
    more = f" and {len(spans) - 3} more stretches" if len(spans) > 3 else ""
    gone = "nothing is held there: was it dropped, or not yet picked up"
    what = gone if abs(felt) < GONE else "did something touch it"
    kind = "wrench is" if rows.log is not None else "torque is"
    words = (
        f"in {100 * np.mean(outlying):.2g} % of the samples (t = {times}{more}) the {kind} not this payload's; {what}? "
        "Leave them out (--leave-out FROM:TO)."
    )
    return MisfitCause(
        "a touch in part of the time", words, fit.share, 60 * len(spans), theta=fit.theta, noise=fit.noise
    )


def gains(look: Look) -> Iterator[MisfitCause]:
    """One channel that shows another scale."""
    rows = look.rows
    for name in rows.names:
        fit = look.fit(f"gain of {name}")
        gain = 1 + float(fit.beside[-1])
        if abs(gain - 1) > LEAST_GAIN and LOWEST_GAIN < gain < 1 / LOWEST_GAIN and fit.share < look.plain.share:
            what = f"torque of {name}" if rows.log is None else name
            words = f"{what} is {gain:.3g} times what it should be: check its calibration."
            yield MisfitCause(f"{what} at {gain:.3g} times its value", words, fit.share, 1, fit)


def gain_columns(rows: Rows, theta) -> dict[str, np.ndarray]:
    """(n, k, 1) columns of one channel's scale each: what a payload theta (10,), and the arm, do there."""
    expected = rows.columns @ theta + (0.0 if rows.own is None else rows.own)
    eye = np.eye(len(rows.names))
    return {f"gain of {name}": (expected * eye[i])[:, :, None] for i, name in enumerate(rows.names)}


def shifted(look: Look) -> MisfitCause | None:
    """Readings whose clock is not that of the motion."""
    rows = look.rows
    if not rows.streamed or not rows.moving:
        return None
    step = float(np.median(np.diff(rows.t)))
    reach = min(round(LATE / step), len(rows) // 4)
    inner = rows[reach : len(rows) - reach]
    readings = rows.measured if rows.own is None else rows.measured + rows.own
    own = 0.0 if rows.own is None else rows.own[reach : len(rows) - reach]
    quiet, beside = replace(inner, noise=0 * rows.noise), look.beside[reach : len(rows) - reach]

    def at(kind, lag):
        late = readings[reach + lag : len(rows) - reach + lag] - own
        return fitted(replace(kind, measured=late), beside)

    def whole(lag):  # share with its noise: without, several lags may leave nothing
        return at(quiet, lag).share

    best, stride = 0, max(1, reach // 8)
    while stride:
        best = min(range(max(-reach, best - 8 * stride), min(reach, best + 8 * stride) + 1, stride), key=whole)
        stride //= 4
    if best == 0:
        return None
    fit, when = at(inner, best), "late" if best > 0 else "early"
    what = "wrench is" if rows.log is not None else "torque is"
    words = f"the {what} {abs(best) * step:.3g} s {when} against the motion: shift its stamps by {-best * step:.3g} s."
    return MisfitCause("another clock", words, fit.share, 1, theta=fit.theta, noise=fit.noise)


SHARED: tuple[Hypothesis, ...] = (stretches, offset, drift, gravity, removed_weight, growing, changed, gains, shifted)
"""Mistakes that every sensor can have."""
