"""Kinds of rows that a log gives: torques of joints, wrenches and power at each sample, balances over windows.

Windows of the weak form: integrals of sampled signals and of their derivatives, without differentiating anything.

A row is `int w tau dt = int w (dx/dt) dt + int w y dt = -int (dw/dt) x dt + int w y dt` for a smooth window `w` that
ends within the log (modulating functions; Shinbrot 1957). The window is the quintic B-spline, a zero-phase low-pass
filter of finite length; one is placed every second knot, so that noise of neighbouring rows is nearly independent (0.13
correlated). Signals are taken as linear between samples, for which integration by parts is exact. At even stamps this
interpolation is one more filter, the same on both sides, so the balance holds to rounding; at uneven ones to second
order in the step.

A stream of samples passes a first-order low-pass filter instead (Slotine and Li 1989): a row `static + d rate / dt`
(columns and target alike) becomes `F static + pole (rate - F rate)`, with the filter `F = pole / (s + pole)` at rest at
the first sample and `rate` counted from there: equal at every time, without acceleration.

Functions of rows yield `(group, places, y (k, n), target (n,))`: columns among the kept ones, and what they explain.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import comb, factorial

import numpy as np

from steelyard.dynamics.balances import base_wrench_rows, energy_rows, link_wrench_rows, momentum_blocks, sensor_frame
from steelyard.dynamics.closed_loop.assembly import choose_independent
from steelyard.dynamics.closed_loop.projection import columns, on_independent_joints
from steelyard.dynamics.closed_loop.states import gamma_rate, tree_state_of
from steelyard.dynamics.generalised_momentum import lagged, step_weights
from steelyard.dynamics.kinematics import motion
from steelyard.errors import LogError, OptionError, choices
from steelyard.information.regression_rows import chunk_rows, effect_values, known_torque
from steelyard.log import Log
from steelyard.log.stamps import segments
from steelyard.model import Robot
from steelyard.native import CHUNK
from steelyard.terms import TERMS

DEGREE = 5
HALF = (DEGREE + 1) / 2  # of the window's length, in knots
KNOT = 0.18631  # knot spacing times the frequency of -3 dB: sinc^6 = 1 / sqrt(2)
STRIDE = 2  # knots from window to window


@dataclass(frozen=True, eq=False)
class RowPart:
    """Samples of a log, and the windows they take part in.

    mean, rate: (n, m) weights of the samples in `int w x dt` and `int w (dx/dt) dt`, `int w dt = 1`. done: how many of
    the m windows end here; the others are the first ones of the next part.
    """

    samples: slice
    mean: np.ndarray
    rate: np.ndarray
    done: int


def require_windows(log: Log, cutoff: float):
    """Raise LogError unless a log has room for a window, between increasing stamps that are dense enough."""
    if len(log) < 2 or not np.all(np.diff(log.t) > 0):
        raise LogError(f"Log '{log.name}': momentum and energy rows need two samples or more with increasing stamps.")
    highest = KNOT * log.rate
    if not 0 < cutoff <= highest:
        raise LogError(
            f"Log '{log.name}': cutoff {cutoff:g} Hz must lie above 0 and not above {highest:.4g} Hz, where windows "
            f"hold too few samples at {log.rate:.4g} Hz."
        )
    longest = max(float(log.t[s.stop - 1] - log.t[s.start]) for s in segments(log.t))
    needed = 2 * HALF * KNOT / cutoff
    if longest < needed:
        raise LogError(
            f"Log '{log.name}': the longest stretch without a gap lasts {longest:.4g} s; at {cutoff:g} Hz a window "
            f"needs {needed:.4g} s. Use a higher cutoff or a longer log."
        )


def parts(t, cutoff: float, chunk: int) -> Iterator[RowPart]:
    """A log's samples in parts of at most `chunk`, with their windows; windows do not reach across gaps."""
    h = KNOT / cutoff
    for stretch in segments(t):
        room = t[stretch.stop - 1] - t[stretch.start] - 2 * HALF * h
        if room < 0:
            continue
        centres = t[stretch.start] + HALF * h + STRIDE * h * np.arange(int(room / (STRIDE * h)) + 1)
        ended = 0
        for start in range(stretch.start, stretch.stop, chunk):
            stop = min(start + chunk, stretch.stop)
            last = stop == stretch.stop
            begun = len(centres) if last else int(np.searchsorted(centres - HALF * h, t[stop]))
            ends = len(centres) if last else int(np.searchsorted(centres + HALF * h, t[stop - 1], side="right"))
            near = slice(max(start - 1, stretch.start), min(stop + 1, stretch.stop))
            mean, rate = _weights(t[near], centres[ended:begun], h)
            own = slice(start - near.start, stop - near.start)
            yield RowPart(slice(start, stop), mean[own], rate[own], ends - ended)
            ended = ends


