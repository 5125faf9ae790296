"""Information: all that a fit needs from data, and it adds.

For every row group (a degree of freedom) it keeps `G = sum y y^T`, `b = sum y tau`, `c = sum tau^2` and the number of
samples, in base columns by default. Row weights are chosen afterwards; `info_a + info_b` is the information of both
logs. No samples are kept.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.dynamics.effects import effect_column, extra_rows
from steelyard.dynamics.kinematics import tree
from steelyard.dynamics.regressor import row_blocks
from steelyard.errors import FitError, LogError, OptionError, choices
from steelyard.identifiability.basis import Basis, from_null_space
from steelyard.identifiability.structure import regression_basis
from steelyard.log.log import Log
from steelyard.model.robot import Robot
from steelyard.parameters import COULOMB_WIDTH, FRICTION, ParameterLayout, UserColumn, layout_of

CHUNK = 512  # samples a pass: the working arrays of an arm stay in the second-level cache


@dataclass(frozen=True, eq=False)
class Information:
    """Sums over samples of a regression `y theta = tau`, per row group.

    gram: (g, k, k), moment: (g, k), energy: (g,), counts: (g,) for the k columns in `columns`; weights: (g,) of the
    row groups, 1 / variance once known. layout: names of all p columns. basis: identifiable combinations of the p
    columns. robot: the model they belong to, None for raw regressions. coulomb_width: smoothing of the Coulomb
    columns, rad/s.
    """

    gram: np.ndarray
    moment: np.ndarray
    energy: np.ndarray
    counts: np.ndarray
    weights: np.ndarray
    columns: np.ndarray
    group_names: tuple[str, ...]
    layout: ParameterLayout
    basis: Basis
    robot: Robot | None = None
    coulomb_width: float = COULOMB_WIDTH
    independence: float = 1.0

    @property
    def G(self) -> np.ndarray:
        """(k, k) weighted Gram matrix."""
        return np.tensordot(self.weights, self.gram, axes=1)

    @property
    def b(self) -> np.ndarray:
        """(k,) weighted right-hand side."""
        return self.weights @ self.moment

    @property
    def c(self) -> float:
        """Weighted energy of the measured torque."""
        return float(self.weights @ self.energy)

    @property
    def n(self) -> int:
        """Number of samples (of the row group with most)."""
        return int(self.counts.max(initial=0))

    def weighted(self, weights) -> "Information":
        """The same data with other row weights (g,)."""
        weights = np.asarray(weights, dtype=float)
        if weights.shape != self.weights.shape or not (np.isfinite(weights).all() and (weights >= 0).all()):
            raise OptionError(
                f"Row weights are {len(self.weights)} finite, non-negative numbers, one for each of "
                f"{choices(self.group_names)}."
            )
        return replace(self, weights=weights)

    @cached_property
    def base(self) -> "Information":
        """The same information in base columns only (lossless: `Y theta = Y_b Regroup theta`)."""
        if len(self.columns) == self.basis.count and (self.columns == self.basis.columns).all():
            return self
        if len(self.columns) != self.layout.size:
            raise FitError("This Information holds neither all columns nor its base columns.")
        keep = self.basis.columns
        return replace(self, gram=self.gram[:, keep][:, :, keep], moment=self.moment[:, keep], columns=keep)

    def residual_energy(self, parameters) -> np.ndarray:
        """(g,) sum of squared residuals a row group. parameters: (k,) for this object's columns."""
        x = np.asarray(parameters)
        quadratic = np.einsum("gij,i,j->g", self.gram, x, x)
        return np.maximum(self.energy - 2 * self.moment @ x + quadratic, 0.0)

    def __add__(self, other: "Information") -> "Information":
        if not isinstance(other, Information):
            return NotImplemented
        _require_same_regression(self, other)
        return replace(
            self,
            gram=self.gram + other.gram,
            moment=self.moment + other.moment,
            energy=self.energy + other.energy,
            counts=self.counts + other.counts,
            independence=(self.n * self.independence + other.n * other.independence) / (self.n + other.n),
        )

    def __radd__(self, other):
        return self if isinstance(other, int) and other == 0 else NotImplemented

    @classmethod
    def from_arrays(cls, Y, tau, *, weights=None, layout: ParameterLayout | None = None) -> "Information":
        """Information of a raw regression Y (n, g, p), tau (n, g), or Y (n, p), tau (n,).

        weights: (g,) of the row groups. layout: names of the p columns.

        Without a robot the identifiable combinations are those that this very Y reveals.
        """
        Y, tau = np.asarray(Y, dtype=float), np.asarray(tau, dtype=float)
        if Y.ndim == 2:
            Y, tau = Y[:, None], tau[:, None] if tau.ndim == 1 else tau
        if Y.ndim != 3 or tau.shape != Y.shape[:2]:
            raise OptionError(f"Y is (n, g, p) and tau (n, g), or (n, p) and (n,); got {Y.shape} and {tau.shape}.")
        n, groups, size = Y.shape
        layout = layout or ParameterLayout((), tuple(f"p{i}" for i in range(size)), tuple(range(size)), ("offset",))
        if layout.size != size:
            raise OptionError(f"The layout names {layout.size} columns; Y has {size}.")
        gram = np.einsum("ngi,ngj->gij", Y, Y, optimize=True)
        return cls(
            gram=gram,
            moment=np.einsum("ngi,ng->gi", Y, tau),
            energy=np.einsum("ng,ng->g", tau, tau),
            counts=np.full(groups, n),
            weights=np.ones(groups) if weights is None else np.asarray(weights, dtype=float),
            columns=np.arange(size),
            group_names=tuple(f"row{i}" for i in range(groups)),
            layout=layout,
            basis=_numeric_basis(Y.reshape(-1, size)),
        )


