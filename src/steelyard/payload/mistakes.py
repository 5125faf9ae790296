"""Known mistakes of payload logs: each as the columns that it adds, or as the rows without it, with its remedy.

Of stretches of time in which something else acts (a touch, or another payload), sums over cells of time add up to those
of any stretch, so each pair of cells costs the same; the samples at which the best one begins and ends are then the
likeliest.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise, permutations

import numpy as np

from steelyard.log.channels import factor
from steelyard.numbers import ROUNDS, SAME
from steelyard.payload.causes import Look, PayloadMistake, moved
from steelyard.payload.gravity_strength import Strength, refutation
from steelyard.payload.payload_estimate import implausible
from steelyard.payload.rows import Rows, RowsFit, aligned, evidence, fitted, memory_of, of_wrench
from steelyard.payload.thresholds import THRESHOLDS
from steelyard.payload.wrench_log import WrenchLog
from steelyard.payload.wrench_sums import freed
from steelyard.spatial import cross, rotation_vector

LATE = 0.5  # s, farthest shift of the readings that is looked for
LEANS = 0.5  # degrees: base and sensor are not aligned better
TENTH = 0.1  # of a mass or a scale: what a controller takes off, or a hopper loses, is no less; of arms' own models
CALIBRATED = 0.03  # of a force that shows on another axis or scale; sensors keep to 2 %
FASTEST = 50.0  # m/s^2, RMS: parallel robots, which are the quickest, reach 100 to 150 for moments
CELLS = 48
LONGEST = 0.5  # of the samples, of all stretches: what lasts longer is the rest
SLIDES = 0.001  # m, RMS: what slides less is rigid


def of_wrenches(look: Look, strength: Strength | None = None) -> Iterator[PayloadMistake]:
    """Mistakes that a wrist sensor can have. strength: what the log tells of gravity."""
    rows, log = look.rows, look.rows.log
    assert log is not None
    if not look.beside.size:
        yield PayloadMistake("a sensor that was not tared", _untared, rows.constant())
    if strength is not None and (right := strength.right) is not None:
        words = refutation(log, strength, right)
        under = rows.under(rows.gravity * right / strength.given)
        yield PayloadMistake("another gravity", lambda _, words=words: words, rows=under, unknowns=1)
    yield from _of_any(look)
    if rows.moving:
        yield PayloadMistake("a wrench about another origin", _about, _levers(rows.columns[:, :3] @ look.plain.theta))
    yield from _crossed(rows, look.plain.theta)
    if look.poor:
        exchanged = replace(rows, measured=np.hstack([rows.measured[:, 3:], rows.measured[:, :3]]))
        words = "forces and moments are exchanged: the columns of forces come first."
        yield PayloadMistake("exchanged columns", lambda _, words=words: words, rows=exchanged)
        yield from _turned(look)
    yield from _sliding(look)
    if look.poor and rows.moving:
        yield from _in_other_units(rows, log)
        yield from _pulled(look)


def of_torques(look: Look) -> Iterator[PayloadMistake]:
    """Mistakes that an arm's torques can have."""
    yield from _of_any(look)
    rows = look.rows
    assert rows.own is not None
    factor = 1 + float(fitted(rows, np.concatenate([look.beside, rows.own[:, :, None]], axis=2)).beside[-1])
    if factor > 0 and abs(np.log(factor)) > TENTH:
        words = (
            f"torques are {factor:.3g} times what the arm's own weight and motion take: are they currents, or of "
            f"another unit? Name their unit (--unit), or multiply them by {1 / factor:.3g}."
        )
        right = replace(rows, measured=(rows.measured + rows.own) / factor - rows.own, noise=rows.noise / factor)
        yield PayloadMistake("torques of another scale", lambda _: words, rows=right, unknowns=1)


def _of_any(look: Look) -> Iterator[PayloadMistake]:
    rows, time = look.rows, (look.rows.t - look.rows.t[0])[:, None, None]
    growing = time * rows.constant()
    drifting = growing if look.beside.size else np.concatenate([rows.constant(), growing], axis=2)
    yield PayloadMistake("an offset that drifts", _drift, drifting)
    if np.linalg.norm(rows.gravity) > 0:
        yield from _leaning(look)
        if rows.moving:
            weight = (rows.pull @ rows.gravity)[:, :, :4]
            yield PayloadMistake("the weight of a payload set in the controller", _taken_off, weight)
    yield PayloadMistake("a mass that changes steadily", _growing, time * rows.columns[:, :, :4])
    expected = rows.columns @ look.plain.theta + (0.0 if rows.own is None else rows.own)
    for name, unit in zip(rows.names, np.eye(len(rows.names)), strict=True):
        what = name if rows.log is not None else f"torque of {name}"
        yield PayloadMistake(f"{what} of another scale", partial(_scaled, what), (expected * unit)[:, :, None])
    yield from _shifted(look)
    yield from _changed(look)
    yield from _touched(look)