def _weights(t, centres, h):
    """Weights (n, m) of samples at t in windows at centres. The first and last are right only where no window reaches
    beyond them."""
    x = (t[:, None] - centres) / h
    return _hats(t, h * _antiderivative(x, 2), 1.0), -_hats(t, _antiderivative(x, 1), 0.0)


def _hats(t, twice, integral: float):
    """Integrals of a function times the hats of piecewise linear interpolation, from its second antiderivative and its
    integral."""
    slope = np.diff(twice, axis=0) / np.diff(t)[:, None]
    return np.concatenate([slope[:1], np.diff(slope, axis=0), integral - slope[-1:]])


def _antiderivative(x, times: int):
    """The B-spline of unit integral around zero, integrated once or twice from the left."""
    inside = np.clip(x, -HALF, HALF)
    power = DEGREE + times
    total = sum(
        (-1) ** j * comb(DEGREE + 1, j) * np.maximum(inside + HALF - j, 0.0) ** power for j in range(DEGREE + 2)
    )
    beyond = np.maximum(x - HALF, 0.0) if times == 2 else 0.0
    return total / factorial(power) + beyond


OF_JOINTS = ("joints", "momentum", "power", "energy")  # they all follow from torques of all joints
WEAK = ("momentum", "energy")  # integrals over windows, without acceleration
BASE, WRENCH = "base", "wrench:"
AXES = ("fx", "fy", "fz", "nx", "ny", "nz")
Pieces = Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]


def kinds_of(robot: Robot, rows: str | Iterable[str]) -> tuple[str, ...]:
    """Kinds of rows by name, as of `accumulate`, each once. Raises OptionError for an unknown kind; lists the valid
    names."""
    kinds = (rows,) if isinstance(rows, str) else tuple(dict.fromkeys(rows))
    for kind in kinds:
        if kind.startswith(WRENCH):
            sensor_frame(robot, link_of(kind))
        elif kind not in (*OF_JOINTS, BASE):
            raise OptionError(f"rows are any of {choices((*OF_JOINTS, BASE))} and wrench:LINK; got {kind!r}.")
    if not kinds:
        raise OptionError(f"rows names at least one of {choices((*OF_JOINTS, BASE))} and wrench:LINK.")
    return kinds


def refuse_for_loops(robot: Robot, kinds: tuple[str, ...], *, engine: str):
    """Raise OptionError for what `accumulate` does not do for robots with closed loops."""
    untold, about = [kind for kind in kinds if kind not in OF_JOINTS], f"robot '{robot.name}' has closed loops"
    if untold:
        raise OptionError(f"rows: {about}; of it, {choices(OF_JOINTS)} can be used, and not {choices(untold)}.")
    if engine not in ("auto", "numpy"):
        raise OptionError(f"engine: {about}; engine '{engine}' is for trees. Leave it at 'auto'.")


def link_of(kind: str) -> str:
    """Link of a wrench kind, "base" for the sensor under the robot."""
    return kind.removeprefix(WRENCH)


def groups_of(robot: Robot, kind: str) -> tuple[str, ...]:
    """Names of the row groups of a kind; each has a noise of its own."""
    if kind in ("joints", "momentum"):
        names = choose_independent(robot).names if robot.loops else robot.dof_names
        return names if kind == "joints" else tuple(f"momentum({name})" for name in names)
    return (kind,) if kind in OF_JOINTS else tuple(f"{kind}.{axis}" for axis in AXES)


def sensors_of(robot: Robot, kinds: tuple[str, ...]) -> tuple[str, ...]:
    """The sensors, as `identifiability` names them, that measure rows of these kinds."""
    sensors = ["joints"] if set(kinds) & set(OF_JOINTS) else []
    for kind in kinds:
        if kind == BASE:
            sensors.append(BASE)
        elif kind.startswith(WRENCH):
            sensors.append(WRENCH + robot.body_names[sensor_frame(robot, link_of(kind)).body])
    return tuple(dict.fromkeys(sensors))


def joint_rows(spec, chunk) -> Pieces:
    """Torque of every degree. chunk: q, v, a, tau, direction, samples last."""
    pairs = chunk_rows(spec.raw.robot, spec.raw.layout, spec.coulomb_width, spec.rows, chunk)
    for dof, (y, tau) in enumerate(pairs):
        yield dof, spec.rows[dof].places, y, tau