def accumulate(
    robot: Robot,
    log: Log | Iterable[Log],
    *,
    friction=FRICTION,
    armature: bool = False,
    coupling=(),
    springs=(),
    extra: Iterable[UserColumn] = (),
    columns: str = "base",
    coulomb_width: float = COULOMB_WIDTH,
    independence: float = 1.0,
) -> Information:
    """Information of one log or several, streamed in chunks.

    log: with q, v, a and tau of every joint (`filters.differentiate` fills v and a). friction: any of "viscous",
    "coulomb", "offset"; armature: whether to estimate it. coupling: groups of joints with a common motor, such as
    `(("joint5", "joint6"),)` or `({"joint5": 1, "joint6": -1},)`, whose inertia and friction act on the sum of their
    speeds; springs: joints with a linear spring; extra: `UserColumn`s. What is not a column keeps the value of the
    model and is subtracted from tau as known. columns: "base" (identifiable choice, lossless) or "all". coulomb_width: half-width
    of standstill, rad/s. independence: share of the samples whose noise is independent, `2 cutoff / rate` after a
    low-pass filter: it scales what the data weighs against a prior, and variances. Raises LogError for missing or
    non-finite channels, OptionError for unknown options.
    """
    if columns not in ("base", "all"):
        raise OptionError(f"columns is 'base' or 'all'; got {columns!r}.")
    if not 0 < independence <= 1:
        raise OptionError(f"independence is a share between 0 and 1; got {independence!r}.")
    layout = layout_of(
        robot, friction=friction, armature=armature, coupling=coupling, springs=springs, extra=tuple(extra)
    )
    basis = regression_basis(robot, layout)
    kept = basis.columns if columns == "base" else np.arange(layout.size)
    rows = _rows(robot, layout, kept)
    gram = np.zeros((robot.nv, len(kept), len(kept)))
    moment, energy = np.zeros((robot.nv, len(kept))), np.zeros(robot.nv)
    count = 0
    for each in [log] if isinstance(log, Log) else log:
        q, v, a, tau = _channels(robot, each)
        direction = direction_of(each, coulomb_width)
        for start in range(0, len(each), CHUNK):
            chunk = tuple(np.ascontiguousarray(x[start : start + CHUNK].T) for x in (q, v, a, tau, direction))
            _add_chunk(robot, layout, coulomb_width, rows, chunk, gram, moment, energy)
        count += len(each)
    if count == 0:
        raise LogError("No samples to accumulate: the log is empty.")
    return Information(
        gram=gram,
        moment=moment,
        energy=energy,
        counts=np.full(robot.nv, count),
        weights=np.ones(robot.nv),
        columns=kept,
        group_names=robot.dof_names,
        layout=layout,
        basis=basis,
        robot=robot,
        coulomb_width=coulomb_width,
        independence=independence,
    )


@dataclass(frozen=True, eq=False)
class _Row:
    """Nonzero columns of one degree's row: where in its bodies' block, terms, extras (which, and which of its degrees),
    places among the kept columns."""

    in_block: np.ndarray
    terms: tuple[str, ...]
    extras: tuple[tuple[int, int], ...]
    places: np.ndarray