def _in_other_units(rows: Rows, log: WrenchLog) -> Iterator[PayloadMistake]:
    """Places of the sensor in another unit than metres, in which it moves as no wrist does."""
    assert log.acceleration is not None and log.twist is not None, "rows that move"
    if np.sqrt(np.mean(np.sum(log.acceleration[:, :3] ** 2, axis=1))) < FASTEST:
        return
    for unit in ("mm", "cm"):
        scale = np.repeat([factor("q", unit), 1.0], 3)
        read = log.replace(twist=scale * log.twist, acceleration=scale * log.acceleration)
        words = f"positions are in {unit}: --unit position={unit}."
        right = of_wrench(read, rows.noise)
        yield PayloadMistake("positions of another unit", lambda _, words=words: words, rows=right, unknowns=1)


def _numbers(values, form=".3g") -> str:
    return ", ".join(f"{x + 0.0:{form}}" for x in values)


def _body(theta) -> str:
    return f"{theta[0]:.4g} kg at ({_numbers(1e3 * theta[1:4] / theta[0])}) mm"


def _untared(fit: RowsFit) -> str:
    return f"the sensor was not tared: it shows ({_numbers(fit.beside[-6:])}) N and N m beside; use bias=True (--bias)."


def _drift(fit: RowsFit) -> str:
    rates = _numbers(fit.beside[-len(fit.rows.names) :], ".2g")
    if fit.rows.log is None:
        return f"joint torques drift by ({rates}) N m/s: record again when the drives are warm."
    return f"the sensor's bias drifts by ({rates}) N/s and N m/s; use bias='drift' (--drift)."


def _taken_off(fit: RowsFit) -> str | None:
    """A controller that takes off the weight of the payload it believes in."""
    taken, mass = -fit.beside[-4:], fit.theta[0]
    if not mass > 0 or not TENTH * mass < taken[0] < mass / TENTH or implausible(np.append(taken, np.zeros(6))):
        return None
    if fit.deviation[-4] * np.sqrt(memory_of(fit.residual, fit.rows.groups).max()) > TENTH * mass:
        return None
    return (
        f"the controller takes off the weight of a payload that it believes in: {_body(taken)}. Fitted beside, this "
        f"log shows {_body(fit.theta)}. Set the controller's payload to none and record again."
    )


def _growing(fit: RowsFit) -> str | None:
    """A mass that changes steadily, as of a hopper that empties."""
    mass, change = fit.theta[0], fit.beside[-4] * float(fit.rows.t[-1] - fit.rows.t[0])
    if not mass > 0 or abs(change) < TENTH * mass:
        return None
    return (
        f"the payload's mass changes steadily, from {mass:.4g} kg at the start to {mass + change:.4g} kg at the end: "
        "split the log into parts in which it stays."
    )


def _scaled(what: str, fit: RowsFit) -> str | None:
    scale = 1 + float(fit.beside[-1])
    if abs(scale - 1) < CALIBRATED or not TENTH < scale < 1 / TENTH:
        return None
    return f"{what} is {scale:.3g} times what it should be: check its calibration."


def _crossed(rows: Rows, theta) -> Iterator[PayloadMistake]:
    expected = rows.columns @ theta
    for i, j in permutations(range(3), 2):
        words = partial(_shown, f"f{'xyz'[j]} shows in f{'xyz'[i]}")
        yield PayloadMistake("crossed axes", words, (expected[:, j, None] * np.eye(6)[i])[:, :, None])


def _shown(where: str, fit: RowsFit) -> str | None:
    share = float(fit.beside[-1])
    return None if abs(share) < CALIBRATED else f"{100 * share:.2g} % of {where}: calibrate the sensor's axes."


def _levers(force) -> np.ndarray:
    """(n, 6, 3) wrenches of forces (n, 3) for each m that they act away along an axis."""
    return np.concatenate([np.zeros((len(force), 3, 3)), cross(np.eye(3), force[:, None]).swapaxes(1, 2)], axis=1)