def independent_rows(spec, chunk) -> Pieces:
    """Torque of every independent joint of a robot with closed loops; forces of passive joints are felt there."""
    q, v, a, tau, direction = chunk
    at = tree_state_of(spec.robot, q.T, v.T, a.T)
    left = tau - known_torque(spec.robot, spec.layout, v, a, direction)
    target = on_independent_joints(at, left.T[..., None])[..., 0]
    rows = columns(spec.robot, spec.layout, at, direction=direction.T, coulomb_width=spec.coulomb_width)
    for k in range(rows.shape[1]):
        yield k, np.arange(len(spec.kept)), rows[:, k, spec.kept].T, target[:, k]


def power_rows(spec, chunk) -> Pieces:
    """Power `v^T tau` that all joints feed the robot."""
    v = chunk[1]
    y, power = np.zeros((len(spec.raw.columns), v.shape[1])), np.zeros(v.shape[1])
    for dof, places, row, tau in joint_rows(spec, chunk):
        y[places] += v[dof] * row
        power += v[dof] * tau
    yield 0, np.arange(len(y)), y, power


def wrench_rows(spec, kind: str, chunk, wrench) -> Pieces:
    """Wrench (6, n) under the robot or in front of a link."""
    q, v, a = chunk[:3]
    state = motion(spec.raw.robot, q, v, a)
    if kind == BASE:
        first, rows = 0, base_wrench_rows(np, state, slice(0, spec.raw.robot.nb))
    else:
        frame = sensor_frame(spec.raw.robot, link_of(kind))
        first, rows = 10 * frame.bodies.start, link_wrench_rows(np, state, frame)
    inside = (spec.raw.columns >= first) & (spec.raw.columns < first + rows.shape[1])
    places, columns = np.flatnonzero(inside), spec.raw.columns[inside] - first
    for axis in range(6):
        yield axis, places, rows[axis, columns], wrench[axis]


def balance_of(spec, kind: str):
    """The balance of a weak kind, a function of spec and chunk."""
    if kind == "energy":
        return energy_balance
    return independent_balance if spec.robot.loops else momentum_balance


def weak_rows(spec, kind: str, t, channels, chunk_size: int = CHUNK) -> Pieces:
    """Balances of momentum or energy over the windows of a whole log. channels: as `spec.part` takes them."""
    balance = balance_of(spec, kind)
    open_windows: dict[int, np.ndarray] = {}
    for part in parts(t, spec.told.cutoff, chunk_size):
        chunk = spec.chunk(channels, part.samples)
        for group, places, static, rate in balance(spec, chunk):
            sums = static @ part.mean + rate @ part.rate
            before = open_windows.get(group)
            if before is not None:
                sums[:, : before.shape[1]] += before
            open_windows[group] = sums[:, part.done :]
            yield group, places, sums[:-1, : part.done], sums[-1, : part.done]


def momentum_balance(spec, chunk):
    """Rows `[columns; torque]` (k + 1, n) of every degree: what counts as it is, and what counts by its derivative."""
    tau = chunk[3]
    static_known, rate_known = _known(spec, chunk)
    momentum, drift = momentum_blocks(spec.raw.robot, *chunk[:2])
    effects = _effects(spec, chunk)
    for dof, row in enumerate(spec.rows):
        static, rate = effects[dof]
        left = tau[dof] - static_known[dof]
        yield (
            dof,
            row.places,
            np.concatenate([-drift[dof][row.in_block], *static, left[None]]),
            np.concatenate([momentum[dof][row.in_block], *rate, -rate_known[None, dof]]),
        )


def independent_balance(spec, chunk):
    """The same of every independent joint of a robot with closed loops, whose momentum is `Gamma^T p`: its rate is
    `Gamma^T dp/dt + (dGamma/dt)^T p`."""
    q, v = chunk[:2]
    places, shape = np.arange(len(spec.raw.columns)), (len(v), len(spec.raw.columns) + 1, v.shape[1])
    static, rate = np.zeros(shape), np.zeros(shape)
    for dof, own, still, moving in momentum_balance(spec, chunk):
        static[dof, [*own, -1]], rate[dof, [*own, -1]] = still, moving
    at = tree_state_of(spec.robot, q.T, v.T, 0 * v.T)
    gamma, turning = at.transmission.gamma, gamma_rate(spec.robot, at)
    static = np.einsum("nvi,vkn->ikn", gamma, static) - np.einsum("nvi,vkn->ikn", turning, rate)
    for joint, pair in enumerate(zip(static, np.einsum("nvi,vkn->ikn", gamma, rate), strict=True)):
        yield joint, places, *pair