def _rows(robot: Robot, layout: ParameterLayout, kept) -> list[_Row]:
    place = {int(column): i for i, column in enumerate(kept)}
    rows = []
    for dof, bodies in enumerate(tree(robot).row_bodies):
        own = [c for c in range(10 * bodies.start, 10 * bodies.stop) if c in place]
        effects = [(t, c) for t, c in zip(layout.terms, layout.effects_of(dof), strict=False) if c in place]
        extras = [
            (i, extra.dofs.index(dof))
            for i, extra in enumerate(layout.extras)
            if dof in extra.dofs and layout.extra.start + i in place
        ]
        columns = [*own, *(c for _, c in effects), *(layout.extra.start + i for i, _ in extras)]
        rows.append(
            _Row(
                in_block=np.array(own, dtype=int) - 10 * bodies.start,
                terms=tuple(term for term, _ in effects),
                extras=tuple(extras),
                places=np.array([place[c] for c in columns], dtype=int),
            )
        )
    return rows


def _add_chunk(robot, layout, coulomb_width, rows, chunk, gram, moment, energy):
    """Add one chunk, samples last, to the sums."""
    q, v, a, tau, direction = chunk
    tau = tau - _known_torque(robot, layout, v, a, direction)
    extras = [extra_rows(robot, extra, q, v, a, coulomb_width=coulomb_width) for extra in layout.extras]
    for dof, (row, block) in enumerate(zip(rows, row_blocks(robot, q, v, a), strict=True)):
        effects = [effect_column(term, v[dof], a[dof], direction=direction[dof]) for term in row.terms]
        effects += [extras[i][k] for i, k in row.extras]
        y = np.concatenate([block[row.in_block], *(e[None] for e in effects)])
        gram[dof][np.ix_(row.places, row.places)] += y @ y.T
        moment[dof][row.places] += y @ tau[dof]
        energy[dof] += tau[dof] @ tau[dof]


def direction_of(log: Log, coulomb_width: float) -> np.ndarray:
    """(n, nv) shape of Coulomb friction: the filtered direction of motion if the log has it at this width."""
    if log.direction is not None and log.direction_width == coulomb_width:
        return log.direction
    (v,) = log.require("v")
    return np.tanh(v / coulomb_width)


def _known_torque(robot, layout, v, a, direction):
    """Torque (nv, n) of the effects that are no columns, at the model's values."""
    known = np.zeros_like(v)
    for term, value in (("viscous", robot.damping), ("coulomb", robot.frictionloss), ("armature", robot.armature)):
        if term not in layout.terms and np.any(value):
            known += value[:, None] * effect_column(term, v, a, direction=direction)
    return known


def _channels(robot: Robot, log: Log):
    """q, v, a, tau of a log, checked against the robot."""
    channels = log.require("q", "v", "a", "tau")
    if log.nq != robot.nq or log.nv != robot.nv:
        raise LogError(
            f"Log '{log.name}' has {log.nq} positions and {log.nv} velocities; robot '{robot.name}' "
            f"has {robot.nq} and {robot.nv} ({choices(robot.joint_names)}). read_log(path, robot) matches by name."
        )
    for name, values in zip(("q", "v", "a", "tau"), channels, strict=True):
        bad = np.argwhere(~np.isfinite(values))
        if bad.size:
            row, column = bad[0]
            raise LogError(
                f"Log '{log.name}': {name} of column {column} is not finite at t = {log.t[row]:.6g} s (sample {row})."
            )
    return channels


def _numeric_basis(Y) -> Basis:
    """Basis of the columns that a given matrix (n, p) reveals."""
    scale = np.linalg.norm(Y, axis=0)
    scale[scale == 0] = 1.0
    _, singular, Vt = np.linalg.svd(np.linalg.qr(Y / scale, mode="r"))
    rank = int(np.count_nonzero(singular > 1e-10 * singular[0])) if singular.size else 0
    return from_null_space(Vt[rank:].T / scale[:, None], scale)


def _require_same_regression(one: Information, other: Information):
    """Raise FitError unless two Informations have the same columns of the same robot."""
    if one.layout != other.layout or not np.array_equal(one.columns, other.columns):
        raise FitError(
            "These Informations have different columns (robot, friction or armature options), so they cannot be added."
        )
    if one.coulomb_width != other.coulomb_width:
        raise FitError(
            f"Coulomb widths differ: {one.coulomb_width} and {other.coulomb_width} rad/s; they cannot be added."
        )
    scale = np.abs(one.basis.regrouping).max(initial=1.0)
    if np.abs(one.basis.regrouping - other.basis.regrouping).max(initial=0.0) > 1e-9 * scale:
        raise FitError("These Informations come from robots with different kinematics, so they cannot be added.")