def _about(fit: RowsFit) -> str | None:
    """A wrench about another point than the frame's origin."""
    away = fit.beside[-3:]
    if np.linalg.norm(away) < THRESHOLDS.moved_center:
        return None
    return (
        f"moments are about a point at ({_numbers(1e3 * away)}) mm from the origin of the sensor's frame: name the "
        "frame of the wrench (--frame)."
    )


def _leaning(look: Look) -> Iterator[PayloadMistake]:
    """Gravity of the given strength that leans. A lean that leaves little moves a sensor's result little; of an arm it
    pulls at the arm as well."""
    rows, strength = look.rows, float(np.linalg.norm(look.rows.gravity))
    if rows.weight is None and not look.poor:
        return
    found = aligned(rows, look.beside)
    angle = np.degrees(np.arccos(np.clip(found.gravity @ rows.gravity / strength**2, -1, 1)))
    remedy = _numbers(found.gravity)
    words = (
        f"gravity points {angle:.0f} degrees away from what was given, at {strength:.3g} m/s^2: is the base tilted? "
        f"Pass gravity=({remedy}) (--gravity {remedy.replace(',', '')})."
    )
    if angle > LEANS:
        yield PayloadMistake("a gravity that leans", lambda _: words, rows=found, unknowns=2)


def _shifted(look: Look) -> Iterator[PayloadMistake]:
    """Readings whose clock is not that of the motion."""
    rows = look.rows
    if not (rows.streamed and rows.moving and look.poor):
        return
    step = float(np.median(np.diff(rows.t)))
    reach = min(round(LATE / step), len(rows) // 4)
    kept = slice(reach, len(rows) - reach)
    inner, own = rows[kept], 0.0 if rows.own is None else rows.own
    readings = rows.measured + own

    def at(lag: int) -> Rows:
        late = np.roll(readings, -lag, axis=0) - own
        return replace(inner, measured=late[kept])

    def left(lag: int) -> float:
        return float(np.sum(np.log(fitted(at(lag), look.beside[kept]).noise)))

    best, stride = 0, max(1, reach // 8)
    while stride:
        best = min(range(max(-reach, best - 8 * stride), min(reach, best + 8 * stride) + 1, stride), key=left)
        stride //= 4
    what, when = "wrench" if rows.log is not None else "torque", "late" if best > 0 else "early"
    words = (
        f"the {what} is {abs(best) * step:.3g} s {when} against the motion: shift its stamps by {-best * step:.3g} s."
    )
    if best:
        yield PayloadMistake("another clock", lambda _: words, rows=at(best), kept=kept, unknowns=1)


def _touched(look: Look) -> Iterator[PayloadMistake]:
    rows, own = look.rows, look.rows.constant()
    columns = in_stretches(own, spans := stretches_of(rows, look.beside, own))
    touched = np.asarray(columns.any(axis=(1, 2)))
    if not 0 < np.mean(touched) < LONGEST:
        return
    edges = np.flatnonzero(np.diff(touched, prepend=False, append=False)).reshape(-1, 2)
    what = "torque" if rows.log is None else "wrench"
    times = ", ".join(f"{rows.t[first]:.4g} to {rows.t[end - 1]:.4g} s" for first, end in edges)
    words = (
        f"in {100 * np.mean(touched):.2g} % of the samples (t = {times}) the {what} is not this payload's; did "
        "something touch it? Leave them out (--leave-out FROM:TO)."
    )
    yield PayloadMistake(
        "a touch in part of the time", lambda _: words, columns, kept=~touched, unknowns=2 * len(spans)
    )


def _changed(look: Look) -> Iterator[PayloadMistake]:
    """A payload that is picked up, swapped, shifted or dropped within the log."""
    rows = look.rows
    spans = stretches_of(rows, look.beside, rows.columns)
    cuts = cuts_of(spans, len(rows))
    if not spans:
        return

    def words(fit: RowsFit) -> str | None:
        more = fit.beside[-10 * len(spans) :].reshape(-1, 10)
        acting = [[span.start <= at < span.stop for span in spans] for at in cuts[:-1]]
        thetas = fit.theta + np.array(acting, dtype=float) @ more
        least = TENTH * float(thetas[:, 0].max()) + 3 * float(fit.deviation[-10 * len(spans) :: 10].max())
        if any(theta[0] < -least or (theta[0] > least and implausible(theta)) for theta in thetas):
            return None
        firsts = [0]
        for i in range(1, len(thetas)):
            both = thetas[[firsts[-1], i]]
            firsts += [i] if moved(*both) and (both[:, 0] > least).any() else []
        held = [_body(theta) if theta[0] > least else "nothing is held there" for theta in thetas[firsts]]
        starts = [cuts[i] for i in firsts]
        ends = [f"from {rows.t[a]:.4g} to {rows.t[b - 1]:.4g} s" for a, b in pairwise([*starts, len(rows)])]
        parts = "; ".join(f"{what} {when}" for what, when in zip(held, ends, strict=True))
        times = _numbers(rows.t[starts[1:]], ".4g")
        return f"the payload changes at t = {times} s: {parts}. Split the log there (--leave-out FROM:TO)."

    yield PayloadMistake("a payload that changes", words, in_stretches(rows.columns, spans), unknowns=2 * len(spans))


def _turned(look: Look) -> Iterator[PayloadMistake]:
    """A sensor whose axes are turned against those that the rotations speak of: alternately the turn, and a payload."""
    rows, biased = look.rows, bool(look.beside.size)
    push, turn, read = (rows.push + rows.pull @ rows.gravity)[:, :3, 0], np.eye(3), rows
    for _ in range(ROUNDS):
        x, y = (freed(each, rows.t, biased) for each in (rows.measured[:, :3], push))
        u, _, vt = np.linalg.svd(y.T @ x)
        turn = u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt  # (Kabsch 1976)
        read = replace(rows, measured=np.hstack([rows.measured[:, :3] @ turn.T, rows.measured[:, 3:] @ turn.T]))
        theta = fitted(read, look.beside).theta
        if not theta[0] > 0:
            return
        push = (rows.columns @ theta)[:, :3]
    angle = float(np.linalg.norm(vector := rotation_vector(turn)))
    axis = " ".join(f"{x:.2g}" for x in np.round(vector / max(angle, 1e-12), 2) + 0.0)
    words = (
        f"the sensor's axes are turned by {np.degrees(angle):.0f} degrees about ({axis}) against the rotations: "
        "name its own link (--frame), or turn the wrench into those axes."
    )
    yield PayloadMistake("a sensor that is turned on its flange", lambda _: words, rows=read, unknowns=3)


def _pulled(look: Look) -> Iterator[PayloadMistake]:
    """A cable, hose or spring from the base: a force that is constant in the world, and changes with the sensor's
    place, at one point of the payload. Its twelve numbers and its point in turn."""
    rows = look.rows
    assert rows.log is not None
    point, columns = np.zeros(3), _from_base(rows.log, np.zeros(3))
    for _ in range(ROUNDS):
        fit = fitted(rows, np.concatenate([look.beside, columns], axis=2))
        levers = _levers(columns[:, :3] @ fit.beside[-columns.shape[2] :])
        point = point + fitted(rows, np.concatenate([look.beside, columns, levers], axis=2)).beside[-3:]
        columns = _from_base(rows.log, point)

    def words(fit: RowsFit) -> str | None:
        force = np.linalg.norm(columns[:, :3] @ fit.beside[-columns.shape[2] :], axis=1)
        size = float(np.sqrt(np.mean(force**2)))
        if not TENTH < size / (np.sqrt(3) * rows.signal[0]) < 1 / TENTH:  # a filter's lag looks like a weak spring
            return None
        return (
            f"a force from the base of about {size:.2g} N pulls at the payload, as a cable, hose or spring does: "
            "fasten it to the wrist, or take it off, and record again."
        )

    yield PayloadMistake("a cable or hose that pulls", words, columns, unknowns=3)


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


def _sliding(look: Look) -> Iterator[PayloadMistake]:
    """Contents that slide or swing inside: a first moment that follows the direction of gravity in the sensor. Only
    what moves across gravity shows."""
    rows = look.rows
    if rows.log is None or not np.linalg.norm(rows.gravity) > 0:
        return
    down = rows.log.gravity_in_sensor / np.linalg.norm(rows.gravity)

    def words(fit: RowsFit) -> str | None:
        moved = down @ fit.beside[-9:].reshape(3, 3).T / fit.theta[0]
        across = moved - np.sum(moved * down, axis=1)[:, None] * down
        way = float(np.sqrt(np.mean(np.sum((across - across.mean(axis=0)) ** 2, axis=1))))
        return (
            None
            if way < SLIDES
            else (
                f"the centre of mass follows gravity by about {1e3 * way:.2g} mm: contents slide or swing inside. Fix "
                "them, or take mass and centre as a mean."
            )
        )

    columns = np.einsum("nki,nj->nkij", rows.columns[:, :, 1:4], down).reshape(len(rows), -1, 9)
    yield PayloadMistake("contents that slide inside", words, columns, harmless=True)


def stretches_of(rows: Rows, beside, own) -> list[slice]:
    """Stretches in which columns own (n, k, m) explain surely more, the best one first. beside: as of `fitted`."""
    spans, surest = [], (THRESHOLDS.evidence, 0)  # nats, and with how many
    plain = before = fitted(rows, beside)
    least = THRESHOLDS.evidence + 0.5 * own.shape[2] * np.log(rows.measured.size)
    for _ in range(ROUNDS):
        columns = np.concatenate([beside, in_stretches(own, spans)], axis=2)
        won, span = _best(rows, np.concatenate([rows.columns, columns], axis=2), before, own)
        if won < least:
            break
        for _ in range(2):
            before = fitted(rows, np.concatenate([columns, in_stretches(own, [span])], axis=2))
            span = _likeliest(before, own, span, len(rows) // min(CELLS, len(rows)))
        spans.append(span)
        before = fitted(rows, np.concatenate([beside, in_stretches(own, spans)], axis=2))
        surest = max(surest, (evidence(plain, before, 2 * len(spans)), len(spans)))
    return spans[: surest[1]]


def in_stretches(own, spans: list[slice]) -> np.ndarray:
    """(n, k, m s) columns own (n, k, m) of each of s stretches, zero elsewhere."""
    columns = np.zeros((*own.shape[:2], own.shape[2] * len(spans)))
    for i, span in enumerate(spans):
        columns[span, :, own.shape[2] * i : own.shape[2] * (i + 1)] = own[span]
    return columns


def cuts_of(spans: list[slice], n: int) -> list[int]:
    """First samples of the parts that stretches make of n samples, and the end."""
    return sorted({0, n, *(span.start for span in spans), *(span.stop for span in spans)})


def _best(rows: Rows, columns, before, own) -> tuple[float, slice]:
    """The stretch of cells in which own columns (n, k, m) explain most beside columns (n, k, p) of all samples, and the
    nats that it promises."""
    n, k = rows.measured.shape
    weight = 1 / before.noise[rows.groups][:, None]
    axes, scale, _ = np.linalg.svd(_unit(columns * weight).reshape(n * k, -1), full_matrices=False)
    space = axes[:, scale > SAME * scale[0]].reshape(n, k, -1)
    own, left = _unit(own * weight), before.residual * weight[:, 0]
    edges = np.linspace(0, n, min(CELLS, n) + 1).astype(int)
    turned = own.swapaxes(1, 2)
    square, shared, slope = (
        np.concatenate([np.zeros_like(x[:1]), np.cumsum(x, axis=0)])[edges]
        for x in (turned @ own, space.swapaxes(1, 2) @ own, turned @ left[:, :, None])
    )
    first, last = np.array([(a, b) for a in range(len(edges)) for b in range(a + 1, len(edges))]).T
    short = edges[last] - edges[first] <= LONGEST * n
    first, last = first[short], last[short]
    inside = shared[last] - shared[first]
    values, turn = np.linalg.eigh(square[last] - square[first] - inside.swapaxes(1, 2) @ inside)
    pull = (turn.swapaxes(1, 2) @ (slope[last] - slope[first]))[:, :, 0]
    seen = values > SAME
    won = np.sum(np.where(seen, pull**2 / np.where(seen, values, 1.0), 0.0), axis=1)
    best = int(np.argmax(won))
    return 0.5 * float(won[best]), slice(int(edges[first[best]]), int(edges[last[best]]))


def _unit(columns) -> np.ndarray:
    """Columns (n, k, m) of length one, or zero."""
    size = np.linalg.norm(columns, axis=(0, 1))
    return columns / np.where(size > 0, size, 1.0)


def _likeliest(after, own, span: slice, reach: int) -> slice:
    """The samples about a stretch that its columns explain better. after: fit with them, the last ones beside."""
    with_it = own @ after.beside[-own.shape[2] :]
    left = after.residual.copy()
    left[span] += with_it[span]  # without its columns
    better = np.sum((left**2 - (left - with_it) ** 2) / after.noise[after.rows.groups] ** 2, axis=1)
    total = np.concatenate([[0.0], np.cumsum(better)])
    surest = span.start + int(np.argmax(better[span]))
    low, high = max(0, span.start - reach), min(len(better), span.stop + reach)
    return slice(
        low + int(np.argmin(total[low : surest + 1])), surest + 1 + int(np.argmax(total[surest + 1 : high + 1]))
    )