def energy_balance(spec, chunk):
    """The same of the one row of energy: its derivative is the power of the joints less what friction takes."""
    q, v, _, tau, _ = chunk
    static_known, rate_known = _known(spec, chunk)
    size, n = len(spec.raw.columns), v.shape[1]
    static, rate = np.zeros((size + 1, n)), np.zeros((size + 1, n))
    bodies = spec.raw.columns[spec.raw.columns < spec.raw.layout.inertial.stop]
    rate[: len(bodies)] = energy_rows(spec.raw.robot, q, v, "total")[bodies]
    for dof, (row, (still, changing)) in enumerate(zip(spec.rows, _effects(spec, chunk), strict=True)):
        for place, value, momentum in zip(row.places[len(row.in_block) :], still, changing, strict=True):
            static[place] += v[dof] * value[0]
            rate[place] += v[dof] * momentum[0] / 2
    static[-1] = np.sum(v * (tau - static_known), axis=0)
    rate[-1] = -np.sum(v * rate_known, axis=0) / 2
    yield 0, np.arange(size), static, rate


def _known(spec, chunk):
    """Torque (nv, n) of effects that are no columns, and momentum (nv, n) of known armature."""
    _, v, _, _, direction = chunk
    still = np.zeros_like(v)
    return (
        known_torque(spec.raw.robot, spec.raw.layout, v, still, direction),
        known_torque(spec.raw.robot, spec.raw.layout, still, v, still),
    )


def _effects(spec, chunk):
    """Of each degree, in the order of its row's places: torques and momenta, (1, n), per unit; one is zero."""
    q, v, a, _, direction = chunk
    own = (spec.raw.robot, spec.raw.layout, spec.coulomb_width, spec.rows, q, v)
    as_momentum = effect_values(*own, v, direction)  # armature acts on the rate of v as on acceleration
    as_torque = as_momentum if a is None else effect_values(*own, a, direction)
    zero, pairs = np.zeros((1, v.shape[1])), []
    for row, torques, momenta in zip(spec.rows, as_torque, as_momentum, strict=True):
        kinds = [*row.terms, *(spec.raw.layout.extras[i].kind for i, _ in row.extras)]
        inertial = [kind in TERMS and TERMS[kind].inertial for kind in kinds]
        static = [zero if moves else x[None] for moves, x in zip(inertial, torques, strict=True)]
        rate = [x[None] if moves else zero for moves, x in zip(inertial, momenta, strict=True)]
        pairs.append((static, rate))
    return pairs


@dataclass
class RowFilter:
    """A first-order filter between chunks of a stream.

    pole: 2 pi times its cutoff, rad/s. stamp: s, of the last sample; groups: what `lagged` kept there of each row
    group. share: of the power of torques with white noise that passed in the last chunk.
    """

    pole: float
    stamp: float | None = None
    groups: dict[int, tuple] = field(default_factory=dict)
    share: float = 1.0

    def rows(self, spec, kind: str, t, channels) -> Pieces:
        """Rows of further samples, one each; a pause longer than the filter's time constant starts it anew."""
        stamps = t if self.stamp is None else np.append(self.stamp, t)
        if not np.all(np.diff(stamps) > 0):
            raise LogError("Stamps of a stream increase: the samples of an update come after those before.")
        for start in range(0, len(t), CHUNK):
            yield from self._part(spec, kind, t, channels, slice(start, start + CHUNK))

    def _part(self, spec, kind: str, t, channels, part: slice) -> Pieces:
        chunk, t = spec.chunk(channels, part), t[part]
        before = [] if self.stamp is None or t[0] - self.stamp > 1 / self.pole else [self.stamp]
        share, groups = _share(self.pole * np.diff(t, prepend=before)), {}
        for group, places, static, rate in balance_of(spec, kind)(spec, chunk):
            gain = np.full(len(static), self.pole)
            row, groups[group] = lagged(t, static.T, rate.T, gain, self.groups[group] if before else None)
            yield group, places, row[:, :-1].T, row[:, -1]
        self.stamp, self.groups, self.share = float(t[-1]), groups, share


def _share(x) -> float:
    """Power of filtered white noise over its own, at the mean step of x time constants; 1 without a step."""
    if not len(x):
        return 1.0
    kept, left, right = step_weights(1.0, np.mean(x))
    return float((left**2 + right**2 + 2 * kept * left * right) / (1 - kept**2))
