"""Torques known up to a factor a joint: which factors any motion ties to others, and what then stays open.

The drive of joint j makes a torque `g_j e_j` of a known signal e_j and a gain g_j that is not known, so `Y_j phi = g_j
e_j`. Beside true parameters phi, others `phi + x` with gains `g_j (1 + s_j)` meet all of it exactly if `Y_j x = s_j Y_j
phi` in every state: linear and homogeneous in (x, s). Each random state adds to the rank of these rows until it is
complete, almost surely, because they are analytic in the state. So states that a solution was not made from, and that
it meets, certify it.

Joints whose torques depend on common combinations of parameters share a factor; a leg beside other legs, or a slide
that nothing couples to the rest, has one of its own. A stated gain, a measured torque or a known mass fixes it; a mass
only where nothing unknown makes up for it in sums, as centres of mass do in an arm with turning joints alone.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial

import numpy as np

from steelyard.drives.drive import Drive
from steelyard.dynamics.closed_loop.assembly import choose_independent
from steelyard.dynamics.closed_loop.projection import columns
from steelyard.dynamics.closed_loop.states import random_closed_states
from steelyard.identifiable.analysis import Analysis, Scale
from steelyard.identifiable.coupled_joints import CHECKS
from steelyard.identifiable.from_robot import mechanism_of
from steelyard.identifiable.mechanism import Mechanism, sensors_of
from steelyard.identifiable.numeric_rank import EXTRA_STATES, random_regression, sensor_rows
from steelyard.identifiable.scale_words import ALL, Fact, balance_fact, facts_of, mass_fact
from steelyard.identifiable.thresholds import THRESHOLDS
from steelyard.numbers import SAME, SEED


@dataclass(frozen=True, eq=False)
class Freedom:
    """Changes that no motion shows, one a column: shares (n, f) of gains, orthonormal, and parameters (k, f) with them;
    without those of parameters alone."""

    shares: np.ndarray
    parameters: np.ndarray

    def where(self, *conditions) -> "Freedom":
        """What is left where conditions (c, f) on its columns are zero; their rows are of size one, or are none."""
        left = null_columns(np.concatenate([np.zeros((0, self.shares.shape[1])), *conditions]))
        return Freedom(self.shares @ left, self.parameters @ left)

    @property
    def moves(self) -> np.ndarray:
        """(n,) whether each gain is among what may change."""
        return np.linalg.norm(self.shares, axis=1) > SAME


def freedom(sampled: Callable[[int], np.ndarray], columns, truth, owners, count: int) -> Freedom:
    """Shares of gains that parameters can make up for. sampled: makes rows (s, rows, p) of as many random states as
    asked for, in units in which parameters are about one. columns: (k,) of the parameters that may change; truth: (p,)
    parameters that make the torques; owners: (rows,) number of the gain of each row, 0 to n - 1; count: states to begin
    with."""
    owners, k = np.asarray(owners), len(columns)
    while True:
        Y = sampled(count + CHECKS)
        gains = np.zeros((*Y.shape[:2], owners.max() + 1))
        gains[:, np.arange(len(owners)), owners] = -(Y @ truth)
        system = np.concatenate([Y[:, :, columns], gains], axis=2)
        size = np.linalg.norm(system, axis=(0, 1))
        size = np.where(size > THRESHOLDS.numeric_rank * size.max(initial=0.0), size, np.inf)
        system /= size
        found = _solutions(system[:-CHECKS].reshape(-1, len(size)), k)
        met = np.abs(system[-CHECKS:] @ found).max(initial=0.0) < SAME
        if met or count > len(size):  # as many states as unknowns are enough
            found[:k] /= size[:k, None]
            shares, change = np.linalg.qr(found[k:] / np.where(np.isinf(size[k:]), 1.0, size[k:])[:, None])
            return Freedom(shares, found[:k] @ np.linalg.inv(change))
        count *= 2


def _solutions(system, k: int) -> np.ndarray:
    """(k + n, f) null vectors of a system with n gains in its last columns, none of the first k columns alone."""
    triangle = np.asarray(np.linalg.qr(system, mode="r"))
    U, singular, Vt = np.linalg.svd(triangle[:, :k], full_matrices=False)
    kept = singular > THRESHOLDS.numeric_rank * singular.max(initial=0.0)
    U, inverse = U[:, kept], Vt[kept].T / singular[kept]
    shown = U.T @ triangle[:, k:]
    shares = null_columns(triangle[:, k:] - U @ shown, unit=False)
    return np.concatenate([-inverse @ (shown @ shares), shares])


def null_columns(rows, *, unit: bool = True) -> np.ndarray:
    """(n, d) orthonormal null space of rows (m, n) of size one at most; unit: of their directions, for rows that are no
    rounding."""
    size = np.linalg.norm(rows, axis=1, keepdims=True)
    if unit:
        rows = rows[size[:, 0] > THRESHOLDS.numeric_rank] / size[size[:, 0] > THRESHOLDS.numeric_rank]
    if not len(rows):
        return np.eye(rows.shape[1])
    _, singular, Vt = np.linalg.svd(rows)
    return Vt[int(np.count_nonzero(singular > THRESHOLDS.numeric_rank)) :].T


FREE_BASE, WRENCH = "the free base", "a wrench sensor"


@dataclass(frozen=True, eq=False)
class TorqueRows:
    """Rows of an experiment, in the units of a mechanism: a parameter is `scale` (p,) times its value here."""

    names: tuple[str, ...]  # of the gains: of each joint, of what acts on a free base, of wrench sensors
    owners: np.ndarray  # (rows,) number of the gain of each row
    scale: np.ndarray
    sampled: Callable[[int], np.ndarray]  # makes rows (s, rows, p) of s random states

    @cached_property
    def _sizes(self) -> np.ndarray:
        """(rows, p)"""
        return np.linalg.norm(self.sampled(EXTRA_STATES), axis=0)

    def entering(self, gains) -> np.ndarray:
        """(p,) whether each column enters rows of some gains."""
        return self._sizes[np.isin(self.owners, gains)].max(axis=0) > SAME * self._sizes.max(initial=0.0)


def torque_rows(result: Analysis) -> TorqueRows:
    """Rows of the experiment of an analysis."""
    return _of_loops(result) if result.robot.loops else _of_tree(result)


def _of_tree(result: Analysis) -> TorqueRows:
    mechanism, setup, robot = _with_bodies(result), result.setup, result.robot
    measured = sensors_of(mechanism, robot, setup.sensors)
    driven = {robot.dof_names[dof] for dof in robot.driven_dofs}
    each = [mechanism.coordinate_names[k] for k in measured.rows]
    each = [name if name in driven else FREE_BASE for name in each] + [WRENCH] * (6 * len(measured.wrenches))
    dynamic, rows, wrenches = setup.motion == "dynamic", measured.rows, measured.wrenches

    def sampled(count: int) -> np.ndarray:
        found = random_regression(mechanism, dynamic=dynamic, rows=rows, wrenches=wrenches, states=count)
        return found.reshape(count, len(each), -1)

    return _made(each, mechanism.scale, sampled)


def _with_bodies(result: Analysis) -> Mechanism:
    """The mechanism with every rotor as a body of its own, as random states need it."""
    if not result.mechanism.spins:
        return result.mechanism
    setup = result.setup
    made = partial(mechanism_of, base=setup.base, locked=setup.locked, motors=True, reduce=False)
    tolerance = setup.tolerance if result.mechanism.rounded > 0 else 0.0
    return made(result.robot, terms=result.mechanism.layout.terms, tolerance=tolerance)


def _of_loops(result: Analysis) -> TorqueRows:
    robot, mechanism, dynamic = result.robot, result.mechanism, result.setup.motion == "dynamic"
    choice = choose_independent(robot)
    rows = sensor_rows(robot, choice, result.setup.sensors)

    def sampled(count: int) -> np.ndarray:
        at = random_closed_states(robot, choice, count, seed=SEED, dynamic=dynamic)
        return columns(robot, mechanism.layout, at)[:, rows] * mechanism.scale

    return _made([choice.names[i] for i in rows], mechanism.scale, sampled)


def _made(each: list[str], scale, sampled) -> TorqueRows:
    names = tuple(dict.fromkeys(each))
    return TorqueRows(names, np.array([names.index(name) for name in each]), scale, cache(sampled))


def scales_of(result: Analysis, *, masses: Iterable = (), fixed: Mapping | None = None) -> tuple[Scale, ...]:
    """The scales of a robot whose joints log commands, one a group of joints; the torque of joints without a drive in
    its setup is measured. masses, fixed: as of `identifiability`. Raises OptionError for bodies that are not there."""
    facts = facts_of(result.mechanism.layout, result.values, masses, fixed or {})
    return tuple(_Open(result, facts, torque_rows(result)).scales())


@dataclass(frozen=True, eq=False)
class _Open:
    """What is open of one experiment, and what each source says of it: the number of a gain, or a Fact."""

    result: Analysis
    facts: tuple[Fact, ...]
    rows: TorqueRows

    def scales(self) -> Iterator[Scale]:
        sources = self._sources()
        left = self._after(sources.values())
        changing = np.linalg.norm(left.parameters, axis=1) > SAME * np.abs(self.open.parameters).max(initial=0.0)
        layout = self.result.mechanism.layout
        for group in self._groups():
            joints = tuple(name for i in group if (name := self.rows.names[i]) not in (FREE_BASE, WRENCH))
            if not joints:
                continue
            enters = self.rows.entering(group)
            bodies = tuple(name for b, name in enumerate(layout.body_names) if enters[layout.body(b)].any())
            if left.moves[group].any():
                own = np.flatnonzero(changing & enters[self.result.columns])
                found = self._measurements(bodies, joints, group, sources, left)
                yield Scale(joints, bodies, parameters=tuple(self.result.base_names[k] for k in own), **found)
            else:
                yield Scale(joints, bodies, **self._fixed_by(sources, group))

    @property
    def drives(self) -> Mapping[str, Drive]:
        return self.result.setup.drives

    def _sources(self) -> dict[str, int | Fact]:
        gains = {_known_torque(name, self.drives.get(name)): i for i, name in enumerate(self.rows.names)}
        return {words: i for words, i in gains.items() if words} | {f.words: f for f in self.facts if len(f.sizes)}

    @cached_property
    def truth(self) -> np.ndarray:
        """(p,) parameters like any others but for known ratios, in the mechanism's units."""
        drawn = np.random.default_rng(SEED).normal(size=self.result.size)
        free = null_columns(self._in_units([fact.ratios for fact in self.facts]))
        return free @ (free.T @ drawn)

    @cached_property
    def open(self) -> Freedom:
        """All that may change as far as only ratios are known."""
        found = self._freedom(self.result.columns, self.truth)
        return found.where(self._told(found, [fact.ratios for fact in self.facts]))

    def _freedom(self, columns, truth) -> Freedom:
        count = 3 * self.result.size // len(self.rows.owners) + EXTRA_STATES
        return freedom(self.rows.sampled, columns, truth, self.rows.owners, count)

    def _after(self, sources) -> Freedom:
        gains = [self.open.shares[i : i + 1] for i in sources if isinstance(i, int)]
        known = [fact.sizes for fact in sources if isinstance(fact, Fact)]
        return self.open.where(*gains, self._told(self.open, [*(fact.ratios for fact in self.facts), *known]))

    def _told(self, found: Freedom, rows) -> np.ndarray:
        """(c, f) what known rows say of changes, whatever parameters that nothing shows do beside them."""
        known = self._in_units(rows)
        beside = known @ self._hidden
        told = null_columns(beside.T).T if beside.size else np.eye(len(known))
        size = np.abs(found.parameters).max(initial=1.0)
        return told @ known[:, self.result.columns] @ found.parameters / size

    def _in_units(self, rows) -> np.ndarray:
        """Rows of parameters in SI units as unit rows in the mechanism's."""
        known = np.concatenate([np.zeros((0, self.result.mechanism.layout.size)), *rows])
        scaled = np.pad(known, ((0, 0), (0, self.result.size - known.shape[1]))) * self.rows.scale  # of rotors: none
        return scaled / np.linalg.norm(scaled, axis=1, keepdims=True)

    @cached_property
    def _hidden(self) -> np.ndarray:
        """(p, d) orthonormal null space, in the mechanism's units."""
        return np.linalg.qr(self.result.null_space / self.rows.scale[:, None])[0]

    def _groups(self) -> Iterator[list[int]]:
        """Gains with the same share in all that may change, without those whose rows show nothing."""
        shares = self.open.shares
        waiting = [i for i in range(len(self.rows.names)) if self.rows.entering([i]).any()]
        while waiting:
            apart = np.linalg.norm(shares[waiting] - shares[waiting[0]], axis=1)
            group = [i for i, far in zip(waiting, apart, strict=True) if far < SAME]
            waiting = [i for i in waiting if i not in group]
            yield group

    def _fixed_by(self, sources: Mapping[str, int | Fact], group) -> dict:
        enough = [words for words, each in sources.items() if not self._after([each]).moves[group].any()]
        if enough or not sources:
            return {"fixed_by": tuple(enough)}
        needed = dict(sources)
        for words in sources:
            fewer = {other: each for other, each in needed.items() if other != words}
            if not self._after(fewer.values()).moves[group].any():
                needed = fewer
        return {"fixed_by": tuple(needed), "together": True}

    def _measurements(self, bodies, joints, group, sources: Mapping[str, int | Fact], left: Freedom) -> dict:
        """What would fix the scale of a group, beside all that is said already."""
        layout = self.result.mechanism.layout

        def enough(fact: Fact) -> bool:
            return not self._after([*sources.values(), fact]).moves[group].any()

        weighed = tuple(name for name in (*bodies, ALL) if enough(mass_fact(layout, name)))
        return {
            "loaded": tuple(name for name in reversed(bodies) if not self._loaded(name, left).moves[group].any()),
            "weighed": weighed,
            "balanced": tuple(name for name in reversed(bodies) if enough(balance_fact(layout, name))),
            "gains": {name: self.drives[name].features.gain for name in joints},
            "limits": {name: most for name in joints if (most := self.drives[name].limit) is not None},
        }

    def _loaded(self, body: str, left: Freedom) -> Freedom:
        """What is left open by one more log with a load of known mass, and nothing else known of it, on a body."""
        layout = self.result.mechanism.layout
        span = layout.body(layout.body_names.index(body))
        load = np.zeros(self.result.size)
        load[span] = np.random.default_rng(SEED).normal(size=10)
        made_up_for = self._freedom(np.arange(span.start + 1, span.stop), load).shares
        return left.where(left.shares - made_up_for @ (made_up_for.T @ left.shares))


def _known_torque(name: str, drive: Drive | None) -> str:
    """What makes the torque of a row known with its size, in words; nothing where it is not."""
    if name == FREE_BASE:
        return ""
    if name == WRENCH:
        return WRENCH
    if drive is None or drive.torque_per_unit is None:
        return "" if drive else f"torque of {name}"
    key = drive.features.gain
    return f"torque of {name}" if getattr(drive, key) is None else f"{key} of {name}"
